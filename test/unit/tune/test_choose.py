"""Ranking and choosing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tune_graphs import gemm, pointwise

from prism_mlir.graph.block import BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import CodegenError
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import unary
from prism_mlir.graph.schedule import Orientation, ScheduledGraph
from prism_mlir.tune.choose import TURNED, choose, rank
from prism_mlir.tune.cost import Cost, cost
from prism_mlir.tune.parameters import parameter_space, rejection, variants
from prism_mlir.tune.targets import find_target

A100 = find_target("sm_80")


def test_the_best_is_the_least_of_all_valid_points() -> None:
    graph = gemm(16, 256, 256)
    choice = choose([graph], A100, samples=100_000)
    assert choice.sample.exhaustive
    times = [cost(p, A100).total_us for p in choice.sample.points]
    plain = [r for r in choice.ranked if r.scheduled in set(choice.sample.points)]
    assert [r.cost.total_us for r in plain] == sorted(times)
    assert choice.ranked == rank([r.scheduled for r in choice.ranked], A100)
    assert rejection(parameter_space(graph), choice.best.scheduled.schedule, A100) is None


def test_a_turned_schedule_is_ranked_only_if_it_takes_less_than_the_plain_one() -> None:
    """Of the best eight, the other orientations are looked at; what ties with the plain schedule stays out."""
    graph = gemm(128, 256, 256)
    choice = choose([graph], A100, samples=100_000)
    plain = {p.schedule for p in choice.sample.points}
    assert all(s.orientation is Orientation.AUTO and not s.residency for s in plain)
    best = [r for r in choice.ranked if r.scheduled.schedule in plain][:TURNED]
    space = replace(parameter_space(graph), residencies=(0,))
    turned = [(r, p) for r in best for p in variants(space, r.scheduled.schedule, A100)]
    assert choice.turned == len(turned) > 0
    less = {p for r, p in turned if times(cost(ScheduledGraph(graph, p), A100)) < times(r.cost)}
    assert {r.scheduled.schedule for r in choice.ranked} - plain == less


def times(cost: Cost) -> tuple[float, int, float]:
    return cost.total_us, cost.dram_bytes, cost.work_us


def test_the_order_of_candidates_does_not_matter() -> None:
    points = choose([gemm(16, 256, 256)], A100, samples=60).sample.points
    assert rank(points, A100) == rank(tuple(reversed(points)), A100)


def test_the_same_call_gives_the_same_ranking() -> None:
    graphs = [gemm(16, 128, 64), pointwise(64, 64)]
    assert choose(graphs, A100, samples=50, seed=3) == choose(graphs, A100, samples=50, seed=3)


def test_a_product_that_reads_its_weights_keeps_most_of_the_chip_busy() -> None:
    """33 MB of weights take 27 us at the sustained bandwidth; fewer than 81 active SMs cannot reach it."""
    best = choose([gemm(8, 4096, 4096)], A100, samples=200).best
    assert best.cost.kernels[0].blocks >= 81
    assert best.cost.total_us < 1.25 * (4096 * 4096 * 2 / (0.80 * 1555e3) + A100.launch_us)


def test_of_schedules_that_wait_for_memory_alike_the_one_that_works_least_is_best() -> None:
    """33 MB of weights hide whatever the SMs and L2 do; the more they do, the less is left for what no model sees."""
    ranked = choose([gemm(8, 4096, 4096)], A100, samples=100_000).ranked
    best = ranked[0].cost
    alike = [r.cost for r in ranked if (r.cost.total_us, r.cost.dram_bytes) == (best.total_us, best.dram_bytes)]
    assert len(alike) > 1
    work = [c.kernels[0].sm_us + c.kernels[0].l2_us for c in alike]
    assert work[0] == min(work) < max(work)


def test_no_graph_is_an_error() -> None:
    with pytest.raises(CodegenError, match="no proved graph"):
        choose([], A100)


def test_nothing_that_fits_is_an_error_with_reasons() -> None:
    with pytest.raises(CodegenError, match=r"none of \d+ schedules of 1 graphs fits sm_80: .*too much shared memory"):
        choose(
            [
                gemm(16, 32, 64),
            ],
            replace(A100, shared_per_block=512),
        )


def test_one_candidate_is_chosen() -> None:
    assert len(choose([pointwise(4, 32)], A100, samples=1).ranked) == 1


def followed(graph: KernelGraph, fn: str) -> KernelGraph:
    """A product, and a function of its result in a kernel of its own."""
    (first,) = graph.custom
    result = TensorType(graph.shapes[graph.outputs[0]], DType.F32)
    block = BlockGraph(("u",), None, (result,), (BlockNode(Load(0, invariant=True)), BlockNode(unary(fn), (0,))), (1,))
    second = CustomNode(block, (2,), Mapping(((1,),), (-1,), ((1,),)))
    return KernelGraph(graph.inputs, (first, second), (3,))


def test_many_graphs_of_two_kernels_do_not_hide_the_best_of_one() -> None:
    one = gemm(64, 4096, 4096)
    many = [followed(one, f"x + {k}") for k in range(40)]
    alone, together = (choose(graphs, A100, samples=30) for graphs in ([one], [one, *many]))
    assert not together.sample.exhaustive
    assert together.best.cost.total_us <= alone.best.cost.total_us
    assert {r.scheduled for r in alone.ranked} <= {r.scheduled for r in together.ranked}
    assert any(len(r.scheduled.graph.nodes) == 2 for r in together.ranked)
