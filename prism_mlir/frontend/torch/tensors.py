"""Operators that move elements, and those that make tensors from nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, empty, filled, generic, index, number, tensor_type
from prism_mlir.frontend.stablehlo.scalars import converted, is_float
from prism_mlir.frontend.stablehlo.tensors import inserted
from prism_mlir.frontend.torch.call import (
    Call,
    cast,
    element_of,
    expanded,
    is_value,
    permuted,
    reshaped,
    shape_of_kind,
    sizes_of,
)
from prism_mlir.frontend.torch.scalars import Rule, add, compare, constant, multiply, where


def _same(call: Call) -> list[Value]:
    return [call["self"]]


def _reshape(call: Call) -> list[Value]:
    """Views whose shape is known from the result: of the same elements, in order."""
    if element_of(call["self"]) != call.result.element_type:
        raise Refused("as another type")
    return [reshaped(call["self"], shape_of_kind(call.result))]


def _expand(call: Call) -> list[Value]:
    return [expanded(call["self"], shape_of_kind(call.result))]


def _repeat(call: Call) -> list[Value]:
    """Only of dims of size 1, which is a broadcast."""
    source, target = sizes_of(call["self"]), shape_of_kind(call.result)
    whole = [1] * (len(target) - len(source)) + source
    if any(n not in (1, m) for n, m in zip(whole, target, strict=True)):
        raise Refused("of a dim that is not 1", "use expand, or cat")
    return [expanded(call["self"], target)]


def _permute(call: Call) -> list[Value]:
    return [permuted(call["self"], call["dims"])]


def _transpose(call: Call) -> list[Value]:
    rank = call["self"].type.rank
    order = list(range(rank))
    if rank:
        a, b = call["dim0"] % rank, call["dim1"] % rank
        order[a], order[b] = b, a
    return [permuted(call["self"], order)]


def _t(call: Call) -> list[Value]:
    return [permuted(call["self"], range(call["self"].type.rank)[::-1])]


def sliced(value: Value, d: int, start: int, count: int, step: int = 1) -> Value:
    """Elements ``start, start + step, ...`` of a dim."""
    from mlir.dialects import tensor

    sizes = sizes_of(value)
    if sizes[d] == count and step == 1:
        return value
    rank = len(sizes)
    low = [start if k == d else 0 for k in range(rank)]
    steps = [step if k == d else 1 for k in range(rank)]
    sizes[d] = count
    kind = tensor_type(sizes, element_of(value))
    return tensor.ExtractSliceOp(kind, value, [], [], [], low, sizes, steps).result


def _clipped(place: int, size: int) -> int:
    return min(max(place + size if place < 0 else place, 0), size)


def _slice(call: Call) -> list[Value]:
    value = call["self"]
    d = call.get("dim", 0) % value.type.rank
    start = _clipped(call.get("start", 0), sizes_of(value)[d])
    return [sliced(value, d, start, shape_of_kind(call.result)[d], call.get("step", 1))]


def _select(call: Call) -> list[Value]:
    value = call["self"]
    d = call["dim"] % value.type.rank
    place = call["index"] % sizes_of(value)[d]
    return [reshaped(sliced(value, d, place, 1), shape_of_kind(call.result))]


def _split(call: Call) -> list[Value]:
    """One part after the other, as long as the results are."""
    value = call["self"]
    d = call.get("dim", 0) % value.type.rank
    parts, start = [], 0
    for kind in call.results:
        count = shape_of_kind(kind)[d]
        parts.append(sliced(value, d, start, count))
        start += count
    return parts


def _unbind(call: Call) -> list[Value]:
    value = call["self"]
    d = call.get("dim", 0) % value.type.rank
    return [reshaped(sliced(value, d, k, 1), shape_of_kind(kind)) for k, kind in enumerate(call.results)]


def concatenated(values: list[Value], d: int, kind: Any) -> Value:
    """Tensors written into a new one, one after the other."""
    whole, start = empty(kind, index), 0
    for value in values:
        offsets = [start if k == d else 0 for k in range(kind.rank)]
        whole = inserted(value, whole, offsets)
        start += sizes_of(value)[d]
    return whole


def _cat(call: Call) -> list[Value]:
    kind = call.result
    d = call.get("dim", 0) % kind.rank
    values = [v for v in call["tensors"] if sizes_of(v) != [0]]
    return [concatenated([cast(v, kind.element_type) for v in values], d, kind)]


def _stack(call: Call) -> list[Value]:
    kind = call.result
    d = call.get("dim", 0) % kind.rank
    one = [1 if k == d else n for k, n in enumerate(shape_of_kind(kind))]
    return [concatenated([reshaped(cast(v, kind.element_type), one) for v in call["tensors"]], d, kind)]


def _pad(call: Call) -> list[Value]:
    """By a constant; ``pad`` lists the last dim first."""
    kind, pad = call.result, call["pad"]
    if any(n < 0 for n in pad):
        raise Refused("by a negative number", "use a slice")
    low = [0] * kind.rank
    for k in range(len(pad) // 2):
        low[kind.rank - 1 - k] = pad[2 * k]
    return [inserted(call["self"], full(kind, call.get("value", 0)), low)]


def full(kind: Any, value: Any) -> Value:
    """One number everywhere, or the element of a tensor without dims."""
    if is_value(value):
        return expanded(cast(value, kind.element_type), shape_of_kind(kind))
    return filled(kind, index, number(value, kind.element_type))


def _full(name: str | None, value: float = 0) -> Rule:
    return lambda call: [full(call.result, value if name is None else call[name])]


def index_along(kind: Any, d: int, body: Any) -> Value:
    """A tensor made from the index along a dim, as i64."""
    from mlir import ir
    from mlir.dialects import arith, linalg

    def whole(_given: list[Value]) -> list[Value]:
        wide = arith.IndexCastOp(ir.IntegerType.get_signless(64), linalg.IndexOp(d).result).result
        return [converted(body(wide), kind.element_type)]

    return generic(kind.rank, [], [(empty(kind, index), range(kind.rank))], whole)[0]


def _arange(call: Call) -> list[Value]:
    kind, start, step = call.result, call.get("start", 0), call.get("step", 1)

    def body(k: Value) -> Value:
        wide = converted(k, kind.element_type) if is_float(kind.element_type) else k
        return add(multiply(wide, constant(wide, step)), constant(wide, start))

    return [index_along(kind, 0, body)]


def from_indices(shape: Sequence[int], body: Callable[..., Value]) -> Value:
    """Truth values made from the indices of each element, as i64."""
    from mlir import ir
    from mlir.dialects import arith, linalg

    def whole(_given: list[Value]) -> list[Value]:
        wide = ir.IntegerType.get_signless(64)
        return [body(*(arith.IndexCastOp(wide, linalg.IndexOp(d).result).result for d in range(len(shape))))]

    truth = tensor_type(shape, ir.IntegerType.get_signless(1))
    return generic(len(shape), [], [(empty(truth, index), range(len(shape)))], whole)[0]


def triangle(shape: Sequence[int], diagonal: int, lower: bool) -> Value:
    """Truth values: whether an element of a matrix is on the diagonal, or below (above) it."""
    return from_indices(shape, lambda i, j: compare("le" if lower else "ge")(j, add(i, constant(i, diagonal))))


def _triangle(lower: bool) -> Rule:
    def rule(call: Call) -> list[Value]:
        kind = call.result
        zero = False if str(kind.element_type) == "i1" else 0
        mask = triangle(shape_of_kind(kind)[-2:], call.get("diagonal", 0), lower)
        return [where(mask, call["self"], zero, kind)]

    return rule


def _scalar(call: Call) -> list[Value]:
    return [full(call.result, call["s"])]


_VIEWS = ("view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "flatten", "unflatten")

RULES: dict[str, Rule] = {
    **{f"aten.{name}": _reshape for name in _VIEWS},
    **{f"aten.{name}": _same for name in ("alias", "clone", "contiguous", "detach")},
    "aten.arange": _arange,
    "aten.cat": _cat,
    "aten.constant_pad_nd": _pad,
    "aten.expand": _expand,
    "aten.full": _full("fill_value"),
    "aten.full_like": _full("fill_value"),
    "aten.new_full": _full("fill_value"),
    "aten.new_ones": _full(None, 1),
    "aten.new_zeros": _full(None),
    "aten.ones": _full(None, 1),
    "aten.ones_like": _full(None, 1),
    "aten.permute": _permute,
    "aten.repeat": _repeat,
    "aten.scalar_tensor": _scalar,
    "aten.select.int": _select,
    "aten.slice.Tensor": _slice,
    "aten.split": _split,
    "aten.split_with_sizes": _split,
    "aten.stack": _stack,
    "aten.t": _t,
    "aten.transpose.int": _transpose,
    "aten.tril": _triangle(True),
    "aten.triu": _triangle(False),
    "aten.unbind": _unbind,
    "aten.zeros": _full(None),
    "aten.zeros_like": _full(None),
}

VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        *("view", "_unsafe_view", "squeeze", "unsqueeze", "alias", "detach", "expand", "permute", "select", "slice"),
        *("split", "split_with_sizes", "t", "transpose", "unbind"),
    )
)
"""Operators that return memory of their argument."""
