"""``scatter``: a loop over all updates, in order, that writes each where it belongs."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, attribute, index, lists, number
from prism_mlir.frontend.stablehlo.indices import (
    Indices,
    as_index,
    clamped,
    element,
    start_index,
    static_sizes,
    vector_dim,
)
from prism_mlir.frontend.stablehlo.regions import evaluated


def scatter(op: Any) -> list[Value]:
    """A tensor with elements updated at computed positions; those outside are left out. Names are the specification's."""
    from mlir.dialects import arith

    if len(op.operands) != 3:
        raise Refused("of several tensors", "scatter into one at a time")
    whole, places, updates = op.operands
    given = attribute(op, "scatter_dimension_numbers")
    numbers, vector = lists(given), vector_dim(given)
    window, to_dims = numbers.get("update_window_dims", []), numbers.get("scatter_dims_to_operand_dims", [])
    batching, index_batching = numbers.get("input_batching_dims", []), numbers.get("scatter_indices_batching_dims", [])
    gone = [*numbers.get("inserted_window_dims", []), *batching]
    shape, counts = static_sizes(whole.type), static_sizes(updates.type)
    static_sizes(places.type)
    kept = [d for d in range(len(shape)) if d not in gone]
    if len(kept) != len(window):
        raise ValueError("its dimension numbers do not fit its types")
    block = op.regions[0].blocks[0]

    def updated(at: Indices, current: Value) -> Value:
        from mlir.dialects import tensor

        batch = [i for d, i in enumerate(at) if d not in window]
        place: Indices = []
        inside = number(1, _truth())
        for d, size in enumerate(shape):
            start = start_index(places, batch, to_dims.index(d), vector) if d in to_dims else None
            here = index(0) if start is None else as_index(start)
            if d in batching:
                there = index_batching[batching.index(d)]
                here = batch[there - (there > vector)]
            if d in kept:
                here = arith.AddIOp(here, at[window[kept.index(d)]]).result
            for predicate, limit in ((5, index(0)), (2, index(size))):  # sge, slt
                inside = arith.AndIOp(inside, arith.CmpIOp(predicate, here, limit).result).result
            place.append(clamped(here, size - 1))
        old = element(current, place)
        (new,) = evaluated(block, [old, element(updates, at)])
        return tensor.InsertOp(arith.SelectOp(inside, new, old).result, current, place).result

    return [_loops(counts, [], whole, updated)]


def _loops(counts: list[int], at: Indices, current: Value, body: Any) -> Value:
    """``body`` for all indices below ``counts``, one after the other, each given what the one before it made."""
    from mlir import ir
    from mlir.dialects import scf

    if not counts:
        return body(at, current)
    loop = scf.ForOp(index(0), index(counts[0]), index(1), [current])
    with ir.InsertionPoint(loop.body):
        made = _loops(counts[1:], [*at, loop.induction_variable], loop.inner_iter_args[0], body)
        scf.YieldOp([made])
    return loop.results[0]


def _truth() -> Any:
    from mlir import ir

    return ir.IntegerType.get_signless(1)
