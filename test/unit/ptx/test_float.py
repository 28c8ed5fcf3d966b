"""f32 and f64 arithmetic: exact rational arithmetic decides every rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from ptx_harness import kernel, launch, run_op, run_ops

from prism_mlir.runtime.ptx import PtxSyntaxError

F32_EDGES = np.array(
    [0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x3F800000, 0xBF800000,
     0x3F800001, 0x3F7FFFFF, 0x33800000, 0x34000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
     0x40490FDB, 0x4B7FFFFF, 0x1E3CE508],
    dtype=np.uint32,
).view(np.float32)  # fmt: skip
RNG = np.random.default_rng(7)
MODES = ["rn", "rz", "rm", "rp"]


def round_exact(
    value: Fraction, mode: str, bits: int = 24, low: int = -149, high: float = 3.4028234663852886e38
) -> float:
    """The floating number next to a rational in the direction of ``mode``: ``bits`` significant ones, none below 2**low."""
    if value == 0:
        return 0.0
    sign, size = (-1 if value < 0 else 1), abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length() + 1
    while Fraction(2) ** exponent > size:
        exponent -= 1
    exponent = max(exponent, low + bits - 1)
    unit = Fraction(2) ** (exponent - bits + 1)
    steps, rest = divmod(size, unit)
    down = mode == "rz" or (mode == "rm" and sign > 0) or (mode == "rp" and sign < 0)
    if mode == "rn":
        steps += rest * 2 > unit or (rest * 2 == unit and steps % 2 == 1)
    elif not down and rest:
        steps += 1
    result = steps * unit
    if result > Fraction(high):
        return sign * (high if down else math.inf)
    return sign * float(result)


def random_floats(n: int) -> np.ndarray:
    return RNG.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)


def same(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, except that all NaN are one."""
    both = np.isnan(got) & np.isnan(expected)
    bad = np.flatnonzero(~both & (got.view(f"u{got.itemsize}") != expected.view(f"u{got.itemsize}")))
    assert not bad.size, (bad[:5], got[bad[:5]], expected[bad[:5]])


def operands() -> tuple[np.ndarray, np.ndarray]:
    a, b = np.array(list(product(F32_EDGES, F32_EDGES)), dtype=np.float32).T
    x, y = random_floats(400), random_floats(400)
    close = (x.view(np.uint32) + RNG.integers(0, 8, 400, dtype=np.uint32)).astype(np.uint32).view(np.float32)
    return np.concatenate([a, x, x]), np.concatenate([b, y, -close])


def finite(*xs: np.ndarray) -> np.ndarray:
    return np.logical_and.reduce([np.isfinite(x) for x in xs])


@pytest.mark.parametrize(("name", "mode"), list(product(["add", "sub", "mul", "fma", "div"], MODES)))
def test_rounding_of_f32(name: str, mode: str) -> None:
    a, b = operands()
    keep = finite(a, b) & ((b != 0) | (name != "div"))
    a, b = a[keep], b[keep]
    c = random_floats(len(a))
    c = np.where(np.isfinite(c), c, np.float32(1.5))
    with np.errstate(over="ignore"):
        c[::2] = (-(a.astype(np.float64) * b)).astype(np.float32)[::2]
    c = np.where(np.isfinite(c), c, np.float32(1.5))
    exact: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
        "add": lambda x, y, z: x + y,
        "sub": lambda x, y, z: x - y,
        "mul": lambda x, y, z: x * y,
        "fma": lambda x, y, z: x * y + z,
        "div": lambda x, y, z: x / y,
    }
    sources = [("f32", a), ("f32", b)] + ([("f32", c)] if name == "fma" else [])
    registers = "%d, %a, %b, %c" if name == "fma" else "%d, %a, %b"
    got = run_op(f"{name}.{mode}.f32 {registers};", sources, "f32")
    values = [
        exact[name](Fraction(float(x)), Fraction(float(y)), Fraction(float(z))) for x, y, z in zip(a, b, c, strict=True)
    ]
    expected = np.array([round_exact(v, mode) for v in values], dtype=np.float32)
    nonzero = np.array([v != 0 for v in values])
    assert np.array_equal(got[nonzero], expected[nonzero])
    assert (got[~nonzero] == 0).all()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div.rn"])
def test_special_values_of_f32(name: str) -> None:
    a, b = np.array(list(product(F32_EDGES, F32_EDGES)), dtype=np.float32).T
    fn = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div.rn": np.divide}[name]
    with np.errstate(all="ignore"):
        expected = fn(a, b)
    same(run_op(f"{name}.f32 %d, %a, %b;", [("f32", a), ("f32", b)], "f32"), expected)


def test_ftz_flushes_operands_and_results() -> None:
    tiny = np.array([1e-40, -1e-40, 1e-38, 2e-38, 1.0], dtype=np.float32)
    got = run_op("add.ftz.f32 %d, %a, %b;", [("f32", tiny), ("f32", np.zeros(5, np.float32))], "f32")
    same(got, np.array([0.0, 0.0, 0.0, 2e-38, 1.0], dtype=np.float32))
    got = run_op(
        "mul.ftz.f32 %d, %a, %b;", [("f32", np.float32([1e-20, -1e-20])), ("f32", np.float32([1e-20, 1e-20]))], "f32"
    )
    same(got, np.array([0.0, -0.0], dtype=np.float32))
    got = run_op("mul.f32 %d, %a, %b;", [("f32", np.float32([1e-20])), ("f32", np.float32([1e-20]))], "f32")
    assert got[0] == np.float32(1e-40)


def test_saturation() -> None:
    a = np.array([-1.0, 0.25, 2.0, np.nan, np.inf, -0.0], dtype=np.float32)
    got = run_op("add.sat.f32 %d, %a, %b;", [("f32", a), ("f32", np.zeros(6, np.float32))], "f32")
    same(got, np.array([0.0, 0.25, 1.0, 0.0, 1.0, 0.0], dtype=np.float32))


def test_fma_rounds_once() -> None:
    """(1 + 2^-12)^2 - (1 + 2^-11) = 2^-24, which two roundings would lose."""
    a = np.float32([1 + 2.0**-12])
    c = np.float32([-(1 + 2.0**-11)])
    assert run_op("fma.rn.f32 %d, %a, %a, %b;", [("f32", a), ("f32", c)], "f32")[0] == np.float32(2.0**-24)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma", "div"])
def test_f64_rounds_to_nearest(name: str) -> None:
    n = 300
    a = RNG.standard_normal(n) * 2.0 ** RNG.integers(-60, 60, n)
    b = RNG.standard_normal(n) * 2.0 ** RNG.integers(-60, 60, n)
    c = -(a * b) * (1 + RNG.integers(-3, 3, n) * 2.0**-52)
    a = np.concatenate([a, [1e300, 1e-300, 1e200, 5e-324, 0.0]])
    b = np.concatenate([b, [1e300, 1e-300, 1e100, 1.5, 3.0]])
    c = np.concatenate([c, [-1e300, 1e-310, -1e300, 0.0, -0.0]])
    exact = {
        "add": lambda x, y, z: x + y,
        "sub": lambda x, y, z: x - y,
        "mul": lambda x, y, z: x * y,
        "fma": lambda x, y, z: x * y + z,
        "div": lambda x, y, z: x / y,
    }[name]
    sources = [("f64", a), ("f64", b)] + ([("f64", c)] if name == "fma" else [])
    got = run_op(f"{name}.rn.f64 {'%d, %a, %b, %c' if name == 'fma' else '%d, %a, %b'};", sources, "f64")
    expected = []
    for x, y, z in zip(a, b, c, strict=True):
        value = exact(Fraction(float(x)), Fraction(float(y)), Fraction(float(z)))
        expected.append(round_exact(value, "rn", 53, -1074, 1.7976931348623157e308))
    assert got.tolist() == expected


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_f64_directed_rounding(mode: str) -> None:
    a, b = RNG.standard_normal(200), RNG.standard_normal(200) * 2.0 ** RNG.integers(-20, 20, 200)
    cases = [
        ("add", lambda x, y: x + y),
        ("sub", lambda x, y: x - y),
        ("mul", lambda x, y: x * y),
        ("fma", lambda x, y: x * y + y),
    ]
    for name, fn in cases:
        third = ", %b" if name == "fma" else ""
        got = run_op(f"{name}.{mode}.f64 %d, %a, %b{third};", [("f64", a), ("f64", b)], "f64", compiled=False)
        values = [fn(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
        assert got.tolist() == [round_exact(v, mode, 53, -1074, 1.7976931348623157e308) for v in values]


@pytest.mark.parametrize(
    ("name", "kind"), [*product(["min", "max"], ["f32", "f64"]), ("min.NaN", "f32"), ("max.NaN", "f32")]
)
def test_min_and_max(name: str, kind: str) -> None:
    base = F32_EDGES.astype(np.float32 if kind == "f32" else np.float64)
    a, b = np.array(list(product(base, base)), dtype=base.dtype).T
    got = run_op(f"{name}.{kind} %d, %a, %b;", [(kind, a), (kind, b)], kind)
    expected = []
    for x, y in zip(a, b, strict=True):
        if np.isnan(x) or np.isnan(y):
            expected.append(np.nan if "NaN" in name or (np.isnan(x) and np.isnan(y)) else (y if np.isnan(x) else x))
        else:
            low, high = sorted([x, y], key=lambda v: (v, not np.signbit(v)))
            expected.append(low if name.startswith("min") else high)
    same(got, np.array(expected, dtype=base.dtype))


def test_abs_neg_copysign() -> None:
    a, b = np.array(list(product(F32_EDGES, F32_EDGES)), dtype=np.float32).T
    assert (run_op("abs.f32 %d, %a;", [("f32", a)], "u32") == a.view(np.uint32) & 0x7FFFFFFF).all()
    assert (run_op("neg.f32 %d, %a;", [("f32", a)], "u32") == a.view(np.uint32) ^ 0x80000000).all()
    same(run_op("copysign.f32 %d, %a, %b;", [("f32", a), ("f32", b)], "f32"), np.copysign(b, a))


@pytest.mark.parametrize(
    ("name", "fn"),
    [
        ("ex2.approx", np.exp2), ("ex2.approx.ftz", np.exp2), ("lg2.approx", np.log2), ("lg2.approx.ftz", np.log2),
        ("rcp.approx.ftz", lambda x: 1 / x), ("rcp.rn", lambda x: 1 / x), ("rsqrt.approx", lambda x: 1 / np.sqrt(x)),
        ("rsqrt.approx.ftz", lambda x: 1 / np.sqrt(x)), ("sqrt.approx", np.sqrt), ("sqrt.rn", np.sqrt),
        ("sqrt.rn.ftz", np.sqrt), ("tanh.approx", np.tanh), ("sin.approx", np.sin), ("cos.approx", np.cos),
        ("sin.approx.ftz", np.sin),
    ],
)  # fmt: skip
def test_functions(name: str, fn: Callable[[np.ndarray], np.ndarray]) -> None:
    x = np.concatenate([RNG.uniform(-5, 5, 300), [0.0, -0.0, 1.0, 100.0, -200.0, np.inf, -np.inf, np.nan]]).astype(
        np.float32
    )
    got = run_op(f"{name}.f32 %d, %a;", [("f32", x)], "f32").astype(np.float64)
    with np.errstate(all="ignore"):
        expected = fn(x.astype(np.float64))
    flushed = np.abs(expected) < 2.0**-126
    ok = np.isclose(got, expected, rtol=2.0**-23, atol=0, equal_nan=True) | (flushed & (np.abs(got) < 2.0**-126))
    with np.errstate(all="ignore"):
        ok |= np.isinf(expected.astype(np.float32)) & (got == expected.astype(np.float32))
    assert ok.all(), (x[~ok], got[~ok], expected[~ok])


@pytest.mark.parametrize(("name", "mode"), list(product(["rcp", "sqrt"], MODES)))
def test_exact_rcp_and_sqrt(name: str, mode: str) -> None:
    x = np.abs(random_floats(300))
    x = x[np.isfinite(x) & (x > 1e-37) & (x < 1e37)]
    got = run_op(f"{name}.{mode}.f32 %d, %a;", [("f32", x)], "f32")
    if name == "rcp":
        assert got.tolist() == [round_exact(1 / Fraction(float(v)), mode) for v in x]
        return
    for v, r in zip(x, got, strict=True):  # r is right when the square of its neighbours brackets v
        exact, near = Fraction(float(v)), Fraction(float(r))
        below, above = (Fraction(float(np.nextafter(r, np.float32(t)))) for t in (0, np.inf))
        if mode in ("rz", "rm"):
            assert near**2 <= exact < above**2
        elif mode == "rp":
            assert below**2 < exact <= near**2
        else:
            assert ((below + near) / 2) ** 2 <= exact <= ((near + above) / 2) ** 2


def test_approximate_and_full_division() -> None:
    a, b = RNG.standard_normal(200).astype(np.float32), RNG.standard_normal(200).astype(np.float32)
    for form in ("approx", "full", "approx.ftz", "full.ftz"):
        got = run_op(f"div.{form}.f32 %d, %a, %b;", [("f32", a), ("f32", b)], "f32")
        assert np.allclose(got, a.astype(np.float64) / b, rtol=2.0**-22)


def test_testp() -> None:
    tests: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & ((np.abs(x) >= np.float32(2.0**-126)) | (x == 0)),
        "subnormal": lambda x: (x != 0) & (np.abs(x) < np.float32(2.0**-126)),
    }
    for name, fn in tests.items():
        got = run_op(f"testp.{name}.f32 %d, %a;", [("f32", F32_EDGES)], "pred")
        assert got.astype(bool).tolist() == fn(F32_EDGES).tolist()


@pytest.mark.parametrize("mode", MODES)
def test_f64_division_and_roots(mode: str) -> None:
    """By exact rational numbers; a root is right when its square, or that of the middle to its neighbour, tells so."""
    n = 60
    a = np.concatenate(
        [RNG.standard_normal(n) * 2.0 ** RNG.integers(-80, 80, n), [1.0, -1.0, 1e300, -1e300, 5e-324, 3.0, 0.0]]
    )
    b = np.concatenate(
        [RNG.standard_normal(n) * 2.0 ** RNG.integers(-80, 80, n), [3.0, 3.0, 1e-300, 1e-300, 3.0, 1.0, -7.0]]
    )
    code = [
        (f"div.{mode}.f64 %d, %a, %b;", "f64"),
        (f"rcp.{mode}.f64 %d, %b;", "f64"),
        (f"sqrt.{mode}.f64 %d, %c;", "f64"),
    ]
    quotient, inverse, root = run_ops(code, [("f64", a), ("f64", b), ("f64", np.abs(a))], compiled=mode == "rn")
    limits = (53, -1074, 1.7976931348623157e308)
    pairs = [(Fraction(float(x)), Fraction(float(y))) for x, y in zip(a, b, strict=True)]
    assert quotient.tolist() == [round_exact(x / y, mode, *limits) for x, y in pairs]
    assert inverse.tolist() == [round_exact(1 / y, mode, *limits) for _, y in pairs]
    for x, r in zip(np.abs(a), root, strict=True):
        exact, near = Fraction(float(x)), Fraction(float(r))
        below, above = (Fraction(float(np.nextafter(r, t))) for t in (-np.inf, np.inf))
        low = {"rz": near, "rm": near, "rp": below, "rn": (below + near) / 2}[mode]
        high = {"rz": above, "rm": above, "rp": near, "rn": (near + above) / 2}[mode]
        assert (low < 0 or low**2 <= exact) and exact <= high**2


def test_special_values_of_directed_f64() -> None:
    """Zeros, infinities and NaN have nothing to round."""
    base = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 2.0, -2.0])
    a, b = np.array(list(product(base, base))).T
    with np.errstate(all="ignore"):
        expected, roots, inverse = a / b, np.sqrt(a), 1 / b
    for mode in ("rz", "rm", "rp"):
        code = [
            (f"div.{mode}.f64 %d, %a, %b;", "f64"),
            (f"sqrt.{mode}.f64 %d, %a;", "f64"),
            (f"rcp.{mode}.f64 %d, %b;", "f64"),
        ]
        quotient, root, reciprocal = run_ops(code, [("f64", a), ("f64", b)], compiled=False)
        same(quotient, expected)
        same(reciprocal, inverse)
        same(root[a != 2], roots[a != 2])


def test_approximate_f64() -> None:
    x = np.array([0.3, 2.0, 1e10, np.inf])
    got = run_ops([("rcp.approx.ftz.f64 %d, %a;", "f64"), ("rsqrt.approx.f64 %d, %a;", "f64")], [("f64", x)])
    assert np.allclose(got[0], 1 / x, rtol=2.0**-20) and np.allclose(got[1], 1 / np.sqrt(x), rtol=2.0**-20)


MISSING = ["add.relu.f16", "add.sat.bf16", "fma.rn.relu.sat.f16", "fma.rn.ftz.f64", "fma.rn.sat.f64", "abs.ftz.f64",
           "div.rn.ftz.f64", "sqrt.approx.f64", "rcp.approx.f64", "tanh.approx.ftz.f32", "ex2.approx.ftz.f16",
           "ex2.approx.bf16", "ex2.approx.f64", "min.abs.f16", "min.ftz.bf16", "neg.tf32", "add.approx.f32",
           "mul.rn.rz.f32", "fma.f32", "sin.f32", "div.f32"]  # fmt: skip


@pytest.mark.parametrize("form", MISSING)
def test_forms_that_do_not_exist(form: str) -> None:
    register = {"f16": "%h1", "bf16": "%h1", "f32": "%f1", "f64": "%rd1", "tf32": "%r1"}[form.split(".")[-1]]
    count = {"fma": 4, "add": 3, "mul": 3, "div": 3, "min": 3}.get(form.split(".")[0], 2)
    with pytest.raises(PtxSyntaxError, match="unknown instruction"):
        launch(kernel(f"{form} {', '.join([register] * count)}; ret;"), [np.zeros(1)])
