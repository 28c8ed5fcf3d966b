"""A function with ``?`` in its arguments at concrete sizes, made by upstream MLIR.

Arguments get static types and are cast back to what they were; upstream's canonicalisation then carries the sizes through the
function: it folds casts into operations, ``tensor.dim`` and ``tensor.empty`` into numbers. What it leaves dynamic (the result of
a filter, say) depends on more than the arguments' sizes, and is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_mlir.frontend.text_guard import decode
from prism_mlir.frontend.upstream import (
    UpstreamModule,
    choose_function,
    functions,
    input_error,
    read_module,
    symbol_name,
)
from prism_mlir.graph.errors import InputError, Location, UnsupportedError

if TYPE_CHECKING:
    from mlir import ir

Dim = tuple[int, int]  # an argument, and a dim of it

_CARRY = "builtin.module(func.func(canonicalize,cse,canonicalize))"


@dataclass(frozen=True)
class DynamicSource:
    """A source text, read again for every set of sizes, since upstream changes modules in place.

    function: its name
    dims:     the ``?`` of its arguments
    names:    of all arguments
    """

    text: str
    filename: str
    function: str
    location: Location
    dims: tuple[Dim, ...]
    names: tuple[str, ...]

    def specialised(self, sizes: Mapping[Dim, int]) -> UpstreamModule:
        """See :func:`specialise`."""
        return specialise(read_module(self.text, self.filename), self.function, sizes)


def dynamic_source(path: str | Path, function: str | None = None) -> DynamicSource:
    """Read a file and find the ``?`` of one function. Raises :class:`InputError` as ``frontend.upstream`` does."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot read the file: {reason}", Location(str(path)), "check the path") from None
    return dynamic_text(decode(data, str(path)), str(path), function)


def dynamic_text(text: str, filename: str = "<input>", function: str | None = None) -> DynamicSource:
    """As :func:`dynamic_source`, for a text."""
    upstream = read_module(text, filename, normalise=False)
    chosen, name = choose_function(upstream, function)
    dims = tuple(
        (k, d)
        for k, kind in enumerate(_function_type(chosen).inputs)
        for d in _dynamic_dims(kind, upstream.locate(chosen))
    )
    return DynamicSource(text, filename, name, upstream.locate(chosen), dims, _names(chosen))


def specialise(upstream: UpstreamModule, function: str, sizes: Mapping[Dim, int]) -> UpstreamModule:
    """The module with one function at concrete sizes; ``upstream``, normalised, is changed. Functions it does not need are gone.

    sizes: of every ``?`` of the arguments

    Raises :class:`UnsupportedError` (located) where a ``?`` stays, :class:`InputError` where the sizes do not fit together.
    """
    from mlir import ir
    from mlir.passmanager import PassManager

    chosen, name = choose_function(upstream, function)
    _remove_others(upstream, chosen, name)
    _fix_arguments(chosen, sizes)
    try:
        PassManager.parse(_CARRY, context=upstream.module.context).run(upstream.module)
        _fix_results(chosen)
        PassManager.parse(_CARRY, context=upstream.module.context).run(upstream.module)
        upstream.module.verify()
    except ir.MLIRError as error:
        raise input_error(error, upstream.filename) from None
    _check_static(upstream, chosen)
    return upstream


def _function_type(function: Any) -> Any:
    from mlir import ir

    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def _dynamic_dims(kind: ir.Type, place: Location) -> list[int]:
    from mlir import ir

    if isinstance(kind, ir.UnrankedTensorType):
        raise UnsupportedError(f"{kind} in a signature", place, "give it a rank: tensor<?x?xf16>")
    if not isinstance(kind, ir.RankedTensorType):
        return []
    return [d for d in range(kind.rank) if kind.is_dynamic_dim(d)]


def _names(function: Any) -> tuple[str, ...]:
    """What the source calls the arguments where its locations say so (``loc("x")``), else ``arg0``, ``arg1`` and so on."""
    names: list[str] = []
    for k, argument in enumerate(function.regions[0].blocks[0].arguments):
        place = argument.location
        name = place.name_str if place.is_a_name() else ""
        names.append(name if name.isidentifier() and name not in names else f"arg{k}")
    return tuple(names)


def _remove_others(upstream: UpstreamModule, chosen: Any, name: str) -> None:
    """Others may call the function, whose type changes."""
    body = str(chosen)
    for other, op in functions(upstream).items():
        if other != name and f"@{other}" not in body:
            op.erase()
    assert symbol_name(chosen) == name


def _fix_arguments(function: Any, sizes: Mapping[Dim, int]) -> None:
    from mlir import ir
    from mlir.dialects import tensor

    block = function.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block), function.location:
        for k, argument in enumerate(block.arguments):
            old = argument.type
            if not isinstance(old, ir.RankedTensorType) or old.has_static_shape:
                continue
            shape = [sizes[k, d] if old.is_dynamic_dim(d) else old.shape[d] for d in range(old.rank)]
            argument.set_type(ir.RankedTensorType.get(shape, old.element_type, old.encoding))
            cast = tensor.CastOp(old, argument)
            argument.replace_all_uses_except(cast.result, cast.operation)
    _set_type(function, [a.type for a in block.arguments], _function_type(function).results)


def _fix_results(function: Any) -> None:
    """Results of a static tensor that was cast to a dynamic one become the static tensor."""
    from mlir import ir

    block = function.regions[0].blocks[0]
    leave = list(block.operations)[-1].operation
    for k, value in enumerate(leave.operands):
        made = value.owner
        if isinstance(made, ir.Operation | ir.OpView) and made.operation.name == "tensor.cast":
            source = made.operation.operands[0]
            if isinstance(source.type, ir.RankedTensorType) and source.type.has_static_shape:
                leave.operands[k] = source
    _set_type(function, _function_type(function).inputs, [v.type for v in leave.operands])


def _set_type(function: Any, inputs: Any, results: Any) -> None:
    from mlir import ir

    kind = ir.FunctionType.get(list(inputs), list(results), context=function.context)
    function.attributes["function_type"] = ir.TypeAttr.get(kind, context=function.context)


def _check_static(upstream: UpstreamModule, function: Any) -> None:
    from mlir import ir

    for view in function.regions[0].blocks[0]:
        op = view.operation
        for value in (*op.results, *op.operands):
            if isinstance(value.type, ir.ShapedType) and not value.type.has_static_shape:
                raise UnsupportedError(
                    f"{op.name} has a {value.type}, whose `?` does not follow from the sizes of the arguments",
                    upstream.locate(op),
                    "compute it from dims of arguments, or give it a number",
                )
