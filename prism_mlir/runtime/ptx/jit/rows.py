"""The race check of whole warps, as functions that memory accesses share.

Eight lanes often access eight places that follow one another, in order or with their numbers xor-ed by a swizzle: lane i has
place ``first + i`` or ``first ^ i``. The shadow cells of such a row are one piece of memory, checked and written as
vectors. Other accesses go lane by lane.
"""

from __future__ import annotations

from llvmlite import ir

from prism_mlir.runtime.ptx.jit import shadow
from prism_mlir.runtime.ptx.jit.build import I32, I64, PTR, Build, i32, i64, same
from prism_mlir.runtime.ptx.jit.library import Module
from prism_mlir.runtime.ptx.jit.shadow import Stamps

EIGHT = ir.VectorType(I32, 8)
IN_ORDER = ir.Constant(EIGHT, [i32(i) for i in range(8)])
CHECK = ir.FunctionType(I32, [PTR, PTR, I32])  # context, offsets in shared memory (four bytes a lane), program counter
# What a check answers, and how the cells of the eight lanes of a row follow one another.
SCATTERED, SWIZZLED, IN_LINE = 0, 1, 2


def check(m: Module, kind: str, width: int, lanes: int = 32) -> ir.Function:
    """Check and record an access of the first ``lanes`` lanes.

    Args:
        kind: ``read``; ``claim``, a write in which no two lanes may have one place; or ``write``, for which they may if they
            write the same, which is not checked here: then nothing is recorded and SCATTERED returned.
    """
    name = f"races.{kind}.{width}.{lanes}.{m.options.cell}{'' if m.options.alignment else '.u'}"
    return m.function(name, CHECK, lambda m, x: _check(m, x, kind, width, lanes))


def _check(m: Module, x: Build, kind: str, width: int, lanes: int) -> None:
    b = x.b
    _, offsets, pc = x.function.args
    stamps = Stamps(x)
    rows, scattered = x.block("rows"), x.block("scattered")
    order = _order(m, x, offsets, width, lanes)
    b.cbranch(b.icmp_unsigned("!=", order, i32(SCATTERED)), rows, scattered)
    b.position_at_end(rows)
    with x.unrolled(lanes // 8, 1) as g:
        row = _Row(m, x, stamps, offsets, order, g, width)
        writers, readers = row.recent()
        good = x.block("good")
        b.cbranch(writers if kind == "read" else b.or_(writers, readers), scattered, good)
        b.position_at_end(good)
        if kind != "read":
            row.record(kind)
        else:
            with b.if_else(readers) as (again, first):
                with again:
                    row.record(kind, again=True)
                with first:
                    row.record(kind)
    b.ret(order)
    b.position_at_end(scattered)
    if kind != "write":
        with x.unrolled(lanes, 2) as first:
            for lane in (first, b.add(first, i64(1))):
                offset = b.zext(x.load(offsets, b.shl(lane, i64(2)), I32, 4), I64)
                shadow.shared_access(m, x, stamps, lane, offset, width, "read" if kind == "read" else "write", pc)
    b.ret(i32(SCATTERED))


def _order(m: Module, x: Build, offsets: ir.Value, width: int, lanes: int) -> ir.Value:
    """How the places of all rows follow one another."""
    b = x.b
    shift = same(I32, width.bit_length() - 1, 8)
    eights = [x.load(offsets, 32 * g, EIGHT, 4) for g in range(lanes // 8)]
    places = [b.lshr(v, shift) for v in eights]
    odd = [b.and_(v, same(I32, width - 1, 8)) for v in eights] if not m.options.alignment else []

    def fits(keys: list[ir.Value]) -> ir.Value:
        apart = [b.xor(k, x.splat(b.extract_element(k, i32(0)), 8)) for k in keys]
        return b.not_(x.some_bit(x.all_bits([*apart, *odd])))

    swizzled = fits([b.xor(p, IN_ORDER) for p in places])
    in_line = fits([b.sub(p, IN_ORDER) for p in places])
    return b.select(in_line, i32(IN_LINE), b.select(swizzled, i32(SWIZZLED), i32(SCATTERED)))


def stamp(m: Module, x: Build, stamps: Stamps, offsets: ir.Value, order: ir.Value, width: int) -> None:
    """Record a write of all lanes that has been checked, and lies in rows."""
    with x.unrolled(4, 1) as g:
        _Row(m, x, stamps, offsets, order, g, width).record("write")


class _Row:
    """The cells of lanes 8 g to 8 g + 7, four cells a vector."""

    def __init__(
        self, m: Module, x: Build, stamps: Stamps, offsets: ir.Value, order: ir.Value, g: ir.Value, width: int
    ) -> None:
        b = x.b
        self.x, self.stamps = x, stamps
        self.count = max(1, width // m.options.cell)
        first = b.lshr(x.load(offsets, b.shl(g, i64(5)), I32, 4), i32(width.bit_length() - 1))
        low = b.select(b.icmp_unsigned("==", order, i32(IN_LINE)), i32(0), i32(7))
        self.swizzle = b.and_(first, low)
        cells = b.mul(b.zext(b.sub(first, self.swizzle), I64), i64(8 * self.count))
        self.place = x.at(stamps.cells, cells)
        self.thread = b.add(stamps.first, b.shl(b.trunc(g, I32), i32(3)))

    def recent(self) -> tuple[ir.Value, ir.Value]:
        """Whether somebody has written, and read, here since the last barrier."""
        b, x = self.x.b, self.x
        floor = x.splat(self.stamps.floor, 8)
        fresh = x.all_bits(
            [b.icmp_unsigned(">=", x.load(self.place, 32 * v, EIGHT, 8), floor) for v in range(2 * self.count)]
        )
        bits = b.bitcast(fresh, ir.IntType(8))
        zero = ir.Constant(bits.type, 0)
        parts = [b.icmp_unsigned("!=", b.and_(bits, ir.Constant(bits.type, which)), zero) for which in (0x55, 0xAA)]
        return parts[0], parts[1]

    def record(self, kind: str, again: bool = False) -> None:
        """Put the stamps of the lanes, readers or writers; ``again``: others have read since the last barrier."""
        x, b = self.x, self.x.b
        if self.count < 4:
            for v in range(2 * self.count):
                lanes = ir.Constant(EIGHT, [i32((4 * v + e // 2) // self.count) for e in range(8)])
                self._put(x.at(self.place, 32 * v), b.xor(lanes, x.splat(self.swizzle, 8)), kind, again)
            return
        with x.unrolled(2 * self.count, 1) as turn:  # several vectors for each lane
            lane = b.trunc(b.lshr(turn, i64((self.count // 4).bit_length() - 1)), I32)
            self._put(x.at(self.place, b.shl(turn, i64(5))), x.splat(b.xor(lane, self.swizzle), 8), kind, again)

    def _put(self, place: ir.Value, lanes: ir.Value, kind: str, again: bool) -> None:
        b, x = self.x.b, self.x
        old = x.load(place, 0, EIGHT, 8)
        mine = b.add(x.splat(self.thread, 8), lanes)
        new = shadow.reader_stamp(x, old, mine, x.splat(self.stamps.floor, 8)) if again else mine
        x.store(x.mix(new, old, [i % 2 == (kind == "read") for i in range(8)]), place, 0, 8)
