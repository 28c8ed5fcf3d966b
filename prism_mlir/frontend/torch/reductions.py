"""Sums, means, extrema, variances, softmax, and the normalisations made from them. Everything in f32, rounded at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, filled, generic, index, number, tensor_type
from prism_mlir.frontend.stablehlo.scalars import converted, is_float
from prism_mlir.frontend.torch.call import (
    Call,
    cast,
    computed_in,
    dims_of,
    element_of,
    pointwise,
    reshaped,
    shape_of_kind,
    sizes_of,
)
from prism_mlir.frontend.torch.scalars import (
    Rule,
    add,
    divide,
    exp,
    log,
    maximum,
    minimum,
    multiply,
    plus,
    rsqrt,
    sqrt,
    subtract,
)

_INFINITY = float("inf")


def reduced(value: Value, dims: Sequence[int], combine: Callable[[Value, Value], Value], start: float) -> Value:
    """A tensor of floats reduced over dims, which stay with size 1, in the type that sums are computed in."""
    element = computed_in(element_of(value))
    if not is_float(element):
        raise Refused(f"on elements of type {element}")
    shape, rank = sizes_of(value), value.type.rank
    kept = [d for d in range(rank) if d not in dims]
    kind = tensor_type([shape[d] for d in kept], element)
    begin = filled(kind, index, number(start, element))

    def body(given: list[Value]) -> list[Value]:
        return [combine(given[1], converted(given[0], element))]

    (made,) = generic(rank, [(value, range(rank))], [(begin, kept)], body, dims)
    return reshaped(made, [1 if d in dims else n for d, n in enumerate(shape)])


def total(value: Value, dims: Sequence[int]) -> Value:
    return reduced(value, dims, add, 0)


def like(value: Value, element: Any) -> Any:
    """The type of a tensor with other elements."""
    return tensor_type(sizes_of(value), element)


def each(value: Value, *others: Any, body: Callable[..., Value]) -> Value:
    """``body`` of every element, in the type that PyTorch computes in, not rounded."""
    kind = like(value, computed_in(element_of(value)))
    return pointwise(kind, [value, *others], body)


def mean(value: Value, dims: Sequence[int]) -> Value:
    count = prod(sizes_of(value)[d] for d in dims)
    return each(total(value, dims), body=lambda s: divide(s, number(count, s.type)))


def centred(value: Value, dims: Sequence[int]) -> Value:
    return each(value, mean(value, dims), body=subtract)


def squares(value: Value, dims: Sequence[int]) -> Value:
    return total(each(value, body=lambda x: multiply(x, x)), dims)


def softmax(value: Value, d: int) -> Value:
    """``exp(x - max x)`` over its sum."""
    highest = reduced(value, [d], maximum, -_INFINITY)
    raised = each(value, highest, body=lambda x, m: exp(subtract(x, m)))
    return each(raised, total(raised, [d]), body=divide)


def _shown(call: Call, value: Value, k: int = 0) -> Value:
    """A value as the result of a call: its shape, its element type."""
    kind = call.results[k]
    return cast(reshaped(value, shape_of_kind(kind)), kind.element_type)


def _dims(call: Call) -> list[int]:
    return dims_of(call.get("dim"), call["self"].type.rank)


def _widened(call: Call) -> Value:
    """The argument in the type that ``dtype`` asks for."""
    return cast(call["self"], call.result.element_type) if call.get("dtype") is not None else call["self"]


def _sum(call: Call) -> list[Value]:
    return [_shown(call, total(_widened(call), _dims(call)))]


def _mean(call: Call) -> list[Value]:
    return [_shown(call, mean(_widened(call), _dims(call)))]


def _extremum(combine: Callable[[Value, Value], Value], start: float) -> Rule:
    return lambda call: [_shown(call, reduced(call["self"], _dims(call), combine, start))]


def _correction(call: Call) -> float:
    given = call.arguments.get("correction", 1)
    if "unbiased" in call.arguments:
        given = 1 if call["unbiased"] else 0
    return 1.0 if given is None else float(given)


def _variance(call: Call, root: bool = False) -> Value:
    dims = _dims(call)
    count = prod(sizes_of(call["self"])[d] for d in dims) - _correction(call)
    if count <= 0:
        raise Refused("of too few elements")

    def body(s: Value) -> Value:
        made = divide(s, number(count, s.type))
        return sqrt(made) if root else made

    return each(squares(centred(call["self"], dims), dims), body=body)


def _var(call: Call) -> list[Value]:
    return [_shown(call, _variance(call))]


def _std(call: Call) -> list[Value]:
    return [_shown(call, _variance(call, root=True))]


def _var_mean(call: Call) -> list[Value]:
    return [_shown(call, _variance(call)), _shown(call, mean(call["self"], _dims(call)), 1)]


def _softmax(call: Call) -> list[Value]:
    value = _widened(call)
    return [_shown(call, softmax(value, call["dim"] % value.type.rank))]


def _log_softmax(call: Call) -> list[Value]:
    value = _widened(call)
    d = call["dim"] % value.type.rank
    lower = each(value, reduced(value, [d], maximum, -_INFINITY), body=subtract)
    sums = total(each(lower, body=exp), [d])
    return [_shown(call, each(lower, sums, body=lambda x, s: subtract(x, log(s))))]


def _layer_norm(call: Call) -> list[Value]:
    """Result, mean and reciprocal deviation."""
    value, weight, bias = call["input"], call.get("weight"), call.get("bias")
    dims = _last(value, call["normalized_shape"])
    count = prod(sizes_of(value)[d] for d in dims)
    middle = centred(value, dims)
    eps = float(call["eps"])
    scale = each(squares(middle, dims), body=lambda s: rsqrt(plus(divide(s, number(count, s.type)), eps)))
    made = each(middle, scale, body=multiply)
    if weight is not None:
        made = each(made, weight, body=multiply)
    if bias is not None:
        made = each(made, bias, body=add)
    rest = [_shown(call, v, k) for k, v in ((1, mean(value, dims)), (2, scale))]
    return [_shown(call, made), *rest]


def _rms_norm(call: Call) -> list[Value]:
    """Result and reciprocal root of the mean square."""
    value, weight = call["input"], call.get("weight")
    dims = _last(value, call["normalized_shape"])
    count, eps = prod(sizes_of(value)[d] for d in dims), call.get("eps")
    if eps is None:  # that of the type that it is computed in
        eps = 2.0**-52 if str(element_of(value)) == "f64" else 2.0**-23
    scale = each(squares(value, dims), body=lambda s: rsqrt(plus(divide(s, number(count, s.type)), float(eps))))
    made = each(value, scale, body=multiply)
    if weight is not None:
        made = each(made, weight, body=multiply)
    return [_shown(call, made), _shown(call, scale, 1)]


def _last(value: Value, shape: Sequence[int]) -> list[int]:
    return list(range(value.type.rank))[-len(shape) :]


RULES: dict[str, Rule] = {
    "aten._fused_rms_norm": _rms_norm,
    "aten._log_softmax": _log_softmax,
    "aten._safe_softmax": _softmax,
    "aten._softmax": _softmax,
    "aten.amax": _extremum(maximum, -_INFINITY),
    "aten.amin": _extremum(minimum, _INFINITY),
    "aten.mean": _mean,
    "aten.native_layer_norm": _layer_norm,
    "aten.std": _std,
    "aten.sum": _sum,
    "aten.var": _var,
    "aten.var_mean": _var_mean,
}
