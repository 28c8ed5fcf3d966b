"""Dot products of packed integers: dp4a and dp2a (PTX ISA, "Integer Arithmetic Instructions: dp4a, dp2a")."""

from __future__ import annotations

import numpy as np

from prism_mlir.runtime.ptx.table import Context, Made, op, pure
from prism_mlir.runtime.ptx.types import SCALARS, SIGNED, UNSIGNED, Array


def _types(ctx: Context, mods: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether the elements of the first, and of the second operand are signed."""
    if len(mods) != 2 or any(m not in ("u32", "s32") for m in mods):
        raise ctx.unknown()
    return mods[0] == "s32", mods[1] == "s32"


def _part(a: Array, signed: bool, bits: int, i: int) -> Array:
    """Element ``i`` of ``bits`` bits, extended to 32."""
    element = (a >> np.uint32(bits * i)).astype(UNSIGNED[bits])
    return element.view(SIGNED[bits]).astype(np.int32).view(np.uint32) if signed else element.astype(np.uint32)


def _dot(ctx: Context, signed: tuple[bool, bool], bits: tuple[int, int], first: int, count: int) -> Made:
    """``c`` plus the products of ``count`` elements, those of the second operand from element ``first`` on, modulo 2**32."""
    scalar = SCALARS["s32" if any(signed) else "u32"]

    def fn(a: Array, b: Array, c: Array) -> Array:
        for i in range(count):
            c = c + _part(a, signed[0], bits[0], i) * _part(b, signed[1], bits[1], first + i)
        return c

    return pure(ctx, "imad", fn, scalar, SCALARS["b32"], SCALARS["b32"], scalar)


@op("dp4a")
def dp4a(ctx: Context) -> Made:
    return _dot(ctx, _types(ctx, ctx.mods), (8, 8), 0, 4)


@op("dp2a")
def dp2a(ctx: Context) -> Made:
    """Two 16-bit elements times the lower, or the upper, two of four bytes."""
    if ctx.mods[:1] not in (("lo",), ("hi",)):
        raise ctx.unknown()
    return _dot(ctx, _types(ctx, ctx.mods[1:]), (16, 8), 0 if ctx.mods[0] == "lo" else 2, 2)
