"""Graphs of two kernels: split reductions are found, what is found is right, and the parts are put together again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prism_mlir.compiler.discover import Discovery, discover
from prism_mlir.graph.block import Accum, Load
from prism_mlir.graph.dims import dim_classes, shrink
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.examples import attention, rms_norm
from prism_mlir.graph.fields import PrimeField
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.search.limits import SearchLimits
from prism_mlir.verify.fit import shrink_graph

LIMITS = SearchLimits(operators=8, kernels=2, second_operators=4)
FIELD = PrimeField()


@pytest.fixture(scope="module")
def attention_found() -> Discovery:
    return discover(attention(), LIMITS)


@pytest.fixture(scope="module")
def norm_found() -> Discovery:
    return discover(rms_norm(), LIMITS)


def splits(found: Discovery) -> list[KernelGraph]:
    return [g for g in found.proved if any(g.expansions)]


def kernels(graph: KernelGraph) -> list[list[str]]:
    return [[str(n.op) for n in node.block.nodes] for node in graph.custom]


def test_every_candidate_is_proved(attention_found: Discovery, norm_found: Discovery) -> None:
    for found in (attention_found, norm_found):
        assert found.funnel.complete
        assert len(found.proved) == len(found.candidates)
        assert sum(len(g.nodes) == 2 for g in found.candidates) > 10
        assert len({g.fingerprint for g in found.candidates}) == len(found.candidates)


def test_flash_decoding_is_found(attention_found: Discovery) -> None:
    """Keys and values split over a grid dim and looped over in each block; sums of exponentials and of weighted values saved
    part by part; a second kernel adds the parts and divides."""
    flash = [
        g
        for g in splits(attention_found)
        if next(g.custom).block.loop == "i" and kernels(g)[1] == ["load[0]", "load[1]", "accum", "accum", "div"]
    ]
    assert flash
    for graph in flash:
        first, second = graph.custom
        assert first.mapping is not None
        assert second.block.loop in first.block.grid
        split = first.block.grid.index(second.block.loop)
        sources = [n.op.source for n in first.block.nodes if isinstance(n.op, Load)]
        rows = dict(zip(sources, first.mapping.imap, strict=True))
        cut = {source: row[split] for source, row in rows.items()}
        assert cut == {0: -1, 1: 2, 2: 1}  # the query whole, K and V cut along their length
        assert dict(zip(sources, first.mapping.fmap, strict=True)) == {0: -1, 1: 2, 2: 1}


def test_split_k_is_found_for_rms_norm(norm_found: Discovery) -> None:
    """Partial products and partial sums of squares; the second kernel adds both and scales."""
    found = [
        g
        for g in splits(norm_found)
        if len(next(g.custom).block.outputs) == 2 and "matmul" in kernels(g)[0] and kernels(g)[1].count("accum") == 2
    ]
    assert found
    assert any(next(g.custom).block.loop == "i" for g in found)


@pytest.mark.parametrize("sizes", [1, 2, 3])
def test_split_graphs_compute_the_program(sizes: int, attention_found: Discovery, norm_found: Discovery) -> None:
    """Evaluated directly, parts stored and read back as they would be in memory."""
    for program, found in ((attention(), attention_found), (rms_norm(), norm_found)):
        dims = [6 * (c + 1) * sizes**2 for c in range(len(dim_classes(program).sizes))]
        small = shrink(program, dict(enumerate(dims)))
        rng = np.random.default_rng(sizes)
        inputs = [rng.integers(1, FIELD.p, i.shape) for i in small.inputs]
        (want,) = small.evaluate(inputs, FIELD)
        for graph in splits(found)[:6]:
            resized = shrink_graph(graph, program, dims)
            (got,) = evaluate_graph(resized, dict.fromkeys(graph.parallel_dims, sizes), inputs, FIELD)
            assert np.array_equal(want, got), str(graph)


def test_parts_must_be_read_as_they_were_written(norm_found: Discovery) -> None:
    graph = splits(norm_found)[0]
    first, second = graph.custom
    with pytest.raises(InputError, match="must cut it again"):
        replace(graph, nodes=(first, _loop_elsewhere(second))).check()
    whole = tuple(replace(t, expanded=()) for t in second.block.inputs)
    with pytest.raises(InputError, match=r"stored with parts|cannot be partitioned"):
        replace(graph, nodes=(first, replace(second, block=replace(second.block, inputs=whole)))).check()
    leaking = replace(graph, nodes=(first,), outputs=(len(graph.inputs),))
    with pytest.raises(InputError, match="no kernel has put together"):
        leaking.check()


def _loop_elsewhere(node: CustomNode) -> CustomNode:
    assert node.mapping is not None
    return replace(node, mapping=replace(node.mapping, fmap=tuple(-1 for _ in node.mapping.fmap)))


def test_an_accumulator_forgotten_in_the_second_kernel_is_caught(norm_found: Discovery) -> None:
    """Without the accumulator the saved tile changes in the loop: a stage error, not a wrong number."""
    graph = next(g for g in splits(norm_found) if "accum" in kernels(g)[1])
    first, second = graph.custom
    dropped = next(k for k, n in enumerate(second.block.nodes) if isinstance(n.op, Accum))
    source = second.block.nodes[dropped].operands[0]
    nodes = tuple(
        replace(n, operands=tuple(source if v == dropped else v for v in n.operands)) for n in second.block.nodes
    )
    broken = replace(graph, nodes=(first, replace(second, block=replace(second.block, nodes=nodes))))
    with pytest.raises(InputError):
        broken.check()


def test_saved_results_keep_f32(norm_found: Discovery) -> None:
    """What one kernel leaves for another is not rounded to the program's f16."""
    for graph in norm_found.candidates:
        for node in graph.custom:
            for formal, value in zip(node.block.inputs, node.operands, strict=True):
                assert formal.dtype is (DType.F16 if value < len(graph.inputs) else DType.F32)
