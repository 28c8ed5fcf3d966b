"""The search as a whole: nothing lost, nothing twice, limits honest, same input same output."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import networkx as nx
import pytest
from brute_force import MASKED, SMALL, Unpruned

from prism_mlir.graph.block import Load
from prism_mlir.graph.examples import (
    attention,
    build_program,
    qk_attention,
    rms_norm,
    rms_norm_mlp,
    softmax_matmul,
    swiglu,
)
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import DIV, MATMUL, sum_, unary
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import AbstractTarget, abstract_target
from prism_mlir.search.dim_match import match_dims
from prism_mlir.search.generate import Generator, generate
from prism_mlir.search.instantiate import instantiate, is_loaded_alike, loaded_twice
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.search import search
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.verify import verify

WORKLOADS: list[Callable[[], Program]] = [rms_norm, rms_norm_mlp, swiglu, attention, qk_attention]


def accepted(program: Program, limits: SearchLimits, target: AbstractTarget) -> set[object]:
    """Graphs with concrete mappings that exact arithmetic cannot refute."""
    refuter, funnel = Refuter(program), Funnel()
    found = set()
    for structure in Generator(program, limits, funnel, target=target).run():
        for graph in instantiate(structure, lambda g, d: refuter.refute_alone(g, d) is None, funnel):
            if refuter.refute(graph) is None:
                found.add(graph.sort_key)
    assert funnel.complete
    return found


@pytest.mark.parametrize(("program", "operators"), SMALL, ids=[p.name for p, _ in SMALL])
def test_pruning_loses_no_graph(program: Program, operators: int) -> None:
    """Brute force within the same limits finds exactly the same correct graphs."""
    limits = SearchLimits(operators=operators, grid_dims=2, invariant_loads=program.name == "two")
    pruned = accepted(program, limits, abstract_target(program))
    assert pruned
    assert pruned == accepted(program, limits, Unpruned(program))


@pytest.mark.parametrize(("program", "operators"), MASKED, ids=[p.name for p, _ in MASKED])
def test_pruning_loses_no_graph_that_can_be_proved(program: Program, operators: int) -> None:
    limits, refuter = SearchLimits(operators=operators, grid_dims=1), Refuter(program)
    proved = []
    for target in (abstract_target(program), Unpruned(program)):
        structures = Generator(program, limits, Funnel(), target=target).run()
        graphs = [
            g for s in structures for g in instantiate(s, lambda g, d: refuter.refute_alone(g, d) is None, Funnel())
        ]
        verdicts = verify(program, graphs, refuter=refuter)
        proved.append({g.sort_key for g, v in zip(graphs, verdicts, strict=True) if v.proved})
    assert len(proved[0]) > 1
    assert proved[0] == proved[1]


@pytest.mark.filterwarnings("ignore:The hashes produced for directed graphs")
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: w.__name__)
def test_each_graph_once(workload: Callable[[], Program]) -> None:
    """No two structures are the same graph under another numbering of their nodes."""
    seen: dict[str, list[nx.DiGraph]] = defaultdict(list)
    for graph in generate(workload(), SearchLimits(operators=9), Funnel()):
        (node,) = graph.custom
        dag = nx.DiGraph()
        for k, n in enumerate(node.block.nodes):
            dag.add_node(k, label=f"{n.op}{'!' if k in node.block.outputs else ''}")
            for position, v in enumerate(n.operands):
                commutes = getattr(getattr(n.op, "spec", None), "commutative", False)
                dag.add_edge(v, k, position=0 if commutes else position)
        key = nx.weisfeiler_lehman_graph_hash(dag, node_attr="label", edge_attr="position", iterations=4)
        for other in seen[key]:
            assert not nx.is_isomorphic(
                dag, other, node_match=lambda a, b: a["label"] == b["label"], edge_match=lambda a, b: a == b
            )
        seen[key].append(dag)
    assert seen or workload is rms_norm_mlp or workload is qk_attention


def run(program: Program, limits: SearchLimits) -> tuple[list[KernelGraph], Funnel]:
    refuter, funnel = Refuter(program), Funnel()
    return list(search(program, limits, funnel, lambda g, d: refuter.refute_alone(g, d) is None)), funnel


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: w.__name__)
def test_every_workload_has_candidates_and_they_are_well_formed(workload: Callable[[], Program]) -> None:
    candidates, funnel = run(workload(), SearchLimits())
    assert funnel.complete
    assert len(candidates) == len({c.sort_key for c in candidates}) > 0
    for candidate in candidates:
        candidate.check()


def test_figure_1_is_found() -> None:
    """The fused softmax-matmul of Figure 1(b), with both the sum and the product accumulated in the loop."""
    candidates, _ = run(softmax_matmul(), SearchLimits(operators=7, grid_dims=1))
    texts = [str(c) for c in candidates]
    assert any(
        all(
            s in t for s in ("unary[exp(x)](t0)", "accum(", "matmul(t2, t1)", "imap=[[0], [-1]] fmap=[1, 0] omap=[[0]]")
        )
        for t in texts
    )


def test_a_residual_needs_a_load_outside_the_loop() -> None:
    """x.W + R: R may not be accumulated, so structures without invariant loads do not suffice and the search goes on."""
    program = SMALL[3][0]
    candidates, _ = run(program, SearchLimits(operators=4))
    loops = [c for c in candidates if next(c.custom).block.loop is not None]
    assert loops
    for candidate in loops:
        (node,) = candidate.custom
        residual = [n.op for n in node.block.nodes if isinstance(n.op, Load) and n.op.source == 2]
        assert [op.invariant for op in residual] == [True]


def test_a_tensor_may_be_whole_and_cut_inside_the_loop() -> None:
    """silu(X / sum(X)) . W: the function keeps the sum from moving behind the product, so a loop that cuts W sees all of X."""
    program = build_program(
        "activated",
        {"X": (8, 12), "W": (12, 6)},
        [(sum_(1), (0,)), (DIV, (0, 2)), (unary("x/(1 + exp(-x))"), (3,)), (MATMUL, (4, 1))],
    )
    candidates, _ = run(program, SearchLimits(operators=6, grid_dims=1))
    wanted = (
        "t2=load[1](); t3=sum[1](t1); t4=div(t0, t3); t5=unary[x/(1 + exp(-x))](t4); t6=matmul(t5, t2); t7=accum(t6)"
    )
    found = [str(c) for c in candidates if wanted in str(c)]
    # the loop cuts the contracted dim of X and W; the grid nothing, rows of both loads of X, or columns of W
    assert [text.split(" imap=")[1] for text in found] == [
        "[[], [], []] fmap=[1, -1, 0] omap=[[]]",
        "[[0], [0], [-1]] fmap=[1, -1, 0] omap=[[0]]",
        "[[-1], [-1], [1]] fmap=[1, -1, 0] omap=[[1]]",
    ]


def test_a_tensor_loaded_twice_alike_is_loaded_once() -> None:
    """sum((X / sum(X)) . W): a loop over columns of W sees all of X, inside the loop and outside, and needs it once."""
    program = build_program(
        "rows", {"X": (8, 12), "W": (12, 6)}, [(sum_(1), (0,)), (DIV, (0, 2)), (MATMUL, (3, 1)), (sum_(1), (4,))]
    )
    candidates, funnel = run(program, SearchLimits(operators=5, grid_dims=1, invariant_loads=True))
    assert funnel.counts["rejected: a tensor loaded twice alike"] > 0
    nodes = [node for candidate in candidates for node in candidate.custom if loaded_twice(node.block)]
    assert nodes
    for node in nodes:
        assert node.mapping is not None and not is_loaded_alike(loaded_twice(node.block), node.mapping)


def test_every_tile_that_may_be_an_output_is_tried() -> None:
    """exp(X) and its row sums: when a loop makes the sums, its accumulator has the expression exp(X) and another value."""
    values = build_program("both", {"X": (8, 12)}, [(unary("exp(x)"), (0,)), (sum_(1), (1,))])
    kept = replace(values.outputs[0], value=1, shape=(8, 12), strides=(12, 1))
    program = replace(values, outputs=(kept, *values.outputs))
    candidates, _ = run(program, SearchLimits(operators=4, grid_dims=0, invariant_loads=True))
    texts = [str(c) for c in candidates]
    loop = "t2=unary[exp(x)](t0); t3=unary[exp(x)](t1); t4=accum(t2); t5=sum[1](t4); save t3, t5"
    assert any(loop in t and "fmap=[1, -1]" in t for t in texts), texts


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (SearchLimits(states=50), "states limit of 50"),
        (SearchLimits(structures=3), "structures limit of 3"),
        (SearchLimits(candidates=5), "candidates limit of 5"),
    ],
)
def test_a_limit_that_is_reached_is_reported(limits: SearchLimits, reason: str) -> None:
    candidates, funnel = run(attention(), limits)
    assert funnel.stopped_by == [reason]
    assert not funnel.complete
    assert len(candidates) <= limits.candidates
    assert funnel.counts["structures"] <= limits.structures
    assert funnel.counts["states"] <= limits.states


def test_time_limit_uses_the_given_clock() -> None:
    ticks = iter(range(1000))
    program, funnel = attention(), Funnel()
    refuter = Refuter(program)
    limits = SearchLimits(seconds=3)
    list(search(program, limits, funnel, lambda g, d: refuter.refute_alone(g, d) is None, lambda: next(ticks)))
    assert funnel.stopped_by == ["time limit of 3 s"]
    assert 1 <= funnel.counts["structures"] <= 4  # the clock is read at the start, at each structure, and now and then
    assert any("load set" in what for what in funnel.left)


def test_recorded_equalities_are_those_of_dimension_matching() -> None:
    for graph in generate(softmax_matmul(), SearchLimits(operators=6), Funnel()):
        (node,) = graph.custom
        assert node.equalities == match_dims(node.block).equalities
        assert node.mapping is None


def test_output_does_not_depend_on_the_hash_seed() -> None:
    script = (
        "from prism_mlir.graph.examples import attention\n"
        "from prism_mlir.compiler.discover import discover\n"
        "found = discover(attention())\n"
        "print([g.fingerprint for g in found.candidates], found.to_dict(), [v.to_dict() for v in found.verdicts])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_few_graphs_are_not_enough() -> None:
    """Of a gated product the search finds 8 graphs that load all in the loop or have none, so it goes on to loads outside."""
    program = swiglu(8, 64, 64)
    all_inside, _ = run(program, SearchLimits(few=0))
    found, _ = run(program, SearchLimits())
    assert len(all_inside) == 8
    assert found[:8] == all_inside and len(found) >= 12
    outside = [[n.op for n in next(g.custom).block.nodes if isinstance(n.op, Load)] for g in found[8:]]
    assert all(len({load.invariant for load in loads}) == 2 for loads in outside)
