"""Small programs and graphs used in documentation and tests: the paper's running example and workloads."""

from __future__ import annotations

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import DIV, MATMUL, MUL, Op, Shape, sum_, unary
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major

F16 = DType.F16


def build_program(name: str, inputs: dict[str, Shape], nodes: list[tuple[Op, tuple[int, ...]]]) -> Program:
    """A program of f16 tensors whose only output is its last node."""
    ins = tuple(ProgramInput.whole(n, s, F16, k) for k, (n, s) in enumerate(inputs.items()))
    body = tuple(ProgramNode(op, operands, F16) for op, operands in nodes)
    shapes = Program(name, ins, body, ()).shapes
    return Program(name, ins, body, (ProgramOutput(len(shapes) - 1, F16, shapes[-1], row_major(shapes[-1])),))


def softmax_matmul(rows: int = 4096, inner: int = 4096, cols: int = 128) -> Program:
    """Figure 1(a): softmax(X) . W, with the softmax written as exp, sum, div."""
    return build_program(
        "softmax_matmul",
        {"X": (rows, inner), "W": (inner, cols)},
        [(unary("exp(x)"), (0,)), (sum_(1), (2,)), (DIV, (2, 3)), (MATMUL, (4, 1))],
    )


def softmax_matmul_block(mapping: bool = True) -> KernelGraph:
    """Figure 1(b), or 1(c) where ``mapping`` is false: the fused kernel with one grid dim x and loop i."""
    x, w = TensorType((4096, 4096), F16), TensorType((4096, 128), F16)
    nodes = (
        BlockNode(Load(0)),
        BlockNode(Load(1)),
        BlockNode(unary("exp(x)"), (0,)),
        BlockNode(sum_(1), (2,)),
        BlockNode(Accum(), (3,)),
        BlockNode(MATMUL, (2, 1)),
        BlockNode(Accum(), (5,)),
        BlockNode(DIV, (6, 4)),
    )
    block = BlockGraph(("x",), "i", (x, w), nodes, (7,))
    concrete = Mapping(imap=((0,), (-1,)), fmap=(1, 0), omap=((0,),))
    return KernelGraph((x, w), (CustomNode(block, (0, 1), concrete if mapping else None),), (2,))


def rms_norm(rows: int = 16, inner: int = 1024, cols: int = 1024) -> Program:
    """rms_norm(X) . W (paper, section 7)."""
    return build_program(
        "rms_norm",
        {"X": (rows, inner), "W": (inner, cols)},
        [
            (unary("x**2"), (0,)),
            (sum_(1), (2,)),
            (unary(f"rsqrt(x/{inner} + 1e-06)"), (3,)),
            (MUL, (0, 4)),
            (MATMUL, (5, 1)),
        ],
    )


def rms_norm_mlp(rows: int = 8, inner: int = 1024, cols: int = 1024) -> Program:
    """(rms_norm(X) . W_up) * (rms_norm(X) . W_gate)."""
    return build_program(
        "rms_norm_mlp",
        {"X": (rows, inner), "W_up": (inner, cols), "W_gate": (inner, cols)},
        [
            (unary("x**2"), (0,)),
            (sum_(1), (3,)),
            (unary(f"rsqrt(x/{inner} + 1e-06)"), (4,)),
            (MUL, (0, 5)),
            (MATMUL, (6, 1)),
            (MATMUL, (6, 2)),
            (MUL, (7, 8)),
        ],
    )


def swiglu(rows: int = 8, inner: int = 2048, cols: int = 2048) -> Program:
    """silu(X . W_gate) * (X . W_up)."""
    return build_program(
        "swiglu",
        {"X": (rows, inner), "W_gate": (inner, cols), "W_up": (inner, cols)},
        [(MATMUL, (0, 1)), (unary("x/(1 + exp(-x))"), (3,)), (MATMUL, (0, 2)), (MUL, (4, 5))],
    )


def attention(batch: int = 16, length: int = 1024, head: int = 128, queries: int = 1) -> Program:
    """softmax(Q . K^T) . V, with K seen transposed and the softmax's shift dropped."""
    return build_program(
        "attention",
        {"Q": (batch, queries, head), "K": (batch, head, length), "V": (batch, length, head)},
        [(MATMUL, (0, 1)), (unary("exp(x)"), (3,)), (sum_(2), (4,)), (DIV, (4, 5)), (MATMUL, (6, 2))],
    )


def qk_attention(batch: int = 16, length: int = 1024, head: int = 128, queries: int = 1) -> Program:
    """softmax(rms_norm(Q) . K^T) . V."""
    return build_program(
        "qk_attention",
        {"Q": (batch, queries, head), "K": (batch, head, length), "V": (batch, length, head)},
        [
            (unary("x**2"), (0,)),
            (sum_(2), (3,)),
            (unary(f"rsqrt(x/{head} + 1e-06)"), (4,)),
            (MUL, (0, 5)),
            (MATMUL, (6, 1)),
            (unary("exp(x)"), (7,)),
            (sum_(2), (8,)),
            (DIV, (8, 9)),
            (MATMUL, (10, 2)),
        ],
    )


__all__ = ["attention", "build_program", "qk_attention", "rms_norm", "rms_norm_mlp", "softmax_matmul", "swiglu"]
