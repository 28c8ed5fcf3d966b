"""``reduce``: its region becomes the body of a ``linalg.generic``, in the types that the region has."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import (
    Value,
    filled,
    generic,
    integers,
    scalar,
    shape_of_type,
    size,
    tensor_type,
)
from prism_mlir.frontend.stablehlo.regions import evaluated
from prism_mlir.frontend.stablehlo.scalars import converted


def reduce(op: Any) -> list[Value]:
    """One or several tensors over some dims, from initial values on."""
    count = len(op.results)
    if len(op.operands) != 2 * count:
        raise ValueError("it has not as many initial values as tensors")
    tensors, initial = list(op.operands)[:count], list(op.operands)[count:]
    reduced = integers(op, "dimensions")
    rank = tensors[0].type.rank
    kept = [d for d in range(rank) if d not in reduced]
    if len(op.regions) != 1 or len(op.regions[0].blocks) != 1:
        raise ValueError("its region has not one block")
    block = op.regions[0].blocks[0]
    types = [a.type.element_type for a in block.arguments]
    starts = [
        filled(
            tensor_type(shape_of_type(r.type), types[k]),
            lambda d, t=tensors[k]: size(t, kept[d]),  # type: ignore[misc]
            converted(scalar(initial[k]), types[k]),
        )
        for k, r in enumerate(op.results)
    ]

    def body(given: list[Value]) -> list[Value]:
        elements = [converted(v, t) for v, t in zip(given[:count], types[count:], strict=True)]
        return evaluated(block, [*given[count:], *elements])

    inputs = [(v, range(rank)) for v in tensors]
    return generic(rank, inputs, [(v, kept) for v in starts], body, reduced)
