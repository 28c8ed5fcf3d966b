"""TOSA functions as linalg on tensors, by upstream's own passes."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.upstream import UpstreamModule, input_error
from prism_mlir.graph.errors import UnsupportedError

_HINT = "upstream MLIR cannot lower it to linalg"
# Shapes first, since the conversions take static ones; then operands of equal rank, as broadcasts need them.
_PASSES = (
    "builtin.module(func.func(tosa-infer-shapes,tosa-make-broadcastable,tosa-optional-decompositions,"
    "tosa-to-linalg-named,tosa-to-linalg,tosa-to-arith,tosa-to-tensor))"
)


def lower_tosa(upstream: UpstreamModule) -> None:
    """Lower every TOSA operation of a module; a module without any stays as it is.

    Raises :class:`UnsupportedError`, located, naming the operation, where upstream cannot.
    """
    from mlir import ir
    from mlir.passmanager import PassManager

    if _first_tosa(upstream.module) is None:
        return
    try:
        PassManager.parse(_PASSES, context=upstream.module.context).run(upstream.module)
    except ir.MLIRError as error:
        found = input_error(error, upstream.filename)
        raise UnsupportedError(found.message, found.location, _HINT) from None
    left = _first_tosa(upstream.module)
    if left is not None:
        raise UnsupportedError(left.name, upstream.locate(left), _HINT)


def _first_tosa(module: Any) -> Any:
    """The first TOSA operation, or None."""
    from mlir import ir

    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name.startswith("tosa."):
            found.append(op)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found[0] if found else None
