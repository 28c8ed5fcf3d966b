"""Sums of tensor cores to the last bit: against rational arithmetic, and against MMA-Sim, which was compared with GPUs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from ptx_harness import kernel, launch
from test_tensor import accumulator, encode, fragment, run_mma

from prism_mlir.runtime.ptx import LaunchError
from prism_mlir.runtime.ptx.numerics import bf16_to_f32

RNG = np.random.default_rng(29)
LEAST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126}
STEP = {"f16": 8, "bf16": 8, "tf32": 4}
KINDS = [("f16", 16, 16), ("f16", 16, 8), ("bf16", 16, 16), ("bf16", 16, 8), ("tf32", 32, 8), ("tf32", 32, 4)]


def floor_log2(x: Fraction) -> int:
    power = x.numerator.bit_length() - x.denominator.bit_length()
    return power if x >= Fraction(2) ** power else power - 1


def exponent(x: Fraction, kind: str) -> int:
    return LEAST[kind] if x == 0 else max(LEAST[kind], floor_log2(abs(x)))


def truncated(x: Fraction, unit: Fraction) -> Fraction:
    whole = abs(x) // unit
    return unit * (whole if x > 0 else -whole)


def by_hand(a: list[Fraction], b: list[Fraction], c: Fraction, kind: str) -> Fraction:
    """One element of the result in f32, in rational arithmetic."""
    for k in range(0, len(a), STEP[kind]):
        pairs = list(zip(a[k : k + STEP[kind]], b[k : k + STEP[kind]], strict=True))
        places = [exponent(x, kind) + exponent(y, kind) for x, y in pairs if x * y != 0]
        places += [exponent(c, "f32")] if c != 0 else [-132]
        top = max([*places, *([-132] if any(x * y == 0 for x, y in pairs) else [])])
        unit = Fraction(2) ** (top - 24)
        total = sum((truncated(x * y, unit) for x, y in pairs), truncated(c, unit))
        c = truncated(total, Fraction(2) ** (exponent(total, "f32") - 23)) if total else Fraction(0)
    return c


def numbers(bits: np.ndarray, kind: str) -> np.ndarray:
    """The f64 values of elements."""
    if kind == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bf16_to_f32(bits) if kind == "bf16" else bits.view(np.float32)).astype(np.float64)


def operands(kind: str, k: int, spread: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Elements whose sizes differ by up to 2^(2 spread), some of them zero, and an addend."""

    def some(*shape: int) -> np.ndarray:
        x = RNG.standard_normal(shape) * 2.0 ** RNG.integers(-spread, spread + 1, shape)
        return np.where(RNG.random(shape) < 0.1, 0, x)

    c = some(16, 8).astype(np.float32)
    return encode(some(16, k), kind), encode(some(k, 8), kind), c


def result(kind: str, bits: int, k: int, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    name = f"mma.sync.aligned.m16n8k{k}.row.col.f32.{kind}.{kind}.f32"
    left, right = fragment(a, kind, bits, k, "a"), fragment(b, kind, bits, k, "b")
    return run_mma(name, left, right, accumulator(c), 4, exact_mma=True)


@pytest.mark.parametrize("spread", [2, 14])
@pytest.mark.parametrize(("kind", "bits", "k"), KINDS)
def test_sums(kind: str, bits: int, k: int, spread: int) -> None:
    a, b, c = operands(kind, k, spread)
    rows, columns = ([[Fraction(float(x)) for x in row] for row in m] for m in (numbers(a, kind), numbers(b, kind).T))
    exact = [
        [by_hand(r, col, Fraction(float(c[i, j])), kind) for j, col in enumerate(columns)] for i, r in enumerate(rows)
    ]
    expected = np.array([[float(x) for x in row] for row in exact])
    assert (expected == expected.astype(np.float32)).all()
    assert (result(kind, bits, k, a, b, c) == accumulator(expected.astype(np.float32))).all()


def test_what_is_far_below_the_largest_summand_is_lost() -> None:
    """2^13 * 2^12 and fifteen threes. With 24 bits below 2^25 a three counts as two; seven make 14, of which f32 keeps 12.
    The other eight add 16. (In f32, one after the other, each adds four; the exact sum is 2^25 + 45.)"""
    a, b = np.full((16, 16), 3.0), np.ones((16, 8))
    a[:, 0], b[0] = 2.0**13, 2.0**12
    out = result("f16", 16, 16, encode(a, "f16"), encode(b, "f16"), np.zeros((16, 8), np.float32))
    assert (out.view(np.float32) == 2.0**25 + 28).all()


def test_the_fast_engine_does_not_have_them() -> None:
    with pytest.raises(LaunchError, match="exact sums of mma"):
        launch(kernel("ret;"), [np.zeros(1, np.uint32)], engine="fast", exact_mma=True)


@pytest.mark.extras
@pytest.mark.parametrize(
    ("kind", "bits", "k", "total"), [*((*form, "f32") for form in KINDS), ("f16", 16, 16, "f16"), ("f16", 16, 8, "f16")]
)
def test_mma_sim_agrees(kind: str, bits: int, k: int, total: str) -> None:
    torch = pytest.importorskip("torch", reason="the wheel torch is not installed")
    sim = pytest.importorskip("mmasim.nv_ptx.sim", reason="the wheel mmasim is not installed")
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32}[kind]
    model = sim.MMA("Ampere", f"m16n8k{k}.{total}.{kind}.{kind}.{total}")
    name = f"mma.sync.aligned.m16n8k{k}.row.col.{total}.{kind}.{kind}.{total}"
    for spread in (0, 3, 8, 14):
        a, b, c = operands(kind, k, spread)
        if spread == 8:
            a.reshape(-1)[:3] = encode(np.array([np.inf, np.nan, 1.0]), kind)
        left, right = (
            torch.from_numpy(x.view(np.int16 if bits == 16 else np.float32).copy()).view(dtype) for x in (a, b)
        )
        wide = c if total == "f32" else c.astype(np.float16)
        expected = model(left, right, torch.from_numpy(wide.copy())).numpy()
        fragments = fragment(a, kind, bits, k, "a"), fragment(b, kind, bits, k, "b")
        if total == "f32":
            got = run_mma(name, *fragments, accumulator(wide), 4, exact_mma=True)
            assert (got == accumulator(expected)).all()
        else:
            halves = [accumulator(x.view(np.uint16).astype(np.uint32)).astype(np.uint16) for x in (wide, expected)]
            got = run_mma(name, *fragments, np.ascontiguousarray(halves[0]).view(np.uint32), 2, exact_mma=True)
            assert (got.view(np.uint16) == halves[1]).all()
