"""Counting what emitted code executes, on the PTX machine: what the yardstick of times (``tune.counted``) is fed with. No GPU.

Counts are those of one block each: the PTX is made a block of a larger grid by writing the block's position into it. Where the
first and the last block count the same, so do all others; else the mean of both stands for a block (exact where counts grow
evenly from the first block to the last).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from prism_mlir.codegen.compile import CompiledKernel
from prism_mlir.codegen.external import ptxas_check
from prism_mlir.graph.launch_info import KernelLaunch
from prism_mlir.runtime.ptx import Checks, Module
from prism_mlir.runtime.ptx.counters import SECTOR, Counters
from prism_mlir.tune.counted import Buffer, CountedKernel

Triple = tuple[int, int, int]

_ENTRY = re.compile(r"^\.visible \.entry ([\w$]+)\(.*?^\}[^\n]*\n", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of an implementation, ready to be counted.

    arguments: arrays and numbers, one a parameter; shared_bytes: dynamic
    buffers: what lies behind the pointers; kernels of one implementation that name the same one pass it on
    """

    ptx: str
    entry: str
    grid: Triple
    block: Triple
    shared_bytes: int
    arguments: tuple[Any, ...]
    buffers: tuple[Buffer, ...] = ()


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of a whole launch; ``heaviest``: warp instructions of the heavier of its first and last block over their mean."""

    blocks: int
    instructions: Mapping[str, float]
    global_requests: float
    global_sectors: float
    shared_wavefronts: float
    shared_wavefronts_ideal: float
    mma_flops: float
    barriers: float
    heaviest: float

    @property
    def global_bytes(self) -> float:
        """Bytes that travel between the SMs and L2, in whole sectors."""
        return self.global_sectors * SECTOR


@dataclass(frozen=True, slots=True)
class Resources:
    """What one kernel holds: registers a thread, bytes of shared memory a block, bytes of spills, threads a block."""

    registers: int
    shared: int
    spills: int | None
    threads: int


def alone(ptx: str, grid: Triple, position: Triple) -> str:
    """The PTX of the block at ``position`` of a grid, as the only block of a launch."""
    for axis, at, extent in zip("xyz", position, grid, strict=True):
        ptx = ptx.replace(f"%nctaid.{axis}", str(extent)).replace(f"%ctaid.{axis}", str(at))
    return ptx


def count(launch: Launch) -> Counted:
    """Counts of a launch, from its first and last block."""
    last = (launch.grid[0] - 1, launch.grid[1] - 1, launch.grid[2] - 1)
    ends = [(0, 0, 0)] if last == (0, 0, 0) else [(0, 0, 0), last]
    return whole([_count_block(launch, at) for at in ends], prod(launch.grid))


def _count_block(launch: Launch, at: Triple) -> Counters:
    kernel = Module.load(alone(launch.ptx, launch.grid, at)).kernel(launch.entry)
    result = kernel.run(
        grid=(1, 1, 1),
        block=launch.block,
        args=launch.arguments,
        shared_bytes=launch.shared_bytes,
        checks=Checks.none(),
        detailed_counters=True,
    )
    return result.counters


def whole(sample: Sequence[Counters], blocks: int) -> Counted:
    """Counts of all blocks from those of some of them, each by itself."""
    share = blocks / len(sample)
    instructions: Counter[str] = Counter()
    for one in sample:
        instructions.update(one.warp_instructions)
    return Counted(
        blocks,
        {name: n * share for name, n in instructions.items()},
        share * sum(c.global_requests for c in sample),
        share * sum(c.global_sectors for c in sample),
        share * sum(c.shared_wavefronts for c in sample),
        share * sum(c.shared_wavefronts_ideal for c in sample),
        share * sum(c.mma_flops for c in sample),
        share * sum(c.barriers for c in sample),
        _heaviest(sample),
    )


def _heaviest(sample: Sequence[Counters]) -> float:
    """Warp instructions of the heaviest block over the mean; exactly 1 where all count the same."""
    if all(c == sample[0] for c in sample):
        return 1.0
    sizes = [sum(c.warp_instructions.values()) for c in sample]
    return max(1.0, max(sizes) * len(sizes) / max(1, sum(sizes)))


def only_entry(ptx: str, entry: str) -> str:
    """A module with one of its kernels, so that an assembler's report is of that one."""
    return _ENTRY.sub(lambda found: found[0] if found[1] == entry else "", ptx)


def counted_kernel(counted: Counted, resources: Resources, buffers: tuple[Buffer, ...]) -> CountedKernel:
    """A launch as the yardstick takes it. Spills that nobody could count are none."""
    return CountedKernel(
        blocks=counted.blocks,
        threads=resources.threads,
        registers=resources.registers,
        shared_bytes=resources.shared,
        spills=resources.spills or 0,
        instructions=counted.instructions,
        mma_flops=counted.mma_flops,
        shared_wavefronts=counted.shared_wavefronts,
        barriers=counted.barriers,
        global_sectors=counted.global_sectors,
        buffers=buffers,
        heaviest=counted.heaviest,
    )


def emitted(kernel: KernelLaunch, ptx: str) -> Launch:
    """A launch of emitted code on buffers of its own."""
    arguments = tuple(zeros(a.shape, a.dtype.storage) for a in kernel.arguments)
    buffers = tuple(Buffer(f"{a.role}{a.index}", a.bytes) for a in kernel.arguments)
    return Launch(ptx, kernel.entry, kernel.grid, kernel.block, kernel.shared_bytes, arguments, buffers)


def held(kernel: KernelLaunch, ptx: str, arch: str, estimated: int) -> Resources:
    """What one kernel of a text holds: registers and spills as ptxas says, or the estimate where it is missing.

    Raises :class:`~prism_mlir.graph.errors.CodegenError` where ptxas rejects the text.
    """
    report = ptxas_check(only_entry(ptx, kernel.entry), arch)
    registers, spills = (report.registers, report.spills) if report else (estimated, None)
    return Resources(registers, kernel.shared_bytes, spills, prod(kernel.block))


def counted_kernels(compiled: CompiledKernel, arch: str, estimated: Sequence[int]) -> tuple[CountedKernel, ...]:
    """The kernels of emitted code as the yardstick takes them; ``estimated``: registers of each, for where ptxas is missing."""
    found = []
    for kernel, registers in zip(compiled.launch.kernels, estimated, strict=True):
        launch = emitted(kernel, compiled.ptx)
        resources = held(kernel, compiled.ptx, arch, registers)
        found.append(counted_kernel(count(launch), resources, launch.buffers))
    return tuple(found)


def zeros(shape: Sequence[int], kind: Any) -> Any:
    """A buffer whose content does not matter; the operating system gives pages only for what is touched."""
    return np.zeros(tuple(shape), kind)
