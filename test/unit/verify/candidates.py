"""Hand-made candidates for the paper's five workloads, and all their mappings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

from prism_mlir.graph import examples
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, BlockOp, Load
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import DIV, MATMUL, MUL, sum_, unary
from prism_mlir.graph.program import Program
from prism_mlir.verify.refute import Refuter

Nodes = Sequence[tuple[BlockOp, tuple[int, ...]]]
PROGRAMS = {
    "rms_norm": examples.rms_norm(),
    "rms_norm_mlp": examples.rms_norm_mlp(),
    "swiglu": examples.swiglu(),
    "attention": examples.attention(),
    "attention_rows": examples.attention(queries=64),
    "qk_attention": examples.qk_attention(),
    "qk_attention_rows": examples.qk_attention(queries=64),
}
L0, L1, L2, ACC = Load(0), Load(1), Load(2), Accum()
SQUARE, EXP, SILU = unary("x**2"), unary("exp(x)"), unary("x/(1 + exp(-x))")
RS, RS_HEAD = unary("rsqrt(x/1024 + 1e-06)"), unary("rsqrt(x/128 + 1e-06)")

STRUCTURES: dict[str, dict[str, Nodes]] = {
    "rms_norm": {
        "sum_then_accum": [
            (L0, ()), (L1, ()), (SQUARE, (0,)), (sum_(1), (2,)), (ACC, (3,)), (RS, (4,)), (MATMUL, (0, 1)), (ACC, (6,)),
            (MUL, (7, 5)),
        ],
        "accum_then_sum": [
            (L0, ()), (L1, ()), (SQUARE, (0,)), (ACC, (2,)), (sum_(1), (3,)), (RS, (4,)), (MATMUL, (0, 1)), (ACC, (6,)),
            (MUL, (5, 7)),
        ],
        "two_loads": [
            (Load(0, invariant=True), ()), (L0, ()), (L1, ()), (SQUARE, (0,)), (sum_(1), (3,)), (RS, (4,)), (MUL, (1, 5)),
            (MATMUL, (6, 2)), (ACC, (7,)),
        ],
        "no_loop": [(L0, ()), (L1, ()), (SQUARE, (0,)), (sum_(1), (2,)), (RS, (3,)), (MUL, (0, 4)), (MATMUL, (5, 1))],
    },
    "rms_norm_mlp": {
        "scale_both": [
            (L0, ()), (L1, ()), (L2, ()), (SQUARE, (0,)), (sum_(1), (3,)), (ACC, (4,)),
            (RS, (5,)), (MATMUL, (0, 1)), (ACC, (7,)),
            (MATMUL, (0, 2)), (ACC, (9,)), (MUL, (8, 6)), (MUL, (10, 6)), (MUL, (11, 12)),
        ],
        "scale_square": [
            (L0, ()), (L1, ()), (L2, ()), (SQUARE, (0,)), (ACC, (3,)), (sum_(1), (4,)),
            (RS, (5,)), (MATMUL, (0, 1)), (ACC, (7,)),
            (MATMUL, (0, 2)), (ACC, (9,)), (MUL, (6, 6)), (MUL, (8, 10)), (MUL, (12, 11)),
        ],
        "scale_one_twice": [
            (L0, ()), (L1, ()), (L2, ()), (SQUARE, (0,)), (ACC, (3,)), (sum_(1), (4,)),
            (RS, (5,)), (MATMUL, (0, 1)), (ACC, (7,)),
            (MATMUL, (0, 2)), (ACC, (9,)), (MUL, (8, 6)), (MUL, (11, 6)), (MUL, (12, 10)),
        ],
    },
    "swiglu": {
        "plain": [
            (L0, ()), (L1, ()), (L2, ()), (MATMUL, (0, 1)), (ACC, (3,)), (SILU, (4,)),
            (MATMUL, (0, 2)), (ACC, (6,)), (MUL, (7, 5)),
        ],
    },
    "attention": {
        "loop_keys": [
            (L0, ()), (L1, ()), (L2, ()), (MATMUL, (0, 1)), (EXP, (3,)), (sum_(2), (4,)),
            (ACC, (5,)), (MATMUL, (4, 2)), (ACC, (7,)),
            (DIV, (8, 6)),
        ],
        "accum_then_sum": [
            (L0, ()), (L1, ()), (L2, ()), (MATMUL, (0, 1)), (EXP, (3,)), (ACC, (4,)), (sum_(2),
            (5,)), (MATMUL, (4, 2)), (ACC, (7,)),
            (DIV, (8, 6)),
        ],
        "query_invariant": [
            (Load(0, invariant=True), ()), (L1, ()), (L2, ()), (MATMUL, (0, 1)), (EXP, (3,)), (sum_(2), (4,)), (ACC, (5,)),
            (MATMUL, (4, 2)), (ACC, (7,)), (DIV, (8, 6)),
        ],
        "loop_head": [
            (L0, ()), (L1, ()), (Load(2, invariant=True), ()), (MATMUL, (0, 1)), (ACC, (3,)),
            (EXP, (4,)), (sum_(2), (5,)),
            (MATMUL, (5, 2)), (DIV, (7, 6)),
        ],
        "divide_values": [
            (L0, ()), (L1, ()), (L2, ()), (MATMUL, (0, 1)), (EXP, (3,)), (sum_(2), (4,)),
            (DIV, (2, 5)), (MATMUL, (4, 6)),
        ],
    },
    "qk_attention": {
        "loop_keys": [
            (L0, ()), (L1, ()), (L2, ()), (SQUARE, (0,)), (sum_(2), (3,)), (RS_HEAD, (4,)),
            (MUL, (0, 5)), (MATMUL, (6, 1)),
            (EXP, (7,)), (sum_(2), (8,)), (ACC, (9,)), (MATMUL, (8, 2)), (ACC, (11,)), (DIV, (12, 10)),
        ],
        "scale_scores": [
            (Load(0, invariant=True), ()), (L1, ()), (L2, ()), (SQUARE, (0,)), (sum_(2), (3,)), (RS_HEAD, (4,)), (MATMUL, (0, 1)),
            (MUL, (5, 6)), (EXP, (7,)), (ACC, (8,)), (sum_(2), (9,)), (MATMUL, (8, 2)), (ACC, (11,)), (DIV, (12, 10)),
        ],
        "scale_keys": [
            (L0, ()), (L1, ()), (L2, ()), (SQUARE, (0,)), (sum_(2), (3,)), (RS_HEAD, (4,)),
            (MUL, (1, 5)), (MATMUL, (0, 6)),
            (EXP, (7,)), (sum_(2), (8,)), (ACC, (9,)), (MATMUL, (8, 2)), (ACC, (11,)), (DIV, (12, 10)),
        ],
    },
}  # fmt: skip
ONE_ROW_ONLY = ("divide_values", "scale_keys")  # with one query row, a [.., 1, 1] divisor may sit on either operand
for workload in ("attention", "qk_attention"):
    STRUCTURES[f"{workload}_rows"] = {n: s for n, s in STRUCTURES[workload].items() if n not in ONE_ROW_ONLY}


def build(program: Program, nodes: Nodes, mapping: Mapping | None, grid: tuple[str, ...] = ("x",)) -> KernelGraph:
    """A kernel graph of one graph-defined operator that saves its last node; without accumulators it has no loop."""
    types = program_types(program)
    loop = "i" if any(isinstance(op, Accum) for op, _ in nodes) else None
    once = [(Load(op.source, invariant=True) if isinstance(op, Load) and loop is None else op, v) for op, v in nodes]
    body = tuple(BlockNode(op, operands) for op, operands in once)
    block = BlockGraph(grid, loop, types, body, (len(body) - 1,))
    return KernelGraph(types, (CustomNode(block, tuple(range(len(types))), mapping),), (len(types),))


@dataclass(frozen=True)
class Space:
    """The mappings of one structure: tried one dim at a time, and those that survived, combined."""

    alone_tried: int
    graphs: tuple[KernelGraph, ...]


def mapping_space(program: Program, nodes: Nodes, grid: tuple[str, ...], refuter: Refuter) -> Space:
    """All mappings with every grid dim in use, one representative for a permutation of grid dims."""
    skeleton = build(program, nodes, None, grid)
    node = next(skeleton.custom)
    block = node.block
    ranks = [[-1, *(d for d, n in enumerate(block.shapes[k]) if n != 1)] for k in block.loads]
    saved = [-1, *(d for d, n in enumerate(block.shapes[block.outputs[0]]) if n != 1)]
    columns, tried = [], 0
    for column in product(*ranks, saved):
        tried += 1
        graph = skeleton.with_mappings((_mapping([column], len(grid), (-1,) * len(ranks)),))
        if column != (-1,) * len(column) and refuter.refute_alone(graph, "x") is None:
            columns.append(column)
    loops = [(-1,) * len(ranks)]
    if block.loop is not None:
        loops = []
        for fmap in product(
            *(r if not block.nodes[k].op.invariant else [-1] for r, k in zip(ranks, block.loads, strict=True))
        ):
            tried += 1
            graph = skeleton.with_mappings((_mapping([], len(grid), fmap),))
            if refuter.refute_alone(graph, "i") is None:
                loops.append(fmap)
    graphs = [
        skeleton.with_mappings((_mapping(chosen, len(grid), fmap),))
        for chosen in combinations_with_replacement(columns, len(grid))
        for fmap in loops
    ]
    return Space(tried, tuple(g for g in graphs if _well_formed(g)))


def _mapping(columns: Sequence[tuple[int, ...]], width: int, fmap: tuple[int, ...]) -> Mapping:
    padded = [*columns, *[(-1,) * (len(fmap) + 1)] * (width - len(columns))]
    rows = list(zip(*padded, strict=True))
    return Mapping(tuple(rows[:-1]), fmap, (rows[-1],))


def _well_formed(graph: KernelGraph) -> bool:
    try:
        graph.check()
    except PrismError:
        return False
    return True


def all_candidates(
    workload: str, refuter: Refuter, widths: Sequence[int] = (1, 2)
) -> Iterator[tuple[str, KernelGraph]]:
    for name, nodes in STRUCTURES[workload].items():
        for width in widths:
            for graph in mapping_space(PROGRAMS[workload], nodes, ("x", "y", "z")[:width], refuter).graphs:
                yield name, graph
