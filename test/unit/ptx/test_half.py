"""f16 and bf16 arithmetic, scalar and packed, against exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from ptx_harness import run_op
from test_float import round_exact

RNG = np.random.default_rng(3)
LIMITS = {"f16": (11, -24, 65504.0), "bf16": (8, -133, 3.3895313892515355e38)}
Exact = Callable[[Fraction, Fraction, Fraction], Fraction]
OPS: dict[str, tuple[int, Exact]] = {
    "add": (2, lambda x, y, z: x + y),
    "sub": (2, lambda x, y, z: x - y),
    "mul": (2, lambda x, y, z: x * y),
    "fma.rn": (3, lambda x, y, z: x * y + z),
}


def decode(bits: np.ndarray, kind: str) -> np.ndarray:
    """Half bits as f64."""
    if kind == "f16":
        return bits.view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def values(n: int, kind: str) -> np.ndarray:
    bits = RNG.integers(0, 2**16, 4 * n, dtype=np.uint16)
    return bits[np.isfinite(decode(bits, kind))][:n]


def expected(name: str, kind: str, columns: list[np.ndarray]) -> np.ndarray:
    bits, low, high = LIMITS[kind]
    rows = [[Fraction(float(v)) for v in decode(c, kind)] for c in columns]
    rows += [rows[0]] * (3 - len(rows))
    return np.array([round_exact(OPS[name][1](*row), "rn", bits, low, high) for row in zip(*rows, strict=True)])


@pytest.mark.parametrize(("name", "kind"), [(n, k) for n in OPS for k in LIMITS])
def test_scalar(name: str, kind: str) -> None:
    n = OPS[name][0]
    columns = [values(600, kind) for _ in range(n)]
    if n == 3:  # near cancellation, where a second rounding would show
        with np.errstate(all="ignore"):
            product = -(decode(columns[0], kind) * decode(columns[1], kind))
            near = (
                product.astype(np.float16).view(np.uint16)
                if kind == "f16"
                else (product.astype(np.float32).view(np.uint32) >> 16)
            )
        columns[2][::2] = np.where(np.isfinite(decode(near.astype(np.uint16), kind)), near, columns[2])[::2]
    sources = [(kind, c.view(np.float16) if kind == "f16" else c) for c in columns]
    got = run_op(f"{name}.{kind} {'%d, %a, %b, %c' if n == 3 else '%d, %a, %b'};", sources, kind)
    assert np.array_equal(decode(np.ascontiguousarray(got).view(np.uint16), kind), expected(name, kind, columns))


@pytest.mark.parametrize(("name", "kind"), [(n, k) for n in OPS for k in LIMITS])
def test_packed(name: str, kind: str) -> None:
    n = OPS[name][0]
    columns = [values(400, kind) for _ in range(n)]
    sources = [(f"{kind}x2", np.ascontiguousarray(c).view(np.uint32)) for c in columns]
    got = run_op(f"{name}.{kind}x2 {'%d, %a, %b, %c' if n == 3 else '%d, %a, %b'};", sources, f"{kind}x2")
    assert np.array_equal(decode(got.view(np.uint16), kind), expected(name, kind, columns))


@pytest.mark.parametrize("kind", list(LIMITS))
def test_min_max_neg_abs(kind: str) -> None:
    a, b = values(300, kind), values(300, kind)
    a[:4], b[:4] = [0x0000, 0x8000, 0x7FFF, 0x3C00], [0x8000, 0x0000, 0x3C00, 0x7FFF]
    x, y = decode(a, kind), decode(b, kind)
    sources = [(f"{kind}x2", a.view(np.uint32)), (f"{kind}x2", b.view(np.uint32))]
    low = run_op(f"min.{kind}x2 %d, %a, %b;", sources, f"{kind}x2").view(np.uint16)
    assert np.array_equal(decode(low, kind), np.fmin(x, y))
    assert low[:2].tolist() == [0x8000, 0x8000]
    high = run_op(f"max.NaN.{kind}x2 %d, %a, %b;", sources, f"{kind}x2").view(np.uint16)
    assert np.array_equal(decode(high, kind), np.maximum(x, y), equal_nan=True)
    assert (run_op(f"neg.{kind}x2 %d, %a;", sources[:1], "b32").view(np.uint16) == a ^ 0x8000).all()
    assert (run_op(f"abs.{kind}x2 %d, %a;", sources[:1], "b32").view(np.uint16) == a & 0x7FFF).all()


def test_relu_and_saturation() -> None:
    a = np.float16([-2, -0.5, 0.25, 3, 60000])
    one, zero = np.ones(5, np.float16), np.zeros(5, np.float16)
    sources = [("f16", a), ("f16", one), ("f16", zero)]
    assert run_op("fma.rn.relu.f16 %d, %a, %b, %c;", sources, "f16").tolist() == [0, 0, 0.25, 3, 60000]
    assert run_op("fma.rn.sat.f16 %d, %a, %b, %c;", sources, "f16").tolist() == [0, 0, 0.25, 1, 1]


@pytest.mark.parametrize("name", ["ex2.approx", "tanh.approx"])
def test_functions(name: str) -> None:
    x = RNG.uniform(-4, 4, 256).astype(np.float16)
    fn = np.exp2 if name.startswith("ex2") else np.tanh
    got = run_op(f"{name}.f16x2 %d, %a;", [("f16x2", x.view(np.uint32))], "f16x2").view(np.float16)
    assert np.allclose(got.astype(np.float64), fn(x.astype(np.float64)), rtol=2.0**-10)
