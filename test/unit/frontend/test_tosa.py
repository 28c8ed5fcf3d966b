"""TOSA functions are read through upstream's own conversion to linalg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_text
from prism_mlir.frontend import import_file
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.runtime.cpu_jit import compile_module

Array = NDArray[Any]

GATED = """func.func @main(%x: tensor<1x16x64xf16>, %w: tensor<1x64x32xf16>, %b: tensor<1x1x32xf32>) -> tensor<1x16x32xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf16>}> : () -> tensor<1xf16>
  %0 = tosa.matmul %x, %w, %zero, %zero
    : (tensor<1x16x64xf16>, tensor<1x64x32xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x16x32xf32>
  %1 = tosa.add %0, %b : (tensor<1x16x32xf32>, tensor<1x1x32xf32>) -> tensor<1x16x32xf32>
  %2 = tosa.sigmoid %1 : (tensor<1x16x32xf32>) -> tensor<1x16x32xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %3 = tosa.mul %1, %2, %shift : (tensor<1x16x32xf32>, tensor<1x16x32xf32>, tensor<1xi8>) -> tensor<1x16x32xf32>
  return %3 : tensor<1x16x32xf32>
}"""

SOFTMAX = """func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %m = tosa.reduce_max %x {axis = 1 : i32} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %d = tosa.sub %x, %m : (tensor<8x64xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
  %e = tosa.exp %d : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %s = tosa.reduce_sum %e {axis = 1 : i32} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  %r = tosa.reciprocal %s : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %o = tosa.mul %e, %r, %shift : (tensor<8x64xf32>, tensor<8x1xf32>, tensor<1xi8>) -> tensor<8x64xf32>
  return %o : tensor<8x64xf32>
}"""


def gated(x: Array, w: Array, b: Array) -> Array:
    y = x @ w + b
    return y / (1 + np.exp(-y))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


CASES: dict[str, tuple[Callable[..., Array], list[str]]] = {
    GATED: (gated, ["matmul", "add", "unary[x/(1 + exp(-x))]"]),
    SOFTMAX: (softmax, ["unary[exp(x)]", "sum[1]", "div"]),
}


@pytest.mark.parametrize("text", CASES, ids=["gated", "softmax"])
def test_values_and_operators(text: str) -> None:
    """The conversion on upstream's JIT within f32's roundings of NumPy in f64, the program exactly."""
    expected, operators = CASES[text]
    compiled, program = compile_module(text), import_file(text)
    assert [str(node.op) for node in program.nodes] == operators
    rng = np.random.default_rng(4)
    args = [rng.standard_normal(a.shape).astype(a.numpy_dtype) for a in compiled.arguments]
    wanted = expected(*(a.astype(np.float64) for a in args))
    np.testing.assert_allclose(compiled(*args)[0], wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(program.run(args)[0], wanted, rtol=1e-9, atol=1e-12)


def test_a_file_is_compiled_and_checked() -> None:
    done = compile_text(GATED, "gated.mlir", CompileOptions(samples=20))
    assert done.accuracy
    assert "gpu.launch_func" in done.host
    assert "tosa." not in done.host


def test_what_upstream_does_not_lower_is_named() -> None:
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tosa.custom %x {operator_name = "a", domain_name = "b", implementation_attrs = "c"} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}"""
    with pytest.raises(UnsupportedError) as caught:
        read_module(text, "a.mlir")
    assert str(caught.value).startswith("a.mlir:2:8: error: failed to legalize operation 'tosa.custom'")


def test_a_syntax_error_has_its_place() -> None:
    with pytest.raises(InputError) as caught:
        read_module("func.func @f(%x: tensor<4xf32>) {\n  %r = tosa.nothing %x : tensor<4xf32>\n}", "a.mlir")
    assert str(caught.value) == "a.mlir:2:8: error: custom op 'tosa.nothing' is unknown"


def test_the_word_in_a_comment_changes_nothing() -> None:
    text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> } // no tosa.add here"
    assert "func.return" in read_module(text, "a.mlir").text
