"""Sizes of a function that are refused before anything is done with it, each with a place.

What comes after takes time with the square of the operations, and the search with more than that of results; a tensor that no
memory holds, or of more dims than NumPy knows, would fail late and say little.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from prism_mlir.graph.errors import LimitError

if TYPE_CHECKING:
    from prism_mlir.frontend.upstream import UpstreamModule

MAX_OPERATIONS = 4096
MAX_RESULTS = 64
MAX_RANK = 16
MAX_ELEMENTS = 1 << 40


def check_bounds(function: Any, upstream: UpstreamModule) -> None:
    """Raise a located :class:`LimitError` where a function of a normalised module is larger than a limit."""
    operations = [op.operation for block in function.regions[0].blocks for op in block]
    if len(operations) > MAX_OPERATIONS:
        raise LimitError(
            f"the function has {len(operations)} operations, at most {MAX_OPERATIONS} are taken",
            upstream.locate(operations[MAX_OPERATIONS]),
            "cut it into several functions",
        )
    results = len(operations[-1].operands) if operations else 0
    if results > MAX_RESULTS:
        raise LimitError(
            f"the function has {results} results, at most {MAX_RESULTS} are taken",
            upstream.locate(operations[-1]),
            "cut it into several functions",
        )
    for argument in function.regions[0].blocks[0].arguments:
        _check_type(argument.type, function, upstream)
    for op in operations:
        for result in op.results:
            _check_type(result.type, op, upstream)


def _check_type(kind: Any, op: Any, upstream: UpstreamModule) -> None:
    from mlir import ir

    if not isinstance(kind, ir.RankedTensorType):
        return
    shape = list(kind.shape)
    if len(shape) > MAX_RANK:
        reason = f"a tensor of {len(shape)} dims, at most {MAX_RANK} are taken"
        raise LimitError(reason, upstream.locate(op), "reshape it")
    elements = prod(n for n in shape if n >= 0)  # what is dynamic is negative
    if elements > MAX_ELEMENTS:
        reason = f"a tensor of {elements} elements, at most {MAX_ELEMENTS} are taken"
        raise LimitError(reason, upstream.locate(op), "make it smaller")
