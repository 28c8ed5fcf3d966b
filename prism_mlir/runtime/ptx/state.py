"""What a batch of blocks holds while it runs: lanes, masks, registers, memories, clocks.

A lane is one thread of one block of the batch; lanes of a block are contiguous and padded to whole warps. A register is one
array of shape ``(lanes,)``, or of shape ``(1,)`` while its value is the same for every lane. Register arrays are never
written in place: an instruction binds a new array to the slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.types import Array

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.checks import Checks
    from prism_mlir.runtime.ptx.checks.order import SyncClock
    from prism_mlir.runtime.ptx.counters import Counters
    from prism_mlir.runtime.ptx.memory import Arena, AsyncQueue, GlobalMemory

WARP = 32


class Mask:
    """A set of lanes.

    ``full``: every live lane is in the set, so registers may be overwritten whole (dead lanes are never looked at).
    ``index``: the lanes as indices, or None when the set is every lane of the batch.
    """

    __slots__ = ("_index", "dense", "full", "lanes", "n")

    def __init__(self, lanes: npt.NDArray[np.bool_], n: int, full: bool, dense: bool) -> None:
        self.lanes = lanes
        self.n = n
        self.full = full
        self.dense = dense
        self._index: npt.NDArray[np.intp] | None = None

    @property
    def index(self) -> npt.NDArray[np.intp] | None:
        if self.dense:
            return None
        if self._index is None:
            self._index = np.flatnonzero(self.lanes)
        return self._index

    def warps(self) -> int:
        """How many warps have a lane in the set."""
        return int(np.count_nonzero(self.lanes.reshape(-1, WARP).any(axis=1)))


class State:
    """One batch. ``first`` is the linear index of its first block."""

    def __init__(
        self,
        *,
        blocks: int,
        threads: int,
        first: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        kernel: str,
        checks: Checks,
    ) -> None:
        self.kernel = kernel
        self.checks = checks
        self.grid = grid
        self.block = block
        self.blocks = blocks
        self.threads = threads
        self.first = first
        self.warps_per_block = -(-threads // WARP)
        self.padded = self.warps_per_block * WARP
        self.n = blocks * self.padded
        lane = np.arange(self.n, dtype=np.int64)
        self.lane_block = lane // self.padded
        self.lane_thread = lane % self.padded
        self.lane_warp = self.lane_thread // WARP
        self.lane_gblock = (self.lane_block + (first + 1)).astype(np.int32)
        self.live = self.lane_thread < threads
        self.live_n = blocks * threads
        self.regs: list[Array] = []
        self.written: dict[int, npt.NDArray[np.bool_]] = {}
        self.steps = 0
        self.exact_mma = False
        self.static_shared = 0
        self.dynamic_shared = 0
        self.epoch = np.zeros(blocks, dtype=np.int64)
        self.shared: Arena
        self.local: Arena
        self.param: Array
        self.memory: GlobalMemory
        self.queue: AsyncQueue
        self.clock: SyncClock
        self.counters: Counters

    def mask(self, lanes: npt.NDArray[np.bool_]) -> Mask:
        """The set ``lanes``, which must be live."""
        n = int(np.count_nonzero(lanes))
        full = n == self.live_n
        return Mask(lanes, n, full, full and n == self.n)

    def all_live(self) -> Mask:
        return self.mask(self.live.copy())

    def narrow(self, mask: Mask, predicate: Array, negated: bool) -> Mask | None:
        """The lanes of ``mask`` whose predicate holds; None when there are none."""
        if predicate.shape[0] == 1:
            return mask if bool(predicate[0]) != negated else None
        lanes = mask.lanes & (~predicate if negated else predicate)
        n = int(np.count_nonzero(lanes))
        if n == mask.n:
            return mask
        return Mask(lanes, n, False, False) if n else None

    def spread(self, value: Array) -> Array:
        """``value`` with one element a lane."""
        return value if value.shape[0] == self.n else np.broadcast_to(value, (self.n,))

    def thread_name(self, lane: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """``(block index, thread index)`` of a lane."""
        return (
            unflatten(self.first + int(self.lane_block[lane]), self.grid),
            unflatten(int(self.lane_thread[lane]), self.block),
        )


def unflatten(index: int, shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """Linear index to (x, y, z), x fastest."""
    return (index % shape[0], index // shape[0] % shape[1], index // (shape[0] * shape[1]))
