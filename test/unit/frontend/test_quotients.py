"""The spellings of a softmax: all of them are one program, and its values are NumPy's in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mlir_text import Text
from numpy.typing import NDArray

from prism_mlir.frontend import import_file

Array = NDArray[Any]
SOFTMAX = ["unary[exp(x)]", "sum[1]", "div"]
X = ("%a0", "mn")


def parts(t: Text) -> tuple[str, str, str]:
    """The maximum of the rows, the exponentials shifted by it, and their sums."""
    top = t.reduce("%a0", "mn", "m", "maximumf")
    shifted = t.map("%r = arith.subf %x0, %x1 :t", X, (top, "m"))
    e = t.map("%r = math.exp %x0 :t", (shifted, "mn"))
    return top, e, t.reduce(e, "mn", "m")


def by_reciprocal(t: Text) -> str:
    _, e, total = parts(t)
    inverse = t.map("%one = arith.constant 1.0 : f32\n    %r = arith.divf %one, %x0 :t", (total, "m"))
    return t.map("%r = arith.mulf %x1, %x0 :t", (e, "mn"), (inverse, "m"))


def by_log_sum_exp(t: Text) -> str:
    top, _, total = parts(t)
    lse = t.map("%l = math.log %x0 :t\n    %r = arith.addf %l, %x1 :t", (total, "m"), (top, "m"))
    return t.map("%d = arith.subf %x0, %x1 :t\n    %r = math.exp %d :t", X, (lse, "m"))


def by_log_softmax(t: Text) -> str:
    """``exp((x - m) - log(sum))``, the exponential of a ``log_softmax``."""
    top, _, total = parts(t)
    shifted = t.map("%r = arith.subf %x0, %x1 :t", X, (top, "m"))
    return t.map(
        "%l = math.log %x1 :t\n    %d = arith.subf %x0, %l :t\n    %r = math.exp %d :t", (shifted, "mn"), (total, "m")
    )


def guarded(t: Text) -> str:
    """As JAX writes it: a maximum that is not finite is replaced by 0, and the sum is made positive."""
    top = t.reduce("%a0", "mn", "m", "maximumf")
    body = "%ok = math.isfinite %x0 :t\n    %z = arith.constant 0.0 : f32\n    %r = arith.select %ok, %x0, %z :t"
    safe = t.map(body, (top, "m"))
    e = t.map("%d = arith.subf %x0, %x1 :t\n    %r = math.exp %d :t", X, (safe, "m"))
    total = t.reduce(e, "mn", "m")
    lse = t.map(
        "%p = math.absf %x0 :t\n    %l = math.log %p :t\n    %r = arith.addf %l, %x1 :t", (total, "m"), (safe, "m")
    )
    return t.map("%d = arith.subf %x0, %x1 :t\n    %r = math.exp %d :t", X, (lse, "m"))


SPELLINGS = (by_reciprocal, by_log_sum_exp, by_log_softmax, guarded)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_softmax_is_one_program(spelling: Any) -> None:
    t = Text((4, 32))
    program = import_file(t.done(spelling(t)))
    assert [str(n.op) for n in program.nodes] == SOFTMAX
    assert [n.shift for n in program.nodes] == [1, None, None]
    x = np.random.default_rng(1).standard_normal((4, 32)).astype(np.float32) * 50
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(program.run([x])[0], e / e.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_logarithm_that_is_added_multiplies() -> None:
    """``exp(2 * (x + log(y) / 2 - z))`` is ``exp(2 x - 2 z) y``."""
    t = Text((4, 8), (4, 8), (4, 8))
    body = """%l = math.log %x1 :t
    %h = arith.constant 0.5 : f32
    %p = arith.mulf %l, %h :t
    %s = arith.addf %x0, %p :t
    %d = arith.subf %s, %x2 :t
    %w = arith.constant 2.0 : f32
    %c = arith.mulf %d, %w :t
    %r = math.exp %c :t"""
    program = import_file(t.done(t.map(body, X, ("%a1", "mn"), ("%a2", "mn"))))
    assert not any("log" in str(n.op) for n in program.nodes)
    rng = np.random.default_rng(2)
    x, y, z = (rng.uniform(0.5, 2, (4, 8)).astype(np.float32) for _ in range(3))
    expected = np.exp(2.0 * x - 2.0 * z.astype(np.float64)) * y
    np.testing.assert_allclose(program.run([x, y, z])[0], expected, rtol=1e-6)


def test_the_logarithm_of_a_sum_that_is_a_result_stays() -> None:
    t = Text((4, 32))
    top, _, total = parts(t)
    lse = t.map("%l = math.log %x0 :t\n    %r = arith.addf %l, %x1 :t", (total, "m"), (top, "m"))
    program = import_file(t.done(lse))
    x = np.random.default_rng(3).standard_normal((4, 32)).astype(np.float32)
    np.testing.assert_allclose(program.run([x])[0], np.log(np.exp(x.astype(np.float64)).sum(axis=1)), rtol=1e-12)


def test_a_long_sum_in_an_exponent_is_not_written_out() -> None:
    """exp of x * 2**60, doubled one addition at a time and with y added each time: no time and no depth for its terms."""
    t = Text((4, 8), (4, 8))
    value = "%a0"
    for _ in range(60):
        value = t.map("%s = arith.addf %x0, %x0 :t\n    %r = arith.addf %s, %x1 :t", (value, "mn"), ("%a1", "mn"))
    program = import_file(t.done(t.map("%r = math.exp %x0 :t", (value, "mn"))))
    x, y = np.full((4, 8), 2.0**-60, np.float32), np.full((4, 8), 2.0**-61, np.float32)
    np.testing.assert_allclose(program.run([x, y])[0], np.exp(1 + (2.0**60 - 1) * 2.0**-61), rtol=1e-9)


VALUES = np.array(
    [[0.0, -1.5, np.inf, -np.inf, np.nan, 3.4028234663852886e38, -3.4028234663852886e38, 1e-40]], np.float32
)
COMPARE = {"oeq": np.equal, "une": np.not_equal, "olt": np.less, "ogt": np.greater, "oge": np.greater_equal}
COMPARE |= {"ole": np.less_equal}
CASES = [("oeq", "+"), ("oeq", "-"), ("une", "+"), ("une", "-"), ("olt", "+"), ("ogt", "-"), ("oge", "+"), ("ole", "-")]


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("predicate", "sign"), CASES)
def test_comparisons_with_infinity_are_masks(predicate: str, sign: str, mirrored: bool) -> None:
    bits = "0x7F800000" if sign == "+" else "0xFF800000"
    pair = "%i, %x0" if mirrored else "%x0, %i"
    body = f"""%i = arith.constant {bits} : f32
    %c = arith.cmpf {predicate}, {pair} : f32
    %r = arith.uitofp %c : i1 to f32"""
    t = Text(VALUES.shape)
    text = t.done(t.map(body, X))
    infinity = np.float32(np.inf if sign == "+" else -np.inf)
    compare = COMPARE[predicate]
    expected = compare(infinity, VALUES) if mirrored else compare(VALUES, infinity)
    if mirrored and predicate[1:] not in ("eq", "ne"):
        # `inf <= x` is `x >= inf`; the others, such as `inf < x`, hold for no value, and are named
        swapped = {"olt": "ogt", "ogt": "olt", "oge": "ole", "ole": "oge"}[predicate]
        text = text.replace(f"cmpf {predicate}", f"cmpf {swapped}")
        expected = COMPARE[swapped](infinity, VALUES)
    assert np.array_equal(import_file(text).run([VALUES])[0], expected.astype(np.float64))


def test_finite_is_a_mask() -> None:
    t = Text(VALUES.shape)
    body = "%c = math.isfinite %x0 :t\n    %r = arith.uitofp %c : i1 to f32"
    program = import_file(t.done(t.map(body, X)))
    assert np.array_equal(program.run([VALUES])[0], np.isfinite(VALUES).astype(np.float64))
