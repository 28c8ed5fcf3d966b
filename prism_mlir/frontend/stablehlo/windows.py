"""``reduce_window``: pooling and cumulative sums."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, empty, filled, index, integers, scalar, tensor_type
from prism_mlir.frontend.stablehlo.indices import static_sizes
from prism_mlir.frontend.stablehlo.regions import evaluated
from prism_mlir.frontend.stablehlo.scalars import converted
from prism_mlir.frontend.stablehlo.tensors import padded


def reduce_window(op: Any) -> list[Value]:
    """Reductions over windows that move over a tensor. What lies over the edge is the initial value."""
    from mlir import ir
    from mlir.dialects import linalg

    if len(op.operands) != 2:
        raise Refused("of several tensors", "reduce one at a time")
    value, initial = op.operands
    kind, rank = op.results[0].type, op.operands[0].type.rank
    static_sizes(value.type)
    window = integers(op, "window_dimensions")
    strides, dilations, base = (_spread(op, n, rank) for n in ("window_strides", "window_dilations", "base_dilations"))
    edges = [int(n) for n in ir.DenseIntElementsAttr(op.attributes["padding"])] if "padding" in op.attributes else []
    low, high = edges[0::2] or [0] * rank, edges[1::2] or [0] * rank
    block = op.regions[0].blocks[0]
    start = converted(scalar(initial), kind.element_type)
    source = padded(value, scalar(initial), low, high, [n - 1 for n in base])
    windows = empty(tensor_type(window, kind.element_type), index)
    dims = [ir.AffineExpr.get_dim(n) for n in range(2 * rank)]
    reads = [dims[k] * strides[k] + dims[rank + k] * dilations[k] for k in range(rank)]
    maps = [ir.AffineMap.get(2 * rank, 0, e) for e in (reads, dims[rank:], dims[:rank])]
    kinds = ["parallel"] * rank + ["reduction"] * rank
    iterators = [ir.Attribute.parse(f"#linalg.iterator_type<{k}>") for k in kinds]
    out = filled(kind, index, start)
    attributes = (ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]), ir.ArrayAttr.get(iterators))
    made = linalg.GenericOp([kind], [source, windows], [out], *attributes)
    elements = [source.type.element_type, kind.element_type, kind.element_type]
    body = made.regions[0].blocks.append(*elements, arg_locs=[ir.Location.current] * 3)
    with ir.InsertionPoint(body):
        linalg.YieldOp(evaluated(block, [body.arguments[2], body.arguments[0]]))
    return list(made.results)


def _spread(op: Any, name: str, rank: int) -> list[int]:
    return integers(op, name) if name in op.attributes else [1] * rank
