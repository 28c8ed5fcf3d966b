"""``optimize(..., islands=True)``: a function of which parts became kernels runs whole."""

from __future__ import annotations

import numpy as np
import pytest

import prism_mlir
from prism_mlir.graph.errors import InputError, UnsupportedError

# out = tanh(x w) at row `at` of the cache, times v; the position is known at run time only
SOURCE = """
func.func @main(%x: tensor<1x32xELEMENT>, %w: tensor<32x16xELEMENT>, %at: tensor<i32>, %cache: tensor<16x16xELEMENT>,
                %v: tensor<16x16xELEMENT>) -> (tensor<16x16xELEMENT>, tensor<16x16xELEMENT>) {
  %c0 = arith.constant 0.0 : ELEMENT
  %e = tensor.empty() : tensor<1x16xELEMENT>
  %f = linalg.fill ins(%c0 : ELEMENT) outs(%e : tensor<1x16xELEMENT>) -> tensor<1x16xELEMENT>
  %k = linalg.matmul ins(%x, %w : tensor<1x32xELEMENT>, tensor<32x16xELEMENT>)
                     outs(%f : tensor<1x16xELEMENT>) -> tensor<1x16xELEMENT>
  %t = math.tanh %k : tensor<1x16xELEMENT>
  %n = tensor.extract %at[] : tensor<i32>
  %i = arith.index_cast %n : i32 to index
  %new = tensor.insert_slice %t into %cache[%i, 0] [1, 16] [1, 1] : tensor<1x16xELEMENT> into tensor<16x16xELEMENT>
  %oe = tensor.empty() : tensor<16x16xELEMENT>
  %of = linalg.fill ins(%c0 : ELEMENT) outs(%oe : tensor<16x16xELEMENT>) -> tensor<16x16xELEMENT>
  %o = linalg.matmul ins(%new, %v : tensor<16x16xELEMENT>, tensor<16x16xELEMENT>)
                     outs(%of : tensor<16x16xELEMENT>) -> tensor<16x16xELEMENT>
  return %o, %new : tensor<16x16xELEMENT>, tensor<16x16xELEMENT>
}
"""


def arguments(at: int = 5) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    x, w, cache, v = (rng.normal(size=s) / 4 for s in ((1, 32), (32, 16), (16, 16), (16, 16)))
    return [x, w, np.array(at, np.int32), cache, v]


@pytest.fixture(scope="module", params=["f16", "bf16", "f32"])
def result(request: pytest.FixtureRequest) -> prism_mlir.PartialResult:
    found = prism_mlir.optimize(SOURCE.replace("ELEMENT", request.param), islands=True, check=False)
    assert isinstance(found, prism_mlir.PartialResult)
    return found


def test_all_of_the_function_runs(result: prism_mlir.PartialResult) -> None:
    x, w, at, cache, v = arguments()
    out, new = result.run(x, w, at, cache, v, device="machine")
    wanted = cache.copy()
    wanted[5] = np.tanh(x @ w)[0]
    tolerance = 2e-2 if "bf16" in result.mlir else 3e-3
    np.testing.assert_allclose(new.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(out.astype(np.float64), wanted @ v, rtol=tolerance, atol=2 * tolerance)


def test_what_there_is_to_see(result: prism_mlir.PartialResult) -> None:
    assert list(result.islands) == ["main_island0", "main_island1"]
    assert [k.entry for k in result.kernels] == [k.entry for r in result.islands.values() for k in r.kernels]
    assert set(result.ptx) == {k.ptx for k in result.kernels}
    assert result.mlir.count("gpu.launch_func") == len(result.kernels)
    assert [x["operation"] for x in result.report["left"]] == ["tensor.insert_slice"]
    assert {"main.host.mlir", "main.islands.mlir", "report.json", "main_island0/launch.json"} <= set(result.files)
    assert repr(result) == "<prism_mlir.PartialResult of main: main_island0, main_island1>"


def test_arguments_that_do_not_fit(result: prism_mlir.PartialResult) -> None:
    x, w, at, cache, v = arguments()
    with pytest.raises(InputError, match="4 arguments, the function takes 5"):
        result.run(x, w, at, cache)
    with pytest.raises(InputError, match=r"argument 0 is of shape \[32\], the function's is \[1, 32\]"):
        result.run(x[0], w, at, cache, v)
    with pytest.raises(InputError, match="argument 2 is of type float64, the function's is i32"):
        result.run(x, w, np.array(5.0), cache, v)
    with pytest.raises(InputError, match="unknown device 'tpu'"):
        result.run(x, w, at, cache, v, device="tpu")


def test_without_islands_it_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match=r"tensor\.insert_slice"):
        prism_mlir.optimize(SOURCE.replace("ELEMENT", "f16"))


def test_what_can_be_compiled_whole_is() -> None:
    source = """
    func.func @main(%x: tensor<8x32xf16>, %w: tensor<32x16xf16>) -> tensor<8x16xf16> {
      %c0 = arith.constant 0.0 : f16
      %e = tensor.empty() : tensor<8x16xf16>
      %f = linalg.fill ins(%c0 : f16) outs(%e : tensor<8x16xf16>) -> tensor<8x16xf16>
      %k = linalg.matmul ins(%x, %w : tensor<8x32xf16>, tensor<32x16xf16>) outs(%f : tensor<8x16xf16>) -> tensor<8x16xf16>
      return %k : tensor<8x16xf16>
    }
    """
    assert isinstance(prism_mlir.optimize(source, islands=True, check=False), prism_mlir.Result)
