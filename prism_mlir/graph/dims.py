"""Which dims of a program are one and the same, whatever their size.

Two dims of equal size need not be the same dim (a square weight has two). ``dim_classes`` finds, by union-find over the
operators, which dims must agree for the program to make sense at every size; search matches dims by class, so a product with
a square W can not be confused with one with its transpose. ``shrink`` gives every class a size of its own: the same program,
small enough for exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import networkx as nx

from prism_mlir.graph.errors import InputError
from prism_mlir.graph.ops import Kind, Op, Shape
from prism_mlir.graph.program import Program, ProgramInput, ProgramOutput, row_major

DimClass = int | None  # None: a dim of size 1, which no parallel dim can split


@dataclass(frozen=True)
class DimClasses:
    """of[v][d]: class of dim ``d`` of value ``v``; sizes[c]: its size; factors[c]: classes it is the product of, if any."""

    of: tuple[tuple[DimClass, ...], ...]
    sizes: tuple[int, ...]
    factors: tuple[tuple[int, ...], ...]

    @property
    def free(self) -> tuple[int, ...]:
        """Classes whose size can be chosen freely."""
        return tuple(c for c, f in enumerate(self.factors) if not f)


def operand_pairs(op: Op, shapes: Sequence[Shape], result: Shape) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Dims an operator makes equal, as ((operand, dim), (operand, dim)); operand -1 is the result."""
    pairs: list[tuple[tuple[int, int], tuple[int, int]]] = []
    match op.kind:
        case Kind.MATMUL:
            rank = len(result)
            for d in range(rank - 2):
                pairs += [((0, d), (1, d)), ((0, d), (-1, d))]
            pairs += [((0, rank - 1), (1, rank - 2)), ((0, rank - 2), (-1, rank - 2)), ((1, rank - 1), (-1, rank - 1))]
        case Kind.UNARY | Kind.BINARY | Kind.SCAN:
            for d in range(len(result)):
                pairs += [((k, d), (-1, d)) for k in range(len(shapes)) if shapes[k][d] == result[d]]
        case Kind.REDUCE:
            pairs += [((0, d), (-1, d)) for d in range(len(result)) if d != op.dim]
        case Kind.TRANSPOSE:
            assert op.perm is not None
            pairs += [((0, op.perm[d]), (-1, d)) for d in range(len(result))]
        case Kind.RESHAPE:
            pairs += [((0, a[0]), (-1, b[0])) for a, b in reshape_groups(shapes[0], result) if len(a) == len(b) == 1]
        case Kind.CONSTANT:
            pass
    return pairs


def reshape_groups(source: Shape, target: Shape) -> list[tuple[list[int], list[int]]]:
    """The finest grouping of dims (size-1 dims left out) with equal products: ``[4,6,5] -> [24,5]`` is ``01|2, 0|1``."""
    a = [d for d, size in enumerate(source) if size != 1]
    b = [d for d, size in enumerate(target) if size != 1]
    groups: list[tuple[list[int], list[int]]] = []
    while a or b:
        left, right = [a.pop(0)], [b.pop(0)]
        while (x := prod(source[d] for d in left)) != (y := prod(target[d] for d in right)):
            (left if x < y else right).append((a if x < y else b).pop(0))
        groups.append((left, right))
    return groups


@lru_cache(maxsize=256)
def dim_classes(program: Program) -> DimClasses:
    """The dim classes of a program. Merged or split dims of a reshape get a class that records its factors."""
    shapes, joined = program.shapes, nx.utils.UnionFind()
    for value, shape in enumerate(shapes):
        for d, size in enumerate(shape):
            if size != 1:
                joined[(value, d)]
    for k, node in enumerate(program.nodes):
        value = len(program.inputs) + k
        operands = [shapes[v] for v in node.operands]
        for (i, d), (j, e) in operand_pairs(node.op, operands, shapes[value]):
            left = (value if i < 0 else node.operands[i], d)
            right = (value if j < 0 else node.operands[j], e)
            if shapes[left[0]][left[1]] != 1:
                joined.union(left, right)
    _join_factors(program, joined)
    number: dict[tuple[int, int], int] = {}
    sizes: list[int] = []
    of: list[tuple[DimClass, ...]] = []
    for value, shape in enumerate(shapes):
        row: list[DimClass] = []
        for d, size in enumerate(shape):
            if size == 1:
                row.append(None)
                continue
            root = joined[(value, d)]
            if root not in number:
                number[root] = len(sizes)
                sizes.append(size)
            row.append(number[root])
        of.append(tuple(row))
    return DimClasses(tuple(of), tuple(sizes), _factors(program, of, len(sizes)))


def _join_factors(program: Program, joined: nx.utils.UnionFind) -> None:
    """Dims that are merged and split again are the same before and after, where they have the same sizes."""
    groups: list[tuple[tuple[int, int], list[tuple[int, int]]]] = []
    for k, node in enumerate(program.nodes):
        if node.op.kind is Kind.RESHAPE:
            source, target = node.operands[0], len(program.inputs) + k
            for a, b in reshape_groups(program.shapes[source], program.shapes[target]):
                if len(a) > len(b) == 1:
                    groups.append(((target, b[0]), [(source, d) for d in a]))
                elif len(b) > len(a) == 1:
                    groups.append(((source, a[0]), [(target, d) for d in b]))
    for _ in groups:  # what is joined may make merged dims the same
        first: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for merged, parts in groups:
            known = first.setdefault(joined[merged], parts)
            if [program.shapes[v][d] for v, d in known] == [program.shapes[v][d] for v, d in parts]:
                for x, y in zip(known, parts, strict=True):
                    joined.union(x, y)


def _factors(program: Program, of: Sequence[Sequence[DimClass]], count: int) -> tuple[tuple[int, ...], ...]:
    factors: list[tuple[int, ...]] = [()] * count
    for k, node in enumerate(program.nodes):
        if node.op.kind is not Kind.RESHAPE:
            continue
        source, target = node.operands[0], len(program.inputs) + k
        for a, b in reshape_groups(program.shapes[source], program.shapes[target]):
            (many, few), (m, f) = ((a, b), (source, target)) if len(a) >= len(b) else ((b, a), (target, source))
            if len(many) == 1:
                continue
            if len(few) != 1:
                raise InputError("a reshape that regroups several dims into several others is not supported")
            merged = of[f][few[0]]
            assert merged is not None
            factors[merged] = tuple(c for d in many if (c := of[m][d]) is not None)
    return tuple(factors)


def shrink(program: Program, sizes: Mapping[int, int]) -> Program:
    """The same program with every free dim class given the size in ``sizes`` (dims of size 1 stay 1).

    Inputs become contiguous whole arguments, since values do not depend on how they are stored.
    """
    classes = dim_classes(program)
    concrete = [sizes.get(c, 0) for c in range(len(classes.sizes))]
    for _ in classes.sizes:
        concrete = [prod(concrete[f] for f in fs) if fs else n for n, fs in zip(concrete, classes.factors, strict=True)]
    if 0 in concrete:
        raise InputError(f"no size given for dim class {concrete.index(0)}")

    return with_shapes(program, lambda v: tuple(1 if c is None else concrete[c] for c in classes.of[v]))


def with_shapes(program: Program, shape: Callable[[int], Shape]) -> Program:
    """The same operators on values of other shapes. Inputs become contiguous whole arguments, and so do results."""
    inputs = tuple(ProgramInput.whole(i.name, shape(k), i.dtype, k) for k, i in enumerate(program.inputs))
    nodes = tuple(
        replace(n, op=replace(n.op, shape=shape(len(inputs) + k))) if n.op.shape is not None else n
        for k, n in enumerate(program.nodes)
    )
    outputs = tuple(
        ProgramOutput(o.value, o.dtype, shape(o.value), row_major(shape(o.value)), o.name) for o in program.outputs
    )
    return Program(program.name, inputs, nodes, outputs)
