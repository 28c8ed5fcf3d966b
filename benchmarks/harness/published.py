"""Published timings of kernels, the programs they compute, and how well predictions fit them. No GPU, and no file is part of this
project: rows are read from the files of microsoft/vidur (MIT), as (kernel, m, n, k, gpu, measured_us, source) or
(kernel, shape, gpu, measured_us, source).
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, BlockOp, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import ADD, MATMUL, MUL, sum_, unary

GPU = "A100 80GB"  # of all rows; the target is chosen by it
HELD_OUT = 3  # one problem of so many is held out
INTERMEDIATE = {"Llama-2-7b-hf": 11008, "Meta-Llama-3-8B": 14336, "Llama-2-70b-hf": 28672}
"""Columns of a half of the activation's input: ``intermediate_size`` in the models' published configurations."""

_SHAPE = re.compile(r"tokens (\d+) d(\d+)")
_NAME = re.compile(r"vLLM (\w+) \(([\w.-]+)\)")


@dataclass(frozen=True)
class Published:
    """A measured kernel. ``size``: rows, columns, and the inner dim of a product (0 for an elementwise kernel)."""

    kernel: str
    size: tuple[int, int, int]
    measured_us: float
    source: str

    @property
    def problem(self) -> str:
        """What the split is by: everything but the rows."""
        return f"{self.kernel} {self.size[1]} {self.size[2]}"

    @property
    def held_out(self) -> bool:
        """Whether constants were chosen without this row; the same for all numbers of rows of a problem."""
        key = f"{self.size[1]} {self.size[2]}" if self.size[2] else self.problem
        return int(hashlib.sha256(key.encode()).hexdigest(), 16) % HELD_OUT == 0

    @cached_property
    def graph(self) -> KernelGraph:
        """A kernel graph of one block graph that computes it, sizes still open."""
        make = {"gemm": gemm, "norm": rms_norm, "add": add, "act": silu_and_mul}[self.kernel]
        return make(*self.size) if self.kernel == "gemm" else make(*self.size[:2])

    @property
    def bytes(self) -> int:
        """Inputs once and results once."""
        rows, columns, inner = self.size
        elements = {
            "gemm": rows * inner + inner * columns + rows * columns,
            "norm": 2 * rows * columns + columns,
            "add": 3 * rows * columns,
            "act": 3 * rows * columns,
        }
        return 2 * elements[self.kernel]


def read(paths: Sequence[Path]) -> list[Published]:
    """Rows of files. Raises :class:`~prism_mlir.graph.errors.InputError` for a file or row that is none of the known forms."""
    found: list[Published] = []
    for path in paths:
        try:
            text = path.read_text()
        except OSError as error:
            raise InputError(f"cannot read '{path}': {error.strerror}", None, "name a .csv file") from None
        for line, row in enumerate(csv.DictReader(text.splitlines()), 2):
            try:
                found.append(_row(row))
            except (KeyError, ValueError, AttributeError, TypeError):
                raise InputError(f"{path}:{line}: not a row of published timings: {row}") from None
    return found


def _row(row: dict[str, str]) -> Published:
    if GPU.split()[1] not in row["gpu"]:
        raise ValueError(row["gpu"])
    measured = float(row["measured_us"])
    if "m" in row:
        return Published("gemm", (int(row["m"]), int(row["n"]), int(row["k"])), measured, row["source"])
    (rows, columns), (kind, model) = _SHAPE.fullmatch(row["shape"]).groups(), _NAME.fullmatch(row["kernel"]).groups()
    kernel = {"input_layernorm": "norm", "add": "add", "mlp_act": "act"}[kind]
    width = INTERMEDIATE[model] if kernel == "act" else int(columns)
    return Published(kernel, (int(rows), width, 0), measured, row["source"])


def gemm(m: int, n: int, k: int) -> KernelGraph:
    """[m, k] x [k, n]: columns cut by x, rows by y, the inner dim by the loop."""
    inputs = (TensorType((m, k), DType.F16), TensorType((k, n), DType.F16))
    rows = 0 if m > 1 else -1
    mapping = Mapping(imap=((-1, rows), (1, -1)), fmap=(1, 0), omap=((1, rows),))
    nodes = [(Load(0), ()), (Load(1), ()), (MATMUL, (0, 1)), (Accum(), (2,))]
    return _graph(("x", "y"), "i", inputs, nodes, mapping)


def add(rows: int, columns: int) -> KernelGraph:
    """x + y: rows cut by x, columns by y."""
    inputs = (TensorType((rows, columns), DType.F16),) * 2
    return _pointwise(inputs, [(Load(0, True), ()), (Load(1, True), ()), (ADD, (0, 1))])


def silu_and_mul(rows: int, columns: int) -> KernelGraph:
    """silu(gate) * up: rows cut by x, columns by y."""
    inputs = (TensorType((rows, columns), DType.F16),) * 2
    nodes = [(Load(0, True), ()), (Load(1, True), ()), (unary("x/(1 + exp(-x))"), (0,)), (MUL, (2, 1))]
    return _pointwise(inputs, nodes)


def rms_norm(rows: int, columns: int) -> KernelGraph:
    """x * rsqrt(mean of x**2 along the row) * weight: rows cut by x."""
    inputs = (TensorType((rows, columns), DType.F16), TensorType((1, columns), DType.F16))
    row = (0 if rows > 1 else -1,)
    nodes: list[tuple[BlockOp, tuple[int, ...]]] = [
        (Load(0, True), ()),
        (Load(1, True), ()),
        (unary("x**2"), (0,)),
        (sum_(1), (2,)),
        (unary(f"rsqrt(x/{columns} + 1e-05)"), (3,)),
        (MUL, (0, 4)),
        (MUL, (5, 1)),
    ]
    return _graph(("x",), None, inputs, nodes, Mapping((row, (-1,)), (-1, -1), (row,)))


def _pointwise(inputs: tuple[TensorType, ...], nodes: list[tuple[BlockOp, tuple[int, ...]]]) -> KernelGraph:
    row = (0 if inputs[0].shape[0] > 1 else -1, 1)
    return _graph(("x", "y"), None, inputs, nodes, Mapping((row, row), (-1, -1), (row,)))


def _graph(
    grid: tuple[str, ...],
    loop: str | None,
    inputs: tuple[TensorType, ...],
    nodes: Sequence[tuple[BlockOp, tuple[int, ...]]],
    mapping: Mapping,
) -> KernelGraph:
    body = tuple(BlockNode(op, operands) for op, operands in nodes)
    block = BlockGraph(grid, loop, inputs, body, (len(body) - 1,))
    graph = KernelGraph(inputs, (CustomNode(block, tuple(range(len(inputs))), mapping),), (len(inputs),))
    graph.check()
    return graph


def mape(measured: Sequence[float], predicted: Sequence[float]) -> float:
    """Mean absolute error relative to what was measured, as a part of one.

    >>> mape([10.0, 20.0], [11.0, 15.0])
    0.175
    """
    return fmean(abs(p - m) / m for m, p in zip(measured, predicted, strict=True))


def kendall(measured: Sequence[float], predicted: Sequence[float]) -> float | None:
    """Kendall's tau-b: 1 where both order alike, 0 where one says nothing of the other; equal values count for neither. ``None``
    where there is nothing to order."""
    from scipy.stats import kendalltau

    if len(set(measured)) < 2 or len(set(predicted)) < 2:
        return None
    return float(kendalltau(measured, predicted).statistic)


def regret(true: Sequence[float], ranked: Sequence[float], best: int) -> float:
    """By how much the fastest of the ``best`` choices that rank first is slower than the fastest of all, as a part of one.

    >>> regret([3.0, 2.0, 4.0], [1.0, 5.0, 2.0], 2)
    0.5
    """
    order = sorted(range(len(true)), key=lambda k: ranked[k])
    return min(true[k] for k in order[:best]) / min(true) - 1
