"""A function with ``?`` at concrete sizes: what upstream carries through, and what stays dynamic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mlir.frontend.import_linalg import import_file, import_module
from prism_mlir.frontend.specialise import dynamic_source, dynamic_text
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.runtime.cpu_jit import run_module

SCALED = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
func.func private @inner(%x: tensor<?x?xf32>) -> tensor<?x1xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x1xf32>) -> tensor<?x1xf32>
  %s = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%f : tensor<?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<?x1xf32>
  return %s : tensor<?x1xf32>
}
func.func @main(%x: tensor<?x?xf32> loc("x"), %y: tensor<8xf32>) -> tensor<?x1xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %c1 = arith.constant 1 : index
  %positive = arith.cmpi sge, %n, %c1 : index
  cf.assert %positive, "at least one row"
  %s = func.call @inner(%x) : (tensor<?x?xf32>) -> tensor<?x1xf32>
  return %s : tensor<?x1xf32>
}
func.func @caller(%x: tensor<?x?xf32>, %y: tensor<8xf32>) -> tensor<?x1xf32> {
  %s = func.call @main(%x, %y) : (tensor<?x?xf32>, tensor<8xf32>) -> tensor<?x1xf32>
  return %s : tensor<?x1xf32>
}
"""
STAYS = """
func.func @main(%x: tensor<?x8xf32>, %n: index) -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %r = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
"""
PRODUCT = """
func.func @main(%a: tensor<16x?xf32>, %b: tensor<?x8xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<16x?xf32>, tensor<?x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
"""


def test_the_dims_of_arguments_that_are_dynamic_and_their_names() -> None:
    source = dynamic_text(SCALED, "a.mlir", "main")
    assert source.dims == ((0, 0), (0, 1))
    assert source.names == ("x", "arg1")
    assert dynamic_text(SCALED, "a.mlir", "inner").names == ("arg0",)


@settings(max_examples=20, deadline=None)
@given(rows=st.integers(1, 40), columns=st.integers(1, 40))
def test_the_specialised_function_computes_row_sums(rows: int, columns: int) -> None:
    """Whole numbers, so that every order of a sum gives the same."""
    made = dynamic_text(SCALED, "a.mlir", "main").specialised({(0, 0): rows, (0, 1): columns})
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns) % 17
    (got,) = run_module(made.text, [x, np.zeros(8, np.float32)])
    np.testing.assert_array_equal(got, x.sum(axis=1, keepdims=True))


def test_the_specialised_function_can_be_imported() -> None:
    program = import_module(dynamic_text(SCALED, "a.mlir", "main").specialised({(0, 0): 6, (0, 1): 10}))
    assert [i.shape for i in program.inputs] == [(6, 10)]
    assert program.outputs[0].shape == (6, 1)


def test_a_dim_that_does_not_follow_from_arguments_is_an_error_with_its_place() -> None:
    source = dynamic_text(STAYS, "a.mlir")
    with pytest.raises(UnsupportedError, match=r"`\?` does not follow from the sizes of the arguments") as caught:
        source.specialised({(0, 0): 4})
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == ("a.mlir", 4)


def test_sizes_that_do_not_fit_together_are_an_error() -> None:
    with pytest.raises((InputError, UnsupportedError)):
        dynamic_text(PRODUCT, "a.mlir").specialised({(0, 1): 5, (1, 0): 6})


def test_tensors_without_rank_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"tensor<\*xf32> in a signature"):
        dynamic_text("func.func @f(%x: tensor<*xf32>) -> tensor<*xf32> { return %x : tensor<*xf32> }")


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="cannot read the file"):
        dynamic_source("/there/is/no/such.mlir")


ARGMAX = """
#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<4x1xf32>) -> tensor<4xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<4xf32>
  %i = tensor.empty() : tensor<4xi64>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %g = linalg.fill ins(%zero : i64) outs(%i : tensor<4xi64>) -> tensor<4xi64>
  %r:2 = linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x1xf32>) outs(%f, %g : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %n = linalg.index 1 : index
    %j = arith.index_cast %n : index to i64
    %best = arith.maximumf %a, %m : f32
    %more = arith.cmpf ogt, %a, %m : f32
    %at = arith.select %more, %j, %k : i64
    linalg.yield %best, %at : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %r#0 : tensor<4xf32>
}
"""


def test_an_argmax_over_one_element_beside_a_maximum_that_is_used() -> None:
    """Its comparison with -inf is no mask, and nobody asks for one."""
    program = import_file(ARGMAX)
    x = np.array([[1.0], [-3.0], [0.5], [2.0]], np.float32)
    np.testing.assert_array_equal(program.run([x])[0], x[:, 0])
