"""Compilation in islands: the whole is checked against its source, and a wrong island is found."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from mgpu_runtime import call, lower, runtime

from prism_mlir.compiler.islands import IslandCompilation, compile_islands, emulators
from prism_mlir.compiler.options import CompileOptions, HostSignature
from prism_mlir.compiler.task_pool import open_pool
from prism_mlir.compiler.whole import WholeChecker, check_whole
from prism_mlir.graph.errors import InaccurateError, InputError
from prism_mlir.runtime.cpu_jit import compile_module

# A cache that grows by one row, and attention to it: the position of the row is known at run time only.
SOURCE = """
func.func @main(%x: tensor<1x32xf16>, %w: tensor<32x16xf16>, %at: tensor<i32>, %cache: tensor<16x16xf16>)
    -> (tensor<1x16xf16>, tensor<16x16xf16>) {
  %c0 = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16xf16>
  %f = linalg.fill ins(%c0 : f16) outs(%e : tensor<1x16xf16>) -> tensor<1x16xf16>
  %k = linalg.matmul ins(%x, %w : tensor<1x32xf16>, tensor<32x16xf16>) outs(%f : tensor<1x16xf16>) -> tensor<1x16xf16>
  %n = tensor.extract %at[] : tensor<i32>
  %i = arith.index_cast %n : i32 to index
  %new = tensor.insert_slice %k into %cache[%i, 0] [1, 16] [1, 1] : tensor<1x16xf16> into tensor<16x16xf16>
  %te = tensor.empty() : tensor<16x16xf16>
  %t = linalg.transpose ins(%new : tensor<16x16xf16>) outs(%te : tensor<16x16xf16>) permutation = [1, 0]
  %s = linalg.matmul ins(%k, %t : tensor<1x16xf16>, tensor<16x16xf16>) outs(%f : tensor<1x16xf16>) -> tensor<1x16xf16>
  %p = math.tanh %s : tensor<1x16xf16>
  %o = linalg.matmul ins(%p, %new : tensor<1x16xf16>, tensor<16x16xf16>) outs(%f : tensor<1x16xf16>) -> tensor<1x16xf16>
  return %o, %new : tensor<1x16xf16>, tensor<16x16xf16>
}
"""


@pytest.fixture(scope="module")
def done() -> IslandCompilation:
    return compile_islands(SOURCE, "cache.mlir")


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    x, w, cache = (rng.normal(size=s).astype(np.float16) for s in ((1, 32), (32, 16), (16, 16)))
    return [x, (w / 6).astype(np.float16), np.array(5, np.int32), cache]


def test_the_whole_computes_what_numpy_says(done: IslandCompilation) -> None:
    x, w, at, cache = arguments()
    got, new = done.program()(x, w, at, cache)
    k = x.astype(np.float64) @ w.astype(np.float64)
    wanted = cache.astype(np.float64).copy()
    wanted[5] = k[0]
    np.testing.assert_allclose(got.astype(np.float64), np.tanh(k @ wanted.T) @ wanted, rtol=2e-2, atol=4e-3)
    np.testing.assert_array_equal(np.delete(new, 5, 0), np.delete(cache, 5, 0))
    np.testing.assert_allclose(new[5].astype(np.float64), k[0], rtol=2e-3, atol=1e-3)


def test_two_islands_around_the_row_that_is_put_in(done: IslandCompilation) -> None:
    assert [i.name for i in done.cut.islands] == ["main_island0", "main_island1"]
    assert [x.operation for x in done.cut.left] == ["tensor.insert_slice"]
    assert done.whole is not None and not done.whole.skipped
    assert all(e.ok for e in done.whole.errors)
    assert len(done.whole.errors) == 4  # two results on two input sets


def test_the_host_module_launches_and_keeps_the_rest(done: IslandCompilation) -> None:
    assert done.host.count("gpu.launch_func") == sum(len(i.launch.kernels) for i in done.islands)
    assert done.host.count("gpu.binary") == 2
    assert "tensor.insert_slice" in done.host
    assert "linalg.matmul" not in done.host
    assert done.host.count("func.func private @main_island") == 2


def test_an_island_that_is_a_little_wrong_is_found(done: IslandCompilation) -> None:
    right = emulators(done.cut, done.islands)

    def wrong(*given: np.ndarray) -> list[np.ndarray]:
        return [(r.astype(np.float32) * 1.02).astype(r.dtype) for r in right["main_island1"](*given)]

    with pytest.raises(InaccurateError, match=r"result 0 of the whole function is .* away from the source's"):
        check_whole(WholeChecker(SOURCE, done.cut, {**right, "main_island1": wrong}))


def test_islands_whose_arguments_are_exchanged_are_found(done: IslandCompilation) -> None:
    """A wrong wire between two right islands, which nothing but a run of the whole function sees."""
    right = emulators(done.cut, done.islands)

    def swapped(x: np.ndarray, *rest: np.ndarray) -> list[np.ndarray]:
        return list(right["main_island0"](x[:, ::-1], *rest))

    with pytest.raises(InaccurateError):
        check_whole(WholeChecker(SOURCE, done.cut, {**right, "main_island0": swapped}))


def test_the_whole_is_checked_alike_in_other_processes(done: IslandCompilation) -> None:
    checker = WholeChecker(SOURCE, done.cut, emulators(done.cut, done.islands))
    with open_pool(jobs=2) as pool:
        assert check_whole(checker, pool) == check_whole(checker) == done.whole


def test_a_whole_that_cannot_run_on_the_cpu_says_so(done: IslandCompilation) -> None:
    text = SOURCE.replace(
        "%n = tensor.extract", '%u = "other.thing"(%at) : (tensor<i32>) -> tensor<i32>\n  %n = tensor.extract'
    )
    text = text.replace("tensor.extract %at", "tensor.extract %u")
    found = compile_islands(text, "other.mlir")
    assert found.whole is not None
    assert found.whole.skipped == "other.thing on the CPU"
    assert {x.operation for x in found.cut.left} == {"tensor.insert_slice", "other.thing"}


def test_an_island_without_accurate_kernels_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_mlir.compiler import islands

    compile_text = islands.compile_text

    def failing(text: str, *given: object, **named: object) -> object:
        if "main_island0" not in text:
            raise InaccurateError("not accurate")
        return compile_text(text, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(islands, "compile_text", failing)
    found = compile_islands(SOURCE, "cache.mlir", CompileOptions(check=False))
    assert [i.name for i in found.cut.islands] == ["main_island0"]
    assert "not accurate" in {x.reason for x in found.cut.left}
    x, w, at, cache = arguments()
    theirs = compile_module(SOURCE)(x, w, at, cache)
    np.testing.assert_allclose(found.program()(x, w, at, cache)[0], theirs[0], rtol=2e-2, atol=4e-3)


def test_islands_share_one_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its processes import what they need once, and a cluster is connected to once."""
    from prism_mlir.compiler import pipeline

    def refuse(*_: object) -> None:
        raise AssertionError("a pool of one island")

    monkeypatch.setattr(pipeline, "open_pool", refuse)
    assert len(compile_islands(SOURCE, "cache.mlir", CompileOptions(check=False, jobs=2)).islands) == 2


def test_another_signature_is_refused() -> None:
    with pytest.raises(InputError, match="islands keep the function's arguments"):
        compile_islands(SOURCE, "cache.mlir", CompileOptions(host=HostSignature.MEMREF))


def test_upstreams_runtime_runs_the_host_module(done: IslandCompilation) -> None:
    """Lowered by upstream alone and called as any function is, the PTX machine in the place of a GPU."""
    text = done.host.replace("-> (tensor<1x16xf16>, tensor<16x16xf16>) {", "-> tensor<1x16xf16> {")
    text = re.sub(r"return (%\w+), %\w+ : tensor<1x16xf16>, tensor<16x16xf16>", r"return \1 : tensor<1x16xf16>", text)
    given = arguments()
    got = np.zeros((1, 16), np.float16)
    with runtime(lower(text)) as (device, engine):
        call(engine, "main", *given, result=got)
    np.testing.assert_array_equal(got, done.program()(*given)[0])
    assert device.log.count("launch") == done.host.count("gpu.launch_func")


def test_the_same_twice_is_the_same(done: IslandCompilation) -> None:
    again = compile_islands(SOURCE, "cache.mlir", replace(done.options, check=False))
    assert again.host == done.host
