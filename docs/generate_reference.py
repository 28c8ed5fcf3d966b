"""Write the reference: one page a pass, from its docstring and its options, into docs/reference/passes.

    python docs/generate_reference.py [FOLDER]

The pages are part of the repository; a test fails when they no longer match the passes.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import sys
import textwrap
from pathlib import Path
from typing import Any

from xdsl.passes import ModulePass

import prism_mlir.passes

PAGES = Path(__file__).resolve().parent / "reference" / "passes"
NOTICE = "<!-- Written by docs/generate_reference.py from the pass itself; `make docs` writes it again. -->\n"


def passes() -> list[type[ModulePass]]:
    """Every pass class defined below ``prism_mlir.passes``, by pass name."""
    found: dict[str, type[ModulePass]] = {}
    for module in pkgutil.iter_modules(prism_mlir.passes.__path__, "prism_mlir.passes."):
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and issubclass(value, ModulePass) and value.__module__ == module.name:
                found[value.name] = value
    return [found[name] for name in sorted(found)]


def option_notes(cls: type[Any]) -> dict[str, str]:
    """What a class says about each field: the string below it, or the comment lines above it."""
    source = textwrap.dedent(inspect.getsource(cls))
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    lines, notes = source.splitlines(), {}
    for statement, following in zip(body.body, [*body.body[1:], None], strict=True):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        name = statement.target.id
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            notes[name] = inspect.cleandoc(str(following.value.value))
            continue
        first, comments = statement.lineno - 1, list[str]()
        while first and lines[first - 1].lstrip().startswith("#"):
            first -= 1
            comments.insert(0, lines[first].strip(" #"))
        notes[name] = " ".join(comments)
    return notes


def default_of(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return "none" if field.default is None else f"`{field.default}`"
    if field.default_factory is not dataclasses.MISSING:
        return f"`{field.default_factory()}`"
    return "required"


def options_table(cls: type[Any]) -> str:
    """Markdown table of a pass's options; they are written ``pass-name{option=value}``."""
    fields = [f for f in dataclasses.fields(cls) if f.name != "name"]
    if not fields:
        return "This pass takes no options.\n"
    notes = {k: v for base in reversed(cls.__mro__[:-1]) if base is not ModulePass for k, v in _notes(base).items()}
    rows = ["| option | type | default | meaning |", "|---|---|---|---|"]
    for field in fields:
        kind = str(field.type).replace("|", "\\|")
        meaning = " ".join(notes.get(field.name, "").split()).replace("|", "\\|")
        rows.append(f"| `{field.name.replace('_', '-')}` | {kind} | {default_of(field)} | {meaning} |")
    return "\n".join(rows) + "\n"


def _notes(base: type[Any]) -> dict[str, str]:
    return option_notes(base) if base.__module__.startswith("prism_mlir.") else {}


def page(cls: type[ModulePass]) -> str:
    """The whole page of one pass."""
    module = inspect.getmodule(cls)
    text = inspect.cleandoc(cls.__doc__ or "") or inspect.cleandoc((module and module.__doc__) or "")
    where = cls.__module__.replace(".", "/") + ".py"
    return (
        f"{NOTICE}\n# `{cls.name}`\n\n{text}\n\n## Options\n\n{options_table(cls)}\n"
        f"Source: [`{where}`](../../../{where})\n"
    )


def index(classes: list[type[ModulePass]]) -> str:
    """The list of all passes with the first line of each."""
    rows = []
    for cls in classes:
        doc = inspect.cleandoc(cls.__doc__ or "")
        rows.append(f"- [`{cls.name}`]({cls.name}.md): {doc.splitlines()[0] if doc else ''}")
    return f"{NOTICE}\n# Passes\n\n" + "\n".join(rows) + "\n"


def pages() -> dict[str, str]:
    """File name -> content of every reference page."""
    classes = passes()
    return {"README.md": index(classes), **{f"{cls.name}.md": page(cls) for cls in classes}}


def main() -> None:
    """Write the pages and remove those of passes that are gone."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for stale in set(folder.glob("*.md")) - {folder / name for name in wanted}:
        stale.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text)
    print(f"{len(wanted)} pages in {folder}")


if __name__ == "__main__":
    main()
