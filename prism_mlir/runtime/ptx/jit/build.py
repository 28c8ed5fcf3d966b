"""A thin layer over llvmlite's builder: opaque pointers, context words, loops, lane masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from prism_mlir.runtime.ptx.jit.arith import Builder, constant_vector
from prism_mlir.runtime.ptx.jit.layout import Field, Status
from prism_mlir.runtime.ptx.jit.values import LANES, splat

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
PTR = ir.PointerType()
VOID = ir.VoidType()
MASK = ir.VectorType(I1, LANES)
WORDS = ir.VectorType(I32, LANES)
EVERY_LANE = 0xFFFFFFFF
# A kernel: context, the warp's memory, where to go on; returns the number of the place where it waits, or one of the others.
WARP_FUNCTION = ir.FunctionType(I32, [PTR, PTR, I32])
EXITED, FAILED = -1, -2


def i32(value: int) -> ir.Constant:
    return ir.Constant(I32, value)


def i64(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def same(element: ir.Type, value: float, lanes: int) -> ir.Constant:
    """A constant in every lane."""
    return constant_vector(ir.Constant(element, value), lanes)


def picks(lanes: list[int]) -> ir.Constant:
    """The mask of a shuffle."""
    return ir.Constant(ir.VectorType(I32, len(lanes)), [i32(n) for n in lanes])


class Build:
    """A function being written, with ``ctx`` its first argument."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.b = Builder(function.append_basic_block("entry"))
        self.ctx = function.args[0]

    # -- memory ---------------------------------------------------------------------------------------------------

    def at(self, base: ir.Value, offset: ir.Value | int) -> ir.Value:
        """``base + offset`` bytes; ``base`` is a pointer or a host address."""
        if isinstance(base.type, ir.IntType):
            base = self.b.inttoptr(base, PTR)
        if isinstance(offset, int):
            if offset == 0:
                return base
            offset = i64(offset)
        return self.b.gep(base, [offset], source_etype=I8)

    def load(self, base: ir.Value, offset: ir.Value | int, kind: ir.Type, align: int = 1) -> ir.Value:
        return self.b.load(self.at(base, offset), typ=kind, align=align)

    def store(self, value: ir.Value, base: ir.Value, offset: ir.Value | int, align: int = 1) -> None:
        self.b.store(value, self.at(base, offset), align=align)

    def add_to(self, value: ir.Value, base: ir.Value, offset: int) -> None:
        """Add to a 64-bit count in memory."""
        self.store(self.b.add(self.load(base, offset, I64, 8), value), base, offset, 8)

    def field(self, field: Field) -> ir.Value:
        return self.load(self.ctx, 8 * field, I64, 8)

    def set_field(self, field: Field, value: ir.Value) -> None:
        self.store(value, self.ctx, 8 * field, 8)

    def pointer(self, field: Field) -> ir.Value:
        return self.load(self.ctx, 8 * field, PTR, 8)

    def alloca(self, size: int) -> ir.Value:
        """Memory in the function's frame, at a multiple of 64 bytes."""
        with self.b.goto_entry_block():
            place = self.b.alloca(ir.ArrayType(I8, size))
        place.align = 64
        place.type = PTR  # llvmlite still gives variables typed pointers
        return place

    # -- vectors --------------------------------------------------------------------------------------------------

    def splat(self, x: ir.Value, lanes: int = LANES) -> ir.Value:
        return splat(self.b, x, lanes)

    def shuffle(self, first: ir.Value, second: ir.Value | None, lanes: list[int]) -> ir.Value:
        """Elements of two vectors of one type, numbered through."""
        other = ir.Constant(first.type, ir.Undefined) if second is None else second
        return self.b.shuffle_vector(first, other, picks(lanes))

    def transpose(self, rows: list[ir.Value]) -> list[ir.Value]:
        """Columns of a square matrix whose rows are vectors, by interleaving the halves of rows again and again."""
        n = len(rows)
        low = [x for i in range(n // 2) for x in (i, n + i)]
        for _ in range(n.bit_length() - 1):
            pairs = [(rows[i], rows[i + n // 2]) for i in range(n // 2)]
            rows = [self.shuffle(*pair, [x + half for x in low]) for pair in pairs for half in (0, n // 2)]
        return rows

    def some_bit(self, vector: ir.Value) -> ir.Value:
        """Whether any bit of a vector of integers is set."""
        count, element = vector.type.count, vector.type.element
        if element.width == 1:
            word = self.b.bitcast(vector, ir.IntType(count))
        else:
            word = self.call(f"llvm.vector.reduce.or.v{count}i{element.width}", element, vector)
        return self.b.icmp_unsigned("!=", word, ir.Constant(word.type, 0))

    def mix(self, yes: ir.Value, no: ir.Value, choice: list[bool]) -> ir.Value:
        """Integers of two vectors. (LLVM makes a masked store of a selection that goes back to where one side came from, and some
        CPUs take long for those.)"""
        masks = [ir.Constant(yes.type, [-1 if c == which else 0 for c in choice]) for which in (True, False)]
        return self.b.or_(self.b.and_(yes, masks[0]), self.b.and_(no, masks[1]))

    def all_bits(self, vectors: list[ir.Value]) -> ir.Value:
        """The bits that are set in any of some vectors."""
        total = vectors[0]
        for v in vectors[1:]:
            total = self.b.or_(total, v)
        return total

    def merge(self, ways: list[tuple[ir.Value, ir.Block]]) -> ir.Value:
        """The value that comes with the block that control came from."""
        result = self.b.phi(ways[0][0].type)
        for value, block in ways:
            result.add_incoming(value, block)
        return result

    def call(self, name: str, result: ir.Type, *xs: ir.Value) -> ir.Value:
        have = self.b.module.globals.get(name)
        if have is None:
            have = ir.Function(self.b.module, ir.FunctionType(result, [x.type for x in xs]), name)
        return self.b.call(have, xs)

    def first_lane(self, bits: ir.Value) -> ir.Value:
        """Index of the lowest set bit; ``bits`` is not 0."""
        return self.call("llvm.cttz.i32", I32, bits, ir.Constant(I1, 1))

    def fill(self, place: ir.Value, byte: int, size: ir.Value) -> None:
        self.call("llvm.memset.p0.i64", VOID, place, ir.Constant(I8, byte), size, ir.Constant(I1, 0))

    # -- control --------------------------------------------------------------------------------------------------

    def block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    def fail(self, status: Status, pc: ir.Value) -> None:
        """Remember why and where, unless something is remembered already."""
        fresh = self.b.icmp_unsigned("==", self.field(Field.STATUS), i64(0))
        with self.b.if_then(fresh):
            self.set_field(Field.STATUS, i64(status))
            self.set_field(Field.WHERE, self.b.zext(pc, I64) if pc.type != I64 else pc)

    def fail_if(self, bad: ir.Value, status: Status, pc: ir.Value, leave: Callable[[], None]) -> None:
        """Stop the function when the condition holds; ``leave`` writes the return."""
        with self.b.if_then(bad, likely=False):
            self.fail(status, pc)
            leave()

    @contextmanager
    def loop(self, count: ir.Value, step: int = 1) -> Iterator[ir.Value]:
        """``for i in range(0, count, step)`` with a 64-bit counter, which is what the block gets."""
        head, body, done = self.block("loop"), self.block("body"), self.block("end")
        before = self.b.block
        self.b.branch(head)
        self.b.position_at_end(head)
        i = self.b.phi(I64)
        i.add_incoming(i64(0), before)
        self.b.cbranch(self.b.icmp_unsigned("<", i, count), body, done)
        self.b.position_at_end(body)
        yield i
        i.add_incoming(self.b.add(i, i64(step)), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(done)

    @contextmanager
    def unrolled(self, count: int, step: int) -> Iterator[ir.Value]:
        """As :meth:`loop`, for at least one turn."""
        body, done = self.block("turn"), self.block("end")
        before = self.b.block
        self.b.branch(body)
        self.b.position_at_end(body)
        i = self.b.phi(I64)
        i.add_incoming(i64(0), before)
        yield i
        following = self.b.add(i, i64(step))
        i.add_incoming(following, self.b.block)
        self.b.cbranch(self.b.icmp_unsigned("<", following, i64(count)), body, done)
        self.b.position_at_end(done)

    @contextmanager
    def each_lane(self, bits: ir.Value) -> Iterator[ir.Value]:
        """The set lanes of a word, lowest first, as 64-bit indices."""
        head, body, done = self.block("lanes"), self.block("lane"), self.block("end")
        before = self.b.block
        self.b.branch(head)
        self.b.position_at_end(head)
        word = self.b.phi(I32)
        word.add_incoming(bits, before)
        self.b.cbranch(self.b.icmp_unsigned("!=", word, i32(0)), body, done)
        self.b.position_at_end(body)
        yield self.b.zext(self.first_lane(word), I64)
        word.add_incoming(self.b.and_(word, self.b.sub(word, i32(1))), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(done)
