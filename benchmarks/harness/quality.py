"""Quality of kernels from counts: what a launch moves and issues, beside what its work needs.

Counts are those of one block each: the PTX is made a block of a larger grid by writing the block's position into it. Where the
first and the last block count the same, so do all others; else the mean of both stands for a block (exact where counts grow
evenly from the first block to the last).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from prism_mlir.runtime.ptx import Checks, Module
from prism_mlir.runtime.ptx.counters import SECTOR, Counters
from prism_mlir.tune.occupancy import LANES, resident_blocks
from prism_mlir.tune.targets import Target

Triple = tuple[int, int, int]

# Targets; a row that misses one says so.
BYTES_TARGET = 1.05  # global bytes over compulsory ones, for a single kernel
CONFLICT_TARGET = 0.02  # bank-conflict wavefronts of all shared wavefronts
WIDE = 16  # bytes of a global access of a thread, where alignment permits

SCHEDULERS = 4  # of an SM, each of which issues one instruction of a warp a clock
GROUPS = {
    "mma": ("mma",),
    "ld/st shared": ("ld.shared", "st.shared", "ldmatrix", "stmatrix"),
    "ld/st global": ("ld.global", "st.global"),
    "cp.async": ("cp.async",),
}
_GLOBAL_ACCESS = re.compile(r"^\s*(?:@!?%\w+\s+)?(ld|st|cp\.async)(\.[\w.:]*)\s+(.*);", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of an implementation, ready to be counted.

    arguments: arrays and numbers, one a parameter; shared_bytes: dynamic
    """

    ptx: str
    entry: str
    grid: Triple
    block: Triple
    shared_bytes: int
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of a whole launch; ``even``: whether its first and last block do the same."""

    blocks: int
    instructions: Mapping[str, float]
    global_requests: float
    global_sectors: float
    shared_wavefronts: float
    shared_wavefronts_ideal: float
    mma_flops: float
    even: bool

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
        all(c == sample[0] for c in sample),
    )


def groups(instructions: Mapping[str, float]) -> dict[str, float]:
    """Warp instructions by the classes of the table; what is in none of them is ``other``."""
    found = {name: sum(instructions.get(c, 0) for c in classes) for name, classes in GROUPS.items()}
    return {**found, "other": sum(instructions.values()) - sum(found.values())}


def narrow_accesses(ptx: str) -> list[tuple[str, int]]:
    """Global accesses of the text that move fewer than 16 bytes a thread: ``ld``, ``st`` or ``cp.async``, and the width of each.

    >>> narrow_accesses("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1]; st.global.b16 [%rd2], %rs1;".replace("; ", ";\\n"))
    [('st', 2)]
    """
    found: list[tuple[str, int]] = []
    for opcode, modifiers, operands in _GLOBAL_ACCESS.findall(ptx):
        if "global" not in modifiers:
            continue
        if opcode == "cp.async":
            width = int(operands.rsplit("]", 1)[1].split(",")[1], 0) if "bulk" not in modifiers else WIDE
        else:
            bits = re.search(r"\.[bufs]+(\d+)$", modifiers)
            vector = re.search(r"\.v(\d)", modifiers)
            assert bits is not None, modifiers
            width = int(bits[1]) // 8 * (int(vector[1]) if vector else 1)
        if width < WIDE:
            found.append((opcode, width))
    return found


def narrow_text(accesses: Iterable[tuple[str, int]]) -> str:
    """``2 st×2`` for two stores of two bytes."""
    return ", ".join(f"{n} {kind}×{width}" for (kind, width), n in sorted(Counter(accesses).items()))


def occupancy(resources: Resources, target: Target) -> float:
    """Resident warps of an SM over the most it can hold."""
    warps = -(-resources.threads // LANES)
    blocks = resident_blocks(resources.shared, resources.registers, warps, target)
    return blocks * warps * LANES / target.threads_per_sm


def busiest_sm_us(total: float, blocks: int, per_clock: float, target: Target) -> float:
    """Microseconds that the busiest SM needs for its part of ``total`` (of all blocks) at ``per_clock``: a lower bound."""
    return total / blocks * -(-blocks // target.sms) / per_clock / (target.clock_ghz * 1e3)


def issue_us(counted: Counted, resources: Resources, target: Target) -> float:
    """Microseconds to issue the instructions of the busiest SM, whose warps give one a clock each, and four together at most."""
    warps = -(-resources.threads // LANES)
    blocks = resident_blocks(resources.shared, resources.registers, warps, target)
    together = min(blocks, -(-counted.blocks // target.sms)) * warps
    total = sum(counted.instructions.values())
    return busiest_sm_us(total, counted.blocks, min(SCHEDULERS, together), target)


def misses(row: Mapping[str, Any]) -> list[str]:
    """The targets that a row of the table misses, by name."""
    found = []
    if row["kernels"] == 1 and row["global/min"] > BYTES_TARGET:
        found.append("bytes")
    if row["spills"]:
        found.append("spills")
    if (row["conflicts"] or 0.0) > CONFLICT_TARGET:
        found.append("banks")
    if row["narrow"]:
        found.append("narrow")
    return found


def summary(
    counted: Sequence[Counted],
    resources: Sequence[Resources],
    ptx: Sequence[str],
    needed: tuple[int, int],
    target: Target,
) -> dict[str, Any]:
    """The columns that follow from the kernels of one implementation.

    counted, resources, ptx: one a kernel
    needed: compulsory bytes, and floating-point operations of the program's products
    """
    instructions: Counter[str] = Counter()
    for c in counted:
        instructions.update(c.instructions)
    wavefronts, ideal = sum(c.shared_wavefronts for c in counted), sum(c.shared_wavefronts_ideal for c in counted)
    spills = [r.spills for r in resources if r.spills is not None]
    row: dict[str, Any] = {
        "kernels": len(counted),
        "global/min": sum(c.global_bytes for c in counted) / needed[0],
        "sectors/request": sum(c.global_sectors for c in counted) / max(1.0, sum(c.global_requests for c in counted)),
        "conflicts": (wavefronts - ideal) / wavefronts if wavefronts else None,
        **groups(instructions),
        "flops/needed": sum(c.mma_flops for c in counted) / needed[1] if needed[1] else None,
        "registers": max(r.registers for r in resources),
        "shared": max(r.shared for r in resources),
        "spills": sum(spills) if spills else None,
        "occupancy": min(occupancy(r, target) for r in resources),
        "issue us": sum(issue_us(c, r, target) for c, r in zip(counted, resources, strict=True)),
        "shared us": sum(busiest_sm_us(c.shared_wavefronts, c.blocks, 1, target) for c in counted),
        "narrow": narrow_text(access for text in ptx for access in narrow_accesses(text)),
        "even": all(c.even for c in counted),
    }
    return {**row, "misses": misses(row)}


def zeros(shape: Sequence[int], kind: Any) -> Any:
    """A buffer whose content does not matter; the operating system gives pages only for what is touched."""
    return np.zeros(tuple(shape), kind)
