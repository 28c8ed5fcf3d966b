"""What a profiler would count, over a whole launch.

Rules, per warp and instruction (names as in the Nsight Compute Kernel Profiling Guide, "Metrics Decoder"):

- A *request* is one memory instruction of one warp.
- A *sector* is an aligned piece of 32 bytes of global memory. A request touches each distinct sector of its active lanes
  once, whatever the width of the access; ``cp.async`` touches those of the bytes that it really reads.
- Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory"). A *wavefront* serves one word of each
  bank, to any number of lanes. So a request of up to 4 bytes a lane takes as many wavefronts as the fullest bank has
  distinct words.
- Wider requests go by groups that fill the 128 bytes of a wavefront: half-warps for 8 bytes, quarter-warps for 16 (a
  conflict-free 16-byte load takes four wavefronts). Where lanes n and n ^ 1 load from one address, for all active n, or n and
  n ^ 2, two registers come back at once, so that groups are twice as large (NVIDIA developer forum, threads 77228 and 359822).
- ``ldmatrix`` and ``stmatrix`` take one wavefront for the eight 16-byte rows of each 8 × 8 matrix, more where rows that differ
  fall into the same four banks (PTX ISA, "ldmatrix"; forum thread 278716).
- ``wmma.load`` and ``wmma.store``, whose layout PTX leaves open, are taken for one request of 128 bytes a wavefront.
- Lanes of a shared-memory atomic that name one word take turns, as different words of a bank do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.memory import REGION_BASE, SHARED_WINDOW, WINDOW
from prism_mlir.runtime.ptx.state import WARP, Mask, State
from prism_mlir.runtime.ptx.types import Array

SECTOR = 32
BANKS = 32


@dataclass(slots=True)
class Counters:
    """Exact counts.

    Attributes:
        detailed: whether requests, sectors and wavefronts are counted, too.
        thread_instructions: instructions times active threads (threads whose guard is false included).
        warp_instructions: by class (``alu``, ``fp32``, ``mma``, ``ld.global`` …), one for each warp that issues it.
        global_load_bytes, global_store_bytes: bytes that threads asked for (an atomic counts as a store).
        global_requests, global_sectors: warp requests to global memory and the sectors they touch, ``cp.async`` included
            (only when ``detailed``). A coalesced access of 4 bytes a lane touches 4 sectors a request.
        shared_load_bytes, shared_store_bytes: bytes that threads, ldmatrix and stmatrix asked for, without ``cp.async``.
        shared_requests, shared_wavefronts: warp requests to shared memory, ``cp.async`` included, and the passes they take
            because of their width and of bank conflicts (only when ``detailed``).
        shared_wavefronts_ideal: what ``shared_wavefronts`` would be without bank conflicts (only when ``detailed``).
        mma_count, mma_flops: warp-level matrix products, and their floating-point (or integer) operations, 2 m n k each.
        cp_async_bytes: bytes that cp.async writes to shared memory, filled-in zeros included.
        barriers: barriers passed, summed over blocks.
        divergent_branches: branches at which the threads of a warp went different ways.
    """

    detailed: bool = False
    thread_instructions: int = 0
    warp_instructions: dict[str, int] = field(default_factory=dict)
    global_load_bytes: int = 0
    global_store_bytes: int = 0
    global_requests: int = 0
    global_sectors: int = 0
    shared_load_bytes: int = 0
    shared_store_bytes: int = 0
    shared_requests: int = 0
    shared_wavefronts: int = 0
    shared_wavefronts_ideal: int = 0
    mma_count: int = 0
    mma_flops: int = 0
    cp_async_bytes: int = 0
    barriers: int = 0
    divergent_branches: int = 0

    def load(self, st: State, space: str, width: int, at: Array, mask: Mask) -> None:
        """A load of ``width`` bytes a lane; ``space`` is "" for generic addresses."""
        for where, who in _by_space(st, space, at, mask):
            if where == "shared":
                self.shared_load_bytes += width * who.n
                self._banks(st, at, width, who, pairs=True)
            else:
                self.global_load_bytes += width * who.n
                self._sectors(st, at, width, who)

    def store(self, st: State, space: str, width: int, at: Array, mask: Mask, atomic: bool = False) -> None:
        """A store, or an atomic operation."""
        for where, who in _by_space(st, space, at, mask):
            if where == "shared":
                self.shared_store_bytes += width * who.n
                self._banks(st, at, width, who, turns=atomic)
            else:
                self.global_store_bytes += width * who.n
                self._sectors(st, at, width, who)

    def copy(self, st: State, width: int, source: Array, target: Array, valid: Array | None, mask: Mask) -> None:
        """cp.async of ``width`` bytes a lane, of which ``valid`` (None: all) are read."""
        self.cp_async_bytes += width * mask.n
        if not self.detailed:
            return
        who = _Lanes(mask.n, mask.index)
        self._banks(st, target, width, who)
        self._sectors(st, source if valid is None else np.where(valid > 0, source, -1), width, who)

    def matrix(self, at: Array, count: int, storing: bool) -> None:
        """ldmatrix and stmatrix; ``at`` are the addresses of all rows, matrix by matrix."""
        if storing:
            self.shared_store_bytes += at.shape[0] * 16
        else:
            self.shared_load_bytes += at.shape[0] * 16
        if self.detailed:
            self.shared_wavefronts += _passes(at.reshape(-1, 8) >> 4, BANKS // 4)
            self.shared_wavefronts_ideal += at.shape[0] // 8
            self.shared_requests += at.shape[0] // (8 * count)

    def whole(self, space: str, width: int, table: Array, storing: bool) -> None:
        """wmma.load and wmma.store: each row of ``table`` is the addresses of one matrix, which a warp moves in an order of its
        own: one request, without conflicts in shared memory.
        """
        shared = (
            table[:, 0] // WINDOW == SHARED_WINDOW // WINDOW
            if not space
            else np.full(table.shape[0], space == "shared")
        )
        inside, size = int(shared.sum()), width * table.shape[1]
        outside = table.shape[0] - inside
        if storing:
            self.shared_store_bytes += inside * size
            self.global_store_bytes += outside * size
        else:
            self.shared_load_bytes += inside * size
            self.global_load_bytes += outside * size
        if self.detailed:
            waves = inside * -(-size // (4 * BANKS))
            self.shared_requests += inside
            self.shared_wavefronts += waves
            self.shared_wavefronts_ideal += waves
            self.global_requests += outside
            self.global_sectors += int(_fresh(np.sort(table[~shared] // SECTOR, axis=1)).sum())

    def mma(self, warps: int, flops: int) -> None:
        self.mma_count += warps
        self.mma_flops += warps * flops

    def _sectors(self, st: State, at: Array, width: int, who: _Lanes) -> None:
        if not self.detailed:
            return
        table = _rows(st, at, who)
        self.global_requests += int((table >= 0).any(axis=1).sum())
        last = np.where(table < 0, -1, table + (width - 1))  # in another sector only where alignment is not checked
        self.global_sectors += int(_fresh(np.sort(np.hstack([table, last]) // SECTOR, axis=1)).sum())

    def _banks(self, st: State, at: Array, width: int, who: _Lanes, pairs: bool = False, turns: bool = False) -> None:
        """``pairs``: two lanes may share the registers that come back; ``turns``: lanes never share a word."""
        if not self.detailed:
            return
        table = _rows(st, at, who)
        self.shared_requests += table.shape[0]
        span = max(width // 4, 1)
        words = np.where(table < 0, -1, table // (4 * span))
        if turns:  # of another lane, but of the same bank
            words = np.where(words < 0, -1, words + (np.arange(WARP) * BANKS << 40))
        alike = _pairs_agree(words) if pairs and span > 1 else np.zeros(words.shape[0], dtype=np.bool_)
        for group, chosen in ((WARP // span, ~alike), (2 * WARP // span, alike)):
            groups = words[chosen].reshape(-1, group)
            self.shared_wavefronts += _passes(groups, BANKS // span)
            self.shared_wavefronts_ideal += int((groups >= 0).any(axis=1).sum())


class _Lanes(NamedTuple):
    """Some lanes of an access: how many, which (None: every lane of the batch), and which of the addresses are theirs."""

    n: int
    lanes: npt.NDArray[np.intp] | None
    pick: npt.NDArray[np.intp] | None = None


def _by_space(st: State, space: str, at: Array, mask: Mask) -> list[tuple[str, _Lanes]]:
    """The lanes that access shared, and that access global memory; local and constant memory are not counted."""
    if space in ("shared", "global"):
        return [(space, _Lanes(mask.n, mask.index))]
    if space:
        return []
    index = np.arange(st.n) if mask.index is None else mask.index
    generic = np.broadcast_to(at, index.shape)
    parts = (("shared", generic // WINDOW == SHARED_WINDOW // WINDOW), ("global", generic >= REGION_BASE))
    picks = ((where, np.flatnonzero(inside)) for where, inside in parts)
    return [(where, _Lanes(pick.shape[0], index[pick], pick)) for where, pick in picks if pick.size]


def _rows(st: State, at: Array, who: _Lanes) -> Array:
    """Addresses as (warps, 32), -1 for lanes that take no part; warps without any are left out."""
    if who.lanes is None:
        return np.broadcast_to(at, (st.n,)).reshape(-1, WARP)
    whole = np.full(st.n, -1, dtype=np.int64)
    whole[who.lanes] = at if who.pick is None or at.shape[0] == 1 else at[who.pick]
    table = whole.reshape(-1, WARP)
    return table[(table >= 0).any(axis=1)]


def _fresh(table: Array) -> Array:
    """The first of each value in sorted rows, without -1."""
    fresh = table >= 0
    fresh[:, 1:] &= table[:, 1:] != table[:, :-1]
    return fresh


def _passes(words: Array, banks: int) -> int:
    """Wavefronts of groups (rows) of words, each as wide as one of ``banks``: distinct words of one bank take turns."""
    words = np.sort(words, axis=1)
    fresh = _fresh(words)
    hits = np.stack([((words % banks == b) & fresh).sum(axis=1) for b in range(banks)])
    return int(hits.max(axis=0).sum())


def _pairs_agree(words: Array) -> Array:
    """For each warp, whether lanes n and n ^ 1, or n and n ^ 2, name one address wherever both are active."""
    agree = np.zeros(words.shape[0], dtype=np.bool_)
    for step in (1, 2):
        other = words[:, np.arange(WARP) ^ step]
        agree |= ((words == other) | (words < 0) | (other < 0)).all(axis=1)
    return agree


def extrapolate(short: Counters, long: Counters, trips: tuple[int, int], want: int, blocks: int = 1) -> Counters:
    """The counts of ``blocks`` blocks that go ``want`` times around a loop, from two runs of one block.

    Exact where a count is an affine function of the trip count and all blocks do the same, as in a GEMM without a tail; an
    instruction class that only one run has counts as 0 in the other.

    Args:
        short, long: counts of one block.
        trips: how often each of the two went around.
        want: trip count to predict.
        blocks: how many such blocks there are.

    Raises:
        ValueError: the two trip counts are the same, or a count is not affine with whole numbers.
    """
    step = trips[1] - trips[0]
    if not step:
        raise ValueError("two different trip counts are needed")

    def line(a: int, b: int) -> int:
        slope, rest = divmod(b - a, step)
        if rest:
            raise ValueError(f"{b - a} more in {step} more trips is no whole number a trip")
        return blocks * (a + slope * (want - trips[0]))

    result = Counters(detailed=short.detailed and long.detailed)
    for f in fields(Counters):
        a, b = getattr(short, f.name), getattr(long, f.name)
        if f.name == "warp_instructions":
            value: object = {key: line(a.get(key, 0), b.get(key, 0)) for key in (a | b)}
        elif f.name != "detailed":
            value = line(a, b)
        else:
            continue
        setattr(result, f.name, value)
    return result
