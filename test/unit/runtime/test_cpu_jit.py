"""Upstream's CPU JIT against NumPy in f64, with tolerances from the element type and the reduction length."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from prism_mlir.graph.errors import InputError, PrismError, UnsupportedError
from prism_mlir.runtime.cpu_jit import TensorSignature, compile_module, run_module

INPUTS = Path(__file__).parents[2] / "inputs"


def elementwise(element: str, body: str) -> str:
    """A program that applies ``body`` (from %x, %y to %r) to two vectors of 8."""
    tensor = f"tensor<8x{element}>"
    return f"""#map = affine_map<(d0) -> (d0)>
func.func @f(%a: {tensor}, %b: {tensor}) -> {tensor} {{
  %0 = tensor.empty() : {tensor}
  %1 = linalg.generic {{indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}}
    ins(%a, %b : {tensor}, {tensor}) outs(%0 : {tensor}) {{
    ^bb0(%x: {element}, %y: {element}, %o: {element}):
    {body}
    linalg.yield %r : {element}
  }} -> {tensor}
  return %1 : {tensor}
}}"""


X, Y = np.linspace(0.1, 2, 8), np.linspace(1, 3, 8)
UNARY = {
    "exp": np.exp,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf),
    "log1p": np.log1p,
    "sin": np.sin,
}


def to_bf16(array: np.ndarray) -> np.ndarray:
    """Round to nearest even, as bits."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_math_functions_in_every_float_type(element: str) -> None:
    ulp = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}[element]
    body = "\n".join(f"%{n} = math.{n} %x : {element}" for n in UNARY)
    total, terms = "", list(UNARY)
    for k, name in enumerate(terms[1:]):
        left = f"%{terms[0]}" if k == 0 else f"%s{k - 1}"
        result = "%r" if k == len(terms) - 2 else f"%s{k}"
        total += f"{result} = arith.addf {left}, %{name} : {element}\n"
    program = compile_module(elementwise(element, body + "\n" + total))
    x, y = (to_bf16(v) if element == "bf16" else v.astype(program.arguments[0].numpy_dtype) for v in (X, Y))
    (result,) = program(x, y)
    exact = from_bf16(x) if element == "bf16" else x.astype(np.float64)
    parts = [f(exact) for f in UNARY.values()]
    got = from_bf16(result) if element == "bf16" else result.astype(np.float64)
    # every function and every partial sum is rounded once, to within one ulp of a number no larger than the total
    bound = 2 * len(UNARY) * ulp * np.sum(np.abs(parts), axis=0)
    assert np.all(np.abs(got - np.sum(parts, axis=0)) <= bound)
    assert np.max(np.abs(got)) > 1


def test_integer_power_and_select() -> None:
    body = """%c2 = arith.constant 2 : i64
    %p = math.fpowi %x, %c2 : f32, i64
    %c = arith.cmpf ogt, %p, %y : f32
    %r = arith.select %c, %p, %y : f32"""
    (result,) = run_module(elementwise("f32", body), [X.astype(np.float32), Y.astype(np.float32)])
    np.testing.assert_allclose(result, np.maximum(X**2, Y), rtol=4e-7)


def test_integers_are_exact() -> None:
    a, b = np.arange(8, dtype=np.int32), np.arange(8, dtype=np.int32) + 3
    (result,) = run_module(elementwise("i32", "%r = arith.muli %x, %y : i32"), [a, b])
    np.testing.assert_array_equal(result, a * b)


def test_rms_norm_matmul_against_f64() -> None:
    program = compile_module(INPUTS / "paper" / "rms_norm_d1024_n16.linalg.mlir")
    assert [str(a) for a in program.arguments] == ["16x1024xf16", "1024x1024xf16"]
    rng = np.random.default_rng(7)
    x = rng.standard_normal((16, 1024)).astype(np.float16)
    w = (rng.standard_normal((1024, 1024)) / 32).astype(np.float16)
    (result,) = program(x, w)
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    normed = x64 / np.sqrt(np.mean(x64**2, axis=1, keepdims=True) + 1e-6)
    exact = normed @ w64
    # The program adds 1024 squares in f16 (error up to 1024 half-ulps of the sum, about 1024 * 2^-11 / 2 relative in the
    # worst case, its square root on average); everything else is a few roundings.
    statistical = 4 * math.sqrt(1024) * 2.0**-11
    assert np.max(np.abs(result - exact)) <= statistical * np.max(np.abs(exact))
    assert np.max(np.abs(result - exact)) > 0


def test_lora_against_f64() -> None:
    rng = np.random.default_rng(8)
    program = compile_module(INPUTS / "frameworks" / "lora.linalg.mlir")
    args = [(rng.standard_normal(a.shape, dtype=np.float32) / 64).astype(np.float16) for a in program.arguments]
    (result,) = program(*args)
    x, w, a, b = (v.astype(np.float64) for v in args)
    left, low = x @ w, x @ a
    exact = left + low @ b
    # f32 sums of 4096 products, then roundings to f16 of low, left, right and the total
    low_error = 2.0**-11 * np.abs(low) @ np.abs(b)
    bound = 2 * (low_error + 2.0**-11 * (np.abs(left) + np.abs(low @ b) + np.abs(exact))) + 2.0**-24 * 4096
    assert np.all(np.abs(result - exact) <= bound)


@pytest.mark.parametrize("name", ["attention_b2_g8_h1024_d128", "hf_llama_gqa_decode_b2_h1024"])
def test_softmax_programs_run(name: str) -> None:
    (path,) = INPUTS.glob(f"*/{name}.linalg.mlir")
    program = compile_module(path)
    rng = np.random.default_rng(9)
    q, k, v = (rng.standard_normal(a.shape, dtype=np.float32).astype(np.float16) for a in program.arguments)
    (result,) = program(q, k, np.ones_like(v))
    # With V of ones every output is the sum of softmax weights, which is one. Each weight is rounded to f16 (relative
    # error 2^-11, so the sum is off by at most that), then the sum is.
    assert np.all(np.abs(result.astype(np.float64) - 1) <= 2.0**-11 * 2)


def test_arguments_returned_as_results_are_copies() -> None:
    pair = "tensor<4xf32>, tensor<4xf32>"
    text = f"func.func @f(%a: tensor<4xf32>) -> ({pair}) {{\n  return %a, %a : {pair}\n}}"
    data = np.arange(4, dtype=np.float32)
    first, second = run_module(text, [data])
    first[0] = 9
    assert data[0] == 0
    assert second[0] == 0
    np.testing.assert_array_equal(second, data)


def test_inputs_are_never_written_to() -> None:
    body = "%r = arith.addf %x, %x : f32"
    a = np.ones(8, np.float32)
    run_module(elementwise("f32", body), [a, a])
    np.testing.assert_array_equal(a, np.ones(8))


def test_rank_zero_constants_and_elementwise_tensor_arithmetic() -> None:
    text = """func.func @f(%a: tensor<f32>, %b: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = arith.mulf %b, %c : tensor<3xf32>
  return %a, %0 : tensor<f32>, tensor<3xf32>
}"""
    scalar, vector = run_module(text, [np.array(2.5, np.float32), np.full(3, 2, np.float32)])
    assert scalar.shape == ()
    assert scalar == 2.5
    np.testing.assert_array_equal(vector, [2, 4, 6])


def test_signature_of_bf16() -> None:
    assert TensorSignature((2, 3), "bf16").numpy_dtype == np.uint16
    assert str(TensorSignature((), "f64")) == "f64"


IDENTITY = "func.func {} @{}(%a: {}) -> {} {{\n  return %a : {}\n}}\n"


def identity(name: str, kind: str, visibility: str = "") -> str:
    return IDENTITY.format(visibility, name, kind, kind, kind)


REJECTED = [
    (identity("f", "tensor<?xf32>"), UnsupportedError, "<input>:1:1: error: tensor<?xf32> in a signature"),
    (identity("f", "f32"), UnsupportedError, "<input>:1:1: error: f32 in a signature"),
    (identity("f", "tensor<4xi4>"), UnsupportedError, "<input>:1:1: error: element type i4 in a signature"),
    (identity("f", "tensor<4xf32>") + identity("g", "tensor<4xf32>"), InputError, "which function? there is: @f, @g"),
    ("module {}", InputError, "there is no function with a body"),
    (
        "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = bufferization.alloc_tensor() : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}",
        UnsupportedError,
        "<input>:2:8: error: bufferization.alloc_tensor on the CPU, lower it to func",
    ),
    (
        "func.func private @g(tensor<4xf32>) -> tensor<4xf32>\nfunc.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = func.call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}",
        UnsupportedError,
        "error: external function @_mlir_ciface_g is not available",
    ),
    (
        "func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = arith.constant dense<[true, false, true, true]> : tensor<4xi1>\n"
        "  %1 = arith.select %0, %a, %b : tensor<4xi1>, tensor<4xf32>\n  return %1 : tensor<4xf32>\n}",
        UnsupportedError,
        "tensors of i1 on the CPU",
    ),
]


@pytest.mark.parametrize(("text", "kind", "message"), REJECTED)
def test_what_cannot_run_is_a_located_line(
    text: str, kind: type[PrismError], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(kind) as caught:
        compile_module(text)
    assert message in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_truth_values_are_bytes() -> None:
    """Arguments, results and buffers in between of i1; strided ones too."""
    text = """
    func.func @f(%a: tensor<4x6xf32>, %c: tensor<4x6xf32>, %m: tensor<6x4xi1>) -> (tensor<4x6xf32>, tensor<4x6xi1>) {
      %e = tensor.empty() : tensor<4x6xi1>
      %t = linalg.transpose ins(%m : tensor<6x4xi1>) outs(%e : tensor<4x6xi1>) permutation = [1, 0]
      %0 = arith.cmpf ogt, %a, %c : tensor<4x6xf32>
      %b = arith.andi %0, %t : tensor<4x6xi1>
      %s = arith.addf %a, %a : tensor<4x6xf32>
      %1 = arith.select %b, %a, %s : tensor<4x6xi1>, tensor<4x6xf32>
      return %1, %b : tensor<4x6xf32>, tensor<4x6xi1>
    }"""
    rng = np.random.default_rng(0)
    a, c = (rng.standard_normal((4, 6)).astype(np.float32) for _ in range(2))
    mask = rng.random((6, 4)) < 0.5
    value, both = run_module(text, [a, c, mask])
    expected = (a > c) & mask.T
    assert both.dtype == bool and (both == expected).all() and 0 < expected.sum() < 24
    assert (value == np.where(expected, a, a + a)).all()


def test_choice_of_function() -> None:
    text = (
        identity("f", "tensor<4xf32>") + identity("main", "tensor<5xf32>") + identity("p", "tensor<6xf32>", "private")
    )
    assert compile_module(text).arguments[0].shape == (5,)
    assert compile_module(text, "f").arguments[0].shape == (4,)
    with pytest.raises(InputError, match="no function @h, there is: @f, @main"):
        compile_module(text, "h")


def test_wrong_arguments() -> None:
    program = compile_module(identity("f", "tensor<4xf32>"))
    with pytest.raises(InputError, match="takes 1 arrays, got 2"):
        program(np.zeros(4, np.float32), np.zeros(4, np.float32))
    with pytest.raises(InputError, match="argument 0 of @f is 4xf32, got 4xfloat64, give a float32 array"):
        program(np.zeros(4))
    with pytest.raises(InputError, match="got 2x2xfloat32"):
        program(np.zeros((2, 2), np.float32))


@pytest.mark.parametrize("name", ["a b", "a}b", "a,b", "{", "a=b", "%d", "é", "(", "a\nb", 'a"b', "a\\b", "../up"])
def test_a_function_may_have_any_name(name: str) -> None:
    """Beside another one, and a foreign operation's ``sym_name`` that is no name."""
    quoted = "".join(f"\\{ord(c):02X}" if c in '\n"\\' else c for c in name)
    text = elementwise("f32", "%r = arith.addf %x, %y : f32")
    text = (
        text.replace("@f(", f'@"{quoted}"(')
        + "\n"
        + text.replace("@f(", "@other(").replace("#map = affine_map<(d0) -> (d0)>", "")
    )
    (got,) = compile_module(text, name)(X.astype(np.float32), Y.astype(np.float32))
    np.testing.assert_array_equal(got, X.astype(np.float32) + Y.astype(np.float32))


def test_a_name_with_a_nul_is_refused() -> None:
    """LLVM would end the process at it."""
    text = identity("f", "tensor<4xf32>").replace("@f", '@"f\\00g"')
    with pytest.raises(InputError, match="a name with a NUL character, name it otherwise"):
        compile_module(text)
