"""ldmatrix and mma.sync in compiled code; layouts as in ``ops.tensor``, sums with k ascending and C last, as there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit.build import I16, I32, PTR, VOID, WORDS, Build, i32
from prism_mlir.runtime.ptx.jit.values import CannotCompile, Value, splat
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
    if k.options.partial:
        raise CannotCompile(PARTIAL)
    form = Form(a_type, c_type, d_type, int(shape.split("k")[1]))
    ops = ctx.operands
    d = [ctx.dst(o, B32) for o in vector(ctx, ops[0], 2 if d_type == "f16" else 4, "D")]
    sources = [
        ctx.src(o, B32)
        for operand, count, name in ((1, form.a_count, "A"), (2, form.b_count, "B"), (3, form.c_count, "C"))
        for o in vector(ctx, ops[operand], count, name)
    ]
    taken = k.together(step)
    if taken is not None:
        from prism_mlir.runtime.ptx.jit.families import count_active

        count_active(k, step, b.select(taken, i32(-1), i32(0)))
    b.call(_function(b.module, form), [k.data, *(k.vector(s) for s in sources)])
    for i, slot in enumerate(d):
        k.write(slot, Value(b, WORD, [k.x.load(k.data, 128 * i, WORDS, 64)]), taken)
    return taken is not None


@dataclass(frozen=True, slots=True)
class Form:
    """Types of A (and B), C and D, and K."""

    a: str
    c: str
    d: str
    k: int

    @property
    def elements(self) -> int:
        """In a 32-bit register."""
        return 1 if self.a == "tf32" else 2

    @property
    def b_count(self) -> int:
        return self.k // (4 * self.elements)

    @property
    def a_count(self) -> int:
        return 2 * self.b_count

    @property
    def c_count(self) -> int:
        return 2 if self.c == "f16" else 4


def _function(module: ir.Module, form: Form) -> ir.Function:
    """The function of one form: where to put D, then the registers of A, B and C."""
    name = f"mma.{form.a}.{form.c}.{form.d}.k{form.k}"
    have = module.globals.get(name)
    if have is not None:
        return have
    count = form.a_count + form.b_count + form.c_count
    made = ir.Function(module, ir.FunctionType(VOID, [PTR] + [WORDS] * count), name)
    made.linkage = "internal"
    made.attributes.add("noinline")
    made.attributes.add("nounwind")
    x = Build(made)
    out, registers = made.args[0], made.args[1:]
    left = [_decode(x, r, form.a) for r in registers[: form.a_count]]
    right = [_decode(x, r, form.a) for r in registers[form.a_count : form.a_count + form.b_count]]
    sums = _sums(x, left, right, form)
    rest = registers[form.a_count + form.b_count :]
    if form.c == "f16":
        addend = [half for r in rest for half in _halves(x, r)]
    else:
        addend = [x.b.bitcast(r, FLOATS) for r in rest]
    total = [x.b.fadd(s, c) for s, c in zip(sums, addend, strict=True)]
    packed = [_pack(x, total[0], total[1]), _pack(x, total[2], total[3])] if form.d == "f16" else total
    for i, value in enumerate(packed):
        x.store(value, out, 128 * i, 64)
    x.b.ret_void()
    return made


def _decode(x: Build, register: ir.Value, kind: str) -> list[ir.Value]:
    """A register as f32 vectors, one for each element it holds."""
    b = x.b
    if kind == "tf32":
        return [b.bitcast(b.and_(register, x.splat(i32(-8192))), FLOATS)]
    if kind == "bf16":
        parts = [b.shl(register, x.splat(i32(16))), b.and_(register, x.splat(i32(-65536)))]
        return [b.bitcast(p, FLOATS) for p in parts]
    return _halves(x, register)


def _halves(x: Build, register: ir.Value) -> list[ir.Value]:
    b, shorts = x.b, ir.VectorType(I16, 32)
    parts = [b.trunc(register, shorts), b.trunc(b.lshr(register, x.splat(i32(16))), shorts)]
    return [b.fpext(b.bitcast(p, ir.VectorType(ir.HalfType(), 32)), FLOATS) for p in parts]


def _pack(x: Build, low: ir.Value, high: ir.Value) -> ir.Value:
    """Two f32 vectors rounded to halves and packed."""
    b = x.b
    halves = [b.fptrunc(v, ir.VectorType(ir.HalfType(), 32)) for v in (low, high)]
    parts = [b.zext(b.bitcast(h, ir.VectorType(I16, 32)), WORDS) for h in halves]
    return b.or_(parts[0], b.shl(parts[1], x.splat(i32(16))))


def _sums(x: Build, left: list[list[ir.Value]], right: list[list[ir.Value]], form: Form) -> list[ir.Value]:
    """The products of the four accumulator registers (row g + 8 (i >> 1), column 2 t + (i & 1)).

    The work is done on columns of 16 rows: a column of A times one element of B, which the processor broadcasts from memory.
    Lane 4 l + j of such a column is row 4 j + l, since that order comes and goes by transposing four by four.
    """
    b, e = x.b, form.elements
    memory = x.function.args[0]  # not a variable, which LLVM would turn into registers and shuffles
    for q in range(form.b_count):
        for h in range(e):
            x.store(right[q][h], memory, 128 * (q * e + h), 64)
    total: list[ir.Value | None] = [None] * 8
    for q in range(form.b_count):
        columns = [
            transpose(b, [half for upper in range(2) for half in halves_of(b, left[upper + 2 * q][h])])
            for h in range(e)
        ]
        for t in range(4):
            for h in range(e):
                for c in range(8):
                    one = x.load(memory, 128 * (q * e + h) + 4 * (4 * c + t), ir.FloatType(), 4)
                    pair = columns[h][t], splat(b, one, HALF)
                    total[c] = _add_product(x, total[c], *pair, exact=form.a == "f16")
    picks = ir.Constant(WORDS, [i32(n) for n in range(32)])
    sums: dict[int, ir.Value] = {}
    for odd in range(2):
        rows = transpose(b, [value for value in total[odd::2] if value is not None])
        for upper in range(2):
            sums[2 * upper + odd] = b.shuffle_vector(rows[2 * upper], rows[2 * upper + 1], picks)
    return [sums[i] for i in range(4)]


def halves_of(b: ir.IRBuilder, vector: ir.Value) -> list[ir.Value]:
    """Lanes 0 to 15, and 16 to 31."""
    return [_pick(b, vector, list(range(HALF * part, HALF * part + HALF))) for part in range(2)]


def transpose(b: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """In each group of four lanes: element j of vector i becomes element i of vector j."""

    def zip_lanes(first: ir.Value, second: ir.Value, picks: list[int]) -> ir.Value:
        lanes = [i32(4 * group + (p % 4) + (HALF if p >= 4 else 0)) for group in range(4) for p in picks]
        return b.shuffle_vector(first, second, ir.Constant(ir.VectorType(I32, HALF), lanes))

    low, high, near, far = [0, 4, 1, 5], [2, 6, 3, 7], [0, 1, 4, 5], [2, 3, 6, 7]
    pairs = [(zip_lanes(rows[i], rows[i + 1], low), zip_lanes(rows[i], rows[i + 1], high)) for i in (0, 2)]
    return [zip_lanes(pairs[0][k], pairs[1][k], how) for k in range(2) for how in (near, far)]


def _add_product(x: Build, total: ir.Value | None, row: ir.Value, column: ir.Value, exact: bool) -> ir.Value:
    """``exact``: products of halves are exact in f32, so that a fused operation gives the same as two."""
    if total is None:
        return x.b.fmul(row, column)
    if exact:
        return x.call("llvm.fma.v16f32", total.type, row, column, total)
    return x.b.fadd(total, x.b.fmul(row, column))


def _pick(b: ir.IRBuilder, vector: ir.Value, lanes: list[int]) -> ir.Value:
    picks = ir.Constant(ir.VectorType(I32, len(lanes)), [i32(n) for n in lanes])
    return b.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), picks)
