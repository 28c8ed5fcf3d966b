"""Profiling compiled candidates on a fake device that runs their PTX, and what is expected of their outputs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "runtime"))

from fake_gpu import Behaviour, FakeGpu

from prism_mlir.compiler import expected as expectations
from prism_mlir.compiler import gpu_profile
from prism_mlir.compiler.accuracy import compare, reduction_length, references
from prism_mlir.compiler.expected import expected_outputs, within_bounds
from prism_mlir.compiler.gpu_profile import gpu_profiler
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import ExecutionError, MissingToolError
from prism_mlir.graph.examples import attention, rms_norm, swiglu
from prism_mlir.graph.program import Program
from prism_mlir.runtime.bundle.check import judge
from prism_mlir.runtime.bundle.measure import Settings
from prism_mlir.runtime.bundle.worker import Local

FEW = Settings(warm_up=1, repeats=3, most_sets=2)
SOURCE = """func.func @scaled(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%start : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
"""


class ByGrid(FakeGpu):
    """A launch takes ten microseconds and one a block; ``slow``: a number of blocks that takes a hundred times as long."""

    slow = -1

    def cuLaunchKernel(self, function: Any, *arguments: Any) -> tuple[Any]:
        blocks = prod(arguments[:3])
        us = 10.0 + blocks
        behaviour = self.behaviours.setdefault(function[1], Behaviour())
        behaviour.cold_us = behaviour.warm_us = 100 * us if blocks == self.slow else us
        return super().cuLaunchKernel(function, *arguments)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "scaled.mlir"
    path.write_text(SOURCE)
    return path


def profiled(source: Path, fake: FakeGpu) -> Any:
    options = CompileOptions(profile=True, check=False)
    with gpu_profiler(Local(fake, fake.seconds), FEW) as prepare:
        done = compile_file(source, options, prepare=prepare)
    assert fake.open == []
    assert fake.memory == {}
    return done.built.parts


def test_the_fastest_of_the_best_few_is_taken(source: Path) -> None:
    fake = ByGrid()
    for part in profiled(source, fake):
        found = part.selection.profile
        blocks = prod(part.selection.kernel.launch.kernels[0].grid)
        times = [t.median_us for t in found.timings]
        assert times == sorted(times)
        assert times[0] == pytest.approx(10 + blocks)
        assert found.failures == ()
        assert all(len(t.samples) == len(t.warm) == 3 for t in found.timings)


def test_candidates_that_take_too_long_are_left_out(source: Path) -> None:
    (part,) = profiled(source, ByGrid())
    grids = {round(t.median_us - 10) for t in part.selection.profile.timings}
    assert len(grids) > 1, "all candidates have the same grid: nothing could be slow alone"
    fake = ByGrid()
    fake.slow = max(grids)
    (part,) = profiled(source, fake)
    reasons = [f.reason for f in part.selection.profile.failures]
    assert reasons
    assert all("over 10 times the best" in r for r in reasons)
    assert all(round(t.median_us - 10) != fake.slow for t in part.selection.profile.timings)


def test_candidates_with_wrong_results_are_left_out(source: Path) -> None:
    """The first launch of all is wrong, and nothing after it: one candidate fails, the others are measured."""

    class First(ByGrid):
        def cuLaunchKernel(self, function: Any, *arguments: Any) -> tuple[Any]:
            answer = super().cuLaunchKernel(function, *arguments)
            if len(self.launches) == 1:
                pointer = arguments[-2][0][-1]
                self.memory[pointer][3] ^= 0x7F
            return answer

    (part,) = profiled(source, First())
    assert [f.reason.partition(": element")[0] for f in part.selection.profile.failures] == ["output 0"]
    assert part.selection.profile.timings


def test_when_all_are_wrong_the_compilation_fails(source: Path) -> None:
    with pytest.raises(ExecutionError, match=r"none of \d+ candidates could be timed: output 0"):
        profiled(source, FakeGpu({"scaled": Behaviour(fault="skip")}))


def test_without_a_device_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    with pytest.raises(MissingToolError, match="CUDA driver"), gpu_profiler():
        pass


def test_candidates_that_fail_a_check_on_the_ptx_machine_are_not_measured(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second kernel that is checked has a race, as the machine would say it."""
    checked: list[Any] = []

    class Watched(gpu_profile.Emulator):
        def __call__(self, arguments: Any) -> Any:
            checked.append(self.launch)
            if len(checked) == 2:
                raise ExecutionError("emitted code is wrong: race")
            return super().__call__(arguments)

    monkeypatch.setattr(gpu_profile, "Emulator", Watched)
    fake = ByGrid()
    (part,) = profiled(source, fake)
    found = part.selection.profile
    assert [f.reason for f in found.failures] == ["emitted code is wrong: race"]
    assert len(checked) == len(found.timings) + 1
    with gpu_profiler(Local(fake, fake.seconds), FEW, check=False) as prepare:
        prepare(part.part.program, False)(part.selection.kernel, None)
    assert len(checked) == len(found.timings) + 1


TF32 = """func.func @product(%x: tensor<16x64xf32>, %w: tensor<64x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %r = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x32xf32>) outs(%start : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}
"""


def test_products_that_may_round_to_tf32_are_judged_as_such(tmp_path: Path) -> None:
    """Rounding factors to 10 bits is far outside of what f32 sums may lose."""
    path, fake = tmp_path / "product.mlir", ByGrid()
    path.write_text(TF32)
    with gpu_profiler(Local(fake, fake.seconds), FEW) as prepare:
        done = compile_file(path, CompileOptions(profile=True, check=False, allow_tf32=True), prepare=prepare)
        (part,) = done.built.parts
        assert ".tf32" in part.selection.kernel.ptx
        assert part.selection.profile is not None
        assert part.selection.profile.failures == ()
        with pytest.raises(ExecutionError, match="output 0: element"):
            prepare(part.part.program, False)(part.selection.kernel, None)


def drawn(program: Program) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arguments in f16, and results with one rounding to f16 more than f64 has."""
    rng = np.random.default_rng(8)
    arguments = [(rng.normal(size=i.arg_shape) / 4).astype(np.float16) for i in program.inputs]
    exact = [r.exact for r in references(program, arguments)]
    return arguments, [e.astype(np.float16) for e in exact]


@pytest.mark.parametrize("program", [rms_norm(8, 64, 32), swiglu(8, 64, 32), attention(2, 64, 32)])
def test_outputs_are_judged_elsewhere_as_they_are_here(program: Program) -> None:
    """Results are moved away from what they should be, more and more: both judges change their mind at the same place."""
    arguments, source = drawn(program)
    wanted = list(expected_outputs(program, arguments, source))
    (reference,) = references(program, arguments)
    verdicts = []
    for step in range(0, 60, 3):
        got = (reference.exact * (1 + 2.0**-16 * 1.2**step)).astype(np.float16)
        here = compare("", "", DType.F16, got, source[0], reference, reduction_length(program))
        there = judge([got], wanted)
        assert here.ok == (not there.reason)
        assert there.used == pytest.approx(here.used, rel=1e-9)
        verdicts.append(here.ok)
    assert verdicts[0] and not verdicts[-1]


def test_of_large_outputs_some_elements_are_compared_and_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectations, "WHOLE", 100)
    monkeypatch.setattr(expectations, "SAMPLED", 20)
    program = rms_norm(8, 64, 32)
    arguments, source = drawn(program)
    (wanted,) = expected_outputs(program, arguments, source)
    assert 20 <= wanted.index.size <= 22
    assert wanted.index[0] == 0
    assert wanted.index[-1] == 8 * 32 - 1
    assert not judge(source, [wanted]).reason
    known, unknown = int(wanted.index[5]), next(k for k in range(256) if k not in wanted.index)
    for element, value, caught in [(known, 9.0, True), (unknown, 9.0, False), (unknown, np.nan, True)]:
        changed = source[0].copy()
        changed.reshape(-1)[element] = value
        assert bool(judge([changed], [wanted]).reason) == caught


def test_without_a_source_program_the_bound_of_f32_arithmetic_decides() -> None:
    program = rms_norm(8, 64, 32)
    arguments, source = drawn(program)
    (wanted,) = within_bounds(program, arguments)
    (reference,) = references(program, arguments)
    np.testing.assert_array_equal(wanted.allowed, reference.bound.reshape(-1))
    assert not judge(source, [wanted]).reason
    far: Callable[[np.ndarray], np.ndarray] = lambda exact: exact + 2 * reference.bound  # noqa: E731
    assert judge([far(reference.exact).astype(np.float16)], [wanted]).reason
