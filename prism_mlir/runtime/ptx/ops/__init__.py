"""The instruction table, one file a family; importing this package fills it."""

from __future__ import annotations

from prism_mlir.runtime.ptx.ops import (
    async_copy,
    atomics,
    bits,
    cache,
    compare,
    control,
    convert,
    dot,
    float_arith,
    half_arith,
    int_arith,
    loads,
    mbarrier,
    move,
    special_math,
    tensor,
    warp,
    wmma,
)

__all__ = [
    "async_copy",
    "atomics",
    "bits",
    "cache",
    "compare",
    "control",
    "convert",
    "dot",
    "float_arith",
    "half_arith",
    "int_arith",
    "loads",
    "mbarrier",
    "move",
    "special_math",
    "tensor",
    "warp",
    "wmma",
]
