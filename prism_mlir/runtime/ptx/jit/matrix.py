"""ldmatrix and mma.sync in compiled code; layouts as in ``ops.tensor``, sums with k ascending and C last, as there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit.build import I16, I32, i32
from prism_mlir.runtime.ptx.jit.values import CannotCompile, Value
from prism_mlir.runtime.ptx.memory import SHARED_WINDOW
from prism_mlir.runtime.ptx.ops.loads import address
from prism_mlir.runtime.ptx.ops.tensor import B32, matrix_form, vector

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel

WORD = np.dtype(np.uint32)
FLOATS = ir.VectorType(ir.FloatType(), 32)
PARTIAL = "is not compiled for blocks whose last warp is not whole"
HALF = 16  # lanes of one 512-bit register


def ldmatrix(k: WarpKernel, step: Step) -> bool:
    ctx, b, x = k.context, k.b, k.x
    count, trans = matrix_form(ctx)
    slot, offset = address(ctx, ctx.operands[1])
    slots = [ctx.dst(o, B32) for o in vector(ctx, ctx.operands[0], count, "the destination")]
    if not any(m.startswith("shared") for m in ctx.mods):
        offset -= SHARED_WINDOW
    if k.options.partial:
        raise CannotCompile(PARTIAL)
    taken = k.together(step)
    from prism_mlir.runtime.ptx.jit.families import addresses, count_active

    lanes = k.b.and_(k.live_bits, i32((1 << (8 * count)) - 1 if count < 4 else -1))
    if taken is not None:
        lanes = b.select(taken, lanes, i32(0))
    count_active(k, step, lanes)
    at = addresses(k, slot, offset)
    b.call(k.access.load("shared", 16, 8 * count), [x.ctx, at, lanes, i32(step.site.pc), k.data])
    for i, d in enumerate(slots):
        rows = x.load(k.data, 128 * i, ir.VectorType(I16, 64), 64)
        if trans:  # lane 4 g + t gets elements g of rows 2 t and 2 t + 1
            picks = [i32(8 * (2 * (lane & 3) + h) + (lane >> 2)) for lane in range(32) for h in range(2)]
            rows = b.shuffle_vector(rows, rows, ir.Constant(ir.VectorType(I32, 64), picks))
        k.write(d, Value(b, WORD, [b.bitcast(rows, ir.VectorType(I32, 32))]), taken)
    return True


def mma(k: WarpKernel, step: Step) -> bool:
    ctx, b = k.context, k.b
    mods = [m for m in ctx.mods if m != "satfinite"]
    shape, (d_type, a_type, _, c_type) = mods[2], mods[5:]
    if a_type not in ("f16", "bf16", "tf32"):
        raise CannotCompile("multiplies types that are not compiled")
    k_size = int(shape.split("k")[1])
    e = 1 if a_type == "tf32" else 2
    b_regs = k_size // (4 * e)
    ops = ctx.operands
    d = [ctx.dst(o, B32) for o in vector(ctx, ops[0], 2 if d_type == "f16" else 4, "D")]
    left = [_decode(k, ctx.src(o, B32), a_type) for o in vector(ctx, ops[1], 2 * b_regs, "A")]
    right = [_decode(k, ctx.src(o, B32), a_type) for o in vector(ctx, ops[2], b_regs, "B")]
    c = [k.vector(ctx.src(o, B32)) for o in vector(ctx, ops[3], 2 if c_type == "f16" else 4, "C")]
    if k.options.partial:
        raise CannotCompile(PARTIAL)
    taken = k.together(step)
    if taken is not None:
        from prism_mlir.runtime.ptx.jit.families import count_active

        count_active(k, step, b.select(taken, i32(-1), i32(0)))
    sums = [_sum(k, left, right, i, e, k_size, a_type == "f16") for i in range(4)]
    if c_type == "f16":
        addend = [half for x in c for half in _halves(k, x)]
    else:
        addend = [b.bitcast(x, FLOATS) for x in c]
    total = [b.fadd(s, x) for s, x in zip(sums, addend, strict=True)]
    for i, slot in enumerate(d):
        if d_type == "f16":
            value = _pack(k, total[2 * i], total[2 * i + 1])
        else:
            value = b.bitcast(total[i], ir.VectorType(I32, 32))
        k.write(slot, Value(b, WORD, [value]), taken)
    return taken is not None


def _decode(k: WarpKernel, slot: int, kind: str) -> list[ir.Value]:
    """A register as f32 vectors, one for each element it holds."""
    b, x = k.b, k.vector(slot)
    if kind == "tf32":
        return [b.bitcast(b.and_(x, k.x.splat(i32(-8192))), FLOATS)]
    if kind == "bf16":
        parts = [b.shl(x, k.x.splat(i32(16))), b.and_(x, k.x.splat(i32(-65536)))]
        return [b.bitcast(p, FLOATS) for p in parts]
    return _halves(k, x)


def _halves(k: WarpKernel, x: ir.Value) -> list[ir.Value]:
    b, shorts = k.b, ir.VectorType(I16, 32)
    parts = [b.trunc(x, shorts), b.trunc(b.lshr(x, k.x.splat(i32(16))), shorts)]
    return [b.fpext(b.bitcast(p, ir.VectorType(ir.HalfType(), 32)), FLOATS) for p in parts]


def _pack(k: WarpKernel, low: ir.Value, high: ir.Value) -> ir.Value:
    """Two f32 vectors rounded to halves and packed."""
    b, words = k.b, ir.VectorType(I32, 32)
    halves = [b.fptrunc(v, ir.VectorType(ir.HalfType(), 32)) for v in (low, high)]
    parts = [b.zext(b.bitcast(h, ir.VectorType(I16, 32)), words) for h in halves]
    return b.or_(parts[0], b.shl(parts[1], k.x.splat(i32(16))))


def _sum(
    k: WarpKernel, left: list[list[ir.Value]], right: list[list[ir.Value]], i: int, e: int, size: int, exact: bool
) -> ir.Value:
    """The products of accumulator register ``i``: row g + 8 (i >> 1), column 2 t + (i & 1), 16 lanes at a time.

    ``exact``: products are exact in f32, so that a fused operation gives the same as two.
    """
    b = k.b
    parts: list[ir.Value] = []
    for half in range(2):
        total: ir.Value | None = None
        for n in range(size):
            q, rest = divmod(n, 4 * e)
            t, h = divmod(rest, e)
            row = _pick(b, left[(i >> 1) + 2 * q][h], [HALF * half + (lane & ~3) + t for lane in range(HALF)])
            column = _pick(b, right[q][h], [4 * (2 * (lane & 3) + (i & 1)) + t for lane in range(HALF)])
            if total is None:
                total = b.fmul(row, column)
            elif exact:
                total = k.x.call("llvm.fma.v16f32", total.type, row, column, total)
            else:
                total = b.fadd(total, b.fmul(row, column))
        assert total is not None
        parts.append(total)
    return _pick2(b, parts)


def _pick(b: ir.IRBuilder, x: ir.Value, lanes: list[int]) -> ir.Value:
    picks = ir.Constant(ir.VectorType(I32, len(lanes)), [i32(n) for n in lanes])
    return b.shuffle_vector(x, ir.Constant(x.type, ir.Undefined), picks)


def _pick2(b: ir.IRBuilder, parts: list[ir.Value]) -> ir.Value:
    picks = ir.Constant(ir.VectorType(I32, 32), [i32(n) for n in range(32)])
    return b.shuffle_vector(parts[0], parts[1], picks)
