"""A GEMM that upstream MLIR compiled (8 × 4096 by 4096 × 4096, f16, 4-stage cp.async, swizzled, mma.sync): numbers and mutations.

The PTX is LLVM's, from nvgpu.device_async_copy, nvgpu.ldmatrix and nvgpu.mma.sync, untouched.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_mlir.runtime.ptx import CheckError, Module, RunResult

TEXT = (Path(__file__).parent / "data" / "skinny_gemm.ptx").read_text()
RNG = np.random.default_rng(23)
X = (RNG.standard_normal((8, 4096)) / 4).astype(np.float16)
W = (RNG.standard_normal((4096, 4096)) / 8).astype(np.float16)


def run(text: str) -> tuple[np.ndarray, RunResult]:
    out = np.full((8, 4096), np.nan, dtype=np.float16)
    result = Module.load(text, "gemm.ptx").kernel("k").run(grid=(64,), block=(128,), args=[X, W, out], outputs={2})
    return out, result


def test_numbers_and_counts() -> None:
    out, result = run(TEXT)
    exact = X.astype(np.float64) @ W.astype(np.float64)
    bound = (
        4096 * 2.0**-24 * (np.abs(X).astype(np.float64) @ np.abs(W).astype(np.float64))
        + np.abs(exact) * 2.0**-11
        + 2.0**-25
    )
    assert (np.abs(out - exact) <= bound).all()
    counters = result.counters
    k_steps, warps = 64, 64 * 4
    assert counters.mma_count == warps * k_steps * 4 and counters.mma_flops == 2 * 16 * 4096 * 4096 // 2
    assert counters.warp_instructions["ldmatrix"] == warps * k_steps * 8
    assert counters.barriers == 64 * k_steps
    assert counters.cp_async_bytes == 2 * (4096 * 4096 + 64 * 8 * 4096)
    assert counters.global_store_bytes == 2 * 8 * 4096
    assert counters.divergent_branches == 0


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("\tbar.sync \t0;\n", "", {"race"}),
        ("cp.async.wait_group \t2;", "cp.async.wait_group \t3;", {"async_copy"}),
        ("\tcp.async.wait_group \t2;\n", "", {"async_copy"}),
        ("setp.gt.u64 \t%p3, %rd119, 60;", "setp.gt.u64 \t%p3, %rd119, 61;", {"bounds"}),
        ("[%rd97+1572864], 16;", "[%rd97+1572868], 16;", {"alignment"}),
        ("@%p1 bra \t$L__BB0_2;", "", {"race", "bounds"}),
        ("st.global.b16 \t[%rd116+8208], %rs4;", "st.global.b16 \t[%rd116+8224], %rs4;", {"cross_block", "bounds"}),
        ("mul.wide.u32 \t%rd5, %r1, 64;", "mul.wide.u32 \t%rd5, %r1, 32;", {"cross_block"}),
        ("shl.b64 \t%rd23, %rd81, 4;", "shl.b64 \t%rd23, %rd81, 5;", {"uninitialised", "race", "async_copy", "bounds"}),
        ("add.s64 \t%rd94, %rd119, -1;", "add.s64 \t%rd94, %rd119, 0;", {"race", "async_copy"}),
    ],
)
def test_mutations_are_caught(old: str, new: str, kinds: set[str]) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(CheckError) as caught:
        run(TEXT.replace(old, new))
    assert caught.value.kind in kinds, str(caught.value)


def test_numbers_alone_would_not_show_the_missing_barrier() -> None:
    """In lock step the broken kernel computes the right result: only the race detector sees it."""
    from prism_mlir.runtime.ptx import Checks

    out = np.full((8, 4096), np.nan, dtype=np.float16)
    text = TEXT.replace("\tbar.sync \t0;\n", "")
    Module.load(text).kernel("k").run(grid=(64,), block=(128,), args=[X, W, out], checks=Checks.none())
    good, _ = run(TEXT)
    assert np.array_equal(out, good)
