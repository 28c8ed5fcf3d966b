"""Logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions", and prmt, bfe, bfi, bfind, brev, clz, popc,
lop3, shf, szext, fns).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from prism_mlir.runtime.ptx.program import IntImm
from prism_mlir.runtime.ptx.table import Context, Made, op, pure, pure_run
from prism_mlir.runtime.ptx.types import SCALARS, UNSIGNED, Array, Scalar

U32 = SCALARS["u32"]
B32 = SCALARS["b32"]
_LOGIC: dict[str, Callable[..., Array]] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@op("and", "or", "xor")
def logic(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.kind not in ("b", "p") or scalar.bits == 8:
        raise ctx.unknown()
    return pure(ctx, "alu", _LOGIC[ctx.instruction.opcode], scalar, scalar, scalar)


@op("not")
def invert(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.kind not in ("b", "p"):
        raise ctx.unknown()
    return pure(ctx, "alu", np.invert, scalar, scalar)


@op("cnot")
def cnot(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.kind != "b" or scalar.bits == 8:
        raise ctx.unknown()
    return pure(ctx, "alu", lambda a: (a == 0).astype(scalar.storage), scalar, scalar)


def shift_left(a: Array, amount: Array) -> Array:
    """Amounts of the width and more give 0."""
    bits = a.dtype.itemsize * 8
    value: Array = np.left_shift(a, np.minimum(amount, bits).astype(a.dtype))
    return value


def shift_right(a: Array, amount: Array, signed: np.dtype[Any] | None) -> Array:
    """Amounts of the width and more give 0, or the sign."""
    bits = a.dtype.itemsize * 8
    if signed is None:
        shifted: Array = np.right_shift(a, np.minimum(amount, bits).astype(a.dtype))
        return shifted
    kept: Array = np.right_shift(a.view(signed), np.minimum(amount, bits - 1).astype(signed))
    return kept.view(a.dtype)


@op("shl")
def shl(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.kind != "b":
        raise ctx.unknown()
    return pure(ctx, "alu", shift_left, scalar, scalar, U32)


@op("shr")
def shr(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.kind not in ("b", "u", "s"):
        raise ctx.unknown()
    signed = scalar.value if scalar.is_signed else None
    return pure(ctx, "alu", lambda a, n: shift_right(a, n, signed), scalar, scalar, U32)


@op("shf")
def shf(ctx: Context) -> Made:
    """Funnel shift of the 64 bits ``b:a``."""
    if (
        len(ctx.mods) != 3
        or ctx.mods[0] not in ("l", "r")
        or ctx.mods[1] not in ("wrap", "clamp")
        or ctx.mods[2] != "b32"
    ):
        raise ctx.unknown()
    left, wrap = ctx.mods[0] == "l", ctx.mods[1] == "wrap"

    def fn(a: Array, b: Array, c: Array) -> Array:
        amount = (c & np.uint32(31) if wrap else np.minimum(c, 32)).astype(np.uint64)
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        if left:
            return ((both << amount) >> np.uint64(32)).astype(np.uint32)
        return (both >> amount).astype(np.uint32)

    return pure(ctx, "alu", fn, B32, B32, B32, U32)


@op("lop3")
def lop3(ctx: Context) -> Made:
    """Any function of three bits; bit ``4a + 2b + c`` of the table is the result."""
    if ctx.mods != ("b32",):
        raise ctx.unknown()
    ctx.count(5)
    table = ctx.operands[4]
    if not isinstance(table, IntImm) or not 0 <= table.value <= 255:
        raise ctx.fail("the table of lop3 must be a literal from 0 to 255")
    d = ctx.dst(ctx.operands[0], B32)
    slots = [ctx.src(o, B32) for o in ctx.operands[1:4]]
    rows = [i for i in range(8) if table.value >> i & 1]

    def fn(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros(1, dtype=np.uint32)
        for i in rows:
            result = result | ((a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c))
        return result

    return Made(pure_run(fn, d, slots), "alu")


@op("popc")
def popc(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.name not in ("b32", "b64"):
        raise ctx.unknown()
    return pure(ctx, "alu", lambda a: np.bitwise_count(a).astype(np.uint32), U32, scalar)


def leading_bit(a: Array) -> Array:
    """Position of the highest set bit, -1 for 0, exact for 64 bits."""
    bits = a.dtype.itemsize * 8
    spread = a.copy()
    shift = 1
    while shift < bits:
        spread |= spread >> a.dtype.type(shift)
        shift *= 2
    return np.bitwise_count(spread).astype(np.int32) - 1


@op("clz")
def clz(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.name not in ("b32", "b64"):
        raise ctx.unknown()
    top = scalar.bits - 1
    return pure(ctx, "alu", lambda a: (top - leading_bit(a)).astype(np.uint32), U32, scalar)


@op("bfind")
def bfind(ctx: Context) -> Made:
    """The highest bit that differs from the sign; ``.shiftamt`` gives the left shift that brings it to the top."""
    scalar, flags = ctx.take("shiftamt")
    if scalar.bits not in (32, 64) or scalar.kind not in ("u", "s"):
        raise ctx.unknown()
    value, storage, top = scalar.value, scalar.storage, scalar.bits - 1

    def fn(a: Array) -> Array:
        if scalar.is_signed:
            a = np.where(a.view(value) < 0, ~a, a).astype(storage)
        at = leading_bit(a)
        if "shiftamt" in flags:
            at = np.where(at < 0, at, top - at)
        return at.astype(np.int32).view(np.uint32)

    return pure(ctx, "alu", fn, U32, scalar)


@op("brev")
def brev(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.name not in ("b32", "b64"):
        raise ctx.unknown()
    kind = UNSIGNED[scalar.bits]
    masks = {32: (0x55555555, 0x33333333, 0x0F0F0F0F), 64: (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)}

    def fn(a: Array) -> Array:
        for shift, m in zip((1, 2, 4), masks[scalar.bits], strict=True):
            a = ((a >> kind(shift)) & kind(m)) | ((a & kind(m)) << kind(shift))
        return a.byteswap()

    return pure(ctx, "alu", fn, scalar, scalar)


@op("bfe")
def bfe(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.bits not in (32, 64) or scalar.kind not in ("u", "s"):
        raise ctx.unknown()
    return pure(ctx, "alu", lambda a, b, c: bit_field(a, b, c, scalar), scalar, scalar, U32, U32)


def bit_field(a: Array, start: Array, length: Array, scalar: Scalar) -> Array:
    """``length`` bits of ``a`` from bit ``start``, the rest filled with zeros or with the field's sign."""
    storage, bits = scalar.storage, scalar.bits
    pos = np.minimum(start & np.uint32(255), bits).astype(storage)
    size = np.minimum(length & np.uint32(255), bits).astype(storage)
    field: Array = np.right_shift(a, pos) & low_bits(size, bits)
    if not scalar.is_signed:
        return field
    last = np.minimum(pos.astype(np.int64) + size.astype(np.int64) - 1, bits - 1)
    sign = np.where(size == 0, 0, (a >> np.maximum(last, 0).astype(storage)) & storage.type(1)).astype(bool)
    value: Array = np.where(sign, field | ~low_bits(np.minimum(size, bits - np.minimum(pos, bits)), bits), field)
    return value.astype(storage)


def low_bits(size: Array, bits: int) -> Array:
    """A mask of the lowest ``size`` bits; all of them when ``size`` is the width."""
    kind = UNSIGNED[bits]
    size = size.astype(kind)
    return np.where(size >= bits, kind((1 << bits) - 1), np.left_shift(kind(1), np.minimum(size, bits - 1)) - kind(1))


@op("bfi")
def bfi(ctx: Context) -> Made:
    scalar, _ = ctx.take()
    if scalar.name not in ("b32", "b64"):
        raise ctx.unknown()
    bits, storage = scalar.bits, scalar.storage

    def fn(a: Array, b: Array, start: Array, length: Array) -> Array:
        pos = np.minimum(start & np.uint32(255), bits).astype(storage)
        size = np.minimum(length & np.uint32(255), bits).astype(storage)
        where = np.left_shift(low_bits(size, bits), pos)
        value: Array = (b & ~where) | (np.left_shift(a, pos) & where)
        return value

    return pure(ctx, "alu", fn, scalar, scalar, scalar, U32, U32)


@op("prmt")
def prmt(ctx: Context) -> Made:
    """Pick four bytes out of the eight of ``b:a``; bit 3 of a selector replicates the byte's sign."""
    mods = ctx.mods
    if mods[:1] != ("b32",) or len(mods) > 2:
        raise ctx.unknown()
    mode = mods[1] if len(mods) == 2 else ""
    if mode not in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        raise ctx.unknown()

    def fn(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        result = np.zeros(1, dtype=np.uint32)
        for i in range(4):
            selector = _selector(c, i, mode)
            byte = (both >> ((selector & np.uint32(7)).astype(np.uint64) * np.uint64(8))).astype(np.uint32) & np.uint32(
                255
            )
            sign = np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0))
            byte = np.where(selector & np.uint32(8), sign, byte)
            result = result | (byte << np.uint32(8 * i))
        return result

    return pure(ctx, "alu", fn, B32, B32, B32, B32)


def _selector(c: Array, i: int, mode: str) -> Array:
    if not mode:
        return (c >> np.uint32(4 * i)) & np.uint32(15)
    n = c & np.uint32(3)
    if mode == "f4e":
        return n + np.uint32(i)
    if mode == "b4e":
        return (n - np.uint32(i)) & np.uint32(7)
    if mode == "rc8":
        return n
    if mode == "ecl":
        higher: Array = np.maximum(n, i).astype(np.uint32)
        return higher
    if mode == "ecr":
        lower: Array = np.minimum(n, i).astype(np.uint32)
        return lower
    return (n & np.uint32(1)) * np.uint32(2) + np.uint32(i & 1)


@op("bmsk")
def bmsk(ctx: Context) -> Made:
    """``b`` ones from bit ``a`` on."""
    if len(ctx.mods) != 2 or ctx.mods[0] not in ("clamp", "wrap") or ctx.mods[1] != "b32":
        raise ctx.unknown()
    wrap = ctx.mods[0] == "wrap"

    def fn(a: Array, b: Array) -> Array:
        if wrap:
            a, b = a & np.uint32(31), b & np.uint32(31)
        return np.left_shift(low_bits(np.minimum(b, 32), 32), np.minimum(a, 32).astype(np.uint32))

    return pure(ctx, "alu", fn, B32, B32, B32)


@op("szext")
def szext(ctx: Context) -> Made:
    """The lowest ``b`` bits of ``a``, extended by zeros or by their sign; with ``.clamp`` more than 31 are all."""
    if len(ctx.mods) != 2 or ctx.mods[0] not in ("clamp", "wrap") or ctx.mods[1] not in ("u32", "s32"):
        raise ctx.unknown()
    scalar = ctx.scalar(ctx.mods[1])
    wrap = ctx.mods[0] == "wrap"

    def fn(a: Array, b: Array) -> Array:
        size = b & np.uint32(31) if wrap else np.minimum(b, 32)
        return bit_field(a, np.zeros(1, dtype=np.uint32), size.astype(np.uint32), scalar)

    return pure(ctx, "alu", fn, scalar, scalar, U32)


@op("fns")
def fns(ctx: Context) -> Made:
    """The ``n``-th set bit of a mask, counted from bit ``base`` on, downwards for a negative ``n``; all ones if there is none.

    ``n`` = 0 asks for bit ``base`` itself. A base above 31 is undefined; here nothing is found.
    """
    if ctx.mods != ("b32",):
        raise ctx.unknown()

    def fn(mask: Array, base: Array, offset: Array) -> Array:
        mask, base, n = np.broadcast_arrays(mask, base, offset.view(np.int32).astype(np.int64))
        left, step = np.abs(n), np.sign(n)
        found = np.full(mask.shape, 0xFFFFFFFF, dtype=np.uint32)
        at = base.astype(np.int64)
        left = np.maximum(left, 1)
        for _ in range(32):
            inside = (at >= 0) & (at < 32)
            bit = inside & ((mask >> np.clip(at, 0, 31).astype(np.uint32)) & np.uint32(1)).astype(np.bool_)
            left = left - bit
            found = np.where(bit & (left == 0), at.astype(np.uint32), found)
            at = np.where(step == 0, 32, at + step)
        return found

    return pure(ctx, "alu", fn, B32, B32, B32, SCALARS["s32"])
