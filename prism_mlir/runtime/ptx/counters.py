"""What a profiler would count, over a whole launch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prism_mlir.runtime.ptx.state import WARP, Mask, State
from prism_mlir.runtime.ptx.types import Array


@dataclass(slots=True)
class Counters:
    """Exact counts.

    Attributes:
        thread_instructions: instructions times active threads (threads whose guard is false included).
        warp_instructions: by class (``alu``, ``fp32``, ``mma``, ``ld.global`` …), one for each warp that issues it.
        global_load_bytes, global_store_bytes: bytes that threads asked for.
        global_sectors: 32-byte sectors of all global requests of all warps (only when ``detailed``).
        shared_wavefronts: passes that shared-memory requests need because of bank conflicts (only when ``detailed``).
        shared_requests: warp requests to shared memory, ideal wavefronts of ``shared_wavefronts`` for accesses of up to 4 bytes.
        mma: warp-level matrix products, and ``mma_flops`` their floating-point operations.
        cp_async_bytes: bytes requested by cp.async.
        barriers: barriers passed, summed over blocks.
        divergent_branches: branches at which the threads of a warp went different ways.
    """

    detailed: bool = False
    thread_instructions: int = 0
    warp_instructions: dict[str, int] = field(default_factory=dict)
    global_load_bytes: int = 0
    global_store_bytes: int = 0
    global_sectors: int = 0
    shared_load_bytes: int = 0
    shared_store_bytes: int = 0
    shared_wavefronts: int = 0
    shared_requests: int = 0
    mma_count: int = 0
    mma_flops: int = 0
    cp_async_bytes: int = 0
    barriers: int = 0
    divergent_branches: int = 0

    def load(self, st: State, space: str, width: int, at: Array, mask: Mask) -> None:
        if space == "shared":
            self.shared_load_bytes += width * mask.n
            self._banks(st, at, width, mask)
        elif space in ("global", ""):
            self.global_load_bytes += width * mask.n
            self._sectors(st, at, width, mask)

    def store(self, st: State, space: str, width: int, at: Array, mask: Mask) -> None:
        if space == "shared":
            self.shared_store_bytes += width * mask.n
            self._banks(st, at, width, mask)
        elif space in ("global", ""):
            self.global_store_bytes += width * mask.n
            self._sectors(st, at, width, mask)

    def copy(self, st: State, width: int, at: Array, mask: Mask) -> None:
        self.cp_async_bytes += width * mask.n
        self._sectors(st, at, width, mask)

    def matrix(self, at: Array, count: int, storing: bool) -> None:
        """ldmatrix and stmatrix: eight rows of 16 bytes a matrix, one wavefront each when they fall in different banks."""
        if storing:
            self.shared_store_bytes += at.shape[0] * 16
        else:
            self.shared_load_bytes += at.shape[0] * 16
        if self.detailed:
            rows = np.sort(at.reshape(-1, 8) >> 4, axis=1)
            bank = rows & 7
            different = np.concatenate([np.ones((rows.shape[0], 1), dtype=bool), rows[:, 1:] != rows[:, :-1]], axis=1)
            hits = np.stack([((bank == b) & different).sum(axis=1) for b in range(8)])
            self.shared_wavefronts += int(hits.max(axis=0).sum())
            self.shared_requests += rows.shape[0] // count

    def mma(self, warps: int, flops: int) -> None:
        self.mma_count += warps
        self.mma_flops += warps * flops

    def _rows(self, st: State, at: Array, mask: Mask) -> Array:
        """Addresses as (warps, 32), -1 for lanes that take no part."""
        if mask.index is None:
            return np.broadcast_to(at, (st.n,)).reshape(-1, WARP)
        whole = np.full(st.n, -1, dtype=np.int64)
        whole[mask.index] = at
        table = whole.reshape(-1, WARP)
        return table[(table >= 0).any(axis=1)]

    def _sectors(self, st: State, at: Array, width: int, mask: Mask) -> None:
        if not self.detailed:
            return
        table = np.sort(self._rows(st, at, mask) >> 5, axis=1)
        first = (table[:, :1] >= 0).sum()
        self.global_sectors += int(first + ((table[:, 1:] != table[:, :-1]) & (table[:, 1:] >= 0)).sum())

    def _banks(self, st: State, at: Array, width: int, mask: Mask) -> None:
        """Wavefronts of a request: a quarter warp at a time for 16 bytes, half for 8; distinct words of one bank take turns."""
        if not self.detailed:
            return
        table = self._rows(st, at, mask)
        self.shared_requests += table.shape[0]
        group = WARP * 4 // max(width, 4)
        words = table.reshape(-1, group)
        words = np.where(words < 0, -1, words >> 2)
        span = max(width // 4, 1)
        words = np.sort(np.where(words < 0, -1, words), axis=1)
        fresh = np.concatenate([words[:, :1] >= 0, (words[:, 1:] != words[:, :-1]) & (words[:, 1:] >= 0)], axis=1)
        bank = (words % WARP) // span
        hits = np.stack([((bank == b) & fresh).sum(axis=1) for b in range(WARP // span)])
        self.shared_wavefronts += int(hits.max(axis=0).sum())
