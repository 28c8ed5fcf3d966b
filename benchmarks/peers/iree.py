"""The kernels that IREE makes of a program, read out of what it writes on the way: no GPU, and nothing of IREE in this process.

The host code of the last phase but one says which kernels are launched in which order, and of each the buffers and the numbers
that it is given; the kernels' own headers say how many blocks and threads they run. Only launches whose sizes are constants can
be counted, as those of a program of static shapes are.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from prism_mlir.compiler.counting import only_entry

sys.path.append(str(Path(__file__).resolve().parents[2] / "test"))

from corpus.iree.compile import COMPILE, compile_file

__all__ = ["COMPILE", "CONFIGURATIONS", "IreeLaunch", "compile_program", "launches"]

Triple = tuple[int, int, int]

CONFIGURATIONS = {
    "default": (),
    "O3, aggressive fusion": ("--iree-opt-level=O3", "--iree-dispatch-creation-enable-aggressive-fusion"),
}

_EXPORT = re.compile(
    r"hal\.executable\.export public @([\w$]+) .*?"
    r"hal\.return (%\w+), (%\w+), (%\w+) : index, index, index\s*\}"
    r" <workgroup_size = \[(\d+) : index, (\d+) : index, (\d+) : index\]([^>]*)>",
    re.DOTALL,
)
_DISPATCH = re.compile(
    r"stream\.cmd\.dispatch (?:@[\w$]+::)*@([\w$]+)(?:\[[^\]]*\])?(?:\(([^)]*)\))? \{(.*?)\n\s*\}", re.DOTALL
)
_BINDING = re.compile(r"(?:ro|wo|rw) (%\w+)\[(%\w+) for %\w+\] : !stream\.resource<\w+>\{(%\w+)\}")


@dataclass(frozen=True)
class IreeLaunch:
    """One launch. ``buffers``: name and bytes of what each pointer parameter points to (what kernels pass on shares one buffer,
    whatever part of it they use); ``numbers``: the 32-bit parameters after them.
    """

    ptx: str
    entry: str
    grid: Triple
    block: Triple
    shared_bytes: int
    buffers: tuple[tuple[str, int], ...]
    numbers: tuple[int, ...]


def compile_program(path: Path, options: tuple[str, ...] = ()) -> tuple[IreeLaunch, ...]:
    """The launches of a program for sm_80.

    Raises ValueError where IREE does not compile it, or launches kernels whose sizes are known at run time only.
    """
    ptx, module = compile_file(path, options)
    return launches(module, "".join(ptx))


def launches(module: str, ptx: str) -> tuple[IreeLaunch, ...]:
    """The launches that a module of IREE's phase ``executable-targets`` makes of kernels in ``ptx``, in order."""
    exports = {found[1]: found for found in _EXPORT.finditer(module)}
    functions = module.split("util.func ")[1:]  # what prepares constants stands in util.initializer, before them
    host = max(functions, key=lambda text: text.count("stream.cmd.dispatch"))
    return tuple(_launch(exports, found, ptx) for found in _DISPATCH.finditer(host))


def _launch(exports: dict[str, re.Match[str]], found: re.Match[str], ptx: str) -> IreeLaunch:
    entry, numbers, body = found[1], found[2] or "", found[3]
    export = exports[entry]
    local = re.search(r"workgroup_local_memory = (\d+)", export[8])
    bindings = [(name, constant(start), constant(size)) for name, start, size in _BINDING.findall(body)]
    if any(start for _, start, _ in bindings):
        raise ValueError(f"a pointer of {entry} starts inside its buffer")
    pointers = tuple((name, size) for name, _, size in bindings)
    text = only_entry(ptx, entry)
    values = tuple(constant(word) for word in numbers.split(" :")[0].split(", ") if word)
    parameters = len(re.findall(r"\.param \.", text[: text.index(")")]))
    if parameters != len(pointers) + len(values):
        raise ValueError(
            f"{entry} has {parameters} parameters, {len(pointers)} buffers and {len(values)} numbers are given"
        )
    return IreeLaunch(
        text,
        entry,
        (constant(export[2]), constant(export[3]), constant(export[4])),
        (int(export[5]), int(export[6]), int(export[7])),
        int(local[1]) if local else 0,
        pointers,
        values,
    )


def constant(name: str) -> int:
    """The value of ``%c3``, ``%c3_0``, ``%c3_i32`` or ``%c-1_i32``. Raises ValueError for what is known at run time only."""
    found = re.fullmatch(r"%c(-?\d+)(?:_i\d+)?(?:_\d+)?", name)
    if found is None:
        raise ValueError(f"{name} is known at run time only")
    return int(found[1])
