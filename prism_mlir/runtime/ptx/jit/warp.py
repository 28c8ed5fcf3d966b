"""Warp communication in compiled code: shfl, vote, activemask, redux. The whole warp takes part, or the kernel stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit.build import I32, WORDS, i32, lanes_of
from prism_mlir.runtime.ptx.jit.values import CannotCompile, Value, is_vector
from prism_mlir.runtime.ptx.ops.warp import source_lanes
from prism_mlir.runtime.ptx.program import Pair
from prism_mlir.runtime.ptx.table import PRED
from prism_mlir.runtime.ptx.types import SCALARS

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel

U32, B32 = SCALARS["u32"], SCALARS["b32"]
BOOL, WORD = np.dtype(np.bool_), np.dtype(np.uint32)


def decide(k: WarpKernel, step: Step) -> ir.Value | None:
    """Whether the instruction is executed (None: always); stops where the threads of a warp disagree."""
    return k.together(step)


def members(k: WarpKernel, slot: int) -> ir.Value:
    """The word of lanes that an operation names, which must be the same for all of them."""
    (word,) = k.read(slot).parts
    if is_vector(word):
        raise CannotCompile("takes its member mask from a register that differs from thread to thread")
    return word


def shfl(k: WarpKernel, step: Step) -> bool:
    ctx, b = k.context, k.b
    mode = ctx.mods[1]
    target = ctx.operands[0]
    p = ctx.dst(target.second, PRED) if isinstance(target, Pair) else -1
    d = ctx.dst(target.first if isinstance(target, Pair) else target, B32)
    a, by, bounds = ctx.src(ctx.operands[1], B32), ctx.src(ctx.operands[2], U32), ctx.src(ctx.operands[3], U32)
    if k.options.partial:
        raise CannotCompile("is not compiled for blocks whose last warp is not whole")
    taken = decide(k, step)
    data = k.vector(a)
    fixed = k.constants.get(by), k.constants.get(bounds)
    if all(isinstance(c, ir.Constant) for c in fixed):
        source, valid = source_lanes(mode, *(np.full(32, c.constant, np.uint32) for c in fixed if c is not None))
        picks = ir.Constant(WORDS, [i32(int(s)) for s in source])
        value = b.shuffle_vector(data, ir.Constant(data.type, ir.Undefined), picks)
        inside: ir.Value = ir.Constant(ir.VectorType(ir.IntType(1), 32), [int(v) for v in valid])
    else:
        where, inside = _dynamic_source(k, mode, k.vector(by), k.vector(bounds))
        k.x.store(data, k.data, 0, 64)
        value = k.x.gather(k.data, where, I32)
    k.write(d, Value(b, WORD, [value]), taken)
    if p >= 0:
        k.write(p, Value(b, BOOL, [inside]), taken)
    return taken is not None


def _dynamic_source(k: WarpKernel, mode: str, by: ir.Value, bounds: ir.Value) -> tuple[ir.Value, ir.Value]:
    """As ``source_lanes`` of the reference engine."""
    b = k.b

    def words(value: int) -> ir.Constant:
        return ir.Constant(WORDS, [value] * 32)

    lane, low = lanes_of(I32), words(31)
    step = b.and_(by, low)
    clamp, segment = b.and_(bounds, low), b.and_(b.lshr(bounds, words(8)), low)
    high = b.or_(b.and_(lane, segment), b.and_(clamp, b.not_(segment)))
    if mode == "up":
        source = b.sub(lane, step)
        valid = b.icmp_signed(">=", source, high)
    else:
        index = b.or_(b.and_(lane, segment), b.and_(step, b.not_(segment)))
        source = {"down": b.add(lane, step), "bfly": b.xor(lane, step), "idx": index}[mode]
        valid = b.icmp_signed("<=", source, high)
    return b.select(valid, source, lane), valid


def vote(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    how = ctx.mods[1]
    d = ctx.dst(ctx.operands[0], B32 if how == "ballot" else PRED)
    p, negated = ctx.predicate(ctx.operands[1])
    taken = decide(k, step)
    part = b.and_(members(k, ctx.src(ctx.operands[2], B32)), k.live_bits)
    yes = x.bits(k.vector(p))
    yes = b.and_(b.not_(yes) if negated else yes, part)
    every, nobody = b.icmp_unsigned("==", yes, part), b.icmp_unsigned("==", yes, i32(0))
    if how == "ballot":
        k.write(d, Value(b, WORD, [yes]), taken)
    else:
        result = {"all": every, "any": b.not_(nobody), "uni": b.or_(every, nobody)}[how]
        k.write(d, Value(b, BOOL, [result]), taken)
    return taken is not None


def activemask(k: WarpKernel, step: Step) -> bool:
    d = k.context.dst(k.context.operands[0], B32)
    taken = decide(k, step)
    k.write(d, Value(k.b, WORD, [k.live_bits]), taken)
    return taken is not None


def redux(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    name, scalar = ctx.mods[1], ctx.scalar(ctx.mods[2])
    d, a = ctx.dst(ctx.operands[0], scalar), ctx.src(ctx.operands[1], scalar)
    taken = decide(k, step)
    part = b.and_(members(k, ctx.src(ctx.operands[2], B32)), k.live_bits)
    low, high = (0x80000000, 0x7FFFFFFF) if scalar.is_signed else (0, 0xFFFFFFFF)
    neutral = {"add": 0, "min": high, "max": low, "and": 0xFFFFFFFF, "or": 0, "xor": 0}[name]
    data = b.select(x.mask(part), k.vector(a), x.splat(i32(neutral)))
    kind = f"{'s' if scalar.is_signed else 'u'}{name}" if name in ("min", "max") else name
    result = x.call(f"llvm.vector.reduce.{kind}.v32i32", I32, data)
    k.write(d, Value(b, WORD, [result]), taken)
    return taken is not None
