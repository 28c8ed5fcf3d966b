"""cp.async in compiled code: a queue of copies for each warp, which land when the warp waits for their group."""

from __future__ import annotations

from llvmlite import ir

from prism_mlir.runtime.ptx.jit import rows, shadow
from prism_mlir.runtime.ptx.jit.access import Addresses, Frame, Lanes, frame, lane_place, survey, tag
from prism_mlir.runtime.ptx.jit.build import EVERY_LANE, I32, I64, PTR, VOID, Build, i32, i64
from prism_mlir.runtime.ptx.jit.layout import (
    QUEUE_COMMITTED,
    QUEUE_HEAD,
    QUEUE_SLOTS,
    QUEUE_TAIL,
    SLOT_BASE,
    SLOT_BYTES,
    SLOT_DATA,
    SLOT_GROUP,
    SLOT_MASK,
    SLOT_OFFSETS,
    SLOT_ROWS,
    SLOT_SOURCES,
    SLOT_WIDTH,
    Entry,
    Field,
    Status,
)
from prism_mlir.runtime.ptx.jit.library import Module
from prism_mlir.runtime.ptx.jit.shadow import Stamps

# Context, destinations, offset, sources, offset, lanes, lanes that copy instead of filling with zeros, program counter, and what
# is known of the host's addresses of both.
COPY = ir.FunctionType(VOID, [PTR, PTR, I64, PTR, I64, I32, I32, I32, I64, I64])
LAND = ir.FunctionType(VOID, [PTR, I64, I32])  # context, groups that may stay in flight, whether all must land
SLOT = ir.FunctionType(PTR, [PTR, I32])  # context, program counter


def copy(m: Module, width: int, narrow: bool) -> ir.Function:
    """cp.async; ``narrow``: addresses in shared memory have 32 bits."""
    return m.function(f"copy.{width}{'.n' if narrow else ''}{tag(m)}", COPY, lambda m, x: _copy(m, x, width, narrow))


def land(m: Module) -> ir.Function:
    """cp.async.wait_group and wait_all: land the copies of the warp that runs, oldest first."""
    return m.function(f"land{tag(m)}", LAND, _land)


def commit(x: Build) -> None:
    """Close the current group of the warp that runs."""
    x.add_to(i64(1), queue_of(x), QUEUE_COMMITTED)


def queue_of(x: Build) -> ir.Value:
    return x.at(x.pointer(Field.QUEUES), x.b.mul(x.field(Field.WARP), x.field(Field.QUEUE_BYTES)))


def _slot_at(x: Build, queue: ir.Value, index: ir.Value) -> ir.Value:
    number = x.b.and_(index, x.field(Field.QUEUE_MASK))
    return x.at(queue, x.b.add(x.b.mul(number, i64(SLOT_BYTES)), i64(QUEUE_SLOTS)))


def _copy(m: Module, x: Build, width: int, narrow: bool) -> None:
    b = x.b
    _, target, _, source, off, bits, valid, pc, known_to, known_from = x.function.args
    with b.if_then(b.icmp_unsigned("==", bits, i32(0))):
        b.ret_void()
    slot = b.call(m.function("slot", SLOT, _new_slot), [x.ctx, pc])
    with b.if_then(b.icmp_unsigned("!=", x.field(Field.STATUS), i64(0)), likely=False):
        b.ret_void()
    x.store(bits, slot, SLOT_MASK, 4)
    x.store(i32(width), slot, SLOT_WIDTH, 4)
    x.store(i32(0), slot, SLOT_ROWS, 4)
    targets, sources = Addresses(x, target, narrow), Addresses(x, source, False)
    usual, unusual, plain, look = (x.block(n) for n in ("usual", "unusual", "plain", "look"))
    every = b.icmp_unsigned("==", b.and_(bits, valid), i32(EVERY_LANE))
    b.cbranch(every, usual, unusual)
    b.position_at_end(usual)
    sure = b.and_(b.icmp_unsigned("!=", known_to, i64(0)), b.icmp_unsigned("!=", known_from, i64(0)))
    ways = [(b.add(known_from, off), b.block)]
    b.cbranch(sure, plain, look)
    b.position_at_end(look)
    here = _look(m, x, targets, sources, width, unusual)
    ways.append((here.host, b.block))
    b.branch(plain)
    b.position_at_end(plain)
    _record(m, x, width, slot, targets, sources, x.merge(ways))
    if m.options.cross_block:
        _see_sources(m, x, sources, width, off, pc)
    b.ret_void()
    b.position_at_end(unusual)
    _record_lanes(m, x, width, slot, targets, sources)
    b.ret_void()


def _look(m: Module, x: Build, targets: Addresses, sources: Addresses, width: int, unusual: ir.Block) -> Frame:
    """Look at the addresses of all lanes; what is unusual, or may be written while the kernel runs, goes elsewhere."""
    b = x.b
    to, off = x.function.args[2], x.function.args[4]
    there = frame(m, x, "shared", targets.of(0), to, width)
    here = frame(m, x, "global", sources.of(0), off, width)
    assert here.entry is not None
    rare = b.or_(survey(m, x, targets, there, width).unusual, survey(m, x, sources, here, width).unusual)
    rare = b.or_(rare, b.icmp_unsigned("==", x.load(here.entry, 8 * Entry.STABLE, I64, 8), i64(0)))
    going = x.block("going")
    b.cbranch(rare, unusual, going)
    b.position_at_end(going)
    return here


def _new_slot(m: Module, x: Build) -> None:
    """The next slot of the queue of the warp that runs."""
    b = x.b
    _, pc = x.function.args
    queue = queue_of(x)
    head, tail = x.load(queue, QUEUE_HEAD, I64, 8), x.load(queue, QUEUE_TAIL, I64, 8)
    full = b.icmp_unsigned(">", b.sub(tail, head), x.field(Field.QUEUE_MASK))
    x.fail_if(full, Status.QUEUE_FULL, pc, lambda: b.ret(queue))
    slot = _slot_at(x, queue, tail)
    x.store(x.load(queue, QUEUE_COMMITTED, I64, 8), slot, SLOT_GROUP, 8)
    x.store(b.add(tail, i64(1)), queue, QUEUE_TAIL, 8)
    b.ret(slot)


def _record(
    m: Module, x: Build, width: int, slot: ir.Value, targets: Addresses, sources: Addresses, host: ir.Value
) -> None:
    """All lanes copy, and nothing can write the source while the kernel runs: its bytes are taken when the copy lands."""
    b = x.b
    to, pc = x.function.args[2], x.function.args[7]
    first, more = sources.of(0), x.splat(b.trunc(to, I32), 8)
    x.store(b.add(first, host), slot, SLOT_BASE, 8)
    start = x.splat(b.trunc(first, I32), 8)
    for c in range(4):
        x.store(b.add(targets.low(c), more), slot, SLOT_OFFSETS + 32 * c, 32)
        x.store(b.sub(sources.low(c), start), slot, SLOT_SOURCES + 32 * c, 32)
    for lane in range(0, 32, 64 // width):
        place = b.inttoptr(b.add(sources.of(lane), host), PTR)
        x.call("llvm.prefetch.p0", VOID, place, i32(0), i32(3), i32(1))
    if m.options.race:
        checked = b.call(rows.check(m, "claim", width), [x.ctx, x.at(slot, SLOT_OFFSETS), pc])
        x.store(checked, slot, SLOT_ROWS, 4)


def _see_sources(m: Module, x: Build, sources: Addresses, width: int, off: ir.Value, pc: ir.Value) -> None:
    """Conflicts between blocks at the sources of all lanes, which lie in one buffer."""
    b = x.b
    here = frame(m, x, "global", sources.of(0), off, width)
    assert here.entry is not None
    with b.if_then(b.icmp_unsigned("!=", x.load(here.entry, 8 * Entry.WRITERS, I64, 8), i64(0))):  # noqa: SIM117
        with Lanes(x, sources, 1) as lanes:
            for _, a in lanes:
                shadow.global_lane(x, here.entry, b.add(a, here.shift), width, "read", pc)


def _record_lanes(m: Module, x: Build, width: int, slot: ir.Value, targets: Addresses, sources: Addresses) -> None:
    """Lane by lane; the bytes are taken now."""
    b = x.b
    _, _, to, _, off, bits, valid, pc, *_ = x.function.args
    queue = queue_of(x)
    number = b.udiv(b.sub(b.sub(b.ptrtoint(slot, I64), b.ptrtoint(queue, I64)), i64(QUEUE_SLOTS)), i64(SLOT_BYTES))
    slots = b.mul(b.add(x.field(Field.QUEUE_MASK), i64(1)), i64(SLOT_BYTES))
    data = x.at(queue, b.add(b.add(slots, i64(QUEUE_SLOTS)), b.mul(number, i64(SLOT_DATA))))
    x.store(b.ptrtoint(data, I64), slot, SLOT_BASE, 8)
    x.fill(data, 0, i64(SLOT_DATA))
    stamps = Stamps(x) if m.options.race else None
    piece = ir.IntType(8 * width)
    with x.each_lane(bits) as lane:
        four, sixteen = b.shl(lane, i64(2)), b.shl(lane, i64(4))
        place = lane_place(m, x, "shared", b.add(targets.of(lane), to), lane, width, pc, True)
        x.store(b.trunc(place.offset, I32), x.at(slot, SLOT_OFFSETS), four, 4)
        x.store(b.trunc(sixteen, I32), x.at(slot, SLOT_SOURCES), four, 4)
        if stamps is not None:
            shadow.shared_access(m, x, stamps, lane, place.offset, width, "write", pc)
        with b.if_then(b.trunc(b.lshr(valid, b.trunc(lane, I32)), ir.IntType(1))):
            taken = lane_place(m, x, "global", b.add(sources.of(lane), off), lane, width, pc, False)
            if m.options.cross_block and taken.entry is not None:
                shadow.global_lane(x, taken.entry, taken.offset, width, "read", pc)
            x.store(x.load(taken.host, 0, piece), data, sixteen, 1)


def _land(m: Module, x: Build) -> None:
    b = x.b
    _, keep, everything = x.function.args
    queue = queue_of(x)
    tail, limit = x.load(queue, QUEUE_TAIL, I64, 8), x.load(queue, QUEUE_COMMITTED, I64, 8)
    oldest = b.sub(limit, keep)
    loop, body, done = (x.block(n) for n in ("next", "land", "done"))
    before = b.block
    start = x.load(queue, QUEUE_HEAD, I64, 8)
    b.branch(loop)
    b.position_at_end(loop)
    at = b.phi(I64)
    at.add_incoming(start, before)
    slot = _slot_at(x, queue, at)
    old = b.icmp_signed("<", x.load(slot, SLOT_GROUP, I64, 8), oldest)
    old = b.or_(old, b.icmp_unsigned("!=", everything, i32(0)))
    b.cbranch(b.and_(b.icmp_unsigned("<", at, tail), old), body, done)
    b.position_at_end(body)
    width = x.load(slot, SLOT_WIDTH, I32, 4)
    for size in (4, 8, 16):
        with b.if_then(b.icmp_unsigned("==", width, i32(size))):
            _land_one(m, x, slot, size)
    at.add_incoming(b.add(at, i64(1)), b.block)
    b.branch(loop)
    b.position_at_end(done)
    x.store(at, queue, QUEUE_HEAD, 8)
    b.ret_void()


def _land_one(m: Module, x: Build, slot: ir.Value, width: int) -> None:
    b = x.b
    base, shared = x.load(slot, SLOT_BASE, I64, 8), x.pointer(Field.SHARED)
    bits = x.load(slot, SLOT_MASK, I32, 4)
    piece = ir.VectorType(I32, width // 4)

    def move(lane: ir.Value) -> ir.Value:
        four = b.shl(lane, i64(2))
        source = b.sext(x.load(x.at(slot, SLOT_SOURCES), four, I32, 4), I64)
        to = b.zext(x.load(x.at(slot, SLOT_OFFSETS), four, I32, 4), I64)
        x.store(x.load(b.add(base, source), 0, piece, 4), shared, to, 4)
        return to

    with b.if_else(b.icmp_unsigned("==", bits, i32(EVERY_LANE))) as (every, some):
        with every, x.unrolled(32, 8) as first:
            for i in range(8):
                move(b.add(first, i64(i)))
        with some, x.each_lane(bits) as lane:
            move(lane)
    if m.options.race:
        _record_landing(m, x, slot, bits, width)


def _record_landing(m: Module, x: Build, slot: ir.Value, bits: ir.Value, width: int) -> None:
    b = x.b
    stamps = Stamps(x)
    order = x.load(slot, SLOT_ROWS, I32, 4)
    with b.if_else(b.icmp_unsigned("!=", order, i32(rows.SCATTERED))) as (together, apart):
        with together:
            rows.stamp(m, x, stamps, x.at(slot, SLOT_OFFSETS), order, width)
        with apart, x.each_lane(bits) as lane:
            to = b.zext(x.load(x.at(slot, SLOT_OFFSETS), b.shl(lane, i64(2)), I32, 4), I64)
            shadow.stamp_write(m, x, stamps, lane, to, width)
