"""Products of matrices, summed in f32 and rounded once."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, filled, generic, index, number, tensor_type
from prism_mlir.frontend.stablehlo.scalars import converted, is_float
from prism_mlir.frontend.torch.call import (
    Call,
    cast,
    computed_in,
    element_of,
    expanded,
    pointwise,
    shape_of_kind,
    sizes_of,
)
from prism_mlir.frontend.torch.scalars import Rule, add, multiply, times


def contracted(left: Value, right: Value, subscripts: str) -> Value:
    """A sum of products by Einstein's convention, ``bij,bjk->bik``, in the type that sums are computed in."""
    sides, out = subscripts.split("->")
    names = sides.split(",")
    summed = [n for n in dict.fromkeys("".join(names)) if n not in out]
    loops = [*out, *summed]
    size: dict[str, int] = {}
    for value, places in zip((left, right), names, strict=True):
        size |= dict(zip(places, sizes_of(value), strict=True))
    element = computed_in(element_of(left))
    if not is_float(element):
        raise Refused(f"on elements of type {element}", "use f16, bf16 or f32")
    start = filled(tensor_type([size[n] for n in out], element), index, number(0, element))

    def body(given: list[Value]) -> list[Value]:
        a, b = (converted(v, element) for v in given[:2])
        return [add(given[2], multiply(a, b))]

    inputs = [(v, [loops.index(n) for n in p]) for v, p in zip((left, right), names, strict=True)]
    reduced = range(len(out), len(loops))
    return generic(len(loops), inputs, [(start, range(len(out)))], body, reduced)[0]


def _product(left: str, right: str, subscripts: str) -> Rule:
    return lambda call: [cast(contracted(call[left], call[right], subscripts), call.result.element_type)]


def _added(left: str, right: str, subscripts: str) -> Rule:
    """``beta self + alpha (left right)``."""

    def rule(call: Call) -> list[Value]:
        product = contracted(call[left], call[right], subscripts)
        alpha, beta = call.get("alpha", 1), call.get("beta", 1)

        def body(p: Value, *summand: Value) -> Value:
            scaled = p if alpha == 1 else times(p, alpha)
            return add(scaled, summand[0] if beta == 1 else times(summand[0], beta)) if summand else scaled

        return [pointwise(call.result, [product, *([] if beta == 0 else [call["self"]])], body)]

    return rule


def _matmul(call: Call) -> list[Value]:
    """Of any ranks: a missing dim of a vector is summed over, dims before the last two are a batch, which is broadcast."""
    left, right = call["self"], call["other"]
    if left.type.rank > 2 and right.type.rank > 2:
        batch = shape_of_kind(call.result)[:-2]
        left, right = (expanded(v, [*batch, *sizes_of(v)[-2:]]) for v in (left, right))
    a, b = _letters(left, "ik", "k"), _letters(right, "kj", "k")
    names = max(a[: -min(2, len(a))], b[: -min(2, len(b))], key=len)
    out = names + ("i" if "i" in a else "") + ("j" if "j" in b else "")
    return [cast(contracted(left, right, f"{a},{b}->{out}"), call.result.element_type)]


def _letters(value: Value, matrix: str, vector: str) -> str:
    rank = value.type.rank
    return vector if rank == 1 else "abcdefgh"[: rank - 2][::-1] + matrix


def _linear(call: Call) -> list[Value]:
    """``input weightT + bias``."""
    value, weight, bias = call["input"], call["weight"], call.get("bias")
    batch = "abcdefgh"[: value.type.rank - 1]
    product = contracted(value, weight, f"{batch}k,jk->{batch}j")
    operands: list[Any] = [product] if bias is None else [product, bias]
    return [pointwise(call.result, operands, add if bias is not None else lambda p: p)]


RULES: dict[str, Rule] = {
    "aten.addmm": _added("mat1", "mat2", "ik,kj->ij"),
    "aten.addmv": _added("mat", "vec", "ik,k->i"),
    "aten.baddbmm": _added("batch1", "batch2", "bik,bkj->bij"),
    "aten.bmm": _product("self", "mat2", "bik,bkj->bij"),
    "aten.dot": _product("self", "tensor", "k,k->"),
    "aten.linear": _linear,
    "aten.matmul": _matmul,
    "aten.mm": _product("self", "mat2", "ik,kj->ij"),
    "aten.mv": _product("self", "vec", "ik,k->i"),
}
