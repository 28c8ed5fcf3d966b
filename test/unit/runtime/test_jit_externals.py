"""Functions that code of the JIT calls and Python computes."""

from __future__ import annotations

import numpy as np
import pytest

from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.runtime.cpu_jit import compile_module

TWICE = """
func.func private @outside(tensor<2x3xELEMENT>) -> tensor<2x3xELEMENT>
func.func @main(%x: tensor<2x3xELEMENT>) -> tensor<2x3xELEMENT> {
  %y = call @outside(%x) : (tensor<2x3xELEMENT>) -> tensor<2x3xELEMENT>
  %z = call @outside(%y) : (tensor<2x3xELEMENT>) -> tensor<2x3xELEMENT>
  return %z : tensor<2x3xELEMENT>
}
"""
SEVERAL = """
func.func private @outside(tensor<2xf32>, tensor<f64>) -> (tensor<2xf32>, tensor<3x1xf16>, tensor<i32>)
func.func @main(%x: tensor<2xf32>, %n: tensor<f64>) -> (tensor<i32>, tensor<2xf32>, tensor<3x1xf16>, tensor<2xf32>) {
  %a, %b, %c = call @outside(%x, %n) : (tensor<2xf32>, tensor<f64>) -> (tensor<2xf32>, tensor<3x1xf16>, tensor<i32>)
  return %c, %a, %b, %x : tensor<i32>, tensor<2xf32>, tensor<3x1xf16>, tensor<2xf32>
}
"""


@pytest.mark.parametrize("element", ["f16", "f32", "f64", "i32", "i64", "i8"])
def test_a_function_is_called_with_what_it_is_given(element: str) -> None:
    seen: list[np.ndarray] = []

    def outside(x: np.ndarray) -> list[np.ndarray]:
        seen.append(x)
        return [x * 2 + 1]

    program = compile_module(TWICE.replace("ELEMENT", element), externals={"outside": outside})
    x = np.arange(6).reshape(2, 3).astype(program.arguments[0].numpy_dtype)
    (got,) = program(x)
    np.testing.assert_array_equal(got, x * 4 + 3)
    np.testing.assert_array_equal(seen[0], x)
    np.testing.assert_array_equal(seen[1], x * 2 + 1)


def test_truths_are_bytes() -> None:
    program = compile_module(TWICE.replace("ELEMENT", "i1"), externals={"outside": lambda x: [~x]})
    x = np.array([[True, False, True], [False, False, True]])
    np.testing.assert_array_equal(program(x)[0], x)


def test_several_results_of_several_types_and_a_scalar() -> None:
    def outside(x: np.ndarray, n: np.ndarray) -> list[np.ndarray]:
        return [x + float(n), np.full((3, 1), 0.5, np.float16), np.array(7, np.int32)]

    program = compile_module(SEVERAL, externals={"outside": outside})
    x = np.array([1, 2], np.float32)
    c, a, b, same = program(x, np.array(0.25))
    assert c == 7
    np.testing.assert_array_equal(a, np.array([1.25, 2.25], np.float32))
    np.testing.assert_array_equal(b, np.full((3, 1), 0.5, np.float16))
    np.testing.assert_array_equal(same, x)


def test_an_exception_passes_through_compiled_code_and_the_next_call_works() -> None:
    fail = True

    def outside(x: np.ndarray) -> list[np.ndarray]:
        if fail:
            raise RuntimeError("cannot")
        return [x]

    program = compile_module(TWICE.replace("ELEMENT", "f32"), externals={"outside": outside})
    x = np.ones((2, 3), np.float32)
    with pytest.raises(RuntimeError, match="cannot"):
        program(x)
    fail = False
    np.testing.assert_array_equal(program(x)[0], x)


def test_a_wrong_result_is_an_error_and_not_memory_read_wrongly() -> None:
    program = compile_module(TWICE.replace("ELEMENT", "f32"), externals={"outside": lambda x: [x[:1]]})
    with pytest.raises(ValueError, match="shape"):
        program(np.ones((2, 3), np.float32))


def test_a_function_that_is_not_declared() -> None:
    with pytest.raises(InputError, match="no function @other is declared"):
        compile_module(TWICE.replace("ELEMENT", "f32"), externals={"other": lambda x: [x]})


def test_a_declared_function_that_nobody_gives() -> None:
    with pytest.raises(UnsupportedError, match="outside"):
        compile_module(TWICE.replace("ELEMENT", "f32"))
