"""The arithmetic of shapes in modules with dynamic sizes: small integer tensors, computed element by element.

As scalars, sizes fold through calls once the arguments have sizes; as tensors, upstream would leave loops over two elements.
"""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import Value, index, integers, shape_of
from prism_mlir.frontend.stablehlo.scalars import ELEMENTWISE, apply

MOST = 8
"""Elements of a tensor that is taken for a shape."""


def small(op: Any) -> bool:
    """Whether an operation is one that is computed here."""
    joins = op.name in ("stablehlo.reshape", "stablehlo.concatenate", "stablehlo.slice", "stablehlo.broadcast_in_dim")
    return (joins or op.name in ELEMENTWISE) and all(_is_shape(v) for v in (*op.operands, *op.results))


def _is_shape(value: Value) -> bool:
    from mlir import ir

    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or kind.rank > 1 or not kind.has_static_shape:
        return False
    return isinstance(kind.element_type, ir.IntegerType) and 0 < _count(value) <= MOST


def _count(value: Value) -> int:
    return (shape_of(value) or [1])[0] or 0


def evaluated(op: Any) -> list[Value]:
    """The result of an operation for which :func:`small` holds."""
    from mlir.dialects import tensor

    operands = [_elements(v) for v in op.operands]
    kind, count = op.results[0].type, _count(op.results[0])
    if op.name == "stablehlo.slice":
        low, high, step = (integers(op, name)[0] for name in ("start_indices", "limit_indices", "strides"))
        made = operands[0][low:high:step]
    elif op.name == "stablehlo.broadcast_in_dim":
        made = operands[0] if len(operands[0]) == count else operands[0] * count
    elif op.name in ELEMENTWISE:
        each = [v if len(v) == count else v * count for v in operands]
        made = [apply(op, [v[k] for v in each], kind.element_type) for k in range(count)]
    else:
        made = [v for operand in operands for v in operand]
    if len(made) != count:
        raise ValueError("its types do not fit together")
    return [tensor.FromElementsOp(kind, made).result]


def _elements(value: Value) -> list[Value]:
    from mlir.dialects import tensor

    if value.type.rank == 0:
        return [tensor.ExtractOp(value, []).result]
    return [tensor.ExtractOp(value, [index(k)]).result for k in range(_count(value))]
