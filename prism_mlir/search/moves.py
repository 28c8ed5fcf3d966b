"""Runs of reshapes and transposes as one copy.

A reshape is nothing to search for: no tile of a tensor is a tile of its reshape. Between parts of a program, where every value
lies in memory, it is a copy from one order of elements to another: an identity on dims so fine that both sides are views of
them. The same holds for a chain of reshapes and transposes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from prism_mlir.graph.ops import Kind, Shape, unary
from prism_mlir.graph.program import Program, ProgramNode

MOVES = frozenset({Kind.RESHAPE, Kind.TRANSPOSE})


@dataclass(frozen=True, slots=True)
class _Axis:
    """A run of evenly spaced elements of the source: how many, and how far apart."""

    size: int
    stride: int


def runs_of_moves(program: Program, first: int, last: int) -> tuple[int, ...]:
    """Places from ``first`` to ``last``, both included, between which every chain of moves with a reshape stands alone."""
    count = len(program.inputs)
    readers = [v for n in program.nodes for v in n.operands] + [o.value for o in program.outputs]
    cuts, k = {first, last}, first
    while k < last:
        end = k
        while end < last and program.nodes[end].op.kind in MOVES:
            end += 1
            if end < last and (
                program.nodes[end].operands[:1] != (count + end - 1,) or readers.count(count + end - 1) > 1
            ):
                break
        if any(n.op.kind is Kind.RESHAPE for n in program.nodes[k:end]):
            cuts |= {k, end}
        k = max(end, k + 1)
    return tuple(sorted(cuts))


def as_copy(program: Program) -> Program | None:
    """A chain of moves as one identity; ``None`` for anything else, and where sizes have no common factors (2 * 3 and 3 * 2)."""
    if len(program.inputs) != 1 or not all(n.op.kind in MOVES for n in program.nodes):
        return None
    (source,) = program.inputs
    last = len(program.nodes)
    if any(n.operands != (k,) for k, n in enumerate(program.nodes)) or any(o.value != last for o in program.outputs):
        return None
    dims = [[_Axis(n, s)] for n, s in zip(source.shape, source.strides, strict=True)]
    for node in program.nodes:
        if node.op.kind is Kind.TRANSPOSE:
            assert node.op.perm is not None
            dims = [dims[k] for k in node.op.perm]
        else:
            assert node.op.shape is not None
            regrouped = _regrouped([axis for dim in dims for axis in dim if axis.size != 1], node.op.shape)
            if regrouped is None:
                return None
            dims = regrouped
    sizes = [[axis.size for axis in dim] for dim in dims]
    steps = [[axis.stride for axis in dim] for dim in dims]
    inside = [[s for d, n in zip(o.strides, sizes, strict=True) for s in _inner(d, n)] for o in program.outputs]
    flat = ([n for dim in sizes for n in dim], [s for dim in steps for s in dim])
    shape, (read, *written) = _merged(flat[0], [flat[1], *inside])
    view = replace(source, shape=shape, strides=read)
    copy = ProgramNode(unary("x"), (0,), program.nodes[-1].dtype)
    outputs = tuple(replace(o, value=1, strides=w) for o, w in zip(program.outputs, written, strict=True))
    return Program(program.name, (view,), (copy,), outputs)


def _inner(stride: int, sizes: Sequence[int]) -> Iterator[int]:
    """Strides of the axes that a dim is made of, slowest first."""
    step = stride
    found = []
    for n in reversed(sizes):
        found.append(step)
        step *= n
    return reversed(found)


def _regrouped(axes: list[_Axis], shape: Shape) -> list[list[_Axis]] | None:
    """Axes in row-major order as the dims of a shape, cut where a dim ends inside one."""
    pending, dims = list(reversed(axes)), []
    for size in shape:
        dim: list[_Axis] = []
        left = size
        while left > 1:
            axis = pending.pop()
            if left % axis.size == 0:
                left //= axis.size
            elif axis.size % left == 0:
                inner = axis.size // left
                pending.append(_Axis(inner, axis.stride))
                axis, left = _Axis(left, axis.stride * inner), 1
            else:
                return None
            dim.append(axis)
        dims.append(dim)
    return dims


def _merged(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[Shape, list[tuple[int, ...]]]:
    """Neighbouring axes that are one run on every side as one, and at least two dims."""
    apart = [k for k in range(1, len(sizes)) if any(s[k - 1] != s[k] * sizes[k] for s in strides)]
    starts = [0, *apart] if sizes else []
    ends = [*starts[1:], len(sizes)] if sizes else []
    merged = [prod(sizes[a:b]) for a, b in zip(starts, ends, strict=True)]
    steps = [[s[b - 1] for b in ends] for s in strides]
    while len(merged) < 2:
        merged = [1, *merged]
        steps = [[1, *s] for s in steps]
    return tuple(merged), [tuple(s) for s in steps]
