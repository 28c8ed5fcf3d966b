"""The race check of whole warps whose accesses lie in rows.

Eight lanes often access eight places that follow one another, in order or with their numbers xor-ed by a swizzle: lane i has
place ``first ^ i``. The shadow cells of such a row are one piece of memory, checked and written as vectors. What is not so
simple is left to ``shadow``, lane by lane.
"""

from __future__ import annotations

from llvmlite import ir

from prism_mlir.runtime.ptx.jit.build import I1, I32, I64, Build, i32, i64, same
from prism_mlir.runtime.ptx.jit.library import Module
from prism_mlir.runtime.ptx.jit.shadow import MANY, PAIR, THREAD, Stamps

EIGHT = ir.VectorType(I32, 8)
IN_ORDER = ir.Constant(EIGHT, [i32(i) for i in range(8)])


def in_rows(m: Module, x: Build, offsets: list[ir.Value], width: int) -> ir.Value:
    """Whether accesses at ``offsets`` (eight lanes a vector) lie in rows."""
    b = x.b
    shift = same(I32, width.bit_length() - 1, 8)
    apart: ir.Value | None = None
    for eight in offsets:
        keys = b.xor(b.lshr(eight, shift), IN_ORDER)
        other = b.xor(keys, x.splat(b.extract_element(keys, i32(0)), 8))
        if not m.options.alignment:
            other = b.or_(other, b.and_(eight, same(I32, width - 1, 8)))
        apart = other if apart is None else b.or_(apart, other)
    assert apart is not None
    return b.not_(x.some_bit(apart))


def access(m: Module, x: Build, offsets: list[ir.Value], width: int, kind: str) -> ir.Value:
    """Check and record an access of a whole warp (``read`` or ``write``); returns whether that has been done."""
    b = x.b
    places = x.alloca(64)
    for g, eight in enumerate(offsets):
        x.store(b.extract_element(eight, i32(0)), places, 4 * g, 4)
    fine = in_rows(m, x, offsets, width)
    before, rows, done = b.block, x.block("rows"), x.block("done")
    b.cbranch(fine, rows, done)
    b.position_at_end(rows)
    stamps = Stamps(x)
    left: list[ir.Block] = []
    with x.unrolled(len(offsets), 1) as g:
        row = _Row(m, x, stamps, x.load(places, b.shl(g, i64(2)), I32, 4), g, width)
        old = row.load()
        bad = row.suspicious(old, kind)
        good = x.block("good")
        left.append(b.block)
        b.cbranch(bad, done, good)
        b.position_at_end(good)
        row.put(old, kind)
    after = b.block
    b.branch(done)
    b.position_at_end(done)
    result = b.phi(I1)
    for block in (before, *left):
        result.add_incoming(ir.Constant(I1, 0), block)
    result.add_incoming(ir.Constant(I1, 1), after)
    return result


def stamp(m: Module, x: Build, stamps: Stamps, offsets: ir.Value, width: int) -> None:
    """Record a write of all lanes that lies in rows; ``offsets`` is where they are kept, four bytes a lane."""
    with x.unrolled(4, 1) as g:
        row = _Row(m, x, stamps, x.load(offsets, x.b.shl(g, i64(5)), I32, 4), g, width)
        row.put(row.load(), "write")


class _Row:
    """The cells of lanes 8 g to 8 g + 7, of which the first one accesses ``offset``; four cells a vector."""

    def __init__(self, m: Module, x: Build, stamps: Stamps, offset: ir.Value, g: ir.Value, width: int) -> None:
        b = x.b
        self.x, self.stamps = x, stamps
        self.count = max(1, width // m.options.cell)
        first = b.lshr(offset, i32(width.bit_length() - 1))
        self.swizzle = b.and_(first, i32(7))
        cells = b.mul(b.zext(b.and_(first, i32(-8)), I64), i64(8 * self.count))
        self.place = x.at(stamps.cells, cells)
        self.thread = b.add(stamps.first, b.shl(b.trunc(g, I32), i32(3)))

    @property
    def _vectors(self) -> range:
        return range(2 * self.count)

    def load(self) -> list[ir.Value]:
        return [self.x.load(self.place, 32 * v, EIGHT, 8) for v in self._vectors]

    def _fresh(self, old: ir.Value) -> ir.Value:
        return self.x.b.icmp_unsigned(">=", old, self.x.splat(self.stamps.floor, 8))

    def suspicious(self, old: list[ir.Value], kind: str) -> ir.Value:
        """Whether somebody has been here since the last barrier; of readers, only writers count."""
        b, x = self.x.b, self.x
        fresh = [self._fresh(v) for v in old]
        total = fresh[0]
        for f in fresh[1:]:
            total = b.or_(total, f)
        if kind == "read":
            total = b.and_(total, ir.Constant(total.type, [ir.Constant(I1, int(i % 2 == 0)) for i in range(8)]))
        return x.some_bit(total)

    def put(self, old: list[ir.Value], kind: str) -> None:
        b, x = self.x.b, self.x
        choice = ir.Constant(ir.VectorType(I1, 8), [ir.Constant(I1, int(i % 2 == (kind == "read"))) for i in range(8)])
        for v in self._vectors:
            lanes = ir.Constant(EIGHT, [i32((4 * v + e // 2) // self.count) for e in range(8)])
            mine = b.add(x.splat(self.thread, 8), b.xor(lanes, x.splat(self.swizzle, 8)))
            new = self._reader(old[v], mine) if kind == "read" else mine
            x.store(b.select(choice, new, old[v]), self.place, 32 * v, 8)

    def _reader(self, old: ir.Value, mine: ir.Value) -> ir.Value:
        """The stamp of a reader, with what it says of earlier ones."""
        b = self.x.b

        def words(value: int) -> ir.Constant:
            return same(I32, value, 8)

        differs = b.and_(b.xor(old, mine), words(THREAD))
        flag = b.select(b.icmp_unsigned("<", differs, words(32)), words(PAIR), words(MANY))
        flag = b.select(b.icmp_unsigned("==", differs, words(0)), words(0), flag)
        flag = b.or_(flag, b.and_(old, words(PAIR | MANY)))
        return b.or_(mine, b.select(self._fresh(old), flag, words(0)))
