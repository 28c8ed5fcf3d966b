"""Elements at computed positions: what gathers, slices from a computed start and sorting are written with."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, empty, generic, index, shape_of_type

Indices = list[Value]


def computed(kind: Any, body: Callable[[Indices], Value]) -> Value:
    """A tensor of static shape whose element at some indices is what ``body`` makes of them."""
    from mlir.dialects import linalg

    static_sizes(kind)
    out = empty(kind, index)
    rank = kind.rank
    return generic(rank, [], [(out, range(rank))], lambda _: [body([linalg.IndexOp(d).result for d in range(rank)])])[0]


def element(value: Value, position: Indices) -> Value:
    from mlir.dialects import tensor

    return tensor.ExtractOp(value, position).result


def as_index(value: Value) -> Value:
    from mlir import ir
    from mlir.dialects import arith

    return value if isinstance(value.type, ir.IndexType) else arith.IndexCastOp(ir.IndexType.get(), value).result


def clamped(start: Value, most: int) -> Value:
    """An integer as an index between 0 and ``most``: what would reach over the edge is moved back."""
    from mlir.dialects import arith

    return arith.MinSIOp(arith.MaxSIOp(as_index(start), index(0)).result, index(most)).result


def start_index(starts: Value, batch: Indices, component: int, vector: int) -> Value:
    """A component of a start. Starts are vectors along dim ``vector`` of ``starts``; single numbers where it has no such dim."""
    own = list(batch)
    if vector < starts.type.rank:
        own.insert(vector, index(component))
    return element(starts, own)


def vector_dim(given: Any) -> int:
    """``index_vector_dim`` of the dimension numbers of a gather or scatter."""
    found = re.search(r"index_vector_dim = (\d+)", str(given))
    return int(found.group(1)) if found else 0


def static_sizes(kind: Any) -> list[int]:
    shape = shape_of_type(kind)
    known = [n for n in shape if n is not None]
    if len(known) != len(shape):
        raise Refused("of a `?`", "give the dim a number")
    return known
