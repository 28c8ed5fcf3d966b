"""cvt between all kinds, against Python's integers and exact rational rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from ptx_harness import NUMPY, kernel, launch, run_op, run_ops
from test_float import F32_EDGES, round_exact
from test_int_arith import column, edges, wrap

from prism_mlir.runtime.ptx import PtxSyntaxError

RNG = np.random.default_rng(11)
INTS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
LIMITS = {"f16": (11, -24, 65504.0), "bf16": (8, -133, 3.3895313892515355e38), "f32": (24, -149, 3.4028234663852886e38),
          "f64": (53, -1074, 1.7976931348623157e308)}  # fmt: skip


def int_range(kind: str) -> tuple[int, int]:
    bits = int(kind[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


@pytest.mark.parametrize("src", INTS)
def test_int_to_int(src: str) -> None:
    values = edges(src)
    got = run_ops([(f"cvt.{dst}.{src} %d, %a;", dst) for dst in INTS], [(src, column(values, src))])
    for dst, result in zip(INTS, got, strict=True):
        assert result.tolist() == [wrap(v, dst) for v in values]


@pytest.mark.parametrize("src", INTS)
def test_int_to_int_saturates(src: str) -> None:
    """``.sat`` is allowed only where the result may not fit."""
    values, (source_low, source_high) = edges(src), int_range(src)
    inside = [dst for dst in INTS if int_range(dst)[0] <= source_low and source_high <= int_range(dst)[1]]
    for dst in inside:
        with pytest.raises(PtxSyntaxError, match="unknown instruction"):
            run_op(f"cvt.sat.{dst}.{src} %d, %a;", [(src, column(values, src))], dst)
    others = [dst for dst in INTS if dst not in inside]
    if not others:
        return
    got = run_ops([(f"cvt.sat.{dst}.{src} %d, %a;", dst) for dst in others], [(src, column(values, src))])
    for dst, result in zip(others, got, strict=True):
        low, high = int_range(dst)
        assert result.tolist() == [max(low, min(high, v)) for v in values]


def floats(kind: str) -> np.ndarray:
    base = np.concatenate(
        [F32_EDGES.astype(np.float64), RNG.uniform(-300, 300, 60), RNG.uniform(-1, 1, 20) * 1e19, np.arange(-4, 5) / 2,
         [2147483647.5, 2147483648.0, -2147483649.0, 4294967295.0, 4294967296.0, 9.3e18, 1.9e19, -9.3e18, 255.5, 65535.5]]
    )  # fmt: skip
    with np.errstate(all="ignore"):
        return base.astype(NUMPY[kind])


ROUND_TO_INT = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.parametrize("dst", INTS)
@pytest.mark.parametrize("src", ["f16", "f32", "f64"])
def test_float_to_int(dst: str, src: str) -> None:
    values = floats(src)
    got = run_ops([(f"cvt.{mode}.{dst}.{src} %d, %a;", dst) for mode in ROUND_TO_INT], [(src, values)])
    for rounding, result in zip(ROUND_TO_INT.values(), got, strict=True):
        assert result.tolist() == [to_int(float(v), dst, src, rounding) for v in values]


def to_int(v: float, dst: str, src: str, rounding: Callable[[Fraction], int]) -> int:
    """Rounded and clamped; NaN gives 0, or the top bit where either type has 64 bits."""
    low, high = int_range(dst)
    if math.isnan(v):
        return wrap(1 << (int(dst[1:]) - 1), dst) if dst[1:] == "64" or src == "f64" else 0
    if math.isinf(v):
        return high if v > 0 else low
    return max(low, min(high, rounding(Fraction(v))))


@pytest.mark.parametrize("src", INTS)
def test_int_to_float(src: str) -> None:
    values = edges(src) + [wrap(int(v), src) for v in RNG.integers(0, 2**63, 40)]
    cases = [(dst, mode) for dst in ("f16", "f32", "f64") for mode in ("rn", "rz", "rm", "rp")]
    slow = [c for c in cases if c[0] == "f64" and c[1] != "rn"] if src[1:] == "64" else []
    for group, compiled in (([c for c in cases if c not in slow], True), (slow, False)):
        if not group:
            continue
        code = [(f"cvt.{mode}.{dst}.{src} %d, %a;", dst) for dst, mode in group]
        got = run_ops(code, [(src, column(values, src))], compiled=compiled)
        for (dst, mode), result in zip(group, got, strict=True):
            bits, low, high = LIMITS[dst]
            assert result.astype(np.float64).tolist() == [
                round_exact(Fraction(v), mode, bits, low, high) for v in values
            ]


@pytest.mark.parametrize("dst", ["f16", "bf16"])
def test_f32_to_half(dst: str) -> None:
    bits, low, high = LIMITS[dst]
    x = np.concatenate([F32_EDGES, RNG.integers(0, 2**32, 300, dtype=np.uint32).view(np.float32),
                        (RNG.integers(0, 2**16, 200) * 2.0**-26).astype(np.float32)])  # fmt: skip
    x = x[np.isfinite(x)]
    modes = ["rn", "rz", "rm", "rp"]
    for mode, got in zip(
        modes, run_ops([(f"cvt.{m}.{dst}.f32 %d, %a;", dst) for m in modes], [("f32", x)]), strict=True
    ):
        value = got if dst == "f16" else (got.astype(np.uint32) << 16).view(np.float32)
        exact = [round_exact(Fraction(float(v)), mode, bits, low, high) for v in x]
        assert value.astype(np.float64).tolist() == exact


def test_special_values_survive() -> None:
    x = np.array([np.inf, -np.inf, np.nan, -0.0], dtype=np.float32)
    assert run_op("cvt.rn.bf16.f32 %d, %a;", [("f32", x)], "bf16").tolist() == [0x7F80, 0xFF80, 0x7FFF, 0x8000]
    half = run_op("cvt.rn.f16.f32 %d, %a;", [("f32", x)], "f16")
    assert np.isposinf(half[0]) and np.isneginf(half[1]) and np.isnan(half[2]) and half.view(np.uint16)[3] == 0x8000
    assert run_op("cvt.rn.satfinite.f16.f32 %d, %a;", [("f32", x[:2])], "f16").tolist() == [65504.0, -65504.0]
    assert run_op("cvt.rn.relu.f16.f32 %d, %a;", [("f32", np.float32([-1, 2]))], "f16").tolist() == [0.0, 2.0]


def test_widening_is_exact() -> None:
    bits = np.arange(65536, dtype=np.uint16)
    half = bits.view(np.float16)
    got = run_op("cvt.f32.f16 %d, %a;", [("f16", half)], "f32")
    assert np.array_equal(got, half.astype(np.float32), equal_nan=True)
    got = run_op("cvt.f32.bf16 %d, %a;", [("bf16", bits)], "u32")
    assert (got == bits.astype(np.uint32) << 16).all()
    got = run_op("cvt.f64.f32 %d, %a;", [("f32", F32_EDGES)], "f64")
    assert np.array_equal(got, F32_EDGES.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_f64_to_f32(mode: str) -> None:
    x = np.concatenate(
        [RNG.standard_normal(200) * 10.0 ** RNG.integers(-45, 39, 200), [1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50]]
    )
    got = run_op(f"cvt.{mode}.f32.f64 %d, %a;", [("f64", x)], "f32")
    assert got.astype(np.float64).tolist() == [round_exact(Fraction(float(v)), mode) for v in x]


@pytest.mark.parametrize(("mode", "fn"), [("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)])
def test_rounding_to_integral_values(mode: str, fn: np.ufunc) -> None:
    for kind in ("f32", "f64"):
        x = floats(kind)
        got = run_op(f"cvt.{mode}.{kind}.{kind} %d, %a;", [(kind, x)], kind)
        assert np.array_equal(got, fn(x), equal_nan=True)


def test_packing_two_floats() -> None:
    a, b = RNG.standard_normal(64).astype(np.float32), RNG.standard_normal(64).astype(np.float32)
    got = run_op("cvt.rn.f16x2.f32 %d, %a, %b;", [("f32", a), ("f32", b)], "f16x2").view(np.float16).reshape(-1, 2)
    assert (got[:, 1] == a.astype(np.float16)).all() and (got[:, 0] == b.astype(np.float16)).all()
    got = run_op("cvt.rn.bf16x2.f32 %d, %a, %b;", [("f32", a), ("f32", b)], "bf16x2").view(np.uint16).reshape(-1, 2)
    for column_, x in ((1, a), (0, b)):
        value = (got[:, column_].astype(np.uint32) << 16).view(np.float32)
        assert value.tolist() == [round_exact(Fraction(float(v)), "rn", 8, -133, 3.39e38) for v in x]


def test_tf32_keeps_ten_bits() -> None:
    x = RNG.standard_normal(300).astype(np.float32)
    got = run_op("cvt.rna.tf32.f32 %d, %a;", [("f32", x)], "f32")
    for v, r in zip(x, got, strict=True):
        unit = Fraction(2) ** (math.frexp(float(v))[1] - 11)
        steps, rest = divmod(abs(Fraction(float(v))), unit)
        expected = (steps + (rest * 2 >= unit)) * unit * (1 if v > 0 else -1)
        assert Fraction(float(r)) == expected


def test_extension_into_wider_registers() -> None:
    """A destination register wider than the type is filled by the sign of a signed type, with zeros otherwise."""
    x = np.array([0x80, 0x7F, 0xFF], dtype=np.uint32)
    assert run_op("cvt.s8.s32 %d, %a;", [("u32", x)], "s16").tolist() == [-128, 127, -1]
    assert run_op("cvt.u8.u32 %d, %a;", [("u32", x)], "u16").tolist() == [128, 127, 255]
    assert run_op("cvt.s32.s8 %d, %a;", [("u16", x)], "s32").tolist() == [-128, 127, -1]


def brain(bits: np.ndarray) -> np.ndarray:
    """bf16 bits as f64."""
    with np.errstate(invalid="ignore"):
        return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


BRAIN = np.concatenate([[0, 0x8000, 1, 0x8001, 0x3F00, 0xBF00, 0x3FC0, 0x4020, 0xC020, 0x42FE, 0x4F00, 0xCF00, 0x7F7F, 0xFF7F],
                        RNG.integers(0, 0x7F80, 100), RNG.integers(0x8000, 0xFF80, 60)]).astype(np.uint16)  # fmt: skip


def test_from_bf16() -> None:
    value = brain(BRAIN)
    ints = [(dst, mode) for dst in ("u16", "s16", "s32", "u64", "s64") for mode in ROUND_TO_INT]
    got = run_ops([(f"cvt.{mode}.{dst}.bf16 %d, %a;", dst) for dst, mode in ints], [("bf16", BRAIN)])
    for (dst, mode), result in zip(ints, got, strict=True):
        assert result.tolist() == [to_int(float(v), dst, "bf16", ROUND_TO_INT[mode]) for v in value]
    half = [f"cvt.{mode}.f16.bf16" for mode in ("rn", "rz", "rm", "rp")]
    wide, *halves = run_ops(
        [("cvt.f64.bf16 %d, %a;", "f64"), *((f"{h} %d, %a;", "f16") for h in half)], [("bf16", BRAIN)]
    )
    assert wide.tolist() == value.tolist()
    for form, result in zip(half, halves, strict=True):
        exact = [round_exact(Fraction(float(v)), form[4:6], *LIMITS["f16"]) for v in value]
        assert result.astype(np.float64).tolist() == exact
    rounded = run_ops([(f"cvt.{mode}.bf16.bf16 %d, %a;", "bf16") for mode in ROUND_TO_INT], [("bf16", BRAIN)])
    for rounding, result in zip(ROUND_TO_INT.values(), rounded, strict=True):
        assert brain(result).tolist() == [float(rounding(Fraction(float(v)))) for v in value]


@pytest.mark.parametrize("src", ["u16", "s32", "u64", "f16", "f64"])
def test_to_bf16(src: str) -> None:
    """Rounded once: values that lie between, and just beside, two bf16 tell."""
    if src[0] == "f":
        values = np.concatenate([BRAIN.view(np.float16)[:60], [1 + 2.0**-8, 1 + 2.0**-7, 65504.0]]).astype(NUMPY[src])
        if src == "f64":
            values = np.concatenate([brain(BRAIN) * (1 + 2.0**-8), brain(BRAIN) * (1 + 2.0**-8 + 2.0**-40)])
        values = values[np.isfinite(values)]
        numbers = [Fraction(float(v)) for v in values]
    else:
        ints = [*edges(src), 257, 258, 259, 385, *(wrap(int(v), src) for v in RNG.integers(0, 2**63, 40))]
        values, numbers = column(ints, src), [Fraction(v) for v in ints]
    modes = ["rn", "rz", "rm", "rp"]
    for mode, got in zip(
        modes, run_ops([(f"cvt.{m}.bf16.{src} %d, %a;", "bf16") for m in modes], [(src, values)]), strict=True
    ):
        assert brain(got).tolist() == [round_exact(v, mode, *LIMITS["bf16"]) for v in numbers]


def test_clamping_forms() -> None:
    """.sat clamps to 0 … 1 with NaN to 0, .relu negative numbers to 0, .satfinite infinities (and overflow) to the largest."""
    x = np.float32([-2, -0.25, 0.25, 1.5, np.inf, -np.inf, np.nan, 3.4e38])
    unit = [0, 0, 0.25, 1, 1, 0, 0, 1]
    forms = ["sat.f32.f32", "rn.sat.f16.f32", "sat.f64.f32", "rni.sat.f32.f32"]
    got = run_ops([(f"cvt.{f} %d, %a;", f.split(".")[-2]) for f in forms], [("f32", x)])
    assert [g.astype(float).tolist() for g in got] == [unit, unit, unit, [0, 0, 0, 1, 1, 0, 0, 1]]
    relu, both, low = run_ops([("cvt.rz.relu.f16.f32 %d, %a;", "f16"), ("cvt.rz.relu.satfinite.f16.f32 %d, %a;", "f16"),
                               ("cvt.rn.satfinite.f16.f32 %d, %a;", "f16")], [("f32", x)])  # fmt: skip
    assert relu[:6].tolist() == [0, 0, 0.25, 1.5, np.inf, 0] and np.isnan(relu[6]) and relu[7] == 65504
    assert both[:6].tolist() == [0, 0, 0.25, 1.5, 65504, 0] and np.isnan(both[6]) and both[7] == 65504
    assert low[:6].tolist() == [-2, -0.25, 0.25, 1.5, 65504, -65504] and np.isnan(low[6]) and low[7] == 65504
    brains = run_ops(
        [("cvt.rn.relu.bf16.f32 %d, %a;", "bf16"), ("cvt.rn.satfinite.bf16.f32 %d, %a;", "bf16")], [("f32", x)]
    )
    top = 0x7F7F  # the largest bf16; 3.4e38 rounds to infinity
    assert brains[0].tolist() == [0, 0, 0x3E80, 0x3FC0, 0x7F80, 0, 0x7FFF, 0x7F80]
    assert brains[1].tolist() == [0xC000, 0xBE80, 0x3E80, 0x3FC0, top, 0x8000 | top, 0x7FFF, top]
    code = [
        ("cvt.rn.relu.satfinite.f16x2.f32 %d, %a, %b;", "f16x2"),
        ("cvt.rz.satfinite.bf16x2.f32 %d, %a, %b;", "bf16x2"),
    ]
    pairs = run_ops(code, [("f32", x), ("f32", -x)])
    halves = pairs[0].view(np.float16).reshape(-1, 2)
    assert halves[:6, 1].tolist() == [0, 0, 0.25, 1.5, 65504, 0] and halves[:6, 0].tolist() == [2, 0.25, 0, 0, 0, 65504]
    assert (pairs[1] >> 16)[:6].tolist() == [0xC000, 0xBE80, 0x3E80, 0x3FC0, top, 0x8000 | top]


def test_tf32_rounds_and_clamps() -> None:
    """Ten bits of fraction: 1 + 2^-11 lies between 1 and 1 + 2^-10; rna takes ties away from zero, rz drops them."""
    x = np.float32([1 + 2.0**-11, -(1 + 2.0**-11), 1 + 3 * 2.0**-11, 3.4028235e38, np.inf, -2.5])
    step = 2.0**-10
    rna, clamped = run_ops(
        [("cvt.rna.tf32.f32 %d, %a;", "f32"), ("cvt.rna.satfinite.tf32.f32 %d, %a;", "f32")], [("f32", x)]
    )
    assert rna.tolist() == [1 + step, -1 - step, 1 + 2 * step, np.inf, np.inf, -2.5]
    top = float(np.uint32(0x7F7FE000).view(np.float32))
    assert clamped.tolist() == [1 + step, -1 - step, 1 + 2 * step, top, top, -2.5]
    rn, rz, relu = run_ops([(f"cvt.{m}.tf32.f32 %d, %a;", "f32") for m in ("rn", "rz", "rn.relu")], [("f32", x)])
    assert rn.tolist() == [1, -1, 1 + 2 * step, np.inf, np.inf, -2.5]
    assert rz.tolist() == [1, -1, 1 + step, top, np.inf, -2.5]
    assert relu.tolist() == [1, 0, 1 + 2 * step, np.inf, np.inf, 0]


@pytest.mark.parametrize("bits", [16, 8, 4, 2])
def test_packing_of_clamped_integers(bits: int) -> None:
    a = column([*edges("s32"), 127, 128, -128, -129, 255, 256, 32767, 32768, 7, 8, -8, -9, 3, 1], "s32")
    b, c = np.roll(a, 5), RNG.integers(0, 2**32, len(a), dtype=np.uint32)
    suffix, last = ("", "") if bits == 16 else (".b32", ", %c")
    code = [(f"cvt.pack.sat.{k}{bits}.s32{suffix} %d, %a, %b{last};", "b32") for k in "us"]
    for sign, got in zip("us", run_ops(code, [("s32", a), ("s32", b), ("b32", c)]), strict=True):
        low, high = int_range(f"{sign}{bits}")
        for x, y, z, word in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
            parts = [max(low, min(high, v)) & ((1 << bits) - 1) for v in (y, x)]
            rest = 0 if bits == 16 else z << (2 * bits)
            assert word == (parts[0] | parts[1] << bits | rest) & 0xFFFFFFFF


MISSING = ["relu.f16.f16", "rn.relu.f16.f64", "rm.satfinite.bf16.f32", "rni.sat.s32.bf16", "rzi.u8.bf16", "rn.bf16.u8",
           "rn.sat.bf16.f32", "rni.ftz.s32.f64", "ftz.f16.f16", "rna.satfinite.tf32.f16", "rna.f32.f64", "f16.f32", "s32.f32",
           "f32.s32", "rn.f64.f32", "sat.s32.s16", "rn.s32.s64", "pack.u16.s32", "pack.sat.u16.u32", "pack.sat.u8.s32",
           "rn.satfinite.tf32.f32"]  # fmt: skip


@pytest.mark.parametrize("form", MISSING)
def test_forms_that_do_not_exist(form: str) -> None:
    """All of these ptxas refuses for sm_90 and PTX 8.1."""
    registers = {"f16": "%h1", "bf16": "%h1", "u8": "%h1", "f32": "%f1", "f64": "%rd1", "s64": "%rd1", "s16": "%h1"}
    dst, src = form.split(".")[-2:]
    operands = "%r1, %r1, %r1" if "pack" in form else f"{registers.get(dst, '%r1')}, {registers.get(src, '%r1')}"
    with pytest.raises(PtxSyntaxError, match=r"unknown instruction|needs .target"):
        launch(kernel(f"cvt.{form} {operands}; ret;"), [np.zeros(1)])
