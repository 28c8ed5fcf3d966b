"""Warp communication in compiled code: shfl, vote, activemask, redux, match, elect. The whole warp takes part, or the kernel
stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit.build import I1, I32, I64, PTR, VOID, WORDS, Build, i32, i64, same
from prism_mlir.runtime.ptx.jit.values import CannotCompile, Value
from prism_mlir.runtime.ptx.ops.warp import source_lanes
from prism_mlir.runtime.ptx.program import Pair
from prism_mlir.runtime.ptx.table import PRED
from prism_mlir.runtime.ptx.types import SCALARS

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel

U32, B32 = SCALARS["u32"], SCALARS["b32"]
BOOL, WORD = np.dtype(np.bool_), np.dtype(np.uint32)
# Context, source registers, distances, bounds, registers to write, where to put the word of lanes in range.
SHUFFLE = ir.FunctionType(VOID, [PTR] * 6)
MATCH = ir.FunctionType(
    VOID, [PTR, PTR, PTR, PTR, I32]
)  # context, values, words, where to put the word of lanes, members


def members(k: WarpKernel, slot: int, step: Step) -> ir.Value:
    """The word of lanes that an operation names, which must be the same for all of them; behind all loops."""
    return k.b.and_(k.agreed(slot, step), k.live_bits)


def shfl(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    mode = ctx.mods[1]
    target = ctx.operands[0]
    p = ctx.dst(target.second, PRED) if isinstance(target, Pair) else -1
    d = ctx.dst(target.first if isinstance(target, Pair) else target, B32)
    a, by, bounds = ctx.src(ctx.operands[1], B32), ctx.src(ctx.operands[2], U32), ctx.src(ctx.operands[3], U32)
    if k.options.partial:
        raise CannotCompile("is not compiled for blocks whose last warp is not whole")
    data = k.column(a, WORD)
    fixed = [k.scalar(s) if k.agrees(s) else None for s in (by, bounds)]
    result, inside = k.temporary(), k.temporary()
    if all(isinstance(c, ir.Constant) for c in fixed):
        k.close()
        taken = k.together(step)
        source, valid = source_lanes(mode, *(np.full(32, c.constant, np.uint32) for c in fixed if c is not None))
        value = x.shuffle(x.load(data, 0, WORDS, 64), None, [int(s) for s in source.reshape(-1)])
        x.store(value, result, 0, 64)
        x.store(i32(sum(int(v) << i for i, v in enumerate(valid.reshape(-1)))), inside, 0, 4)
    else:
        columns = [k.column(s, WORD) for s in (by, bounds)]
        k.close()
        taken = k.together(step)
        function = k.module.function(f"shfl.{mode}", SHUFFLE, lambda m, x: _shuffle(x, mode))
        b.call(function, [x.ctx, data, *columns, result, inside])
    k.result(d, result, WORD, taken)
    if p >= 0:
        k.result(p, inside, BOOL, taken)
    return taken is not None


def _shuffle(x: Build, mode: str) -> None:
    """As ``source_lanes`` of the reference engine, lane by lane."""
    b = x.b
    _, data, by, bounds, result, inside = x.function.args
    x.store(i32(0), inside, 0, 4)
    with x.unrolled(32, 1) as wide:
        lane, four = b.trunc(wide, I32), b.shl(wide, i64(2))
        step = b.and_(x.load(by, four, I32, 4), i32(31))
        bound = x.load(bounds, four, I32, 4)
        clamp, segment = b.and_(bound, i32(31)), b.and_(b.lshr(bound, i32(8)), i32(31))
        high = b.or_(b.and_(lane, segment), b.and_(clamp, b.not_(segment)))
        if mode == "up":
            source = b.sub(lane, step)
            valid = b.icmp_signed(">=", source, high)
        else:
            index = b.or_(b.and_(lane, segment), b.and_(step, b.not_(segment)))
            source = {"down": b.add(lane, step), "bfly": b.xor(lane, step), "idx": index}[mode]
            valid = b.icmp_signed("<=", source, high)
        source = b.select(valid, source, lane)
        x.store(x.load(data, b.shl(b.zext(source, I64), i64(2)), I32, 4), result, four, 4)
        x.store(b.or_(x.load(inside, 0, I32, 4), b.shl(b.zext(valid, I32), lane)), inside, 0, 4)
    b.ret_void()


def vote(k: WarpKernel, step: Step) -> bool:
    ctx, b = k.context, k.b
    how = ctx.mods[1]
    d = ctx.dst(ctx.operands[0], B32 if how == "ballot" else PRED)
    p, negated = ctx.predicate(ctx.operands[1])
    member = ctx.src(ctx.operands[2], B32)
    k.close()
    taken = k.together(step)
    part = members(k, member, step)
    word = k.word(p)
    yes = b.and_(b.not_(word) if negated else word, part)
    every, nobody = b.icmp_unsigned("==", yes, part), b.icmp_unsigned("==", yes, i32(0))
    if how == "ballot":
        k.write(d, Value(b, WORD, [yes]), taken)
    else:
        result = {"all": every, "any": b.not_(nobody), "uni": b.or_(every, nobody)}[how]
        k.write(d, Value(b, BOOL, [result]), taken)
    return taken is not None


def activemask(k: WarpKernel, step: Step) -> bool:
    d = k.context.dst(k.context.operands[0], B32)
    k.close()
    taken = k.together(step)
    k.write(d, Value(k.b, WORD, [k.live_bits]), taken)
    return taken is not None


def redux(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    name, scalar = ctx.mods[1], ctx.scalar(ctx.mods[2])
    d, a = ctx.dst(ctx.operands[0], scalar), ctx.src(ctx.operands[1], scalar)
    member = ctx.src(ctx.operands[2], B32)
    values = k.column(a, WORD)
    k.close()
    taken = k.together(step)
    part = members(k, member, step)
    low, high = (0x80000000, 0x7FFFFFFF) if scalar.is_signed else (0, 0xFFFFFFFF)
    neutral = {"add": 0, "min": high, "max": low, "and": 0xFFFFFFFF, "or": 0, "xor": 0}[name]
    mask = b.bitcast(part, ir.VectorType(I1, 32))
    data = b.select(mask, x.load(values, 0, WORDS, 64), same(I32, neutral, 32))
    kind = f"{'s' if scalar.is_signed else 'u'}{name}" if name in ("min", "max") else name
    result = x.call(f"llvm.vector.reduce.{kind}.v32i32", I32, data)
    k.write(d, Value(b, WORD, [result]), taken)
    return taken is not None


def match(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    every, scalar = ctx.mods[0] == "all", ctx.scalar(ctx.mods[2])
    target = ctx.operands[0]
    p = ctx.dst(target.second, PRED) if isinstance(target, Pair) else -1
    d = ctx.dst(target.first if isinstance(target, Pair) else target, B32)
    values = k.column(ctx.src(ctx.operands[1], scalar), scalar.storage)
    member = ctx.src(ctx.operands[2], B32)
    k.close()
    taken = k.together(step)
    words, whole = k.temporary(), k.temporary()
    name = f"match.{'all' if every else 'any'}.{scalar.bits}"
    function = k.module.function(name, MATCH, lambda m, x: _match(x, every, scalar.bits))
    b.call(function, [x.ctx, values, words, whole, members(k, member, step)])
    k.result(d, words, WORD, taken)
    if p >= 0:
        k.result(p, whole, BOOL, taken)
    return taken is not None


def _match(x: Build, every: bool, bits: int) -> None:
    """For each lane, the members that hold what it holds; ``every``: none unless all do."""
    b = x.b
    _, values, words, whole, part = x.function.args
    row = ir.VectorType(ir.IntType(bits), 32)
    everyone = x.load(values, 0, row, 64)
    x.store(i32(0), whole, 0, 4)
    with x.unrolled(32, 1) as lane:
        mine = x.load(values, b.mul(lane, i64(bits // 8)), ir.IntType(bits), 4)
        equal = b.and_(b.bitcast(b.icmp_unsigned("==", everyone, x.splat(mine)), I32), part)
        if every:
            all_ = b.icmp_unsigned("==", equal, part)
            equal = b.select(all_, part, i32(0))
            x.store(b.or_(x.load(whole, 0, I32, 4), b.shl(b.zext(all_, I32), b.trunc(lane, I32))), whole, 0, 4)
        x.store(equal, words, b.shl(lane, i64(2)), 4)
    b.ret_void()


def elect(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    target = ctx.operands[0]
    if not isinstance(target, Pair):
        raise CannotCompile("names no predicate")
    d, p = ctx.dst(target.first, B32), ctx.dst(target.second, PRED)
    member = ctx.src(ctx.operands[1], B32)
    k.close()
    taken = k.together(step)
    leader = x.first_lane(members(k, member, step))
    chosen = k.temporary()
    x.store(b.shl(i32(1), leader), chosen, 0, 4)
    k.write(d, Value(b, WORD, [leader]), taken)
    k.result(p, chosen, BOOL, taken)
    return taken is not None
