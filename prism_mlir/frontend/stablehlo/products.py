"""``dot_general``: any batch and contracting dims, as one ``linalg.generic``.

StableHLO leaves the type in which products are summed to the implementation unless ``algorithm`` names it. Where nothing is
said, sums of f16 and bf16 are f32, as in XLA on GPUs and in what exporters write in linalg, and are rounded once.
"""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import (
    Refused,
    Value,
    attribute,
    empty,
    filled,
    generic,
    lists,
    number,
    shape_of_type,
    size,
    tensor_type,
    words,
)
from prism_mlir.frontend.stablehlo.scalars import converted, is_float

_SAME = {"tf32": "f32"}  # MLIR cannot round to it; f32 holds it


def dot_general(op: Any) -> list[Value]:
    """The loops are the result's dims (batch, rest of the left side, rest of the right side), then the contracted ones."""
    left, right = op.operands
    result = op.results[0].type
    numbers = lists(attribute(op, "dot_dimension_numbers")) if op.name == "stablehlo.dot_general" else _plain(left)
    batch = [numbers.get(f"{side}_batching_dimensions", []) for side in ("lhs", "rhs")]
    inner = [numbers.get(f"{side}_contracting_dimensions", []) for side in ("lhs", "rhs")]
    outer = len(batch[0])
    places: list[list[int]] = []
    for k, value in enumerate((left, right)):
        named = [*batch[k], *inner[k]]
        if len(set(named)) != len(named):
            raise ValueError("its dimension numbers name a dim twice")
        free = [d for d in range(value.type.rank) if d not in named]
        place = {d: n for n, d in enumerate(batch[k])}
        place |= {d: outer + n for n, d in enumerate(free)}
        place |= {d: result.rank + n for n, d in enumerate(inner[k])}
        outer += len(free)
        places.append([place[d] for d in range(value.type.rank)])
    if outer != result.rank or len(inner[0]) != len(inner[1]) or len(batch[0]) != len(batch[1]):
        raise ValueError("its dimension numbers do not fit its types")
    return [_contracted(op, (left, right), places, len(inner[0]))]


def _plain(left: Value) -> dict[str, list[int]]:
    """Of ``stablehlo.dot``: the last dim of the left side with the first one of the right side."""
    return {"lhs_contracting_dimensions": [left.type.rank - 1], "rhs_contracting_dimensions": [0]}


def _contracted(op: Any, sides: tuple[Value, Value], places: list[list[int]], inner: int) -> Value:
    result = op.results[0].type
    total, inputs = _types(op)

    def sizes(d: int) -> Value:
        k, value = next((k, v) for k, v in enumerate(sides) if d in places[k])
        return size(value, places[k].index(d))

    kind = tensor_type(shape_of_type(result), total)
    start = filled(kind, sizes, number(0, total))
    rank = result.rank
    loops, reduced = rank + inner, range(rank, rank + inner)

    def body(given: list[Value]) -> list[Value]:
        from mlir.dialects import arith

        a, b = (converted(converted(v, t), total) for v, t in zip(given, inputs, strict=False))
        if is_float(total):
            return [arith.AddFOp(given[2], arith.MulFOp(a, b).result).result]
        return [arith.AddIOp(given[2], arith.MulIOp(a, b).result).result]

    operands = list(zip(sides, places, strict=True))
    (made,) = generic(loops, operands, [(start, range(rank))], body, reduced)
    if total == result.element_type:
        return made
    out = empty(result, lambda d: size(made, d))
    place = range(rank)
    return generic(rank, [(made, place)], [(out, place)], lambda given: [converted(given[0], result.element_type)])[0]


def _types(op: Any) -> tuple[Any, list[Any]]:
    """The type in which products are summed, and those to which the sides are rounded before."""
    from mlir import ir

    element = op.results[0].type.element_type
    sides = [v.type.element_type for v in op.operands]
    if str(element) == "i1":
        raise Refused("of truth values")
    given = words(op.attributes["algorithm"]) if "algorithm" in op.attributes else {}
    if not given:
        narrow = is_float(element) and element.width < 32
        return (ir.F32Type.get() if narrow else element), sides
    rounded = [
        side if given.get(f"{name}_component_count", "1") != "1" else _named(given[f"{name}_precision_type"])
        for name, side in zip(("lhs", "rhs"), sides, strict=True)
    ]
    return _named(given["accumulation_type"]), rounded


def _named(name: str) -> Any:
    from mlir import ir

    try:
        kind = ir.Type.parse(_SAME.get(name, name))
    except ir.MLIRError:
        kind = None
    if not is_float(kind):
        raise Refused(f"with an algorithm on {name}", "use f32, tf32, bf16 or f16")
    return kind
