"""Marks on the registers and the shared memory of a running kernel: which 16 bits may differ from those of another kernel.

A mark is 0 where both are the same, ``FINITE`` where they may differ but no half of what the other kernel has is an infinity or
a NaN (as f16 or as the upper half of bf16 and f32), and ``ANY`` otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from harness.ptx_watch import Ints, Lanes
from prism_mlir.runtime.ptx.state import State

Halves = npt.NDArray[np.uint8]  # (lanes, halves of the register)
FINITE, ANY = 1, 2


class Marks:
    """Marks of one batch of blocks. ``results``: marks on buffers in global memory, by base address, of the whole launch."""

    def __init__(self, st: State, results: dict[int, npt.NDArray[np.uint8]]) -> None:
        self._st = st
        self.results = results
        self._registers: dict[int, Halves] = {}
        self._bytes = np.zeros(st.shared.bytes.data.size, np.uint8)
        self._any_bytes = False

    @property
    def empty(self) -> bool:
        return not self._registers and not self._any_bytes and not self.results

    # -- registers ------------------------------------------------------------------------------------------------

    def halves(self, slot: int) -> int:
        """How many marks a lane's register has; a predicate has one."""
        return max(1, self._st.regs[slot].dtype.itemsize // 2)

    def register(self, slot: int) -> Halves:
        """The marks of a register; not to be modified."""
        found = self._registers.get(slot)
        return np.zeros((self._st.n, self.halves(slot)), np.uint8) if found is None else found

    def any(self, slot: int, lanes: Lanes) -> bool:
        found = self._registers.get(slot)
        return found is not None and bool(found[lanes].any())

    def put(self, slot: int, lanes: Lanes, marks: Halves | None) -> None:
        """Set the marks of some lanes; None removes them. ``marks`` has an entry for every lane."""
        if marks is None and slot not in self._registers:
            return
        old = self.register(slot)
        new = np.where(lanes[:, None], 0 if marks is None else marks, old).astype(np.uint8)
        if new.any():
            self._registers[slot] = new
        else:
            self._registers.pop(slot, None)

    def add(self, slot: int, marks: Halves) -> None:
        """Raise the marks of a register to at least ``marks``."""
        if marks.any():
            self._registers[slot] = np.maximum(self.register(slot), marks)

    def difference(self, slot: int, theirs: Any, ours: Any, lanes: Lanes) -> Halves:
        """Marks for a register that holds ``theirs`` in the other kernel."""
        n = self._st.n
        if theirs.dtype == np.bool_:
            return ((np.broadcast_to(theirs != ours, (n,)) & lanes)[:, None] * ANY).astype(np.uint8)
        mine, other = (np.ascontiguousarray(np.broadcast_to(v, (n,))) for v in (ours, theirs))
        if mine.dtype.itemsize == 1:
            return ((mine != other) & lanes)[:, None].astype(np.uint8) * ANY
        a, b = mine.view(np.uint16).reshape(n, -1), other.view(np.uint16).reshape(n, -1)
        marks: Halves = ((a != b) & lanes[:, None]).astype(np.uint8) * _level(b)
        return marks

    # -- shared memory --------------------------------------------------------------------------------------------

    def bytes_of(self, at: Ints, lane: Ints, width: int) -> Halves:
        """(accesses, width) marks of the bytes at addresses of the state space."""
        return self._bytes[self._position(at, lane)[:, None] + np.arange(width)]

    def store(self, at: Ints, lane: Ints, marks: Halves) -> None:
        """Marks of the bytes at addresses of the state space become ``marks`` (accesses, width)."""
        if not self._any_bytes and not marks.any():
            return
        self._bytes[self._position(at, lane)[:, None] + np.arange(marks.shape[1])] = marks
        self._any_bytes = bool(self._bytes.any())

    @property
    def bytes(self) -> npt.NDArray[np.uint8]:
        """The marks of all bytes of the batch; not to be modified."""
        return self._bytes

    def add_bytes(self, marks: npt.NDArray[np.uint8]) -> None:
        self._bytes = np.maximum(self._bytes, marks)
        self._any_bytes = bool(self._bytes.any())

    def difference_of_bytes(self, theirs: npt.NDArray[np.uint8], ours: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Marks for a shared memory that holds ``theirs`` in the other kernel."""
        level = np.repeat(_level(theirs.view(np.uint16)), 2)
        marks: npt.NDArray[np.uint8] = (theirs != ours).astype(np.uint8) * level
        return marks

    # -- global memory --------------------------------------------------------------------------------------------

    def results_at(self, at: Ints, width: int) -> bool:
        """Whether a byte at global addresses is marked."""
        return any(bool(marks[_inside(at - base, marks.size, width)].any()) for base, marks in self.results.items())

    def store_results(self, at: Ints, marks: Halves) -> None:
        """Marks of the bytes at global addresses become ``marks`` (accesses, width)."""
        for buffer in self._st.memory.buffers:
            mine = (at >= buffer.base) & (at < buffer.base + buffer.size)
            if mine.any() and (marks[mine].any() or buffer.base in self.results):
                have = self.results.get(buffer.base, np.zeros(buffer.bytes.data.size, np.uint8)).copy()
                have[_inside(at[mine] - buffer.base, have.size, marks.shape[1])] = marks[mine].reshape(-1)
                self._keep(buffer.base, have)

    def add_results(self, base: int, marks: npt.NDArray[np.uint8]) -> None:
        self._keep(base, np.maximum(self.results.get(base, np.zeros_like(marks)), marks))

    def _keep(self, base: int, marks: npt.NDArray[np.uint8]) -> None:
        if marks.any():
            self.results[base] = marks
        else:
            self.results.pop(base, None)

    def _position(self, at: Ints, lane: Ints) -> Ints:
        position: Ints = self._st.shared.base[lane] + at
        return position


def _inside(offset: Ints, size: int, width: int) -> Ints:
    """The bytes of accesses of ``width`` bytes, those outside of the buffer left out."""
    every: Ints = (offset[:, None] + np.arange(width)).reshape(-1)
    return every[(every >= 0) & (every < size)]


def _level(halves: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    """FINITE for 16 bits with which neither an f16 nor a bf16 or f32 is an infinity or a NaN."""
    wild = ((halves & 0x7C00) == 0x7C00) | ((halves & 0x7F80) == 0x7F80)
    return np.where(wild, ANY, FINITE).astype(np.uint8)
