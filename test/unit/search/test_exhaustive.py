"""Brute force, against lists made by hand."""

from __future__ import annotations

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import MUL, sum_, unary
from prism_mlir.search.exhaustive import Exhaustive, load_sets
from prism_mlir.search.exhaustive_maps import mappings, settled

EXP = build_program("exp", {"X": (8, 12)}, [(unary("exp(x)"), (0,))])
INSIDE, OUTSIDE = (Load(0),), (Load(0, True),)


def structures(operators: int, loads: tuple[Load, ...]) -> set[str]:
    return {str(g).split("] ")[1] for g in Exhaustive(EXP, operators).structures(loads)}


def test_all_graphs_of_one_function() -> None:
    """Outside a loop exp alone; in a loop the accumulator goes before or after it. A second operator more is two products or

    sums too many: nothing but exp makes exp(X) of X, so more operators give nothing new.
    """
    assert structures(1, OUTSIDE) == {"t0=load[0; invariant](); t1=unary[exp(x)](t0); save t1"}
    assert structures(1, INSIDE) == set()
    both = {
        "t0=load[0](); t1=accum(t0); t2=unary[exp(x)](t1); save t2",
        "t0=load[0](); t1=unary[exp(x)](t0); t2=accum(t1); save t2",
    }
    assert structures(2, INSIDE) == both
    assert structures(3, INSIDE) == both
    assert structures(3, OUTSIDE) == structures(1, OUTSIDE)


def test_a_product_with_its_operands_in_one_order() -> None:
    """(x*y)*z: each way to put brackets, once."""
    program = build_program("xyz", {"X": (8, 12), "Y": (8, 12), "Z": (8, 12)}, [(MUL, (0, 1)), (MUL, (3, 2))])
    loads = tuple(Load(k, True) for k in range(3))
    assert len(list(Exhaustive(program, 2).structures(loads))) == 3
    assert not list(Exhaustive(program, 1).structures(loads))


def test_all_mappings_of_one_function() -> None:
    """Rows or columns are cut, by one grid dim, or one by each of two in both orders; a grid dim may cut nothing.

    None: 1. One dim: nothing, rows, columns: 3. Two: 3 x 3 less rows twice and columns twice: 7.
    """
    (graph,) = Exhaustive(EXP, 1).structures(OUTSIDE)
    assert [len(list(mappings(graph, n))) for n in range(3)] == [1, 4, 11]


def test_a_loop_cuts_something() -> None:
    """The sum over columns in a loop. The loop may cut rows (wrong, but well-formed: they are accumulated) or columns."""
    program = build_program("sum", {"X": (8, 12)}, [(sum_(1), (0,))])
    (graph, _) = sorted(Exhaustive(program, 2).structures(INSIDE), key=str)
    found = [m.mapping for g in mappings(graph, 0) for m in g.custom]
    assert {m.fmap for m in found if m is not None} <= {(0,), (1,)}
    assert (1,) in {m.fmap for m in found if m is not None}


def test_load_sets() -> None:
    """One of two tensors outside the loop and not inside as well, or inside as well; but not everything outside."""
    assert list(load_sets(1, None)) == [INSIDE, OUTSIDE]
    assert list(load_sets(1, 1)) == [(Load(0), Load(0, True))]
    a, b, out_a, out_b = Load(0), Load(1), Load(0, True), Load(1, True)
    assert set(load_sets(2, 1)) == {(a, out_a, b), (out_a, b), (a, b, out_b), (a, out_b)}
    assert set(load_sets(2, 2)) == {(a, out_a, b, out_b), (a, out_a, out_b), (out_a, b, out_b)}


TWO = build_program("two", {"X": (8, 12), "Y": (8, 12)}, [(MUL, (0, 1)), (sum_(1), (2,))])


def two_loads(first: Load, second: Load, fmap: tuple[int, int]) -> KernelGraph:
    nodes = (BlockNode(first), BlockNode(second), BlockNode(MUL, (0, 1)), BlockNode(Accum(), (2,)))
    types = program_types(TWO)
    mapping = Mapping(((), ()), fmap, ((),))
    return KernelGraph(types, (CustomNode(BlockGraph((), "i", types, nodes, (3,)), (0, 1), mapping),), (2,))


def test_a_tensor_outside_the_loop_settles_inside() -> None:
    assert settled(two_loads(Load(0), Load(1, True), (0, -1))) == two_loads(Load(0), Load(1), (0, -1))
    assert settled(two_loads(Load(0), Load(1), (0, 0))) == two_loads(Load(0), Load(1), (0, 0))


def test_a_tensor_in_both_places_settles_where_it_is_the_same() -> None:
    """X whole in the loop and outside is loaded once; X cut in the loop stays in both places."""
    cut = two_loads(Load(0), Load(0, True), (1, -1))
    assert settled(cut) == cut
    (once,) = settled(two_loads(Load(0), Load(0, True), (-1, -1))).custom
    assert once.block.nodes == (BlockNode(Load(0)), BlockNode(MUL, (0, 0)), BlockNode(Accum(), (1,)))
    assert once.mapping == Mapping(((),), (-1,), ((),))
