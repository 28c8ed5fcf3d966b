"""The benchmark of the cost model (``benchmarks/cost_model.py``): rows, graphs, measures; and a few published timings.

The timings are of cuBLAS on an A100 80 GB SXM, from microsoft/vidur, data/profiling (MIT).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.fields import Reals
from prism_mlir.tune.choose import choose
from prism_mlir.tune.targets import find_target

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from harness.published import Published, add, gemm, kendall, mape, read, regret, rms_norm, silu_and_mul

A100 = find_target("sm_80-80gb")


def test_rows_of_both_forms(tmp_path: Path) -> None:
    products, elementwise = tmp_path / "products.csv", tmp_path / "elementwise.csv"
    products.write_text("kernel,m,n,k,gpu,measured_us,source\ngemm_f16,16,4096,1024,A100-80GB-SXM,10.0,somewhere\n")
    elementwise.write_text(
        "kernel,shape,gpu,measured_us,source\n"
        "vLLM mlp_act (Llama-2-7b-hf),tokens 8 d4096,A100 80GB,8.0,somewhere\n"
        "vLLM add (Llama-2-70b-hf),tokens 64 d8192,A100 80GB,3.0,somewhere\n"
        "vLLM input_layernorm (Meta-Llama-3-8B),tokens 1 d4096,A100 80GB,5.0,somewhere\n"
    )
    found = read([products, elementwise])
    assert [(r.kernel, r.size, r.measured_us) for r in found] == [
        ("gemm", (16, 4096, 1024), 10.0),
        ("act", (8, 11008, 0), 8.0),  # the model's intermediate size
        ("add", (64, 8192, 0), 3.0),
        ("norm", (1, 4096, 0), 5.0),
    ]
    halves = [16 * 1024 + 1024 * 4096 + 16 * 4096, 3 * 8 * 11008, 3 * 64 * 8192, 2 * 4096 + 4096]
    assert [r.bytes for r in found] == [2 * n for n in halves]


@pytest.mark.parametrize(
    "row",
    [
        "gemm_f16,16,4096,1024,A100-80GB-SXM,ten,somewhere",
        "gemm_f16,16,4096,1024,H100,10.0,somewhere",
        "gemm_f16,16",
    ],
)
def test_other_rows_are_errors(tmp_path: Path, row: str) -> None:
    path = tmp_path / "products.csv"
    path.write_text(f"kernel,m,n,k,gpu,measured_us,source\n{row}\n")
    with pytest.raises(InputError, match=r"products.csv:2: not a row of published timings"):
        read([path])


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read '.*none.csv'"):
        read([tmp_path / "none.csv"])


def test_a_problem_is_held_out_with_all_its_rows() -> None:
    """Two rows of one problem never lie on both sides; of twenty problems some are on each side."""
    sides = set()
    for n in range(1, 21):
        found = {Published("gemm", (m, 128 * n, 4096), 1.0, "").held_out for m in (1, 16, 4096)}
        assert len(found) == 1
        sides |= found
    assert sides == {True, False}


def test_measures_on_paper() -> None:
    assert mape([10.0, 20.0], [11.0, 15.0]) == pytest.approx((0.1 + 0.25) / 2)
    assert kendall([1, 2, 3, 4], [10, 20, 40, 30]) == pytest.approx((5 - 1) / 6)  # of six pairs one is turned round
    assert kendall([1.0], [2.0]) is None
    assert regret([3.0, 2.0, 4.0], [1.0, 5.0, 2.0], 1) == regret([3.0, 2.0, 4.0], [1.0, 5.0, 2.0], 2) == 0.5
    assert regret([3.0, 2.0, 4.0], [1.0, 5.0, 2.0], 3) == 0.0


def test_the_graphs_compute_what_they_are_named_for() -> None:
    rng = np.random.default_rng(0)
    x, y, w, g = (rng.standard_normal(s) for s in ((4, 64), (4, 64), (64, 32), (1, 64)))
    rms = x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5) * g
    for graph, sizes, inputs, wanted in (
        (gemm(4, 32, 64), {"x": 2, "y": 2, "i": 4}, (x, w), x @ w),
        (add(4, 64), {"x": 2, "y": 4}, (x, y), x + y),
        (silu_and_mul(4, 64), {"x": 2, "y": 4}, (x, y), x / (1 + np.exp(-x)) * y),
        (rms_norm(4, 64), {"x": 2}, (x, g), rms),
    ):
        (found,) = evaluate_graph(graph, sizes, inputs, Reals())
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("m", "n", "k", "measured_us"),
    [
        (1, 4096, 4096, 25.0),
        (8, 22016, 4096, 111.0),
        (16, 4096, 14336, 79.0),
        (64, 12288, 4096, 67.0),
        (1024, 4096, 2752, 111.0),
        (4096, 4096, 4096, 611.0),
    ],
)
def test_published_products(m: int, n: int, k: int, measured_us: float) -> None:
    """Within 15 %, which is what the benchmark allows all rows on average."""
    best = choose([gemm(m, n, k)], A100, samples=400).best.cost
    assert best.kernels_us + A100.graph_launch_us == pytest.approx(measured_us, rel=0.15)
