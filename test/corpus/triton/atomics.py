"""Every atomic operation on one word a kind, from many threads and blocks."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def atomics(x, words, floats, old, n, BLOCK: tl.constexpr):
    """``words`` (8): and, or, xor, signed maximum and minimum, sum, compare-and-swap, number of programs.

    ``floats`` (2 + n): maximum and minimum of ``x``, and ``x`` exchanged in; ``old`` (programs): what each found in the last
    word.
    """
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    same = i * 0
    tl.atomic_and(words + same, i, mask=inside)
    tl.atomic_or(words + 1 + same, i, mask=inside, sem="relaxed")
    tl.atomic_xor(words + 2 + same, i, mask=inside)
    tl.atomic_max(words + 3 + same, i - 7, mask=inside, sem="release")
    tl.atomic_min(words + 4 + same, i - 7, mask=inside)
    tl.atomic_add(words + 5 + same, i, mask=inside, sem="acquire", scope="sys")
    tl.atomic_cas(words + 6, 0, 5)
    before = tl.atomic_add(words + 7, 1)
    tl.store(old + tl.program_id(0), before)
    v = tl.load(x + i, mask=inside)
    tl.atomic_max(floats + same, v, mask=inside)
    tl.atomic_min(floats + 1 + same, v, mask=inside)
    tl.atomic_xchg(floats + 2 + i, v, mask=inside)
