"""Proof of candidates by equality saturation (paper, sections 4 and 6), many of them in one e-graph.

Sharing one e-graph is what makes this fast: candidates consist of the same tiles, and loading the axioms costs more than using
them. Candidates that the core axioms leave open get a second e-graph with all axioms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from time import monotonic

from prism_mlir.graph.dims import dim_classes, shrink
from prism_mlir.graph.errors import InputError, PrismError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.verify.axioms import DEFAULT, axiom_hash
from prism_mlir.verify.encode import encode_graph, encode_program
from prism_mlir.verify.expr import Expr, TileType, types_of
from prism_mlir.verify.fit import Fit, Fitter
from prism_mlir.verify.rule import Rule
from prism_mlir.verify.verdict import Status, Verdict

BATCH = 48  # candidates in one e-graph: more share more tiles, but reading their terms takes memory that grows faster than they
NOT_CONNECTED = "the axioms do not connect it to the program"


@dataclass(frozen=True, slots=True)
class ProofLimits:
    """When to stop, for each of the two e-graphs. nodes counts e-nodes and facts; seconds is wall-clock time."""

    iterations: int = 30
    nodes: int = 300_000
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class _Outcome:
    decided: dict[int, int]  # candidate -> iteration in which it was proved
    fired: frozenset[str]
    iterations: int
    nodes: int
    ran_out: str  # empty where the e-graph saturated or all was proved


def prove(
    program: Program,
    graphs: Sequence[KernelGraph],
    *,
    limits: ProofLimits | None = None,
    axioms: Sequence[Rule] = DEFAULT,
) -> list[Verdict]:
    """A verdict for each candidate: ``proved`` for all parallel sizes, or ``unknown`` with what ran out; never ``refuted``.

    Raises :class:`SoundnessError` when an axiom turns out to be wrong.
    """
    limits = limits or ProofLimits()
    name = axiom_hash(axioms)
    numbers, wanted, types = prepare(program, graphs)
    verdicts: dict[int, Verdict] = {}
    offered: dict[int, tuple[Expr, ...]] = {}
    fitter = Fitter(program)
    for k, graph in enumerate(graphs):
        try:
            offered[k] = encode_fitted(fitter.fit(graph), numbers, types)
        except PrismError as error:
            verdicts[k] = Verdict(Status.UNKNOWN, name, reason=error.message)
    core = tuple(r for r in axioms if r.group != "commute")
    for rules in (core, tuple(axioms)) if len(core) < len(axioms) else (core,):
        waiting = [k for k in offered if k not in verdicts or not verdicts[k].proved]
        for start in range(0, len(waiting), BATCH):
            batch = {k: offered[k] for k in waiting[start : start + BATCH]}
            outcome = _saturate(wanted, batch, numbers, rules, limits)
            verdicts |= {k: _verdict(k, outcome, name, len(batch)) for k in batch}
    return [verdicts[k] for k in range(len(graphs))]


def _verdict(k: int, outcome: _Outcome, name: str, together: int) -> Verdict:
    fired = tuple(sorted(outcome.fired))
    if k in outcome.decided:
        return Verdict(Status.PROVED, name, fired, together, outcome.decided[k], outcome.nodes)
    reason = outcome.ran_out or NOT_CONNECTED
    return Verdict(Status.UNKNOWN, name, fired, together, outcome.iterations, outcome.nodes, reason=reason)


_PRIMES = (
    2,
    3,
    5,
    7,
    11,
    13,
    17,
    19,
    23,
    29,
    31,
    37,
    41,
    43,
    47,
    53,
    59,
    61,
    67,
    71,
    73,
    79,
    83,
    89,
    97,
    101,
    103,
    107,
)


@dataclass(frozen=True, slots=True)
class Numbers:
    """count[p]: prime that stands for the size of parallel dim p; classes[c]: number that stands for dim class c."""

    count: dict[str, int]
    classes: tuple[int, ...]
    program: Program


def prepare(program: Program, graphs: Sequence[KernelGraph]) -> tuple[Numbers, tuple[Expr, ...], tuple[TileType, ...]]:
    """Sizes that tell all dims apart, and the program's outputs at these sizes, with their types."""
    classes = dim_classes(program)
    parallel = list(dict.fromkeys(p for g in graphs for p in g.parallel_dims))
    if len(parallel) + len(classes.sizes) > len(_PRIMES):
        raise InputError(f"{len(parallel)} parallel dims and {len(classes.sizes)} dims are more than can be told apart")
    count = dict(zip(parallel, _PRIMES, strict=False))
    divisible = prod(count.values()) ** (
        2 if len(parallel) <= 4 else 1
    )  # each parallel dim may cut a dim, or two of them
    own = [_PRIMES[len(parallel) + c] * divisible for c in range(len(classes.sizes))]
    for _ in own:
        own = [prod(own[f] for f in fs) if fs else n for n, fs in zip(own, classes.factors, strict=True)]
    if any(n >= 2**62 for n in own):
        raise InputError(f"{len(parallel)} parallel dims and {len(own)} dims are more than can be told apart")
    numbers = Numbers(count, tuple(own), shrink(program, dict(enumerate(own))))
    wanted = encode_program(numbers.program)
    inputs = [TileType(i.shape) for i in numbers.program.inputs]
    types = types_of(wanted, inputs, count)
    return numbers, wanted, tuple(types[e] for e in wanted)


def encode_fitted(fitted: Fit, numbers: Numbers, wanted: Sequence[TileType]) -> tuple[Expr, ...]:
    """A candidate's outputs at these sizes. Raises :class:`InputError` where they are not of the program's shape."""
    outputs = encode_graph(fitted.resize(numbers.classes))
    types = types_of(outputs, [TileType(i.shape) for i in numbers.program.inputs], numbers.count)
    for k, (e, t) in enumerate(zip(outputs, wanted, strict=True)):
        if types[e] != t:
            raise InputError(f"output {k} does not have the shape of the program's for all parallel sizes")
    return outputs


def _saturate(
    wanted: Sequence[Expr],
    offered: dict[int, tuple[Expr, ...]],
    numbers: Numbers,
    rules: Sequence[Rule],
    limits: ProofLimits,
) -> _Outcome:
    # A quarter of a second, which those do not need who find everything on record.
    from prism_mlir.verify.egglog_backend import ProofGraph, Sizes

    started = monotonic()
    graph = ProofGraph(rules, Sizes(numbers.count, tuple(i.shape for i in numbers.program.inputs)))
    graph.load(wanted, offered)
    decided: dict[int, int] = {}
    fired: frozenset[str] = frozenset()
    iteration, ran_out = 0, ""
    while True:
        found = graph.proved()
        for k, outputs in offered.items():
            if k not in decided and all((k, o) in found for o in range(len(outputs))):
                decided[k] = iteration
        nodes = graph.size()
        if len(decided) == len(offered):
            break
        ran_out = _ran_out(limits, iteration, nodes, monotonic() - started)
        if ran_out:
            break
        step = graph.step()
        iteration, fired = iteration + 1, fired | step.fired
        if not step.changed:
            break
    graph.close()
    return _Outcome(decided, fired, iteration, nodes, ran_out)


def _ran_out(limits: ProofLimits, iterations: int, nodes: int, seconds: float) -> str:
    if iterations >= limits.iterations:
        return f"stopped after {iterations} iterations"
    if nodes > limits.nodes:
        return f"stopped at {nodes} nodes, more than {limits.nodes}"
    if seconds > limits.seconds:
        return f"stopped after {limits.seconds:g} s"
    return ""
