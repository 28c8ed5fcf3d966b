"""cvt between every pair of integer and floating types, packed pairs, and cvt.pack (PTX ISA, "Data Movement and Conversion
Instructions: cvt, cvt.pack").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism_mlir.runtime.ptx.numerics import bf16_to_f32, directed, f32_to_bf16, flush32, narrow_bits, odd64_to_f32
from prism_mlir.runtime.ptx.table import Context, Made, op, pure, pure_run
from prism_mlir.runtime.ptx.types import SCALARS, UNSIGNED, Array, Scalar

F32 = np.dtype(np.float32)
_MODES = ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")
_TO_INT: dict[str, Callable[[Array], Array]] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
Bits = Callable[[Array], Array]


@op("cvt")
def cvt(ctx: Context) -> Made:
    if len(ctx.mods) < 2:
        raise ctx.unknown()
    if ctx.mods[0] == "pack":
        return _pack_integers(ctx)
    dst, src = ctx.scalar(ctx.mods[-2]), ctx.scalar(ctx.mods[-1])
    flags = ctx.mods[:-2]
    if any(f not in (*_MODES, "ftz", "sat", "satfinite", "relu") for f in flags):
        raise ctx.unknown()
    modes = [f for f in flags if f in _MODES]
    if len(modes) > 1:
        raise ctx.unknown()
    mode = modes[0] if modes else ""
    if dst.kind in ("fx2", "bfx2"):
        return _packed(ctx, dst, src, mode, frozenset(flags))
    fn = _conversion(ctx, dst, src, mode, frozenset(flags))
    ctx.count(2)
    s = ctx.src(ctx.operands[1], src, wider=True)
    d = ctx.dst(ctx.operands[0], dst, wider=True)
    return Made(pure_run(_fit(fn, src, dst, ctx.layout.scalars[s], ctx.layout.scalars[d]), d, [s]), "cvt")


def _fit(fn: Bits, src: Scalar, dst: Scalar, have: Scalar, into: Scalar) -> Bits:
    """Take the low bits of a wider source register; extend the result to a wider destination register by its sign."""
    cut = UNSIGNED[src.bits] if have.bits > src.bits else None
    grow = into.storage if into.bits > dst.bits else None
    if cut is None and grow is None:
        return fn

    def run(a: Array) -> Array:
        value = fn(a if cut is None else a.astype(cut))
        if grow is None:
            return value
        if dst.is_signed:
            return value.view(dst.value).astype(np.dtype(f"i{grow.itemsize}")).view(grow)
        return value.astype(grow)

    return run


def _conversion(ctx: Context, dst: Scalar, src: Scalar, mode: str, flags: frozenset[str]) -> Bits:
    extra = flags - {mode}
    if not _is_form(dst, src, mode, extra):
        raise ctx.unknown()
    if src.is_float and dst.is_float:
        return _float_to_float(dst, src, mode, extra)
    if src.is_float:
        return _float_to_int(dst, src, mode, extra)
    if dst.is_float:
        return _int_to_float(dst, src, mode, extra)
    return _int_to_int(dst, src, "sat" in extra)


_TO_INTEGRAL = frozenset({"rni", "rzi", "rmi", "rpi"})
_TO_FLOAT = frozenset({"rn", "rz", "rm", "rp"})
_NONE = frozenset({""})
# Rounding modes and other modifiers of each pair of floating types; .relu and .satfinite: see _is_form.
_FLOAT_FORMS: dict[tuple[str, str], tuple[frozenset[str], str]] = {
    ("f16", "f16"): (_TO_INTEGRAL | _NONE, "sat"),
    ("bf16", "bf16"): (_TO_INTEGRAL, ""),
    ("f32", "f32"): (_TO_INTEGRAL | _NONE, "ftz sat"),
    ("f64", "f64"): (_TO_INTEGRAL | _NONE, "sat"),
    ("f32", "f16"): (_NONE, "ftz sat"),
    ("f64", "f16"): (_NONE, "sat"),
    ("f64", "f32"): (_NONE, "ftz sat"),
    ("f32", "bf16"): (_TO_FLOAT | _NONE, "ftz"),
    ("f64", "bf16"): (_TO_FLOAT | _NONE, ""),
    ("f16", "f32"): (_TO_FLOAT, "ftz sat"),
    ("f16", "f64"): (_TO_FLOAT, "sat"),
    ("f32", "f64"): (_TO_FLOAT, "ftz sat"),
    ("bf16", "f32"): (_TO_FLOAT, "ftz"),
    ("bf16", "f64"): (_TO_FLOAT, ""),
    ("bf16", "f16"): (_TO_FLOAT, ""),
    ("f16", "bf16"): (_TO_FLOAT, ""),
    ("tf32", "f32"): (frozenset({"rn", "rz", "rna"}), ""),
}


def _is_form(dst: Scalar, src: Scalar, mode: str, extra: frozenset[str]) -> bool:
    """Whether the conversion exists, as ptxas 13.0 takes it."""
    clamping = {"relu", "satfinite"}
    if src.is_float and dst.is_float:
        modes, known = _FLOAT_FORMS.get((dst.name, src.name), (frozenset(), ""))
        if extra & clamping:
            if src.name != "f32" or extra - clamping:
                return False
            if dst.name == "tf32" and mode == "rna":
                return "relu" not in extra
            return mode in ("rn", "rz") and dst.name in ("f16", "bf16", "tf32")
        return mode in modes and extra <= set(known.split())
    if src.kind not in ("u", "s", "f", "bf") or dst.kind not in ("u", "s", "f", "bf"):
        return False
    brain = "bf" in (src.kind, dst.kind)
    if src.is_float or dst.is_float:
        modes = _TO_INTEGRAL if src.is_float else _TO_FLOAT
        known = "" if brain else "ftz sat" if "f32" in (src.name, dst.name) else "sat"
        return mode in modes and extra <= set(known.split()) and not (brain and 8 in (src.bits, dst.bits))
    (low, high), (source_low, source_high) = _int_range(dst), _int_range(src)
    fits = low <= source_low and source_high <= high
    return not mode and extra <= ({"sat"} if not fits else set())


def _int_range(kind: Scalar) -> tuple[int, int]:
    return (-(1 << (kind.bits - 1)) if kind.is_signed else 0), (1 << (kind.bits - kind.is_signed)) - 1


def _int_to_int(dst: Scalar, src: Scalar, saturate: bool) -> Bits:
    if not saturate:
        return lambda a: a.view(src.value).astype(dst.value).view(dst.storage)
    (low, high), (source_low, source_high) = _int_range(dst), _int_range(src)
    low, high = max(low, source_low), min(high, source_high)
    kind = src.value.type
    return lambda a: np.clip(a.view(src.value), kind(low), kind(high)).astype(dst.value).view(dst.storage)


def _widen(src: Scalar, ftz: bool) -> Bits:
    """Register bits to floating values: f32 stays f32, halves become f32."""
    if src.kind == "bf":
        return bf16_to_f32
    if src.name == "f16":
        return lambda a: a.view(np.float16).astype(np.float32)
    if src.name == "f64":
        return lambda a: a.view(np.float64)
    return (lambda a: flush32(a.view(np.float32))) if ftz else (lambda a: a.view(np.float32))


def _float_to_int(dst: Scalar, src: Scalar, mode: str, flags: frozenset[str]) -> Bits:
    """Rounded, then clamped to the range of the target; NaN gives 0, or the top bit when either type has 64 bits."""
    to_int, widen = _TO_INT[mode], _widen(src, "ftz" in flags)
    low, high = _int_range(dst)
    nan = 1 << (dst.bits - 1) if src.bits == 64 or dst.bits == 64 else 0
    storage = dst.storage.type

    def fn(a: Array) -> Array:
        rounded = to_int(widen(a).astype(np.float64))
        inside = np.where((rounded >= low) & (rounded < float(high) + (1 if dst.bits < 53 else 0)), rounded, 0)
        bits = inside.astype(np.uint64 if dst.name == "u64" else np.int64).astype(dst.storage)
        bits = np.where(rounded >= float(high), storage(high), bits)
        bits = np.where(rounded < low, storage(low & ((1 << dst.bits) - 1)), bits)
        return np.where(np.isnan(rounded), storage(nan), bits)

    return fn


def _int_to_float(dst: Scalar, src: Scalar, mode: str, flags: frozenset[str]) -> Bits:
    value = src.value

    def fn(a: Array) -> Array:
        odd = _int_odd(a.view(value))
        if dst.kind == "bf":
            return f32_to_bf16(odd64_to_f32(odd), mode)
        if dst.bits == 64:
            return _int_to_f64(a.view(value), mode).view(np.uint64)
        result = directed(odd, dst.value, mode)
        if "sat" in flags:
            result = np.clip(result, 0, 1).astype(dst.value)
        return result.view(dst.storage)

    return fn


def _int_odd(x: Array) -> Array:
    """Integers in f64, rounded to odd (exact below 2**53).

    Clearing eleven low bits leaves at most 53 significant ones; the lowest of these says whether something was lost.
    """
    near = x.astype(np.float64)
    if x.dtype.itemsize < 8:
        return near
    low, odd = x.dtype.type(0x7FF), x.dtype.type(0x800)
    sticky = np.where((x & low) != 0, (x & ~low) | odd, x)
    return np.where(np.abs(near) >= 2.0**53, sticky.astype(np.float64), near)


def _int_to_f64(x: Array, mode: str) -> Array:
    near = x.astype(np.float64)
    if mode == "rn" or x.dtype.itemsize < 8:
        return near
    exact = [int(v) for v in x]
    errors = np.array([float(np.sign(e - int(n))) for e, n in zip(exact, near, strict=True)])
    from prism_mlir.runtime.ptx.numerics import directed64

    return directed64(near, errors, mode)


def _float_to_float(dst: Scalar, src: Scalar, mode: str, flags: frozenset[str]) -> Bits:
    widen = _widen(src, "ftz" in flags)
    if dst.kind == "tf":
        return lambda a: _clamp(
            narrow_bits(_relu(a.view(np.float32), flags), 13, mode) << np.uint32(13), flags, 0x7F7FE000
        )
    same = (dst.kind, dst.bits) == (src.kind, src.bits)
    if same:
        return _round_in_place(dst, mode, flags, widen)
    narrowing = dst.bits <= src.bits
    if dst.kind == "bf":
        return lambda a: _clamp(_to_bf16(_relu(widen(a), flags), mode), flags, 0x7F7F)
    kind = dst.value
    biggest = int(np.finfo(kind).max.view(dst.storage))

    def fn(a: Array) -> Array:
        value = _relu(widen(a), flags)
        result = value.astype(kind) if not narrowing or mode == "rn" else directed(value.astype(np.float64), kind, mode)
        if "sat" in flags:
            result = np.where(result > 0, np.minimum(result, kind.type(1)), kind.type(0)).astype(kind)
        if "ftz" in flags and dst.name == "f32":
            result = flush32(result)
        return _clamp(result.view(dst.storage), flags, biggest)

    return fn


def _to_bf16(value: Array, mode: str) -> Array:
    return f32_to_bf16(odd64_to_f32(value) if value.dtype == np.float64 else value, mode)


def _relu(value: Array, flags: frozenset[str]) -> Array:
    return np.where(value < 0, value.dtype.type(0), value) if "relu" in flags else value


def _clamp(bits: Array, flags: frozenset[str], biggest: int) -> Array:
    """``.satfinite``: infinities become the largest finite value, NaN stays NaN."""
    if "satfinite" not in flags:
        return bits
    sign = bits & bits.dtype.type(1 << (bits.dtype.itemsize * 8 - 1))
    magnitude = bits ^ sign
    infinity = {0x7F7F: 0x7F80, 0x7F7FE000: 0x7F800000, 0x7BFF: 0x7C00, 0x7F7FFFFF: 0x7F800000}.get(biggest, -1)
    return np.where(magnitude == infinity, sign | bits.dtype.type(biggest), bits).astype(bits.dtype)


def _round_in_place(scalar: Scalar, mode: str, flags: frozenset[str], widen: Bits) -> Bits:
    """``cvt.rni.f32.f32`` and its like: round to an integral value; without a mode only ftz and sat act."""
    to_int = _TO_INT[mode] if mode else None

    def fn(a: Array) -> Array:
        value = widen(a)
        if to_int is not None:
            value = to_int(value)
        if scalar.kind == "bf":
            return f32_to_bf16(value)
        value = value.astype(scalar.value)
        if "sat" in flags:
            value = np.where(value > 0, np.minimum(value, scalar.value.type(1)), scalar.value.type(0))
        return value.astype(scalar.value).view(scalar.storage)

    return fn


def _packed(ctx: Context, dst: Scalar, src: Scalar, mode: str, flags: frozenset[str]) -> Made:
    """Two f32 to a packed pair: the first source becomes the upper half."""
    if src.name != "f32" or mode not in ("rn", "rz") or "sat" in flags or "ftz" in flags:
        raise ctx.unknown()
    half: Bits
    if dst.kind == "bfx2":
        half = lambda x: _clamp(f32_to_bf16(_relu(x, flags), mode), flags, 0x7F7F)  # noqa: E731
    else:
        kind = np.dtype(np.float16)
        half = lambda x: _clamp(directed(_relu(x, flags).astype(np.float64), kind, mode).view(np.uint16), flags, 0x7BFF)  # noqa: E731

    def fn(a: Array, b: Array) -> Array:
        high, low = half(a.view(np.float32)), half(b.view(np.float32))
        return (high.astype(np.uint32) << np.uint32(16)) | low

    return pure(ctx, "cvt", fn, dst, src, src)


_PACKED = {f"{sign}{bits}": (sign, bits) for sign in "us" for bits in (16, 8, 4, 2)}


def _pack_integers(ctx: Context) -> Made:
    """cvt.pack: ``a`` and ``b``, clamped to a narrow type, with ``b`` lowest; the low bits of ``c`` move up above them."""
    mods = ctx.mods
    if mods[1:2] != ("sat",) or len(mods) < 4 or mods[2] not in _PACKED or mods[3] != "s32":
        raise ctx.unknown()
    sign, bits = _PACKED[mods[2]]
    if mods[4:] != (() if bits == 16 else ("b32",)):
        raise ctx.unknown()
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if sign == "s" else (0, (1 << bits) - 1)
    word, signed, every = SCALARS["b32"], SCALARS["s32"], np.uint32((1 << bits) - 1)

    def narrow(x: Array) -> Array:
        return np.clip(x.view(np.int32), np.int32(low), np.int32(high)).view(np.uint32) & every

    def pair(a: Array, b: Array) -> Array:
        return (narrow(a) << np.uint32(bits)) | narrow(b)

    if bits == 16:
        return pure(ctx, "cvt", pair, word, signed, signed)
    return pure(ctx, "cvt", lambda a, b, c: (c << np.uint32(2 * bits)) | pair(a, b), word, signed, signed, word)
