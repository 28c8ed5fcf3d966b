"""Memory accesses of a warp, as functions that a compiled kernel calls: translate, check, move.

A function gets the place where the addresses of 32 lanes lie, an offset to add to them, the word of the lanes that take part,
what to add to an address for the host's where that is known (see ``ranges``), and the place of each register that is moved (32
elements each). Where all lanes take part it looks at all addresses at once; otherwise, and where that finds something unusual, it
goes lane by lane. Lanes that take no part keep their registers. When a check fails it sets the status and returns; the kernel
looks at the status at the end of the basic block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from prism_mlir.runtime.ptx.jit import rows, shadow
from prism_mlir.runtime.ptx.jit.build import EVERY_LANE, I8, I32, I64, PTR, VOID, Build, i32, i64, same
from prism_mlir.runtime.ptx.jit.layout import Entry, Field, Status
from prism_mlir.runtime.ptx.jit.library import Module
from prism_mlir.runtime.ptx.jit.shadow import Stamps
from prism_mlir.runtime.ptx.memory import LOCAL_WINDOW, REGION_BASE, REGION_SHIFT, SHARED_WINDOW, WINDOW

EIGHT = ir.VectorType(I32, 8)
FIND = ir.FunctionType(PTR, [PTR, I64, I64])  # context, address, width
WINDOW_COUNT = ir.FunctionType(VOID, [PTR, PTR, I64, I32, PTR])
RANGE = ir.FunctionType(I64, [PTR, PTR, I64, I64])
ONE = ir.FunctionType(PTR, [PTR, I64, I32, I32])  # context, address, lanes, program counter


def access_type(columns: int) -> ir.FunctionType:
    """Context, addresses, offset, lanes, program counter, what is known of the host's addresses, then the registers."""
    return ir.FunctionType(VOID, [PTR, PTR, I64, I32, I32, I64] + [PTR] * columns)


def load(m: Module, space: str, size: int, count: int, narrow: bool) -> ir.Function:
    """``ld`` of ``count`` elements of ``size`` bytes; ``narrow``: addresses have 32 bits."""
    return _moving(m, "load", space, size, count, narrow)


def store(m: Module, space: str, size: int, count: int, narrow: bool) -> ir.Function:
    """``st`` of ``count`` elements of ``size`` bytes; of lanes that name one address the last wins."""
    return _moving(m, "store", space, size, count, narrow)


def _moving(m: Module, verb: str, space: str, size: int, count: int, narrow: bool) -> ir.Function:
    name, kind = f"{verb}.{space or 'generic'}.{size}x{count}{'.n' if narrow else ''}{tag(m)}", access_type(count)
    if not space:
        return m.function(
            name, kind, lambda m, x: by_window(m, x, narrow, lambda s: _moving(m, verb, s, size, count, narrow))
        )
    move = Move(space, size, count, verb == "store", narrow)
    return m.function(name, kind, lambda m, x: _Write(m, x, move).write())


def tag(m: Module) -> str:
    """What the code of an access depends on, as part of a name."""
    o = m.options
    return f"{'.a' if o.alignment else ''}{f'.r{o.cell}' if o.race else ''}{'.x' if o.cross_block else ''}"


@dataclass(frozen=True, slots=True)
class Move:
    """``count`` elements of ``size`` bytes a lane, between registers and ``space``."""

    space: str
    size: int
    count: int
    storing: bool
    narrow: bool

    @property
    def width(self) -> int:
        return self.size * self.count

    @property
    def kind(self) -> str:
        return "write" if self.storing else "read"


# -- addresses --------------------------------------------------------------------------------------------------------


class Addresses:
    """The addresses of a warp, of 32 or 64 bits, in memory."""

    def __init__(self, x: Build, place: ir.Value, narrow: bool) -> None:
        self.x, self.place, self.narrow = x, place, narrow
        self.size = 4 if narrow else 8

    def of(self, lane: ir.Value | int) -> ir.Value:
        """The address of one lane, as 64 bits."""
        x = self.x
        at = self.size * lane if isinstance(lane, int) else x.b.mul(lane, i64(self.size))
        found = x.load(self.place, at, I32 if self.narrow else I64, self.size)
        return x.b.zext(found, I64) if self.narrow else found

    def eight(self, group: int) -> ir.Value:
        """Those of eight lanes as a vector, as they are."""
        return self.x.load(self.place, 8 * self.size * group, ir.VectorType(I32 if self.narrow else I64, 8), 32)

    def low(self, group: int) -> ir.Value:
        """Their lower halves."""
        return self.eight(group) if self.narrow else self.x.b.trunc(self.eight(group), EIGHT)


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the accesses of a warp should lie. For a lane's address ``a`` without the offset: it lies inside when
    ``0 <= a - low <= room``, its offset in the state space is ``a + shift``, its host address ``a + host``."""

    low: ir.Value
    room: ir.Value
    shift: ir.Value
    host: ir.Value
    entry: ir.Value | None


def frame(m: Module, x: Build, space: str, first: ir.Value, offset: ir.Value, size: int | ir.Value) -> Frame:
    """The frame of the first lane's address, with a negative room where that is nowhere."""
    b = x.b
    width = i64(size) if isinstance(size, int) else size
    if space == "shared":
        find = m.function("variable.shared", FIND, _find_variable("shared"))
        variable = b.call(find, [x.ctx, b.add(first, offset), width])
        start, bytes_ = x.load(variable, 0, I64, 8), x.load(variable, 8, I64, 8)
        low, room = b.sub(start, offset), b.sub(bytes_, width)
        return Frame(low, room, offset, b.add(x.field(Field.SHARED), offset), None)
    entry = b.call(m.function("buffer", FIND, _find_buffer), [x.ctx, b.add(first, offset), width])
    base, bytes_ = x.load(entry, 8 * Entry.BASE, I64, 8), x.load(entry, 8 * Entry.SIZE, I64, 8)
    low, room = b.sub(base, offset), b.sub(bytes_, width)
    return Frame(low, room, b.neg(low), b.sub(x.load(entry, 8 * Entry.HOST, I64, 8), low), entry)


def _find_variable(space: str) -> Callable[[Module, Build], None]:
    """The variable that an access lies in, or an empty one."""

    def write(m: Module, x: Build) -> None:
        b = x.b
        _, address, width = x.function.args
        shared = space == "shared"
        table = x.pointer(Field.SHARED_VARIABLES if shared else Field.LOCAL_VARIABLES)
        with x.loop(x.field(Field.SHARED_COUNT if shared else Field.LOCAL_COUNT)) as i:
            variable = x.at(table, b.shl(i, i64(4)))
            inside, room = b.sub(address, x.load(variable, 0, I64, 8)), b.sub(x.load(variable, 8, I64, 8), width)
            good = b.and_(b.icmp_unsigned("<=", inside, room), b.icmp_signed(">=", room, i64(0)))
            with b.if_then(good):
                b.ret(variable)
        b.ret(x.pointer(Field.DUMMY))

    return write


def _find_buffer(m: Module, x: Build) -> None:
    """The entry of the buffer that an access lies in, or an empty one."""
    b = x.b
    _, address, width = x.function.args
    index = b.sub(b.lshr(address, i64(REGION_SHIFT)), i64(1))
    known = b.icmp_unsigned("<", index, x.field(Field.BUFFER_COUNT))
    with b.if_then(known):
        entry = x.at(x.pointer(Field.BUFFERS), b.mul(index, i64(8 * Entry.COUNT)))
        inside = b.sub(address, x.load(entry, 8 * Entry.BASE, I64, 8))
        room = b.sub(x.load(entry, 8 * Entry.SIZE, I64, 8), width)
        good = b.and_(b.icmp_unsigned("<=", inside, room), b.icmp_signed(">=", room, i64(0)))
        with b.if_then(good):
            b.ret(entry)
    b.ret(x.pointer(Field.DUMMY))


@dataclass(frozen=True, slots=True)
class Survey:
    """What all addresses of a warp have in common.

    Attributes:
        unusual: an address lies outside or is not aligned, or it takes a closer look to tell.
        inside: distances from the frame's low end, as 32-bit numbers, eight lanes a vector; right modulo 2**32.
    """

    unusual: ir.Value
    inside: tuple[ir.Value, ...]


def survey(m: Module, x: Build, at: Addresses, f: Frame, width: int, lanes: int = 32) -> Survey:
    """Look at the addresses of the first ``lanes`` lanes, eight at a time."""
    b = x.b
    limit = i64((1 << 31) - 1)
    low, room = x.splat(f.low, 8), b.trunc(b.select(b.icmp_signed("<", f.room, limit), f.room, limit), I32)
    wide_type = ir.VectorType(I64, 8)
    wide = [b.sub(b.zext(v, wide_type) if at.narrow else v, low) for v in map(at.eight, range(lanes // 8))]
    inside = [b.trunc(w, EIGHT) for w in wide]
    all_wide, all_low = x.all_bits(wide), x.all_bits(inside)
    rest = x.all_bits([b.sub(x.splat(room, 8), v) for v in inside])
    far = x.some_bit(b.and_(all_wide, same(I64, -(1 << 31), 8)))
    unusual = b.or_(far, x.some_bit(b.icmp_signed("<", rest, same(I32, 0, 8))))
    if m.options.alignment and width > 1:
        start = b.add(f.low, f.shift) if f.entry is None else i64(0)
        odd = b.or_(all_low, x.splat(b.trunc(start, I32), 8))
        unusual = b.or_(unusual, x.some_bit(b.and_(odd, same(I32, width - 1, 8))))
    return Survey(unusual, tuple(inside))


def offsets_in_shared(x: Build, at: Addresses, offset: ir.Value, lanes: int = 32) -> ir.Value:
    """Where the offsets in shared memory lie, four bytes a lane."""
    place, more = x.alloca(128), x.splat(x.b.trunc(offset, I32), 8)
    for c in range(lanes // 8):
        x.store(x.b.add(at.low(c), more), place, 32 * c, 32)
    return place


def known_range(m: Module, space: str, lanes: int, width: int, storing: bool, narrow: bool) -> ir.Function:
    """Context, addresses, lowest offset, bytes from there on; what to add to an address for the host's, 0 unless all lie in one
    place and are aligned to ``width``. ``space``: ``stable`` is global memory that nothing writes."""
    name = f"range.{space}.{lanes}.{width}{'.w' if storing else ''}{'.n' if narrow else ''}{tag(m)}"
    return m.function(name, RANGE, lambda m, x: _known_range(m, x, space, lanes, width, storing, narrow))


def _known_range(m: Module, x: Build, space: str, lanes: int, width: int, storing: bool, narrow: bool) -> None:
    b = x.b
    _, place, low, span = x.function.args
    at = Addresses(x, place, narrow)
    f = frame(m, x, "shared" if space == "shared" else "global", at.of(0), low, span)
    bad = survey(m, x, at, f, width, lanes).unusual
    if f.entry is not None:
        wanted = [(Entry.WRITABLE, 1)] * storing + [(Entry.STABLE, 1)] * (space == "stable")
        for word, value in [*wanted, *[(Entry.WRITERS, 0)] * m.options.cross_block]:
            differs = "==" if value else "!="
            bad = b.or_(bad, b.icmp_unsigned(differs, x.load(f.entry, 8 * word, I64, 8), i64(0)))
    b.ret(b.select(bad, i64(0), b.sub(f.host, low)))


def by_window(m: Module, x: Build, narrow: bool, which: Callable[[str], ir.Function]) -> None:
    """A generic access: the lanes whose address lies in the window of the first one that is left, until none is left."""
    b = x.b
    ctx, at, offset, bits, pc, known, *registers = x.function.args
    addresses = Addresses(x, at, narrow)
    head, body, done = x.block("window"), x.block("lanes"), x.block("done")
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    left = b.phi(I32)
    left.add_incoming(bits, before)
    b.cbranch(b.icmp_unsigned("!=", left, i32(0)), body, done)
    b.position_at_end(body)

    def window(lane: ir.Value) -> ir.Value:
        a = b.add(addresses.of(lane), offset)
        return b.select(b.icmp_unsigned(">=", a, i64(REGION_BASE)), i64(0), b.udiv(a, i64(WINDOW)))

    first = window(b.zext(x.first_lane(left), I64))
    together = x.alloca(64)
    x.store(i32(0), together, 0, 4)
    with x.each_lane(left) as lane:
        here = b.zext(b.icmp_unsigned("==", window(lane), first), I32)
        x.store(b.or_(x.load(together, 0, I32, 4), b.shl(here, b.trunc(lane, I32))), together, 0, 4)
    mine = x.load(together, 0, I32, 4)
    outside, joined = x.block("nowhere"), x.block("joined")
    choice = b.switch(first, outside)
    for space, number in (("global", 0), ("shared", SHARED_WINDOW // WINDOW), ("local", LOCAL_WINDOW // WINDOW)):
        here = x.block(space)
        choice.add_case(i64(number), here)
        b.position_at_end(here)
        b.call(which(space), [ctx, at, b.sub(offset, i64(number * WINDOW)), mine, pc, known, *registers])
        b.branch(joined)
    b.position_at_end(outside)
    x.fail(Status.BOUNDS, pc)
    b.ret_void()
    b.position_at_end(joined)
    left.add_incoming(b.and_(left, b.not_(mine)), b.block)
    b.branch(head)
    b.position_at_end(done)
    b.ret_void()


def count_window(m: Module, space: str, narrow: bool) -> ir.Function:
    """Add the lanes whose generic address lies in a space to a count: context, addresses, offset, lanes, count."""
    start = SHARED_WINDOW if space == "shared" else LOCAL_WINDOW
    name = f"count.{space}{'.n' if narrow else ''}"
    return m.function(name, WINDOW_COUNT, lambda m, x: _count_window(x, narrow, start))


def _count_window(x: Build, narrow: bool, start: int) -> None:
    b = x.b
    _, at, offset, bits, count = x.function.args
    addresses = Addresses(x, at, narrow)
    with x.each_lane(bits) as lane:
        a = b.add(addresses.of(lane), offset)
        inside = b.icmp_unsigned("<", b.sub(a, i64(start)), i64(WINDOW))
        x.add_to(b.zext(inside, I64), count, 0)
    b.ret_void()


# -- moves ------------------------------------------------------------------------------------------------------------


class _Write:
    """Writes the function of one :class:`Move`."""

    def __init__(self, m: Module, x: Build, move: Move) -> None:
        self.m, self.x, self.move = m, x, move
        place, self.offset, self.bits, self.pc, self.known, *self.registers = x.function.args[1:]
        self.at = Addresses(x, place, move.narrow)
        self.races = move.space == "shared" and m.options.race
        self.crosses = move.space in ("global", "const") and m.options.cross_block

    def write(self) -> None:
        x, b = self.x, self.x.b
        lane_by_lane = x.block("lane_by_lane")
        if self.move.space != "local":
            whole = x.block("whole")
            b.cbranch(b.icmp_unsigned("==", self.bits, i32(EVERY_LANE)), whole, lane_by_lane)
            b.position_at_end(whole)
            self._whole(lane_by_lane)
        else:
            b.branch(lane_by_lane)
        b.position_at_end(lane_by_lane)
        self._lane_by_lane()

    def _whole(self, otherwise: ir.Block) -> None:
        x, b, move = self.x, self.x.b, self.move
        inside, look = x.block("inside"), x.block("look")
        ways: list[tuple[ir.Value, ir.Block]] = []
        if not self.crosses:
            ways.append((b.add(self.known, self.offset), b.block))
            b.cbranch(b.icmp_unsigned("!=", self.known, i64(0)), inside, look)
        else:
            b.branch(look)
        b.position_at_end(look)
        f = self._look(otherwise)
        ways.append((f.host, b.block))
        b.branch(inside)
        b.position_at_end(inside)
        host = x.merge(ways)
        if self.races:
            self._check_races(otherwise)
        if move.count == 1:
            with b.if_then(self._in_line()):
                self._line(f, host)
        self._scattered(f, host)

    def _look(self, otherwise: ir.Block) -> Frame:
        """Look at all addresses; what is unusual goes elsewhere."""
        m, x, b, move = self.m, self.x, self.x.b, self.move
        f = frame(m, x, move.space, self.at.of(0), self.offset, move.width)
        unusual = survey(m, x, self.at, f, move.width).unusual
        if f.entry is not None and move.storing:
            unusual = b.or_(unusual, b.icmp_unsigned("==", x.load(f.entry, 8 * Entry.WRITABLE, I64, 8), i64(0)))
        usual = x.block("usual")
        b.cbranch(unusual, otherwise, usual)
        b.position_at_end(usual)
        return f

    def _in_line(self) -> ir.Value:
        """Whether the lanes' elements lie side by side, given that they all lie in one place."""
        x, b, size = self.x, self.x.b, self.move.size
        groups = [self.at.low(c) for c in range(4)]
        first = x.splat(b.extract_element(groups[0], i32(0)), 8)
        steps = [ir.Constant(EIGHT, [i32(size * (8 * c + i)) for i in range(8)]) for c in range(4)]
        apart = [b.xor(v, b.add(first, s)) for v, s in zip(groups, steps, strict=True)]
        return b.not_(x.some_bit(x.all_bits(apart)))

    def _check_races(self, otherwise: ir.Block) -> None:
        """Stores that do not lie in rows may meet in one place, and go lane by lane."""
        x, b = self.x, self.x.b
        offsets = offsets_in_shared(x, self.at, self.offset)
        checked = b.call(rows.check(self.m, self.move.kind, self.move.width), [x.ctx, offsets, self.pc])
        if self.move.storing:
            simple = x.block("simple")
            b.cbranch(b.icmp_unsigned("==", checked, i32(rows.SCATTERED)), otherwise, simple)
            b.position_at_end(simple)
        else:
            self._leave_if_failed()

    def _line(self, f: Frame, host: ir.Value) -> None:
        """The lanes' elements lie side by side."""
        x, b, size = self.x, self.x.b, self.move.size
        first = self.at.of(0)
        if self.crosses and f.entry is not None:
            shadow.global_line(x, f.entry, b.add(first, f.shift), size, self.move.storing, self.pc)
        place = b.add(first, host)
        whole = ir.VectorType(I8, 32 * size)
        if self.move.storing:
            x.store(x.load(self.registers[0], 0, whole, 32), place, 0)
        else:
            x.store(x.load(place, 0, whole), self.registers[0], 0, 32)
        b.ret_void()

    def _leave_if_failed(self) -> None:
        with self.x.b.if_then(self.x.b.icmp_unsigned("!=", self.x.field(Field.STATUS), i64(0)), likely=False):
            self.x.b.ret_void()

    def _every_lane(self, step: int) -> Lanes:
        return Lanes(self.x, self.at, step)

    def _scattered(self, f: Frame, host: ir.Value) -> None:
        x, b, move = self.x, self.x.b, self.move
        if self.crosses and f.entry is not None:
            with self._every_lane(1) as lanes:
                for _, a in lanes:
                    shadow.global_lane(x, f.entry, b.add(a, f.shift), move.width, move.kind, self.pc)
        with self._every_lane(max(4, move.count)) as lanes:
            for group in range(0, len(lanes), move.count):
                self._group(host, lanes[group : group + move.count])
        b.ret_void()

    def _group(self, host: ir.Value, lanes: list[tuple[ir.Value, ir.Value]]) -> None:
        """As many lanes as each has elements: a square, to be transposed."""
        x, b, move = self.x, self.x.b, self.move
        row = ir.VectorType(ir.IntType(8 * move.size), move.count) if move.count > 1 else ir.IntType(8 * move.size)
        places = [b.add(a, host) for _, a in lanes]
        columns = [x.at(r, b.mul(lanes[0][0], i64(move.size))) for r in self.registers]
        if move.storing:
            for place, value in zip(places, x.transpose([x.load(c, 0, row, 4) for c in columns]), strict=True):
                x.store(value, place, 0)
        else:
            for column, value in zip(columns, x.transpose([x.load(p, 0, row) for p in places]), strict=True):
                x.store(value, column, 0, min(4, move.size))

    def _stamp(self, stamps: Stamps, lane: ir.Value, offset: ir.Value, lost: ir.Value) -> None:
        x, b = self.x, self.x.b
        for old in shadow.stamp_write(self.m, x, stamps, lane, offset, self.move.width):
            # Stamps of this warp, made in this instruction: the check has found no others that are not the lane's own.
            other = b.sub(old, stamps.first)
            earlier = b.icmp_unsigned("<", other, b.trunc(lane, I32))
            with b.if_then(earlier, likely=False):
                x.store(b.or_(x.load(lost, 0, I32, 4), b.shl(i32(1), other)), lost, 0, 4)

    def _compare(self, lost: ir.Value, place: Callable[[ir.Value], ir.Value]) -> None:
        x, b, move = self.x, self.x.b, self.move
        element = ir.IntType(8 * move.size)
        with x.each_lane(lost) as lane:
            host = place(lane)
            for i, register in enumerate(self.registers):
                mine = x.load(register, b.mul(lane, i64(move.size)), element)
                differs = b.icmp_unsigned("!=", x.load(host, move.size * i, element), mine)
                x.fail_if(differs, Status.RACE, self.pc, b.ret_void)

    # -- lane by lane ---------------------------------------------------------------------------------------------

    def _lane_by_lane(self) -> None:
        m, x, b, move = self.m, self.x, self.x.b, self.move
        stamps = Stamps(x) if self.races else None
        lost, places = x.alloca(64), x.alloca(256)
        x.store(i32(0), lost, 0, 4)
        element = ir.IntType(8 * move.size)
        if stamps is not None and move.storing:
            with x.each_lane(self.bits) as lane:
                place = lane_place(m, x, move.space, self._address(lane), lane, move.width, self.pc, True)
                shadow.check_write(m, x, stamps, lane, place.offset, move.width, self.pc)
            self._leave_if_failed()
        with x.each_lane(self.bits) as lane:
            place = lane_place(m, x, move.space, self._address(lane), lane, move.width, self.pc, move.storing)
            if stamps is not None:
                if move.storing:
                    self._stamp(stamps, lane, place.offset, lost)
                else:
                    shadow.shared_access(m, x, stamps, lane, place.offset, move.width, "read", self.pc)
            if self.crosses and place.entry is not None:
                shadow.global_lane(x, place.entry, place.offset, move.width, move.kind, self.pc)
            if move.storing and self.races:
                x.store(place.host, places, b.shl(lane, i64(3)), 8)
            for i, register in enumerate(self.registers):
                here = x.at(register, b.mul(lane, i64(move.size)))
                if move.storing:
                    x.store(x.load(here, 0, element), place.host, move.size * i)
                else:
                    x.store(x.load(place.host, move.size * i, element), here, 0)
        if stamps is not None and move.storing:
            self._compare(x.load(lost, 0, I32, 4), lambda lane: x.load(places, b.shl(lane, i64(3)), I64, 8))
        b.ret_void()

    def _address(self, lane: ir.Value) -> ir.Value:
        return self.x.b.add(self.at.of(lane), self.offset)


class Lanes:
    """A loop over all lanes, ``step`` in one turn: a context that gives (lane, address) pairs."""

    def __init__(self, x: Build, at: Addresses, step: int, count: int = 32) -> None:
        self.x, self.at, self.step = x, at, step
        self.loop = x.unrolled(count, step)

    def __enter__(self) -> list[tuple[ir.Value, ir.Value]]:
        first = self.loop.__enter__()
        lanes = [self.x.b.add(first, i64(i)) if i else first for i in range(self.step)]
        return [(lane, self.at.of(lane)) for lane in lanes]

    def __exit__(self, *problem: object) -> None:
        self.loop.__exit__(None, None, None)


@dataclass(frozen=True, slots=True)
class LanePlace:
    """Host address of one lane's access, offset in its state space, entry of its buffer."""

    host: ir.Value
    offset: ir.Value
    entry: ir.Value | None


def lane_place(
    m: Module,
    x: Build,
    space: str,
    address: ir.Value,
    lane: ir.Value,
    width: int,
    pc: ir.Value,
    storing: bool,
    leave: Callable[[], None] | None = None,
) -> LanePlace:
    """Check one lane's access; ``leave`` returns from the function when it fails."""
    b = x.b
    leave = leave or b.ret_void
    if m.options.alignment and width > 1:
        odd = b.icmp_unsigned("!=", b.and_(address, i64(width - 1)), i64(0))
        x.fail_if(odd, Status.ALIGNMENT, pc, leave)
    if space in ("shared", "local"):
        found = b.call(m.function(f"variable.{space}", FIND, _find_variable(space)), [x.ctx, address, i64(width)])
        nowhere = b.icmp_unsigned("==", found, x.pointer(Field.DUMMY))
        x.fail_if(nowhere, Status.BOUNDS, pc, leave)
        base = x.field(Field.SHARED if space == "shared" else Field.LOCAL)
        if space == "local":
            thread = b.add(b.shl(x.field(Field.WARP), i64(5)), lane)
            base = b.add(base, b.mul(thread, x.field(Field.LOCAL_BYTES)))
        return LanePlace(b.add(base, address), address, None)
    entry = b.call(m.function("buffer", FIND, _find_buffer), [x.ctx, address, i64(width)])
    bad = b.icmp_unsigned("==", entry, x.pointer(Field.DUMMY))
    if storing:
        bad = b.or_(bad, b.icmp_unsigned("==", x.load(entry, 8 * Entry.WRITABLE, I64, 8), i64(0)))
    x.fail_if(bad, Status.BOUNDS, pc, leave)
    offset = b.sub(address, x.load(entry, 8 * Entry.BASE, I64, 8))
    return LanePlace(b.add(x.load(entry, 8 * Entry.HOST, I64, 8), offset), offset, entry)


# -- one address for all lanes ------------------------------------------------------------------------------------------


def load_one(m: Module, space: str, width: int) -> ir.Function:
    """A load of which all lanes have the same address: where the bytes are, or somewhere harmless."""
    return m.function(f"one.{space}.{width}{tag(m)}", ONE, lambda m, x: _load_one(m, x, space, width))


def _load_one(m: Module, x: Build, space: str, width: int) -> None:
    b = x.b
    _, address, bits, pc = x.function.args
    dummy = x.pointer(Field.DUMMY)
    with b.if_then(b.icmp_unsigned("==", bits, i32(0))):
        b.ret(dummy)
    lane = b.zext(x.first_lane(bits), I64)
    if m.options.alignment and width > 1:
        odd = b.icmp_unsigned("!=", b.and_(address, i64(width - 1)), i64(0))
        x.fail_if(odd, Status.ALIGNMENT, pc, lambda: b.ret(dummy))
    f = frame(m, x, space, address, i64(0), width)
    x.fail_if(b.icmp_signed("<", f.room, i64(0)), Status.BOUNDS, pc, lambda: b.ret(dummy))
    offset = b.add(address, f.shift)
    check = m.function(f"see.{space}.{width}{tag(m)}", SEE, lambda m, x: _see(m, x, space, width))
    b.call(check, [x.ctx, offset, dummy if f.entry is None else f.entry, lane, bits, pc])
    b.ret(b.inttoptr(b.add(address, f.host), PTR))


SEE = ir.FunctionType(VOID, [PTR, I64, PTR, I64, I32, I32])  # context, offset, entry, lane, lanes, program counter


def _see(m: Module, x: Build, space: str, width: int) -> None:
    """Record that some lanes have read one place."""
    b = x.b
    _, offset, entry, lane, bits, pc = x.function.args
    if space == "shared" and m.options.race:
        alone = b.icmp_unsigned("==", b.and_(bits, b.sub(bits, i32(1))), i32(0))
        flags = b.select(alone, i32(0), i32(shadow.PAIR))
        shadow.shared_access(m, x, Stamps(x), lane, offset, width, "read", pc, flags)
    if space in ("global", "const") and m.options.cross_block:
        shadow.global_lane(x, entry, offset, width, "read", pc)
    b.ret_void()
