"""Inputs by recipe, and how outputs are judged: against plain Python and NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_mlir.runtime.bundle.check import Expected, judge, load, save
from prism_mlir.runtime.bundle.inputs import digest, draw, from_float64, recipe, to_float64

EVERYTHING = np.empty(0, np.int64)


def test_numbers_are_sums_of_four_pieces_of_what_pcg64_gives() -> None:
    """Computed again in exact integers, one number at a time."""
    drawn = draw(recipe("f64", (3, 5), seed=11, scale=0.5))
    raw = np.random.PCG64(11).random_raw(15)
    sums = [sum((int(word) >> (16 * k)) & 0xFFFF for k in range(4)) - 131070 for word in raw]
    deviation = ((65536**2 - 1) / 3) ** 0.5
    np.testing.assert_array_equal(drawn, np.array([s * (0.5 / deviation) for s in sums]).reshape(3, 5))


def test_numbers_have_the_deviation_that_was_asked_for() -> None:
    """The variance of a sum of four uniform numbers of 0 .. n-1 is (n^2 - 1) / 3; of 2^18 draws it is good to some 0.3 %."""
    drawn = draw(recipe("f64", (1 << 18,), seed=5, scale=0.25))
    assert drawn.std() == pytest.approx(0.25, rel=0.01)
    assert abs(drawn.mean()) < 0.25 * 5 / 512
    assert abs(drawn).max() < 0.25 * 4


@pytest.mark.parametrize(("dtype", "storage"), [("f16", np.float16), ("f32", np.float32), ("bf16", np.uint16)])
def test_other_types_are_the_same_numbers_rounded(dtype: str, storage: type) -> None:
    wide, narrow = draw(recipe("f64", (1000,), 3)), draw(recipe(dtype, (1000,), 3))
    assert narrow.dtype == storage
    unit = {"f16": 2.0**-11, "f32": 2.0**-24, "bf16": 2.0**-8}[dtype]
    assert np.all(abs(to_float64(narrow, dtype) - wide) <= unit * abs(wide) + 2.0**-25)


def test_bf16_rounds_to_nearest_even() -> None:
    """1 + 2^-8 lies between 1 and 1 + 2^-7, and goes to the even one; 1 + 3 * 2^-8 goes up."""
    values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, -2.0])
    np.testing.assert_array_equal(to_float64(from_float64(values, "bf16"), "bf16"), [1, 1 + 2.0**-6, -2])


def test_a_mask_is_zeros_and_ones_in_equal_parts() -> None:
    drawn = draw(recipe("i1", (10000,), 2))
    assert drawn.dtype == np.bool_
    assert abs(drawn.mean() - 0.5) < 0.03


def test_a_recipe_names_what_it_gives() -> None:
    made = recipe("f16", (4, 4), 1)
    assert made["sha256"] == digest(draw(made))
    assert made["sha256"] != recipe("f16", (4, 4), 2)["sha256"]
    with pytest.raises(ValueError, match="unknown distribution 'cauchy'"):
        draw({**made, "distribution": "cauchy"})


def test_long_inputs_are_drawn_in_pieces_that_do_not_show() -> None:
    whole = np.random.PCG64(4).random_raw((1 << 20) + 3)
    drawn = draw(recipe("i1", ((1 << 20) + 3,), 4))
    np.testing.assert_array_equal(drawn, (whole & 1).astype(bool))


def wanted(values: list[float], allowed: float = 0.1, index: list[int] | None = None, shape: int = 0) -> Expected:
    chosen = EVERYTHING if index is None else np.array(index)
    size = shape or len(values)
    return Expected("f32", (size,), np.array(values), np.full(len(values), allowed), chosen, 0.5)


def f32(*values: float) -> list[np.ndarray]:
    return [np.array(values, np.float32)]


def test_errors_up_to_what_is_allowed_pass_and_larger_ones_do_not() -> None:
    """0.5 and 0.25 are exact in f32: an error of 0.25 of 0.5 is half of what is allowed."""
    found = judge(f32(1, 2.25), [wanted([1, 2], 0.5)])
    assert (found.used, found.reason) == (0.5, "")
    found = judge(f32(1, 3), [wanted([1, 2], 0.5)])
    assert found.used == 2
    assert found.reason == "output 0: element [1] is 3, should be 2 within 0.5"


def test_peers_may_err_as_the_source_does() -> None:
    assert judge(f32(1.25), [wanted([1], 0.125)]).reason
    assert not judge(f32(3), [wanted([1], 0.125)], as_source=True).reason  # four times 0.5 is allowed
    assert judge(f32(3.25), [wanted([1], 0.125)], as_source=True).reason


def test_nan_is_found_among_elements_of_unknown_value() -> None:
    want = wanted([5, 7], index=[0, 3], shape=4)
    assert not judge(f32(5, 0, 0, 7), [want]).reason
    found = judge(f32(5, np.nan, 0, 7), [want])
    assert found.reason == "output 0: 1 elements are NaN or were not written, the first is [1]"
    assert "element [3] is 0" in judge(f32(5, 0, 0, 0), [want]).reason


def test_infinities_and_nan_are_compared_by_kind() -> None:
    want = wanted([np.inf, -np.inf, np.nan, 1.0])
    assert not judge(f32(np.inf, -np.inf, np.nan, 1), [want]).reason
    for wrong in [(-np.inf, -np.inf, np.nan, 1), (np.inf, -np.inf, 0, 1), (np.inf, 3, np.nan, 1)]:
        assert judge(f32(*wrong), [want]).reason
    assert judge(f32(np.inf), [wanted([1.0], np.inf)]).reason


def test_an_output_of_another_shape_is_wrong() -> None:
    assert judge(f32(1, 2), [wanted([1, 2, 3])]).reason == "output 0 has shape [2], should have [3]"


def test_expected_values_survive_their_file(tmp_path: Path) -> None:
    want = wanted([1, np.nan], index=[0, 5], shape=6)
    save(tmp_path / "e.npz", [want])
    (found,) = load(tmp_path / "e.npz", [{"dtype": "f32", "shape": [6]}])
    assert (found.dtype, found.shape, found.source) == (want.dtype, want.shape, want.source)
    for name in ("value", "allowed", "index"):
        np.testing.assert_array_equal(getattr(found, name), getattr(want, name))
