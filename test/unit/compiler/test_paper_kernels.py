"""The paper's norm and gated workloads, whole: from the exported file to PTX that runs clean and is accurate."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.graph.errors import UnsupportedError

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


def test_a_program_that_needs_its_shift_is_proved_but_not_emitted() -> None:
    with pytest.raises(UnsupportedError, match=r"attention.*:1:1: error: .*subtracts a maximum"):
        compile_file(PAPER / "attention_b2_g8_h1024_d128.linalg.mlir")
