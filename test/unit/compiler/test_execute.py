"""Long kernels that have passed all checks run compiled, with the same bits."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "codegen"))

from codegen_graphs import rms_norm_late
from machine_run import random_arguments

import prism_mlir.compiler.execute as execute
from prism_mlir.codegen.compile import compile_graph
from prism_mlir.graph.examples import rms_norm
from prism_mlir.graph.schedule import Schedule
from prism_mlir.runtime.ptx import Checks


@pytest.mark.parametrize(("long", "checks", "compiled"), [(1, None, 1), (1 << 40, None, 0), (1, Checks(), 0)])
def test_long_kernels(monkeypatch: pytest.MonkeyPatch, long: int, checks: Checks | None, compiled: int) -> None:
    program = rms_norm(8, 64, 64)
    made = compile_graph(program, rms_norm_late(program), Schedule.of({"x": 2, "i": 2}, 2, 2))
    (launch,) = made.launch.kernels
    monkeypatch.setattr(execute, "LONG", long)
    emulator = execute.Emulator(made.launch, {launch.ptx: made.ptx}, checks)
    results = [emulator(random_arguments(program)) for _ in range(2)]
    assert np.array_equal(results[0][0], results[1][0])
    assert len(emulator.modules[launch.ptx].kernel(launch.entry)._compiled) == compiled
