"""Tensor-core operations: ldmatrix, stmatrix, mma.sync (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").

Layouts, with lane = 4 g + t and e elements a 32-bit register (2 halves, 1 tf32, 4 bytes), h counting inside a register:

- A register r: row g + 8 (r & 1), column e t + h + 4 e (r >> 1)
- B register r: row e t + h + 4 e r, column g
- C and D of 32 bits, register i: row g + 8 (i >> 1), column 2 t + (i & 1); of f16, register r: row g + 8 r, column 2 t + h

Products are exact, sums are f32 with k ascending, C last: the last bits differ from a GPU's, which truncates groups of products.
Compare with a tolerance, or ask for the sums of Ampere's tensor cores (``exact_mma``, see ``tensor_core.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from prism_mlir.runtime.ptx.memory import SHARED_WINDOW
from prism_mlir.runtime.ptx.numerics import bf16_to_f32
from prism_mlir.runtime.ptx.ops.loads import address, addresses
from prism_mlir.runtime.ptx.program import Operand, Vec
from prism_mlir.runtime.ptx.state import WARP, Mask, State
from prism_mlir.runtime.ptx.table import Access, Context, Made, assign, op
from prism_mlir.runtime.ptx.tensor_core import multiply_add
from prism_mlir.runtime.ptx.types import SCALARS, Array

B32 = SCALARS["b32"]
B64 = SCALARS["b64"]
_HALF_TABLE = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Element:
    """An operand type: bits, and how the register bits become numbers to multiply."""

    bits: int
    decode: Callable[[Array], Array]
    accumulate: type[np.float32] | type[np.int32] | type[np.float64]


ELEMENTS: dict[str, Element] = {
    "f16": Element(16, lambda x: _HALF_TABLE.take(x.view(np.uint16), mode="wrap"), np.float32),
    "bf16": Element(16, lambda x: bf16_to_f32(x.view(np.uint16)), np.float32),
    "tf32": Element(32, lambda x: (x & np.uint32(0xFFFFE000)).view(np.float32), np.float32),
    "s8": Element(8, lambda x: x.view(np.int8).astype(np.float64), np.int32),
    "u8": Element(8, lambda x: x.view(np.uint8).astype(np.float64), np.int32),
    "f64": Element(64, lambda x: x.view(np.float64), np.float64),
}
_SHAPES: dict[str, tuple[str, ...]] = {
    "m16n8k16": ("f16", "bf16", "s8", "u8"),
    "m16n8k8": ("f16", "bf16", "tf32"),
    "m16n8k4": ("tf32",),
    "m16n8k32": ("s8", "u8"),
    "m8n8k4": ("f64",),
}


def active_warps(st: State, mask: Mask) -> Array | None:
    """Indices of the warps in the set, None when all are."""
    if mask.dense:
        return None
    return np.flatnonzero(mask.lanes.reshape(-1, WARP).any(axis=1))


def by_warp(st: State, slot: int, warps: Array | None) -> Array:
    """A register as (warps, 32)."""
    whole = st.spread(st.regs[slot]).reshape(-1, WARP)
    return whole if warps is None else whole[warps]


def put_warps(st: State, mask: Mask, slot: int, warps: Array | None, values: Array) -> None:
    """Write (warps, 32) values to a register."""
    if warps is None:
        st.regs[slot] = values.reshape(-1)
        return
    new = np.array(st.spread(st.regs[slot]))
    new.reshape(-1, WARP)[warps] = values
    assign(st, mask, slot, new)


def vector(ctx: Context, operand: Operand, count: int, what: str) -> tuple[Operand, ...]:
    items = operand.items if isinstance(operand, Vec) else (operand,)
    if len(items) != count:
        raise ctx.fail(f"{what} needs {count} registers, found {len(items)}")
    return items


def without_options(mods: Sequence[str], types: int) -> list[str]:
    """The modifiers of a product less ``.satfinite``, and less the ``.rn`` that f64 may have: it is rounded so anyway.

    ``.rn`` stands at the end, where nvcc writes it, or before the types, of which ``types`` is the position.
    """
    kept = [m for m in mods if m != "satfinite"]
    places = [i for i in (len(kept) - 1, types) if "f64" in kept and kept[i : i + 1] == ["rn"]]
    return kept[: places[0]] + kept[places[0] + 1 :] if places else kept


@op("mma")
def mma(ctx: Context) -> Made:
    mods = without_options(ctx.mods, 5)
    if mods[:2] != ["sync", "aligned"] or len(mods) != 9 or mods[3:5] != ["row", "col"] or mods[2] not in _SHAPES:
        raise ctx.unknown()
    shape, (d_type, a_type, b_type, c_type) = mods[2], mods[5:]
    if (
        a_type not in _SHAPES[shape]
        or b_type not in _SHAPES[shape]
        or (a_type != b_type and a_type not in ("s8", "u8"))
    ):
        raise ctx.unknown()
    ctx.count(4)
    if shape == "m8n8k4" and "satfinite" not in ctx.mods:
        return _double_mma(ctx, (d_type, c_type))
    a_el, b_el = ELEMENTS[a_type], ELEMENTS[b_type]
    allowed = ("s32",) if a_type in ("s8", "u8") else (("f16", "f32") if a_type == "f16" else ("f32",))
    if d_type not in allowed or c_type != d_type or ("satfinite" in ctx.mods and d_type != "s32"):
        raise ctx.unknown()
    b_regs = int(shape.split("k")[1]) * a_el.bits // 128
    ops = ctx.operands
    d = [ctx.dst(o, B32) for o in vector(ctx, ops[0], 2 if d_type == "f16" else 4, "D")]
    a = [ctx.src(o, B32) for o in vector(ctx, ops[1], 2 * b_regs, "A")]
    b = [ctx.src(o, B32) for o in vector(ctx, ops[2], b_regs, "B")]
    c = [ctx.src(o, B32) for o in vector(ctx, ops[3], 2 if c_type == "f16" else 4, "C")]
    saturate = "satfinite" in ctx.mods
    flops = 2 * 16 * 8 * int(shape.split("k")[1])

    def run(st: State, mask: Mask) -> None:
        warps = active_warps(st, mask)
        left = operand_a(a_el, [by_warp(st, s, warps) for s in a])
        right = operand_b(b_el, [by_warp(st, s, warps) for s in b])
        third = [by_warp(st, s, warps) for s in c]
        if st.exact_mma and c_type != "s32":
            total = multiply_add(left, right, accumulators(third, c_type), a_type, d_type).reshape(-1, 2, 8, 4, 2)
        else:
            total = accumulate(ordered_product(left, right), third, c_type)
        for slot, value in zip(d, split_result(total, d_type, saturate), strict=True):
            put_warps(st, mask, slot, warps, value)
        st.counters.mma(left.shape[0], flops)

    return Made(run, "mma", sync=-1)


def operand_a(element: Element, regs: list[Array]) -> Array:
    """Registers (warps, 32) of A to (warps, 16, K); K = 2 e · registers."""
    n, e, k_parts = regs[0].shape[0], 32 // element.bits, len(regs) // 2
    parts = np.empty((k_parts, 2, n, 8, 4), dtype=np.uint32)
    for r, x in enumerate(regs):
        parts[r >> 1, r & 1] = x.reshape(n, 8, 4)
    values = element.decode(parts).reshape(k_parts, 2, n, 8, 4, e)
    return values.transpose(2, 1, 3, 0, 4, 5).reshape(n, 16, k_parts * 4 * e)


def operand_b(element: Element, regs: list[Array]) -> Array:
    """Registers (warps, 32) of B to (warps, K, 8)."""
    n, e = regs[0].shape[0], 32 // element.bits
    parts = np.empty((n, 8, len(regs), 4), dtype=np.uint32)
    for r, x in enumerate(regs):
        parts[:, :, r] = x.reshape(n, 8, 4)
    return element.decode(parts).reshape(n, 8, len(regs) * 4 * e).transpose(0, 2, 1)


def ordered_product(left: Array, right: Array) -> Array:
    """(warps, M, K) times (warps, K, N), summed with k ascending, so that both engines round alike."""
    k = left.shape[2]
    left, right = np.ascontiguousarray(left.transpose(2, 1, 0)), np.ascontiguousarray(right.transpose(1, 2, 0))
    total = left[0, :, None] * right[0, None]
    term = np.empty_like(total)
    for i in range(1, k):
        total += np.multiply(left[i, :, None], right[i, None], out=term)
    return np.ascontiguousarray(total.transpose(2, 0, 1))


def accumulators(regs: list[Array], c_type: str) -> Array:
    """Registers (warps, 32) of C to (warps, 16, 8)."""
    n, kind = regs[0].shape[0], np.float16 if c_type == "f16" else np.float32
    c = np.empty((n, 2, 8, 4, 2), kind)
    for i, x in enumerate(regs):
        if c_type == "f16":
            c[:, i] = np.ascontiguousarray(x).view(np.float16).reshape(n, 8, 4, 2)
        else:
            c[:, i >> 1, :, :, i & 1] = x.view(np.float32).reshape(n, 8, 4)
    return c.reshape(n, 16, 8)


def accumulate(product: Array, regs: list[Array], c_type: str) -> Array:
    """product + C, in (warps, half of rows, g, t, pair)."""
    n = product.shape[0]
    total = product.reshape(n, 2, 8, 4, 2)
    if c_type == "f16":
        for r, x in enumerate(regs):
            total[:, r] += np.ascontiguousarray(x).view(np.float16).reshape(n, 8, 4, 2)
        return total
    kind = np.int32 if c_type == "s32" else np.float32
    for i, x in enumerate(regs):
        total[:, i >> 1, :, :, i & 1] += x.view(kind).reshape(n, 8, 4)
    return total


def split_result(total: Array, d_type: str, saturate: bool) -> list[Array]:
    """(warps, 2, g, t, pair) to the registers of D, each (warps, 32)."""
    n = total.shape[0]
    if d_type == "f16":
        halves = total.astype(np.float16)
        return [np.ascontiguousarray(halves[:, r]).view(np.uint32).reshape(n, WARP) for r in range(2)]
    if d_type == "s32":
        wide = np.clip(total, -(2.0**31), 2.0**31 - 1) if saturate else total
        values = wide.astype(np.int64).astype(np.int32).view(np.uint32)
    else:
        values = total.astype(np.float32, copy=False).view(np.uint32)
    return [np.ascontiguousarray(values[:, i >> 1, :, :, i & 1]).reshape(n, WARP) for i in range(4)]


def _double_mma(ctx: Context, types: tuple[str, str]) -> Made:
    """m8n8k4 of f64: A row g column t, B row t column g, C and D register i row g column 2 t + i."""
    if types != ("f64", "f64"):
        raise ctx.unknown()
    ops = ctx.operands
    d = [ctx.dst(o, B64) for o in vector(ctx, ops[0], 2, "D")]
    a, b = (ctx.src(vector(ctx, o, 1, "A and B")[0], B64) for o in ops[1:3])
    c = [ctx.src(o, B64) for o in vector(ctx, ops[3], 2, "C")]

    def run(st: State, mask: Mask) -> None:
        warps = active_warps(st, mask)
        left = by_warp(st, a, warps).view(np.float64).reshape(-1, 8, 4)
        right = by_warp(st, b, warps).view(np.float64).reshape(-1, 8, 4).transpose(0, 2, 1)
        product = ordered_product(left, right).reshape(-1, 8, 4, 2)
        for i in range(2):
            value = product[..., i] + by_warp(st, c[i], warps).view(np.float64).reshape(-1, 8, 4)
            put_warps(st, mask, d[i], warps, np.ascontiguousarray(value).view(np.uint64).reshape(-1, WARP))
        st.counters.mma(product.shape[0], 2 * 8 * 8 * 4)

    return Made(run, "mma", sync=-1)


def matrix_form(ctx: Context) -> tuple[int, bool]:
    """How many matrices, and whether they are transposed."""
    mods = list(ctx.mods)
    if mods[:3] != ["sync", "aligned", "m8n8"] or mods[-1] != "b16":
        raise ctx.unknown()
    middle = mods[3:-1]
    trans = "trans" in middle
    counts = [m for m in middle if m in ("x1", "x2", "x4")]
    spaces = [m for m in middle if m.split("::")[0] == "shared"]
    if len(counts) != 1 or len(spaces) > 1 or len(middle) != 1 + trans + len(spaces):
        raise ctx.unknown()
    return int(counts[0][1:]), trans


def _row_lanes(st: State, warps: Array | None, count: int) -> Array | None:
    """The lanes whose address is used: the first 8 · count of each active warp; None for every lane."""
    if count == 4 and warps is None:
        return None
    which = np.arange(st.n // WARP) if warps is None else warps
    lanes: Array = (which[:, None] * WARP + np.arange(8 * count)).reshape(-1)
    return lanes


def _row_addresses(st: State, slot: int, offset: int, lanes: Array | None, in_shared: bool) -> Array:
    at = addresses(st, slot, offset)
    at = np.broadcast_to(at, (st.n,)) if at.shape[0] == 1 else at
    at = at if lanes is None else at[lanes]
    return at if in_shared else at - SHARED_WINDOW


@op("ldmatrix")
def ldmatrix(ctx: Context) -> Made:
    count, trans = matrix_form(ctx)
    in_shared = any(m.startswith("shared") for m in ctx.mods)
    ctx.count(2)
    slot, offset = address(ctx, ctx.operands[1])
    slots = [ctx.dst(o, B32) for o in vector(ctx, ctx.operands[0], count, "the destination")]
    site = ctx.site

    def run(st: State, mask: Mask) -> None:
        warps = active_warps(st, mask)
        lanes = _row_lanes(st, warps, count)
        at = _row_addresses(st, slot, offset, lanes, in_shared)
        rows = st.shared.load(st, site, at, lanes, 16)
        st.counters.matrix(at, count, storing=False)
        halves = rows.view(np.uint16).reshape(-1, count, 8, 8)
        for i, d in enumerate(slots):
            matrix = halves[:, i].swapaxes(1, 2) if trans else halves[:, i]
            value = np.ascontiguousarray(matrix).view(np.uint32).reshape(-1, WARP)
            put_warps(st, mask, d, warps, value)

    return Made(run, "ldmatrix", access=Access("shared", 16, slot, True, False), sync=-1)


@op("stmatrix")
def stmatrix(ctx: Context) -> Made:
    count, trans = matrix_form(ctx)
    in_shared = any(m.startswith("shared") for m in ctx.mods)
    ctx.count(2)
    slot, offset = address(ctx, ctx.operands[0])
    slots = [ctx.src(o, B32) for o in vector(ctx, ctx.operands[1], count, "the source")]
    site = ctx.site

    def run(st: State, mask: Mask) -> None:
        warps = active_warps(st, mask)
        lanes = _row_lanes(st, warps, count)
        at = _row_addresses(st, slot, offset, lanes, in_shared)
        matrices = []
        for s in slots:
            m = np.ascontiguousarray(by_warp(st, s, warps)).view(np.uint16).reshape(-1, 8, 8)
            matrices.append(m.swapaxes(1, 2) if trans else m)
        rows = np.ascontiguousarray(np.stack(matrices, axis=1)).reshape(-1).view(np.complex128)
        st.shared.store(st, site, at, lanes, 16, rows)
        st.counters.matrix(at, count, storing=True)

    return Made(run, "stmatrix", access=Access("shared", 16, slot, False, True), sync=-1)


@op("movmatrix")
def movmatrix(ctx: Context) -> Made:
    """Transpose an 8 × 8 matrix of halves held by a warp."""
    if ctx.mods != ("sync", "aligned", "m8n8", "trans", "b16"):
        raise ctx.unknown()
    ctx.count(2)
    d, s = ctx.dst(ctx.operands[0], B32), ctx.src(ctx.operands[1], B32)

    def run(st: State, mask: Mask) -> None:
        warps = active_warps(st, mask)
        m = np.ascontiguousarray(by_warp(st, s, warps)).view(np.uint16).reshape(-1, 8, 8)
        put_warps(st, mask, d, warps, np.ascontiguousarray(m.swapaxes(1, 2)).view(np.uint32).reshape(-1, WARP))

    return Made(run, "alu", sync=-1)
