"""The shifts that import dropped, made again: how a program is evaluated in floating point without overflow.

The source takes ``exp(s - m)`` with a row's maximum m. Where import cut a softmax into several exponentials (of a cache and of a
new token, say), they had one maximum together: exponentials that meet in a sum have a common shift, the largest of their maxima.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from prism_mlir.graph.fields import Array, Reals
from prism_mlir.graph.ops import DIV, MUL, Kind, Op, evaluate_op
from prism_mlir.graph.scalar_fn import ScalarFn, X

if TYPE_CHECKING:
    from prism_mlir.graph.program import Program, ProgramNode

Degrees = dict[int, int]
"""For each exponential (or reference) that a value counts with, how often; never 0."""


def combined_degrees(op: Op, operands: Sequence[Degrees]) -> Degrees:
    """Degrees of a result from those of its operands; empty where it has none, or they must be multiplied out first."""
    if not any(operands):
        return {}
    if op.kind is Kind.MATMUL or op in (MUL, DIV):
        sign = -1 if op == DIV else 1
        total = dict(operands[0])
        for site, degree in operands[1].items():
            total[site] = total.get(site, 0) + sign * degree
        return {site: degree for site, degree in total.items() if degree}
    if op.kind in (Kind.TRANSPOSE, Kind.RESHAPE) or (op.kind is Kind.UNARY and is_linear(op)):
        return operands[0]
    if op.kind is Kind.REDUCE:
        positive = all(degree > 0 for degree in operands[0].values())
        return operands[0] if op.name == "sum" or positive else {}
    if op.name == "keep":
        return operands[1] if op.value == 0 and not operands[0] else {}
    if op.kind is Kind.BINARY and operands[0] == operands[1]:
        return operands[0]
    return {}


def meets(op: Op, operands: Sequence[Degrees]) -> int:
    """The degree with which values of different references meet in a sum, and can be given a common one; 0 where not."""
    if op.kind is not Kind.BINARY or op in (MUL, DIV) or op.name == "keep" or operands[0] == operands[1]:
        return 0
    degrees = {d for o in operands for d in o.values()}
    return degrees.pop() if all(operands) and len(degrees) == 1 and min(degrees) > 0 else 0


def is_linear(op: Op) -> bool:
    return op.fn is not None and bool((op.fn.expr / X).is_number)


def shift_groups(program: Program) -> tuple[tuple[int, ...], ...]:
    """Nodes with a shift, those together that have a common one."""
    return _traced(program)[0]


def shifted_values(program: Program) -> frozenset[int]:
    """Values in which an exponential counts whose shift was dropped.

    A kernel keeps their size in bounds as long as it computes what the shift cancels in; stored alone they overflow.
    """
    return frozenset(k for k, degrees in enumerate(_traced(program)[1]) if degrees)


@lru_cache(maxsize=64)
def _traced(program: Program) -> tuple[tuple[tuple[int, ...], ...], tuple[Degrees, ...]]:
    """The groups of nodes with a shift, and the degrees of every value in the first node of each group."""
    of: dict[int, set[int]] = {}
    degrees: list[Degrees] = [{} for _ in program.inputs]
    for k, node in enumerate(program.nodes):
        operands = [degrees[v] for v in node.operands]
        if node.shift is not None:
            of[k] = {k}
            degrees.append({k: 1})
        elif degree := meets(node.op, operands):
            together = set[int]().union(*(of[site] for o in operands for site in o))
            of.update(dict.fromkeys(together, together))
            degrees.append({min(together): degree})
        else:
            # one name for all of a group, so that its degrees cancel
            named = [{min(of[site]): degree for site, degree in o.items()} for o in operands]
            degrees.append(combined_degrees(node.op, named))
    return tuple(dict.fromkeys(tuple(sorted(group)) for group in of.values())), tuple(degrees)


def scores(node: ProgramNode, operand: Array) -> Array:
    """What a node with a shift takes the exponential of, before the shift."""
    assert node.op.fn is not None
    return ScalarFn.of(node.op.fn.expr.args[0])(operand)


class ShiftedEvaluation:
    """A program's values in f64, each when it is asked for, on input views."""

    def __init__(self, program: Program, inputs: Sequence[Array]) -> None:
        self.program, self._values = program, dict(enumerate(inputs))
        self._shifts: dict[int, Array] = {}
        self._group = {k: group for group in shift_groups(program) for k in group}

    def value(self, v: int) -> Array:
        if v not in self._values:
            node = self.program.nodes[v - len(self.program.inputs)]
            operands = [self.value(o) for o in node.operands]
            if node.shift is not None:
                shift = self.shift(v - len(self.program.inputs))
                with np.errstate(invalid="ignore"):
                    self._values[v] = np.exp(scores(node, operands[0]) - shift)
            else:
                rank = len(self.program.shapes[node.operands[0]]) if node.operands else 0
                self._values[v] = evaluate_op(node.op, operands, rank, Reals())
        return self._values[v]

    def shift(self, k: int) -> Array:
        """The shift of node ``k``: a maximum over the dim that its ``shift`` names, which stays with size 1."""
        if k not in self._shifts:
            maxima = []
            for member in self._group[k]:
                node = self.program.nodes[member]
                argument = scores(node, self.value(node.operands[0]))
                maxima.append(argument.max(axis=node.shift, keepdims=True))
            if len({m.shape for m in maxima}) == 1:
                maxima = [np.max(maxima, axis=0)] * len(maxima)
            self._shifts.update(zip(self._group[k], maxima, strict=True))
        return self._shifts[k]
