"""Operators: rows of ``graph.ops.OPS`` on one side, ops of the dialect on the other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from prism_mlir.dialects.sgraph.operator_ops import (
    BINARY_OPS,
    REDUCE_OPS,
    BinaryOperatorOp,
    ConstantOp,
    KeepOp,
    OperatorOp,
    ReduceOperatorOp,
    ReshapeOp,
    TransposeOp,
    UnaryOp,
)
from prism_mlir.dialects.sgraph.refuse import refuse
from prism_mlir.dialects.sgraph.types import shape_of
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.ops import Op
from prism_mlir.graph.scalar_fn import ScalarFn


def operator_of(op: OperatorOp) -> Op:
    """The operator that an op is. Raises :class:`InputError` for a scalar function that cannot be read."""
    match op:
        case BinaryOperatorOp():
            return Op(op.row)
        case ReduceOperatorOp():
            return Op(op.row, dim=op.dim.value.data)
        case UnaryOp():
            return Op(op.row, fn=ScalarFn.parse(op.fn.data))
        case KeepOp():
            return Op(op.row, value=float(op.otherwise.value.data))
        case TransposeOp():
            return Op(op.row, perm=tuple(int(v) for v in op.perm.get_values()))
        case ReshapeOp():
            return Op(op.row, shape=op.result_shape)
        case ConstantOp():
            return Op(op.row, shape=op.result_shape, value=float(op.value.value.data))
        case _:
            raise InputError(f"the graph model has no operator for {op.name}")


def build_operator(
    op: Op, operands: Sequence[SSAValue], result_type: Attribute, shift: int | None = None
) -> OperatorOp:
    """The op for an operator of the graph model. Raises :class:`InputError` for an operator without one."""
    if op.name in BINARY_OPS:
        return BINARY_OPS[op.name](operands[0], operands[1], result_type)
    if op.name in REDUCE_OPS and op.dim is not None:
        return REDUCE_OPS[op.name](operands[0], op.dim, result_type)
    if op.name == "unary" and op.fn is not None:
        return UnaryOp(operands[0], op.fn.text, result_type, shift)
    if op.name == "keep" and op.value is not None:
        return KeepOp(operands[0], operands[1], op.value, result_type)
    if op.name == "transpose" and op.perm is not None:
        return TransposeOp(operands[0], op.perm, result_type)
    if op.name == "reshape":
        return ReshapeOp(operands[0], result_type)
    if op.name == "constant" and op.value is not None:
        return ConstantOp(op.value, result_type)
    raise InputError(f"the sgraph dialect has no op for operator {op}")


def check_operator(op: OperatorOp) -> None:
    """The operator's shape rule. Raises ``RefusedOp`` where it is broken."""
    try:
        row = operator_of(op)
    except InputError as error:
        refuse(op, f"cannot be read: {error.message}")
    try:
        want = row.spec.shape(row, [shape_of(t) for t in op.operand_types])
        have = op.result_shape
    except InputError as error:
        refuse(op, f"has a shape mismatch: {error.message}")
    except VerifyException as error:
        refuse(op, str(error))
    if want != have:
        refuse(op, f"has a shape mismatch: it computes {list(want)}, its type says {list(have)}")
