"""Memories of a launch: global buffers, shared and local arenas, and the queue of asynchronous copies.

Addresses are virtual. Global buffer ``i`` begins in the middle of region ``i + 1`` of 2**40 bytes, so half a terabyte of red
zone lies on either side of it. Shared and local variables are kept apart by red zones of 1 KiB and more, which keeps
every address's remainder modulo 1024 (and with it banks and swizzles). Generic addresses of shared and local memory live in
windows of 4 GiB below all global regions.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mlir.runtime.ptx.checks.cross_block import BlockShadow
from prism_mlir.runtime.ptx.checks.memory import address_error, alignment_error, read_only_error, unwritten_error
from prism_mlir.runtime.ptx.checks.order import Order
from prism_mlir.runtime.ptx.checks.race import SharedShadow, expand
from prism_mlir.runtime.ptx.checks.report import Site
from prism_mlir.runtime.ptx.errors import RuntimeLimit
from prism_mlir.runtime.ptx.state import State
from prism_mlir.runtime.ptx.types import Array

REGION_SHIFT = 40
REGION_BASE = 1 << 39
WINDOW = 1 << 32
SHARED_WINDOW = 1 * WINDOW
LOCAL_WINDOW = 2 * WINDOW
PARAM_WINDOW = 3 * WINDOW
RED_ZONE = 1024
# Bytes that the copies in flight of a batch may take. Copies to different places fill shared memory once, which takes at most
# ten times its size here, and a batch has at most ``machine.BYTES_PER_BATCH`` of it with nine times its size: they always fit.
IN_FLIGHT = 1 << 29
COPY_BYTES = 24  # of a copy and a lane: lane, group and position; the bytes copied come on top
COPY_BASE = 512  # of a copy, whatever its lanes: objects and headers of arrays

CELL: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
    16: np.dtype(np.complex128),  # sixteen bytes moved at once; the values are never looked at as numbers
}
Index = npt.NDArray[np.int64]


class _Bytes:
    """A byte array that can be read and written in cells of 1 to 16 bytes."""

    def __init__(self, data: npt.NDArray[np.uint8]) -> None:
        self.data = data
        self._views = {width: data.view(kind) for width, kind in CELL.items()}

    def get(self, at: Index, width: int) -> Array:
        if int(np.bitwise_or.reduce(at)) & (width - 1):
            pieces: Array = self.data[at[:, None] + np.arange(width)].reshape(-1)
            return pieces.view(CELL[width])
        # The caller has checked the bounds, and "wrap" is three times as fast as "raise".
        return self._views[width].take(at >> (width.bit_length() - 1), mode="wrap")

    def put(self, at: Index, width: int, raw: Array) -> None:
        if int(np.bitwise_or.reduce(at)) & (width - 1):
            self.data[at[:, None] + np.arange(width)] = raw.view(np.uint8).reshape(-1, width)
        else:
            self._views[width][at >> (width.bit_length() - 1)] = raw


def padded_bytes(size: int) -> npt.NDArray[np.uint8]:
    """``size`` zero bytes rounded up to 16, at an address that is a multiple of 16."""
    return np.zeros(max(1, -(-size // 16)) * 2, dtype=np.uint64).view(np.uint8)


class Buffer:
    """One allocation of global (or constant) memory. ``array`` is the caller's; its bytes are used in place where possible."""

    def __init__(self, index: int, name: str, data: npt.NDArray[np.uint8], writable: bool = True) -> None:
        self.name = name
        self.size = data.shape[0]
        self.base = ((index + 1) << REGION_SHIFT) + REGION_BASE
        self.writable = writable
        self.source = data
        self.copied = bool(self.size % 16 or data.ctypes.data % 16 or self.size == 0)
        if self.copied:
            store = padded_bytes(self.size)
            store[: self.size] = data
            self.bytes = _Bytes(store)
        else:
            self.bytes = _Bytes(data)
        self.shadow: BlockShadow | None = None

    def finish(self) -> None:
        """Copy what the kernel wrote back to the caller's bytes."""
        if self.copied and self.writable:
            self.source[:] = self.bytes.data[: self.size]


class GlobalMemory:
    """All buffers of a launch."""

    space = "global"

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []

    def add(self, name: str, data: npt.NDArray[np.uint8], writable: bool = True) -> Buffer:
        buffer = Buffer(len(self.buffers), name, data, writable)
        self.buffers.append(buffer)
        return buffer

    def find(self, address: int) -> Buffer | None:
        index = (address >> REGION_SHIFT) - 1
        return self.buffers[index] if 0 <= index < len(self.buffers) else None

    def untracked(self, address: int) -> bool:
        """Whether an access here concerns no shadow, so that one access may stand for those of all lanes."""
        buffer = self.find(address)
        return buffer is not None and buffer.shadow is None

    def name(self, address: int) -> str:
        """``buffer+offset`` of an address."""
        buffer = self.find(address)
        if buffer is None:
            return f"0x{address & (2**64 - 1):x} (no buffer)"
        return f"{buffer.name}{address - buffer.base:+d} of {buffer.size} bytes"

    def load(
        self, st: State, site: Site, at: Index, lane: Index | None, width: int, strong: Order = Order.WEAK
    ) -> Array:
        """``width`` bytes a lane from global addresses ``at``, as one array of cells of that width."""
        low, high = int(at.min()), int(at.max())
        buffer = self.find(low)
        if buffer is None or low < buffer.base or high + width > buffer.base + buffer.size:
            return self._load_apart(st, site, at, lane, width, strong)
        if st.checks.alignment and int(np.bitwise_or.reduce(at)) & (width - 1):
            raise alignment_error(st, site, at, lane, width, self.name)
        offset = at - buffer.base
        shadow = buffer.shadow
        if shadow is not None:
            if offset.shape[0] == 1 and lane is None:
                offset = np.broadcast_to(offset, (st.n,))
            cells, owner = _cells(offset, lane, width, shadow.cell_bytes)
            shadow.read(st, site, cells, owner, bool(strong))
        return buffer.bytes.get(offset, width)

    def store(
        self, st: State, site: Site, at: Index, lane: Index | None, width: int, raw: Array, strong: Order = Order.WEAK
    ) -> None:
        """Store ``raw[i]`` at ``at[i]``; of lanes that name one address the last wins."""
        low, high = int(at.min()), int(at.max())
        buffer = self.find(low)
        if buffer is None or low < buffer.base or high + width > buffer.base + buffer.size or not buffer.writable:
            self._store_apart(st, site, at, lane, width, raw, strong)
            return
        if st.checks.alignment and int(np.bitwise_or.reduce(at)) & (width - 1):
            raise alignment_error(st, site, at, lane, width, self.name)
        offset = at - buffer.base
        if buffer.shadow is None and st.checks.cross_block:
            buffer.shadow = BlockShadow(buffer, 1, poisoned=False)
        if buffer.shadow is not None:
            cells, owner = _cells(offset, lane, width, buffer.shadow.cell_bytes)
            buffer.shadow.write(st, site, cells, owner, bool(strong))
        buffer.bytes.put(offset, width, raw)

    def _inside(self, at: Index, width: int) -> npt.NDArray[np.bool_]:
        inside = np.zeros(at.shape, dtype=np.bool_)
        for buffer in self.buffers:
            inside |= (at >= buffer.base) & (at <= buffer.base + buffer.size - width)
        return inside

    def _load_apart(self, st: State, site: Site, at: Index, lane: Index | None, width: int, strong: Order) -> Array:
        """Lanes that read different buffers, or outside of all."""
        inside = self._inside(at, width)
        if st.checks.bounds and not inside.all():
            raise address_error(st, site, at, lane, width, inside, self.name, "global")
        lanes = np.arange(at.shape[0]) if lane is None else lane
        raw = np.zeros(at.shape, dtype=CELL[width])
        for region in np.unique(at[inside] >> REGION_SHIFT):
            pick = np.flatnonzero(inside & ((at >> REGION_SHIFT) == region))
            raw[pick] = self.load(st, site, at[pick], lanes[pick], width, strong)
        return raw

    def _store_apart(
        self, st: State, site: Site, at: Index, lane: Index | None, width: int, raw: Array, strong: Order
    ) -> None:
        inside, frozen = self._inside(at, width), np.zeros(at.shape, dtype=np.bool_)
        for buffer in self.buffers:
            if not buffer.writable:
                frozen |= (at >= buffer.base) & (at < buffer.base + buffer.size)
        if st.checks.bounds and not inside.all():
            raise address_error(st, site, at, lane, width, inside, self.name, "global")
        if st.checks.bounds and frozen.any():
            raise read_only_error(st, site, at, lane, width, frozen, self.name)
        inside &= ~frozen
        lanes = np.arange(at.shape[0]) if lane is None else lane
        for region in np.unique(at[inside] >> REGION_SHIFT):
            pick = np.flatnonzero(inside & ((at >> REGION_SHIFT) == region))
            self.store(st, site, at[pick], lanes[pick], width, raw[pick], strong)


@dataclass(frozen=True, slots=True)
class Placed:
    """A variable of an arena: ``start`` is its address in the state space."""

    name: str
    start: int
    size: int


class Arena:
    """Memory of which every block (shared) or every thread (local) has its own copy.

    ``shadow`` is for shared memory; ``written``, one flag a byte, is for local memory, which no other thread sees.
    """

    def __init__(self, space: str, variables: tuple[Placed, ...], stride: int, owner: Index, owners: int) -> None:
        self.space = space
        self.variables = variables
        self.stride = stride
        self.base = owner * stride
        self.bytes = _Bytes(np.full(owners * stride, 0xFF, dtype=np.uint8).view(np.uint8))
        self.cell_bytes = 1
        self.shadow: SharedShadow | None = None
        self.written: npt.NDArray[np.bool_] | None = None
        self._starts = [v.start for v in variables]

    def variable(self, address: int) -> Placed | None:
        """The variable at an address, or the last one before it."""
        i = bisect_right(self._starts, address) - 1
        return self.variables[max(i, 0)] if self.variables else None

    def name(self, address: int) -> str:
        found = self.variable(address)
        if found is None:
            return f"{self.space}+{address} (no variable)"
        return f"{found.name}{address - found.start:+d} of {found.size} bytes"

    def name_cell(self, cell: int) -> str:
        return self.name(cell * self.cell_bytes % self.stride)

    def place(
        self, st: State, site: Site, at: Index, lane: Index | None, width: int
    ) -> tuple[Index, Index | None, npt.NDArray[np.bool_] | None]:
        """State-space addresses to byte positions in the arena, checked.

        Returns the positions, their lanes (None: every lane), and, where bounds are not checked, which of ``at`` are
        inside (None: all)."""
        if at.shape[0] == 1 and lane is None:
            at = np.broadcast_to(at, (st.n,))
        low, high = int(at.min()), int(at.max())
        found = self.variable(low)
        if found is None or low < found.start or high + width > found.start + found.size:
            inside = np.zeros(at.shape, dtype=np.bool_)
            for v in self.variables:
                inside |= (at >= v.start) & (at <= v.start + v.size - width)
            if not inside.all():
                if st.checks.bounds:
                    raise address_error(st, site, at, lane, width, inside, self.name, self.space)
                lanes = np.arange(at.shape[0]) if lane is None else lane
                return self.base[lanes[inside]] + at[inside], lanes[inside], inside
        if st.checks.alignment and int(np.bitwise_or.reduce(at)) & (width - 1):
            raise alignment_error(st, site, at, lane, width, self.name)
        return (self.base if lane is None else self.base[lane]) + at, lane, None

    def load(
        self, st: State, site: Site, at: Index, lane: Index | None, width: int, strong: Order = Order.WEAK
    ) -> Array:
        """``width`` bytes a lane from addresses ``at`` of the state space."""
        total = st.n if lane is None else at.shape[0]
        position, lane, inside = self.place(st, site, at, lane, width)
        if position.shape[0] == 0:
            return np.zeros(total, dtype=CELL[width])
        if self.shadow is not None:
            cells, owner = _cells(position, lane, width, self.cell_bytes)
            self.shadow.read(st, site, cells, owner, strong)
        if self.written is not None:
            whole_access = self.written[position[:, None] + np.arange(width)].all(axis=1)
            if not whole_access.all():
                raise unwritten_error(st, site, position, lane, whole_access, self)
        raw = self.bytes.get(position, width)
        if inside is None:
            return raw
        whole = np.zeros(total, dtype=CELL[width])
        whole[inside] = raw
        return whole

    def store(
        self, st: State, site: Site, at: Index, lane: Index | None, width: int, raw: Array, strong: Order = Order.WEAK
    ) -> None:
        """Store ``raw[i]`` at ``at[i]``."""
        position, lane, inside = self.place(st, site, at, lane, width)
        if position.shape[0] == 0:
            return
        values = raw if inside is None else np.broadcast_to(raw, inside.shape)[inside]
        self.bytes.put(position, width, values)
        if self.written is not None:
            self.written[position[:, None] + np.arange(width)] = True
        if self.shadow is None:
            return

        def kept(cell: Index) -> npt.NDArray[np.bool_]:
            """Which of the written cells hold what their lane wrote, and not what another lane did."""
            access = cell // max(1, width // self.cell_bytes)
            have = self.bytes.get(position[access], width).view(np.uint8).reshape(-1, width)
            same: npt.NDArray[np.bool_] = (have == values[access].view(np.uint8).reshape(-1, width)).all(axis=1)
            return same

        cells, owner = _cells(position, lane, width, self.cell_bytes)
        self.shadow.write(st, site, cells, owner, strong, kept)


def _cells(position: Index, lane: Index | None, width: int, cell_bytes: int) -> tuple[Index, Index | None]:
    """The shadow cells of accesses of ``width`` bytes, and the lane of each."""
    first = position >> (cell_bytes.bit_length() - 1)
    count = width // cell_bytes
    if count <= 1:
        return first, lane
    owner = np.arange(position.shape[0]) if lane is None else lane
    return expand(first, count), np.repeat(owner, count)


@dataclass(slots=True)
class _Copy:
    """One cp.async of some lanes, in flight. ``left`` marks the copies that have not landed."""

    site: Site
    lane: Index
    group: Index
    position: Index
    width: int
    raw: Array
    number: int
    left: npt.NDArray[np.bool_] | None = None


def _bytes(lanes: Index, width: int) -> int:
    """What one copy of some lanes, or a signal, takes while it is in flight."""
    return COPY_BASE + int(lanes.shape[0]) * (COPY_BYTES + width)


class AsyncQueue:
    """Asynchronous copies in flight, landing as late as PTX allows: when the issuing thread waits for their group, or when
    somebody waits for an mbarrier that they signal.

    ``signals``: the instruction's place, addresses of the mbarriers, lanes, and how many copies had been issued by then.
    """

    def __init__(self, st: State) -> None:
        self._n = st.n
        self._held = 0
        self.committed = np.zeros(st.n, dtype=np.int64)
        self.uniform: int | None = 0
        self.copies: list[_Copy] = []
        self.signals: list[tuple[Any, Index, Index, int]] = []
        self._issued = 0

    def issue(self, st: State, site: Site, at: Index, lane: Index | None, width: int, raw: Array) -> None:
        """Start a copy of ``raw`` to shared addresses ``at``."""
        position, lane, inside = st.shared.place(st, site, at, lane, width)
        if position.shape[0] == 0:
            return
        if inside is not None:
            raw = raw[inside]
        lanes = np.arange(self._n) if lane is None else lane
        if st.shared.shadow is not None:
            cells, owner = _cells(position, lane, width, st.shared.cell_bytes)
            st.shared.shadow.issue(st, site, cells, owner)
        group = self.committed[lanes] if self.uniform is None else np.array([self.uniform])
        self._hold(lanes, width, f"{len(self.copies)} copies of a batch are in flight", site)
        self.copies.append(_Copy(site, lanes, group, position, width, raw, self._issued))
        self._issued += 1

    def commit(self, mask_full: bool, lane: Index | None) -> None:
        """Close the current group of each lane."""
        if mask_full and self.uniform is not None:
            self.uniform += 1
            return
        if self.uniform is not None:
            self.committed[:] = self.uniform
            self.uniform = None
        if lane is None:
            self.committed += 1
        else:
            self.committed[lane] += 1

    def wait(self, st: State, lane: Index | None, full: bool, keep: int | None) -> None:
        """Land what is not among the latest ``keep`` groups of each lane; ``keep`` None: everything, committed or not."""
        remaining: list[_Copy] = []
        waiting = None
        if lane is not None and not full:
            waiting = np.zeros(self._n, dtype=np.bool_)
            waiting[lane] = True
        for copy in self.copies:
            done: npt.NDArray[np.bool_]
            if keep is None:
                done = np.ones(copy.lane.shape, dtype=np.bool_)
            elif self.uniform is not None:
                done = copy.group < self.uniform - keep
            else:
                done = copy.group < self.committed[copy.lane] - keep
            if waiting is None and done.size == 1 and copy.left is None:
                if done.all():
                    self._land(st, copy, None)
                else:
                    remaining.append(copy)
                continue
            done = np.broadcast_to(done, copy.lane.shape)
            if waiting is not None:
                done = done & waiting[copy.lane]
            left = np.ones(copy.lane.shape, dtype=np.bool_) if copy.left is None else copy.left
            done = done & left
            if done.any():
                self._land(st, copy, np.flatnonzero(done))
                copy.left = left & ~done
            if copy.left is None or copy.left.any():
                remaining.append(copy)
        self.copies = remaining
        self._count()

    def _hold(self, lanes: Index, width: int, what: str, site: Site | None) -> None:
        """Account for one more copy or signal.

        Raises:
            RuntimeLimit: ``IN_FLIGHT`` bytes are used up.
        """
        self._held += _bytes(lanes, width)
        if self._held > IN_FLIGHT:
            what = f"{what}, with which {IN_FLIGHT} bytes are used up; wait for some, or run fewer blocks together"
            raise RuntimeLimit(what, site.location if site else None)

    def _count(self) -> None:
        """Bytes of what is in flight."""
        self._held = sum(_bytes(copy.lane, copy.width) for copy in self.copies)
        self._held += sum(_bytes(lanes, 0) for _, _, lanes, _ in self.signals)

    def signal(self, place: Any, at: Index, lanes: Index) -> None:
        """``lanes`` will arrive at the mbarriers ``at`` when all their copies so far are complete."""
        self._hold(lanes, 0, f"{len(self.signals)} signals of copies to mbarriers are in flight", None)
        self.signals.append((place, at, lanes, self._issued))

    def signalled(self, st: State, wanted: set[tuple[int, int]]) -> list[tuple[Any, Index, Index]]:
        """Complete the copies that signal an mbarrier of ``wanted`` (block, address); returns who arrives where."""
        found: list[tuple[Any, Index, Index]] = []
        rest: list[tuple[Any, Index, Index, int]] = []
        for place, at, lanes, before in self.signals:
            pairs = zip(st.lane_block[lanes].tolist(), at.tolist(), strict=True)
            hit = np.array([pair in wanted for pair in pairs])
            if hit.any():
                self._finish(st, lanes[hit], before)
                found.append((place, at[hit], lanes[hit]))
            if not hit.all():
                rest.append((place, at[~hit], lanes[~hit], before))
        self.signals = rest
        self._count()
        return found

    def _finish(self, st: State, lanes: Index, before: int) -> None:
        """Land the copies of ``lanes`` that were issued before number ``before``."""
        remaining: list[_Copy] = []
        for copy in self.copies:
            if copy.number < before:
                left = np.ones(copy.lane.shape, dtype=np.bool_) if copy.left is None else copy.left
                done = left & np.isin(copy.lane, lanes)
                if done.any():
                    self._land(st, copy, np.flatnonzero(done))
                    copy.left = left & ~done
            if copy.left is None or copy.left.any():
                remaining.append(copy)
        self.copies = remaining

    @staticmethod
    def _land(st: State, copy: _Copy, pick: npt.NDArray[np.intp] | None) -> None:
        position, lane, raw = copy.position, copy.lane, copy.raw
        if pick is not None:
            position, lane, raw = position[pick], lane[pick], raw[pick]
        st.shared.bytes.put(position, copy.width, raw)
        if st.shared.shadow is not None:
            cells, owner = _cells(position, lane, copy.width, st.shared.cell_bytes)
            st.shared.shadow.land(st, copy.site, cells, owner)
