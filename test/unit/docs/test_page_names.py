"""Options and files that pages name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FOLDERS = [p.parent.name for p in (ROOT / "prism_mlir").glob("*/__init__.py")]

# Options of other programs: Dask, mlir-translate, mlir-opt, IREE, scripts in a bundle; and a pass as mlir-opt spells it. Lines
# about scripts in benchmarks are passed over.
OTHERS = {
    *("--port", "--nworkers", "--nthreads", "--resources", "--mlir-to-llvmir", "--irdl-file", "--cse"),
    *(
        "--iree-hal-executable-object-search-path",
        "--data",
        "--points",
        "--minutes",
        "--seconds",
        "--prism-superoptimize",
    ),
}


def options() -> Iterator[str]:
    """Every option of ``prism`` and of ``prism-opt``."""
    import argparse

    import typer

    from prism_mlir.tools.prism import app
    from prism_mlir.tools.prism_opt import PrismOptMain

    def of(command: Any) -> Iterator[str]:
        for parameter in command.params:
            yield from (*getattr(parameter, "opts", ()), *getattr(parameter, "secondary_opts", ()))
        for inner in getattr(command, "commands", {}).values():
            yield from of(inner)

    yield from of(typer.main.get_command(app))
    parser = argparse.ArgumentParser(add_help=False)
    PrismOptMain.register_all_arguments(PrismOptMain.__new__(PrismOptMain), parser)
    for action in parser._actions:
        yield from action.option_strings
    yield "--help"


def test_options_that_pages_name_exist() -> None:
    known = {*options(), *OTHERS}
    assert len(known) > 60
    lines = [(page.name, line) for page in PAGES for line in page.read_text().splitlines() if "benchmarks/" not in line]
    named = {(page, m[0]) for page, line in lines for m in re.finditer(r"(?<![\w-])--[a-z][\w-]*\w", line)}
    assert {(page, o) for page, o in named if o not in known and o.replace("--mlir-", "--") not in known} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    tops = "|".join([*FOLDERS, "prism_mlir", "test", "benchmarks", "examples", "docs"])
    named = re.findall(rf"`((?:{tops})/[\w./-]*\w)`", page.read_text())
    gone = [n for n in named if not any((base / n).exists() for base in (ROOT, ROOT / "prism_mlir"))]
    assert [n for n in gone if "foo" not in n and "NAME" not in n] == []
