"""Programs of several layers, as exporters write them: one kernel does what the source does in many, and that is proved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_mlir.compiler.discover import discover
from prism_mlir.frontend import import_file
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits

INPUTS = Path(__file__).parents[2] / "inputs"

# operators of the program, and operators allowed in the kernel: enough for a graph, few enough for a quick search
PROGRAMS = {
    "frameworks/lora.linalg.mlir": (4, 7),
    "frameworks/layernorm_linear.linalg.mlir": (10, 10),
    "programs/gelu_mlp.mlir": (3, 6),
    "programs/gated_mlp_residual.mlir": (6, 7),
    "programs/rms_norm_qkv.mlir": (7, 7),
    "programs/attention_mask.mlir": (7, 9),
    "programs/attention_causal.mlir": (7, 9),
    "programs/gqa_repeated.mlir": (6, 8),
    "programs/packed_swiglu.mlir": (4, 6),
    "programs/attention_cache.mlir": (12, 11),
}


def program(name: str) -> Program:
    return import_file(INPUTS / name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_is_found_and_proved(name: str) -> None:
    source, (operators, allowed) = program(name), PROGRAMS[name]
    assert len(source.nodes) == operators
    found = discover(source, SearchLimits(operators=allowed, grid_dims=2, states=30_000))
    assert found.proved
    assert all(v.proved for v in found.verdicts)
    assert all(len(graph.nodes) == 1 < operators for graph in found.proved)


def test_three_projections_are_three_results_of_one_kernel() -> None:
    assert len(program("programs/rms_norm_qkv.mlir").outputs) == 3


def test_repeated_keys_and_values_are_never_materialised() -> None:
    """32 query heads over 8 key heads: the product reads each key head once, for 4 * 16 rows; no tensor has 32 key heads."""
    source = program("programs/gqa_repeated.mlir")
    assert [i.shape for i in source.inputs] == [(8, 64, 64), (8, 64, 256), (8, 256, 64)]
    assert all(0 not in i.strides for i in source.inputs)


def test_a_causal_mask_is_a_constant_that_all_heads_see() -> None:
    """Rows and columns of zeros and ones, seen by every head."""
    mask = program("programs/attention_causal.mlir").inputs[-1]
    assert mask.arg is None and mask.data is not None and mask.shape == (1, 256, 256)
    values = np.frombuffer(mask.data, mask.dtype.storage).reshape(256, 256)
    assert np.array_equal(values, np.tril(np.ones((256, 256))))


def test_slices_of_a_packed_weight_are_views() -> None:
    """Gate and up projection in one weight of 4096 columns: two views of the argument, the second from column 2048 on."""
    gate, up = program("programs/packed_swiglu.mlir").inputs[1:]
    assert (gate.arg, gate.offset, up.arg, up.offset) == (1, 0, 1, 2048)
    assert gate.strides == up.strides == (4096, 1)
