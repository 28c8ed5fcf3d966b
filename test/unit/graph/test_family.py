"""Families: which programs are one, and that the graphs of one serve the others.

Graphs at other sizes are judged by evaluating them in f64 at those sizes, beside the program; nothing of the proof is used.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from prism_mlir.compiler.discover import discover
from prism_mlir.graph.dims import shrink
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import evaluate_graph
from prism_mlir.graph.examples import attention, build_program, qk_attention, rms_norm, rms_norm_mlp, swiglu
from prism_mlir.graph.family import Family, family_of
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.kernel import KernelGraph, LibraryNode, program_types
from prism_mlir.graph.ops import ADD, MATMUL, MUL, reshape, sum_, transpose, unary
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits


def with_dtype(program: Program, dtype: DType) -> Program:
    return replace(
        program,
        inputs=tuple(replace(i, dtype=dtype) for i in program.inputs),
        nodes=tuple(replace(n, dtype=dtype) for n in program.nodes),
        outputs=tuple(replace(o, dtype=dtype) for o in program.outputs),
    )


def test_a_program_at_other_sizes_types_and_constants_is_of_the_same_family() -> None:
    sizes = [(n, d) for n in (1, 4, 8, 16) for d in (1024, 2048, 4096, 8192)]
    programs = [rms_norm(n, d, d) for n, d in sizes] + [with_dtype(rms_norm(3, 100, 7), DType.BF16)]
    assert len({p.fingerprint for p in programs}) == 17
    assert len({family_of(p).key for p in programs}) == 1


def test_names_of_tensors_do_not_matter() -> None:
    a = build_program("a", {"X": (4, 8), "W": (8, 8)}, [(MATMUL, (0, 1))])
    b = build_program("b", {"Y": (4, 8), "V": (8, 8)}, [(MATMUL, (0, 1))])
    assert family_of(a).key == family_of(b).key


def gated(inner: str, outer: str) -> Program:
    return build_program("gated", {"X": (4, 8)}, [(unary(inner), (0,)), (unary(outer), (0,)), (MUL, (1, 2))])


def test_functions_are_told_apart_but_not_named() -> None:
    silu, gelu, tanh = "x/(1 + exp(-x))", "x*(erf(x) + 1)", "tanh(x)"
    assert family_of(gated(silu, tanh)).key == family_of(gated(gelu, silu)).key
    assert family_of(gated(silu, silu)).key != family_of(gated(silu, tanh)).key


def test_functions_that_axioms_name_keep_their_names() -> None:
    known = frozenset({"exp(x)"})
    assert family_of(gated("exp(x)", "tanh(x)"), known).key != family_of(gated("tanh(x)", "exp(x)"), known).key
    assert family_of(gated("exp(x)", "tanh(x)"), known).functions == ("tanh(x)",)
    assert family_of(gated("exp(x)", "tanh(x)")).functions == ("exp(x)", "tanh(x)")


@pytest.mark.parametrize(
    "other",
    [
        build_program("p", {"X": (4, 8), "W": (8, 8)}, [(transpose(1, 0), (1,)), (MATMUL, (0, 2))]),
        build_program("p", {"X": (4, 8), "W": (8, 8)}, [(MATMUL, (0, 1)), (ADD, (2, 2))]),
        build_program("p", {"X": (4, 8), "W": (8, 8)}, [(MATMUL, (0, 1)), (ADD, (2, 0))]),
        build_program("p", {"X": (4, 8), "W": (8, 8)}, [(MATMUL, (0, 1)), (sum_(0), (2,))]),
        build_program("p", {"X": (4, 8), "W": (8, 8)}, [(MATMUL, (0, 1)), (sum_(1), (2,))]),
        build_program("p", {"X": (2, 4, 8), "W": (2, 8, 8)}, [(MATMUL, (0, 1))]),
    ],
)
def test_other_operators_or_ties_between_dims_are_another_family(other: Program) -> None:
    plain = build_program("p", {"X": (4, 8), "W": (8, 8)}, [(MATMUL, (0, 1))])
    keys = {family_of(plain).key, family_of(other).key}
    assert len(keys) == 2


def test_a_tie_between_dims_is_seen_whatever_the_sizes() -> None:
    """X W + X needs a square W; X W does not, even where W is square."""
    tied = build_program("p", {"X": (4, 8), "W": (8, 8)}, [(MATMUL, (0, 1)), (ADD, (2, 0))])
    shapes = [i.shape for i in family_of(tied).representative.inputs]
    assert shapes[1][0] == shapes[1][1] == shapes[0][1] != shapes[0][0]
    free = build_program("p", {"X": (8, 8), "W": (8, 8)}, [(MATMUL, (0, 1))])
    (rows, inner), (_, columns) = (i.shape for i in family_of(free).representative.inputs)
    assert len({rows, inner, columns}) == 3


def test_a_dim_that_a_reduction_leaves_stays_1_and_a_batch_of_1_does_not() -> None:
    family = family_of(rms_norm(1, 8, 6))
    shapes = family.representative.shapes
    assert shapes[0][0] > 1  # X: the batch
    assert shapes[3] == (shapes[0][0], 1)  # its sums of squares


def test_a_broadcast_operand_and_a_reshaped_dim_stay_1() -> None:
    bias = build_program("p", {"X": (4, 8), "b": (1, 8)}, [(ADD, (0, 1))])
    assert family_of(bias).representative.inputs[1].shape[0] == 1
    moved = build_program("p", {"X": (1, 4, 8)}, [(reshape(4, 8), (0,)), (unary("exp(x)"), (1,))])
    assert family_of(moved).representative.inputs[0].shape[0] == 1


def test_merged_dims_are_the_product_of_their_parts() -> None:
    program = build_program("p", {"X": (4, 6, 5)}, [(reshape(24, 5), (0,)), (unary("exp(x)"), (1,))])
    shapes = family_of(program).representative.shapes
    assert shapes[1] == (shapes[0][0] * shapes[0][1], shapes[0][2])
    other = build_program("p", {"X": (2, 12, 7)}, [(reshape(24, 7), (0,)), (unary("exp(x)"), (1,))])
    assert family_of(program).key == family_of(other).key


SIZES = [
    (rms_norm(6, 8, 10), [rms_norm(1, 4, 2), rms_norm(6, 6, 6), rms_norm(2, 12, 1)]),
    (swiglu(6, 8, 10), [swiglu(1, 4, 6), swiglu(5, 3, 3)]),
    (rms_norm_mlp(4, 6, 8), [rms_norm_mlp(1, 8, 8), rms_norm_mlp(8, 4, 2)]),
    (attention(2, 8, 4, 6), [attention(2, 8, 4, 1), attention(1, 6, 6, 6), attention(3, 4, 4, 4)]),
    (qk_attention(2, 8, 4, 6), [qk_attention(2, 6, 4, 1), qk_attention(1, 4, 4, 4)]),
]


@pytest.mark.parametrize("program, others", SIZES, ids=[p.name for p, _ in SIZES])
def test_graphs_of_the_representative_compute_every_program_of_the_family(
    program: Program, others: list[Program]
) -> None:
    family = family_of(program)
    proved = discover(family.representative, SearchLimits(kernels=2 if program.name == "rms_norm" else 1)).proved
    assert len(proved) > 5
    for other in [program, *others]:
        own = family_of(other)
        assert own.key == family.key
        graphs = list(dict.fromkeys(g for g in map(own.special, map(family.general, proved)) if g is not None))
        assert len(graphs) >= len(proved) // 2
        for graph in graphs:
            assert_computes(graph, other)


def assert_computes(graph: KernelGraph, program: Program) -> None:
    """With two parts along every dim that two divides, one along all others, in f64."""
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(0.5, 1.5, i.shape) for i in program.inputs]
    wanted = program.evaluate(inputs, Reals())
    for count in (1, 2):
        sizes = dict.fromkeys(graph.parallel_dims, count)
        if count == 2 and any(n % 2 for shape in program.shapes for n in shape if n > 1):
            continue
        try:
            got = evaluate_graph(graph, sizes, inputs, Reals())
        except InputError:
            assert count == 2  # a dim that two parallel dims cut has no four parts
            continue
        for g, w in zip(got, wanted, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-9)


def test_the_search_of_the_representative_finds_what_a_search_of_the_program_finds() -> None:
    """Same graphs in the same order, wherever no dim has size 1."""
    for program in (rms_norm(16, 64, 64), swiglu(8, 32, 16), attention(2, 16, 8, 4)):
        family = family_of(program)
        general = [family.special(family.general(g)) for g in discover(family.representative).proved]
        assert general == list(discover(program).proved)


def test_a_graph_of_another_family_is_refused() -> None:
    family = family_of(rms_norm(4, 8, 8))
    with pytest.raises(InputError, match="inputs"):
        family.special(discover(swiglu(4, 8, 8)).proved[0])
    moved = KernelGraph(program_types(family.representative), (LibraryNode(reshape(5, 7), (0,)),), (2,))
    with pytest.raises(InputError, match="none of the family's"):
        family.special(moved)


def test_the_description_is_plain_data_without_sizes() -> None:
    family: Family = family_of(rms_norm(16, 1024, 1024))
    text = json.dumps(family.description)
    assert "1024" not in text and "16" not in text
    assert json.loads(text)["outputs"] == [6]


def test_the_representative_has_the_programs_classes() -> None:
    program = rms_norm(16, 1024, 1024)
    shapes = family_of(program).representative.shapes
    assert shapes == shrink(program, {0: shapes[0][0], 1: shapes[0][1], 2: shapes[1][1]}).shapes
