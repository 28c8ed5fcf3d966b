"""A compiled kernel, whoever compiled it."""

from __future__ import annotations

from dataclasses import dataclass

Extent = tuple[int, int, int]


@dataclass(frozen=True)
class Compiled:
    """PTX with one kernel, and what a launch needs beside the arguments.

    Attributes:
        ptx: the module.
        entry: name of its kernel.
        block: threads a block in x, y, z.
        shared_bytes: dynamic shared memory.
        hidden: pointers that the compiler put after the arguments and that the kernel does not use.
        grid: blocks in x, y, z where the compiler decides that.
    """

    ptx: str
    entry: str
    block: Extent
    shared_bytes: int
    hidden: int = 0
    grid: Extent | None = None
