"""How far off may emitted code be? A running error analysis of the program (Higham, "Accuracy and Stability", section 3.3).

Every value carries a bound on the error of an evaluation that does arithmetic in f32 (denormals may lose bits), sums n terms with
an error of about sqrt(n) units in the last place of their absolute sum, and rounds computed tiles to the program's narrowest type
before a product (tensor cores take no wider operands). A graph found by the search orders the operations differently; the factor
``SLACK`` leaves room for that. The bound knows nothing of the emitted code or of the source's own errors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.compiler.scalar_error import rounding_error
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.fields import Reals
from prism_mlir.graph.ops import DIV, MUL, Kind, Op, evaluate_op, unary
from prism_mlir.graph.program import Program, ProgramNode
from prism_mlir.graph.shifts import ShiftedEvaluation, scores

F32_UNIT = 2.0**-24
TF32_UNIT = 2.0**-11  # ten bits behind the point
F32_TINY = 2.0**-149  # the smallest f32 above zero
FUNCTION_UNITS = 8  # of f32: approximate exp, reciprocal and rsqrt err by 1 or 2 each, a chain by a few
SLACK = 4.0
_PART = 2.0**-12
_EXP = unary("exp(x)")

F64 = NDArray[np.float64]


def first_order_errors(
    program: Program, views: Sequence[F64], stored: Collection[int] = (), *, tf32: bool = False
) -> tuple[F64, ...]:
    """How much rounding moves each output's elements, each next to others: the bounds of :func:`error_bounds` to first order.

    A bound holds for whatever rounding does, however steep a function is near its argument; this is for comparing how sensitive
    elements are. It is the bound for arithmetic with units so small that every function is straight between them.
    """
    found = error_bounds(program, views, stored, tf32=tf32, part=_PART)
    return tuple(errors / _PART for errors in found)


def error_bounds(
    program: Program, views: Sequence[F64], stored: Collection[int] = (), *, tf32: bool = False, part: float = 1.0
) -> tuple[F64, ...]:
    """Bounds on the absolute error of each output's elements, before output views, for inputs that are exact.

    views:  the program's input views in f64. A bound is infinite or NaN where the value is.
    stored: values that are rounded to the type the source has them in, because parts of the program leave them for others
    tf32:   operands of products are rounded to tf32 where they are f32
    part:   of all units, where arithmetic that rounds less is meant
    """
    narrow = _narrowest(program)
    unit, tiny = part * _unit(narrow), part * _tiny(narrow)
    values: list[F64] = list(views)
    errors: list[F64] = [np.zeros_like(v) for v in values]
    computed = [False] * len(values)
    shifts = ShiftedEvaluation(program, views)
    with np.errstate(all="ignore"):
        for k, node in enumerate(program.nodes):
            a, e = [values[v] for v in node.operands], [errors[v] for v in node.operands]
            if node.op.kind is Kind.MATMUL:
                own = [unit * computed[v] for v in node.operands]
                if tf32:
                    wide = [_dtype(program, v) is DType.F32 for v in node.operands]
                    own = [max(u, part * TF32_UNIT * w) for u, w in zip(own, wide, strict=True)]
                e = [x + u * abs(y) + tiny if u else x for x, y, u in zip(e, a, own, strict=True)]
            if node.shift is not None:
                a, e = _shifted(node, a[0], e[0], shifts.shift(k), part)
            rank = a[0].ndim if a else 0
            op = node.op if node.shift is None else _EXP
            values.append(np.asarray(evaluate_op(op, a, rank, Reals())))
            errors.append(_propagate(op, a, e, values[-1], part * F32_UNIT) + part * _underflow(op, a))
            computed.append(True)
            if len(values) - 1 in stored:
                kept = program.stored_dtype(len(values) - 1)
                own_unit = part * _unit(kept)
                errors[-1] = errors[-1] + own_unit * (abs(values[-1]) + errors[-1]) + part * _tiny(kept)
        return tuple(
            SLACK * errors[o.value]
            + part * (_unit(o.dtype) * (abs(values[o.value]) + SLACK * errors[o.value]) + _tiny(o.dtype))
            for o in program.outputs
        )


def _dtype(program: Program, value: int) -> DType:
    first = len(program.inputs)
    return program.inputs[value].dtype if value < first else program.nodes[value - first].dtype


def _shifted(node: ProgramNode, a: F64, e: F64, shift: F64, part: float) -> tuple[list[F64], list[F64]]:
    """The argument that the source shifts by its maximum, and its error: that of both, and of two roundings."""
    argument = scores(node, a)
    own = np.maximum(abs(scores(node, a + e) - argument), abs(scores(node, a - e) - argument))
    own += 2 * part * F32_UNIT * abs(argument)
    own = np.where(np.isfinite(argument), own, 0.0)
    return [argument - shift], [own + _largest_moved(argument, own, node.shift)]


def _largest_moved(argument: F64, own: F64, dim: int | None) -> F64:
    """How far the maximum of a row can be from what it should be: a masked element's error, large as it may be, moves nothing."""
    least, exact, most = (x.max(axis=dim, keepdims=True) for x in (argument - own, argument, argument + own))
    moved = np.maximum(most - exact, exact - least)
    return np.where(np.isfinite(exact), moved, 0.0)


def _unit(dtype: DType) -> float:
    return float(2.0 ** -(dtype.mantissa_bits + 1))


def _tiny(dtype: DType) -> float:
    """Half of the smallest denormal: what rounding to zero may cost."""
    return {DType.F16: 2.0**-25, DType.BF16: 2.0**-134, DType.F32: 2.0**-150}.get(dtype, 0.0)


def _narrowest(program: Program) -> DType:
    """The program's narrowest floating type: what products may round their operands to."""
    dtypes = [i.dtype for i in program.inputs if i.dtype.is_float]
    return max(dtypes, key=_unit, default=DType.F32)


def _underflow(op: Op, a: list[F64]) -> float:
    """What results below the smallest normal f32 lose, beyond their relative errors; sums lose nothing (Higham, section 2.4)."""
    if op.kind is Kind.MATMUL:
        return F32_TINY * int(a[0].shape[-1])
    return F32_TINY if op.kind is Kind.UNARY or op in (MUL, DIV) else 0.0


def _propagate(op: Op, a: list[F64], e: list[F64], value: F64, unit: float) -> F64:
    match op.kind:
        case Kind.MATMUL:
            length = unit * np.sqrt(a[0].shape[-1])
            x, y = abs(a[0]), abs(a[1])
            return np.asarray((x + e[0]) @ (y + e[1]) - x @ y + length * (x @ y))
        case Kind.REDUCE:
            assert op.dim is not None
            if op.spec.monoid != "sum":  # the chosen element may be another one, whose error counts as well
                return np.asarray(e[0].max(axis=op.dim, keepdims=True))
            own = unit * np.sqrt(a[0].shape[op.dim]) * abs(a[0]).sum(axis=op.dim, keepdims=True)
            return np.asarray(e[0].sum(axis=op.dim, keepdims=True) + own)
        case Kind.UNARY:
            assert op.fn is not None
            moved = np.maximum(abs(op.fn(a[0] + e[0]) - value), abs(op.fn(a[0] - e[0]) - value))
            own = rounding_error(op.fn, a[0], unit)
            return np.asarray(np.where(e[0] > 0, moved, 0.0) + own + FUNCTION_UNITS * unit * abs(value))
        case Kind.BINARY:
            return _binary(op, a, e, value, unit)
        case Kind.CONSTANT:
            return np.zeros_like(value)
        case Kind.TRANSPOSE | Kind.RESHAPE:
            return np.asarray(evaluate_op(op, e, a[0].ndim, Reals()))
        case Kind.SCAN:
            raise AssertionError(f"{op} is no operator of programs")


def _binary(op: Op, a: list[F64], e: list[F64], value: F64, unit: float) -> F64:
    own: Any = unit * abs(value)
    if op.name == "mul":
        return np.asarray(abs(a[0]) * e[1] + abs(a[1]) * e[0] + e[0] * e[1] + own)
    if op.name == "div":
        return np.asarray((e[0] + abs(value) * e[1]) / np.maximum(abs(a[1]) - e[1], 0.0) + 2 * own)
    if op.name == "keep":
        return np.asarray(np.where(a[0] != 0, e[1], 0.0))
    if op.name in ("add", "sub"):  # a graph may multiply the terms first, and round them
        own = unit * (abs(a[0]) + abs(a[1]))
    return np.asarray(e[0] + e[1] + own)
