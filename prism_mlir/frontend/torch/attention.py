"""Scaled dot-product attention, by its definition: the search finds the fused kernel."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.stablehlo.build import Refused, Value
from prism_mlir.frontend.torch.call import (
    Call,
    cast,
    element_of,
    expanded,
    pointwise,
    reshaped,
    shape_of_kind,
    sizes_of,
)
from prism_mlir.frontend.torch.products import contracted
from prism_mlir.frontend.torch.reductions import each, softmax
from prism_mlir.frontend.torch.scalars import Rule, add, compare, constant, times, where
from prism_mlir.frontend.torch.tensors import from_indices

_INFINITY = float("inf")


def _attention(call: Call) -> list[Value]:
    """``softmax(scale q kT + mask) v`` of (batch, heads, tokens, features); fewer heads of k and v serve several of q.

    The tokens of the heads of q that share one of k and v are rows of one product.
    """
    query, key, value = call["query"], call["key"], call["value"]
    if call.get("dropout_p", 0.0):
        raise Refused("with dropout", "call eval() on the model")
    if any(v.type.rank not in (3, 4) for v in (query, key, value)):
        raise Refused("of tensors that have not four dims", "give batch, heads, tokens and features")
    query, key, value = (_with_heads(v) for v in (query, key, value))
    batch, heads, tokens, features = sizes_of(query)
    groups = sizes_of(key)[1]
    query = reshaped(query, [batch, groups, heads // groups * tokens, features])
    scale = call.get("scale")
    factor = float(features**-0.5 if scale is None else scale)
    scores = each(contracted(query, key, "bhqd,bhkd->bhqk"), body=lambda s: times(s, factor))
    weights = cast(softmax(_masked(call, scores, heads, tokens), 3), element_of(value))
    made = cast(contracted(weights, value, "bhqk,bhkd->bhqd"), call.result.element_type)
    rest: list[Any] = [None] * (len(call.results) - 1)
    return [reshaped(made, shape_of_kind(call.result)), *rest]


def _with_heads(value: Value) -> Value:
    """A tensor of three dims with one head."""
    sizes = sizes_of(value)
    return value if len(sizes) != 3 else reshaped(value, [sizes[0], 1, *sizes[1:]])


def _masked(call: Call, scores: Value, heads: int, tokens: int) -> Value:
    """Scores with the mask added, or minus infinity where it is false."""
    batch, groups, rows, keys = sizes_of(scores)
    mask = call.get("attn_mask", call.get("attn_bias"))
    kind = scores.type
    if mask is not None:
        mask = _with_heads(mask)
        if rows != tokens:
            mask = reshaped(expanded(mask, [batch, heads, tokens, keys]), [batch, groups, rows, keys])
        if str(element_of(mask)) == "i1":
            scores = where(mask, scores, -_INFINITY, kind)
        else:
            scores = pointwise(kind, [scores, mask], add)
    if call.get("is_causal", False):
        scores = where(_causal(rows, keys, tokens), scores, -_INFINITY, kind)
    return scores


def _causal(rows: int, keys: int, tokens: int) -> Value:
    """Truth values: whether a key is not later than a row's token. Rows count the tokens once for every head."""

    def body(row: Value, key: Value) -> Value:
        from mlir.dialects import arith

        token = row if rows == tokens else arith.RemUIOp(row, constant(row, tokens)).result
        return compare("le")(key, token)

    return from_indices([rows, keys], body)


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
