"""Every operation that the StableHLO reader knows, run by upstream's JIT after conversion, against NumPy in f64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prism_mlir.frontend.stablehlo.scalars import ELEMENTWISE
from prism_mlir.frontend.upstream import read_module
from prism_mlir.runtime.cpu_jit import compile_module

Array = NDArray[Any]
Table = dict[str, tuple[Callable[..., Any], tuple[Array, ...]]]
TINY = 1e-14  # a few roundings of f64
NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "int32": "i32", "int64": "i64", "bool": "i1"}


def kind(array: Array) -> str:
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{NAMES[array.dtype.name]}>"


def function(body: str, arguments: Sequence[str], result: str) -> str:
    """``@f`` of arguments ``%a0``, ``%a1`` and so on, which returns ``%r``."""
    formals = ", ".join(f"%a{k}: {t}" for k, t in enumerate(arguments))
    return f"func.func @f({formals}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


def operation(name: str, arguments: Sequence[str], result: str, attributes: str = "", region: str = "") -> str:
    operands = ", ".join(f"%a{k}" for k in range(len(arguments)))
    properties = f" <{{{attributes}}}>" if attributes else ""
    return f'%r = "{name}"({operands}){properties}{region} : ({", ".join(arguments)}) -> {result}'


def run(name: str, args: Sequence[Array], result: str, attributes: str = "", region: str = "") -> Array:
    """One operation on arguments."""
    kinds = [kind(a) for a in args]
    text = function(operation(name, kinds, result, attributes, region), kinds, result)
    (found,) = compile_module(text)(*args)
    return found


def close(got: Array, expected: Any, tolerance: float = TINY) -> None:
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance)


RNG = np.random.default_rng(5)
ANY = np.concatenate([RNG.standard_normal(27) * 3, [0.5, -0.5, 1.5, -2.5, 0.0]]).reshape(4, 8)
OTHER = RNG.standard_normal((4, 8)) * 2
ABOVE = RNG.uniform(0.1, 4, (4, 8))
SMALL = RNG.uniform(-0.9, 0.9, (4, 8))
INTS = RNG.integers(-9, 10, (4, 8), dtype=np.int32)
MORE = RNG.integers(1, 5, (4, 8), dtype=np.int32)
TRUTHS = RNG.integers(0, 2, (4, 8)) == 1
FALSE_TOO = RNG.integers(0, 2, (4, 8)) == 1


def vector(fn: Callable[[float], float]) -> Callable[[Array], Array]:
    return np.vectorize(fn)


def half_away(x: Array) -> Array:
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


FLOATS: Table = {
    "stablehlo.add": (np.add, (ANY, OTHER)),
    "stablehlo.subtract": (np.subtract, (ANY, OTHER)),
    "stablehlo.multiply": (np.multiply, (ANY, OTHER)),
    "stablehlo.divide": (np.divide, (ANY, ABOVE)),
    "stablehlo.remainder": (np.fmod, (ANY, ABOVE)),
    "stablehlo.maximum": (np.maximum, (ANY, OTHER)),
    "stablehlo.minimum": (np.minimum, (ANY, OTHER)),
    "stablehlo.power": (np.power, (ABOVE, OTHER)),
    "stablehlo.atan2": (np.arctan2, (ANY, OTHER)),
    "stablehlo.abs": (np.abs, (ANY,)),
    "stablehlo.negate": (np.negative, (ANY,)),
    "stablehlo.cbrt": (np.cbrt, (ANY,)),
    "stablehlo.ceil": (np.ceil, (ANY,)),
    "stablehlo.floor": (np.floor, (ANY,)),
    "stablehlo.cosine": (np.cos, (ANY,)),
    "stablehlo.sine": (np.sin, (ANY,)),
    "stablehlo.tan": (np.tan, (ABOVE / 4,)),
    "stablehlo.tanh": (np.tanh, (ANY,)),
    "stablehlo.exponential": (np.exp, (ANY,)),
    "stablehlo.exponential_minus_one": (np.expm1, (ANY,)),
    "stablehlo.log": (np.log, (ABOVE,)),
    "stablehlo.log_plus_one": (np.log1p, (ABOVE,)),
    "stablehlo.sqrt": (np.sqrt, (ABOVE,)),
    "stablehlo.rsqrt": (lambda x: 1 / np.sqrt(x), (ABOVE,)),
    "stablehlo.logistic": (lambda x: 1 / (1 + np.exp(-x)), (ANY,)),
    "stablehlo.round_nearest_even": (np.rint, (ANY,)),
    "stablehlo.round_nearest_afz": (half_away, (ANY,)),
    "stablehlo.clamp": (lambda low, x, high: np.minimum(np.maximum(x, low), high), (OTHER, ANY, OTHER + 1)),
    "stablehlo.sign": (np.sign, (ANY,)),
    "chlo.erf": (vector(math.erf), (ANY,)),
    "chlo.erfc": (vector(math.erfc), (ANY,)),
    "chlo.tan": (np.tan, (ABOVE / 4,)),
    "chlo.square": (np.square, (ANY,)),
    "chlo.acos": (np.arccos, (SMALL,)),
    "chlo.acosh": (np.arccosh, (ABOVE + 1,)),
    "chlo.asin": (np.arcsin, (SMALL,)),
    "chlo.asinh": (np.arcsinh, (ANY,)),
    "chlo.atan": (np.arctan, (ANY,)),
    "chlo.atanh": (np.arctanh, (SMALL,)),
    "chlo.cosh": (np.cosh, (ANY,)),
    "chlo.sinh": (np.sinh, (ANY,)),
}
INTEGERS: Table = {
    "stablehlo.add": (np.add, (INTS, MORE)),
    "stablehlo.subtract": (np.subtract, (INTS, MORE)),
    "stablehlo.multiply": (np.multiply, (INTS, MORE)),
    "stablehlo.divide": (lambda a, b: np.trunc(a / b), (INTS, MORE)),
    "stablehlo.remainder": (np.fmod, (INTS, MORE)),
    "stablehlo.maximum": (np.maximum, (INTS, MORE)),
    "stablehlo.minimum": (np.minimum, (INTS, MORE)),
    "stablehlo.power": (np.power, (INTS, MORE)),
    "stablehlo.abs": (np.abs, (INTS,)),
    "stablehlo.sign": (np.sign, (INTS,)),
    "stablehlo.negate": (np.negative, (INTS,)),
    "stablehlo.not": (np.invert, (INTS,)),
    "stablehlo.and": (np.bitwise_and, (INTS, MORE)),
    "stablehlo.or": (np.bitwise_or, (INTS, MORE)),
    "stablehlo.xor": (np.bitwise_xor, (INTS, MORE)),
    "stablehlo.shift_left": (np.left_shift, (INTS, MORE)),
    "stablehlo.shift_right_arithmetic": (np.right_shift, (INTS, MORE)),
    "stablehlo.shift_right_logical": (
        lambda a, b: (a.view(np.uint32) >> b.view(np.uint32)).view(np.int32),
        (INTS, MORE),
    ),
    "stablehlo.popcnt": (vector(lambda n: bin(int(n) & 0xFFFFFFFF).count("1")), (INTS,)),
    "stablehlo.count_leading_zeros": (vector(lambda n: 32 - (int(n) & 0xFFFFFFFF).bit_length()), (INTS,)),
}
BOOLEANS: Table = {
    "stablehlo.and": (np.logical_and, (TRUTHS, FALSE_TOO)),
    "stablehlo.or": (np.logical_or, (TRUTHS, FALSE_TOO)),
    "stablehlo.xor": (np.logical_xor, (TRUTHS, FALSE_TOO)),
    "stablehlo.not": (np.logical_not, (TRUTHS,)),
    "stablehlo.add": (np.logical_or, (TRUTHS, FALSE_TOO)),
    "stablehlo.multiply": (np.logical_and, (TRUTHS, FALSE_TOO)),
    "stablehlo.maximum": (np.logical_or, (TRUTHS, FALSE_TOO)),
    "stablehlo.minimum": (np.logical_and, (TRUTHS, FALSE_TOO)),
}
ALONE = {
    "chlo.is_inf",
    "stablehlo.bitcast_convert",
    "stablehlo.reduce_precision",
    "stablehlo.compare",
    "stablehlo.is_finite",
    "stablehlo.select",
    "stablehlo.convert",
}  # tests of their own below


def all_of(table: Table, element: str) -> dict[str, Array]:
    """The results of all operations of a table, compiled as one function."""
    result, args, lines = f"tensor<4x8x{element}>", [], []
    for k, (name, (_, own)) in enumerate(table.items()):
        operands = ", ".join(f"%a{len(args) + n}" for n in range(len(own)))
        lines.append(f'%r{k} = "{name}"({operands}) : ({", ".join(map(kind, own))}) -> {result}')
        args += own
    formals = ", ".join(f"%a{k}: {kind(a)}" for k, a in enumerate(args))
    values, types = ", ".join(f"%r{k}" for k in range(len(table))), ", ".join([result] * len(table))
    lines = [f"func.func @f({formals}) -> ({types}) {{", *lines, f"return {values} : {types}", "}"]
    return dict(zip(table, compile_module("\n".join(lines))(*args), strict=True))


@pytest.fixture(scope="module")
def floats() -> dict[str, Array]:
    return all_of(FLOATS, "f64")


@pytest.fixture(scope="module")
def integers() -> dict[str, Array]:
    return all_of(INTEGERS, "i32")


@pytest.fixture(scope="module")
def booleans() -> dict[str, Array]:
    return all_of(BOOLEANS, "i1")


@pytest.mark.parametrize("name", sorted(FLOATS))
def test_floats(name: str, floats: dict[str, Array]) -> None:
    expected, args = FLOATS[name]
    close(floats[name], expected(*args))


@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_integers(name: str, integers: dict[str, Array]) -> None:
    expected, args = INTEGERS[name]
    assert np.array_equal(integers[name], expected(*args))


@pytest.mark.parametrize("name", sorted(BOOLEANS))
def test_truth_values(name: str, booleans: dict[str, Array]) -> None:
    expected, args = BOOLEANS[name]
    assert np.array_equal(booleans[name], expected(*args))


def test_every_elementwise_operation_is_tested() -> None:
    assert {*FLOATS, *INTEGERS, *BOOLEANS, *ALONE} == set(ELEMENTWISE)


COMPARE = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal}
COMPARE |= {"GT": np.greater, "GE": np.greater_equal}


@pytest.mark.parametrize("direction", sorted(COMPARE))
def test_compare(direction: str) -> None:
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
    floats = ANY.copy(), ANY.copy()
    floats[1][::2] += 1
    floats[1][1, :3] = np.nan  # only NE holds
    truths = (TRUTHS, FALSE_TOO)
    for pair in (floats, (INTS, INTS[::-1].copy()), truths):
        assert np.array_equal(run("stablehlo.compare", pair, "tensor<4x8xi1>", attributes), COMPARE[direction](*pair))


SPECIAL = [np.nan, -1.0, np.inf, 0.0, -np.inf, -0.0, 1.0, -np.nan, 1e-320]


@pytest.mark.parametrize("direction", sorted(COMPARE))
def test_compare_in_total_order(direction: str) -> None:
    """Bits in order: -NaN, -inf, -1, -0, 0, 1e-320, 1, inf, NaN."""
    place = np.array([8, 2, 7, 4, 1, 3, 6, 0, 5], np.int32)
    values = np.copysign(np.array(SPECIAL), [1, -1, 1, 1, -1, -1, 1, -1, 1])
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>, compare_type = "
    attributes += "#stablehlo<comparison_type TOTALORDER>"
    for turn in range(1, 9):
        pair = values, np.roll(values, turn)
        expected = COMPARE[direction](place, np.roll(place, turn))
        assert np.array_equal(run("stablehlo.compare", pair, "tensor<9xi1>", attributes), expected)


def test_is_inf() -> None:
    given = np.array([0.0, -1.5, np.inf, -np.inf, np.nan, 1e308])
    assert run("chlo.is_inf", (given,), "tensor<6xi1>").tolist() == [False, False, True, True, False, False]


def test_bits_of_a_float() -> None:
    given = np.array([1.0, -0.0, 3.5], np.float32)
    assert run("stablehlo.bitcast_convert", (given,), "tensor<3xi32>").tolist() == [0x3F800000, -(2**31), 0x40600000]


def test_reduce_precision() -> None:
    """1 + 2**-8 lies between two bf16 and goes to the even one; 70000 overflows f16."""
    given = np.array([1 + 2**-8, 1 + 3 * 2**-8, 70000.0], np.float32)
    to_bf16 = run(
        "stablehlo.reduce_precision", (given,), "tensor<3xf32>", "exponent_bits = 8 : i32, mantissa_bits = 7 : i32"
    )
    close(to_bf16, [1.0, 1 + 2**-6, 70144.0], 0)
    to_f16 = run(
        "stablehlo.reduce_precision", (given,), "tensor<3xf32>", "exponent_bits = 5 : i32, mantissa_bits = 10 : i32"
    )
    close(to_f16, [1 + 2**-8, 1 + 3 * 2**-8, np.inf], 0)
    same = run(
        "stablehlo.reduce_precision", (given,), "tensor<3xf32>", "exponent_bits = 11 : i32, mantissa_bits = 52 : i32"
    )
    close(same, given, 0)


def test_is_finite() -> None:
    given = np.array([0.0, -1.5, np.inf, -np.inf, np.nan, 1e308])
    assert run("stablehlo.is_finite", (given,), "tensor<6xi1>").tolist() == [True, True, False, False, False, True]


def test_select_of_tensors_and_by_one_predicate() -> None:
    close(run("stablehlo.select", (TRUTHS, ANY, OTHER), "tensor<4x8xf64>"), np.where(TRUTHS, ANY, OTHER))
    for truth in (True, False):
        given = (np.array(truth), ANY, OTHER)
        close(run("stablehlo.select", given, "tensor<4x8xf64>"), ANY if truth else OTHER)


def test_clamp_with_bounds_for_all() -> None:
    given = (np.array(-0.5), ANY, np.array(0.75))
    close(run("stablehlo.clamp", given, "tensor<4x8xf64>"), np.clip(ANY, -0.5, 0.75))


@pytest.mark.parametrize(
    ("given", "element", "expected"),
    [
        (ANY, "f32", ANY.astype(np.float32)),
        (ANY, "f16", ANY.astype(np.float16)),
        (ANY.astype(np.float16), "f64", ANY.astype(np.float16)),
        (ANY, "i32", np.trunc(ANY)),
        (INTS, "f32", INTS),
        (INTS, "i64", INTS),
        (INTS.astype(np.int64) + 2**32, "i32", INTS),
        (TRUTHS, "f32", TRUTHS),
        (TRUTHS, "i32", TRUTHS),
        (ANY, "i1", ANY != 0),
        (INTS, "i1", INTS != 0),
        (ANY, "f64", ANY),
    ],
)
def test_convert(given: Array, element: str, expected: Array) -> None:
    close(run("stablehlo.convert", (given,), f"tensor<4x8x{element}>"), expected, 0)


def test_convert_between_types_of_the_same_width() -> None:
    """1 + 2**-8 lies between two bf16 and goes to the even one; 1.5 and 2**-10 are bf16."""
    f16 = np.array([1.5, 1 + 2**-8, -(2.0**-10), 1 + 3 * 2**-8], np.float16)
    bits = run("stablehlo.convert", (f16,), "tensor<4xbf16>")
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    close(values, [1.5, 1.0, -(2.0**-10), 1 + 2**-6], 0)


# -- operations that move elements


def test_constants() -> None:
    for value, expected in (
        ("dense<1.5> : tensor<2x3xf32>", np.full((2, 3), 1.5)),
        ("dense<[[1.0, -2.0, 3.0], [0x7F800000, 0.0, 4.0]]> : tensor<2x3xf32>", [[1, -2, 3], [np.inf, 0, 4]]),
        ("dense<0xFF800000> : tensor<2x3xf32>", np.full((2, 3), -np.inf)),
    ):
        close(run("stablehlo.constant", (), "tensor<2x3xf32>", f"value = {value}"), expected)


@pytest.mark.parametrize(
    ("shape", "dims", "result"),
    [
        ((), (), (2, 3)),
        ((3,), (1,), (2, 3)),
        ((2, 1), (0, 1), (2, 5)),
        ((4, 2), (2, 0), (2, 3, 4)),
        ((2, 3), (0, 1), (2, 3)),
    ],
)
def test_broadcast_in_dim(shape: tuple[int, ...], dims: tuple[int, ...], result: tuple[int, ...]) -> None:
    """Dims of the operand, put in the order in which the result has them, with 1 for those it lacks."""
    given = RNG.standard_normal(shape)
    order = np.argsort(dims)
    ones = [1] * len(result)
    for d, n in zip(dims, shape, strict=True):
        ones[d] = n
    expected = np.broadcast_to(np.transpose(given, order).reshape(ones), result)
    attributes = f"broadcast_dimensions = array<i64{': ' if dims else ''}{', '.join(map(str, dims))}>"
    close(run("stablehlo.broadcast_in_dim", (given,), kind(expected), attributes), expected)


def test_attributes_as_older_files_have_them() -> None:
    given = RNG.standard_normal(3)
    attributes = "broadcast_dimensions = dense<1> : tensor<1xi64>"
    close(run("stablehlo.broadcast_in_dim", (given,), "tensor<2x3xf64>", attributes), np.stack([given, given]))


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (0, 1, 2)])
def test_transpose(order: tuple[int, ...]) -> None:
    given = RNG.standard_normal((2, 3, 4))
    expected = np.transpose(given, order)
    attributes = f"permutation = array<i64: {', '.join(map(str, order))}>"
    close(run("stablehlo.transpose", (given,), kind(expected), attributes), expected)


@pytest.mark.parametrize(
    ("shape", "result"),
    [
        ((2, 3, 4), (6, 4)),
        ((6, 4), (2, 3, 4)),
        ((6, 4), (2, 12)),
        ((2, 3, 4), (4, 6)),
        ((1,), ()),
        ((), (1, 1)),
        ((1, 8), (8,)),
        ((8,), (8, 1, 1)),
        ((2, 1, 3), (1, 2, 3, 1)),
        ((2, 3), (2, 3)),
    ],
)
def test_reshape(shape: tuple[int, ...], result: tuple[int, ...]) -> None:
    given = RNG.standard_normal(shape)
    expected = given.reshape(result)
    close(run("stablehlo.reshape", (given,), kind(expected)), expected)


def test_slice() -> None:
    given = RNG.standard_normal((6, 9))
    attributes = "start_indices = array<i64: 1, 2>, limit_indices = array<i64: 5, 9>, strides = array<i64: 1, 3>"
    expected = given[1:5, 2:9:3]
    close(run("stablehlo.slice", (given,), kind(expected), attributes), expected)


STARTS = [
    ((1, 2), (1, 2)),
    ((4, 8), (3, 5)),
    ((-1, 0), (0, 0)),
]  # as given, and moved back where they reach over an edge


def started(name: str, args: Sequence[Array], at: tuple[int, int], result: str, attributes: str = "") -> Array:
    """An operation whose last two operands are constants."""
    kinds = [*map(kind, args), "tensor<i32>", "tensor<i32>"]
    constants = "\n".join(
        f'%s{k} = "stablehlo.constant"() <{{value = dense<{n}> : tensor<i32>}}> : () -> tensor<i32>'
        for k, n in enumerate(at)
    )
    operands = ", ".join([*(f"%a{k}" for k in range(len(args))), "%s0", "%s1"])
    line = f'%r = "{name}"({operands}) <{{{attributes}}}> : ({", ".join(kinds)}) -> {result}'
    (found,) = compile_module(function(f"{constants}\n{line}", kinds[: len(args)], result))(*args)
    return found


@pytest.mark.parametrize(("given", "used"), STARTS)
def test_slices_from_constants(given: tuple[int, int], used: tuple[int, int]) -> None:
    whole, part = RNG.standard_normal((6, 9)), RNG.standard_normal((3, 4))
    rows, columns = slice(used[0], used[0] + 3), slice(used[1], used[1] + 4)
    got = started("stablehlo.dynamic_slice", [whole], given, "tensor<3x4xf64>", "slice_sizes = array<i64: 3, 4>")
    close(got, whole[rows, columns])
    expected = whole.copy()
    expected[rows, columns] = part
    close(started("stablehlo.dynamic_update_slice", [whole, part], given, "tensor<6x9xf64>"), expected)


@pytest.mark.parametrize(("given", "used"), STARTS)
def test_slices_from_starts_known_at_run_time(given: tuple[int, int], used: tuple[int, int]) -> None:
    whole, part = RNG.standard_normal((6, 9)), RNG.standard_normal((3, 4))
    rows, columns = slice(used[0], used[0] + 3), slice(used[1], used[1] + 4)
    starts = [np.array(n, np.int32) for n in given]
    sizes = "slice_sizes = array<i64: 3, 4>"
    close(run("stablehlo.dynamic_slice", [whole, *starts], "tensor<3x4xf64>", sizes), whole[rows, columns])
    expected = whole.copy()
    expected[rows, columns] = part
    close(run("stablehlo.dynamic_update_slice", [whole, part, *starts], "tensor<6x9xf64>"), expected)


@pytest.mark.parametrize("dim", [0, 1])
def test_concatenate(dim: int) -> None:
    shapes = [(2, 3), (2, 1), (2, 4)] if dim == 1 else [(1, 3), (2, 3)]
    given = [RNG.standard_normal(s) for s in shapes]
    expected = np.concatenate(given, dim)
    close(run("stablehlo.concatenate", given, kind(expected), f"dimension = {dim} : i64"), expected)


def test_pad() -> None:
    given = RNG.standard_normal((2, 3))
    attributes = (
        "edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 2, 3>, interior_padding = array<i64: 0, 0>"
    )
    expected = np.pad(given, ((1, 2), (0, 3)), constant_values=-7)
    close(run("stablehlo.pad", (given, np.array(-7.0)), kind(expected), attributes), expected)


@pytest.mark.parametrize("element", ["i32", "f32", "i64"])
def test_iota(element: str) -> None:
    expected = np.broadcast_to(np.arange(5), (3, 5))
    close(run("stablehlo.iota", (), f"tensor<3x5x{element}>", "iota_dimension = 1 : i64"), expected)


def test_get_dimension_size() -> None:
    given = RNG.standard_normal((3, 5))
    assert run("stablehlo.get_dimension_size", (given,), "tensor<i32>", "dimension = 1 : i64") == 5


def test_optimization_barrier() -> None:
    close(run("stablehlo.optimization_barrier", (ANY,), "tensor<4x8xf64>"), ANY)


# -- products


def dot(left: str, right: str, result: str, sizes: dict[str, int]) -> tuple[str, list[Array], str]:
    """Attributes, arguments and einsum text of a product whose dims are named by letters."""
    batch = [c for c in left if c in right and c in result]
    inner = [c for c in left if c in right and c not in result]
    at = [[str([side.index(c) for c in letters]) for side in (left, right)] for letters in (batch, inner)]
    numbers = (
        f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {at[0][0]}, rhs_batching_dimensions = {at[0][1]}, "
        f"lhs_contracting_dimensions = {at[1][0]}, rhs_contracting_dimensions = {at[1][1]}>"
    )
    args = [RNG.standard_normal([sizes[c] for c in side]) for side in (left, right)]
    return numbers, args, f"{left},{right}->{result}"


SIZES = {"a": 2, "b": 3, "m": 4, "n": 5, "k": 6, "l": 7}


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("mk", "kn", "mn"),
        ("km", "nk", "mn"),
        ("amk", "akn", "amn"),
        ("mabk", "bkna", "abmn"),
        ("mkl", "lkn", "mn"),
        ("abkl", "klab", "ab"),
        ("m", "n", "mn"),
        ("k", "kn", "n"),
        ("mk", "k", "m"),
        ("k", "k", ""),
        ("bkm", "bk", "bm"),
    ],
)
def test_dot_general(left: str, right: str, result: str) -> None:
    attributes, args, einsum = dot(left, right, result, SIZES)
    expected = np.einsum(einsum, *args)
    close(run("stablehlo.dot_general", args, kind(expected), attributes), expected, 1e-13)


def test_dot() -> None:
    a, b = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 5))
    close(run("stablehlo.dot", (a, b), "tensor<3x5xf64>"), a @ b, 1e-13)


def test_dot_general_of_integers() -> None:
    attributes, _, einsum = dot("mk", "kn", "mn", {"m": 4, "k": 8, "n": 4})
    a, b = INTS, MORE.reshape(8, 4)
    assert np.array_equal(run("stablehlo.dot_general", (a, b), "tensor<4x4xi32>", attributes), np.einsum(einsum, a, b))


# 1 + 2049 * 2**-11 is 2 + 2**-11 exactly; with a sum in f16, adding 2**-11 to 1 changes nothing.
LONG = np.full((1, 2050), 2.0**-11, np.float16)
LONG[0, 0] = 1
ONES = np.ones((2050, 1), np.float16)
MATRIX = "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"


def algorithm(total: str, side: str = "f16", count: int = 1) -> str:
    return (
        f"algorithm = #stablehlo.dot_algorithm<lhs_precision_type = {side}, rhs_precision_type = {side}, "
        f"accumulation_type = {total}, "
        f"lhs_component_count = {count}, rhs_component_count = {count}, num_primitive_operations = 1, "
        "allow_imprecise_accumulation = false>"
    )


def test_products_of_f16_are_summed_in_f32_where_nothing_is_said() -> None:
    got = run("stablehlo.dot_general", (LONG, ONES), "tensor<1x1xf16>", MATRIX)
    assert float(got[0, 0]) == 2.0  # rounded once


def test_products_are_summed_in_the_type_of_the_result_where_it_is_wider() -> None:
    got = run("stablehlo.dot_general", (LONG, ONES), "tensor<1x1xf32>", MATRIX)
    assert float(got[0, 0]) == 2 + 2.0**-11


@pytest.mark.parametrize(("total", "expected"), [("f16", 1.0), ("f32", 2.0)])
def test_products_are_summed_in_the_type_that_an_algorithm_names(total: str, expected: float) -> None:
    got = run("stablehlo.dot_general", (LONG, ONES), "tensor<1x1xf16>", f"{algorithm(total)}, {MATRIX}")
    assert float(got[0, 0]) == expected


@pytest.mark.parametrize(
    ("side", "count", "expected"),
    [("bf16", 1, 1.0), ("bf16", 3, 1 + 2.0**-9), ("tf32", 1, 1 + 2.0**-9), ("f32", 1, 1 + 2.0**-9)],
)
def test_sides_are_rounded_to_the_type_that_an_algorithm_names(side: str, count: int, expected: float) -> None:
    """2**-9 is below half of bf16's last bit at 1; three bf16 hold it, and so does tf32."""
    a, b = np.array([[1 + 2.0**-9]], np.float32), np.ones((1, 1), np.float32)
    got = run("stablehlo.dot_general", (a, b), "tensor<1x1xf32>", f"{algorithm('f32', side, count)}, {MATRIX}")
    assert float(got[0, 0]) == expected


# -- reductions


def region(name: str, element: str) -> str:
    t = f"tensor<{element}>"
    return (
        f" ({{ ^bb0(%x: {t}, %y: {t}): "
        f'%z = "{name}"(%x, %y) : ({t}, {t}) -> {t} "stablehlo.return"(%z) : ({t}) -> () }})'
    )


@pytest.mark.parametrize(
    ("name", "start", "reduced"),
    [
        ("stablehlo.add", 0.0, np.sum),
        ("stablehlo.add", 2.5, lambda x, axis: 2.5 + np.sum(x, axis)),
        ("stablehlo.multiply", 1.0, np.prod),
        ("stablehlo.maximum", -np.inf, np.max),
        ("stablehlo.minimum", np.inf, np.min),
    ],
)
@pytest.mark.parametrize("dims", [(1,), (0, 2), (0, 1, 2)])
def test_reduce(name: str, start: float, reduced: Callable[..., Any], dims: tuple[int, ...]) -> None:
    given = RNG.standard_normal((3, 4, 5))
    expected = np.asarray(reduced(given, axis=dims))
    attributes = f"dimensions = array<i64: {', '.join(map(str, dims))}>"
    got = run("stablehlo.reduce", (given, np.array(start)), kind(expected), attributes, region(name, "f64"))
    close(got, expected, 1e-13)


def test_reductions_sum_in_the_type_of_their_region() -> None:
    """As above: in f16, adding 2**-11 to 1 changes nothing, and 2050 such terms are 1."""
    zero = np.zeros((), np.float16)
    got = run(
        "stablehlo.reduce", (LONG, zero), "tensor<1xf16>", "dimensions = array<i64: 1>", region("stablehlo.add", "f16")
    )
    assert float(got[0]) == 1.0
    wide = np.zeros((), np.float32)
    got = run(
        "stablehlo.reduce", (LONG, wide), "tensor<1xf32>", "dimensions = array<i64: 1>", region("stablehlo.add", "f32")
    )
    assert float(got[0]) == 2 + 2.0**-11


def test_reduce_with_truth_values() -> None:
    start = np.array(False)
    got = run(
        "stablehlo.reduce", (TRUTHS, start), "tensor<4xi1>", "dimensions = array<i64: 1>", region("stablehlo.or", "i1")
    )
    assert np.array_equal(got, TRUTHS.any(axis=1))


def test_reduce_of_a_pair_with_a_region_of_several_operations() -> None:
    """The largest element and its index, the lowest such index, as jax.numpy.argmax has it."""
    text = """func.func @f(%x: tensor<4x8xf64>, %i: tensor<4x8xi32>) -> tensor<4xi32> {
      %low = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
      %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %r:2 = "stablehlo.reduce"(%x, %i, %low, %zero) <{dimensions = array<i64: 1>}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<i32>, %c: tensor<f64>, %d: tensor<i32>):
        %gt = "stablehlo.compare"(%a, %c) <{comparison_direction = #stablehlo<comparison_direction GE>}>
          : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %v = "stablehlo.select"(%gt, %a, %c) : (tensor<i1>, tensor<f64>, tensor<f64>) -> tensor<f64>
        %n = "stablehlo.select"(%gt, %b, %d) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
        "stablehlo.return"(%v, %n) : (tensor<f64>, tensor<i32>) -> ()
      }) : (tensor<4x8xf64>, tensor<4x8xi32>, tensor<f64>, tensor<i32>) -> (tensor<4xf64>, tensor<4xi32>)
      return %r#1 : tensor<4xi32>
    }"""
    places = np.broadcast_to(np.arange(8, dtype=np.int32), (4, 8)).copy()
    (got,) = compile_module(text)(ANY, places)
    assert np.array_equal(got, ANY.argmax(axis=1))


# -- calls


def test_composites_are_what_their_decomposition_computes() -> None:
    text = """module {
      func.func @f(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
        %r = "stablehlo.composite"(%x) <{name = "my.twice", decomposition = @twice, version = 1 : i32}>
          : (tensor<4x8xf64>) -> tensor<4x8xf64>
        return %r : tensor<4x8xf64>
      }
      func.func private @twice(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
        %0 = "stablehlo.add"(%x, %x) : (tensor<4x8xf64>, tensor<4x8xf64>) -> tensor<4x8xf64>
        return %0 : tensor<4x8xf64>
      }
    }"""
    (got,) = compile_module(text)(ANY)
    close(got, 2 * ANY)
    assert "func.call" not in read_module(text).text  # inlined
