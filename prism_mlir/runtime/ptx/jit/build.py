"""A thin layer over llvmlite's builder: opaque pointers, context words, loops, lane masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from prism_mlir.runtime.ptx.jit.layout import Field, Status
from prism_mlir.runtime.ptx.jit.values import LANES, splat

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
PTR = ir.PointerType()
VOID = ir.VoidType()
ADDRESSES = ir.VectorType(I64, LANES)
MASK = ir.VectorType(I1, LANES)
WORDS = ir.VectorType(I32, LANES)


def i32(value: int) -> ir.Constant:
    return ir.Constant(I32, value)


def i64(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def lanes_of(element: ir.Type, step: int = 1) -> ir.Constant:
    """0, step, 2 step, …"""
    return ir.Constant(ir.VectorType(element, LANES), [ir.Constant(element, i * step) for i in range(LANES)])


class Build:
    """A function being written, with ``ctx`` its first argument."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        self.ctx = function.args[0]

    # -- memory ---------------------------------------------------------------------------------------------------

    def at(self, base: ir.Value, offset: ir.Value | int) -> ir.Value:
        """``base + offset`` bytes; ``base`` is a pointer or a host address."""
        if isinstance(base.type, ir.IntType):
            base = self.b.inttoptr(base, PTR)
        if isinstance(offset, int):
            offset = i64(offset)
        return self.b.gep(base, [offset], source_etype=I8)

    def load(self, base: ir.Value, offset: ir.Value | int, kind: ir.Type, align: int = 1) -> ir.Value:
        return self.b.load(self.at(base, offset), typ=kind, align=align)

    def store(self, value: ir.Value, base: ir.Value, offset: ir.Value | int, align: int = 1) -> None:
        self.b.store(value, self.at(base, offset), align=align)

    def field(self, field: Field) -> ir.Value:
        return self.load(self.ctx, 8 * field, I64, 8)

    def set_field(self, field: Field, value: ir.Value) -> None:
        self.store(value, self.ctx, 8 * field, 8)

    def pointer(self, field: Field) -> ir.Value:
        return self.b.inttoptr(self.field(field), PTR)

    def alloca(self, kind: ir.Type, align: int = 64) -> ir.Value:
        """A variable in the entry block, so that it becomes a register or one stack slot."""
        with self.b.goto_entry_block():
            place = self.b.alloca(kind)
        place.align = align
        place.type = PTR  # llvmlite still gives variables typed pointers
        return place

    # -- lanes ----------------------------------------------------------------------------------------------------

    def splat(self, x: ir.Value) -> ir.Value:
        return splat(self.b, x)

    def bits(self, mask: ir.Value) -> ir.Value:
        """Lane predicates as one 32-bit word."""
        return self.b.bitcast(mask, I32)

    def mask(self, bits: ir.Value) -> ir.Value:
        return self.b.bitcast(bits, MASK)

    def call(self, name: str, result: ir.Type, *xs: ir.Value) -> ir.Value:
        have = self.b.module.globals.get(name)
        if have is None:
            have = ir.Function(self.b.module, ir.FunctionType(result, [x.type for x in xs]), name)
        return self.b.call(have, xs)

    def first_lane(self, bits: ir.Value) -> ir.Value:
        """Index of the lowest set bit; ``bits`` is not 0."""
        return self.call("llvm.cttz.i32", I32, bits, ir.Constant(I1, 1))

    def pointers(self, base: ir.Value, index: ir.Value, size: int) -> ir.Value:
        """The addresses ``base + size * index[lane]``."""
        base = self.b.ptrtoint(base, I64) if isinstance(base.type, ir.PointerType) else base
        wide = index if index.type == ADDRESSES else self.b.zext(index, ADDRESSES)
        scaled = wide if size == 1 else self.b.mul(wide, self.splat(i64(size)))
        return self.b.inttoptr(self.b.add(self.splat(base), scaled), ir.VectorType(PTR, LANES))

    def gather(self, base: ir.Value, index: ir.Value, element: ir.Type, scale: int = 0) -> ir.Value:
        """``base[index[lane]]`` for 32-bit or 64-bit elements; every index is valid. ``scale``: bytes a step."""
        places = self.pointers(base, index, scale or element.width // 8)
        vector = ir.VectorType(element, LANES)
        every = ir.Constant(MASK, [1] * LANES)
        name = f"llvm.masked.gather.v{LANES}i{element.width}.v{LANES}p0"
        return self.call(name, vector, places, i32(1), every, ir.Constant(vector, ir.Undefined))

    def scatter(self, value: ir.Value, base: ir.Value, index: ir.Value, mask: ir.Value, scale: int = 0) -> None:
        """Store lane by lane, the last lane wins."""
        element = value.type.element
        places = self.pointers(base, index, scale or element.width // 8)
        name = f"llvm.masked.scatter.v{LANES}i{element.width}.v{LANES}p0"
        self.call(name, VOID, value, places, i32(1), mask)

    # -- control --------------------------------------------------------------------------------------------------

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
    def loop(self, count: ir.Value, name: str = "loop") -> Iterator[ir.Value]:
        """``for i in range(count)`` with a 64-bit counter; the counter is what the block gets."""
        index = self.alloca(I64, 8)
        self.b.store(i64(0), index)
        head = self.function.append_basic_block(name)
        body = self.function.append_basic_block(f"{name}.body")
        done = self.function.append_basic_block(f"{name}.end")
        self.b.branch(head)
        self.b.position_at_end(head)
        i = self.b.load(index, typ=I64)
        self.b.cbranch(self.b.icmp_unsigned("<", i, count), body, done)
        self.b.position_at_end(body)
        yield i
        self.b.store(self.b.add(i, i64(1)), index)
        self.b.branch(head)
        self.b.position_at_end(done)

    @contextmanager
    def each_lane(self, bits: ir.Value) -> Iterator[ir.Value]:
        """The set lanes of a word, lowest first, as 64-bit indices."""
        left = self.alloca(I32, 4)
        self.b.store(bits, left)
        head = self.function.append_basic_block("lanes")
        body = self.function.append_basic_block("lanes.body")
        done = self.function.append_basic_block("lanes.end")
        self.b.branch(head)
        self.b.position_at_end(head)
        word = self.b.load(left, typ=I32)
        self.b.cbranch(self.b.icmp_unsigned("!=", word, i32(0)), body, done)
        self.b.position_at_end(body)
        yield self.b.zext(self.first_lane(word), I64)
        self.b.store(self.b.and_(word, self.b.sub(word, i32(1))), left)
        self.b.branch(head)
        self.b.position_at_end(done)
