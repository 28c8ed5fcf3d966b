"""What is not supported is one line with its place, that says what it is and what to do."""

from __future__ import annotations

import pytest

from prism_mlir.frontend import import_file
from prism_mlir.graph.errors import UnsupportedError

T = "tensor<16x64xf32>"


def function(body: str, arguments: str = f"%a: {T}", result: str = T) -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n  return %r : {result}\n}}"


def on_tensors(operation: str) -> str:
    return function(f"  %r = {operation} : {T}")


def filled(result: str, value: str) -> str:
    element = result.rstrip(">").split("x")[-1]
    return (
        f"  %c = arith.constant {value} : {element}\n  %e = tensor.empty() : {result}\n"
        f"  %z = linalg.fill ins(%c : {element}) outs(%e : {result}) -> {result}\n"
    )


I32, ROWS, CONV = "tensor<16x32xi32>", "tensor<16xf32>", "tensor<1x6x32xf32>"
REFUSED = {
    "inverse": (on_tensors("math.atan %a"), "2:8: error: operation math.atan, rewrite it with supported operations"),
    "call": (
        function(f"  %r = func.call @other(%a) : ({T}) -> {T}") + f"\nfunc.func private @other({T}) -> {T}",
        "2:8: error: a call of a function that has no body or calls itself, define it in the module",
    ),
    "remainder": (on_tensors("arith.remf %a, %a"), "2:8: error: operation arith.remf"),
    "power": (on_tensors("math.powf %a, %a"), "2:8: error: math.powf with an exponent that is a tensor"),
    "product": (
        function(
            filled(ROWS, "1.0")
            + f"  %r = linalg.reduce {{ arith.mulf }} ins(%a : {T}) outs(%z : {ROWS}) dimensions = [1]",
            result=ROWS,
        ),
        "5:8: error: reduction by arith.mulf, reduce by addf, maximumf or minimumf",
    ),
    "integer argument": (
        function(
            f"  %f = arith.sitofp %i : tensor<16x64xi32> to {T}\n  %r = arith.mulf %a, %f : {T}",
            f"%a: {T}, %i: tensor<16x64xi32>",
        ),
        "1:40: error: argument 1 of element type i32, use a floating-point tensor",
    ),
    "scalar argument": (
        function(
            f"  %e = tensor.empty() : {T}\n  %v = linalg.fill ins(%s : f32) outs(%e : {T}) -> {T}\n"
            f"  %r = arith.mulf %a, %v : {T}",
            f"%a: {T}, %s: f32",
        ),
        "1:40: error: argument 1 of type f32, use a tensor",
    ),
    "quantised product": (
        function(
            filled(I32, "0")
            + f"  %r = linalg.matmul ins(%a, %w : tensor<16x64xi8>, tensor<64x32xi8>) outs(%z : {I32}) -> {I32}",
            "%a: tensor<16x64xi8>, %w: tensor<64x32xi8>",
            I32,
        ),
        "5:8: error: reduction by arith.addi",
    ),
    "convolution": (
        function(
            filled(CONV, "0.0")
            + "  %r = linalg.conv_1d_nwc_wcf ins(%a, %w : tensor<1x8x16xf32>, tensor<3x16x32xf32>) "
            + f"outs(%z : {CONV}) -> {CONV}",
            "%a: tensor<1x8x16xf32>, %w: tensor<3x16x32xf32>",
            CONV,
        ),
        "5:8: error: linalg.generic that reads with an index that is no loop",
    ),
    "loop": (
        function(
            "  %z = arith.constant 0 : index\n  %n = arith.constant 4 : index\n  %i = arith.constant 1 : index\n"
            f"  %r = scf.for %k = %z to %n step %i iter_args(%x = %a) -> ({T}) {{\n"
            f"    %y = arith.addf %x, %a : {T}\n    scf.yield %y : {T}\n  }}"
        ),
        "5:8: error: a loop that carries values",
    ),
    "gather": (
        function(
            f"  %e = tensor.empty() : {T}\n"
            "  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], "
            'iterator_types = ["parallel", "parallel"]} '
            f"ins(%i : tensor<16xi32>) outs(%e : {T}) {{\n  ^bb0(%n: i32, %o: f32):\n"
            "    %p = arith.index_cast %n : i32 to index\n    %j = linalg.index 1 : index\n"
            f"    %y = tensor.extract %a[%p, %j] : {T}\n    linalg.yield %y : f32\n  }} -> {T}",
            f"%a: {T}, %i: tensor<16xi32>",
        ),
        "7:10: error: elements at positions that are computed (a gather)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_has_a_place_and_a_name(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(UnsupportedError) as caught:
        import_file(text)
    assert str(caught.value).startswith(f"<input>:{message}")
    assert "\n" not in str(caught.value)
