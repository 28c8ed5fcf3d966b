"""What JAX and torch export as StableHLO becomes the same program as what they export as linalg.

``test/inputs/stablehlo`` holds every file twice: ``*.stablehlo.mlir`` as it was exported, and ``*.generic.mlir``, the same in
generic form, which needs no jaxlib. :func:`test_generic_copies_are_what_jaxlib_prints` says how one is made from the other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from prism_mlir.compiler.dynamic_sizes import sized_function
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_text
from prism_mlir.frontend import import_file
from prism_mlir.frontend.specialise import dynamic_source
from prism_mlir.frontend.stablehlo.text import generic_text, is_stablehlo, needs_jaxlib
from prism_mlir.frontend.upstream import read_file, read_module
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.family import family_of
from prism_mlir.runtime.cpu_jit import compile_module

Array = NDArray[Any]
INPUTS = Path(__file__).parents[2] / "inputs"
STABLEHLO = INPUTS / "stablehlo"
NAMES = sorted(p.name.removesuffix(".generic.mlir") for p in STABLEHLO.glob("*.generic.mlir"))
TWINS = {p.name.removesuffix(".linalg.mlir"): p for p in INPUTS.glob("*/*.linalg.mlir")}
DYNAMIC = "jax_swiglu_dynbatch"
SILU = "unary[x/(1 + exp(-x))]"

# operators of the files without a linalg twin, counted by hand; 0.0883883461 and 1e-6 are f32 constants
ALONE = {
    "jax_swiglu_bf16": ["matmul", SILU, "matmul", "mul"],
    "jax_rmsnorm_linear_bf16": [
        *("unary[x**2]", "sum[1]", f"unary[1/sqrt(x/1024 + {float(np.float32(1e-6))!r})]", "mul", "mul", "matmul")
    ],
    "jax_dpa_bthd": [
        *("matmul", f"unary[{float(np.float32(128**-0.5))!r}*x]", "unary[exp(x)]", "sum[3]", "div", "matmul")
    ],
}


def generic(name: str) -> Path:
    return STABLEHLO / f"{name}.generic.mlir"


def test_every_file_is_expected() -> None:
    assert {*ALONE, *TWINS, DYNAMIC} == set(NAMES)
    assert sorted(p.name.removesuffix(".stablehlo.mlir") for p in STABLEHLO.glob("*.stablehlo.mlir")) == NAMES


@pytest.mark.parametrize("name", sorted(TWINS))
def test_a_file_and_its_linalg_twin_are_one_program(name: str) -> None:
    program, twin = import_file(generic(name)), import_file(TWINS[name])
    assert family_of(program).key == family_of(twin).key
    assert program == twin


@pytest.mark.parametrize("name", sorted(ALONE))
def test_operators(name: str) -> None:
    assert [str(node.op) for node in import_file(generic(name)).nodes] == ALONE[name]


# -- values


def swiglu(x: Array, gate: Array, up: Array) -> Array:
    y = x @ gate
    return y / (1 + np.exp(-y)) * (x @ up)


def norm(x: Array, g: Array, w: Array) -> Array:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * g @ w


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = np.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("bnts,bsnh->btnh", weights / weights.sum(axis=-1, keepdims=True), v)


VALUES: dict[str, Callable[..., Array]] = {
    "jax_swiglu_bf16": swiglu,
    "jax_rmsnorm_linear_bf16": norm,
    "jax_dpa_bthd": attention,
}


def bf16(shapes: list[tuple[int, ...]]) -> tuple[list[Array], list[Array]]:
    """Random numbers of bf16, each argument but the first scaled by its number of rows: in f64, and as bits."""
    rng = np.random.default_rng(2)
    bits = [
        from_float64(rng.standard_normal(s) / (1 if k == 0 or len(s) != 2 else np.sqrt(s[0])), DType.BF16)
        for k, s in enumerate(shapes)
    ]
    return [to_float64(b, DType.BF16) for b in bits], bits


@pytest.mark.parametrize("name", sorted(VALUES))
def test_values(name: str) -> None:
    """The converted file on upstream's JIT within some roundings to bf16 of NumPy in f64, the program exactly."""
    compiled = compile_module(generic(name))
    exact, bits = bf16([a.shape for a in compiled.arguments])
    expected = VALUES[name](*exact)
    largest = np.max(np.abs(expected))
    (got,) = compiled(*bits)
    assert np.max(np.abs(to_float64(got, DType.BF16) - expected)) <= 2.0**-8 * 4 * largest
    (model,) = import_file(generic(name)).run(bits)
    assert np.max(np.abs(model - expected)) <= 1e-6 * largest


def test_the_dynamic_file_has_one_size_and_its_values() -> None:
    source = dynamic_source(generic(DYNAMIC))
    function = sized_function(source)
    assert function.groups == (((0, 0),),)
    assert function.names == ("x[0]",)  # what the model's source calls the argument
    assert [str(node.op) for node in function.program.twin.nodes] == ALONE["jax_swiglu_bf16"]
    compiled = compile_module(function.module([3]).text)
    exact, bits = bf16([a.shape for a in compiled.arguments])
    assert exact[0].shape == (3, 2048)
    expected = swiglu(*exact)
    (got,) = compiled(*bits)
    assert np.max(np.abs(to_float64(got, DType.BF16) - expected)) <= 2.0**-8 * 4 * np.max(np.abs(expected))


# -- a whole compilation

SMALL = """module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> (tensor<16x32xf16> {jax.result_info = "result"}) {
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [0]>}> : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
    %1 = func.call @silu(%0) : (tensor<16x32xf16>) -> tensor<16x32xf16>
    return %1 : tensor<16x32xf16>
  }
  func.func private @silu(%x: tensor<16x32xf16>) -> tensor<16x32xf16> {
    %0 = "stablehlo.convert"(%x) : (tensor<16x32xf16>) -> tensor<16x32xf32>
    %1 = "stablehlo.logistic"(%0) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %2 = "stablehlo.multiply"(%0, %1) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %3 = "stablehlo.convert"(%2) : (tensor<16x32xf32>) -> tensor<16x32xf16>
    return %3 : tensor<16x32xf16>
  }
}"""


def test_a_file_is_compiled_checked_and_put_into_host_code() -> None:
    done = compile_text(SMALL, "silu.mlir", CompileOptions(samples=20))
    assert [str(node.op) for node in done.program.nodes] == ["matmul", SILU]
    assert done.accuracy
    assert "gpu.launch_func" in done.host
    for dialect in ("stablehlo", "mhlo", "jax."):  # upstream's tools know none of them
        assert dialect not in done.host
    read_module(done.host, normalise=False)


# -- reading


@pytest.mark.parametrize(
    ("text", "is_so", "needs"),
    [
        ('%1 = "stablehlo.add"(%0, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>', True, False),
        ('%1 = "chlo.erf"(%0) : (tensor<f32>) -> tensor<f32>', True, False),
        ("%1 = stablehlo.add %0, %0 : tensor<f32>", True, True),
        ("%1=stablehlo.add %0, %0 : tensor<f32>", True, True),
        ("%1 = chlo.erf %0 : tensor<f32> -> tensor<f32>", True, True),
        ('"vhlo.return_v1"(%0) : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> ()', True, True),
        ("%1 = arith.addf %0, %0 : tensor<f32> // stablehlo.add", False, False),
        ('%1 = arith.addf %0, %0 : tensor<f32> loc("stablehlo.add")', False, False),
        ("module attributes {stablehlo.note = 1 : i32} {}", False, False),
        ("func.func private @stablehlo.add(f32)", False, False),
        ("%1 = mhlo.add %0, %0 : tensor<f32>", False, False),
    ],
)
def test_stablehlo_is_recognised(text: str, is_so: bool, needs: bool) -> None:
    assert (is_stablehlo(text), needs_jaxlib(text)) == (is_so, needs)


def test_places_are_those_of_the_source() -> None:
    """Operations made of one carry its place: the name is what the copy says, lines are those of the exported file."""
    upstream = read_file(generic("lora"), normalise=False)
    (function,) = upstream.module.regions[0].blocks[0]
    generics = [v.operation for v in function.regions[0].blocks[0] if v.operation.name == "linalg.generic"]
    places = {str(upstream.locate(op)) for op in generics}
    assert places == {f"lora.stablehlo.mlir:{line}:10" for line in (3, 4, 5, 6)}


@pytest.mark.extras
@pytest.mark.parametrize("name", NAMES)
def test_generic_copies_are_what_jaxlib_prints(name: str) -> None:
    pytest.importorskip("jaxlib")
    path = STABLEHLO / f"{name}.stablehlo.mlir"
    made = generic_text(path.read_text(), path.name).replace('loc("-":', f'loc("{path.name}":')
    assert made.rstrip() == generic(name).read_text().rstrip()


@pytest.mark.extras
@pytest.mark.parametrize("name", sorted({*TWINS, *ALONE}))
def test_exported_files_are_read(name: str) -> None:
    pytest.importorskip("jaxlib")
    assert import_file(STABLEHLO / f"{name}.stablehlo.mlir") == import_file(generic(name))
