"""Mistakes that verifiers of tensor programs have made, one test a trap. Each wrong graph must be caught three times over: exact
arithmetic refutes it, the prover (which does not see that) does not prove it, and the checker of certificates, with an evaluator
of its own, refuses it.

Not here, because they are not about verification: deduplication is tested in ``test/unit/search``, graphs whose parameters
admit no value in ``test/unit/tune``.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from candidates import PROGRAMS, STRUCTURES, build

from prism_mlir.certify.check import evidence_for
from prism_mlir.certify.sizes import Refused
from prism_mlir.graph.block import Accum, Load
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.fields import PrimeField, Reals
from prism_mlir.graph.kernel import KernelGraph, LibraryNode, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import ADD, DIV, MATMUL, MUL, SUB, sum_, transpose, unary
from prism_mlir.tools.prism import main
from prism_mlir.verify.axioms import DEFAULT
from prism_mlir.verify.egglog_backend import ProofGraph, Sizes
from prism_mlir.verify.encode import encode_graph
from prism_mlir.verify.explain import explain, graph_data, program_data
from prism_mlir.verify.prove import prove
from prism_mlir.verify.refute import Refuter
from prism_mlir.verify.verify import verify

L0, L1, L2, ACC, EXP = Load(0), Load(1), Load(2), Accum(), unary("exp(x)")


def caught(program, graph, reason="") -> None:
    found = Refuter(program).refute(graph)
    assert found is not None and re.search(reason, found.reason), found
    assert not prove(program, [graph])[0].proved
    assert explain(program, graph).data is None
    with pytest.raises(Refused):
        evidence_for(program_data(program), graph_data(graph))


def accepted(program, graph) -> None:
    (verdict,) = verify(program, [graph])
    assert verdict.proved, verdict
    assert explain(program, graph).data is not None
    evidence_for(program_data(program), graph_data(graph))


def rows(loads: int, sources=(0,)) -> Mapping:
    """Grid dim x cuts the rows of some loads and of the result; no loop mapping."""
    return Mapping(tuple((0,) if k in sources else (-1,) for k in range(loads)), (-1,) * loads, ((0,),))


QUOTIENT = [(L0, ()), (L1, ()), (L2, ()), (MATMUL, (0, 2)), (DIV, (3, 1))]
DIVIDED = [(DIV, (0, 1)), (MATMUL, (3, 2))]


@pytest.mark.parametrize(
    ("divisor", "reason"),
    [((64, 64), "different dims of size 64"), ((1, 64), "different dims of size 64"), ((1, 1), None), ((64, 1), None)],
)
def test_matmul_commuting_with_a_divisor_that_is_not_a_row_vector(divisor, reason):
    """(X / V).W = X.W / V only where V has one column: a full or a row-shaped divisor weighs what is contracted."""
    program = build_program("scaled", {"X": (64, 64), "V": divisor, "W": (64, 64)}, DIVIDED)
    graph = build(program, QUOTIENT, rows(3, (0, 1) if divisor[0] > 1 else (0,)))
    if reason is None:
        accepted(program, graph)
    else:
        caught(program, graph, reason)


def test_matmul_commuting_with_a_divisor_of_the_right_operand():
    """X.(W / V) = X.W / V where V has one row (a column's own divisor); not where it has one column."""
    for divisor, right in (((1, 32), True), ((64, 1), False)):
        program = build_program(
            "scaled", {"X": (16, 64), "W": (64, 32), "V": divisor}, [(DIV, (1, 2)), (MATMUL, (0, 3))]
        )
        nodes = [(L0, ()), (L1, ()), (L2, ()), (MATMUL, (0, 1)), (DIV, (3, 2))]
        (accepted if right else caught)(program, build(program, nodes, rows(3)))


@pytest.mark.parametrize("op", [DIV, SUB], ids=str)
@pytest.mark.parametrize("thin", [0, 1])
def test_swapped_operands_in_the_replicated_operand_rule(op, thin):
    """x / s with s replicated where x is cut: the operands keep their places, whichever of them is the thin one."""
    shapes = {"A": (16, 32), "B": (16, 32)} | ({"A": (16, 1)} if thin == 0 else {"B": (16, 1)})
    program = build_program("quotient", shapes, [(op, (0, 1))])
    mapping = Mapping(((1,) if thin else (-1,), (-1,) if thin else (1,)), (-1, -1), ((1,),))
    accepted(program, build(program, [(L0, ()), (L1, ()), (op, (0, 1))], mapping))
    caught(program, build(program, [(L0, ()), (L1, ()), (op, (1, 0))], mapping), "an element differs")


def test_swapped_operands_of_a_power():
    """x**2 is not 2**x: a power by a constant is a function of its own."""
    program = build_program("power", {"X": (16, 32)}, [(unary("x**2"), (0,))])
    accepted(program, build(program, [(L0, ()), (unary("x**2"), (0,))], rows(1)))
    caught(program, build(program, [(L0, ()), (unary("2**x"), (0,))], rows(1)))


def test_rms_without_1_over_n():
    program, nodes = PROGRAMS["rms_norm"], STRUCTURES["rms_norm"]["sum_then_accum"]
    mapping = Mapping(((0,), (-1,)), (1, 0), ((0,),))
    accepted(program, build(program, nodes, mapping))
    summed = [(unary("rsqrt(x + 1e-06)"), v) if str(op).startswith("unary[1/sqrt") else (op, v) for op, v in nodes]
    assert summed != nodes
    caught(program, build(program, summed, mapping), "an element differs")


PRODUCT = build_program("product", {"X": (16, 64), "W": (64, 32)}, [(MATMUL, (0, 1))])
BATCHED = build_program("batched", {"X": (8, 16, 64), "W": (8, 64, 32)}, [(MATMUL, (0, 1))])
MULTIPLY = [(L0, ()), (L1, ()), (MATMUL, (0, 1))]


@pytest.mark.parametrize("d", [-1, 0, 1])
@pytest.mark.parametrize("e", [-1, 0, 1])
@pytest.mark.parametrize("out", [0, 1])
def test_partition_rules_that_hold_for_any_d(d, e, out):
    """Of all ways to cut a product by one grid dim, rows of the left and columns of the right operand are right."""
    graph = build(PRODUCT, MULTIPLY, Mapping(((d,), (e,)), (-1, -1), ((out,),)))
    (accepted if (d, e, out) in {(0, -1, 0), (-1, 1, 1)} else caught)(PRODUCT, graph)


def test_partition_rules_for_leading_dims_hold_for_leading_dims_only():
    accepted(BATCHED, build(BATCHED, MULTIPLY, Mapping(((0,), (0,)), (-1, -1), ((0,),))))
    for d in (1, 2):
        caught(BATCHED, build(BATCHED, MULTIPLY, Mapping(((d,), (d,)), (-1, -1), ((d,),))))
    caught(BATCHED, build(BATCHED, MULTIPLY, Mapping(((0,), (-1,)), (-1, -1), ((0,),))))


def test_a_sum_over_the_dim_that_is_cut():
    """sum(part(t, d), d) is part of nothing: neither joined along d nor along the other dim is it the sum."""
    program = build_program("total", {"X": (16, 64)}, [(sum_(1), (0,))])
    nodes = [(L0, ()), (sum_(1), (0,))]
    accepted(program, build(program, nodes, Mapping(((0,),), (-1,), ((0,),))))
    for out in (-1, 0, 1):
        caught(program, build(program, nodes, Mapping(((1,),), (-1,), ((out,),))))


@pytest.mark.parametrize("fmap", [(-1, -1), (0, 1), (1, -1), (-1, 0), (0, -1), (-1, 1)])
def test_loops_whose_accumulated_tile_is_not_partitioned(fmap):
    """Accumulating what does not change multiplies by the number of iterations; cutting one operand alone does not fit."""
    graph = build(PRODUCT, [*MULTIPLY, (ACC, (2,))], Mapping(((0,), (-1,)), fmap, ((0,),)))
    caught(PRODUCT, graph)
    if fmap == (-1, -1):
        found = Refuter(PRODUCT).refute(graph)
        assert found is not None and dict(found.sizes)["i"] == 2 and found.got == 2 * found.expected % PrimeField().p


def test_a_quotient_of_two_such_loops_is_right():
    """Both count the iterations, so the quotient does not: (4 a) / (4 b) = a / b is no mistake."""
    program = build_program("quotient", {"A": (16, 64), "B": (16, 64)}, [(DIV, (0, 1))])
    nodes = [(L0, ()), (L1, ()), (ACC, (0,)), (ACC, (1,)), (DIV, (2, 3))]
    accepted(program, build(program, nodes, Mapping(((0,), (0,)), (-1, -1), ((0,),))))
    caught(
        program, build(program, [*nodes[:4], (DIV, (2, 3)), (MUL, (4, 2))], Mapping(((0,), (0,)), (-1, -1), ((0,),)))
    )


def test_an_omap_of_none_under_several_blocks():
    """Right where all blocks store the same tile, wrong where each stores its own."""
    accepted(PRODUCT, build(PRODUCT, MULTIPLY, Mapping(((-1,), (-1,)), (-1, -1), ((-1,),))))
    caught(PRODUCT, build(PRODUCT, MULTIPLY, Mapping(((0,), (-1,)), (-1, -1), ((-1,),))), "joins|store")
    partial = build(PRODUCT, MULTIPLY, Mapping(((1,), (0,)), (-1, -1), ((-1,),)))
    caught(PRODUCT, partial, "store different values")


def test_an_omap_along_a_dim_that_is_not_cut():
    caught(PRODUCT, build(PRODUCT, MULTIPLY, Mapping(((-1,), (-1,)), (-1, -1), ((0,),))))


def test_wiring_is_part_of_a_graph():
    """The same operators, wired otherwise: other fingerprints, other verdicts."""
    program, nodes = PROGRAMS["swiglu"], STRUCTURES["swiglu"]["plain"]
    mapping = Mapping(((-1,), (1,), (1,)), (1, 0, 0), ((1,),))
    swapped = [*nodes[:3], (MATMUL, (0, 2)), *nodes[4:6], (MATMUL, (0, 1)), *nodes[7:]]
    right, wrong = build(program, nodes, mapping), build(program, swapped, mapping)
    assert right.fingerprint != wrong.fingerprint
    accepted(program, right)
    caught(program, wrong, "an element differs")


@pytest.mark.parametrize("op", [SUB, DIV], ids=str)
def test_inputs_of_equal_shape_exchanged(op):
    program = build_program("pair", {"A": (16, 32), "B": (16, 32)}, [(op, (0, 1))])
    right = build(program, [(L0, ()), (L1, ()), (op, (0, 1))], rows(2, (0, 1)))
    accepted(program, right)
    (node,) = right.custom
    exchanged = KernelGraph(right.inputs, (type(node)(node.block, (1, 0), node.mapping),), right.outputs)
    caught(program, exchanged, "an element differs")
    caught(program, build(program, [(L1, ()), (L0, ()), (op, (0, 1))], rows(2, (0, 1))), "an element differs")


def test_inputs_of_equal_shape_exchanged_where_it_does_not_matter():
    program = build_program("pair", {"A": (16, 32), "B": (16, 32)}, [(ADD, (0, 1))])
    accepted(program, build(program, [(L1, ()), (L0, ()), (ADD, (0, 1))], rows(2, (0, 1))))


def test_dims_of_equal_size_confused():
    """A square W and its transpose; rows cut where columns should be; a reduction over the other of two equal dims."""
    program = build_program("product", {"X": (64, 64), "W": (64, 64)}, [(MATMUL, (0, 1))])
    turned = [(L0, ()), (L1, ()), (transpose(1, 0), (1,)), (MATMUL, (0, 2))]
    caught(program, build(program, turned, rows(2)), "different dims of size 64")
    caught(program, build(program, [(L0, ()), (L1, ()), (MATMUL, (1, 0))], rows(2)), "different dims of size 64")
    caught(program, build(program, MULTIPLY, Mapping(((0,), (-1,)), (-1, -1), ((1,),))))
    total = build_program("total", {"X": (64, 64)}, [(sum_(1), (0,))])
    across = KernelGraph(program_types(total), (LibraryNode(sum_(0), (0,)), LibraryNode(transpose(1, 0), (1,))), (2,))
    caught(total, across, "different dims of size 64")


def test_size_1_dims():
    """A dim of size 1 is no dim to cut, a sum over it is nothing, and it broadcasts; none of this makes others alike."""
    program = build_program("one", {"X": (16, 1), "Y": (16, 32)}, [(sum_(1), (0,)), (MUL, (1, 2))])
    accepted(program, build(program, [(L0, ()), (L1, ()), (MUL, (1, 0))], rows(2, (0, 1))))
    caught(
        program, build(program, [(L0, ()), (L1, ()), (MUL, (1, 0))], Mapping(((1,), (1,)), (-1, -1), ((1,),))), "size 1"
    )
    counted = [(L0, ()), (L1, ()), (ACC, (0,)), (ACC, (1,)), (MUL, (2, 3))]
    caught(program, build(program, counted, Mapping(((0,), (0,)), (-1, -1), ((0,),))))


def test_one_row_makes_a_scalar_divisor_and_only_then_may_it_move():
    """With one query row a row statistic is a single number, which may sit on either operand of a product."""
    nodes = [(L0, ()), (L1, ()), (L2, ()), (DIV, (1, 2)), (MATMUL, (0, 3))]
    for length in (1, 16):
        program = build_program(
            "row", {"X": (length, 64), "W": (64, 32), "S": (length, 1)}, [(DIV, (0, 2)), (MATMUL, (3, 1))]
        )
        graph = build(program, nodes, Mapping(((-1,), (1,), (-1,)), (-1,) * 3, ((1,),)))
        (accepted if length == 1 else caught)(program, graph)


def test_a_dim_of_prime_size():
    """The proof holds for all sizes that divide; of 7 and 13 that is few, and the others are refused in words."""
    program = build_program("prime", {"X": (7, 13), "W": (13, 11)}, [(MATMUL, (0, 1))])
    graph = build(program, [*MULTIPLY, (ACC, (2,))], Mapping(((0,), (-1,)), (1, 0), ((0,),)))
    accepted(program, graph)
    rng = np.random.default_rng(0)
    x, w = rng.integers(-9, 9, (7, 13)).astype(float), rng.integers(-9, 9, (13, 11)).astype(float)
    for sizes in ({"x": 7, "i": 13}, {"x": 1, "i": 13}, {"x": 7, "i": 1}):
        (got,) = evaluate_graph(graph, sizes, [x, w], Reals())
        assert np.array_equal(got, x @ w)
    with pytest.raises(InputError, match="a dim of size 7 does not split into 2 equal parts"):
        evaluate_graph(graph, {"x": 2, "i": 13}, [x, w], Reals())


def test_zero_size_dims_are_a_located_error(tmp_path, capsys):
    source = tmp_path / "zero.mlir"
    source.write_text(
        "func.func @f(%x: tensor<0x8xf32>) -> tensor<0x8xf32> {\n"
        "  %e = tensor.empty() : tensor<0x8xf32>\n"
        "  %r = linalg.exp ins(%x : tensor<0x8xf32>) outs(%e : tensor<0x8xf32>) -> tensor<0x8xf32>\n"
        "  return %r : tensor<0x8xf32>\n"
        "}\n"
        "sgraph.graph @g implements @f(%x: tensor<0x8xf32>) {\n  sgraph.yield %x : tensor<0x8xf32>\n}\n"
    )
    assert main(["verify", str(source)]) == 1
    err = capsys.readouterr().err
    assert re.match(rf"{re.escape(str(source))}:\d+:\d+: error: .*size 0", err), err
    with pytest.raises(InputError, match="dim of size 0"):
        build_program("zero", {"X": (0, 8)}, [(EXP, (0,))])


# --- Two partial sums of one total --------------------------------------------------------------------------------------------


def test_two_partial_sums_of_one_total_are_not_equal():
    """Both graphs sum squares of partial sums of X: one of column blocks, one of row blocks. The partial sums have one total, but
    the sums of their squares differ, and neither is its square. A term "partial sum of t" would make all three equal."""
    program = build_program("square", {"X": (16, 16)}, [(sum_(1), (0,)), (sum_(0), (1,)), (MUL, (2, 2))])
    squares = [(L0, ()), (sum_(1), (0,)), (sum_(0), (1,)), (MUL, (2, 2)), (ACC, (3,))]
    by_rows, by_columns = (build(program, squares, Mapping(((-1,),), (d,), ((-1,),))) for d in (0, 1))
    caught(program, by_rows, "an element differs")
    caught(program, by_columns, "an element differs")
    rng = np.random.default_rng(2)
    x = rng.integers(-9, 9, (6, 6)).astype(float)
    small = build_program("square", {"X": (6, 6)}, [(sum_(1), (0,)), (sum_(0), (1,)), (MUL, (2, 2))])
    values = {
        float(evaluate_graph(build(small, squares, g), {"x": 1, "i": 2}, [x], Reals())[0].item())
        for g in (Mapping(((-1,),), (d,), ((-1,),)) for d in (0, 1))
    }
    assert values == {
        float(x[:3].sum() ** 2 + x[3:].sum() ** 2), float(x[:, :3].sum() ** 2 + x[:, 3:].sum() ** 2)
    } and len(values) == 2  # fmt: skip
    graph = ProofGraph(DEFAULT, Sizes({"x": 2, "i": 3}, ((180, 252),)))
    graph.load(encode_graph(by_rows), {0: encode_graph(by_columns)})
    for _ in range(12):
        graph.step()
    assert graph.proved() == frozenset()


def test_partial_sums_of_one_total_are_right_where_they_are_only_added():
    program = build_program("total", {"X": (16, 16)}, [(sum_(1), (0,)), (sum_(0), (1,))])
    nodes = [(L0, ()), (sum_(1), (0,)), (sum_(0), (1,)), (ACC, (2,))]
    for d in (0, 1):
        accepted(program, build(program, nodes, Mapping(((-1,),), (d,), ((-1,),))))
