"""Symbolic dimension matching (paper, section 3.2).

Tile sizes must fit for every parallel size, so two dims that an operator joins must be cut alike: ``m[a,p] = m[b,p]`` for all
p. ``match_dims`` collects these equalities by union-find over tile dims; that is coefficient matching. ``sizes_equal`` is the
general question, "identical as functions of d", answered by sympy; a property test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import sympy

from prism_mlir.graph.block import Accum, BlockGraph, Load
from prism_mlir.graph.dims import DimClass, operand_pairs
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import DimEquality, TileDim
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.symbols import mapping_variable, size_symbol


@dataclass(frozen=True)
class Matching:
    """Which tile dims are cut alike.

    group[node][dim]: number of the group a tile dim belongs to; ``None`` for dims of size 1, which are never cut
    count:            number of groups
    equalities:       pairs of *load* dims that share a group, as recorded on the graph
    """

    group: tuple[tuple[int | None, ...], ...]
    count: int
    equalities: tuple[DimEquality, ...]


def match_dims(block: BlockGraph, input_dims: Sequence[Sequence[DimClass]] | None = None) -> Matching:
    """Match the dims of every operator of a block graph.

    input_dims: program dim class of every dim of every block input; given, dims of different classes never match even where
                their sizes happen to be equal

    Raises :class:`InputError` where an operator joins dims that can never be cut alike.
    """
    return _match(block, None if input_dims is None else tuple(map(tuple, input_dims)))


@lru_cache(maxsize=64)  # generation and instantiation ask for the same block
def _match(block: BlockGraph, input_dims: tuple[tuple[DimClass, ...], ...] | None) -> Matching:
    first = (0, *accumulate(len(shape) for shape in block.shapes))  # dims are numbered: dim d of node k is first[k] + d
    parent = list(range(first[-1]))
    for k, node in enumerate(block.nodes):
        for (i, d), (j, e) in _joined_dims(block, k):
            a, b = _root(parent, first[i] + d), _root(parent, first[j] + e)
            parent[max(a, b)] = min(a, b)
        _check_reshape(block, k, node.op)
    root = tuple(
        tuple(None if n == 1 else _root(parent, first[k] + d) for d, n in enumerate(shape))
        for k, shape in enumerate(block.shapes)
    )
    if input_dims is not None:
        _check_classes(block, root, input_dims)
    return _collect(block, root)


def _root(parent: list[int], dim: int) -> int:
    while parent[dim] != dim:
        dim = parent[dim]
    return dim


def _joined_dims(block: BlockGraph, k: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    node, shape = block.nodes[k], block.shapes[k]
    if isinstance(node.op, Load):
        return []
    if isinstance(node.op, Accum):
        return [((node.operands[0], d), (k, d)) for d in range(len(shape)) if shape[d] != 1]
    pairs = operand_pairs(node.op, [block.shapes[v] for v in node.operands], shape)
    named = [((k if i < 0 else node.operands[i], d), (k if j < 0 else node.operands[j], e)) for (i, d), (j, e) in pairs]
    return [(a, b) for a, b in named if block.shapes[a[0]][a[1]] != 1]


def _check_reshape(block: BlockGraph, k: int, op: object) -> None:
    if isinstance(op, Op) and op.kind is Kind.RESHAPE:
        operand = block.nodes[k].operands[0]
        if [n for n in block.shapes[operand] if n != 1] != [n for n in block.shapes[k] if n != 1]:
            raise InputError(f"block node {k}: a reshape that merges or splits dims cannot work on tiles")


Roots = tuple[tuple[int | None, ...], ...]


def _check_classes(block: BlockGraph, root: Roots, input_dims: Sequence[Sequence[DimClass]]) -> None:
    seen: dict[int | None, DimClass] = {}
    for k in block.loads:
        op = block.nodes[k].op
        assert isinstance(op, Load)
        for d, dim_class in enumerate(input_dims[op.source]):
            if dim_class is not None and seen.setdefault(root[k][d], dim_class) != dim_class:
                raise InputError(
                    f"an operator joins dim {d} of load {k} with a dim that is a different one in the program"
                )


def _collect(block: BlockGraph, root: Roots) -> Matching:
    number: dict[int, int] = {}
    group = tuple(tuple(None if r is None else number.setdefault(r, len(number)) for r in row) for row in root)
    first: dict[int, TileDim] = {}
    equalities = []
    for k in block.loads:
        for d, g in enumerate(group[k]):
            if g is None:
                continue
            leader = first.setdefault(g, TileDim(k, d))
            if leader != TileDim(k, d):
                equalities.append(DimEquality(leader, TileDim(k, d)))
    return Matching(group, len(number), tuple(equalities))


def sizes_equal(
    left: Any, right: Any, parallel_dims: Sequence[str], equalities: Sequence[tuple[Any, Any]] = ()
) -> bool:
    """Whether two symbolic tile sizes are the same function of d, given equalities between mapping variables.

    Sizes are products and quotients of integers, ``d_p`` and factors ``m*d_p + 1 - m``. Mapping variables are 0 or 1.
    """
    for a, b in equalities:
        left, right = left.subs(a, b), right.subs(a, b)
    (left_top, left_bottom), (right_top, right_bottom) = left.as_numer_denom(), right.as_numer_denom()
    difference = sympy.expand(left_top * right_bottom - right_top * left_bottom)
    sizes = {size_symbol(p) for p in parallel_dims}
    for m in sorted(difference.free_symbols - sizes, key=str):  # m is 0 or 1: the difference is linear in it
        difference = sympy.expand(difference.subs(m, 0) * (1 - m) + difference.subs(m, 1) * m)
    return bool(difference == 0)


def equality_variables(equality: DimEquality, parallel_dims: Sequence[str]) -> list[tuple[Any, Any]]:
    """The mapping variables an equality identifies, one pair for each parallel dim."""
    a, b = equality.a, equality.b
    return [(mapping_variable(f"t{a.node}", a.dim, p), mapping_variable(f"t{b.node}", b.dim, p)) for p in parallel_dims]
