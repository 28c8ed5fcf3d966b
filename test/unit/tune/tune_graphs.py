"""Small concrete graphs for the tests of this folder."""

from __future__ import annotations

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import MATMUL, unary


def gemm(m: int, n: int, k: int, dtype: DType = DType.F16) -> KernelGraph:
    """[m, k] x [k, n], columns cut by x, rows by y, the inner dim by the loop."""
    x, w = TensorType((m, k), dtype), TensorType((k, n), dtype)
    nodes = (BlockNode(Load(0)), BlockNode(Load(1)), BlockNode(MATMUL, (0, 1)), BlockNode(Accum(), (2,)))
    block = BlockGraph(("x", "y"), "i", (x, w), nodes, (3,))
    rows = 0 if m > 1 else -1
    mapping = Mapping(imap=((-1, rows), (1, -1)), fmap=(1, 0), omap=((1, rows),))
    return KernelGraph((x, w), (CustomNode(block, (0, 1), mapping),), (2,))


def pointwise(rows: int, cols: int, *, replicated: bool = False) -> KernelGraph:
    """exp of a matrix, rows cut by x; with ``replicated``, a grid dim y whose blocks all do the same."""
    x = TensorType((rows, cols), DType.F16)
    grid = ("x", "y") if replicated else ("x",)
    row = (0, -1) if replicated else (0,)
    nodes = (BlockNode(Load(0, invariant=True)), BlockNode(unary("exp(x)"), (0,)))
    block = BlockGraph(grid, None, (x,), nodes, (1,))
    return KernelGraph((x,), (CustomNode(block, (0,), Mapping((row,), (-1,), (row,))),), (1,))
