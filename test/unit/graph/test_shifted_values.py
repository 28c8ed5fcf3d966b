"""Where the exponential of a softmax counts: from itself to the quotient in which its shift cancels."""

from __future__ import annotations

import pytest

from prism_mlir.graph.code_graph import code_graph
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.examples import attention
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.ops import ADD, DIV, MATMUL, Op, sum_, unary
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major
from prism_mlir.graph.shifts import shifted_values
from prism_mlir.search.partition import part_of, partition

EXP = unary("exp(x)")


def with_cache(keys: int = 16) -> Program:
    """Attention over a cache (inputs 1, 2) and new keys (3, 4); values 5 and 6 are the scores, 7 and 8 their exponentials."""
    shapes = [(4, 8), (8, keys), (keys, 8), (8, keys), (keys, 8)]
    inputs = tuple(ProgramInput.whole(f"a{k}", s, DType.F32, k) for k, s in enumerate(shapes))
    steps: list[tuple[Op, tuple[int, ...]]] = [
        *(
            (MATMUL, (0, 1)),
            (MATMUL, (0, 3)),
            (EXP, (5,)),
            (EXP, (6,)),
            (sum_(1), (7,)),
            (sum_(1), (8,)),
            (ADD, (9, 10)),
        ),
        *((DIV, (7, 11)), (DIV, (8, 11)), (MATMUL, (12, 2)), (MATMUL, (13, 4)), (ADD, (14, 15))),
    ]
    nodes = tuple(ProgramNode(op, operands, DType.F32, 1 if op == EXP else None) for op, operands in steps)
    return Program("cache", inputs, nodes, (ProgramOutput(16, DType.F32, (4, 8), row_major((4, 8))),))


def test_from_the_exponentials_to_the_quotients() -> None:
    assert shifted_values(with_cache()) == {7, 8, 9, 10, 11}


def test_a_program_is_not_cut_where_an_exponential_counts() -> None:
    """Whatever the limit allows: cuts are after nodes 1 or later than 8 (the second quotient)."""
    program = with_cache()
    for limit in (9, 10, 12):
        cuts = [cut.after for cut in partition(program, limit).cuts]
        assert cuts
        assert all(after <= 1 or after >= 8 for after in cuts), (limit, cuts)


def test_no_code_is_made_for_a_part_that_leaves_one() -> None:
    program = with_cache()
    part = part_of(program, 2, 4).program  # both exponentials
    with pytest.raises(UnsupportedError, match="cut inside a softmax"):
        code_graph(part, KernelGraph((), (), ()))
    assert shifted_values(part_of(program, 2, 9).program) != set()  # inside of it they count
    assert not {o.value for o in part_of(program, 2, 9).program.outputs} & shifted_values(
        part_of(program, 2, 9).program
    )


def test_the_whole_attention_leaves_none() -> None:
    program = attention(2, 4, 8, 6)
    assert not {o.value for o in program.outputs} & shifted_values(program)
