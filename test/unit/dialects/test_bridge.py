"""Graph objects through IR and back: through objects, both syntaxes of xDSL, and upstream MLIR's parser and printer."""

from __future__ import annotations

import random
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from prism_mlir.dialects.sgraph import SGRAPH
from prism_mlir.dialects.sgraph.attributes import VerdictNote
from prism_mlir.dialects.sgraph.bridge import graph_to_ir, ir_to_graph, ir_to_program, ir_to_schedule, program_to_ir
from prism_mlir.dialects.sgraph.graph_ops import GraphOp
from prism_mlir.dialects.sgraph.operator_ops import OPERATOR_OPS
from prism_mlir.dialects.sgraph.program_ops import ProgramOp
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.examples import (
    attention,
    qk_attention,
    rms_norm,
    rms_norm_mlp,
    softmax_matmul,
    softmax_matmul_block,
    swiglu,
)
from prism_mlir.graph.kernel import CustomNode, DimEquality, KernelGraph, LibraryNode, TileDim
from prism_mlir.graph.mapping import Mapping, tile_partitions
from prism_mlir.graph.ops import (
    ADD,
    DIV,
    MATMUL,
    MAXIMUM,
    MINIMUM,
    MONOIDS,
    MUL,
    OPS,
    SUB,
    Kind,
    Op,
    constant,
    keep,
    reduce_max,
    reduce_min,
    reshape,
    sum_,
    transpose,
    unary,
)
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major
from prism_mlir.graph.schedule import Orientation, Schedule

EXAMPLES = [softmax_matmul(), rms_norm(), rms_norm_mlp(), swiglu(), attention(), qk_attention()]


def parse(text: str) -> list[Operation]:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(SGRAPH)
    module = Parser(context, text).parse_module()
    module.verify()
    return list(module.body.block.ops)


def printed(op: Operation, *, generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(ModuleOp([op.clone()]))
    return stream.getvalue()


def through(op: Operation, way: str) -> Operation:
    match way:
        case "objects":
            return op
        case "custom" | "generic":
            (back,) = parse(printed(op, generic=way == "generic"))
        case _:
            (back,) = parse(read_module(printed(op, generic=True)).text)
    return back


WAYS = ["objects", "custom", "generic", "upstream"]


def program_through(program: Program, way: str) -> Program:
    op = through(program_to_ir(program), way)
    assert isinstance(op, ProgramOp)
    return ir_to_program(op)


def graph_through(graph: KernelGraph, way: str) -> KernelGraph:
    op = through(graph_to_ir(graph, "g"), way)
    assert isinstance(op, GraphOp)
    return ir_to_graph(op)


def odd_program() -> Program:
    """Views, a constant, casts, a recorded shift, all element types that matter, names that are no identifiers."""
    data = np.array([0.5, -2.0], dtype=np.float32).tobytes()
    inputs = (
        ProgramInput("Q rows", (16, 8), DType.BF16, 0, (20, 8), (8, 1), offset=32),
        ProgramInput("K", (8, 64), DType.BF16, 1, (64, 8), (1, 8)),
        ProgramInput("K", (1, 64), DType.BF16, 1, (64, 8), (0, 8), offset=3),
        ProgramInput('c"\\', (1, 2), DType.F32, None, (2,), (0, 1), data=data),
    )
    nodes = (
        ProgramNode(MATMUL, (0, 1), DType.F32),
        ProgramNode(unary("exp(x)"), (4,), DType.F32, shift=1),
        ProgramNode(sum_(1), (5,), DType.F64),
        ProgramNode(DIV, (5, 6), DType.F16),
        ProgramNode(constant(1e-6, (16, 64)), (), DType.F16),
        ProgramNode(constant(float("-inf"), (16, 64)), (), DType.F16),
        ProgramNode(MAXIMUM, (8, 9), DType.F16),
        ProgramNode(ADD, (7, 10), DType.F16),
        ProgramNode(transpose(1, 0), (11,), DType.F16),
        ProgramNode(reshape(8, 8, 16), (12,), DType.F16),
        ProgramNode(reduce_max(2), (13,), DType.I32),
        ProgramNode(keep(float("-inf")), (8, 7), DType.F16),
        ProgramNode(keep(0.1), (2, 15), DType.F16),
        ProgramNode(reduce_min(1), (16,), DType.F16),
    )
    outputs = (
        ProgramOutput(14, DType.I64, (64,), (8, 1, 1), "biggest"),
        ProgramOutput(12, DType.F16, (16, 64), (1, 64), "scores t"),
        ProgramOutput(3, DType.F32, (2,), row_major((1, 2))),
        ProgramOutput(4, DType.F16, (16, 96), (96, 1), "left part", 0, 3),
        ProgramOutput(5, DType.F16, (16, 96), (96, 1), "right part", 32, 3),
    )
    return Program("odd name!", inputs, nodes, outputs)


def split_reduction() -> KernelGraph:
    """Two kernels that share dim y: partial sums along y, then their sum in a loop over y; and a library operator."""
    x = TensorType((32, 64), DType.F16)
    partial = TensorType((32, 64), DType.F32)
    first = BlockGraph(
        ("x", "y"), None, (x,), (BlockNode(Load(0, invariant=True)), BlockNode(unary("x**2"), (0,))), (1, 0)
    )
    nodes = (
        BlockNode(Load(0)),
        BlockNode(sum_(1), (0,)),
        BlockNode(Accum(), (1,)),
        BlockNode(Load(1, invariant=True)),
        BlockNode(reduce_max(1), (3,)),
        BlockNode(SUB, (2, 4)),
    )
    second = BlockGraph(("x",), "y", (partial, x), nodes, (5,))
    return KernelGraph(
        (x,),
        (
            CustomNode(first, (0,), Mapping(((0, 1),), (-1,), ((0, 1), (0, 1)))),
            CustomNode(second, (1, 0), Mapping(((0,), (0,)), (1, -1), ((0,),))),
            LibraryNode(unary("sqrt(x)"), (3,)),
        ),
        (4, 2),
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", [*EXAMPLES, odd_program()], ids=lambda p: p.name)
def test_programs_come_back(program: Program, way: str) -> None:
    assert program_through(program, way) == program


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "graph",
    [softmax_matmul_block(), softmax_matmul_block(mapping=False), split_reduction()],
    ids=["figure 1 (b)", "figure 1 (c)", "split reduction"],
)
def test_graphs_come_back(graph: KernelGraph, way: str) -> None:
    graph.check()
    assert graph_through(graph, way) == graph


@pytest.mark.parametrize("way", WAYS)
def test_equalities_come_back(way: str) -> None:
    graph = softmax_matmul_block(mapping=False)
    (node,) = graph.custom
    pairs = (DimEquality(TileDim(0, 1), TileDim(1, 0)), DimEquality(TileDim(0, 0), TileDim(7, 0)))
    graph = replace(graph, nodes=(replace(node, equalities=pairs),))
    assert graph_through(graph, way) == graph


@pytest.mark.parametrize("orientation", list(Orientation))
@pytest.mark.parametrize("residency", [0, 2])
def test_provenance_comes_back(orientation: Orientation, residency: int) -> None:
    program, graph = softmax_matmul(), softmax_matmul_block()
    schedule = Schedule((("i", 32), ("x", 64)), 8, 3, orientation, residency)
    op = graph_to_ir(
        graph, "g", program=program, verdict=VerdictNote("refuted", 'why "so"'), schedule=schedule, cost=3.25e-6
    )
    module = ModuleOp([program_to_ir(program), op])
    _, back = parse(str(module))
    assert isinstance(back, GraphOp)
    assert back.verdict is not None and back.verdict.data == VerdictNote("refuted", 'why "so"')
    assert back.cost is not None and back.cost.value.data == 3.25e-6
    assert ir_to_schedule(back) == schedule
    assert ir_to_graph(back) == graph
    (custom,) = [o for o in back.body.block.ops if o.name == "sgraph.custom"]
    assert custom.sizes == {"x": 64, "i": 32}  # type: ignore[attr-defined]


def test_a_graph_takes_names_and_element_types_from_its_program() -> None:
    program = rms_norm(8, 16, 4)
    out = program.outputs[0]
    program = replace(program, outputs=(replace(out, dtype=DType.F32),))
    block = BlockGraph(
        ("x",),
        None,
        (TensorType((8, 16), DType.F16), TensorType((16, 4), DType.F16)),
        (BlockNode(Load(0, True)), BlockNode(Load(1, True)), BlockNode(MATMUL, (0, 1))),
        (2,),
    )
    graph = KernelGraph(block.inputs, (CustomNode(block, (0, 1)),), (2,))
    text = printed(graph_to_ir(graph, "g", program=program), generic=False)
    assert "-> tensor<8x4xf32>" in text
    assert "8/sigma(X,0), 16/sigma(X,1)" in text and "16/sigma(W,0), 4/sigma(W,1)" in text


def test_every_operator_of_the_table_has_an_op() -> None:
    """But for those that code makes for itself, of which no graph in IR consists."""
    made_for_code = {name for name, spec in OPS.items() if spec.kind is Kind.SCAN}
    assert made_for_code == {"running_max", "last"}
    assert {cls.name.removeprefix("sgraph.") for cls in OPERATOR_OPS} == set(OPS) - made_for_code


def test_ill_formed_graphs_are_refused() -> None:
    x = TensorType((8, 16), DType.F16)
    saved_in_loop = BlockGraph(("x",), "i", (x,), (BlockNode(Load(0)),), (0,))
    with pytest.raises(InputError, match="accumulate it first"):
        graph_to_ir(KernelGraph((x,), (CustomNode(saved_in_loop, (0,)),), (1,)))
    mismatch = BlockGraph(("x",), None, (x,), (BlockNode(Load(0, True)), BlockNode(MATMUL, (0, 0))), (1,))
    with pytest.raises(InputError, match="matmul needs"):
        graph_to_ir(KernelGraph((x,), (CustomNode(mismatch, (0,)),), (1,)))


def random_block(rng: random.Random) -> BlockGraph:
    """A block graph whose every node fits; every tile is used, the unused ones by a save."""
    inputs = tuple(
        TensorType(rng.choice([(4, 6), (6, 4), (4, 1), (1, 6)]), rng.choice([DType.F16, DType.F32])) for _ in range(3)
    )
    loop = rng.choice(["i", None])
    nodes = [BlockNode(Load(k % 3, loop is None or rng.random() < 0.3)) for k in range(rng.randint(1, 4))]
    grid = tuple(rng.sample(["x", "y", "z"], rng.randint(0, 3)))
    for _ in range(rng.randint(1, 8)):
        op, arity = random_operator(rng, loop is not None)
        node = BlockNode(op, tuple(rng.randrange(len(nodes)) for _ in range(arity)))
        trial = BlockGraph(grid, loop, inputs, (*nodes, node), ())
        try:
            _ = trial.shapes, trial.stages
        except InputError:
            continue
        nodes.append(node)
    nodes += [BlockNode(Accum(rng.choice(list(MONOIDS))), (k,)) for k in loose(grid, loop, inputs, nodes)]
    used = {v for n in nodes for v in n.operands}
    outputs = tuple(k for k in range(len(nodes)) if k not in used)
    return BlockGraph(grid, loop, inputs, tuple(nodes), outputs)


def loose(grid: tuple[str, ...], loop: str | None, inputs: tuple[TensorType, ...], nodes: list[BlockNode]) -> list[int]:
    """Tiles of the loop body that nothing uses yet."""
    stages = BlockGraph(grid, loop, inputs, tuple(nodes), ()).stages
    used = {v for n in nodes for v in n.operands}
    return [k for k, s in enumerate(stages) if k not in used and s.value == "body"]


def random_operator(rng: random.Random, loop: bool) -> tuple[Op | Accum, int]:
    one = [
        unary("exp(x)"),
        unary("x/2 + 1"),
        sum_(0),
        sum_(1),
        reduce_max(1),
        reduce_min(0),
        transpose(1, 0),
        reshape(2, 2, 6),
    ]
    two = [MATMUL, ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, keep(0.0), keep(float("-inf"))]
    if loop and rng.random() < 0.2:
        return Accum(rng.choice(list(MONOIDS))), 1
    if rng.random() < 0.1:
        return constant(rng.choice([0.1, 2.0, -1e300]), (4, 6)), 0
    return (rng.choice(two), 2) if rng.random() < 0.6 else (rng.choice(one), 1)


def random_mapping(rng: random.Random, block: BlockGraph) -> Mapping | None:
    def row(rank: int) -> tuple[int, ...]:
        dims = [*range(rank)]
        rng.shuffle(dims)
        return tuple(dims.pop() if dims and rng.random() < 0.4 else -1 for _ in block.grid)

    imap = tuple(row(len(block.shapes[k])) for k in block.loads)
    invariant = [isinstance(n.op, Load) and n.op.invariant for n in block.nodes]
    fmap = tuple(-1 if invariant[k] or rng.random() < 0.5 else rng.randrange(len(block.shapes[k])) for k in block.loads)
    blank = tuple((-1,) * len(block.grid) for _ in block.outputs)
    try:
        parts = tile_partitions(replace(block, outputs=()), Mapping(imap, fmap, ()))
    except InputError:
        return Mapping(((-1,) * len(block.grid),) * len(imap), (-1,) * len(fmap), blank)
    omap = tuple(
        tuple(next((d for d, part in enumerate(parts[o]) if p in part), -1) for p in block.grid) for o in block.outputs
    )
    try:
        tile_partitions(block, Mapping(imap, fmap, omap))
    except InputError:
        return None  # a saved dim is still cut by the loop
    return Mapping(imap, fmap, omap)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_graphs_come_back(seed: int) -> None:
    rng = random.Random(seed)
    block = random_block(rng)
    mapping = random_mapping(rng, block) if rng.random() < 0.7 else None
    graph = KernelGraph(block.inputs, (CustomNode(block, (0, 1, 2), mapping),), tuple(3 + k for k in range(1)))
    graph.check()
    for way in ("custom", "generic"):
        assert graph_through(graph, way) == graph
