"""Race checks in compiled code: stricter than the reference engine's, never laxer.

What is found here is only a suspicion. The kernel is then run again by the reference engine, which reports the bug, or (say,
where ``bar.warp.sync`` orders two accesses, which is not looked at here) finds that there is none.

Shared memory: a stamp is ``epoch << 11 | many << 10 | thread``; the epoch advances at every barrier and with every block, so
stamps of earlier ones never match. A cell has the stamp of its last writer and of its last reader; ``many`` says that
several threads have read it in that epoch. Global memory: a cell has the block that wrote it and the block that read it,
plus one.
"""

from __future__ import annotations

from llvmlite import ir

from prism_mlir.runtime.ptx.checks.cross_block import MANY as MANY_BLOCKS
from prism_mlir.runtime.ptx.jit.build import I32, I64, WORDS, Build, i64, lanes_of
from prism_mlir.runtime.ptx.jit.layout import Entry, Field, Status

EPOCH_SHIFT = 11
MANY = 1 << 10


def words(value: int) -> ir.Constant:
    return ir.Constant(WORDS, [value] * 32)


def stamps(x: Build) -> ir.Value:
    """The stamp of each lane, now."""
    b = x.b
    high = b.shl(b.trunc(x.field(Field.EPOCH), I32), ir.Constant(I32, EPOCH_SHIFT))
    first = b.shl(b.trunc(x.field(Field.WARP), I32), ir.Constant(I32, 5))
    return b.add(x.splat(b.or_(high, first)), lanes_of(I32))


def _some(x: Build, lanes: ir.Value, bits: ir.Value) -> ir.Value:
    """Whether the predicate holds for an active lane."""
    return x.b.icmp_unsigned("!=", x.b.and_(x.bits(lanes), bits), ir.Constant(I32, 0))


def _between(x: Build, value: ir.Value, limit: int) -> ir.Value:
    """``1 <= value < limit``."""
    return x.b.icmp_unsigned("<", x.b.sub(value, words(1)), words(limit - 1))


def cells(x: Build, offset: ir.Value, width: int, cell: int) -> list[ir.Value]:
    """Indices of the cells that an access at ``offset`` covers."""
    first = x.b.lshr(offset, x.splat(i64(cell.bit_length() - 1)))
    return [first if c == 0 else x.b.add(first, x.splat(i64(c))) for c in range(max(1, width // cell))]


def shared_read(x: Build, offset: ir.Value, bits: ir.Value, width: int, cell: int, pc: ir.Value) -> None:
    b, my = x.b, stamps(x)
    writers, readers = x.field(Field.WRITERS), x.field(Field.READERS)
    active = x.mask(bits)
    for at in cells(x, offset, width, cell):
        wrote = _between(x, b.xor(x.gather(writers, at, I32), my), MANY)
        x.fail_if(_some(x, wrote, bits), Status.RACE, pc, b.ret_void)
        old = x.gather(readers, at, I32)
        others = _between(x, b.xor(old, my), 2 * MANY)
        new = b.select(others, b.or_(old, words(MANY)), my)
        x.scatter(new, readers, at, active)
        seen = x.gather(readers, at, I32)
        lost = b.and_(b.icmp_unsigned("!=", seen, new), active)
        with b.if_then(_some(x, lost, bits)):
            x.scatter(b.or_(seen, words(MANY)), readers, at, lost)


def shared_write(x: Build, offset: ir.Value, bits: ir.Value, width: int, cell: int, pc: ir.Value) -> ir.Value:
    """Check and record a store; returns the lanes whose stamp another lane has overwritten."""
    b, my = x.b, stamps(x)
    writers, readers = x.field(Field.WRITERS), x.field(Field.READERS)
    active = x.mask(bits)
    lost = ir.Constant(active.type, [0] * 32)
    for at in cells(x, offset, width, cell):
        wrote = _between(x, b.xor(x.gather(writers, at, I32), my), MANY)
        read = _between(x, b.xor(x.gather(readers, at, I32), my), 2 * MANY)
        x.fail_if(_some(x, b.or_(wrote, read), bits), Status.RACE, pc, b.ret_void)
        x.scatter(my, writers, at, active)
        lost = b.or_(lost, b.icmp_unsigned("!=", x.gather(writers, at, I32), my))
    return b.and_(x.bits(lost), bits)


def shared_land(x: Build, offset: ir.Value, bits: ir.Value, width: int, cell: int) -> None:
    """A copy that was checked when it was issued lands."""
    my, writers = stamps(x), x.field(Field.WRITERS)
    for at in cells(x, offset, width, cell):
        x.scatter(my, writers, at, x.mask(bits))


def global_access(
    x: Build, entry: ir.Value, offset: ir.Value, bits: ir.Value, width: int, store: bool, pc: ir.Value
) -> None:
    """Conflicts between blocks, for buffers that have a shadow."""
    b = x.b
    writers = x.load(entry, 8 * Entry.WRITERS, I64, 8)
    with b.if_then(b.icmp_unsigned("!=", writers, i64(0))):
        readers = x.load(entry, 8 * Entry.READERS, I64, 8)
        shift = x.load(entry, 8 * Entry.CELL_SHIFT, I64, 8)
        block = x.splat(b.trunc(x.field(Field.BLOCK), I32))
        first = b.lshr(offset, x.splat(shift))
        count = b.lshr(i64(width), shift)
        count = b.select(b.icmp_unsigned("==", count, i64(0)), i64(1), count)
        active = x.mask(bits)
        with x.loop(count, "cells") as i:
            at = b.add(first, x.splat(i))
            wrote, read = x.gather(writers, at, I32), x.gather(readers, at, I32)
            bad = _foreign(x, wrote, block)
            if store:
                bad = b.or_(bad, _foreign(x, read, block))
            x.fail_if(_some(x, bad, bits), Status.CROSS_BLOCK, pc, b.ret_void)
            if store:
                x.scatter(block, writers, at, active)
            else:
                x.scatter(b.select(_foreign(x, read, block), words(MANY_BLOCKS), block), readers, at, active)


def _foreign(x: Build, owner: ir.Value, block: ir.Value) -> ir.Value:
    b = x.b
    return b.and_(b.icmp_unsigned("!=", owner, words(0)), b.icmp_unsigned("!=", owner, block))
