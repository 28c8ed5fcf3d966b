"""A graph of ``torch.fx`` as the text of an MLIR module with one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, index, moved, tensor_type
from prism_mlir.frontend.torch import attention, products, reductions, scalars, tensors
from prism_mlir.frontend.torch.call import ELEMENTS, Call, element_type, is_value, permuted
from prism_mlir.frontend.torch.scalars import Rule
from prism_mlir.frontend.upstream import new_context
from prism_mlir.graph.errors import Location, UnsupportedError

RULES: dict[str, Rule] = {
    **scalars.RULES,
    **tensors.RULES,
    **reductions.RULES,
    **products.RULES,
    **attention.RULES,
}
"""Operator, with or without its overload -> what it computes."""

REDUCING = frozenset({*reductions.RULES, *products.RULES, *attention.RULES})
"""Operators that sum: what makes a kernel worth its launch."""

GRAPH = "graph"  # the file that places of errors name; their lines are numbers of nodes, from 1


@dataclass(frozen=True, slots=True)
class Buffer:
    """How a tensor lies in memory: contiguous once its dims are in this order.

    exact: whether it does; otherwise it has to be copied
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    dtype: str
    exact: bool = True

    @property
    def stored(self) -> tuple[int, ...]:
        """The shape in memory."""
        return tuple(self.shape[d] for d in self.order)


@dataclass(frozen=True, slots=True)
class Converted:
    """A module, and how its function's arguments and results lie in memory. names: of the arguments' nodes"""

    text: str
    names: tuple[str, ...]
    arguments: tuple[Buffer, ...]
    results: tuple[Buffer, ...]


def rule_of(target: Any) -> Rule | None:
    """The rule for an operator of ATen, or None."""
    name = operator_name(target)
    return RULES.get(name) or RULES.get(name.rpartition(".")[0])


def operator_name(target: Any) -> str:
    """``aten.add.Tensor`` for an overload; another function's name for others."""
    return str(target).removeprefix("torch.ops.")


def is_reducing(target: Any) -> bool:
    """Whether an operator sums or contracts."""
    name = operator_name(target)
    return name in REDUCING or name.rpartition(".")[0] in REDUCING


def buffer_of(meta: Any) -> Buffer:
    """How a tensor lies in memory, by its strides. Raises :class:`Refused` for sizes that are not known, and for other types."""
    shape = tuple(known(n) for n in meta.shape)
    if str(meta.dtype) not in ELEMENTS:
        raise Refused(f"on {meta.dtype}", "use f16, bf16, f32, bool or integers")
    if 0 in shape:
        raise Refused("on a tensor without elements")
    strides = [known(n) for n in meta.stride()]
    wide = [d for d, n in enumerate(shape) if n != 1]
    by_stride = iter(sorted(wide, key=lambda d: -strides[d]))
    order = tuple(next(by_stride) if n != 1 else d for d, n in enumerate(shape))
    expected, exact = 1, True
    for d in reversed(order):
        exact = exact and (shape[d] == 1 or strides[d] == expected)
        expected *= shape[d]
    plain = tuple(range(len(shape)))
    return Buffer(shape, order if exact else plain, str(meta.dtype), exact)


def plain_buffer_of(meta: Any) -> Buffer:
    """A contiguous buffer of the tensor's shape."""
    buffer = buffer_of(meta)
    return replace(buffer, order=tuple(range(len(buffer.shape))), exact=True)


def known(size: Any) -> int:
    """A size as a number: a symbol is given the value that it has, which the caller's guards then require."""
    return int(size)


def convert(graph: Any, name: str = "main", *, plain: bool = False) -> Converted:
    """Convert a graph (``torch.fx.Graph``) whose nodes are operators of ATen and carry ``meta["val"]``.

    plain: arguments and results are contiguous tensors of the shapes they have; otherwise their dims are in the order in which
           eager PyTorch has them in memory

    Raises :class:`UnsupportedError` for a node that has no rule; the line of its place is the node's number, from 1.
    """
    from mlir import ir
    from mlir.dialects import func

    nodes = list(graph.nodes)
    inputs = [(k, n) for k, n in enumerate(nodes) if n.op == "placeholder" and _is_tensor(n.meta.get("val"))]
    layout = plain_buffer_of if plain else buffer_of
    buffers = [_located(k, n, lambda n=n: layout(n.meta["val"])) for k, n in inputs]
    context = new_context()
    with context, ir.Location.unknown():
        module = ir.Module.create()
        types = [tensor_type(b.stored, element_type(b.dtype)) for b in buffers]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(name, (types, []))
        block = function.add_entry_block([ir.Location.file(GRAPH, k + 1, 1) for k, _ in inputs])
        with ir.InsertionPoint(block):
            given = zip(block.arguments, buffers, strict=True)
            walk = _Walk(dict(zip((n for _, n in inputs), given, strict=True)), layout)
            results = walk.run(nodes)
            func.ReturnOp([v for v, _ in results])
        returned = [v.type for v, _ in results]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, returned))
        module.operation.verify()
        text = str(module.operation.get_asm(enable_debug_info=True))
    return Converted(text, tuple(n.name for _, n in inputs), tuple(buffers), tuple(b for _, b in results))


def _is_tensor(meta: Any) -> bool:
    return hasattr(meta, "shape") and hasattr(meta, "dtype")


def _located(k: int, node: Any, make: Any) -> Any:
    """What ``make`` gives, with a refusal told at the node's place."""
    from mlir import ir

    try:
        return make()
    except Refused as error:
        what = operator_name(node.target) if node.op == "call_function" else f"{node.op} {node.name}"
        raise UnsupportedError(f"{what} {error.what}", Location(GRAPH, k + 1, 1), error.hint) from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ir.MLIRError) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UnsupportedError(
            f"{operator_name(node.target)} in this form ({what})",
            Location(GRAPH, k + 1, 1),
            "rewrite it with supported operators",
        ) from None


class _Walk:
    """Values of nodes, in order."""

    def __init__(self, arguments: dict[Any, tuple[Value, Buffer]], layout: Callable[[Any], Buffer]) -> None:
        self.arguments = arguments
        self.layout = layout
        self.values: dict[Any, Any] = {}

    def run(self, nodes: Sequence[Any]) -> list[tuple[Value, Buffer]]:
        """The function's results, as they lie in memory."""
        from mlir import ir

        for k, node in enumerate(nodes):
            with ir.Location.file(GRAPH, k + 1, 1):
                if node.op == "output":
                    return _located(k, node, lambda n=node: self._results(n))  # type: ignore[no-any-return]
                self.values[node] = _located(k, node, lambda n=node: self._value(n))
        raise ValueError("a graph without an output")

    def _value(self, node: Any) -> Any:
        if node.op == "placeholder":
            return self._argument(node)
        if node.op != "call_function":
            raise Refused("is not supported")
        if operator_name(node.target).endswith("getitem") or "getitem" in getattr(node.target, "__name__", ""):
            return self.values[node.args[0]][node.args[1]]
        rule = rule_of(node.target)
        if rule is None and not node.target._schema.returns:  # an assertion
            return None
        if rule is None:
            raise Refused("is not supported", "rewrite it with supported operators")
        made = rule(Call(operator_name(node.target), self._arguments(node), _results_of(node.meta["val"])))
        return made if isinstance(node.meta["val"], tuple | list) else made[0]

    def _argument(self, node: Any) -> Any:
        if node not in self.arguments:
            return known(node.meta["val"])  # a size
        value, buffer = self.arguments[node]
        if buffer.order == tuple(range(len(buffer.order))):
            return value
        return moved(value, buffer.order, tensor_type(buffer.shape, value.type.element_type), index)

    def _arguments(self, node: Any) -> dict[str, Any]:
        """By the names of the operator's schema, defaults included."""
        found: dict[str, Any] = {}
        for k, spec in enumerate(node.target._schema.arguments):
            if k < len(node.args):
                given = node.args[k]
            elif spec.name in node.kwargs:
                given = node.kwargs[spec.name]
            else:
                given = spec.default_value if spec.has_default_value() else None
            found[spec.name] = self._given(given)
        return found

    def _given(self, given: Any) -> Any:
        if isinstance(given, list | tuple):
            return [self._given(v) for v in given]
        if hasattr(given, "op") and hasattr(given, "meta"):
            return self.values[given]
        return given

    def _results(self, node: Any) -> list[tuple[Value, Buffer]]:
        """Each result with its dims in the order in which eager PyTorch has them in memory."""
        found = []
        for result in node.args[0] if isinstance(node.args[0], list | tuple) else [node.args[0]]:
            value, buffer = self.values[result], self.layout(result.meta["val"])
            if not is_value(value):
                raise Refused("of something that is no tensor")
            found.append((permuted(value, buffer.order), buffer))
        return found


def _results_of(meta: Any) -> tuple[Any, ...]:
    listed = meta if isinstance(meta, tuple | list) else (meta,)
    return tuple(_kind_of(m) for m in listed)


def _kind_of(meta: Any) -> Any:
    if not _is_tensor(meta) or str(meta.dtype) not in ELEMENTS:
        return None
    return tensor_type([known(n) for n in meta.shape], element_type(str(meta.dtype)))
