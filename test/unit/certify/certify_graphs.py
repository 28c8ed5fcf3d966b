"""Graphs of every kind that a certificate may be about."""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.graph import examples
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import (
    ADD,
    DIV,
    MATMUL,
    MAXIMUM,
    MUL,
    Op,
    constant,
    keep,
    reduce_max,
    reduce_min,
    reshape,
    sum_,
    transpose,
    unary,
)  # fmt: skip
from prism_mlir.graph.program import Program

Case = tuple[Program, KernelGraph]


def custom(program: Program, nodes, mapping: Mapping, grid=("x",), outputs=None) -> KernelGraph:
    """One graph-defined kernel over the program's inputs; it has a loop if it accumulates."""
    types = program_types(program)
    loop = "i" if any(isinstance(op, Accum) for op, _ in nodes) else None
    body = tuple(
        BlockNode(Load(op.source, invariant=True) if isinstance(op, Load) and loop is None else op, v)
        for op, v in nodes
    )
    saved = outputs or (len(body) - 1,)
    block = BlockGraph(tuple(grid), loop, types, body, saved)
    node = CustomNode(block, tuple(range(len(types))), mapping)
    return KernelGraph(types, (node,), tuple(len(types) + k for k in range(len(saved))))


def split_k() -> Case:
    """X.W in two kernels: partial products of a contracted dim that grid dim y cuts, side by side, then their sum."""
    program = examples.build_program("product", {"X": (64, 512), "W": (512, 128)}, [(MATMUL, (0, 1))])
    x, w = program_types(program)
    body = (BlockNode(Load(0, True)), BlockNode(Load(1, True)), BlockNode(MATMUL, (0, 1)))
    first = BlockGraph(("x", "y"), None, (x, w), body, (2,))
    partial = replace(TensorType((64, 128), DType.F16), expanded=(("y", 1),))
    second = BlockGraph(("x",), "y", (partial,), (BlockNode(Load(0)), BlockNode(Accum(), (0,))), (1,))
    nodes = (
        CustomNode(first, (0, 1), Mapping(((0, 1), (-1, 0)), (-1, -1), ((0, 1),))),
        CustomNode(second, (2,), Mapping(((0,),), (1,), ((0,),))),
    )
    return program, KernelGraph((x, w), nodes, (3,))


def moves() -> Case:
    program = examples.build_program(
        "moves", {"X": (4, 8, 32), "W": (32, 16)}, [(reshape(32, 32), (0,)), (MATMUL, (2, 1)), (transpose(1, 0), (3,))]
    )
    nodes = [
        (Load(0), ()), (Load(1), ()), (reshape(32, 32), (0,)), (MATMUL, (2, 1)), (Accum(), (3,)), (transpose(1, 0), (4,)),
    ]  # fmt: skip
    return program, custom(program, nodes, Mapping(((-1,), (1,)), (2, 0), ((0,),)))


def split_heads() -> Case:
    """[6, 4*8] as [6, 4, 8], which the program does too."""
    body: list[tuple[Op, tuple[int, ...]]] = [(reshape(6, 4, 8), (0,)), (unary("exp(x)"), (1,)), (sum_(2), (2,))]
    program = examples.build_program("heads", {"X": (6, 32)}, body)
    nodes = [(Load(0), ()), (reshape(6, 4, 8), (0,)), (unary("exp(x)"), (1,)), (sum_(2), (2,))]
    return program, custom(program, nodes, Mapping(((0,),), (-1,), ((0,),)))


def extrema() -> Case:
    program = examples.build_program(
        "max", {"X": (64, 32)}, [(reduce_max(1), (0,)), (reduce_min(1), (0,)), (MAXIMUM, (1, 2))]
    )
    nodes = [
        (Load(0), ()), (reduce_max(1), (0,)), (Accum("max"), (1,)), (reduce_min(1), (0,)), (Accum("min"), (3,)),
        (MAXIMUM, (4, 2)),
    ]  # fmt: skip
    return program, custom(program, nodes, Mapping(((0,),), (1,), ((0,),)))


def masked() -> Case:
    """A sum over what a mask keeps, the loop over what is summed."""
    program = examples.build_program("masked", {"M": (8, 32), "X": (8, 32)}, [(keep(0.0), (0, 1)), (sum_(1), (2,))])
    nodes = [(Load(0), ()), (Load(1), ()), (keep(0.0), (0, 1)), (sum_(1), (2,)), (Accum(), (3,))]
    return program, custom(program, nodes, Mapping(((0,), (0,)), (1, 1), ((0,),)))


def constants() -> Case:
    program = examples.build_program("shift", {"X": (16, 64)}, [(constant(0.5, (1, 1)), ()), (ADD, (0, 1))])
    nodes = [(Load(0), ()), (constant(0.5, (1, 1)), ()), (ADD, (1, 0))]
    return program, custom(program, nodes, Mapping(((1,),), (-1,), ((1,),)))


def library() -> Case:
    program = examples.softmax_matmul()
    x, w = program_types(program)
    nodes = (BlockNode(Load(0, True)), BlockNode(Load(1, True)), BlockNode(DIV, (0, 1)))
    block = BlockGraph(("x",), None, (x, TensorType((4096, 1), DType.F16)), nodes, (2,))
    divide = CustomNode(block, (2, 3), Mapping(((0,), (0,)), (-1, -1), ((0,),)))
    kernels = (LibraryNode(unary("exp(x)"), (0,)), LibraryNode(sum_(1), (2,)), divide, LibraryNode(MATMUL, (4, 1)))
    return program, KernelGraph((x, w), kernels, (5,))


def two_outputs() -> Case:
    """A product and its square, by a kernel that stores both."""
    one = examples.build_program("both", {"X": (16, 64), "W": (64, 32)}, [(MATMUL, (0, 1)), (MUL, (2, 2))])
    (square,) = one.outputs
    program = replace(one, outputs=(replace(square, value=2, name="product"), square))
    nodes = [(Load(0), ()), (Load(1), ()), (MATMUL, (0, 1)), (Accum(), (2,)), (MUL, (3, 3))]
    mapping = Mapping(((0, -1), (-1, 1)), (1, 0), ((0, 1), (0, 1)))
    return program, custom(program, nodes, mapping, ("x", "y"), (3, 4))


CASES = {
    "figure 1": lambda: (examples.softmax_matmul(), examples.softmax_matmul_block()),
    "split-K": split_k,
    "transpose and reshape": moves,
    "a dim is split": split_heads,
    "maxima and minima": extrema,
    "masks": masked,
    "constants": constants,
    "library kernels": library,
    "two outputs": two_outputs,
}
