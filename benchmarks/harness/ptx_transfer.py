"""How marks follow the data through one instruction.

Three instructions are followed exactly, for masked tiles: ``selp`` takes the marks of the source that it picks, ``shfl`` those
of the lane that is read, and ``mma`` goes by rows and columns, where a marked factor does not count if it is finite and the other
one is zero and not marked (the sum is then the same up to the sign of a zero). ``mov``, loads, stores and ``ldmatrix`` carry
marks 16 bits by 16 bits. Everything else marks all of its result, and other warp operations the result of the whole warp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.ptx_marks import ANY, FINITE, Halves, Marks
from harness.ptx_watch import Access, Accesses, Lanes, Run, executing
from prism_mlir.runtime.ptx.decode import Decoded, Step
from prism_mlir.runtime.ptx.ops.warp import source_lanes
from prism_mlir.runtime.ptx.program import Instruction, IntImm, Operand, Pair, Reg, Vec
from prism_mlir.runtime.ptx.state import WARP, Mask, State

_WARP_WIDE = ("shfl", "vote", "match", "redux", "activemask", "elect", "movmatrix")
_ADDRESSED = ("ld", "ldu", "ldmatrix", "cp", "atom", "red", "prefetch")  # what these read decides where or whether


class Reaches(Exception):
    """A changed value reaches something that matters; the text says what."""


class Transfer:
    """The rules for one decoded kernel. ``read``: whether an instruction has read a marked value so far."""

    def __init__(self, decoded: Decoded) -> None:
        self.read = False
        self.accesses = Accesses()
        self._slots = decoded.layout.slots

    def check(self, step: Step, mask: Mask, lanes: Lanes, marks: Marks) -> None:
        """No mark may decide whether or where the instruction acts.

        Raises:
            Reaches: one does.
        """
        text = step.site.instruction.text
        if step.guard is not None and marks.any(step.guard[0], mask.lanes):
            raise Reaches(f"the guard of '{text}'")
        decisive: Sequence[int] = ()
        if step.control is not None or step.site.instruction.opcode in _ADDRESSED:
            decisive = step.reads
        elif step.access is not None:
            decisive = (step.access.slot,)
        if any(marks.any(s, lanes) for s in decisive):
            raise Reaches(f"'{text}' depends on it")

    def step(self, st: State, step: Step, mask: Mask, run: Run, marks: Marks) -> None:
        """Execute, and carry the marks."""
        if marks.empty:
            run()
            self.accesses.take()
            return
        lanes = executing(st, mask, step)
        self.check(step, mask, lanes, marks)
        i = step.site.instruction
        self.read |= any(marks.any(s, lanes) for s in step.reads)
        new = self._from_registers(st, step, lanes, marks)
        run()
        noted = self.accesses.take()
        unseen = step.access is not None and step.access.writes and not any(a.writes for a in noted)
        if unseen and any(marks.any(s, lanes) for s in step.reads):
            raise Reaches(f"local memory, through '{i.text}'")
        for access in noted:
            if access.writes:
                self._store(i, access, marks)
            elif access.space == "shared":
                new = self._loaded(st, i, access, marks)
            elif marks.results and marks.results_at(access.at, access.width):
                raise Reaches(f"'{i.text}' reads it")
        for slot in step.writes:
            marks.put(slot, lanes, new.get(slot))

    def _slot(self, operand: Operand) -> int:
        """The slot of a declared register; -1 for anything else."""
        return self._slots.get(operand.name, -1) if isinstance(operand, Reg) else -1

    def _register(self, st: State, operand: Operand, marks: Marks) -> Halves:
        slot = self._slot(operand)
        return np.zeros((st.n, 1), np.uint8) if slot < 0 else marks.register(slot)

    # -- registers to registers -----------------------------------------------------------------------------------

    def _from_registers(self, st: State, step: Step, lanes: Lanes, marks: Marks) -> dict[int, Halves]:
        i = step.site.instruction
        if step.access is not None or not any(marks.any(s, lanes) for s in step.reads):
            return {}
        if i.opcode == "mov":
            return self._moved(st, i, marks)
        if i.opcode == "selp":
            return self._selected(st, i, marks)
        if i.opcode == "mma" and "f64" not in i.mods:
            return self._product(st, i, marks)
        if i.opcode == "shfl" and not any(marks.any(s, lanes) for s in map(self._slot, i.operands[2:]) if s >= 0):
            return self._shuffled(st, i, marks)
        found = np.zeros(st.n, np.bool_)
        for slot in step.reads:
            found |= marks.register(slot).any(axis=1)
        if i.opcode in _WARP_WIDE or i.opcode == "mma":
            found = np.repeat((found & lanes).reshape(-1, WARP).any(axis=1), WARP)
        return {s: np.repeat(found[:, None] * np.uint8(ANY), marks.halves(s), axis=1) for s in step.writes}

    def _moved(self, st: State, i: Instruction, marks: Marks) -> dict[int, Halves]:
        """mov, with packing and unpacking: the halves of all sources, in order, are those of all targets."""
        have = np.concatenate([self._register(st, o, marks) for o in items(i.operands[1])], axis=1)
        targets = items(i.operands[0])
        each, new = have.shape[1] // len(targets), {}
        for n, slot in enumerate(map(self._slot, targets)):
            if slot >= 0:
                part, halves = have[:, n * each : (n + 1) * each], marks.halves(slot)
                new[slot] = part if halves == each else _spread(part, halves)
        return new

    def _selected(self, st: State, i: Instruction, marks: Marks) -> dict[int, Halves]:
        """selp d, a, b, p."""
        d, p = self._slot(i.operands[0]), self._slot(i.operands[3])
        width = marks.halves(d)
        a, b = (np.broadcast_to(self._register(st, o, marks), (st.n, width)) for o in i.operands[1:3])
        chosen = np.where(st.spread(st.regs[p])[:, None], a, b)
        open_ = marks.register(p).any(axis=1)[:, None]
        return {d: np.where(open_, np.uint8(ANY), chosen)}

    def _shuffled(self, st: State, i: Instruction, marks: Marks) -> dict[int, Halves]:
        """shfl d|p, a, b, c, members: the marks of the lane that each lane reads from."""
        target = i.operands[0].first if isinstance(i.operands[0], Pair) else i.operands[0]
        d, table = self._slot(target), self._register(st, i.operands[1], marks).reshape(-1, WARP, 2)
        b, c = (self._words_of(st, o) for o in i.operands[2:4])
        source, _ = source_lanes(i.mods[1], b, c)
        taken = np.take_along_axis(table, np.broadcast_to(source[:, :, None], table.shape), axis=1)
        return {d: taken.reshape(-1, 2)} if d >= 0 else {}

    def _words_of(self, st: State, operand: Operand) -> Any:
        """A register or a literal as (warps, 32)."""
        if isinstance(operand, IntImm):
            return np.full((st.n // WARP, WARP), operand.value & 0xFFFFFFFF, np.uint32)
        return st.spread(st.regs[self._slot(operand)]).reshape(-1, WARP)

    def _product(self, st: State, i: Instruction, marks: Marks) -> dict[int, Halves]:
        """mma: which elements of D a marked element of A, B or C can change."""
        d, a, b, c = (items(o) for o in i.operands)
        units = 1 if i.mods[5] == "tf32" else 2  # of a register along k; two bytes of s8 and u8 count as one
        mark_a, zero_a = self._left(st, a, units, marks)
        mark_b, zero_b = self._right(st, b, units, marks)
        mark_d = self._accumulator(st, c, marks)
        mark_d |= _meets(mark_a == FINITE, ~(zero_b & (mark_b == 0))) | _meets(mark_a == ANY, np.ones_like(zero_b))
        mark_d |= _meets(~(zero_a & (mark_a == 0)), mark_b == FINITE) | _meets(np.ones_like(zero_a), mark_b == ANY)
        return self._result(st, d, mark_d, marks)

    def _words(self, st: State, operand: Operand, units: int, marks: Marks) -> tuple[Halves, Halves]:
        """Marks and zeros of an operand register: (warps, 8, 4, units)."""
        slot = self._slot(operand)
        value = np.ascontiguousarray(st.spread(st.regs[slot]))
        have, half = marks.register(slot), value.view(np.uint16).reshape(st.n, 2) & 0x7FFF
        if units == 1:
            have, half = have.max(axis=1, keepdims=True), half.max(axis=1, keepdims=True)
        shape = (-1, 8, 4, units)
        return have.reshape(shape), (half == 0).reshape(shape)

    def _left(self, st: State, regs: Sequence[Operand], units: int, marks: Marks) -> tuple[Halves, Halves]:
        """A as (warps, 16, K); register r: row g + 8 (r & 1), column units · t + h + 4 units · (r >> 1)."""
        k = 4 * units * (len(regs) // 2)
        out = [np.zeros((st.n // WARP, 16, k), kind) for kind in (np.uint8, np.bool_)]
        for r, operand in enumerate(regs):
            rows, columns = slice(8 * (r & 1), 8 * (r & 1) + 8), slice(4 * units * (r >> 1), 4 * units * ((r >> 1) + 1))
            for whole, part in zip(out, self._words(st, operand, units, marks), strict=True):
                whole[:, rows, columns] = part.reshape(-1, 8, 4 * units)
        return out[0], out[1]

    def _right(self, st: State, regs: Sequence[Operand], units: int, marks: Marks) -> tuple[Halves, Halves]:
        """B as (warps, K, 8); register r: row units · t + h + 4 units · r, column g."""
        parts = [self._words(st, operand, units, marks) for operand in regs]
        both = [
            np.concatenate([p[k].reshape(-1, 8, 4 * units) for p in parts], axis=2).transpose(0, 2, 1) for k in range(2)
        ]
        return both[0], both[1]

    def _accumulator(self, st: State, regs: Sequence[Operand], marks: Marks) -> Halves:
        """C as (warps, 16, 8) of bool: register i of four: row g + 8 (i >> 1), column 2 t + (i & 1); of two: halves."""
        out = np.zeros((st.n // WARP, 2, 8, 4, 2), np.bool_)
        for n, operand in enumerate(regs):
            have = self._register(st, operand, marks) > 0
            if len(regs) == 4:
                out[:, n >> 1, :, :, n & 1] = have.any(axis=1).reshape(-1, 8, 4)
            else:
                out[:, n] = have.reshape(-1, 8, 4, 2)
        return out.reshape(-1, 16, 8)

    def _result(self, st: State, regs: Sequence[Operand], mark: Halves, marks: Marks) -> dict[int, Halves]:
        """The inverse of ``_accumulator``."""
        table, new = mark.reshape(-1, 2, 8, 4, 2).astype(np.uint8) * np.uint8(ANY), {}
        for n, operand in enumerate(regs):
            slot = self._slot(operand)
            if slot < 0:
                continue
            if len(regs) == 4:
                new[slot] = np.repeat(table[:, n >> 1, :, :, n & 1].reshape(-1, 1), 2, axis=1)
            else:
                new[slot] = table[:, n].reshape(-1, 2)
        return new

    # -- memory ---------------------------------------------------------------------------------------------------

    def _store(self, i: Instruction, access: Access, marks: Marks) -> None:
        lane, width = access.lane, access.width
        stored = np.zeros((lane.size, width), np.uint8)  # copies, and the others, which read nothing marked
        if i.opcode == "st":
            slots = [self._slot(o) for o in items(i.operands[1])]
            each = width // len(slots)
            for n, slot in enumerate(slots):
                if slot >= 0:
                    stored[:, n * each : (n + 1) * each] = _to_bytes(marks.register(slot)[lane], each)
        elif i.opcode == "stmatrix" and any(marks.register(s).any() for s in map(self._slot, items(i.operands[1]))):
            raise Reaches(f"'{i.text}' stores it")
        if access.space == "shared":
            marks.store(access.at, lane, stored)
        else:
            marks.store_results(access.at, stored)

    def _loaded(self, st: State, i: Instruction, access: Access, marks: Marks) -> dict[int, Halves]:
        have = marks.bytes_of(access.at, access.lane, access.width)
        self.read |= bool(have.any())
        if not have.any():
            return {}
        if i.opcode == "ldmatrix":
            return self._matrices(st, i, have, access)
        if i.opcode not in ("ld", "ldu"):
            raise Reaches(f"'{i.text}' reads it")
        targets = items(i.operands[0])
        each, new = access.width // len(targets), {}
        for n, target in enumerate(targets):
            slot = self._slot(target)
            if slot >= 0:
                halves = marks.halves(slot)
                found = np.zeros((st.n, halves), np.uint8)
                found[access.lane] = _to_halves(have[:, n * each : (n + 1) * each], halves)
                new[slot] = found
        return new

    def _matrices(self, st: State, i: Instruction, have: Halves, access: Access) -> dict[int, Halves]:
        """ldmatrix: lane l receives M[l >> 2][2 (l & 3) + h] of each matrix M, transposed with .trans."""
        targets = items(i.operands[0])
        halves = have.reshape(-1, len(targets), 8, 8, 2).max(axis=4)
        warps = np.unique(access.lane // WARP)
        new = {}
        for n, target in enumerate(targets):
            slot = self._slot(target)
            if slot >= 0:
                matrix = halves[:, n].swapaxes(1, 2) if "trans" in i.mods else halves[:, n]
                whole = np.zeros((st.n // WARP, WARP, 2), np.uint8)
                whole[warps] = matrix.reshape(-1, WARP, 2)
                new[slot] = whole.reshape(-1, 2)
        return new


def _meets(left: Halves, right: Halves) -> Halves:
    """(warps, 16, 8): whether some k has ``left`` (warps, 16, K) and ``right`` (warps, K, 8)."""
    found: Halves = (left.astype(np.float32) @ right.astype(np.float32)) > 0
    return found


def _to_bytes(halves: Halves, width: int) -> Halves:
    """(accesses, halves of a register) to (accesses, width) bytes."""
    return np.repeat(halves, 2, axis=1)[:, :width] if halves.shape[1] * 2 >= width else np.repeat(halves, width, axis=1)


def _to_halves(marks: Halves, halves: int) -> Halves:
    """(accesses, bytes) to the halves of the register they are loaded to; a sign may spread to all of them."""
    return marks.reshape(-1, halves, 2).max(axis=2) if marks.shape[1] == 2 * halves else _spread(marks, halves)


def _spread(marks: Halves, halves: int) -> Halves:
    """All halves may be anything where some mark is set."""
    return np.repeat(np.where(marks.any(axis=1, keepdims=True), ANY, 0).astype(np.uint8), halves, axis=1)


def items(operand: Operand) -> tuple[Operand, ...]:
    """The registers of a vector, or the operand itself."""
    return operand.items if isinstance(operand, Vec) else (operand,)
