"""What the instruction table's closures cannot say in LLVM: memory, warp communication, tensor cores.

A family is a function of the kernel and the step; it returns whether the instruction may have set the status. It takes the
operands apart with the same helpers as the instruction table, asks where registers lie, closes the loop over lanes that is
open, and calls shared functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit import access, atomic, barrier, copy, matrix, product
from prism_mlir.runtime.ptx.jit.analysis import one_way
from prism_mlir.runtime.ptx.jit.build import I32, I64, i32, i64
from prism_mlir.runtime.ptx.jit.layout import Field, Status
from prism_mlir.runtime.ptx.jit.tables import Fill
from prism_mlir.runtime.ptx.jit.values import CannotCompile, Value
from prism_mlir.runtime.ptx.jit.warp import activemask, elect, match, redux, shfl, vote
from prism_mlir.runtime.ptx.memory import SHARED_WINDOW
from prism_mlir.runtime.ptx.ops.loads import Form, address, form
from prism_mlir.runtime.ptx.ops.tensor import matrix_form, vector
from prism_mlir.runtime.ptx.program import Instruction, IntImm, Not, Operand, Reg, Vec
from prism_mlir.runtime.ptx.specials import CLOCKS
from prism_mlir.runtime.ptx.types import SCALARS

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel

Family = Callable[["WarpKernel", Step], bool]
B32 = SCALARS["b32"]
PARTIAL = "is not compiled for blocks whose last warp is not whole"


def find(instruction: Instruction) -> Family | None:
    """The family of an instruction, None for those whose closure is traced."""
    if instruction.opcode == "mov":
        return clock if any(isinstance(o, Reg) and o.name in CLOCKS for o in instruction.operands[1:]) else None
    return directed if _rounds_f64_in_a_direction(instruction) else FAMILIES.get(instruction.opcode)


def _rounds_f64_in_a_direction(instruction: Instruction) -> bool:
    *_, target, source = ("", "", *instruction.mods)
    inexact = source == "f64" if instruction.opcode != "cvt" else (target == "f64" and source in ("s64", "u64"))
    return inexact and any(m in ("rz", "rm", "rp") for m in instruction.mods) and instruction.opcode in _DIRECTED


_DIRECTED = ("add", "sub", "mul", "fma", "mad", "cvt")


def directed(k: WarpKernel, step: Step) -> bool:
    raise CannotCompile(
        "rounds f64 in one direction, which is not compiled"
    )  # the reference engine takes rational numbers


def count_active(k: WarpKernel, step: Step, bits: ir.Value) -> None:
    """Count the threads of a guarded access; those of others follow from how often the block ran."""
    if step.guard is not None:
        number = k.b.zext(k.x.call("llvm.ctpop.i32", I32, bits), I64)
        k.x.add_to(number, k.x.ctx, k.counter(step, ""))


def count_windows(k: WarpKernel, step: Step, at: ir.Value, narrow: bool, offset: int, bits: ir.Value) -> None:
    """Count the threads of a generic access whose address lies in shared, and in local memory."""
    for space in ("shared", "local"):
        place = k.x.at(k.x.ctx, k.counter(step, space))
        k.b.call(access.count_window(k.module, space, narrow), [k.x.ctx, at, signed(offset), bits, place])


def signed(offset: int) -> ir.Constant:
    return i64(offset & (2**64 - 1))


# -- ld and st ------------------------------------------------------------------------------------------------------------


def ld(k: WarpKernel, step: Step) -> bool:
    ctx = k.context
    f = form(ctx)
    if f.strong:  # in a loop it waits for a warp whose turn never comes
        raise CannotCompile("may wait for what another thread stores")
    target = ctx.operands[0]
    items = target.items if isinstance(target, Vec) else (target,)
    slot, offset = address(ctx, ctx.operands[1])
    slots = [ctx.dst(item, f.scalar, wider=True) for item in items]
    if f.space == "param":
        return _ld_param(k, step, f, slot, offset, slots)
    if k.agrees(slot) and f.space not in ("local", ""):
        return _ld_one(k, step, f, slot, offset, slots)
    direct = [not k.wanted(s) or k.storage(s).itemsize == f.scalar.bytes for s in slots]
    at, narrow = k.addresses(slot)
    k.close()
    bits, known = k.active(step), k.ranges.known(step, f.space, at, narrow)
    places = [k.target(s) if whole else k.temporary() for s, whole in zip(slots, direct, strict=True)]
    function = access.load(k.module, f.space, f.scalar.bytes, f.lanes, narrow)
    k.b.call(function, [k.x.ctx, at, signed(offset), bits, i32(step.site.pc), known, *places])
    count_active(k, step, bits)
    if not f.space:
        count_windows(k, step, at, narrow, offset, bits)
    for s, place, whole in zip(slots, places, direct, strict=True):
        if not whole:
            loaded = k.lanes_loop().load(place, np.dtype(f"u{f.scalar.bytes}"))
            k.write(s, _extend(k, f, s, loaded), k.guard(step))
    return True


def _ld_one(k: WarpKernel, step: Step, f: Form, slot: int, offset: int, slots: list[int]) -> bool:
    """All lanes have one address."""
    k.close()
    bits = k.active(step)
    (base,) = k.read(slot).astype(np.uint64).parts
    function = access.load_one(k.module, f.space, f.width)
    place = k.b.call(function, [k.x.ctx, k.b.add(base, signed(offset)), bits, i32(step.site.pc)])
    count_active(k, step, bits)
    _bind_scalars(k, step, f, slots, place)
    return True


def _bind_scalars(k: WarpKernel, step: Step, f: Form, slots: list[int], place: ir.Value) -> None:
    element = ir.IntType(f.scalar.bits)
    parts = [k.x.load(place, f.scalar.bytes * i, element) for i in range(len(slots))]
    for s, part in zip(slots, parts, strict=True):
        if k.wanted(s):
            value = Value(k.b, np.dtype(f"u{f.scalar.bytes}"), [part])
            k.write(s, _extend(k, f, s, value), k.guard(step))


def _extend(k: WarpKernel, f: Form, slot: int, value: Value) -> Value:
    """A loaded value with the width of its register."""
    target = k.storage(slot)
    if target.itemsize == f.scalar.bytes:
        return value
    return value.view(f.scalar.value).astype(f"i{target.itemsize}") if f.scalar.is_signed else value.astype(target)


def _ld_param(k: WarpKernel, step: Step, f: Form, slot: int, offset: int, slots: list[int]) -> bool:
    if not k.agrees(slot):
        raise CannotCompile("reads parameters at addresses that differ from thread to thread")
    (base,) = k.read(slot).astype(np.uint64).parts
    place = k.b.add(base, signed(offset))
    k.close()  # what follows may leave this basic block
    last = k.b.sub(k.x.field(Field.PARAM_BYTES), i64(f.width))
    outside = k.b.or_(k.b.icmp_signed("<", place, i64(0)), k.b.icmp_signed(">", place, last))
    k.x.fail_if(outside, Status.BOUNDS, i32(step.site.pc), lambda: k.b.branch(k.failed))
    _bind_scalars(k, step, f, slots, k.x.at(k.x.pointer(Field.PARAM), place))
    return False


def st(k: WarpKernel, step: Step) -> bool:
    ctx = k.context
    f = form(ctx)
    source = ctx.operands[1]
    items = source.items if isinstance(source, Vec) else (source,)
    slot, offset = address(ctx, ctx.operands[0])
    places = [k.column(ctx.src(item, f.scalar, wider=True), f"u{f.scalar.bytes}") for item in items]
    at, narrow = k.addresses(slot)
    k.close()
    bits, known = k.active(step), k.ranges.known(step, f.space, at, narrow)
    function = access.store(k.module, f.space, f.scalar.bytes, f.lanes, narrow)
    k.b.call(function, [k.x.ctx, at, signed(offset), bits, i32(step.site.pc), known, *places])
    count_active(k, step, bits)
    if not f.space:
        count_windows(k, step, at, narrow, offset, bits)
    return True


def atom(k: WarpKernel, step: Step) -> bool:
    ctx = k.context
    f = atomic.form(ctx)
    slot, offset = address(ctx, f.place)
    sources = [k.column(ctx.src(o, f.scalar), f.scalar.storage) for o in f.sources]
    d = ctx.dst(f.target, f.scalar) if f.target is not None else -1
    if atomic.order_shows(k.decoded, step, f, d >= 0 and k.wanted(d)):
        raise CannotCompile("takes turns in an order that its results may show, and the engines' orders differ")
    at, narrow = k.addresses(slot)
    k.close()
    bits = k.active(step)
    old = k.target(d) if d >= 0 else k.temporary()
    function = atomic.atomic(k.module, f, narrow)
    k.b.call(function, [k.x.ctx, at, signed(offset), bits, i32(step.site.pc), i64(0), old, *sources])
    count_active(k, step, bits)
    if not f.space:
        count_windows(k, step, at, narrow, offset, bits)
    return True


# -- cp.async -------------------------------------------------------------------------------------------------------------


def cp(k: WarpKernel, step: Step) -> bool:
    mods = k.context.mods
    if mods[1] == "mbarrier":
        return none(k, step)
    if mods == ("async", "commit_group"):
        return _when_together(k, step, lambda: copy.commit(k.x))
    if mods[1] == "wait_all":
        return _when_together(k, step, lambda: k.b.call(copy.land(k.module), [k.x.ctx, i64(0), i32(1)]))
    if mods[1] == "wait_group":
        keep = k.context.operands[0]
        assert isinstance(keep, IntImm)
        return _when_together(k, step, lambda: k.b.call(copy.land(k.module), [k.x.ctx, i64(keep.value), i32(0)]))
    return _copy(k, step)


def _when_together(k: WarpKernel, step: Step, emit: Callable[[], Any]) -> bool:
    """Emit code for the warp as a whole, under the guard if there is one."""
    k.close()
    taken = k.together(step)
    if taken is None:
        emit()
    else:
        with k.b.if_then(taken):
            emit()
    return True


def _copy(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    operands = list(ctx.operands)
    if "L2::cache_hint" in ctx.mods:
        operands.pop()
    assert isinstance(operands[2], IntImm)
    width = operands[2].value
    to, to_offset = address(ctx, operands[0])
    source, source_offset = address(ctx, operands[1])
    (target, narrow), taken = k.addresses(to), k.column(source, np.uint64)
    copies = _copying_lanes(k, step, operands[3], width) if len(operands) == 4 else None
    k.close()
    bits = k.active(step)
    valid = bits if copies is None else b.and_(bits, copies(bits))
    known = [k.ranges.known(step, "shared", target, narrow), k.ranges.known(step, "stable", taken, False)]
    places = [target, signed(to_offset), taken, signed(source_offset)]
    b.call(copy.copy(k.module, width, narrow), [x.ctx, *places, bits, valid, i32(step.site.pc), *known])
    count_active(k, step, bits)
    return True


def _copying_lanes(k: WarpKernel, step: Step, last: Operand, width: int) -> Callable[[ir.Value], ir.Value]:
    """The lanes that copy instead of filling with zeros, given those that take part; behind all loops."""
    ctx, b, x = k.context, k.b, k.x
    if isinstance(last, Not) or (isinstance(last, Reg) and ctx.layout.scalars[ctx.register(last.name)].kind == "p"):
        slot, negated = ctx.predicate(last)
        return lambda bits: k.word(slot) if negated else b.not_(k.word(slot))
    value = k.read(ctx.src(last, SCALARS["u32"]))
    whole, none = value >= np.uint32(width), value == np.uint32(0)
    words = []
    for answer in (whole, none):
        words.append(k.temporary())
        k.lanes_loop().store(answer.parts[0], words[-1], np.dtype(np.bool_))

    def lanes(bits: ir.Value) -> ir.Value:
        some, all_ = x.load(words[1], 0, I32, 4), x.load(words[0], 0, I32, 4)
        partly = b.icmp_unsigned("!=", b.and_(bits, b.not_(b.or_(some, all_))), i32(0))
        x.fail_if(partly, Status.PARTIAL_COPY, i32(step.site.pc), lambda: b.branch(k.failed))
        return all_

    return lanes


# -- matrices -------------------------------------------------------------------------------------------------------------


def ldmatrix(k: WarpKernel, step: Step) -> bool:
    ctx = k.context
    slot, offset = address(ctx, ctx.operands[1])
    count, _ = matrix_form(ctx)
    slots = [ctx.dst(o, B32) for o in vector(ctx, ctx.operands[0], count, "the destination")]
    fills = k.operands.fills(step, slots, matrix_form(ctx)[1])
    if fills is not None and not k.options.partial:
        return _matrix_tables(k, step, slot, offset, slots, fills)
    return _matrix_rows(k, step, slot, offset, matrix.ldmatrix, lambda: [k.target(s) for s in slots])


def _matrix_tables(k: WarpKernel, step: Step, slot: int, offset: int, slots: list[int], fills: list[Fill]) -> bool:
    """An ldmatrix whose results only products use: from shared memory into their tables."""
    count, trans = matrix_form(k.context)
    if not any(m.startswith("shared") for m in k.context.mods):
        offset -= SHARED_WINDOW
    at, narrow = k.addresses(slot)
    k.close()
    known = k.ranges.known(step, "shared", at, narrow)
    function = matrix.check(k.module, count, narrow, False)
    host = k.b.call(function, [k.x.ctx, at, signed(offset), i32(step.site.pc), known])
    for s in slots:
        k.operands.forget(s)
    bad = k.b.icmp_unsigned("!=", k.x.field(Field.STATUS), i64(0))
    with k.b.if_then(bad, likely=False):
        k.b.branch(k.failed)
    for fill in fills:
        place = k.operands.room(fill.table, trans and fill.operand == "A")
        matrices = [k.x.at(at, (32 if narrow else 64) * i) for i in fill.matrices]
        function = product.fill(k.module, fill.operand, fill.form, trans, narrow)
        k.b.call(function, [k.x.ctx, place, host, *matrices])
    return True


def stmatrix(k: WarpKernel, step: Step) -> bool:
    ctx = k.context
    slot, offset = address(ctx, ctx.operands[0])
    count, _ = matrix_form(ctx)
    places = [k.column(ctx.src(o, B32), np.uint32) for o in vector(ctx, ctx.operands[1], count, "the source")]
    return _matrix_rows(k, step, slot, offset, matrix.stmatrix, lambda: places)


def _matrix_rows(
    k: WarpKernel,
    step: Step,
    slot: int,
    offset: int,
    which: Callable[..., ir.Function],
    registers: Callable[[], list[ir.Value]],
) -> bool:
    count, trans = matrix_form(k.context)
    if not any(m.startswith("shared") for m in k.context.mods):
        offset -= SHARED_WINDOW
    if k.options.partial:
        raise CannotCompile(PARTIAL)
    at, narrow = k.addresses(slot)
    k.close()
    taken = k.together(step)
    known = k.ranges.known(step, "shared", at, narrow)
    lanes: ir.Value = i32((1 << (8 * count)) - 1 if count < 4 else -1)
    if taken is not None:
        lanes = k.b.select(taken, lanes, i32(0))
    count_active(k, step, lanes)
    function = which(k.module, count, trans, narrow)
    k.b.call(function, [k.x.ctx, at, signed(offset), lanes, i32(step.site.pc), known, *registers()])
    return True


def movmatrix(k: WarpKernel, step: Step) -> bool:
    ctx = k.context
    d, s = ctx.dst(ctx.operands[0], B32), k.column(ctx.src(ctx.operands[1], B32), np.uint32)
    if k.options.partial:
        raise CannotCompile(PARTIAL)

    def emit() -> None:
        k.b.call(matrix.movmatrix(k.module), [k.x.ctx, k.target(d), s])

    return _when_together(k, step, emit)


def mma(k: WarpKernel, step: Step) -> bool:
    b = k.b
    if k.options.partial:
        raise CannotCompile(PARTIAL)
    p = k.operands.products[step.site.pc]
    kind = np.dtype(np.uint64 if p.form.a == "f64" else np.uint32)
    addend = [k.column(s, kind) for s in p.c]
    places = [[k.column(s, kind) for s in slots] for slots in (p.a, p.b)]
    k.close()
    taken = k.together(step)
    if taken is not None:
        count_active(k, step, b.select(taken, i32(-1), i32(0)))

    def emit() -> None:
        fills = (product.spread_a(k.module, p.form), product.spread_b(k.module, p.form))
        (left, columns), (right, _) = (k.operands.get(*x) for x in zip(p.tables, fills, places, strict=True))
        function = product.multiply(k.module, p.form, columns)
        b.call(function, [k.x.ctx, left, right, *addend, *[k.target(s) for s in p.d]])
        k.operands.used(p.tables)

    if taken is None:
        emit()
        return False
    with b.if_then(taken), k.operands.alone():
        emit()
    return True


# -- barriers and the rest ------------------------------------------------------------------------------------------------


def bar(k: WarpKernel, step: Step) -> bool:
    """bar.warp.sync: the warp is together. When all lanes are named, each knows what the others did."""
    members = k.context.src(k.context.operands[0], B32)
    k.close()
    k.together(step)
    if k.options.race and k.agrees(members):
        with k.b.if_then(k.b.icmp_unsigned("==", k.scalar(members), i32(-1))):
            k.b.call(barrier.warp_barrier(k.module), [k.x.ctx])
    return False


def arrive(k: WarpKernel, number: ir.Value, count: ir.Value, step: Step) -> None:
    """bar.arrive: the warp goes on."""
    k.b.call(barrier.arrive(k.module), [k.x.ctx, number, count, i32(step.site.pc)])
    bad = k.b.icmp_unsigned("!=", k.x.field(Field.STATUS), i64(0))
    with k.b.if_then(bad, likely=False):
        k.b.branch(k.failed)


def fence(k: WarpKernel, step: Step) -> bool:
    """Every access is performed where it stands."""
    return False


def trap(k: WarpKernel, step: Step) -> bool:
    k.close()
    some = k.b.icmp_unsigned("!=", k.active(step), i32(0))
    k.x.fail_if(some, Status.TRAP, i32(step.site.pc), lambda: k.b.branch(k.failed))
    return False


def clock(k: WarpKernel, step: Step) -> bool:
    """Instructions executed so far: of the warp here, of all threads together in the reference engine."""
    if not one_way(k.decoded):
        raise CannotCompile("reads a clock, which differs between the engines where threads go different ways")
    source = step.site.instruction.operands[1]
    assert isinstance(source, Reg)
    scalar = SCALARS[f"u{CLOCKS[source.name]}"]
    d = k.context.dst(k.context.operands[0], scalar)
    count = Value(k.b, np.dtype(np.uint64), [k.x.load(k.state, 0, I64, 8)])
    k.write(d, count.astype(scalar.storage), k.guard(step))
    return False


def none(k: WarpKernel, step: Step) -> bool:
    raise CannotCompile("has no compiled form")


FAMILIES: dict[str, Family] = {
    "ld": ld,
    "ldu": ld,
    "st": st,
    "atom": atom,
    "red": atom,
    "cp": cp,
    "bar": bar,
    "barrier": bar,
    "trap": trap,
    "fence": fence,
    "membar": fence,
    "shfl": shfl,
    "vote": vote,
    "activemask": activemask,
    "redux": redux,
    "match": match,
    "elect": elect,
    "ldmatrix": ldmatrix,
    "stmatrix": stmatrix,
    "movmatrix": movmatrix,
    "mma": mma,
    **dict.fromkeys(("wmma", "mbarrier"), none),
}
