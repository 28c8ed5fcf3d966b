"""Race checks in compiled code: stricter than the reference engine's, never laxer.

What is found here is only a suspicion. The kernel is then run again by the reference engine, which reports the bug, or finds
that there is none.

Shared memory: a stamp is ``time << 12 | flags << 10 | thread``; time advances at every barrier and with every block. A cell has
the stamp of its last writer, then that of its last reader. Stamps below the floor of the block that runs are ordered before
all that it does now; for others the table of what warps know of one another decides. Global memory: a cell has the block
that wrote it and the block that read it, plus one.
"""

from __future__ import annotations

from llvmlite import ir

from prism_mlir.runtime.ptx.checks.cross_block import ATOMIC as ATOMIC_BLOCK
from prism_mlir.runtime.ptx.checks.cross_block import MANY as MANY_BLOCKS
from prism_mlir.runtime.ptx.jit.build import I1, I32, I64, PTR, VOID, Build, i32, i64, same
from prism_mlir.runtime.ptx.jit.layout import Entry, Field, Status
from prism_mlir.runtime.ptx.jit.library import Module

TIME_SHIFT = 12
LAST_TIME = (1 << (31 - TIME_SHIFT)) - 2  # stamps are positive as signed numbers
PAIR = 1 << 10  # of a reader: other threads of its warp have read, too
ATOMIC = PAIR  # of a writer
MANY = 1 << 11  # of a reader: threads of other warps have read, too
THREAD = (1 << 10) - 1
CELL = ir.FunctionType(VOID, [PTR, PTR, I32, I32])  # context, cell, stamp, program counter


class Stamps:
    """The stamps of the warp that runs, now."""

    def __init__(self, x: Build) -> None:
        b = x.b
        high = b.shl(b.trunc(x.field(Field.TIME), I32), i32(TIME_SHIFT))
        self.first = b.or_(high, b.shl(b.trunc(x.field(Field.WARP), I32), i32(5)))
        self.floor = b.shl(b.trunc(x.field(Field.FLOOR), I32), i32(TIME_SHIFT))
        self.cells = x.pointer(Field.CELLS)
        # Subtracted from a cell as one number this makes both halves negative when both stamps are below the floor: the lower
        # half then borrows one from the upper half.
        low = b.zext(self.floor, I64)
        self.both = b.or_(low, b.shl(b.sub(low, i64(1)), i64(32)))

    def of(self, x: Build, lane: ir.Value) -> ir.Value:
        return x.b.add(self.first, x.b.trunc(lane, I32))

    def cell(self, x: Build, offset: ir.Value, cell: int) -> ir.Value:
        """Address of the first cell of an access at ``offset``."""
        return x.at(self.cells, x.b.shl(x.b.lshr(offset, i64(cell.bit_length() - 1)), i64(3)))


def shared_access(
    m: Module,
    x: Build,
    stamps: Stamps,
    lane: ir.Value,
    offset: ir.Value,
    width: int,
    kind: str,
    pc: ir.Value,
    flags: ir.Value | None = None,
) -> None:
    """Check and record an access of one lane. ``kind`` is ``read``, ``write`` or ``atomic``; ``flags`` are added to its stamp."""
    b, cell = x.b, m.options.cell
    count = max(1, width // cell)
    mine, place = stamps.of(x, lane), stamps.cell(x, offset, cell)
    if flags is not None:
        mine = b.or_(mine, flags)
    old = x.load(place, 0, ir.VectorType(I32, 2 * count), 8)
    with b.if_else(_fresh(x, stamps, old), likely=False) as (slow, fast):
        with slow:
            if kind == "read":
                _read_again(m, x, stamps, place, old, mine, pc)
            else:
                function = m.function(f"{kind}.cell", CELL, _write if kind == "write" else _atomic)
                for c in range(count):
                    b.call(function, [x.ctx, x.at(place, 8 * c), mine, pc])
        with fast:
            _put(x, place, old, b.or_(mine, i32(ATOMIC)) if kind == "atomic" else mine, kind == "read")


def _put(x: Build, place: ir.Value, old: ir.Value, stamp: ir.Value, reader: bool) -> None:
    """Replace the stamps of readers, or of writers."""
    n = old.type.count
    if n == 2:
        one = x.b.extract_element(stamp, i32(1)) if isinstance(stamp.type, ir.VectorType) else stamp
        x.store(one, place, 4 if reader else 0, 4)
        return
    x.store(x.mix(x.splat(stamp, n), old, [i % 2 == reader for i in range(n)]), place, 0, 8)


def _fresh(x: Build, stamps: Stamps, pairs: ir.Value) -> ir.Value:
    """Whether any stamp is not below the floor."""
    b = x.b
    if pairs.type.count == 2:
        signs = i64(0x80000000_80000000)
        below = b.and_(b.not_(b.sub(b.bitcast(pairs, I64), stamps.both)), signs)
        return b.icmp_unsigned("!=", below, i64(0))
    return x.some_bit(b.icmp_unsigned(">=", pairs, x.splat(stamps.floor, pairs.type.count)))


def _read_again(
    m: Module, x: Build, stamps: Stamps, place: ir.Value, old: ir.Value, mine: ir.Value, pc: ir.Value
) -> None:
    """Read cells that others have read, or that somebody has written, since the last barrier."""
    b, n = x.b, old.type.count
    fresh = b.icmp_unsigned(">=", old, x.splat(stamps.floor, n))
    if n == 2:
        written = b.extract_element(fresh, i32(0))
    else:
        writers = ir.Constant(fresh.type, [ir.Constant(I1, int(i % 2 == 0)) for i in range(n)])
        written = x.some_bit(b.and_(fresh, writers))
    with b.if_then(written, likely=False):
        function = m.function("read.cell", CELL, _read)
        for c in range(n // 2):
            b.call(function, [x.ctx, x.at(place, 8 * c), mine, pc])
    if n == 2:
        x.store(reader_stamp(x, b.extract_element(old, i32(1)), mine, stamps.floor), place, 4, 4)
    else:
        new = reader_stamp(x, old, x.splat(mine, n), x.splat(stamps.floor, n))
        x.store(x.mix(new, old, [i % 2 == 1 for i in range(n)]), place, 0, 8)


def reader_stamp(x: Build, old: ir.Value, mine: ir.Value, floor: ir.Value) -> ir.Value:
    """The stamp of a reader, with what it has to say of earlier ones; of numbers or vectors."""
    b = x.b
    vector = isinstance(old.type, ir.VectorType)

    def words(value: int) -> ir.Constant:
        return same(I32, value, old.type.count) if vector else i32(value)

    differs = b.and_(b.xor(old, mine), words(THREAD))
    flag = b.select(b.icmp_unsigned("<", differs, words(32)), words(PAIR), words(MANY))
    flag = b.select(b.icmp_unsigned("==", differs, words(0)), words(0), flag)
    flag = b.or_(flag, b.and_(old, words(PAIR | MANY)))
    return b.or_(mine, b.select(b.icmp_unsigned(">=", old, floor), flag, words(0)))


def stamp_write(m: Module, x: Build, stamps: Stamps, lane: ir.Value, offset: ir.Value, width: int) -> list[ir.Value]:
    """Record a write that has been checked; returns the stamps that were there."""
    cell = m.options.cell
    place, mine = stamps.cell(x, offset, cell), stamps.of(x, lane)
    old = []
    for c in range(max(1, width // cell)):
        old.append(x.load(place, 8 * c, I32, 8))
        x.store(mine, place, 8 * c, 8)
    return old


def check_write(
    m: Module, x: Build, stamps: Stamps, lane: ir.Value, offset: ir.Value, width: int, pc: ir.Value
) -> None:
    """Check a write without recording it."""
    b, cell = x.b, m.options.cell
    count = max(1, width // cell)
    place = stamps.cell(x, offset, cell)
    old = x.load(place, 0, ir.VectorType(I32, 2 * count), 8)
    with b.if_then(_fresh(x, stamps, old), likely=False):
        function = m.function("check.cell", CELL, _check)
        for c in range(count):
            b.call(function, [x.ctx, x.at(place, 8 * c), stamps.of(x, lane), pc])


# -- one cell, whatever it holds ------------------------------------------------------------------------------------------


def _unordered(x: Build, stamp: ir.Value, mine: ir.Value) -> ir.Value:
    """Whether what ``stamp`` stands for may happen at any time relative to what ``mine`` does now."""
    b = x.b
    warps = b.trunc(x.field(Field.WARPS), I32)
    me, other = (b.and_(b.lshr(s, i32(5)), i32(31)) for s in (mine, stamp))
    index = b.zext(b.add(b.mul(me, warps), other), I64)
    known = x.load(x.pointer(Field.KNOWN), b.shl(index, i64(2)), I32, 4)
    time = b.lshr(stamp, i32(TIME_SHIFT))
    recent = b.icmp_unsigned(">=", time, b.trunc(x.field(Field.FLOOR), I32))
    return b.and_(recent, b.icmp_unsigned(">=", time, known))


def _other_thread(x: Build, stamp: ir.Value, mine: ir.Value) -> ir.Value:
    return x.b.icmp_unsigned("!=", x.b.and_(x.b.xor(stamp, mine), i32(THREAD)), i32(0))


def _writer_conflicts(x: Build, stamp: ir.Value, mine: ir.Value) -> ir.Value:
    return x.b.and_(_other_thread(x, stamp, mine), _unordered(x, stamp, mine))


def _reader_conflicts(x: Build, stamp: ir.Value, mine: ir.Value) -> ir.Value:
    b = x.b
    many = b.icmp_unsigned("!=", b.and_(stamp, i32(MANY)), i32(0))
    recent = b.icmp_unsigned(">=", b.lshr(stamp, i32(TIME_SHIFT)), b.trunc(x.field(Field.FLOOR), I32))
    pair = b.icmp_unsigned("!=", b.and_(stamp, i32(PAIR)), i32(0))
    one = b.and_(b.or_(pair, _other_thread(x, stamp, mine)), _unordered(x, stamp, mine))
    return b.or_(b.and_(many, recent), one)


def _read(m: Module, x: Build) -> None:
    b = x.b
    _, place, mine, pc = x.function.args
    x.fail_if(_writer_conflicts(x, x.load(place, 0, I32, 4), mine), Status.RACE, pc, b.ret_void)
    b.ret_void()


def _check(m: Module, x: Build) -> None:
    b = x.b
    _, place, mine, pc = x.function.args
    x.fail_if(_writer_conflicts(x, x.load(place, 0, I32, 4), mine), Status.RACE, pc, b.ret_void)
    x.fail_if(_reader_conflicts(x, x.load(place, 4, I32, 4), mine), Status.RACE, pc, b.ret_void)
    b.ret_void()


def _write(m: Module, x: Build) -> None:
    _, place, mine, pc = x.function.args
    x.b.call(m.function("check.cell", CELL, _check), [x.ctx, place, mine, pc])
    x.store(mine, place, 0, 4)
    x.b.ret_void()


def _atomic(m: Module, x: Build) -> None:
    """Atomics do not conflict with one another."""
    b = x.b
    _, place, mine, pc = x.function.args
    writer = x.load(place, 0, I32, 4)
    plain = b.icmp_unsigned("==", b.and_(writer, i32(ATOMIC)), i32(0))
    x.fail_if(b.and_(plain, _writer_conflicts(x, writer, mine)), Status.RACE, pc, b.ret_void)
    x.fail_if(_reader_conflicts(x, x.load(place, 4, I32, 4), mine), Status.RACE, pc, b.ret_void)
    # A plain store of this thread since the last barrier stays one: other threads' atomics conflict with it.
    recent = b.icmp_unsigned(">=", b.lshr(writer, i32(TIME_SHIFT)), b.trunc(x.field(Field.FLOOR), I32))
    kept = b.and_(b.and_(plain, recent), b.not_(_other_thread(x, writer, mine)))
    x.store(b.select(kept, mine, b.or_(mine, i32(ATOMIC))), place, 0, 4)
    b.ret_void()


# -- global memory --------------------------------------------------------------------------------------------------------


def _foreign(x: Build, owner: ir.Value, block: ir.Value, zero: ir.Value) -> ir.Value:
    b = x.b
    return b.and_(b.icmp_unsigned("!=", owner, zero), b.icmp_unsigned("!=", owner, block))


def global_lane(x: Build, entry: ir.Value, offset: ir.Value, width: int, kind: str, pc: ir.Value) -> None:
    """Conflicts between blocks at one lane's access, for buffers that have a shadow."""
    b = x.b
    writers = x.load(entry, 8 * Entry.WRITERS, I64, 8)
    with b.if_then(b.icmp_unsigned("!=", writers, i64(0))):
        readers = x.load(entry, 8 * Entry.READERS, I64, 8)
        shift = x.load(entry, 8 * Entry.CELL_SHIFT, I64, 8)
        block = b.trunc(x.field(Field.BLOCK), I32)
        first = b.lshr(offset, shift)
        count = b.lshr(i64(width), shift)
        count = b.select(b.icmp_unsigned("==", count, i64(0)), i64(1), count)
        with x.loop(count) as i:
            at = b.shl(b.add(first, i), i64(2))
            _global_cell(x, x.at(writers, at), x.at(readers, at), block, kind, pc)


def _global_cell(x: Build, writers: ir.Value, readers: ir.Value, block: ir.Value, kind: str, pc: ir.Value) -> None:
    b = x.b
    wrote, read = x.load(writers, 0, I32, 4), x.load(readers, 0, I32, 4)
    bad = _foreign(x, b.and_(wrote, i32(MANY_BLOCKS)), block, i32(0))
    if kind == "atomic":
        bad = b.and_(bad, b.icmp_unsigned("==", b.and_(wrote, i32(ATOMIC_BLOCK)), i32(0)))
    if kind != "read":
        bad = b.or_(bad, _foreign(x, read, block, i32(0)))
    x.fail_if(bad, Status.CROSS_BLOCK, pc, b.ret_void)
    if kind == "read":
        x.store(b.select(_foreign(x, read, block, i32(0)), i32(MANY_BLOCKS), block), readers, 0, 4)
    elif kind == "write":
        x.store(block, writers, 0, 4)
    else:
        other = _foreign(x, b.and_(wrote, i32(MANY_BLOCKS)), block, i32(0))
        owner = b.select(other, i32(MANY_BLOCKS), block)
        x.store(b.or_(owner, i32(ATOMIC_BLOCK)), writers, 0, 4)


def global_line(x: Build, entry: ir.Value, first: ir.Value, width: int, store: bool, pc: ir.Value) -> None:
    """The same for 32 accesses side by side, the first one at offset ``first``."""
    b = x.b
    n = 8
    zero = same(I32, 0, n)
    writers = x.load(entry, 8 * Entry.WRITERS, I64, 8)
    with b.if_then(b.icmp_unsigned("!=", writers, i64(0))):
        readers = x.load(entry, 8 * Entry.READERS, I64, 8)
        shift = x.load(entry, 8 * Entry.CELL_SHIFT, I64, 8)
        block = x.splat(b.trunc(x.field(Field.BLOCK), I32), n)
        start = b.shl(b.lshr(first, shift), i64(2))
        with x.loop(b.lshr(i64(32 * width), shift), n) as i:
            at = b.add(start, b.shl(i, i64(2)))
            wrote = x.load(writers, at, zero.type, 4)
            read = x.load(readers, at, zero.type, 4)
            bad = _foreign(x, b.and_(wrote, same(I32, MANY_BLOCKS, n)), block, zero)
            if store:
                bad = b.or_(bad, _foreign(x, read, block, zero))
            x.fail_if(x.some_bit(bad), Status.CROSS_BLOCK, pc, b.ret_void)
            if store:
                x.store(block, writers, at, 4)
            else:
                new = b.select(_foreign(x, read, block, zero), same(I32, MANY_BLOCKS, n), block)
                x.store(new, readers, at, 4)
