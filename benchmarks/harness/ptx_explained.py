"""Mutants that nothing catches and no computed argument excuses: by hand, why they make no difference."""

from __future__ import annotations

import re

from harness.ptx_mutants import Mutant

# kernel, kind, instruction (regular expressions), why
EXPLAINED = (
    ("emitted_.*", "operands", r"sh[lr]\.", "threads trade places: another swizzle, or other lanes for the same elements"),
    ("emitted_.*", "operands", r"setp\.gt", "other rows of padding are zeroed, which nobody reads"),
    ("emitted_attention_late", "element", r"st\.shared\.b32 .*\+128\]",
     "parts of a sum by warp: the last two warps have zeros, and before the parts lies a zero of the query tile's padding"),
    ("triton_matmul", "guard", "@!%p1 bra", "with K = 0, one turn of the loop adds the zeros of masked loads"),
    ("functions", "guard", r"@%p(11|18) bra", "sin, cos: bits of a large argument's remainder below its rounding"),
    ("functions", "operands", r"shl\.b32", "sin, cos: bits of a large argument's remainder below its rounding"),
    ("functions", "init", r"mov\.b32 .*, 0", "sin, cos of an infinity: a NaN whatever the quadrant is"),
    ("functions", "guard", r"@%p(26|28) bra", "pow of 1 and of 0: the general way computes the same"),
    ("layer_norm-f16", "operands", r"sub\.f32", "the square of a difference"),
    ("iree-convolution", "operands", r"setp\.lt\.u64", "elements beyond the tile, for results that are not stored"),
)  # fmt: skip


def explanation(kernel: str, mutant: Mutant) -> str:
    """Why a mutant of the kernel makes no difference; "" if nobody has said."""
    for name, kind, text, why in EXPLAINED:
        if kind == mutant.kind and re.fullmatch(name, kernel) and re.match(text, mutant.original.text):
            return why
    return ""
