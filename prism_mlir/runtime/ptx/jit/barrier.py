"""The compiled loop over blocks, and in each block over warps between barriers.

A warp runs until it reaches a barrier or ends. When no warp can run any more, the barriers are completed that have all they
wait for. What a completed barrier orders is recorded for the race check: when all warps have met, everything before it, else
what the warps that met know of one another, as in ``checks.order``.
"""

from __future__ import annotations

from llvmlite import ir

from prism_mlir.runtime.ptx.jit.build import FAILED, I32, I64, PTR, VOID, WARP_FUNCTION, Build, i32, i64
from prism_mlir.runtime.ptx.jit.layout import BARRIER_NUMBERS, QUEUE_SLOTS, Field, Meeting, Status, Wait
from prism_mlir.runtime.ptx.jit.library import Module
from prism_mlir.runtime.ptx.jit.shadow import LAST_TIME

RUN = ir.FunctionType(VOID, [PTR, I64, I64])  # context, first block, one past the last block
ARRIVE = ir.FunctionType(VOID, [PTR, I32, I32, I32])  # context, number, threads wanted, program counter
MEET = ir.FunctionType(I32, [PTR, I32, I32])  # context, number, living warps; whether the barrier is complete
PLAIN = ir.FunctionType(VOID, [PTR])
JOIN = ir.FunctionType(VOID, [PTR, I32])
EVERY = i64(0xFFFFFFFF)


def run_blocks(m: Module) -> ir.Function:
    """Run some blocks; stops early when a warp fails."""
    return m.function(f"run_blocks{_race(m)}", RUN, _run_blocks)


def arrive(m: Module) -> ir.Function:
    """bar.arrive of the warp that runs."""
    return m.function("arrive", ARRIVE, _arrive)


def warp_barrier(m: Module) -> ir.Function:
    """All lanes of the warp that runs have met one another."""
    return m.function("warp_barrier", PLAIN, _warp_barrier)


def _race(m: Module) -> str:
    return ".r" if m.options.race else ""


def _record(x: Build, warp: ir.Value) -> ir.Value:
    return x.at(x.pointer(Field.WAITS), x.b.mul(warp, i64(4 * Wait.WORDS)))


def _meeting(x: Build, number: ir.Value) -> ir.Value:
    wide = x.b.zext(number, I64) if number.type == I32 else number
    return x.at(x.pointer(Field.MEETINGS), x.b.mul(wide, i64(4 * Meeting.WORDS)))


def _word(x: Build, base: ir.Value, word: int) -> ir.Value:
    return x.load(base, 4 * word, I32, 4)


def _set(x: Build, base: ir.Value, word: int, value: ir.Value) -> None:
    x.store(value, base, 4 * word, 4)


# -- time -----------------------------------------------------------------------------------------------------------------


def _tick(x: Build) -> ir.Value:
    """Time advances, where no barrier orders everything; when its numbers run out the reference engine must judge."""
    b = x.b
    now = b.add(x.field(Field.TIME), i64(1))
    x.set_field(Field.TIME, now)
    with b.if_then(b.icmp_unsigned(">=", now, i64(LAST_TIME)), likely=False):
        x.fail(Status.RACE, i32(0))
    return now


def _all_ordered(m: Module, x: Build) -> None:
    """Everything so far is ordered before what comes; when the numbers of time run out, all stamps are forgotten."""
    b = x.b
    now = b.add(x.field(Field.TIME), i64(1))
    if m.options.race:
        with b.if_then(b.icmp_unsigned(">=", now, i64(LAST_TIME - 64)), likely=False):
            x.fill(x.pointer(Field.CELLS), 0, b.mul(x.field(Field.CELL_COUNT), i64(8)))
            warps = x.field(Field.WARPS)
            x.fill(x.pointer(Field.KNOWN), 0, b.mul(b.mul(warps, warps), i64(4)))
            x.set_field(Field.TIME, i64(0))
        now = b.add(x.field(Field.TIME), i64(1))
    x.set_field(Field.TIME, now)
    x.set_field(Field.FLOOR, now)


def _warp_barrier(m: Module, x: Build) -> None:
    b = x.b
    now = b.trunc(_tick(x), I32)
    warp = x.field(Field.WARP)
    index = b.add(b.mul(warp, x.field(Field.WARPS)), warp)
    x.store(now, x.pointer(Field.KNOWN), b.shl(index, i64(2)), 4)
    b.ret_void()


# -- blocks ---------------------------------------------------------------------------------------------------------------


def _run_blocks(m: Module, x: Build) -> None:
    b = x.b
    _, first, last = x.function.args
    start = m.function(f"start_block{_race(m)}", ir.FunctionType(VOID, [PTR, I64]), _start_block)
    with x.loop(b.sub(last, first)) as i:
        b.call(start, [x.ctx, b.add(first, i)])
        _run_block(m, x)
    b.ret_void()


def _start_block(m: Module, x: Build) -> None:
    b = x.b
    _, index = x.function.args
    gx, gy = x.field(Field.GRID_X), x.field(Field.GRID_Y)
    row = b.udiv(index, gx)
    x.set_field(Field.CTAID_X, b.sub(index, b.mul(row, gx)))
    plane = b.udiv(row, gy)
    x.set_field(Field.CTAID_Y, b.sub(row, b.mul(plane, gy)))
    x.set_field(Field.CTAID_Z, plane)
    x.set_field(Field.BLOCK, b.add(index, i64(1)))
    x.fill(x.pointer(Field.SHARED), 0xFF, x.field(Field.SHARED_BYTES))
    warps = x.field(Field.WARPS)
    x.fill(x.pointer(Field.LOCAL), 0xFF, b.mul(x.field(Field.LOCAL_BYTES), b.shl(warps, i64(5))))
    x.fill(x.pointer(Field.WAITS), 0, b.mul(warps, i64(4 * Wait.WORDS)))
    queues, size = x.pointer(Field.QUEUES), x.field(Field.QUEUE_BYTES)
    with x.loop(warps) as w:
        x.fill(x.at(queues, b.mul(w, size)), 0, i64(QUEUE_SLOTS))
    with x.loop(i64(BARRIER_NUMBERS)) as number:
        x.fill(_meeting(x, number), 0, i64(4 * Meeting.TIMES))
    _all_ordered(m, x)
    b.ret_void()


def _run_block(m: Module, x: Build) -> None:
    """Rounds: every warp that can runs, then barriers complete."""
    b = x.b
    again, done = x.block("round"), x.block("round.end")
    living = x.alloca(64)
    b.branch(again)
    b.position_at_end(again)
    x.store(i32(0), living, 0, 4)
    with x.loop(x.field(Field.WARPS)) as w:
        record = _record(x, w)
        runs = b.and_(
            b.icmp_signed(">=", _word(x, record, Wait.RESUME), i32(0)),
            b.icmp_unsigned("==", _word(x, record, Wait.NUMBER), i32(0)),
        )
        with b.if_then(runs):
            _run_warp(x, w, record)
        lives = b.zext(b.icmp_signed(">=", _word(x, record, Wait.RESUME), i32(0)), I32)
        x.store(b.or_(x.load(living, 0, I32, 4), b.shl(lives, b.trunc(w, I32))), living, 0, 4)
    alive = x.load(living, 0, I32, 4)
    meet = x.block("meet")
    b.cbranch(b.icmp_unsigned("==", alive, i32(0)), done, meet)
    b.position_at_end(meet)
    complete = m.function(f"complete{_race(m)}", MEET, _complete)
    progress = x.alloca(64)
    x.store(i32(0), progress, 0, 4)
    with x.loop(i64(BARRIER_NUMBERS)) as number:
        one = b.call(complete, [x.ctx, b.trunc(number, I32), alive])
        x.store(b.or_(x.load(progress, 0, I32, 4), one), progress, 0, 4)
    stuck = b.icmp_unsigned("==", x.load(progress, 0, I32, 4), i32(0))
    x.fail_if(stuck, Status.BARRIER, x.field(Field.BARRIER), b.ret_void)
    b.branch(again)
    b.position_at_end(done)


def _run_warp(x: Build, w: ir.Value, record: ir.Value) -> None:
    b = x.b
    x.set_field(Field.WARP, w)
    is_last = b.icmp_unsigned("==", b.add(w, i64(1)), x.field(Field.WARPS))
    x.set_field(Field.LIVE, b.select(is_last, x.field(Field.LAST_LIVE), EVERY))
    state = x.at(x.pointer(Field.STATES), b.mul(w, x.field(Field.STATE_BYTES)))
    kernel = x.pointer(Field.KERNEL)
    kernel.type = WARP_FUNCTION.as_pointer()  # llvmlite asks a callee for its type
    result = b.call(kernel, [x.ctx, state, _word(x, record, Wait.RESUME)])
    _set(x, record, Wait.RESUME, result)
    with b.if_then(b.icmp_unsigned("==", result, i32(FAILED)), likely=False):
        b.ret_void()
    with b.if_then(b.icmp_signed(">", result, i32(0))):
        number = b.trunc(x.field(Field.NUMBER), I32)
        meeting = _expect(x, number, b.trunc(x.field(Field.WANTED), I32), x.field(Field.BARRIER))
        _set(x, record, Wait.NUMBER, b.add(number, i32(1)))
        _set(x, record, Wait.VOTES, b.trunc(x.field(Field.VOTES), I32))
        bit = b.shl(i32(1), b.trunc(w, I32))
        _set(x, meeting, Meeting.WAITING, b.or_(_word(x, meeting, Meeting.WAITING), bit))


def _expect(x: Build, number: ir.Value, wanted: ir.Value, pc: ir.Value) -> ir.Value:
    """The meeting at a barrier; all its warps must wait for as many threads."""
    b = x.b
    x.fail_if(b.icmp_unsigned(">=", number, i32(BARRIER_NUMBERS)), Status.BARRIER, pc, b.ret_void)
    meeting = _meeting(x, number)
    fresh = b.icmp_unsigned("==", b.or_(_word(x, meeting, Meeting.WAITING), _word(x, meeting, Meeting.ARRIVED)), i32(0))
    have = b.select(fresh, wanted, _word(x, meeting, Meeting.WANTED))
    x.fail_if(b.icmp_unsigned("!=", have, wanted), Status.BARRIER, pc, b.ret_void)
    _set(x, meeting, Meeting.WANTED, wanted)
    return meeting


def _arrive(m: Module, x: Build) -> None:
    b = x.b
    _, number, wanted, pc = x.function.args
    meeting = _expect(x, number, wanted, pc)
    warp = x.field(Field.WARP)
    bit = b.shl(i32(1), b.trunc(warp, I32))
    _set(x, meeting, Meeting.ARRIVED, b.or_(_word(x, meeting, Meeting.ARRIVED), bit))
    x.store(_tick(x), x.at(meeting, 4 * Meeting.TIMES), b.shl(warp, i64(3)), 8)
    b.ret_void()


# -- meetings -------------------------------------------------------------------------------------------------------------


def _complete(m: Module, x: Build) -> None:
    """Complete a barrier if all have come that it waits for."""
    b = x.b
    _, number, alive = x.function.args
    meeting = _meeting(x, number)
    waiting, arrived = _word(x, meeting, Meeting.WAITING), _word(x, meeting, Meeting.ARRIVED)
    with b.if_then(b.icmp_unsigned("==", waiting, i32(0))):
        b.ret(i32(0))
    met, wanted = b.or_(waiting, arrived), _word(x, meeting, Meeting.WANTED)
    count = b.shl(x.call("llvm.ctpop.i32", I32, met), i32(5))
    whole = b.icmp_unsigned("==", met, alive)
    counted = b.icmp_unsigned("!=", wanted, i32(0))
    over = b.and_(counted, b.icmp_unsigned(">", count, wanted))
    x.fail_if(over, Status.BARRIER, x.field(Field.BARRIER), lambda: b.ret(i32(0)))
    full = b.select(counted, b.icmp_unsigned("==", count, wanted), whole)
    with b.if_then(b.not_(full)):
        b.ret(i32(0))
    x.add_to(i64(1), x.ctx, 8 * Field.BARRIERS)
    everyone = b.and_(whole, b.icmp_unsigned("==", arrived, i32(0)))
    with b.if_else(everyone) as (all_, some):
        with all_:
            _all_ordered(m, x)
        with some:
            if m.options.race:
                b.call(m.function("joined", JOIN, _joined), [x.ctx, number])
    _release(x, waiting)
    _set(x, meeting, Meeting.WAITING, i32(0))
    _set(x, meeting, Meeting.ARRIVED, i32(0))
    b.ret(i32(1))


def _release(x: Build, waiting: ir.Value) -> None:
    """Let the warps go on, and tell each how many threads voted yes and how many met."""
    b = x.b
    sums = x.alloca(64)
    x.store(i64(0), sums, 0, 8)
    with x.each_lane(waiting) as w:
        is_last = b.icmp_unsigned("==", b.add(w, i64(1)), x.field(Field.WARPS))
        live = b.select(is_last, b.trunc(x.field(Field.LAST_LIVE), I32), i32(-1))
        votes = _word(x, _record(x, w), Wait.VOTES)
        for i, bits in enumerate((votes, live)):
            x.store(b.add(x.load(sums, 4 * i, I32, 4), x.call("llvm.ctpop.i32", I32, bits)), sums, 4 * i, 4)
    with x.each_lane(waiting) as w:
        record = _record(x, w)
        _set(x, record, Wait.NUMBER, i32(0))
        _set(x, record, Wait.TOTAL, x.load(sums, 0, I32, 4))
        _set(x, record, Wait.MET, x.load(sums, 4, I32, 4))


def _joined(m: Module, x: Build) -> None:
    """Some warps have met: those that wait know what any of them knew, and what each did before it came."""
    b = x.b
    _, number = x.function.args
    meeting = _meeting(x, number)
    waiting, arrived = _word(x, meeting, Meeting.WAITING), _word(x, meeting, Meeting.ARRIVED)
    now, warps, known = b.trunc(_tick(x), I32), x.field(Field.WARPS), x.pointer(Field.KNOWN)

    def entry(me: ir.Value, other: ir.Value) -> ir.Value:
        return x.at(known, b.shl(b.add(b.mul(me, warps), other), i64(2)))

    best = x.alloca(64)
    rows = x.alloca(4 * 32)
    with x.loop(warps) as other:
        x.store(i32(0), best, 0, 4)
        with x.each_lane(b.or_(waiting, arrived)) as w:
            _raise(x, best, x.load(entry(w, other), 0, I32, 4))
        bit = b.shl(i32(1), b.trunc(other, I32))
        with b.if_then(b.icmp_unsigned("!=", b.and_(waiting, bit), i32(0))):
            _raise(x, best, now)
        with b.if_then(b.icmp_unsigned("!=", b.and_(arrived, bit), i32(0))):
            time = x.load(x.at(meeting, 4 * Meeting.TIMES), b.shl(other, i64(3)), I64, 8)
            _raise(x, best, b.trunc(time, I32))
        x.store(x.load(best, 0, I32, 4), rows, b.shl(other, i64(2)), 4)
    with x.loop(warps) as other, x.each_lane(waiting) as w:
        _raise(x, entry(w, other), x.load(rows, b.shl(other, i64(2)), I32, 4))
    b.ret_void()


def _raise(x: Build, place: ir.Value, value: ir.Value) -> None:
    x.store(x.call("llvm.umax.i32", I32, x.load(place, 0, I32, 4), value), place, 0, 4)
