"""The paper's workloads, whole: from the exported file to PTX that runs clean and is accurate."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file

PAPER = Path(__file__).parents[2] / "inputs" / "paper"

KERNELS = [
    "rms_norm_d1024_n16",
    "rms_norm_d4096_n8",
    "rms_norm_mlp_d1024_n16",
    "rms_norm_mlp_d1024_n8",
    "swiglu_d2048_n8",
    "swiglu_d4096_n8",
]


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_runs_clean_and_is_accurate(name: str) -> None:
    """All machine checks on; compared with the source on upstream's JIT and with f64, on every input set."""
    done = compile_file(PAPER / f"{name}.linalg.mlir", CompileOptions(samples=600))
    assert all(v.proved for v in done.discovery.verdicts)
    assert done.discovery.funnel.complete
    assert [a.input_set for a in done.accuracy] == ["random", "zeros", "one hot", "large", "tiny"]
    assert all(a.ok and a.used <= 1 for a in done.accuracy)
    assert done.accuracy[0].scale > 1  # the outputs compared are not all close to zero
    ptx = done.selection.kernel.ptx
    assert ".target sm_80" in ptx
    for instruction in ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "cp.async", "ldmatrix.sync"):
        assert instruction in ptx, f"{name}: no {instruction}"


ATTENTION = [f"{kind}_b2_g8_h{length}_d128" for kind in ("attention", "qk_attention") for length in (1024, 2048)]


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_keeps_the_shift_of_its_softmax(name: str) -> None:
    """As above; with scores of 1e4 as well, which a bare exponential would turn into infinities."""
    done = compile_file(PAPER / f"{name}.linalg.mlir", CompileOptions(samples=600))
    assert all(v.proved for v in done.discovery.verdicts)
    assert [a.input_set for a in done.accuracy] == ["random", "zeros", "one hot", "large", "tiny", "steep"]
    assert all(a.ok and a.used <= 1 for a in done.accuracy)
    assert all(a.scale > 1e-3 for a in done.accuracy)  # a mean of 1024 or more values of standard deviation 1/32
    ptx = done.selection.kernel.ptx
    for instruction in ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ex2.approx", "cp.async", "ldmatrix.sync"):
        assert instruction in ptx
