"""Library operators beside a graph-defined one."""

from __future__ import annotations

import numpy as np
import pytest

from prism_mlir.compiler.discover import Discovery, discover
from prism_mlir.graph.block import BlockGraph, BlockNode, Load
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.examples import attention, build_program, rms_norm
from prism_mlir.graph.fields import PrimeField
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import ADD, MATMUL, unary
from prism_mlir.search.library import is_plain, unfold
from prism_mlir.search.limits import SearchLimits


@pytest.fixture(scope="module")
def found() -> Discovery:
    return discover(attention(), SearchLimits(operators=6, kernels=1, library=2, second_operators=6))


def library_of(graph: KernelGraph) -> list[str]:
    return [n.op.name for n in graph.nodes if isinstance(n, LibraryNode)]


def test_graphs_with_library_operators_are_found_and_proved(found: Discovery) -> None:
    mixed = [g for g in found.candidates if library_of(g)]
    assert mixed
    assert all(v.proved for v in found.verdicts)
    assert all(1 <= len(library_of(g)) <= 2 and len(list(g.custom)) == 1 for g in mixed)
    assert len({g.fingerprint for g in found.candidates}) == len(found.candidates)
    assert found.funnel.counts["mappings with library operators"] == len(mixed)


def test_a_library_product_before_a_fused_softmax_product(found: Discovery) -> None:
    """Q.K^T by the library, then exp, both sums and the division in one kernel with a loop over the keys."""
    assert any(
        isinstance(g.nodes[0], LibraryNode)
        and g.nodes[0].op == MATMUL
        and isinstance(g.nodes[1], CustomNode)
        and {"unary[exp(x)]", "accum", "div"} <= {str(n.op) for n in g.nodes[1].block.nodes}
        for g in found.candidates
    )


def test_a_library_operator_after_a_fused_kernel() -> None:
    program = build_program("bias", {"X": (8, 12), "W": (12, 6), "R": (8, 6)}, [(MATMUL, (0, 1)), (ADD, (3, 2))])
    found = discover(program, SearchLimits(operators=4, library=1))
    assert any(isinstance(g.nodes[-1], LibraryNode) and g.nodes[-1].op == ADD for g in found.proved)


def test_without_the_limit_there_are_none() -> None:
    found = discover(rms_norm(), SearchLimits(operators=7))
    assert not any(library_of(g) for g in found.candidates)


def test_unfolding_keeps_the_values() -> None:
    program = build_program("chain", {"X": (4, 6), "W": (6, 3)}, [(unary("exp(x)"), (0,)), (MATMUL, (2, 1))])
    nodes = (
        BlockNode(Load(0, True)),
        BlockNode(Load(1, True)),
        BlockNode(unary("exp(x)"), (0,)),
        BlockNode(MATMUL, (2, 1)),
    )
    block = BlockGraph((), None, program_types(program), nodes, (3,))
    assert is_plain(block, 2) and not is_plain(block, 1)
    custom = CustomNode(block, (0, 1), Mapping(((), ()), (-1, -1), ((),)))
    plain = unfold(KernelGraph(program_types(program), (custom,), (2,)), 0)
    assert [n.op for n in plain.nodes if isinstance(n, LibraryNode)] == [unary("exp(x)"), MATMUL]
    rng = np.random.default_rng(0)
    inputs = [rng.integers(1, 1000, (4, 6)), rng.integers(1, 1000, (6, 3))]
    (got,), (want,) = evaluate_graph(plain, {}, inputs, PrimeField()), program.evaluate(inputs, PrimeField())
    assert np.array_equal(got, want)
