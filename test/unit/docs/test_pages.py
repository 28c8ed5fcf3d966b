"""Every block of every page does what the page says (``page_blocks`` says how); blocks that are slow are among the extras."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import page_blocks
import pytest
from page_blocks import DOCS, LANGUAGES, ROOT, Block, Session, agrees, blocks, commands, in_shell

from prism_mlir.codegen.external import find_tool

PAGES = {
    str(path.relative_to(DOCS)): list(blocks(str(path.relative_to(DOCS)), path.read_text()))
    for path in sorted(DOCS.rglob("*.md"))
    if path.parent.name != "passes"  # made from docstrings, whose passes have tests of their own
}


def pages_with(extra: bool) -> list[str]:
    return [page for page, found in PAGES.items() if any(b.runs and b.extra == extra for b in found)]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A folder that looks like a checkout of the project, for whoever only reads."""
    for name in ("examples", ".venv", "test", "prism_mlir", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("PRISM_CACHE_DIR", "")
    monkeypatch.chdir(tmp_path)
    return Session(tmp_path)


@pytest.mark.parametrize("page", pages_with(extra=False))
def test_the_page_does_what_it_says(page: str, session: Session) -> None:
    for block in PAGES[page]:
        if block.runs and not block.extra:
            session.run(block)


@pytest.mark.extras
@pytest.mark.parametrize("page", pages_with(extra=True))
def test_the_whole_page_does_what_it_says(page: str, session: Session) -> None:
    """In a process of its own: the LLVMs of jaxlib, Triton and upstream MLIR's JIT do not all go together."""
    needs = {name: block for block in PAGES[page] if block.runs for name in block.needs}
    for name, block in needs.items():
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{block.place} needs {name}")
    alone = [sys.executable, page_blocks.__file__, page]
    done = subprocess.run(alone, cwd=session.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.extras  # registers are printed where ptxas is found
def test_the_first_page_shows_what_the_demo_prints(session: Session) -> None:
    if find_tool("ptxas") is None:
        pytest.skip("needs ptxas")
    (shown,) = [
        b.text for b in blocks("../README.md", (ROOT / "README.md").read_text()) if b.text.startswith("program  ")
    ]
    code, printed = in_shell("prism compile examples/rms_norm.mlir -o out/rms_norm", session.folder)
    assert code == 0 and agrees(printed, shown.splitlines()), printed


def test_every_block_says_what_it_is() -> None:
    known = {*LANGUAGES, "text", "json", "toml", "yaml", "html", "cpp", "diff", "{toctree}", "{eval-rst}"}
    strange = [f"{b.place}: '{b.language}'" for found in PAGES.values() for b in found if b.language not in known]
    assert strange == []


def test_marks_belong_to_the_block_after_them() -> None:
    page = "<!-- not run: no cluster -->\n```console\n$ a\n```\ntext\n```python\nimport torch\n```\n"
    first, second = blocks("p.md", page)
    assert (first.line, first.runs, first.text) == (2, False, "$ a\n")
    assert second.runs and second.extra and second.needs == ["torch"]


def test_a_command_may_go_on_in_the_next_line() -> None:
    assert list(commands("$ a \\\n  b\nc\n$ d\n")) == [("a \\\n  b", ["c"]), ("d", [])]


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("one\ntwo\n", ["one", "two"], True),
        ("one\ntwo\n", ["one"], False),
        ("one\ntwo\nthree\n", ["one", "...", "three"], True),
        ("one\ntwo\nthree\n", ["one", "...", "two"], False),
        ("done (0.25 s)\n", ["done (1.3 s)"], True),
        ("done in 3 steps\n", ["done in 4 steps"], False),
        ("66 registers, no spills (ptxas)\n", ["66 registers..."], True),
        ("a\n", ["b"], False),
    ],
)
def test_what_is_printed_is_compared(printed: str, shown: list[str], same: bool) -> None:
    assert agrees(printed, shown) is same


@pytest.mark.parametrize(
    "block",
    [
        Block("p.md", 1, "console", "$ .venv/bin/prism --version\nprism 0.0.0\n"),
        Block("p.md", 1, "console", "$ false\n"),
        Block("p.md", 1, "python", "assert 1 == 2\n"),
        Block("p.md", 1, "pycon", ">>> 1 + 1\n3\n"),
    ],
)
def test_a_block_that_does_something_else_is_found(block: Block, session: Session) -> None:
    with pytest.raises(AssertionError):
        session.run(block)


@pytest.mark.parametrize("text", ["func.func @f( {", "sgraph.program @p() {\n  %0 = sgraph.add %0\n}"])
def test_mlir_that_cannot_be_read_is_found(text: str, session: Session) -> None:
    with pytest.raises(Exception, match=r"p\.md"):
        session.run(Block("p.md", 1, "mlir", text))
