"""Memory accesses of a warp, as functions that a compiled kernel calls: translate, check, move.

A function gets the addresses of 32 lanes and the word of those that take part, and moves ``width`` bytes a lane between memory
and a buffer in which lane i has bytes ``i * width`` and on. When a check fails it sets the status and does nothing; the
kernel looks at the status at the end of the basic block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from prism_mlir.runtime.ptx.jit import shadow
from prism_mlir.runtime.ptx.jit.build import (
    ADDRESSES,
    I8,
    I32,
    I64,
    PTR,
    VOID,
    WORDS,
    Build,
    i32,
    i64,
    lanes_of,
)
from prism_mlir.runtime.ptx.jit.layout import (
    QUEUE_COMMITTED,
    QUEUE_HEAD,
    QUEUE_SLOTS,
    QUEUE_TAIL,
    SLOT_BYTES,
    SLOT_DATA,
    SLOT_MASK,
    SLOT_OFFSETS,
    SLOT_SOURCES,
    Entry,
    Field,
    Status,
)
from prism_mlir.runtime.ptx.memory import LOCAL_WINDOW, REGION_BASE, REGION_SHIFT, SHARED_WINDOW, WINDOW

ACCESS = ir.FunctionType(VOID, [PTR, ADDRESSES, I32, I32, PTR])
COPY = ir.FunctionType(VOID, [PTR, ADDRESSES, ADDRESSES, I32, I32, I32])
QUEUE = ir.FunctionType(VOID, [PTR])
FALSE = ir.Constant(ir.IntType(1), 0)


@dataclass(frozen=True, slots=True)
class Options:
    """What a kernel is compiled for.

    Attributes:
        race: look for races in shared memory.
        cross_block: look for conflicts between blocks.
        alignment: unaligned accesses stop the kernel; else their bytes are taken as they lie.
        partial: the last warp of a block has fewer than 32 threads.
        cell: bytes of a cell of the shadow of shared memory.
        shared, local: number of variables in these spaces.
        slots: capacity of a warp's queue of copies, a power of two.
    """

    race: bool
    cross_block: bool
    alignment: bool
    partial: bool
    cell: int
    shared: int
    local: int
    slots: int

    @property
    def queue_bytes(self) -> int:
        return QUEUE_SLOTS + self.slots * SLOT_BYTES


class Accesses:
    """The functions of one module, written when they are first asked for."""

    def __init__(self, module: ir.Module, options: Options) -> None:
        self.module = module
        self.options = options

    def _function(self, name: str, kind: ir.FunctionType, write: Callable[[Build], None]) -> ir.Function:
        have = self.module.globals.get(name)
        if have is None:
            have = ir.Function(self.module, kind, name)
            have.linkage = "internal"
            have.attributes.add("noinline")
            have.attributes.add("nounwind")
            write(Build(have))
        return have

    def load(self, space: str, width: int, lanes: int = 32) -> ir.Function:
        """``lanes``: how many lanes are looked at, for ldmatrix."""
        name = f"load.{space or 'generic'}.{width}.{lanes}"
        if not space:
            return self._function(name, ACCESS, lambda x: self._generic(x, width, self.load))
        return self._function(name, ACCESS, lambda x: self._load(x, space, width, lanes))

    def store(self, space: str, width: int) -> ir.Function:
        name = f"store.{space or 'generic'}.{width}"
        if not space:
            return self._function(name, ACCESS, lambda x: self._generic(x, width, self.store))
        return self._function(name, ACCESS, lambda x: self._store(x, space, width))

    def copy(self, width: int) -> ir.Function:
        """cp.async: destinations, sources, lanes, lanes that copy instead of filling with zeros, program counter."""
        return self._function(f"copy.{width}", COPY, lambda x: self._copy(x, width))

    def land(self, keep: int | None) -> ir.Function:
        """cp.async.wait_group ``keep`` (None: wait_all)."""
        return self._function(f"land.{'all' if keep is None else keep}", QUEUE, lambda x: self._land(x, keep))

    # -- addresses ------------------------------------------------------------------------------------------------

    def _place(
        self, x: Build, space: str, width: int, at: ir.Value, bits: ir.Value, pc: ir.Value, store: bool
    ) -> tuple[ir.Value, ir.Value, ir.Value | None]:
        """Host address of the memory, offsets in it (those of idle lanes are made valid), and the buffer's entry."""
        b = x.b
        with b.if_then(b.icmp_unsigned("==", bits, i32(0))):
            b.ret_void()
        first = b.extract_element(at, x.first_lane(bits))
        at = b.select(x.mask(bits), at, x.splat(first))
        if self.options.alignment and width > 1:
            odd = b.icmp_unsigned("!=", b.and_(at, x.splat(i64(width - 1))), x.splat(i64(0)))
            x.fail_if(b.icmp_unsigned("!=", x.bits(odd), i32(0)), Status.ALIGNMENT, pc, b.ret_void)
        if space in ("global", "const"):
            return self._buffer(x, width, at, first, pc, store)
        self._inside(x, space, width, at, first, pc)
        if space == "shared":
            return x.field(Field.SHARED), at, None
        thread = b.add(x.splat(b.mul(x.field(Field.WARP), i64(32))), lanes_of(I64))
        return x.field(Field.LOCAL), b.add(at, b.mul(thread, x.splat(x.field(Field.LOCAL_BYTES)))), None

    def _inside(self, x: Build, space: str, width: int, at: ir.Value, first: ir.Value, pc: ir.Value) -> None:
        """Stop unless every lane's access lies in a variable: the first lane's for all, or else each in any."""
        b = x.b
        count = self.options.shared if space == "shared" else self.options.local
        table = x.pointer(Field.SHARED_VARIABLES if space == "shared" else Field.LOCAL_VARIABLES)
        spans = []  # start, and how many places an access may begin at
        for i in range(count):
            start, size = x.load(table, 16 * i, I64, 8), x.load(table, 16 * i + 8, I64, 8)
            room = b.add(b.sub(size, i64(width)), i64(1))
            spans.append((start, b.select(b.icmp_signed(">", room, i64(0)), room, i64(0))))
        start, room = i64(0), i64(0)
        for low, places in spans:
            here = b.icmp_unsigned("<", b.sub(first, low), places)
            start, room = b.select(here, low, start), b.select(here, places, room)
        outside = b.icmp_unsigned(">=", b.sub(at, x.splat(start)), x.splat(room))
        with b.if_then(b.icmp_unsigned("!=", x.bits(outside), i32(0)), likely=False):
            for low, places in spans:
                outside = b.and_(outside, b.icmp_unsigned(">=", b.sub(at, x.splat(low)), x.splat(places)))
            x.fail_if(b.icmp_unsigned("!=", x.bits(outside), i32(0)), Status.BOUNDS, pc, b.ret_void)

    def _buffer(
        self, x: Build, width: int, at: ir.Value, first: ir.Value, pc: ir.Value, store: bool
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        b = x.b
        index = b.sub(b.lshr(first, i64(REGION_SHIFT)), i64(1))
        wild = b.icmp_unsigned(">=", index, x.field(Field.BUFFER_COUNT))
        x.fail_if(wild, Status.BOUNDS, pc, b.ret_void)
        entry = x.at(x.pointer(Field.BUFFERS), b.mul(index, i64(8 * Entry.COUNT)))
        base, size = x.load(entry, 8 * Entry.BASE, I64, 8), x.load(entry, 8 * Entry.SIZE, I64, 8)
        offset = b.sub(at, x.splat(base))
        outside = b.icmp_unsigned(">", offset, x.splat(b.sub(size, i64(width))))
        bad = b.icmp_unsigned("!=", x.bits(outside), i32(0))
        bad = b.or_(bad, b.icmp_signed("<", size, i64(width)))
        if store:
            locked = b.icmp_unsigned("==", x.load(entry, 8 * Entry.WRITABLE, I64, 8), i64(0))
            bad = b.or_(bad, locked)
        x.fail_if(bad, Status.BOUNDS, pc, b.ret_void)
        return x.load(entry, 8 * Entry.HOST, I64, 8), offset, entry

    def _generic(self, x: Build, width: int, which: Callable[[str, int], ir.Function]) -> None:
        """Go by the window of the first lane; the check of that space finds lanes that are elsewhere."""
        b = x.b
        ctx, at, bits, pc, data = x.function.args
        with b.if_then(b.icmp_unsigned("==", bits, i32(0))):
            b.ret_void()
        first = b.extract_element(at, x.first_lane(bits))
        with b.if_then(b.icmp_unsigned(">=", first, i64(REGION_BASE))):
            b.call(which("global", width), [ctx, at, bits, pc, data])
            b.ret_void()
        for space, window in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
            near = b.icmp_unsigned("<", b.sub(first, i64(window)), i64(WINDOW))
            with b.if_then(near):
                b.call(which(space, width), [ctx, b.sub(at, x.splat(i64(window))), bits, pc, data])
                b.ret_void()
        x.fail(Status.MIXED_SPACES, pc)
        b.ret_void()

    def _in_order(self, x: Build, offset: ir.Value, bits: ir.Value, width: int) -> ir.Value:
        """Whether all 32 lanes take part and lie side by side."""
        b = x.b
        first = b.extract_element(offset, i32(0))
        line = b.add(x.splat(first), lanes_of(I64, width))
        same = b.icmp_unsigned("==", x.bits(b.icmp_unsigned("==", offset, line)), i32(-1))
        return b.and_(same, b.icmp_unsigned("==", bits, i32(-1)))

    # -- moves ----------------------------------------------------------------------------------------------------

    def _load(self, x: Build, space: str, width: int, lanes: int) -> None:
        b = x.b
        _, at, bits, pc, out = x.function.args
        host, offset, entry = self._place(x, space, width, at, bits, pc, store=False)
        self._check(x, space, offset, bits, width, pc, entry)
        if lanes == 32:
            with b.if_then(self._in_order(x, offset, bits, width)):
                whole = ir.VectorType(I8, 32 * width)
                x.store(x.load(host, b.extract_element(offset, i32(0)), whole), out, 0, 32)
                b.ret_void()
        if width in (4, 8):
            element = ir.IntType(8 * width)
            x.store(x.gather(host, offset, element, 1), out, 0, 32)
        else:
            piece = ir.VectorType(I32, 4) if width == 16 else ir.IntType(8 * width)
            for lane in range(lanes):
                x.store(x.load(host, b.extract_element(offset, i32(lane)), piece), out, lane * width, width)
        b.ret_void()

    def _check(
        self, x: Build, space: str, offset: ir.Value, bits: ir.Value, width: int, pc: ir.Value, entry: ir.Value | None
    ) -> None:
        if space == "shared" and self.options.race:
            shadow.shared_read(x, offset, bits, width, self.options.cell, pc)
        if entry is not None and self.options.cross_block:
            shadow.global_access(x, entry, offset, bits, width, False, pc)

    def _store(self, x: Build, space: str, width: int) -> None:
        b = x.b
        _, at, bits, pc, data = x.function.args
        host, offset, entry = self._place(x, space, width, at, bits, pc, store=True)
        if entry is not None and self.options.cross_block:
            shadow.global_access(x, entry, offset, bits, width, True, pc)
        if space == "shared" and self.options.race:
            lost = shadow.shared_write(x, offset, bits, width, self.options.cell, pc)
            self._move_out(x, host, offset, bits, width, data)
            self._same(x, host, offset, lost, width, data, pc)
        else:
            self._move_out(x, host, offset, bits, width, data)
        b.ret_void()

    def _move_out(self, x: Build, host: ir.Value, offset: ir.Value, bits: ir.Value, width: int, data: ir.Value) -> None:
        b = x.b
        with b.if_else(self._in_order(x, offset, bits, width)) as (line, scattered):
            with line:
                whole = x.load(data, 0, ir.VectorType(I8, 32 * width), 32)
                x.store(whole, host, b.extract_element(offset, i32(0)))
            with scattered:
                if width in (4, 8):
                    vector = ir.VectorType(ir.IntType(8 * width), 32)
                    x.scatter(x.load(data, 0, vector, 32), host, offset, x.mask(bits), 1)
                else:
                    self._each(x, host, offset, bits, width, data)

    def _each(self, x: Build, host: ir.Value, offset: ir.Value, bits: ir.Value, width: int, data: ir.Value) -> None:
        """Store lane by lane, the last lane wins."""
        b = x.b
        piece = ir.VectorType(I32, 4) if width == 16 else ir.IntType(8 * width)
        where = x.alloca(ADDRESSES)
        x.store(offset, where, 0, 64)
        with x.each_lane(bits) as lane:
            to = x.load(where, b.mul(lane, i64(8)), I64, 8)
            x.store(x.load(data, b.mul(lane, i64(width)), piece), host, to)

    def _same(
        self, x: Build, host: ir.Value, offset: ir.Value, lost: ir.Value, width: int, data: ir.Value, pc: ir.Value
    ) -> None:
        """Lanes that stored where another one did must have stored the same."""
        b = x.b
        with b.if_then(b.icmp_unsigned("!=", lost, i32(0)), likely=False):
            where = x.alloca(ADDRESSES)
            x.store(offset, where, 0, 64)
            whole = ir.IntType(8 * width)
            with x.each_lane(lost) as lane:
                have = x.load(host, x.load(where, b.mul(lane, i64(8)), I64, 8), whole)
                mine = x.load(data, b.mul(lane, i64(width)), whole)
                x.fail_if(b.icmp_unsigned("!=", have, mine), Status.RACE, pc, b.ret_void)

    # -- asynchronous copies --------------------------------------------------------------------------------------

    def _queue(self, x: Build) -> ir.Value:
        size = i64(self.options.queue_bytes)
        return x.at(x.pointer(Field.QUEUES), x.b.mul(x.field(Field.WARP), size))

    def _slot(self, x: Build, queue: ir.Value, index: ir.Value) -> ir.Value:
        b = x.b
        number = b.and_(index, i64(self.options.slots - 1))
        return x.at(queue, b.add(b.mul(number, i64(SLOT_BYTES)), i64(QUEUE_SLOTS)))

    def _copy(self, x: Build, width: int) -> None:
        b = x.b
        ctx, target, source, bits, valid, pc = x.function.args
        _, offset, _ = self._place(x, "shared", width, target, bits, pc, store=True)
        if self.options.race:
            lost = shadow.shared_write(x, offset, bits, width, self.options.cell, pc)
            x.fail_if(b.icmp_unsigned("!=", lost, i32(0)), Status.RACE, pc, b.ret_void)
        queue = self._queue(x)
        head, tail = x.load(queue, QUEUE_HEAD, I64, 8), x.load(queue, QUEUE_TAIL, I64, 8)
        full = b.icmp_unsigned(">=", b.sub(tail, head), i64(self.options.slots))
        x.fail_if(full, Status.QUEUE_FULL, pc, b.ret_void)
        slot = self._slot(x, queue, tail)
        x.store(x.load(queue, QUEUE_COMMITTED, I64, 8), slot, 0, 8)
        x.store(bits, slot, SLOT_MASK, 4)
        x.store(i32(width), slot, SLOT_MASK + 4, 4)
        x.store(b.trunc(offset, WORDS), slot, SLOT_OFFSETS, 64)
        x.store(b.add(tail, i64(1)), queue, QUEUE_TAIL, 8)
        b.call(self._fetch(width), [ctx, source, valid, pc, slot])
        b.ret_void()

    def _fetch(self, width: int) -> ir.Function:
        """The source of a copy: lanes, those that copy instead of filling with zeros, program counter, slot."""
        return self._function(f"fetch.{width}", ACCESS, lambda x: self._write_fetch(x, width))

    def _write_fetch(self, x: Build, width: int) -> None:
        """Where nothing can write the source while the kernel runs, its bytes may be taken when the copy lands."""
        b = x.b
        _, source, valid, pc, slot = x.function.args
        data = b.ptrtoint(x.at(slot, SLOT_DATA), I64)
        inside = b.add(x.splat(data), lanes_of(I64, 16))
        with b.if_then(b.icmp_unsigned("!=", valid, i32(-1)), likely=False):
            x.call("llvm.memset.p0.i64", VOID, x.at(slot, SLOT_DATA), ir.Constant(I8, 0), i64(512), FALSE)
            x.store(inside, slot, SLOT_SOURCES, 64)
        host, offset, entry = self._place(x, "global", width, source, valid, pc, store=False)
        assert entry is not None
        if self.options.cross_block:
            shadow.global_access(x, entry, offset, valid, width, False, pc)
        places = b.add(offset, x.splat(host))
        stable = b.icmp_unsigned("!=", x.load(entry, 8 * Entry.STABLE, I64, 8), i64(0))
        with b.if_then(stable):
            x.store(b.select(x.mask(valid), places, inside), slot, SLOT_SOURCES, 64)
            for lane in range(0, 32, 64 // width):
                address = b.inttoptr(b.extract_element(places, i32(lane)), PTR)
                x.call("llvm.prefetch.p0", VOID, address, i32(0), i32(2), i32(1))
            b.ret_void()
        x.store(places, slot, SLOT_SOURCES, 64)
        with x.each_lane(valid) as lane:
            piece = ir.VectorType(I32, width // 4)
            value = x.load(x.load(slot, b.add(b.mul(lane, i64(8)), i64(SLOT_SOURCES)), I64, 8), 0, piece)
            x.store(value, slot, b.add(b.mul(lane, i64(16)), i64(SLOT_DATA)), 4)
        x.store(inside, slot, SLOT_SOURCES, 64)
        b.ret_void()

    def _land(self, x: Build, keep: int | None) -> None:
        """Land the copies of the warp that runs, oldest first, but for its latest ``keep`` groups."""
        b = x.b
        queue = self._queue(x)
        head = x.alloca(I64, 8)
        b.store(x.load(queue, QUEUE_HEAD, I64, 8), head)
        tail = x.load(queue, QUEUE_TAIL, I64, 8)
        limit = x.load(queue, QUEUE_COMMITTED, I64, 8)
        loop, body, done = (x.function.append_basic_block(n) for n in ("next", "land", "done"))
        b.branch(loop)
        b.position_at_end(loop)
        at = b.load(head, typ=I64)
        slot = self._slot(x, queue, at)
        more = b.icmp_unsigned("<", at, tail)
        if keep is not None:
            old = b.icmp_signed("<", x.load(slot, 0, I64, 8), b.sub(limit, i64(keep)))
            more = b.and_(more, old)
        b.cbranch(more, body, done)
        b.position_at_end(body)
        bits, width = x.load(slot, SLOT_MASK, I32, 4), x.load(slot, SLOT_MASK + 4, I32, 4)
        for size in (4, 8, 16):
            with b.if_then(b.icmp_unsigned("==", width, i32(size))):
                self._land_one(x, slot, bits, size)
        b.store(b.add(at, i64(1)), head)
        b.branch(loop)
        b.position_at_end(done)
        x.store(b.load(head, typ=I64), queue, QUEUE_HEAD, 8)
        b.ret_void()

    def _land_one(self, x: Build, slot: ir.Value, bits: ir.Value, width: int) -> None:
        b = x.b
        host = x.field(Field.SHARED)
        if self.options.race:
            offset = b.zext(x.load(slot, SLOT_OFFSETS, WORDS, 64), ADDRESSES)
            shadow.shared_land(x, offset, bits, width, self.options.cell)
        piece = ir.VectorType(I32, width // 4)

        def move(lane: ir.Value) -> None:
            source = x.load(slot, b.add(b.mul(lane, i64(8)), i64(SLOT_SOURCES)), I64, 8)
            to = x.load(slot, b.add(b.mul(lane, i64(4)), i64(SLOT_OFFSETS)), I32, 4)
            x.store(x.load(source, 0, piece), host, b.zext(to, I64))

        with b.if_else(b.icmp_unsigned("==", bits, i32(-1))) as (every, some):
            with every:
                for lane in range(32):
                    move(i64(lane))
            with some, x.each_lane(bits) as lane:
                move(lane)
