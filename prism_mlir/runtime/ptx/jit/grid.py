"""The compiled loop over blocks, and in each block over warps between barriers."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from prism_mlir.runtime.ptx.jit.build import I8, I32, I64, PTR, VOID, Build, i32, i64
from prism_mlir.runtime.ptx.jit.kernel import FAILED, Barrier, WarpKernel
from prism_mlir.runtime.ptx.jit.layout import QUEUE_SLOTS, Field, Status
from prism_mlir.runtime.ptx.jit.shadow import EPOCH_SHIFT

GRID_FUNCTION = ir.FunctionType(VOID, [PTR, I64, I64])  # context, first block, one past the last block
LAST_EPOCH = (1 << (32 - EPOCH_SHIFT)) - 2


def write_grid(module: ir.Module, kernel: WarpKernel, name: str) -> None:
    """Write the function ``name`` that runs some blocks; it stops early when a warp fails."""
    function = ir.Function(module, GRID_FUNCTION, name)
    x = Build(function)
    _, first, last = function.args
    with x.loop(x.b.sub(last, first), "block") as i:
        _start_block(x, kernel, x.b.add(first, i))
        _run_block(x, kernel)
    x.b.ret_void()


def _fill(x: Build, place: ir.Value, byte: int, size: ir.Value) -> None:
    x.call("llvm.memset.p0.i64", VOID, place, ir.Constant(I8, byte), size, ir.Constant(ir.IntType(1), 0))


def _start_block(x: Build, kernel: WarpKernel, index: ir.Value) -> None:
    b = x.b
    gx, gy = x.field(Field.GRID_X), x.field(Field.GRID_Y)
    row = b.udiv(index, gx)
    x.set_field(Field.CTAID_X, b.sub(index, b.mul(row, gx)))
    plane = b.udiv(row, gy)
    x.set_field(Field.CTAID_Y, b.sub(row, b.mul(plane, gy)))
    x.set_field(Field.CTAID_Z, plane)
    x.set_field(Field.BLOCK, b.add(index, i64(1)))
    _fill(x, x.pointer(Field.SHARED), 0xFF, x.field(Field.SHARED_BYTES))
    if kernel.options.local:
        threads = b.mul(x.field(Field.WARPS), i64(32))
        _fill(x, x.pointer(Field.LOCAL), 0xFF, b.mul(x.field(Field.LOCAL_BYTES), threads))
    queues = x.pointer(Field.QUEUES)
    with x.loop(x.field(Field.WARPS), "fresh") as w:
        x.store(i32(0), x.pointer(Field.RESUME), b.mul(w, i64(4)), 4)
        if kernel.options.slots:
            head = x.at(queues, b.mul(w, i64(kernel.options.queue_bytes)))
            _fill(x, head, 0, i64(QUEUE_SLOTS))
    _advance(x, kernel)


def _advance(x: Build, kernel: WarpKernel) -> None:
    """Begin the next epoch; when their numbers run out, forget all stamps and begin anew."""
    b = x.b
    now = b.add(x.field(Field.EPOCH), i64(1))
    x.set_field(Field.EPOCH, now)
    if not kernel.options.race:
        return
    with b.if_then(b.icmp_unsigned(">=", now, i64(LAST_EPOCH)), likely=False):
        size = b.mul(x.field(Field.CELLS), i64(4))
        _fill(x, x.pointer(Field.WRITERS), 0, size)
        _fill(x, x.pointer(Field.READERS), 0, size)
        x.set_field(Field.EPOCH, i64(1))


def _run_block(x: Build, kernel: WarpKernel) -> None:
    """Rounds: every warp that has not ended runs to its next barrier. Barriers of one number complete together."""
    b = x.b
    again = x.function.append_basic_block("round")
    done = x.function.append_basic_block("round.end")
    waiting, number = x.alloca(I64, 8), x.alloca(I32, 4)
    b.branch(again)
    b.position_at_end(again)
    b.store(i64(0), waiting)
    b.store(i32(-1), number)
    with x.loop(x.field(Field.WARPS), "warp") as w:
        place = x.at(x.pointer(Field.RESUME), b.mul(w, i64(4)))
        resume = x.load(place, 0, I32, 4)
        with b.if_then(b.icmp_signed(">=", resume, i32(0))):
            _run_warp(x, kernel, w, place, resume, waiting, number)
    going = b.icmp_unsigned("!=", b.load(waiting, typ=I64), i64(0))
    following = x.function.append_basic_block("passed")
    b.cbranch(going, following, done)
    b.position_at_end(following)
    x.set_field(Field.BARRIERS, b.add(x.field(Field.BARRIERS), i64(1)))
    _advance(x, kernel)
    b.branch(again)
    b.position_at_end(done)


def _run_warp(
    x: Build,
    kernel: WarpKernel,
    w: ir.Value,
    place: ir.Value,
    resume: ir.Value,
    waiting: ir.Value,
    number: ir.Value,
) -> None:
    b = x.b
    x.set_field(Field.WARP, w)
    if kernel.options.partial:
        is_last = b.icmp_unsigned("==", b.add(w, i64(1)), x.field(Field.WARPS))
        x.set_field(Field.LIVE, b.select(is_last, x.field(Field.LAST_LIVE), i64(0xFFFFFFFF)))
    state = x.at(x.pointer(Field.STATES), b.mul(w, i64(kernel.state_bytes)))
    result = b.call(kernel.function, [x.ctx, state, resume])
    x.store(result, place, 0, 4)
    with b.if_then(b.icmp_unsigned("==", result, i32(FAILED)), likely=False):
        b.ret_void()
    with b.if_then(b.icmp_signed(">", result, i32(0))):
        b.store(b.add(b.load(waiting, typ=I64), i64(1)), waiting)
        _same_number(x, kernel.barriers, result, number)


def _same_number(x: Build, barriers: Sequence[Barrier], result: ir.Value, number: ir.Value) -> None:
    """All warps must wait at barriers of one number."""
    if len({barrier.number for barrier in barriers}) < 2:
        return
    b = x.b
    mine = i32(barriers[0].number)
    for i, barrier in enumerate(barriers, 1):
        mine = b.select(b.icmp_unsigned("==", result, i32(i)), i32(barrier.number), mine)
    have = b.load(number, typ=I32)
    differs = b.and_(b.icmp_signed("!=", have, i32(-1)), b.icmp_unsigned("!=", have, mine))
    x.fail_if(differs, Status.BARRIER, i32(barriers[0].pc), b.ret_void)
    b.store(mine, number)
