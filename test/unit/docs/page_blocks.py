"""Blocks of the documentation's pages, and how each kind is run.

A block is run unless its page says otherwise, in a comment on the line before it:

==============================  =================================================================================
``<!-- not run: why -->``       needs what a test does not have (a cluster, a GPU, another compiler)
``<!-- extras: why -->``        is slow, or needs an optional package: run by ``make test-extras``
``<!-- file: NAME -->``         is written to that file first; blocks after it can use it
``<!-- exit: 1 -->``            its last command fails, with that code
``<!-- alone: why -->``         Python that changes what others see: run in a process of its own
==============================  =================================================================================

``<!-- page: extras: why -->`` is about all blocks of its page.

``console``  lines after ``$`` are run, what follows them is what they print. ``...`` stands for anything, on a line of its own
             for any number of lines; seconds, white space and empty lines may differ
``python``   is run; names stay for the next block of the page
``pycon``    is run as a doctest, ``...`` standing for anything
``mlir``     is read and verified, by Prism where it has ops of ours and by upstream MLIR else; one with ``...`` in it is a sketch
``ptx``      is read by the PTX machine where it is a whole module
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
COMMENT = re.compile(r"<!-- (not run|extras|alone|file|exit|page): (.*?) -->")
SECONDS = re.compile(r"\b\d+(?:\.\d+)?(?= (?:ms|s)\b)")
OPTIONAL = re.compile(r"^\s*(?:import|from) (torch|jax|triton|iree|distributed|torch_mlir)\b", re.MULTILINE)
LANGUAGES = ("console", "python", "pycon", "mlir", "ptx")


@dataclass(frozen=True)
class Block:
    """A fenced block. marks: what comments before it say."""

    page: str
    line: int
    language: str
    text: str
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> bool:
        return self.language in LANGUAGES and "not run" not in self.marks

    @property
    def needs(self) -> list[str]:
        """Optional packages that it imports."""
        return OPTIONAL.findall(self.text) if self.language in ("python", "pycon") else []

    @property
    def extra(self) -> bool:
        return "extras" in self.marks or bool(self.needs)

    @property
    def place(self) -> str:
        return f"docs/{self.page}:{self.line}"


def blocks(page: str, text: str) -> Iterator[Block]:
    """Fenced blocks of a page, in order."""
    marks: dict[str, str] = {}
    whole = {"extras": "the page"} if "<!-- page: extras" in text else {}
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if (comment := COMMENT.fullmatch(line.strip())) is not None:
            marks[comment[1]] = comment[2]
        elif line.startswith("```"):
            body: list[str] = []
            for _, inside in lines:
                if inside.startswith("```"):
                    break
                body.append(inside)
            yield Block(page, number, line[3:].strip(), "\n".join(body) + "\n", {**whole, **marks})
            marks = {}
        elif line.strip():
            marks = {}


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Commands of a console block, and the lines that each prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.rstrip("\n").split("\n")
        length = next(k for k, line in enumerate(lines, 1) if not line.endswith("\\"))
        yield "\n".join(lines[:length]), lines[length:]


def agrees(printed: str, shown: list[str]) -> bool:
    """Whether output is what a page shows."""

    def plain(line: str) -> str:
        return SECONDS.sub("0", " ".join(line.split()))

    patterns = [
        r"(?:[^\0]*\n)??" if line.strip() == "..." else re.escape(plain(line)).replace(r"\.\.\.", r"[^\n]*") + "\n"
        for line in shown
        if line.strip()
    ]
    got = "".join(plain(line) + "\n" for line in printed.splitlines() if line.strip())
    return re.fullmatch("".join(patterns), got) is not None


@dataclass
class Session:
    """One page being read: its folder, and the names its Python has defined."""

    folder: Path
    names: dict[str, Any] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        """Run a block. Raises ``AssertionError`` where it does not do what the page says."""
        if "file" in block.marks:
            (self.folder / block.marks["file"]).write_text(block.text)
        runner: Callable[[Block], None] = getattr(self, f"_{block.language}")
        runner(block)

    def _console(self, block: Block) -> None:
        told = list(commands(block.text))
        assert told, f"{block.place}: a console block has lines that begin with '$ '"
        for k, (command, shown) in enumerate(told):
            wanted = int(block.marks.get("exit", 0)) if k == len(told) - 1 else 0
            code, printed = execute(command, self.folder)
            assert code == wanted, f"{block.place}: exit code {code} of: {command}\n{printed}"
            assert not shown or agrees(printed, shown), f"{block.place}: {command}\nprints\n{printed}"

    def _python(self, block: Block) -> None:
        if "alone" in block.marks:
            alone = [sys.executable, "-c", block.text]
            done = subprocess.run(alone, cwd=self.folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{block.place}: {done.stderr}"
            return
        code = compile("\n" * block.line + block.text, block.place, "exec")
        with redirect_stdout(io.StringIO()):
            exec(code, self.names)

    def _pycon(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, block.place, block.place, block.line)
        report = io.StringIO()
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        outcome = doctest.DocTestRunner(optionflags=options).run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        assert outcome.attempted > 0 and outcome.failed == 0, report.getvalue()

    def _mlir(self, block: Block) -> None:
        if "..." not in block.text:
            read_mlir(block.text, block.place)

    def _ptx(self, block: Block) -> None:
        if ".version" in block.text and "..." not in block.text:
            from prism_mlir.runtime.ptx import Module

            Module.load(block.text)


def read_mlir(text: str, name: str) -> None:
    """Read and verify MLIR: a module of ours or of upstream's, or attributes and types of ours, one a line."""
    from xdsl.parser import Parser

    from prism_mlir.frontend.upstream import read_module
    from prism_mlir.tools.module_reader import read_ir

    if text.startswith(("#sgraph.", "!sgraph.")):
        for line in text.splitlines():
            Parser(own_context(), line, name).parse_attribute().verify()
    elif "sgraph." in text:
        read_ir(text, name, own_context()).verify()
    else:
        read_module(text, name)


def own_context() -> Any:
    """An xDSL context with our dialect in it."""
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects

    from prism_mlir.dialects.sgraph import SGRAPH

    context = Context(allow_unregistered=True)
    for dialect, factory in {**get_all_dialects(), "sgraph": lambda: SGRAPH}.items():
        context.register_dialect(dialect, factory)
    return context


_COMPILED: dict[tuple[str, ...], tuple[int, str, dict[str, bytes]]] = {}


def execute(command: str, folder: Path) -> tuple[int, str]:
    """Exit code and output of a command. One of ours is run in this process, and a compilation of an example once."""
    words = shlex.split(command, comments=True)
    words[0] = words[0].removeprefix(".venv/bin/")
    mains = {"prism": "prism_mlir.tools.prism", "prism-opt": "prism_mlir.tools.prism_opt"}
    if words[0] not in mains or set("|>;&") & set(command):
        return in_shell(command, folder)
    repeats = words[1] == "compile" and words[2].startswith("examples/") and "-o" in words
    if not repeats:
        return in_process(mains[words[0]], words[1:], folder)
    key, out = tuple(words), folder / words[words.index("-o") + 1]
    if key in _COMPILED:
        code, printed, files = _COMPILED[key]
        for name, content in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(content)
        return code, printed
    code, printed = in_process(mains[words[0]], words[1:], folder)
    _COMPILED[key] = (code, printed, {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()})
    return code, printed


def in_shell(command: str, folder: Path) -> tuple[int, str]:
    """The same for any command; programs of the environment are found by their names."""
    names = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=names,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def in_process(module: str, arguments: list[str], folder: Path) -> tuple[int, str]:
    """What a command line of ours prints, on both streams, and its exit code."""
    from importlib import import_module

    before, printed = Path.cwd(), io.StringIO()
    os.chdir(folder)
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            code = import_module(module).main(arguments)
    finally:
        os.chdir(before)
    return code, printed.getvalue()


def run_page(page: str, folder: Path) -> None:
    """Run all blocks of a page. Raises ``AssertionError`` where one does not do what the page says."""
    session = Session(folder)
    for block in blocks(page, (DOCS / page).read_text()):
        if block.runs:
            session.run(block)


if __name__ == "__main__":  # a process of its own, for pages that load what does not go together with others
    run_page(sys.argv[1], Path.cwd())
