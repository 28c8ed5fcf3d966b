"""All cases of ``test/corpus/triton``. A case needs no Triton; the kernels that it runs may be compiled now or kept as data."""

from __future__ import annotations

from collections.abc import Callable

import attention_cases
import product_cases
import row_cases
import vector_cases
from corpus_case import Case

CASES: dict[str, Callable[[], Case]] = {
    **vector_cases.CASES,
    **row_cases.CASES,
    **product_cases.CASES,
    **attention_cases.CASES,
}
# What the fast engine leaves to the reference engine today: atomics, integer products, and where threads of several warps
# store one value to one place, or only a warp's own barrier orders its accesses (suspected races, which the reference engine
# refutes).
LEFT_OUT = frozenset({
    "functions", "histogram-i32", "matmul-f16-16x32x32-w1-s1", "matmul-f16-transposed", "matmul-i8-64x32x64-w4-s3",
    "matmul-tf32x3-32x32x32-w4-s2", "matmul-f64-32x32x16-w4-s2", "split_k-f16-f32", "split_k-f16-f16", "attention-f16",
    "decode-f16", "atomics", "rearrange-f32",
})  # fmt: skip
