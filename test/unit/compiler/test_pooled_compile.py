"""A compilation is the same bytes wherever its tasks run: building and checking in processes, timing on a cluster's GPU."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from outcome import outcome
from small_programs import PROGRAMS, write

from prism_mlir.codegen.compile import CompiledKernel
from prism_mlir.codegen.external import PtxasReport
from prism_mlir.compiler import building, execute, gpu_profile
from prism_mlir.compiler.buckets import SizeOptions
from prism_mlir.compiler.building import Builder, Built, Refused, build_each
from prism_mlir.compiler.checking import Checker, check
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.dynamic import compile_dynamic
from prism_mlir.compiler.executors import InThisProcess, OpenExecutor, this_process
from prism_mlir.compiler.input_sets import input_set_names, input_sets
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import Compilation, compile_file
from prism_mlir.compiler.select import select
from prism_mlir.compiler.task_pool import TaskPool, open_pool, pool_here
from prism_mlir.frontend.specialise import dynamic_text
from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.examples import attention, rms_norm
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph
from prism_mlir.tune.profile import Samples

ATTENTION = Path(__file__).parents[2] / "inputs" / "programs" / "attention_bool_mask.mlir"
OPTIONS = CompileOptions(samples=200)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compilation_in_processes_is_the_same(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name)
    one = compile_file(path, OPTIONS)
    two = compile_file(path, replace(OPTIONS, jobs=2))
    assert outcome(two) == outcome(one)
    assert len(one.accuracy) >= 5 and all(a.ok for a in one.accuracy)


DYNAMIC = """
func.func @main(%x: tensor<?x32xf16>, %w: tensor<32x16xf16>) -> tensor<?x16xf16> {
  %zero = arith.constant 0.0 : f16
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x32xf16>
  %e = tensor.empty(%n) : tensor<?x16xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<?x16xf16>) -> tensor<?x16xf16>
  %p = linalg.matmul ins(%x, %w : tensor<?x32xf16>, tensor<32x16xf16>) outs(%f : tensor<?x16xf16>) -> tensor<?x16xf16>
  return %p : tensor<?x16xf16>
}
"""


def test_a_compilation_for_dynamic_sizes_in_processes_is_the_same() -> None:
    source, sizes = dynamic_text(DYNAMIC, "dynamic.mlir"), SizeOptions(20, ("7",))
    one, two = (compile_dynamic(source, replace(OPTIONS, samples=60, jobs=jobs), sizes) for jobs in (1, 2))
    assert (two.ptx, two.dispatch, two.host) == (one.ptx, one.dispatch, one.host)
    assert two.checks == one.checks and len(one.checks) > 2
    assert all(a.ok for c in one.checks for a in c.accuracy or ())


def best_of(program: Program, count: int) -> list[ScheduledGraph]:
    from prism_mlir.tune.choose import choose
    from prism_mlir.tune.targets import find_target

    return [
        r.scheduled for r in choose(discover(program).proved, find_target("sm_80"), program, samples=50).ranked[:count]
    ]


def test_schedules_are_built_in_order_of_preference() -> None:
    """64 warps are more than a block may have; that one is refused where it stands."""
    program = rms_norm()
    good = best_of(program, 3)
    bad = replace(good[0], schedule=replace(good[0].schedule, warps=64))
    wanted = list(build_each(pool_here(), Builder(program, "sm_80"), [bad, *good]))
    assert isinstance(wanted[0], Refused) and "64 warps" in wanted[0].reason
    assert all(isinstance(outcome, Built) for outcome in wanted[1:])
    with open_pool(jobs=2) as pool:
        got = list(build_each(pool, Builder(program, "sm_80"), [bad, *good]))
    assert got[0] == wanted[0]
    assert [o.kernel for o in got[1:] if isinstance(o, Built)] == [o.kernel for o in wanted[1:] if isinstance(o, Built)]


def test_this_machines_ptxas_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds spills in the two best kernels; the third is taken, also where others compiled them."""
    program = rms_norm()
    graphs = discover(program).proved
    asked: list[str] = []

    def spills(ptx: str, _: str) -> PtxasReport:
        asked.append(ptx)
        return PtxasReport(255, 0, 8 if len(asked) <= 2 else 0, "")

    monkeypatch.setattr(building, "ptxas_check", spills)
    options = replace(OPTIONS, samples=50)
    with open_pool(jobs=2) as pool:
        there = select(program, graphs, options, pool=pool)
    asked.clear()
    here = select(program, graphs, options)
    assert there.kernel == here.kernel and there.refused == here.refused
    assert [reason for _, reason in here.refused] == ["8 bytes of registers spill to memory"] * 2
    assert len(asked) == 3


@pytest.fixture(scope="module")
def compiled() -> Compilation:
    return compile_file(ATTENTION, replace(OPTIONS, check=False))


def checker_of(done: Compilation, change: Callable[[str], str] = lambda ptx: ptx) -> Checker:
    ptx = {name: change(text) for name, text in done.built.ptx.items()}
    return Checker(Path(done.source).read_text(), None, done.program, done.launch, ptx)


def test_a_wrong_kernel_fails_alike_wherever_it_runs(compiled: Compilation) -> None:
    """Sums where the kernel should multiply: wrong numbers, after which no other inputs are tried."""

    def wrong(ptx: str) -> str:
        assert "mul.f32" in ptx or "mul.rn.f32" in ptx
        return ptx.replace("mul.f32", "add.f32").replace("mul.rn.f32", "add.rn.f32")

    checker, told = checker_of(compiled, wrong), []
    with open_pool(jobs=2) as pool:
        for used in (pool_here(), pool):
            steps: list[str] = []
            with pytest.raises(ExecutionError) as caught:
                check(checker, used, steps.append)
            told.append(str(caught.value))
            assert steps == ["checking on random inputs"]
    assert told[0] == told[1]
    assert "emitted code is not accurate on random inputs" in told[0]


def test_a_kernel_with_a_fault_fails_alike_wherever_it_runs(compiled: Compilation) -> None:
    """Without its barriers it races, on the first input set already."""

    def racing(ptx: str) -> str:
        assert "barrier.sync" in ptx or "bar.sync" in ptx
        return "\n".join(line for line in ptx.splitlines() if "bar.sync" not in line and "barrier.sync" not in line)

    checker, told = checker_of(compiled, racing), []
    with open_pool(jobs=2) as pool:
        for used in (pool_here(), pool):
            with pytest.raises(ExecutionError, match="emitted code is wrong") as caught:
                check(checker, used)
            told.append(str(caught.value))
    assert told[0] == told[1]


def test_a_checker_crosses_without_what_it_has_loaded(compiled: Compilation) -> None:
    checker = checker_of(compiled)
    before = pickle.dumps(checker)
    assert checker.emulator.modules and checker.types
    assert pickle.dumps(checker) == before
    assert pickle.loads(before).types == checker.types


def test_long_kernels_take_the_compiled_engine_after_the_first_set(
    compiled: Compilation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in one process: the first set has all checks, and says for which kernels the rest need not have them."""
    monkeypatch.setattr(execute, "LONG", 1)
    given: list[tuple[Any, ...]] = []

    class Listening(TaskPool):
        def ordered(self, context: Any, function: Any, arguments: Any, *rest: Any, **named: Any) -> Any:
            calls = (given.append(call) or call for call in arguments)
            return super().ordered(context, function, calls, *rest, **named)

    quick = check(checker_of(compiled), Listening(OpenExecutor("here", InThisProcess(), lambda: 1, here=True)))
    (kernel,) = compiled.launch.kernels
    assert given[0] == (0, frozenset())
    assert [long for _, long in given[1:]] == [{(kernel.ptx, kernel.entry)}] * (len(given) - 1)
    monkeypatch.undo()
    assert [a.to_dict() for a in check(checker_of(compiled), pool_here())] == [a.to_dict() for a in quick]


def test_as_many_sets_begin_together_as_there_are_processes(
    compiled: Compilation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one cannot know yet which kernels are long; what it checks, and what comes out, is the same."""
    monkeypatch.setattr(execute, "LONG", 1)
    given: list[tuple[Any, ...]] = []

    class Two(TaskPool):
        jobs, here = 2, False  # type: ignore[assignment]

        def submit(self, context: Any, function: Any, *arguments: Any, gpu: bool = False) -> Any:
            given.append(arguments)
            return self.opened.executor.submit(function, context.value, *arguments)

    checker = checker_of(compiled)
    found = check(checker, Two(this_process()))
    (kernel,) = compiled.launch.kernels
    names = input_set_names(compiled.program)
    assert [number for number, _ in given] == list(range(len(names)))
    assert [bool(long) for _, long in given] == [False, False] + [True] * (len(names) - 2)
    assert given[-1][1] == {(kernel.ptx, kernel.entry)}
    assert [a.to_dict() for a in found] == [a.to_dict() for a in check(checker_of(compiled), pool_here())]


def test_names_of_input_sets_are_those_of_the_sets(compiled: Compilation) -> None:
    for program in (compiled.program, attention(), rms_norm()):
        assert input_set_names(program) == tuple(s.name for s in input_sets(program))
    assert "masked" not in input_set_names(rms_norm())


TIMES = {0: 9.0, 1: 3.0, 2: 5.0}


@contextmanager
def fake_profiler() -> Iterator[Callable[..., Any]]:
    """The third kernel fails; the others take what TIMES says. Times of further ones are 7."""
    asked: list[float | None] = []

    def measure(kernel: CompiledKernel, best: float | None) -> Samples:
        assert best == min((TIMES.get(k, 7.0) for k in range(len(asked)) if k != 2), default=None)
        asked.append(best)
        if len(asked) == 3:
            raise ExecutionError("no such luck")
        return Samples((TIMES.get(len(asked) - 1, 7.0),), (1.0,))

    yield lambda program, tf32: measure


def test_a_cluster_times_the_best_few_on_one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """All kernels are one task, so of one device; the fastest is taken, and it is the second here."""
    monkeypatch.setattr(gpu_profile, "gpu_profiler", fake_profiler)
    program = rms_norm()
    tasks: list[bool] = []

    class Counting(TaskPool):
        def submit(self, context: Any, function: Any, *arguments: Any, gpu: bool = False) -> Any:
            tasks.append(gpu)
            return super().submit(context, function, *arguments, gpu=gpu)

    pool = Counting(OpenExecutor("dask://far:1", InThisProcess(), lambda: 1, here=True, gpu=dict))
    options = replace(OPTIONS, samples=50, profile=True)
    chosen = select(program, discover(program).proved, options, pool=pool)
    assert tasks.count(True) == 1 and tasks.count(False) == 8
    assert chosen.profile is not None
    assert [t.median_us for t in chosen.profile.timings] == sorted([9.0, 3.0, *[7.0] * 5])
    assert [f.reason for f in chosen.profile.failures] == ["no such luck"]
    model = select(program, discover(program).proved, replace(options, profile=False))
    assert chosen.ranked.scheduled == best_of(program, 2)[1] != model.ranked.scheduled
