"""The roofline, counted on paper."""

from __future__ import annotations

import pytest

from prism_mlir.graph.examples import attention, rms_norm
from prism_mlir.tune.roofline import roofline
from prism_mlir.tune.targets import find_target


def test_rms_norm_moves_its_weights_once() -> None:
    a100 = find_target("sm_80")
    found = roofline(rms_norm(16, 1024, 1024), a100)
    assert found.bytes == 2 * (16 * 1024 + 1024 * 1024 + 16 * 1024)
    assert found.fma == 16 * 1024 * 1024
    assert found.dram_us == pytest.approx(found.bytes / (a100.dram_gbs * 0.8 * 1e9) * 1e6)
    assert found.tensor_us == pytest.approx(found.fma / (108 * 1024 * 1.41e9) * 1e6)
    assert found.total_us == found.launch_us + found.dram_us


def test_attention_counts_both_products() -> None:
    found = roofline(attention(16, 1024, 128, 1), find_target("sm_80"))
    assert found.fma == 2 * 16 * 1024 * 128
    assert found.bytes == 2 * (2 * 16 * 128 + 2 * 16 * 1024 * 128)
