"""Operations whose positions are known when the program runs: gathers, slices from a computed start, sorting.

They become loops that upstream's tools can run, with ``tensor.extract`` at computed positions. A tensor program has no operator
for them: raising names them where a result depends on one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prism_mlir.frontend.stablehlo.build import (
    Value,
    attribute,
    empty,
    filled,
    generic,
    index,
    integer,
    integers,
    lists,
    number,
    shape_of,
    tensor_type,
)
from prism_mlir.frontend.stablehlo.indices import (
    Indices,
    clamped,
    computed,
    element,
    start_index,
    static_sizes,
    vector_dim,
)
from prism_mlir.frontend.stablehlo.regions import evaluated
from prism_mlir.frontend.stablehlo.scalars import is_float, total_order


def gather(op: Any) -> list[Value]:
    """Slices of a tensor, each from a start of its own. Names are those of the StableHLO specification."""
    from mlir.dialects import arith

    operand, starts = op.operands
    kind, given = op.results[0].type, attribute(op, "dimension_numbers")
    numbers, sizes = lists(given), integers(op, "slice_sizes")
    offset_dims, start_map = numbers.get("offset_dims", []), numbers.get("start_index_map", [])
    batching, start_batching = numbers.get("operand_batching_dims", []), numbers.get("start_indices_batching_dims", [])
    gone = [*numbers.get("collapsed_slice_dims", []), *batching]
    vector = vector_dim(given)
    shape = static_sizes(operand.type)
    static_sizes(starts.type)
    batch_dims = [d for d in range(kind.rank) if d not in offset_dims]
    kept = [d for d in range(len(shape)) if d not in gone]
    if len(kept) != len(offset_dims) or len(sizes) != len(shape):
        raise ValueError("its dimension numbers do not fit its types")

    def body(indices: Indices) -> Value:
        batch = [indices[d] for d in batch_dims]
        place: Indices = []
        for d, whole in enumerate(shape):
            at = index(0)
            if d in start_map:
                at = clamped(start_index(starts, batch, start_map.index(d), vector), whole - sizes[d])
            if d in batching:
                there = start_batching[batching.index(d)]
                at = batch[there - (there > vector)]
            if d in kept:
                at = arith.AddIOp(at, indices[offset_dims[kept.index(d)]]).result
            place.append(at)
        return element(operand, place)

    return [computed(kind, body)]


def reverse(op: Any) -> list[Value]:
    from mlir.dialects import arith

    (value,) = op.operands
    shape, dims = static_sizes(value.type), integers(op, "dimensions")

    def body(indices: Indices) -> Value:
        ends = [index(n - 1) for n in shape]
        return element(value, [arith.SubIOp(ends[d], i).result if d in dims else i for d, i in enumerate(indices)])

    return [computed(op.results[0].type, body)]


# -- sorting


def sort(op: Any) -> list[Value]:
    """Tensors in the order that a region says, along one dim. Elements that are alike stay in their order."""
    if len(op.regions) != 1 or len(op.regions[0].blocks) != 1:
        raise ValueError("its region has not one block")
    tensors, block, d = list(op.operands), op.regions[0].blocks[0], integer(op, "dimension")

    def before(a: Indices, b: Indices) -> Value:
        pairs = [element(t, place) for t in tensors for place in (a, b)]
        return evaluated(block, pairs)[0]

    places = _ranks(tensors[0], d, before)
    return [_in_order(t, places, d, r.type) for t, r in zip(tensors, op.results, strict=True)]


def top_k(op: Any) -> list[Value]:
    """The ``k`` largest elements along the last dim, and their indices. NaN is the largest of all."""
    from mlir.dialects import arith

    (value,) = op.operands
    d, kind = value.type.rank - 1, value.type.element_type

    def before(a: Indices, b: Indices) -> Value:
        left, right = (element(value, place) for place in (a, b))
        if is_float(kind):
            left, right = total_order(left), total_order(right)
        return arith.CmpIOp(4, left, right).result  # sgt

    places = _ranks(value, d, before)
    numbers = computed(
        tensor_type(shape_of(value), op.results[1].type.element_type),
        lambda indices: _as_integer(indices[d], op.results[1].type.element_type),
    )
    return [_in_order(v, places, d, r.type) for v, r in zip((value, numbers), op.results, strict=True)]


def _as_integer(value: Value, kind: Any) -> Value:
    from mlir.dialects import arith

    return arith.IndexCastOp(kind, value).result


def _ranks(value: Value, d: int, before: Callable[[Indices, Indices], Value]) -> Value:
    """For each element, how many along dim ``d`` come before it: those that are before, and those alike with a smaller index."""
    from mlir import ir
    from mlir.dialects import arith, linalg

    shape, rank, count = static_sizes(value.type), value.type.rank, ir.IntegerType.get_signless(64)
    zeros = filled(tensor_type(shape, count), index, number(0, count))
    # The loop that is reduced needs a tensor that has it.
    others = empty(tensor_type([shape[d]], count), index)

    def body(given: list[Value]) -> list[Value]:
        mine = [linalg.IndexOp(k).result for k in range(rank)]
        other = linalg.IndexOp(rank).result
        theirs = [other if k == d else i for k, i in enumerate(mine)]
        earlier = arith.CmpIOp(2, other, mine[d]).result  # slt
        not_after = arith.XOrIOp(before(mine, theirs), number(1, ir.IntegerType.get_signless(1))).result
        counts = arith.OrIOp(before(theirs, mine), arith.AndIOp(earlier, not_after).result).result
        return [arith.AddIOp(given[1], arith.ExtUIOp(count, counts).result).result]

    return generic(rank + 1, [(others, [rank])], [(zeros, range(rank))], body, [rank])[0]


def _in_order(value: Value, places: Value, d: int, kind: Any) -> Value:
    """Along dim ``d``, at place ``n`` the element whose place is ``n``; as many as ``kind`` has."""
    from mlir.dialects import arith, linalg

    rank = value.type.rank
    first = filled(kind, index, number(0, kind.element_type))
    read = [rank if k == d else k for k in range(rank)]

    def body(given: list[Value]) -> list[Value]:
        here = arith.IndexCastOp(given[1].type, linalg.IndexOp(d).result).result
        return [arith.SelectOp(arith.CmpIOp(0, given[1], here).result, given[0], given[2]).result]

    return generic(rank + 1, [(value, read), (places, read)], [(first, range(rank))], body, [rank])[0]
