"""Operations of StableHLO whose positions are computed, run by upstream's JIT after conversion, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_stablehlo_operations import run

from prism_mlir.frontend import import_file
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.runtime.cpu_jit import compile_module

Array = NDArray[Any]
RNG = np.random.default_rng(8)
V = RNG.standard_normal((4, 6, 8)).astype(np.float32)
TABLE = RNG.standard_normal((10, 8)).astype(np.float32)
SUM = """({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
})"""
SECOND = '({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): "stablehlo.return"(%y) : (tensor<f32>) -> () })'
LESS = """({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction LT>}>
      : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
})"""


def gathered(operand: Array, starts: Array, result: str, numbers: str, sizes: str) -> Array:
    attributes = f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {sizes}>"
    return run("stablehlo.gather", (operand, starts), result, attributes)


def test_gather_of_rows() -> None:
    """An embedding; numbers outside of the table are moved to its edge."""
    places = np.array([[3], [-4], [20], [0]], np.int32)
    numbers = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
    got = gathered(TABLE, places, "tensor<4x8xf32>", numbers, "1, 8")
    assert np.array_equal(got, TABLE[[3, 0, 9, 0]])


def test_gather_with_numbers_that_are_no_vectors() -> None:
    """``index_vector_dim`` behind the last dim: each number is a start; the offset dim comes first in the result."""
    places = np.array([[3, 7], [1, 0]], np.int64)
    numbers = "offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2"
    got = gathered(TABLE, places, "tensor<8x2x2xf32>", numbers, "1, 8")
    assert np.array_equal(got, np.moveaxis(TABLE[places], 2, 0))


def test_gather_of_windows_from_starts_in_two_dims() -> None:
    """Starts (row, column) along dim 0 of the indices, in the order (column, row); windows of 2 x 3, moved back at the edge."""
    places = np.array([[0, 4, 9], [1, 0, 8]], np.int32)  # columns, then rows
    numbers = "offset_dims = [1, 2], start_index_map = [1, 0], index_vector_dim = 0"
    got = gathered(TABLE, places, "tensor<3x2x3xf32>", numbers, "2, 3")
    corners = [(1, 0), (0, 4), (8, 5)]
    assert np.array_equal(got, np.stack([TABLE[r : r + 2, c : c + 3] for r, c in corners]))


def test_gather_in_batches() -> None:
    """Row ``places[b]`` of matrix ``b``."""
    places = np.array([[0], [5], [2], [1]], np.int32)
    numbers = (
        "offset_dims = [1], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 1"
    )
    got = gathered(V, places, "tensor<4x8xf32>", numbers, "1, 1, 8")
    assert np.array_equal(got, V[np.arange(4), places[:, 0]])


def scattered(whole: Array, places: Array, updates: Array, numbers: str, region: str) -> Array:
    kind = f"tensor<{'x'.join(map(str, whole.shape))}xf32>"
    attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>"
    return run("stablehlo.scatter", (whole, places, updates), kind, attributes, " " + region)


def test_scatter_replaces_rows() -> None:
    """Rows 2 and 7 are replaced, the last one twice; row 12 is not there."""
    places, updates = np.array([[2], [7], [12], [7]], np.int32), RNG.standard_normal((4, 8)).astype(np.float32)
    numbers = (
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    )
    expected = TABLE.copy()
    expected[2], expected[7] = updates[0], updates[3]
    assert np.array_equal(scattered(TABLE, places, updates, numbers, SECOND), expected)


def test_scatter_adds_up() -> None:
    places, updates = np.array([[1], [1], [-1]], np.int32), np.ones((3, 8), np.float32)
    numbers = (
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    )
    expected = TABLE.copy()
    expected[1] = expected[1] + np.float32(1) + np.float32(1)
    assert np.array_equal(scattered(TABLE, places, updates, numbers, SUM), expected)


def test_sort_along_a_dim() -> None:
    got = run("stablehlo.sort", (V,), "tensor<4x6x8xf32>", "dimension = 1 : i64, is_stable = true", " " + LESS)
    assert np.array_equal(got, np.sort(V, axis=1))


def test_sort_takes_a_second_tensor_along_and_is_stable() -> None:
    keys = np.array([[3.0, 1.0, 3.0, 2.0, 1.0]], np.float32)
    numbers = np.array([[0, 1, 2, 3, 4]], np.int32)
    pair = "(tensor<1x5xf32>, tensor<1x5xi32>)"
    region = LESS.replace("%y: tensor<f32>)", "%y: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>)")
    text = f"""func.func @f(%a: tensor<1x5xf32>, %b: tensor<1x5xi32>) -> {pair} {{
  %r:2 = "stablehlo.sort"(%a, %b) <{{dimension = 1 : i64, is_stable = true}}> {region} : {pair} -> {pair}
  return %r#0, %r#1 : tensor<1x5xf32>, tensor<1x5xi32>
}}"""
    values, places = compile_module(text)(keys, numbers)
    assert values.tolist() == [[1.0, 1.0, 2.0, 3.0, 3.0]]
    assert places.tolist() == [[1, 4, 3, 0, 2]]


def test_top_k() -> None:
    text = """func.func @f(%a: tensor<3x6xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %v, %i = "chlo.top_k"(%a) <{k = 2 : i64}> : (tensor<3x6xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %v, %i : tensor<3x2xf32>, tensor<3x2xi32>
}"""
    given = np.array([[1, 5, 2, 5, 0, -1], [-3, -2, -1, -4, -9, -5], [0, np.inf, np.nan, 2, 3, 1]], np.float32)
    values, places = compile_module(text)(given)
    assert places.tolist() == [[1, 3], [2, 1], [2, 1]]
    assert np.array_equal(values, [[5, 5], [-1, -2], [np.nan, np.inf]], equal_nan=True)


def test_reverse() -> None:
    got = run("stablehlo.reverse", (V,), "tensor<4x6x8xf32>", "dimensions = array<i64: 0, 2>")
    assert np.array_equal(got, V[::-1, :, ::-1])


def windowed(window: str, padding: str, result: str, more: str = "") -> Array:
    attributes = f"window_dimensions = array<i64: {window}>, padding = dense<{padding}> : tensor<3x2xi64>{more}"
    return run("stablehlo.reduce_window", (V, np.array(0, np.float32)), result, attributes, " " + SUM)


def test_cumulative_sum() -> None:
    got = windowed("1, 1, 8", "[[0, 0], [0, 0], [7, 0]]", "tensor<4x6x8xf32>")
    np.testing.assert_allclose(got, np.cumsum(V.astype(np.float64), axis=2), rtol=1e-5, atol=1e-6)


def test_windows_with_strides_and_dilation() -> None:
    """Rows i*2 and i*2 + 3 of 6, columns j*3 - 1 .. j*3 + 1 of 8 with a zero on either side."""
    more = ", window_strides = array<i64: 1, 2, 3>, window_dilations = array<i64: 1, 3, 1>"
    got = windowed("1, 2, 3", "[[0, 0], [0, 0], [1, 1]]", "tensor<4x2x3xf32>", more)
    wide = np.pad(V.astype(np.float64), ((0, 0), (0, 0), (1, 1)))
    expected = [
        [[wide[b, [i * 2, i * 2 + 3], j * 3 : j * 3 + 3].sum() for j in range(3)] for i in range(2)] for b in range(4)
    ]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_pad_between_elements_and_at_negative_edges() -> None:
    given, fill = np.arange(6, dtype=np.float32).reshape(2, 3), np.array(9, np.float32)
    attributes = "edge_padding_low = array<i64: 1, -1>, edge_padding_high = array<i64: 0, 2>, interior_padding = array<i64: 0, 2>"
    got = run("stablehlo.pad", (given, fill), "tensor<3x8xf32>", attributes)
    rows = [[9, 9, 1, 9, 9, 2, 9, 9], [9, 9, 4, 9, 9, 5, 9, 9]]  # of 0 9 9 1 9 9 2 without the first, and two more
    assert got.tolist() == [[9] * 8, *rows]


LOOP = """func.func @f(%a: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %r:2 = "stablehlo.while"(%zero, %a) ({
  ^bb0(%i: tensor<i32>, %x: tensor<4xf32>):
    %c = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}>
      : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<4xf32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %y = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%j, %y) : (tensor<i32>, tensor<4xf32>) -> ()
  }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  return %r#1 : tensor<4xf32>
}"""


def test_a_loop_runs_until_its_condition_fails() -> None:
    given = np.array([1, -2, 3, 0.5], np.float32)
    for n in (0, 1, 5):
        assert np.array_equal(compile_module(LOOP)(given, np.array(n, np.int32))[0], given * 2**n)


def branches(name: str, kind: str, count: int) -> str:
    returns = '"stablehlo.return"(%{}) : (tensor<4xf32>) -> ()'
    bodies = [
        f'{{ %b{k} = "stablehlo.constant"() <{{value = dense<{k}.0> : tensor<4xf32>}}> : () -> tensor<4xf32>\n'
        f'%c{k} = "stablehlo.add"(%a, %b{k}) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n{returns.format(f"c{k}")} }}'
        for k in range(count)
    ]
    return f"""func.func @f(%a: tensor<4xf32>, %n: tensor<{kind}>) -> tensor<4xf32> {{
  %r = "stablehlo.{name}"(%n) ({", ".join(bodies)}) : (tensor<{kind}>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}}"""


def test_branches() -> None:
    """A number that has no branch takes the last one; the first region of ``if`` is for true."""
    given = np.array([1, -2, 3, 0.5], np.float32)
    case = compile_module(branches("case", "i32", 3))
    for n, taken in ((0, 0), (1, 1), (2, 2), (3, 2), (-1, 2)):
        assert np.array_equal(case(given, np.array(n, np.int32))[0], given + taken)
    either = compile_module(branches("if", "i1", 2))
    for truth, taken in ((True, 0), (False, 1)):
        assert np.array_equal(either(given, np.array(truth))[0], given + taken)


ROWS = """func.func @f(%a: tensor<10x8xf32>, %i: tensor<4x1xi32>) -> tensor<4x8xf32> {
  %r = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}>
    : (tensor<10x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ROWS, "<input>:2:8: error: elements at positions that are computed (a gather)"),
        (LOOP, "<input>:3:10: error: a loop whose end is computed"),
        (branches("if", "i1", 2), "<input>:2:8: error: a branch taken at run time"),
    ],
)
def test_a_tensor_program_has_no_operator_for_them(text: str, expected: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        import_file(text)
    assert str(caught.value).startswith(expected)
