"""wmma.load, wmma.store and wmma.mma (PTX ISA, "Warp Level Matrix Instructions: wmma").

Which lane holds which element is left open by PTX, so that any layout is right as long as the three instructions agree. Here the
registers of a warp are one list of elements, lane by lane, that holds the matrix row by row, again and again where a fragment
has more room than the matrix has elements (as those of f16 do).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prism_mlir.runtime.ptx.checks.order import Order
from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.memory import CELL
from prism_mlir.runtime.ptx.ops.loads import address, addresses, generic_load, generic_store
from prism_mlir.runtime.ptx.ops.tensor import (
    ELEMENTS,
    active_warps,
    by_warp,
    ordered_product,
    put_warps,
    vector,
    without_options,
)
from prism_mlir.runtime.ptx.program import Addr, Operand
from prism_mlir.runtime.ptx.state import WARP, Mask, State
from prism_mlir.runtime.ptx.table import Access, Context, Made, op
from prism_mlir.runtime.ptx.tensor_core import multiply_add
from prism_mlir.runtime.ptx.types import SCALARS, Array, Scalar

Shape = tuple[int, int, int]
_HALF_SHAPES = ("m16n16k16", "m8n32k16", "m32n8k16")
_SHAPES = {**dict.fromkeys(("f16", "bf16", "s8", "u8"), _HALF_SHAPES), "tf32": ("m16n16k8",), "f64": ("m8n8k4",)}
_ACCUMULATORS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "s8": ("s32",),
    "u8": ("s32",),
    "f64": ("f64",),
}
_SPACES = ("global", "shared", "shared::cta")
_MOST_BITS = 256  # of a lane's fragment of f16; others hold every element once


@dataclass(frozen=True, slots=True)
class Fragment:
    """A matrix of a warp. ``rows`` × ``columns`` elements of ``bits`` bits in ``registers`` registers of ``register`` type."""

    rows: int
    columns: int
    bits: int
    registers: int
    register: Scalar

    @property
    def elements(self) -> int:
        return self.rows * self.columns

    @property
    def per_lane(self) -> int:
        return self.registers * self.register.bits // self.bits


def _fragment(role: str, kind: str, shape: Shape) -> Fragment:
    """The fragment of matrix ``a``, ``b``, ``c`` or ``d`` of an element type."""
    m, n, k = shape
    rows, columns = {"a": (m, k), "b": (k, n)}.get(role, (m, n))
    bits = {"f16": 16, "bf16": 16, "s8": 8, "u8": 8, "f64": 64}.get(kind, 32)
    register = SCALARS["b64" if bits == 64 else "b32"]
    total = rows * columns * bits // WARP if kind != "f16" or role not in ("a", "b") else _MOST_BITS
    return Fragment(rows, columns, bits, total // register.bits, register)


def _shape(name: str) -> Shape:
    m, rest = name[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def values(fragment: Fragment, registers: Sequence[Array]) -> Array:
    """The matrix that registers (warps, 32) hold, as (warps, rows, columns) of unsigned bits."""
    stacked = np.ascontiguousarray(np.stack(registers, axis=-1)).view(f"u{fragment.bits // 8}")
    flat = stacked.reshape(stacked.shape[0], -1)[:, : fragment.elements]
    return flat.reshape(-1, fragment.rows, fragment.columns)


def spread(fragment: Fragment, matrix: Array) -> list[Array]:
    """Registers (warps, 32) that hold a matrix (warps, rows, columns) of bits."""
    flat = matrix.reshape(matrix.shape[0], -1)
    copies = WARP * fragment.per_lane // fragment.elements
    whole = np.ascontiguousarray(np.tile(flat, (1, copies))).view(fragment.register.storage)
    lanes = whole.reshape(-1, WARP, fragment.registers)
    return [np.ascontiguousarray(lanes[..., i]) for i in range(fragment.registers)]


@op("wmma")
def wmma(ctx: Context) -> Made:
    if ctx.mods[:3] in (("load", "a", "sync"), ("load", "b", "sync"), ("load", "c", "sync"), ("store", "d", "sync")):
        return _move(ctx)
    if ctx.mods[:2] == ("mma", "sync"):
        return _multiply(ctx)
    raise ctx.unknown()


# -- load and store -----------------------------------------------------------------------------------------------


def _move(ctx: Context) -> Made:
    role, kind, rest = ctx.mods[1], ctx.mods[-1], list(ctx.mods[3:-1])
    layouts, shapes = [m for m in rest if m in ("row", "col")], [m for m in rest if m[:1] == "m" and "n" in m]
    spaces = [m for m in rest if m in _SPACES]
    if (
        rest[:1] != ["aligned"]
        or len(rest) != 3 + len(spaces)
        or (len(layouts), len(shapes)) != (1, 1)
        or len(spaces) > 1
    ):
        raise ctx.unknown()
    known = [a for a, have in _SHAPES.items() if shapes[0] in have]
    kinds = known if role in ("a", "b") else [c for a in known for c in _ACCUMULATORS[a]]
    if kind not in kinds:
        raise ctx.unknown()
    fragment = _fragment(role, kind, _shape(shapes[0]))
    storing = ctx.mods[0] == "store"
    ctx.count(2, 3)
    place, registers = ctx.operands[:2] if storing else (ctx.operands[1], ctx.operands[0])
    slot, offset = address(ctx, place)
    use = ctx.src if storing else ctx.dst
    items = vector(ctx, registers, fragment.registers, "the fragment")
    slots = [use(o, fragment.register) for o in items]
    stride = ctx.src(ctx.operands[2], SCALARS["u32"]) if len(ctx.operands) == 3 else -1
    where = _Place(
        ctx.site, fragment, layouts[0] == "row", spaces[0].split("::")[0] if spaces else "", slot, offset, stride
    )
    access = Access(where.space, fragment.bits // 8, slot, not storing, storing)

    def run(st: State, mask: Mask) -> None:
        warps = active_warps(st, mask)
        at, lanes = where.addresses(st, mask, warps)
        if storing:
            where.store(st, at, lanes, values(fragment, [by_warp(st, s, warps) for s in slots]))
            return
        for s, value in zip(slots, spread(fragment, where.load(st, at, lanes)), strict=True):
            put_warps(st, mask, s, warps, value)

    return Made(run, f"wmma.{ctx.mods[0]}", access=access, sync=-1)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a matrix lies in memory. ``row``: its rows are contiguous; else its columns are."""

    site: Site
    fragment: Fragment
    row: bool
    space: str
    slot: int
    offset: int
    stride: int

    def addresses(self, st: State, mask: Mask, warps: Array | None) -> tuple[Array, Array]:
        """(warps, rows, columns) of addresses, and the lane of a warp to which each access is counted."""
        f, width = self.fragment, self.fragment.bits // 8
        base = np.broadcast_to(addresses(st, self.slot, self.offset), (st.n,)).reshape(-1, WARP)
        base = base if warps is None else base[warps]
        default = f.columns if self.row else f.rows
        stride = np.full(base.shape, default) if self.stride < 0 else by_warp(st, self.stride, warps).astype(np.int64)
        which = np.arange(st.n // WARP) if warps is None else warps
        self._check(st, which, base, stride * width)
        rows, columns = np.arange(f.rows)[:, None], np.arange(f.columns)[None, :]
        outer, inner = (rows, columns) if self.row else (columns, rows)
        at = base[:, :1, None] + (outer * stride[:, :1, None] + inner) * width
        lanes = which[:, None] * WARP + np.arange(f.elements) // f.per_lane
        return at, lanes.reshape(at.shape)

    def _check(self, st: State, which: Array, base: Array, step: Array) -> None:
        """All lanes name one address and stride; rows (or columns) are aligned (PTX ISA, "Matrix Storage for WMMA").

        The CUDA C++ guide is content with strides of 16 bytes, and so are GPUs.
        """
        differ = (base != base[:, :1]) | (step != step[:, :1])
        if differ.any() and st.checks.convergence:
            warp, lane = (int(x[0]) for x in np.nonzero(differ))
            first = int(which[warp]) * WARP
            raise report(st, "convergence", self.site, "the threads of a warp name different matrices",
                         lanes=[first, first + lane], hint="give all threads of the warp one address and one stride")  # fmt: skip
        size = self.fragment.registers * self.fragment.register.bytes
        wrong = (base[:, 0] % size != 0) | (step[:, 0] % min(size, 16) != 0)
        if wrong.any() and st.checks.alignment:
            warp = int(np.flatnonzero(wrong)[0])
            message = f"the matrix does not begin at a multiple of {size} bytes, or its stride is no multiple of {min(size, 16)}"
            raise report(st, "alignment", self.site, message, lanes=[int(which[warp]) * WARP],
                         hint="align the matrix and its leading dimension")  # fmt: skip

    def load(self, st: State, at: Array, lanes: Array) -> Array:
        width = self.fragment.bits // 8
        flat, who = at.reshape(-1), lanes.reshape(-1)
        if self.space == "shared":
            raw = st.shared.load(st, self.site, flat, who, width)
        elif self.space:
            raw = st.memory.load(st, self.site, flat, who, width)
        else:
            raw = generic_load(st, self.site, flat, who, width, Order.WEAK)
        st.counters.whole(self.space, width, at.reshape(at.shape[0], -1), storing=False)
        return raw.reshape(at.shape)

    def store(self, st: State, at: Array, lanes: Array, matrix: Array) -> None:
        width = self.fragment.bits // 8
        raw = np.ascontiguousarray(matrix).reshape(-1).view(CELL[width])
        flat, who = at.reshape(-1), lanes.reshape(-1)
        if self.space == "shared":
            st.shared.store(st, self.site, flat, who, width, raw)
        elif self.space:
            st.memory.store(st, self.site, flat, who, width, raw)
        else:
            generic_store(st, self.site, flat, who, width, raw, Order.WEAK)
        st.counters.whole(self.space, width, at.reshape(at.shape[0], -1), storing=True)


# -- multiply -----------------------------------------------------------------------------------------------------


def _multiply(ctx: Context) -> Made:
    saturate = ctx.mods[-1] == "satfinite"
    mods = without_options(ctx.mods[: len(ctx.mods) - saturate], 6)
    if (
        "satfinite" in ctx.mods[: len(ctx.mods) - saturate]
        or mods[2:3] != ["aligned"]
        or len(mods) not in (8, 10)
        or any(m not in ("row", "col") for m in mods[3:5])
    ):
        raise ctx.unknown()
    d_kind, *factors, c_kind = mods[6:]
    a_kind, b_kind = factors or ("f16", "f16")
    known = a_kind in _SHAPES and mods[5] in _SHAPES[a_kind] and {d_kind, c_kind} <= set(_ACCUMULATORS[a_kind])
    if not known or a_kind != b_kind or (factors and a_kind == "f16") or (saturate and d_kind != "s32"):
        raise ctx.unknown()
    shape = _shape(mods[5])
    ctx.count(4)
    a, b, c, d = (
        _fragment(role, kind, shape) for role, kind in zip("abcd", (a_kind, b_kind, c_kind, d_kind), strict=True)
    )
    out = [ctx.dst(o, d.register) for o in vector(ctx, ctx.operands[0], d.registers, "D")]
    sources = [_sources(ctx, o, f, n) for o, f, n in zip(ctx.operands[1:], (a, b, c), "ABC", strict=True)]
    element, flops = ELEMENTS[a_kind], 2 * shape[0] * shape[1] * shape[2]

    def run(st: State, mask: Mask) -> None:
        warps = active_warps(st, mask)
        left, right, third = (
            values(f, [by_warp(st, s, warps) for s in slots]) for f, slots in zip((a, b, c), sources, strict=True)
        )
        decoded = element.decode(left), element.decode(right)
        addend = third.view({"f16": np.float16, "f32": np.float32, "s32": np.int32, "f64": np.float64}[c_kind])
        if st.exact_mma and c_kind == d_kind and c_kind in ("f16", "f32"):
            total = multiply_add(*decoded, addend, a_kind, d_kind)
        else:
            total = ordered_product(*decoded) + addend
        for s, value in zip(out, spread(d, _round(total, d_kind, saturate)), strict=True):
            put_warps(st, mask, s, warps, value)
        st.counters.mma(decoded[0].shape[0], flops)

    return Made(run, "mma", sync=-1)


def _sources(ctx: Context, operand: Operand, fragment: Fragment, name: str) -> list[int]:
    if isinstance(operand, Addr):
        raise ctx.fail("unexpected address")
    return [ctx.src(o, fragment.register) for o in vector(ctx, operand, fragment.registers, name)]


def _round(total: Array, kind: str, saturate: bool) -> Array:
    """Sums to the bits of the result type."""
    if kind == "s32":
        wide = np.clip(total, -(2.0**31), 2.0**31 - 1) if saturate else total
        return wide.astype(np.int64).astype(np.int32).view(np.uint32)
    target = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]
    return total.astype(target).view(f"u{np.dtype(target).itemsize}")
