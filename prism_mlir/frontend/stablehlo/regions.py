"""Regions of StableHLO operations: what they compute of tensors of one element, on scalars."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, attribute, scalar
from prism_mlir.frontend.stablehlo.scalars import ELEMENTWISE, apply


def evaluated(block: Any, arguments: list[Value]) -> list[Value]:
    """What a region on tensors of one element returns, on scalars."""
    known = dict(zip(block.arguments, arguments, strict=True))
    for view in block:
        op = view.operation
        operands = [known[v] if v in known else scalar(v) for v in op.operands]
        if op.name == "stablehlo.return":
            return operands
        if op.name == "stablehlo.constant":
            known[op.results[0]] = _constant(op)
        elif op.name in ELEMENTWISE:
            known[op.results[0]] = apply(op, operands, op.results[0].type.element_type)
        else:
            raise Refused(f"with {op.name} in its region", "use elementwise operations there")
    raise ValueError("its region returns nothing")


def _constant(op: Any) -> Value:
    from mlir import ir
    from mlir.dialects import arith

    dense = ir.DenseElementsAttr(attribute(op, "value"))
    return arith.ConstantOp(op.results[0].type.element_type, dense.get_splat_value()).result
