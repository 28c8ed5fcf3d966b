"""Errors about StableHLO are one located line that names the operation."""

from __future__ import annotations

import sys

import pytest

from prism_mlir.frontend.stablehlo.text import generic_text
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.errors import InputError, MissingToolError, PrismError, UnsupportedError

F44 = "tensor<4x4xf32>"


def module(operation: str, result: str = F44, arguments: str = f"%a: {F44}") -> str:
    return f"func.func @f({arguments}) -> {result} {{\n  %r = {operation}\n  return %r : {result}\n}}"


def unary(name: str, attributes: str = "", result: str = F44) -> str:
    return module(f'"{name}"(%a) <{{{attributes}}}> : ({F44}) -> {result}', result)


def dot(attributes: str) -> str:
    return module(f'"stablehlo.dot_general"(%a, %a) <{{{attributes}}}> : ({F44}, {F44}) -> {F44}')


NUMBERS = "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"
ALGORITHM = (
    "algorithm = #stablehlo.dot_algorithm<lhs_precision_type = {0}, rhs_precision_type = {0}, accumulation_type = {0}>"
)

UNSUPPORTED = {
    unary("stablehlo.cholesky"): "stablehlo.cholesky is not supported, rewrite it with supported operations",
    unary("chlo.lgamma"): "chlo.lgamma is not supported, rewrite it with supported operations",
    unary("stablehlo.convolution"): "stablehlo.convolution is not supported, rewrite it with supported operations",
    unary("stablehlo.reduce_precision", "exponent_bits = 4 : i32, mantissa_bits = 3 : i32"): (
        "stablehlo.reduce_precision to 4 bits of exponent and 3 of mantissa, round to f16, bf16 or f32"
    ),
    unary("stablehlo.bitcast_convert", result="tensor<4x4xf16>"): (
        "stablehlo.bitcast_convert from f32 to f16, keep the number of bits"
    ),
    unary("stablehlo.custom_call", 'call_target_name = "Sharding"'): (
        "stablehlo.custom_call @Sharding is not supported, rewrite it with supported operations"
    ),
    unary("stablehlo.and").replace("(%a)", "(%a, %a)").replace(f"({F44}) ->", f"({F44}, {F44}) ->"): (
        "stablehlo.and on elements of type f32, rewrite it with supported operations"
    ),
    unary("stablehlo.abs").replace("f32", "ui8"): (
        "stablehlo.abs on elements of type ui8, use floats or signed integers"
    ),
    unary("stablehlo.abs").replace("f32", "complex<f32>"): (
        "stablehlo.abs on elements of type complex<f32>, use floats or signed integers"
    ),
    unary("stablehlo.abs").replace(F44, "f32"): "stablehlo.abs on f32, use ranked tensors",
    unary("stablehlo.abs").replace(F44, "tensor<*xf32>"): "stablehlo.abs on tensor<*xf32>, use ranked tensors",
    dot(f"{ALGORITHM.format('f8E4M3FNUZ9')}, {NUMBERS}"): (
        "stablehlo.dot_general with an algorithm on f8E4M3FNUZ9, use f32, tf32, bf16 or f16"
    ),
    unary("stablehlo.reshape", result="tensor<4x0xf32>").replace(f"{F44}", "tensor<0x4xf32>"): (
        "stablehlo.reshape of a tensor without elements, remove dims of size 0"
    ),
}


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_what_has_no_conversion_is_named(text: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read_module(text, "a.mlir")
    assert str(caught.value) == f"a.mlir:2:8: error: {UNSUPPORTED[text]}"


MALFORMED = {
    unary("stablehlo.transpose"): "stablehlo.transpose is malformed: it has no attribute permutation",
    unary("stablehlo.transpose", "permutation = array<i64: 1, 3>"): (
        "stablehlo.transpose is malformed: its permutation is none of its dims"
    ),
    unary("stablehlo.transpose", "permutation = array<i64: 1, 0>", "tensor<4x8xf32>"): (
        "'linalg.generic' op inferred input/output operand #1 has shape's dimension #1 to be 4, but found 8"
    ),
    unary("stablehlo.broadcast_in_dim", "broadcast_dimensions = array<i64: 0, 0>"): (
        "stablehlo.broadcast_in_dim is malformed: its dims do not fit its operand"
    ),
    unary("stablehlo.broadcast_in_dim", "broadcast_dimensions = array<i64: 0, 9>"): (
        "stablehlo.broadcast_in_dim is malformed: it names a dim that is not there"
    ),
    unary("stablehlo.add"): "stablehlo.add is malformed: it has 1 operands, not 2",
    unary("stablehlo.sort", "dimension = 0 : i64"): "stablehlo.sort is malformed: its region has not one block",
    module(
        f'"stablehlo.gather"(%a, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], index_vector_dim = 1>, '
        f"slice_sizes = array<i64: 1, 4>}}> : ({F44}, tensor<4x1xi32>) -> {F44}",
        arguments=f"%a: {F44}, %i: tensor<4x1xi32>",
    ): "stablehlo.gather is malformed: its dimension numbers do not fit its types",
    unary("stablehlo.reshape", result="tensor<5xf32>"): (
        "stablehlo.reshape is malformed: its types have different numbers of elements"
    ),
    unary("stablehlo.concatenate", "dimension = 0 : i64", "tensor<5x4xf32>"): (
        "stablehlo.concatenate is malformed: its operands do not fill its result"
    ),
    dot(NUMBERS.replace("[1]", "[7]")): (
        "stablehlo.dot_general is malformed: its dimension numbers do not fit its types"
    ),
    dot(NUMBERS.replace("[1]", "[1, 1]").replace("[0]", "[0, 1]")): (
        "stablehlo.dot_general is malformed: its dimension numbers name a dim twice"
    ),
    module(
        f'"stablehlo.reduce"(%a, %b) <{{dimensions = array<i64: 1>}}> ({{}}) : ({F44}, tensor<f32>) -> tensor<4xf32>',
        "tensor<4xf32>",
        f"%a: {F44}, %b: tensor<f32>",
    ): ("stablehlo.reduce is malformed: its region has not one block"),
}


@pytest.mark.parametrize("text", MALFORMED)
def test_what_nobody_has_verified_is_checked(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_module(text, "a.mlir")
    assert str(caught.value) == f"a.mlir:2:8: error: {MALFORMED[text]}"


def test_regions_hold_elementwise_operations() -> None:
    text = module(
        f'"stablehlo.reduce"(%a, %b) <{{dimensions = array<i64: 1>}}> ({{ ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
        '%z = "stablehlo.sort"(%x) : (tensor<f32>) -> tensor<f32> "stablehlo.return"(%z) : (tensor<f32>) -> () '
        f"}}) : ({F44}, tensor<f32>) -> tensor<4xf32>",
        "tensor<4xf32>",
        f"%a: {F44}, %b: tensor<f32>",
    )
    with pytest.raises(UnsupportedError, match=r"with stablehlo\.sort in its region, use elementwise operations there"):
        read_module(text, "a.mlir")


def test_custom_syntax_without_jaxlib_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    generic_text.cache_clear()
    monkeypatch.setitem(sys.modules, "jaxlib.mlir", None)  # an import of it now fails as if it were not there
    with pytest.raises(MissingToolError) as caught:
        read_module(module(f"stablehlo.abs %a : {F44}"), "a.mlir")
    wanted = 'a.mlir:1:1: error: StableHLO text in custom syntax needs jaxlib, pip install "prism-mlir[jax]"'
    assert str(caught.value) == wanted


def test_generic_form_needs_no_jaxlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jaxlib", None)
    assert "math.absf" in read_module(unary("stablehlo.abs"), "a.mlir").text


@pytest.mark.extras
@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (f"stablehlo.add %a : {F44}", "a.mlir:2:24: error: expected ','"),
        (f"stablehlo.nothing %a : {F44}", "a.mlir:2:8: error: custom op 'stablehlo.nothing' is unknown"),
        (f"stablehlo.cholesky %a, lower = true : {F44}", "a.mlir:2:8: error: stablehlo.cholesky is not supported"),
    ],
)
def test_custom_syntax_has_its_places(operation: str, expected: str) -> None:
    pytest.importorskip("jaxlib")
    with pytest.raises(PrismError) as caught:
        read_module(module(operation), "a.mlir")
    assert str(caught.value).startswith(expected)
