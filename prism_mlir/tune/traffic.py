"""Bytes of a kernel between DRAM, L2 and the SMs, and how long they travel."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from math import prod

from prism_mlir.graph.block import Load, Stage
from prism_mlir.graph.ops import Shape
from prism_mlir.tune.occupancy import LANES
from prism_mlir.tune.sized import SECTOR_BYTES, SizedKernel
from prism_mlir.tune.targets import Target

ACTIVE_FOR_FULL_BANDWIDTH = 0.75  # part of the SMs that saturates memory


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of a whole kernel.

    compulsory: what is read, once, and what is written
    missed:     re-reads that L2 cannot hold
    l2:         every tile that is loaded or saved, rows in whole sectors
    together:   different bytes that blocks of one wave read at the same time: what L2 should hold for them to share it
    in_flight:  bytes that copies keep in flight on one SM
    """

    compulsory: int
    missed: int
    l2: int
    together: int
    in_flight: int


def traffic(kernel: SizedKernel, resident: int, target: Target) -> Traffic:
    """Bytes of a kernel of which an SM holds ``resident`` blocks at a time."""
    block, sizes = kernel.block, kernel.schedule.size_of
    compulsory, missed, l2, together = kernel.saved_bytes, 0, kernel.saved_bytes, 0
    moved = [0] * len(block.inputs)
    for row, k in zip(kernel.mapping.imap, block.loads, strict=True):
        op = block.nodes[k].op
        assert isinstance(op, Load)
        size = kernel.load_bytes(k)
        moved[op.source] += size * kernel.times(k) * kernel.blocks
        together += size * _different(block.grid, row, sizes, target.sms * resident)
    for tensor, size in zip(block.inputs, moved, strict=True):
        parts = prod(sizes[p] for p, _ in tensor.expanded)
        whole = min(size, prod(tensor.shape) * parts * tensor.dtype.bytes)
        # A tensor that fits is read from DRAM once; of a larger one, the part beyond the cache is read each time.
        beyond = max(0.0, 1.0 - target.l2_bytes / max(1, whole))
        compulsory, missed = compulsory + whole, missed + int((size - whole) * beyond)
        l2 += size
    return Traffic(compulsory, missed, l2, together, resident * _copied_ahead(kernel))


def _different(grid: tuple[str, ...], imap: Shape, sizes: MappingABC[str, int], blocks: int) -> int:
    """Different tiles that consecutive blocks load, the first grid dim running fastest.

    >>> _different(("x", "y"), (-1, 0), {"x": 8, "y": 4}, 16)  # two rows of eight blocks, each row one tile
    2
    """
    found = 1
    for p, dim in zip(grid, imap, strict=True):
        found *= min(sizes[p], blocks) if dim >= 0 else 1
        blocks = -(-blocks // sizes[p])
    return found


def _copied_ahead(kernel: SizedKernel) -> int:
    """Bytes one block has in flight: the tiles of the iterations it copies ahead, or those before the loop."""
    ahead = {Stage.BODY: max(1, kernel.schedule.stages - 1), Stage.INVARIANT: 1, Stage.AFTER: 0}
    loops = {s: sum(kernel.load_bytes(k) for k in kernel.block.loads if kernel.placement.stages[k] is s) for s in ahead}
    return max(loops[s] * ahead[s] for s in ahead)


def active_part(blocks: int, target: Target) -> float:
    """Part of the bandwidth that so many blocks can draw: all of it from three quarters of the SMs on."""
    return min(1.0, blocks / (ACTIVE_FOR_FULL_BANDWIDTH * target.sms))


def dram_time(size: int, blocks: int, in_flight: int, target: Target) -> float:
    """Microseconds for ``size`` bytes, by bandwidth or by Little's law (bytes in flight over latency)."""
    sustained = target.dram_gbs * target.dram_sustained * active_part(blocks, target)
    little = min(blocks, target.sms) * max(in_flight, SECTOR_BYTES * LANES) / (target.dram_latency / target.clock_ghz)
    return size / min(sustained, little) * 1e-3


def l2_time(size: int, in_use: int, blocks: int, target: Target) -> float:
    """Microseconds for ``size`` bytes of which ``in_use`` different ones are in use at a time."""
    return size / (target.l2_gbs_at(in_use) * active_part(blocks, target)) * 1e-3
