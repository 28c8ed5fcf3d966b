"""Kernels that the project's own code generator emits, on both engines: every byte and every count is the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ptx_harness import same_bits

sys.path.append(str(Path(__file__).parents[2] / "codegen"))

from codegen_graphs import attention_late, rms_norm_late, softmax_matmul_late, swiglu_late, with_dtype
from machine_run import random_arguments

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import attention, rms_norm, softmax_matmul, swiglu
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.launch_info import Role
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule
from prism_mlir.runtime.ptx import Module
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

CASES: list[tuple[Callable[[Program], KernelGraph], Program, dict[str, int], int, int]] = [
    (rms_norm_late, rms_norm(8, 256, 128), {"x": 4, "i": 8}, 8, 3),
    (rms_norm_late, with_dtype(rms_norm(8, 256, 128), DType.BF16), {"x": 2, "i": 4}, 4, 2),
    (swiglu_late, with_dtype(swiglu(8, 64, 64), DType.F32), {"x": 2, "i": 2}, 4, 2),
    (softmax_matmul_late, softmax_matmul(32, 128, 32), {"x": 2, "i": 4}, 4, 2),
    (attention_late, attention(2, 64, 32), {"x": 2, "i": 2}, 4, 2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].__name__}-{c[1].inputs[0].dtype.name}")
def test_emitted_kernels(case: Any) -> None:
    build, program, sizes, warps, stages = case
    compiled = compile_graph(program, build(program), Schedule.of(sizes, warps, stages))
    module = Module.load(compiled.ptx)
    buffers: list[dict[Role, list[np.ndarray]]] = [
        {
            Role.INPUT: [a.copy() for a in random_arguments(program)],
            Role.OUTPUT: [np.zeros(o.shape, o.dtype.storage) for o in program.outputs],
            Role.WORKSPACE: [np.zeros(size, np.uint8) for size in compiled.launch.workspace],
        }
        for _ in range(2)
    ]
    for k in compiled.launch.kernels:
        results = [
            module.kernel(k.entry).run(
                grid=k.grid,
                block=k.block,
                args=[have[a.role][a.index] for a in k.arguments],
                shared_bytes=k.shared_bytes,
                engine=engine,
                checks=FAST_CHECKS,
            )
            for have, engine in zip(buffers, ("reference", "fast"), strict=True)
        ]
        assert [r.engine for r in results] == ["reference", "fast"], results[1].fallback_reason
        assert results[0].counters == results[1].counters
    for role in (Role.OUTPUT, Role.WORKSPACE):
        for a, b in zip(buffers[0][role], buffers[1][role], strict=True):
            same_bits(b, a)
    assert any(b.any() for b in buffers[1][Role.OUTPUT])
