"""Scaled dot-product attention, by its definition: the search finds the fused kernel."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value, tensor_type
from prism_mlir.frontend.torch.call import Call, cast, computed_in, element_of, pointwise, reshaped, sizes_of
from prism_mlir.frontend.torch.products import contracted
from prism_mlir.frontend.torch.reductions import each, softmax
from prism_mlir.frontend.torch.scalars import Rule, add, times, where
from prism_mlir.frontend.torch.tensors import triangle

_INFINITY = float("inf")


def _attention(call: Call) -> list[Value]:
    """``softmax(scale q kT + mask) v`` of (batch, heads, tokens, features); fewer heads of k and v serve several of q."""
    query, key, value = call["query"], call["key"], call["value"]
    if call.get("dropout_p", 0.0):
        raise Refused("with dropout", "call eval() on the model")
    if any(v.type.rank != 4 for v in (query, key, value)):
        raise Refused("of tensors that have not four dims", "give batch, heads, tokens and features")
    batch, heads, tokens, features = sizes_of(query)
    groups = sizes_of(key)[1]
    query = reshaped(query, [batch, groups, heads // groups, tokens, features])
    scale = call.get("scale")
    factor = float(features**-0.5 if scale is None else scale)
    scores = contracted(query, key, "bhgqd,bhkd->bhgqk")
    scores = _masked(call, each(scores, body=lambda s: times(s, factor)), heads)
    weights = cast(softmax(scores, 4), element_of(value))
    made = contracted(weights, value, "bhgqk,bhkd->bhgqd")
    made = cast(made, call.result.element_type)
    rest: list[Any] = [None] * (len(call.results) - 1)
    return [reshaped(made, [batch, heads, tokens, sizes_of(value)[3]]), *rest]


def _masked(call: Call, scores: Value, heads: int) -> Value:
    """Scores with the mask added, or minus infinity where it is false."""
    _, groups, each_group, tokens, keys = sizes_of(scores)
    mask = call.get("attn_mask", call.get("attn_bias"))
    kind = scores.type
    if mask is not None:
        if mask.type.rank == 4:
            b, h, q, k = sizes_of(mask)
            shape = [b, groups, each_group, q, k] if h == heads else [b, h, 1, q, k]
            mask = reshaped(mask, shape)
        if str(element_of(mask)) == "i1":
            scores = where(mask, scores, -_INFINITY, kind)
        else:
            scores = pointwise(kind, [scores, mask], add)
    if call.get("is_causal", False):
        square = tensor_type([tokens, keys], computed_in(element_of(scores)))
        scores = where(triangle(square, 0, lower=True), scores, -_INFINITY, kind)
    return scores


_NAMES = (
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_fused_attention_overrideable",
    "scaled_dot_product_attention",
)

RULES: dict[str, Rule] = {f"aten.{name}": _attention for name in _NAMES}
