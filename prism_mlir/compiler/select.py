"""From proved graphs to one that is built: rank schedules, build the best that can be built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from prism_mlir.codegen.compile import CompiledKernel
from prism_mlir.codegen.external import PtxasReport
from prism_mlir.compiler.building import Builder, Built, Refused, build_each
from prism_mlir.compiler.cluster_profile import measured_on_cluster
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.ranking import Ranking
from prism_mlir.compiler.selection import Considered, Selection, Space
from prism_mlir.compiler.task_pool import TaskPool, pool_here
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.dynamic import DynamicProgram
from prism_mlir.graph.errors import CodegenError, Location, UnsupportedError
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph
from prism_mlir.tune.choose import Choice, choose
from prism_mlir.tune.profile import Samples, profile
from prism_mlir.tune.targets import find_target

PROFILED = 8

Prepare = Callable[[Program, bool], Callable[[CompiledKernel, float | None], Samples]]
"""For a program, and whether its products may round to tf32: what runs a kernel of it on a GPU, given the best median so far, and
says how long that takes.
"""


def check_outputs(program: Program, place: Location | None = None) -> None:
    """Raises :class:`UnsupportedError` for a result that is an argument, at most moved: there is nothing to compute."""
    for k, out in enumerate(program.outputs):
        if out.value < len(program.inputs):
            name = program.inputs[out.value].name
            raise UnsupportedError(
                f"result {k} of '{program.name}' is '{name}', moved or unchanged, which needs no kernel",
                place,
                "return only what is computed",
            )


def select(
    program: Program,
    graphs: Sequence[KernelGraph],
    options: CompileOptions,
    *,
    prepare: Prepare | None = None,
    progress: Callable[[str], None] = lambda _: None,
    dynamic: DynamicProgram | None = None,
    pool: TaskPool | None = None,
) -> Selection:
    """Rank schedules of proved graphs and build the best.

    prepare: makes compiled code run on a GPU and be timed; given, the best few schedules are timed and the fastest is taken
    dynamic: what of the program has a size that is known at launch; schedules are ranked at the program's sizes
    pool:    where to build several at once, and with ``options.profile``, to time them if it is a cluster; here where not given

    Raises :class:`CodegenError` where nothing fits or nothing could be built, with the reasons.
    """
    target = find_target(options.target)
    progress(f"ranking schedules of {len(graphs)} proved graphs")
    buildable = [g for g in graphs if all(isinstance(n, CustomNode) for n in g.nodes)]
    if graphs and not buildable:
        raise CodegenError(f"all {len(graphs)} proved graphs use library operators, for which there is no code")
    allowed = [g for g in buildable if g.fingerprint not in options.exclude]
    if buildable and not allowed:
        raise CodegenError(f"all {len(buildable)} proved graphs are excluded")
    made, impossible = code_graphs(program, allowed, tf32=options.allow_tf32)
    if impossible and not made:
        raise CodegenError(f"none of {len(impossible)} proved graphs can be built: {impossible[0][1]}")
    choice = choose(list(made), target, program, samples=options.samples, seed=options.seed)
    pool = pool or pool_here()
    if prepare is not None or (options.profile and pool.on_cluster):
        return _measured(program, choice, made, options, prepare, progress, pool)
    refused: list[tuple[str, str]] = []
    best = choice.ranked[: options.builds]
    outcomes = build_each(pool, Builder(program, target.arch, dynamic), (r.scheduled for r in best))
    for ranked in best:
        progress(f"building {describe(ranked.scheduled)}")
        outcome = next(outcomes)
        if isinstance(outcome, Refused):
            refused.append((describe(ranked.scheduled), outcome.reason))
            continue
        outcomes.close()
        space, considered = Space.of(choice, len(made)), Considered.of(choice.ranked)
        graph, kernel, report = made[ranked.scheduled.graph], outcome.kernel, outcome.ptxas
        ranking = Ranking.of(choice.ranked)
        return Selection(graph, ranked, kernel, space, considered, tuple(refused), report, ranking=ranking)
    reason = refused[0][1] if refused else "none"
    raise CodegenError(f"none of the best {len(refused)} schedules could be built: {reason}")


def build(program: Program, scheduled: ScheduledGraph, target: str) -> tuple[CompiledKernel, PtxasReport | None]:
    """PTX for a schedule, and ptxas's report. Raises :class:`CodegenError` where it cannot be built, or registers spill."""
    (outcome,) = build_each(pool_here(), Builder(program, find_target(target).arch), [scheduled])
    if isinstance(outcome, Refused):
        raise CodegenError(outcome.reason)
    return outcome.kernel, outcome.ptxas


def _measured(
    program: Program,
    choice: Choice,
    made: Mapping[KernelGraph, KernelGraph],
    options: CompileOptions,
    prepare: Prepare | None,
    progress: Callable[[str], None],
    pool: TaskPool,
) -> Selection:
    """The fastest of the best few schedules, on this machine's GPU or, without ``prepare``, on one of the pool's workers'."""
    candidates = [r.scheduled for r in choice.ranked[:PROFILED]]
    built: dict[ScheduledGraph, Built] = {}
    outcomes: Iterator[Built | Refused] = build_each(
        pool, Builder(program, find_target(options.target).arch), candidates
    )
    if prepare is not None:
        on_gpu = prepare(program, options.allow_tf32)
    else:
        progress(f"building and timing {len(candidates)} schedules on {pool.opened.name}")
        known = list(outcomes)
        on_gpu = measured_on_cluster(
            pool, program, [o.kernel for o in known if isinstance(o, Built)], options.allow_tf32
        )
        outcomes = iter(known)

    def measure(scheduled: ScheduledGraph, best_us: float | None) -> Samples:
        progress(f"timing {describe(scheduled)}")
        outcome = next(outcomes)
        if isinstance(outcome, Refused):
            raise CodegenError(outcome.reason)
        built[scheduled] = outcome
        return on_gpu(outcome.kernel, best_us)

    result = profile(candidates, measure)
    best = result.best.scheduled
    ranked = next(r for r in choice.ranked if r.scheduled == best)
    failures = tuple((describe(f.scheduled), f.reason) for f in result.failures)
    space, considered = Space.of(choice, len(made)), Considered.of(choice.ranked)
    kernel, report = built[best].kernel, built[best].ptxas
    ranking = Ranking.of(choice.ranked)
    return Selection(made[best.graph], ranked, kernel, space, considered, failures, report, result, ranking=ranking)


def describe(scheduled: ScheduledGraph) -> str:
    """One line: which graph, at which sizes."""
    return f"graph {scheduled.graph.fingerprint} {scheduled.schedule.text}"
