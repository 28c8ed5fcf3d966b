"""What the instruction table's closures cannot say in LLVM: memory, warp communication, tensor cores.

A family is a function of the kernel and the step; it returns whether the instruction may have set the status. It takes the
operands apart with the same helpers as the instruction table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit.build import I32, I64, i32, i64
from prism_mlir.runtime.ptx.jit.layout import QUEUE_COMMITTED, Field, Status
from prism_mlir.runtime.ptx.jit.matrix import ldmatrix, mma
from prism_mlir.runtime.ptx.jit.values import CannotCompile, Value, is_vector, level
from prism_mlir.runtime.ptx.jit.warp import activemask, redux, shfl, vote
from prism_mlir.runtime.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW
from prism_mlir.runtime.ptx.ops.loads import Form, address, form
from prism_mlir.runtime.ptx.program import IntImm, Not, Reg, Vec
from prism_mlir.runtime.ptx.types import SCALARS

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel

Family = Callable[["WarpKernel", Step], bool]


def addresses(k: WarpKernel, slot: int, offset: int) -> ir.Value:
    """Addresses of an access, one a lane."""
    (part,) = k.read(slot).astype(np.uint64).parts
    if offset:
        part = k.b.add(*level(k.b, [part, i64(offset & (2**64 - 1))]))
    return k.x.splat(part)


def count_active(k: WarpKernel, step: Step, bits: ir.Value) -> None:
    """Count the threads of a guarded access; those of others follow from how often the block ran."""
    if step.guard is not None:
        _count(k, (step.site.pc, ""), bits)


def count_windows(k: WarpKernel, step: Step, at: ir.Value, bits: ir.Value) -> None:
    """Count the threads of a generic access whose address lies in shared, and in local memory."""
    window = k.b.lshr(at, k.x.splat(i64(WINDOW.bit_length() - 1)))
    for space, start in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW)):
        inside = k.b.icmp_unsigned("==", window, k.x.splat(i64(start // WINDOW)))
        _count(k, (step.site.pc, space), k.b.and_(bits, k.x.bits(inside)))


def _count(k: WarpKernel, key: tuple[int, str], bits: ir.Value) -> None:
    index = k.counted.setdefault(key, len(k.counted))
    counts = k.x.pointer(Field.ACTIVE)
    number = k.b.zext(k.x.call("llvm.ctpop.i32", I32, bits), I64)
    k.x.store(k.b.add(k.x.load(counts, 8 * index, I64, 8), number), counts, 8 * index, 8)


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
    at, bits = addresses(k, slot, offset), k.active(step)
    k.b.call(k.access.load(f.space, f.width), [k.x.ctx, at, bits, i32(step.site.pc), k.data])
    count_active(k, step, bits)
    if not f.space:
        count_windows(k, step, at, bits)
    guard = k.guard(step)
    alike = all(s in k.uniform or s not in k.slots for s in slots)
    for column, d in enumerate(slots):
        _bind(k, f, d, _column(k, f, column, alike), guard)
    return True


def _column(k: WarpKernel, f: Form, column: int, alike: bool) -> Value:
    """Element ``column`` of each lane's vector, as it lies in the buffer of the memory functions."""
    element = ir.IntType(f.scalar.bits)
    storage = np.dtype(f"u{f.scalar.bytes}")
    if alike:  # idle lanes get what an active one reads
        return Value(k.b, storage, [k.x.load(k.data, column * f.scalar.bytes, element)])
    whole = k.x.load(k.data, 0, ir.VectorType(element, 32 * f.lanes), 64)
    if f.lanes > 1:
        picks = ir.Constant(ir.VectorType(I32, 32), [i32(f.lanes * i + column) for i in range(32)])
        whole = k.b.shuffle_vector(whole, ir.Constant(whole.type, ir.Undefined), picks)
    return Value(k.b, storage, [whole])


def _bind(k: WarpKernel, f: Form, slot: int, value: Value, guard: ir.Value | None) -> None:
    """Bind a loaded value, extended to the width of its register."""
    if slot not in k.slots:
        return
    target = k.decoded.layout.scalars[slot].storage
    if target.itemsize > f.scalar.bytes:
        value = value.view(f.scalar.value).astype(f"i{target.itemsize}") if f.scalar.is_signed else value.astype(target)
    k.write(slot, value, guard)


def _ld_param(k: WarpKernel, step: Step, f: Form, slot: int, offset: int, slots: list[int]) -> bool:
    (base,) = k.read(slot).astype(np.uint64).parts
    if is_vector(base):
        raise CannotCompile("reads parameters at addresses that differ from thread to thread")
    place = k.b.add(base, i64(offset & (2**64 - 1)))
    last = k.b.sub(k.x.field(Field.PARAM_BYTES), i64(f.width))
    k.x.fail_if(k.b.icmp_signed(">", place, last), Status.BOUNDS, i32(step.site.pc), lambda: k.b.branch(k.failed))
    k.x.fail_if(k.b.icmp_signed("<", place, i64(0)), Status.BOUNDS, i32(step.site.pc), lambda: k.b.branch(k.failed))
    memory, guard = k.x.pointer(Field.PARAM), k.guard(step)
    for column, d in enumerate(slots):
        at = k.b.add(place, i64(column * f.scalar.bytes))
        part = k.x.load(memory, at, ir.IntType(f.scalar.bits))
        _bind(k, f, d, Value(k.b, np.dtype(f"u{f.scalar.bytes}"), [part]), guard)
    return False


def st(k: WarpKernel, step: Step) -> bool:
    ctx = k.context
    f = form(ctx)
    source = ctx.operands[1]
    items = source.items if isinstance(source, Vec) else (source,)
    slot, offset = address(ctx, ctx.operands[0])
    slots = [ctx.src(item, f.scalar, wider=True) for item in items]
    columns = [k.x.splat(k.read(s).astype(f"u{f.scalar.bytes}").parts[0]) for s in slots]
    k.x.store(interleave(k.b, columns), k.data, 0, 64)
    bits = k.active(step)
    at = addresses(k, slot, offset)
    k.b.call(k.access.store(f.space, f.width), [k.x.ctx, at, bits, i32(step.site.pc), k.data])
    count_active(k, step, bits)
    if not f.space:
        count_windows(k, step, at, bits)
    return True


def interleave(b: ir.IRBuilder, columns: list[ir.Value]) -> ir.Value:
    """Columns of a row-major matrix with a row a lane."""
    if len(columns) == 1:
        return columns[0]
    half = len(columns) // 2
    even, odd = interleave(b, columns[0::2]), interleave(b, columns[1::2])
    n = even.type.count
    picks = [i32(i // 2 + (i % 2) * n) for i in range(2 * n)]
    assert half * 32 == n
    return b.shuffle_vector(even, odd, ir.Constant(ir.VectorType(I32, 2 * n), picks))


def cp(k: WarpKernel, step: Step) -> bool:
    mods = k.context.mods
    if mods == ("async", "commit_group"):
        return _when_together(k, step, lambda: _commit(k))
    if mods[1] == "wait_all":
        return _when_together(k, step, lambda: k.b.call(k.access.land(None), [k.x.ctx]))
    if mods[1] == "wait_group":
        keep = k.context.operands[0]
        assert isinstance(keep, IntImm)
        return _when_together(k, step, lambda: k.b.call(k.access.land(keep.value), [k.x.ctx]))
    return _copy(k, step)


def _when_together(k: WarpKernel, step: Step, emit: Callable[[], Any]) -> bool:
    """Emit code for the warp as a whole, under the guard if there is one."""
    taken = k.together(step)
    if taken is None:
        emit()
    else:
        with k.b.if_then(taken):
            emit()
    return True


def _commit(k: WarpKernel) -> None:
    size = i64(k.options.queue_bytes)
    queue = k.x.at(k.x.pointer(Field.QUEUES), k.b.mul(k.x.field(Field.WARP), size))
    k.x.store(k.b.add(k.x.load(queue, QUEUE_COMMITTED, I64, 8), i64(1)), queue, QUEUE_COMMITTED, 8)


def _copy(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    operands = list(ctx.operands)
    if "L2::cache_hint" in ctx.mods:
        operands.pop()
    assert isinstance(operands[2], IntImm)
    width = operands[2].value
    to, to_offset = address(ctx, operands[0])
    source, source_offset = address(ctx, operands[1])
    bits = k.active(step)
    valid = bits
    if len(operands) == 4:
        last = operands[3]
        if isinstance(last, Not) or (isinstance(last, Reg) and ctx.layout.scalars[ctx.register(last.name)].kind == "p"):
            slot, negated = ctx.predicate(last)
            skip = x.bits(k.vector(slot))
            valid = b.and_(bits, skip if negated else b.not_(skip))
        else:
            size = k.vector(ctx.src(last, SCALARS["u32"]))
            whole = x.bits(b.icmp_unsigned(">=", size, x.splat(i32(width))))
            none = x.bits(b.icmp_unsigned("==", size, x.splat(i32(0))))
            some = b.and_(bits, b.not_(b.or_(whole, none)))
            stop = b.icmp_unsigned("!=", some, i32(0))
            x.fail_if(stop, Status.PARTIAL_COPY, i32(step.site.pc), lambda: b.branch(k.failed))
            valid = b.and_(bits, whole)
    target = addresses(k, to, to_offset)
    from_ = addresses(k, source, source_offset)
    b.call(k.access.copy(width), [x.ctx, target, from_, bits, valid, i32(step.site.pc)])
    count_active(k, step, bits)
    return True


def bar(k: WarpKernel, step: Step) -> bool:
    """bar.warp.sync: the warp is together, and nothing is in flight between its lanes."""
    k.together(step)
    return False


def fence(k: WarpKernel, step: Step) -> bool:
    """Every access is performed where it stands."""
    return False


def trap(k: WarpKernel, step: Step) -> bool:
    bits = k.active(step)
    some = k.b.icmp_unsigned("!=", bits, i32(0))
    k.x.fail_if(some, Status.TRAP, i32(step.site.pc), lambda: k.b.branch(k.failed))
    return False


def none(k: WarpKernel, step: Step) -> bool:
    raise CannotCompile("has no compiled form")


FAMILIES: dict[str, Family] = {
    "ld": ld,
    "ldu": ld,
    "st": st,
    "cp": cp,
    "bar": bar,
    "barrier": bar,
    "fence": fence,
    "membar": fence,
    "trap": trap,
    "shfl": shfl,
    "vote": vote,
    "activemask": activemask,
    "redux": redux,
    "ldmatrix": ldmatrix,
    "mma": mma,
    **dict.fromkeys(("atom", "red", "stmatrix", "movmatrix", "match", "elect"), none),
}
