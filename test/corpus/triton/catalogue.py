"""Every kernel in the forms that the tests compile: types, block sizes, warps, stages."""

from __future__ import annotations

from typing import Any

import triton.language as tl

from corpus.triton.atomics import atomics
from corpus.triton.attention import attention
from corpus.triton.compile import Spec
from corpus.triton.decode import decode_combine, decode_part
from corpus.triton.elementwise import cached_copy, convert, functions, half_arithmetic, integers, transpose
from corpus.triton.grouped_matmul import grouped_matmul
from corpus.triton.matmul import matmul
from corpus.triton.norms import layer_norm, rms_norm
from corpus.triton.random_numbers import dropout, random_integers, random_normal
from corpus.triton.rearrange import rearrange
from corpus.triton.scan import recurrence, running_sum
from corpus.triton.search import argmax, cross_entropy, histogram, sort_rows
from corpus.triton.softmax import softmax_online, softmax_row
from corpus.triton.split_k import split_k
from corpus.triton.vector_add import vector_add


def _types(**types: str) -> dict[str, str]:
    """Argument names and Triton's names of their types."""
    return types


def _matmul(
    element: str, out: str, block: tuple[int, int, int], warps: int, stages: int, aligned: str = "a b c",
    total: Any = tl.float32, precision: str = "tf32",
) -> Spec:  # fmt: skip
    integers = dict.fromkeys(("m", "n", "k", "row_a", "col_a", "row_b", "col_b"), "i32")
    types = {"a": f"*{element}", "b": f"*{element}", "c": f"*{out}", **integers}
    known = {"col_b": 1} if "row_b" in aligned else {}
    if "row_a" in aligned:
        known["col_a"] = 1
    m, n, k = block
    sizes = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 2, "SUM": total, "PRECISION": precision}
    return Spec(
        matmul, {name: t for name, t in types.items() if name not in known}, {**known, **sizes},
        frozenset(aligned.split()), warps, stages,
    )  # fmt: skip


def _attention(element: str, head: int, block: tuple[int, int], causal: bool, warps: int, stages: int) -> Spec:
    pointers = dict.fromkeys(("q", "k", "v", "out"), f"*{element}")
    return Spec(
        attention, {**pointers, "lse": "*fp32", "length": "i32", "scale": "fp32"},
        {"HEAD": head, "BLOCK_M": block[0], "BLOCK_N": block[1], "CAUSAL": causal},
        frozenset(("q", "k", "v", "out", "lse")), warps, stages,
    )  # fmt: skip


VECTORS: dict[str, Spec] = {
    "vector_add-f32": Spec(vector_add, _types(x="*fp32", y="*fp32", out="*fp32", n="i32"), {"BLOCK": 256}),
    "vector_add-f16": Spec(
        vector_add, _types(x="*fp16", y="*fp16", out="*fp16", n="i32"), {"BLOCK": 1024},
        frozenset(("x", "y", "out", "n")), 4,
    ),
    "vector_add-bf16": Spec(
        vector_add, _types(x="*bf16", y="*bf16", out="*bf16", n="i32"), {"BLOCK": 512},
        frozenset(("x", "y", "out")), 2,
    ),
    "vector_add-i64": Spec(vector_add, _types(x="*i64", y="*i64", out="*i64", n="i64"), {"BLOCK": 128}, num_warps=1),
    "functions": Spec(functions, _types(x="*fp32", out="*fp32", n="i32"), {"BLOCK": 128}),
    "convert-f32-f16": Spec(convert, _types(x="*fp32", out="*fp16", n="i32"), {"BLOCK": 256}, frozenset(("x", "out"))),
    "convert-f32-bf16": Spec(convert, _types(x="*fp32", out="*bf16", n="i32"), {"BLOCK": 256}, frozenset(("x", "out"))),
    "convert-f16-f64": Spec(convert, _types(x="*fp16", out="*fp64", n="i32"), {"BLOCK": 256}),
    "convert-f32-i8": Spec(convert, _types(x="*fp32", out="*i8", n="i32"), {"BLOCK": 256}),
    "convert-i64-f32": Spec(convert, _types(x="*i64", out="*fp32", n="i32"), {"BLOCK": 256}),
    "convert-f16-e5m2": Spec(convert, _types(x="*fp16", out="*fp8e5", n="i32"), {"BLOCK": 512}, frozenset(("x", "out"))),
    "integers-i64": Spec(integers, _types(x="*i64", out="*i64", n="i32"), {"BLOCK": 128}),
    "half_arithmetic-f16": Spec(
        half_arithmetic, _types(x="*fp16", y="*fp16", out="*fp16", n="i32"), {"BLOCK": 256}, frozenset(("x", "y", "out"))
    ),
    "half_arithmetic-bf16": Spec(half_arithmetic, _types(x="*bf16", y="*bf16", out="*bf16", n="i32"), {"BLOCK": 256}),
    "cached_copy-f32": Spec(
        cached_copy, _types(x="*fp32", out="*fp32", n="i32"), {"BLOCK": 512}, frozenset(("x", "out", "n"))
    ),
    "atomics": Spec(
        atomics, _types(x="*fp32", words="*i32", floats="*fp32", old="*i32", n="i32"), {"BLOCK": 128}, num_warps=2
    ),
    "transpose-f16": Spec(
        transpose, _types(x="*fp16", out="*fp16", rows="i32", columns="i32"), {"BLOCK_M": 32, "BLOCK_N": 64},
        frozenset(("x", "out")),
    ),
}  # fmt: skip

ROWS: dict[str, Spec] = {
    "softmax-f32": Spec(
        softmax_row, _types(x="*fp32", out="*fp32", columns="i32"), {"BLOCK": 1024}, frozenset(("x", "out"))
    ),
    "softmax-f16": Spec(
        softmax_row, _types(x="*fp16", out="*fp16", columns="i32"), {"BLOCK": 512},
        frozenset(("x", "out", "columns")), 2,
    ),
    "softmax_online-f32": Spec(
        softmax_online, _types(x="*fp32", out="*fp32", columns="i32"), {"BLOCK": 256}, frozenset(("x", "out")), 4, 2
    ),
    "layer_norm-f16": Spec(
        layer_norm,
        _types(x="*fp16", weight="*fp16", bias="*fp16", out="*fp16", mean_out="*fp32", scale_out="*fp32",
               columns="i32", eps="fp32"),
        {"BLOCK": 256}, frozenset(("x", "weight", "bias", "out", "columns")), 4,
    ),
    "rms_norm-bf16": Spec(
        rms_norm, _types(x="*bf16", weight="*bf16", out="*bf16", columns="i32", eps="fp32"), {"BLOCK": 512},
        frozenset(("x", "weight", "out")), 8,
    ),
    "running_sum-f32": Spec(running_sum, _types(x="*fp32", out="*fp32", columns="i32"), {"BLOCK": 512, "REVERSE": False}),
    "running_sum-i32": Spec(
        running_sum, _types(x="*i32", out="*i32", columns="i32"), {"BLOCK": 256, "REVERSE": True}, num_warps=2
    ),
    "recurrence-f32": Spec(recurrence, _types(decay="*fp32", x="*fp32", out="*fp32", columns="i32"), {"BLOCK": 128}),
    "argmax-f32": Spec(argmax, _types(x="*fp32", out="*i32", columns="i32"), {"BLOCK": 512}),
    "sort-i32": Spec(sort_rows, _types(x="*i32", out="*i32", columns="i32", largest="i32"), {"BLOCK": 128}),
    "histogram-i32": Spec(histogram, _types(x="*i32", out="*i32", n="i32"), {"BLOCK": 512, "BINS": 64}),
    "rearrange-f32": Spec(
        rearrange, _types(x="*fp32", moved="*fp32", largest="*fp32", totals="*fp32"), {"BLOCK": 128, "TOP": 16},
        frozenset(("x", "moved")),
    ),
    "cross_entropy-f16": Spec(
        cross_entropy, _types(logits="*fp16", label="*i64", loss="*fp32", columns="i32"), {"BLOCK": 512}
    ),
    "dropout-f32": Spec(dropout, _types(x="*fp32", out="*fp32", n="i32", rate="fp32", seed="i32"), {"BLOCK": 256}),
    "random_integers": Spec(random_integers, _types(out="*i32", n="i32", seed="i64"), {"BLOCK": 128}),
    "random_normal": Spec(random_normal, _types(out="*fp32", n="i32", seed="i32"), {"BLOCK": 128}),
}  # fmt: skip

PRODUCTS: dict[str, Spec] = {
    "matmul-f16-16x32x32-w1-s1": _matmul("fp16", "fp16", (16, 32, 32), 1, 1),
    "matmul-f16-64x64x32-w4-s3": _matmul("fp16", "fp16", (64, 64, 32), 4, 3, "a b c n k row_a row_b"),
    "matmul-f16-32x32x64-w2-s2": _matmul("fp16", "fp32", (32, 32, 64), 2, 2, "a b c n k row_a row_b"),
    "matmul-f16-128x64x32-w8-s4": _matmul("fp16", "fp16", (128, 64, 32), 8, 4, "a b c n k row_a row_b"),
    "matmul-f16-f16-32x64x32-w4-s3": _matmul("fp16", "fp16", (32, 64, 32), 4, 3, "a b c n k row_a row_b", tl.float16),
    "matmul-bf16-64x32x32-w4-s5": _matmul("bf16", "bf16", (64, 32, 32), 4, 5, "a b c n k row_a row_b"),
    "matmul-tf32-32x64x32-w4-s3": _matmul("fp32", "fp32", (32, 64, 32), 4, 3, "a b c n k row_a row_b"),
    "matmul-tf32x3-32x32x32-w4-s2": _matmul("fp32", "fp32", (32, 32, 32), 4, 2, "a b c n k row_a row_b", precision="tf32x3"),
    "matmul-f32-32x32x16-w4-s2": _matmul("fp32", "fp32", (32, 32, 16), 4, 2, "a b c n k row_a row_b", precision="ieee"),
    "matmul-i8-64x32x64-w4-s3": _matmul("i8", "i32", (64, 32, 64), 4, 3, "a b c n k row_a row_b", tl.int32),
    "matmul-f64-32x32x16-w4-s2": _matmul("fp64", "fp64", (32, 32, 16), 4, 2, "a b c n k row_a row_b", tl.float64, "ieee"),
    "matmul-e5m2-32x32x32-w4-s2": _matmul("fp8e5", "fp32", (32, 32, 32), 4, 2, "a b c n k row_a row_b"),
    "grouped_matmul-f16": Spec(
        grouped_matmul,
        _types(x="*fp16", weights="*fp16", out="*fp16", first_row="*i32", groups="i32", n="i32", k="i32"),
        {"PROGRAMS": 3, "BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}, frozenset(("x", "weights", "out", "n", "k")), 4, 3,
    ),
    "split_k-f16-f32": Spec(
        split_k, _types(a="*fp16", b="*fp16", c="*fp32", m="i32", n="i32", k="i32"),
        {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "PARTS": 3}, frozenset(("a", "b", "c", "n", "k")), 4, 2,
    ),
    "split_k-f16-f16": Spec(
        split_k, _types(a="*fp16", b="*fp16", c="*fp16", m="i32", n="i32", k="i32"),
        {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "PARTS": 2}, frozenset(("a", "b", "c", "n", "k")), 2, 3,
    ),
}  # fmt: skip

ATTENTION: dict[str, Spec] = {
    "attention-f16": _attention("fp16", 32, (32, 16), False, 4, 2),
    "attention-causal-f16": _attention("fp16", 32, (64, 32), True, 4, 3),
    "attention-causal-bf16": _attention("bf16", 32, (32, 32), True, 2, 4),
    "decode_part-f16": Spec(
        decode_part,
        _types(q="*fp16", k="*fp16", v="*fp16", part_out="*fp32", part_lse="*fp32", length="i32", chunk="i32",
               scale="fp32"),
        {"SHARE": 4, "HEAD": 32, "BLOCK_N": 32}, frozenset(("q", "k", "v", "part_out")), 4, 2,
    ),
    "decode_combine-f16": Spec(
        decode_combine,
        _types(part_out="*fp32", part_lse="*fp32", out="*fp16", parts="i32", rows="i32"),
        {"HEAD": 32, "PARTS": 8}, frozenset(("part_out", "out")), 2,
        contract=False,  # see test_corpus_triton
    ),
}  # fmt: skip

SPECS: dict[str, Spec] = {**VECTORS, **ROWS, **PRODUCTS, **ATTENTION}
