"""Functions with dynamic sizes, compiled whole: every variant against NumPy in f64, at sizes of its range and below.

Buffers have exactly the sizes of the run, and the PTX machine has all its checks on. Tolerances are those of the one rounding of
a result, and of operands of products that code rounds (u = 2**-11 for f16, 2**-8 for bf16), with 5 % for sums and functions in
f32.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mgpu_runtime import call, lower, runtime
from numpy.typing import NDArray

from prism_mlir.compiler.buckets import SizeOptions
from prism_mlir.compiler.dynamic import DynamicCompilation, compile_dynamic
from prism_mlir.compiler.dynamic_sizes import sized_function
from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.options import CompileOptions, HostSignature, WorkspacePlace
from prism_mlir.frontend.specialise import dynamic_text
from prism_mlir.graph.dispatch import Dispatch
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.records.store import Records

F64 = NDArray[np.float64]
Array = NDArray[Any]
INPUTS = Path(__file__).parents[2] / "inputs/dynamic"
LARGEST = 40


def text_of(name: str) -> str:
    """An input with small static dims."""
    text = (INPUTS / f"{name}.mlir").read_text()
    text = re.sub(r"(?<=x)(1024|2048)(?=x)|(?<=<)(1024|2048)(?=x)", "32", text)
    return (
        text.replace("16x", "2x")
        .replace("[16, 1, 1]", "[2, 1, 1]")
        .replace("128", "16")
        .replace("1.024000e+03", "32.0")
    )


@cache
def compiled(name: str, host: HostSignature = HostSignature.TENSOR) -> DynamicCompilation:
    options = CompileOptions(samples=60, check=False, host=host, limits=SearchLimits(operators=9))
    return compile_dynamic(dynamic_text(text_of(name), f"{name}.mlir"), options, SizeOptions(LARGEST, ("7",)))


def run(done: DynamicCompilation, variant: int, size: int, arguments: Sequence[Array]) -> Array:
    (result,) = Emulator(done.dispatch.variants[variant].launch.at((size,)), done.ptx)(arguments)
    return result


def swiglu(x: F64, g: F64, u: F64) -> F64:
    a = x @ g
    return a / (1 + np.exp(-a)) * (x @ u)


def rms_norm(x: F64, w: F64) -> F64:
    return (x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6)) @ w


def attention(q: F64, k: F64, v: F64) -> F64:
    s = q @ k.transpose(0, 2, 1)
    p = np.exp(s - s.max(axis=2, keepdims=True))
    return p / p.sum(axis=2, keepdims=True) @ v


Case = tuple[DType, Callable[[int], list[tuple[int, ...]]], Callable[..., F64], Callable[[list[F64], F64], F64]]
CASES: dict[str, Case] = {  # type, shapes of arguments, meaning, tolerance
    "residual": (DType.F16, lambda n: [(n, 32), (n, 32)], lambda x, y: x + y, lambda _, e: 2.0**-11 * np.abs(e)),
    "swiglu": (
        DType.BF16,
        lambda n: [(n, 32), (32, 32), (32, 32)],
        swiglu,
        lambda a, e: 1.05 * 2.0**-8 * np.abs(e) + 1e-5 * np.abs(a[0]) @ np.abs(a[2]),
    ),
    "rms_norm": (
        DType.F16,
        lambda n: [(n, 32), (32, 32)],
        rms_norm,
        lambda a, e: 1.05 * 2.0**-11 * (np.abs(e) + rms_norm(np.abs(a[0]), np.abs(a[1]))),
    ),
    "attention": (
        DType.F16,
        lambda n: [(2, 1, 16), (2, n, 16), (2, n, 16)],
        attention,
        lambda a, _: 2.1 * 2.0**-11 * np.abs(a[2]).max() * np.ones((2, 1, 16)),
    ),
}


def drawn(name: str, size: int, seed: int) -> tuple[list[Array], list[F64]]:
    dtype, shapes, _, _ = CASES[name]
    rng = np.random.default_rng(seed)
    values = [from_float64(rng.integers(-4, 5, s) / 4, dtype) for s in shapes(size)]
    return values, [to_float64(v, dtype) for v in values]


def judge(name: str, got: Array, exact: list[F64]) -> None:
    dtype, _, meaning, tolerance = CASES[name]
    wanted = meaning(*exact)
    assert got.shape == wanted.shape
    assert np.all(np.abs(to_float64(got, dtype) - wanted) <= tolerance(exact, wanted) + 2.0**-24)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=12, deadline=None)
@given(size=st.integers(1, LARGEST), seed=st.integers(0, 2**16))
def test_the_variant_that_serves_a_size_is_right(name: str, size: int, seed: int) -> None:
    done = compiled(name)
    arguments, exact = drawn(name, size, seed)
    variant = done.dispatch.variants.index(done.dispatch.variant((size,)))
    judge(name, run(done, variant, size, arguments), exact)


@pytest.mark.parametrize("name", CASES)
def test_code_of_every_bucket_is_right_at_its_edges_and_below(name: str) -> None:
    done = compiled(name)
    for k, variant in enumerate(done.dispatch.variants):
        (low,), (high,) = variant.low, variant.high
        for size in {high} if variant.exact else {1, max(low - 1, 1), low, high - 1, high}:
            arguments, exact = drawn(name, size, size)
            judge(name, run(done, k, size, arguments), exact)


@pytest.mark.parametrize("name", CASES)
def test_an_exact_size_has_static_code_and_ranges_cover_the_rest(name: str) -> None:
    done = compiled(name)
    first = done.dispatch.variants[0]
    assert (first.low, first.high) == ((7,), (7,))
    assert not any(k.sizes or k.blocks for k in first.launch.kernels)
    ranges = [(v.low[0], v.high[0]) for v in done.dispatch.variants[1:]]
    assert ranges[0][0] == 1
    assert ranges[-1][1] == LARGEST
    assert all(b == a + 1 for (_, a), (b, _) in pairwise(ranges))
    assert all(
        k.sizes[0].name == done.function.names[0]
        for v in done.dispatch.variants
        if not v.exact
        for k in v.launch.kernels
    )


def test_what_launch_json_says_is_what_runs() -> None:
    done = compiled("swiglu")
    read = Dispatch.from_dict(done.dispatch.to_dict())
    assert all(read.at((n,)) == done.dispatch.at((n,)) for n in range(1, LARGEST + 1))


@pytest.mark.parametrize("name", CASES)
def test_host_code_chooses_by_the_size_of_the_tensor(name: str) -> None:
    with runtime(lower(compiled(name).host)) as (device, engine):
        for size in (1, 2, 3, 7, 16, 17, LARGEST):
            arguments, exact = drawn(name, size, size)
            got = np.empty(CASES[name][2](*exact).shape, CASES[name][0].storage)
            call(engine, "main", *arguments, result=got)
            judge(name, got, exact)
    assert device.memory == {}
    assert device.log.count("launch") >= 7


def test_host_code_with_memrefs() -> None:
    done = compiled("residual", HostSignature.MEMREF)
    with runtime(lower(done.host)) as (device, engine):
        for size in (1, 7, 33):
            arguments, exact = drawn("residual", size, size)
            places = [device.upload(a) for a in arguments]
            result = device.upload(np.zeros((size, 32), np.float16))
            call(engine, "main", *places, result)
            judge("residual", result, exact)


def test_dims_that_have_one_size_are_found_and_compared_by_host_code() -> None:
    done = compiled("residual")
    assert done.function.names == ("x[0]",)
    assert done.function.groups == (((0, 0), (1, 0)),)
    assert "cf.assert" in done.host
    assert '"dim 0 of argument 1 must be x[0]"' in done.host
    assert f'"x[0] must be from 1 to {LARGEST}"' in done.host


TWO = """
func.func @main(%a: tensor<?x16xf16> loc("a"), %b: tensor<16x?xf16> loc("b")) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x16xf16>
  %n = tensor.dim %b, %c1 : tensor<16x?xf16>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %p = linalg.matmul ins(%a, %b : tensor<?x16xf16>, tensor<16x?xf16>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %p : tensor<?x?xf32>
}
"""


def test_two_sizes_of_which_one_is_a_row_length() -> None:
    """Rows of b are of any length, so nothing of it is aligned. Products of whole numbers are exact."""
    options = CompileOptions(samples=60, check=False)
    done = compile_dynamic(dynamic_text(TWO), options, SizeOptions(20))
    assert done.function.names == ("a[0]", "b[1]")
    assert [(v.low, v.high) for v in done.dispatch.variants][-1] == ((17, 17), (20, 20))
    rng = np.random.default_rng(0)
    for m, n in [(1, 1), (5, 13), (16, 17), (20, 3), (19, 20), (20, 20)]:
        a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((m, 16), (16, n)))
        (got,) = Emulator(done.dispatch.at((m, n)), done.ptx)([a, b])
        np.testing.assert_array_equal(got, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("name", CASES)
def test_the_program_at_a_size_is_what_is_imported_there(name: str) -> None:
    function = compiled(name).function
    for n in (2, 3, 31, 64):
        assert function.program.at((n,)).fingerprint == function.at((n,)).fingerprint
    arguments, exact = drawn(name, 1, 0)  # where import finds something simpler
    np.testing.assert_allclose(function.program.at((1,)).run(arguments)[0], CASES[name][2](*exact), rtol=1e-5)


PRODUCT = """
func.func @main(%a: tensor<16x?xf32>, %b: tensor<?x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
  %p = linalg.matmul ins(%a, %b : tensor<16x?xf32>, tensor<?x32xf32>) outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %p : tensor<16x32xf32>
}
"""


@pytest.mark.parametrize("tf32", [False, True])
def test_a_sum_over_a_dynamic_dim_is_checked_at_size_1_as_the_product_it_is(tf32: bool) -> None:
    options = CompileOptions(samples=40, allow_tf32=tf32)
    done = compile_dynamic(dynamic_text(PRODUCT), options, SizeOptions(12))
    assert done.function.groups == (((0, 1), (1, 0)),)
    assert {c.sizes for c in done.checks if c.bucket.high == (12,)} >= {(12,), (11,), (1,)}
    assert all(a.ok for c in done.checks for a in c.accuracy or ())


CHAIN = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
func.func @chain(%x: tensor<?x64xf16>, %w: tensor<64x32xf16>, %v: tensor<?x1xf16>, %u: tensor<32x16xf16>) -> tensor<?x16xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf16>
  %e0 = tensor.empty(%n) : tensor<?x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x32xf32>) -> tensor<?x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<?x64xf16>, tensor<64x32xf16>) outs(%f0 : tensor<?x32xf32>) -> tensor<?x32xf32>
  %e1 = tensor.empty(%n) : tensor<?x32xf16>
  %q = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%p, %v : tensor<?x32xf32>, tensor<?x1xf16>) outs(%e1 : tensor<?x32xf16>) {
  ^bb0(%a: f32, %b: f16, %out: f16):
    %b32 = arith.extf %b : f16 to f32
    %c = arith.mulf %a, %b32 : f32
    %d = arith.truncf %c : f32 to f16
    linalg.yield %d : f16
  } -> tensor<?x32xf16>
  %e2 = tensor.empty(%n) : tensor<?x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x16xf32>) -> tensor<?x16xf32>
  %t = linalg.matmul ins(%q, %u : tensor<?x32xf16>, tensor<32x16xf16>) outs(%f1 : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %t : tensor<?x16xf32>
}
"""


def test_a_program_in_parts_keeps_what_is_between_at_the_size_of_the_run() -> None:
    """Three operators, two a kernel. Products of -1, 0 and 1 are exact, and so are 32 products of sums of 64."""
    options = CompileOptions(samples=60, check=False, limits=SearchLimits(operators=2))
    done = compile_dynamic(dynamic_text(CHAIN), options, SizeOptions(20))
    rng = np.random.default_rng(0)
    several = 0
    with runtime(lower(done.host)) as (_, engine):
        for n in (1, 2, 3, 8, 11, 17, 20):
            shapes = ((n, 64), (64, 32), (n, 1), (32, 16))
            x, w, v, u = arguments = [rng.integers(-1, 2, s).astype(np.float16) for s in shapes]
            exact = (x.astype(np.float64) @ w * v) @ u
            launch = done.dispatch.at((n,))
            (got,) = Emulator(launch, done.ptx)(arguments)
            np.testing.assert_array_equal(got, exact)
            several += len(launch.kernels) > 1
            if len(launch.kernels) > 1:
                assert launch.workspace[0] in (n * 32 * 2, n * 32 * 4)
            called = np.empty((n, 16), np.float32)
            call(engine, "chain", *arguments, result=called)
            np.testing.assert_array_equal(called, exact)
    assert several


MEAN = """
#map = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> (0)>
func.func @main(%x: tensor<?xf32>) -> tensor<1xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %i = arith.index_cast %n : index to i64
  %count = arith.sitofp %i : i64 to f32
  %e = tensor.empty() : tensor<1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1xf32>) -> tensor<1xf32>
  %s = linalg.generic {indexing_maps = [#map, #one], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%f : tensor<1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<1xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%s : tensor<1xf32>) outs(%e : tensor<1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.divf %a, %count : f32
    linalg.yield %t : f32
  } -> tensor<1xf32>
  return %r : tensor<1xf32>
}
"""


def test_a_program_that_computes_with_its_size_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="computes something else than at other sizes") as caught:
        sized_function(dynamic_text(MEAN, "mean.mlir"))
    assert caught.value.location is not None
    assert caught.value.location.file == "mean.mlir"
    assert "use the size for shapes only" in str(caught.value)


def test_a_function_without_dynamic_dims_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="has no `\\?` in its arguments"):
        sized_function(dynamic_text("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"))


def test_sizes_above_the_largest_are_refused() -> None:
    with pytest.raises(InputError, match=f"x\\[0\\] is {LARGEST + 1}, the code serves 1 to {LARGEST}"):
        compiled("residual").dispatch.at((LARGEST + 1,))
    with pytest.raises(InputError, match="size 41 is outside of 1 to 40"):
        compile_dynamic(dynamic_text(text_of("residual")), CompileOptions(), SizeOptions(LARGEST, ("41",)))


def test_workspace_from_the_caller_is_refused() -> None:
    options = CompileOptions(samples=20, check=False, workspace=WorkspacePlace.ARGUMENT, host=HostSignature.MEMREF)
    with pytest.raises(UnsupportedError, match="use --workspace alloc"):
        compile_dynamic(dynamic_text(text_of("residual")), options, SizeOptions(2))


def test_choices_for_sizes_that_come_at_launch_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second compilation ranks and builds nothing, and comes out the same; static code of the largest size is no substitute."""
    options = CompileOptions(samples=60, check=False, limits=SearchLimits(operators=9))
    source, sizes = dynamic_text(text_of("residual"), "residual.mlir"), SizeOptions(LARGEST, ("7",))
    with Records.open(tmp_path, pytest.fail) as records:
        first = compile_dynamic(source, options, sizes, records=records)
        monkeypatch.setattr("prism_mlir.compiler.parts.select", None)
        second = compile_dynamic(source, options, sizes, records=records)
    assert all(p.selection.recorded for v in second.variants for p in v.built.parts)
    assert (first.dispatch, first.ptx, first.host) == (second.dispatch, second.ptx, second.host)
    assert any(k.sizes for v in second.variants for k in v.launch.kernels)
    assert any(not k.sizes for v in second.variants for k in v.launch.kernels)  # the exact size
