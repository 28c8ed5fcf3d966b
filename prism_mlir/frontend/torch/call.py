"""One operator call of a graph: its arguments by name, and the types of what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from prism_mlir.frontend.stablehlo.build import (
    Refused,
    Value,
    empty,
    generic,
    index,
    moved,
    number,
    shape_of,
    tensor_type,
)
from prism_mlir.frontend.stablehlo.scalars import converted, is_float
from prism_mlir.frontend.stablehlo.tensors import groups

ELEMENTS = {
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.float32": "f32",
    "torch.float64": "f64",
    "torch.bool": "i1",
    "torch.int8": "i8",
    "torch.int32": "i32",
    "torch.int64": "i64",
}
"""Element types of PyTorch -> of MLIR, for those that a program may have."""

Body = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Call:
    """target: the operator with its overload, ``aten.add.Tensor``; arguments: values of the IR, numbers, lists, None;
    results: type of each result, None where it is no tensor that a program can hold"""

    target: str
    arguments: dict[str, Any]
    results: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument that overloads may not have."""
        found = self.arguments.get(name)
        return default if found is None else found

    @property
    def result(self) -> Any:
        """The type of the only, or first, result."""
        if self.results[0] is None:
            raise Refused("with a result of this type", "use f16, bf16, f32, bool or integers")
        return self.results[0]


def element_type(name: str) -> Any:
    """An element type by the name that PyTorch gives it. Raises :class:`Refused`."""
    from mlir import ir

    if name not in ELEMENTS:
        raise Refused(f"on {name}", "use f16, bf16, f32, bool or integers")
    return ir.Type.parse(ELEMENTS[name])


def is_value(given: Any) -> bool:
    """Whether an argument is a tensor of the program."""
    from mlir import ir

    return isinstance(given, ir.Value)


def computed_in(element: Any) -> Any:
    """The type that PyTorch computes an elementwise operator or a sum in: f32 for what is narrower."""
    from mlir import ir

    return ir.F32Type.get() if is_float(element) and element.width < 32 else element


def element_of(value: Value) -> Any:
    return value.type.element_type


def pointwise(kind: Any, operands: Sequence[Any], body: Body, compute: Any = None) -> Value:
    """``body`` of every element, in type ``compute`` (that of :func:`computed_in` by default), rounded to ``kind``.

    operands: tensors, which are broadcast to ``kind`` from the right, and numbers
    """
    compute = compute or computed_in(kind.element_type)
    tensors = [v for v in operands if is_value(v)]
    inputs = [(v, broadcast_places(shape_of(v), shape_of_kind(kind))) for v in tensors]

    def whole(given: list[Value]) -> list[Value]:
        scalars = iter(given)
        ready = [converted(next(scalars), compute) if is_value(v) else number(v, compute) for v in operands]
        return [converted(body(*ready), kind.element_type)]

    return generic(kind.rank, inputs, [(empty(kind, index), range(kind.rank))], whole)[0]


def shape_of_kind(kind: Any) -> list[int]:
    return [int(n) for n in kind.shape]


def sizes_of(value: Value) -> list[int]:
    """The shape of a tensor; all are static here."""
    return shape_of_kind(value.type)


def broadcast_places(shape: Sequence[int | None], target: Sequence[int]) -> list[int | None]:
    """For each dim of a tensor, the dim of the target that it lies on, None where it is repeated."""
    skip = len(target) - len(shape)
    if skip < 0:
        raise Refused("whose operands do not fit its result")
    return [None if n == 1 and target[skip + d] != 1 else skip + d for d, n in enumerate(shape)]


def expanded(value: Value, shape: Sequence[int]) -> Value:
    """A tensor broadcast to a shape, from the right."""
    if sizes_of(value) == list(shape):
        return value
    places = broadcast_places(shape_of(value), shape)
    return moved(value, places, tensor_type(shape, element_of(value)), index)


def reshaped(value: Value, shape: Sequence[int]) -> Value:
    """The same elements, in order, in another shape: a collapse to the sizes in common, and an expansion of those."""
    from mlir.dialects import tensor

    source, element = sizes_of(value), element_of(value)
    if source == list(shape):
        return value
    pairs = groups(source, shape)
    if any(len(s) > 1 for s, _ in pairs) or (pairs == [] and source):
        kind = tensor_type([prod(source[d] for d in s) for s, _ in pairs], element)
        value = tensor.CollapseShapeOp(kind, value, [s for s, _ in pairs]).result
    if any(len(t) > 1 for _, t in pairs) or (pairs == [] and shape):
        kind = tensor_type(shape, element)
        value = tensor.ExpandShapeOp(kind, value, [t for _, t in pairs], [], kind.shape).result
    return value


def permuted(value: Value, order: Sequence[int]) -> Value:
    """Dim ``k`` of the result is dim ``order[k]`` of the tensor."""
    order = [d % len(order) for d in order]
    if order == list(range(len(order))):
        return value
    shape = sizes_of(value)
    places: list[int | None] = [order.index(d) for d in range(len(order))]
    return moved(value, places, tensor_type([shape[d] for d in order], element_of(value)), index)


def cast(value: Value, element: Any) -> Value:
    """A tensor in another element type."""
    if element_of(value) == element:
        return value
    return pointwise(tensor_type(sizes_of(value), element), [value], lambda v: v, element_of(value))


def dims_of(given: Any, rank: int) -> list[int]:
    """Dims as PyTorch names them: one, a list, or all where there is none; in order."""
    if given is None or (isinstance(given, list | tuple) and not given):
        return list(range(rank))
    listed = given if isinstance(given, list | tuple) else [given]
    return sorted({int(d) % rank if rank else 0 for d in listed}) if rank else []
