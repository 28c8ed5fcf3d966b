"""Replace the StableHLO operations of a module, in place, in order, each at its own location."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from prism_mlir.frontend.stablehlo import shapes
from prism_mlir.frontend.stablehlo.build import Refused, Value, attribute, empty, generic, size
from prism_mlir.frontend.stablehlo.control import CONTROL, branch, while_
from prism_mlir.frontend.stablehlo.gathers import gather, reverse, sort, top_k
from prism_mlir.frontend.stablehlo.products import dot_general
from prism_mlir.frontend.stablehlo.reductions import reduce
from prism_mlir.frontend.stablehlo.scalars import ELEMENTWISE, apply, check_arity
from prism_mlir.frontend.stablehlo.scatters import scatter
from prism_mlir.frontend.stablehlo.tensors import (
    broadcast_in_dim,
    concatenate,
    constant,
    dynamic_slice,
    dynamic_update_slice,
    get_dimension_size,
    iota,
    pad,
    reshape,
    slice_,
    transpose,
)
from prism_mlir.frontend.stablehlo.text import DIALECTS
from prism_mlir.frontend.stablehlo.windows import reduce_window
from prism_mlir.frontend.upstream import UpstreamModule, functions, input_error
from prism_mlir.graph.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from mlir import ir

_NOTES = frozenset({*DIALECTS, "mhlo", "jax", "sdy", "tf"})
"""Dialects whose attributes on functions and modules say nothing about what is computed."""


def convert(upstream: UpstreamModule) -> None:
    """Convert every StableHLO operation of a module; the rest stays as it is.

    Raises :class:`UnsupportedError`, located, for an operation that has no conversion, and :class:`InputError` for one that is
    malformed: nobody has verified operations in generic form.
    """
    from mlir import ir

    dynamic = "?" in _types(upstream.module)
    pending = deque(_operations(upstream.module))
    while pending:
        op = pending.popleft()
        _without_notes(op)
        if _dialect(op) in DIALECTS:
            moved = op.name in CONTROL
            made = _replace(op, upstream, dynamic)
            pending.extendleft(list(_operations(made[0].owner))[:0:-1] if moved else ())
    _name_arguments(upstream)
    try:
        upstream.module.verify()
    except ir.MLIRError as error:
        raise input_error(error, upstream.filename) from None


def _operations(op: Any) -> Iterator[Any]:
    """The module's operations, those in regions of StableHLO operations excepted."""
    yield op
    if _dialect(op) in DIALECTS:
        return
    for region in op.regions:
        for block in region:
            for view in block:
                yield from _operations(view.operation)


def _dialect(op: Any) -> str:
    name: str = op.name
    return name.partition(".")[0]


def _types(module: Any) -> str:
    """The types of all functions."""
    heads = (view.operation for view in module.regions[0].blocks[0])
    return " ".join(str(op.attributes["function_type"]) for op in heads if "function_type" in op.attributes)


def _name_arguments(upstream: UpstreamModule) -> None:
    """Arguments without a place get that of the argument that they are passed on as: JAX names those of a wrapped function."""
    known = functions(upstream)
    for function in known.values():
        block = function.regions[0].blocks[0]
        calls = [view.operation for view in block if view.operation.name == "func.call"]
        for call in calls:
            callee = known.get(str(call.attributes["callee"]).removeprefix("@"))
            if callee is None:
                continue
            for given, inner in zip(call.operands, callee.regions[0].blocks[0].arguments, strict=False):
                own = next((a for a in block.arguments if a == given), None)
                if own is not None and str(own.location) == "loc(unknown)" and inner.location.is_a_name():
                    own.set_location(inner.location)


def _without_notes(op: Any) -> None:
    from mlir import ir

    for name in [n for n in op.attributes if n.partition(".")[0] in _NOTES and "." in n]:
        del op.attributes[name]
    for key in ("arg_attrs", "res_attrs"):
        if op.name == "func.func" and key in op.attributes:
            kept = [_dictionary(each) for each in ir.ArrayAttr(op.attributes[key])]
            op.attributes[key] = ir.ArrayAttr.get(kept, op.context)


def _dictionary(found: Any) -> ir.DictAttr:
    from mlir import ir

    given = ir.DictAttr(found)
    kept = {each.name: each.attr for each in given if each.name.partition(".")[0] not in _NOTES}
    return ir.DictAttr.get(kept, found.context)


def _replace(op: Any, upstream: UpstreamModule, dynamic: bool) -> list[Value]:
    """Convert an operation; what it is from now on."""
    from mlir import ir

    place = upstream.locate(op)
    try:
        with ir.InsertionPoint(op), op.location:
            _check_types(op)
            made = shapes.evaluated(op) if dynamic and shapes.small(op) else _rule(op)(op)
            if [v.type for v in made] != [v.type for v in op.results]:
                raise ValueError("its types do not fit together")
    except Refused as error:
        raise UnsupportedError(f"{op.name} {error.what}", place, error.hint) from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, StopIteration, ir.MLIRError) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{op.name} is malformed: {what}", place) from None
    for old, new in zip(list(op.results), made, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
    return made


def _check_types(op: Any) -> None:
    """Refuse what linalg has no operations for: unsigned, quantised and complex elements, tokens, tuples."""
    from mlir import ir

    for value in (*op.operands, *op.results):
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType):
            raise Refused(f"on {kind}", "use ranked tensors")
        if kind.encoding is not None:
            raise Refused(f"on {kind}", "remove the encoding")
        element = kind.element_type
        signless = isinstance(element, ir.IntegerType) and element.is_signless
        if not (signless or isinstance(element, ir.FloatType | ir.IndexType)):
            raise Refused(f"on elements of type {element}", "use floats or signed integers")


def _rule(op: Any) -> Callable[[Any], list[Value]]:
    if op.name in ELEMENTWISE:
        return elementwise
    if op.name not in RULES:
        raise Refused("is not supported")
    return RULES[op.name]


def elementwise(op: Any) -> list[Value]:
    """One ``linalg.generic``; operands without dims (a predicate, bounds) are the same for all elements."""
    kind = op.results[0].type
    check_arity(op, len(op.operands))
    whole = next(v for v in op.operands if v.type.rank == kind.rank)
    places = [range(v.type.rank) for v in op.operands]
    if any(len(p) not in (0, kind.rank) for p in places):
        raise ValueError("its operands have different ranks")
    out = empty(kind, lambda d: size(whole, d))
    inputs = list(zip(op.operands, places, strict=True))
    return generic(
        kind.rank,
        inputs,
        [(out, range(kind.rank))],
        lambda given: [apply(op, given[: len(inputs)], kind.element_type)],
    )


def custom_call(op: Any) -> list[Value]:
    """Assertions on shapes are dropped: sizes are checked by the code that chooses kernels."""
    from mlir import ir

    target = ir.StringAttr(attribute(op, "call_target_name")).value
    if target == "shape_assertion":
        return []
    raise Refused(f"@{target} is not supported")


def composite(op: Any) -> list[Value]:
    """A call of the function that says what a composite computes."""
    from mlir.dialects import func

    callee = str(attribute(op, "decomposition")).removeprefix("@").strip('"')
    return list(func.CallOp([v.type for v in op.results], callee, list(op.operands)).results)


def barrier(op: Any) -> list[Value]:
    return list(op.operands)


RULES: dict[str, Callable[[Any], list[Value]]] = {
    "chlo.top_k": top_k,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.case": branch,
    "stablehlo.composite": composite,
    "stablehlo.concatenate": concatenate,
    "stablehlo.constant": constant,
    "stablehlo.custom_call": custom_call,
    "stablehlo.dot": dot_general,
    "stablehlo.dot_general": dot_general,
    "stablehlo.dynamic_broadcast_in_dim": broadcast_in_dim,
    "stablehlo.dynamic_reshape": reshape,
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": gather,
    "stablehlo.get_dimension_size": get_dimension_size,
    "stablehlo.if": branch,
    "stablehlo.iota": iota,
    "stablehlo.optimization_barrier": barrier,
    "stablehlo.pad": pad,
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_window,
    "stablehlo.reshape": reshape,
    "stablehlo.reverse": reverse,
    "stablehlo.scatter": scatter,
    "stablehlo.slice": slice_,
    "stablehlo.sort": sort,
    "stablehlo.transpose": transpose,
    "stablehlo.while": while_,
}
