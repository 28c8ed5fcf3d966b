"""A few rows times one or two weight matrices, with what stands around such products: RMSNorm or LayerNorm before, SiLU or GELU
and the product of both results after, a residual.

Three choices make these fast, and which of them pay depends on the sizes, so each is a parameter. The product may be taken
transposed (SWAP), so that weights fill the 16 rows of a tensor-core operand and eight tokens its 8 columns. Statistics of a row
come from a pass of their own (PASS), or from the tensor cores, as the diagonal of x times x transposed (GRAM): taking them from
the tile of the product would force that tile into a layout with bank conflicts. Blocks may share out K, for a second kernel to
add up.
"""

from __future__ import annotations

import triton
import triton.language as tl

NONE, PASS, GRAM, LAYER = 0, 1, 2, 3  # NORM
SILU, GELU = 1, 2  # ACT


@triton.jit
def activated(x, ACT: tl.constexpr):
    if ACT == 1:
        x = x / (1.0 + tl.exp(-x))
    if ACT == 2:
        x = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    return x


@triton.jit
def product(a, w, k, n, acc, STRIDE: tl.constexpr, K_INSIDE: tl.constexpr, SWAP: tl.constexpr):
    """Adds a tile of x times a tile of weights, which lie as (K, N) or, with K_INSIDE, as (N, K)."""
    if K_INSIDE:
        b = tl.trans(tl.load(w + n[:, None] * STRIDE + k[None, :]))
    else:
        b = tl.load(w + k[:, None] * STRIDE + n[None, :])
    if SWAP:
        acc = tl.dot(tl.trans(b), tl.trans(a), acc)
    else:
        acc = tl.dot(a, b, acc)
    return acc


@triton.jit
def statistics(x, m, here, eps, K: tl.constexpr, CHUNK: tl.constexpr, LAYER: tl.constexpr):
    """Mean (zero for RMSNorm) and reciprocal deviation of each row."""
    total = tl.zeros(m.shape, tl.float32)
    squares = tl.zeros(m.shape, tl.float32)
    for start in tl.static_range(0, K, CHUNK):
        k = start + tl.arange(0, CHUNK)
        wide = tl.load(x + m[:, None] * K + k[None, :], mask=here, other=0.0).to(tl.float32)
        squares += tl.sum(wide * wide, 1)
        if LAYER:
            total += tl.sum(wide, 1)
    mean = total / K
    return mean, 1.0 / tl.sqrt(squares / K - mean * mean + eps)


@triton.jit
def skinny(
    x, w, v, gain, shift, rest, out, eps,
    ROWS: tl.constexpr, K: tl.constexpr, N: tl.constexpr, STRIDE: tl.constexpr, V_AT: tl.constexpr, K_INSIDE: tl.constexpr,
    NORM: tl.constexpr, GAIN: tl.constexpr, GATE: tl.constexpr, ACT: tl.constexpr, REST: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, CHUNK: tl.constexpr, SWAP: tl.constexpr,
    SPLITS: tl.constexpr,
):  # fmt: skip
    """``x``, ``rest``: (ROWS, K), (ROWS, N); ``w`` and, with GATE, ``v`` from element V_AT: rows STRIDE apart; ``gain``,
    ``shift``: (K,). ``out``: (ROWS, N), or with SPLITS f32 (SPLITS, ROWS, N), without ACT and what follows. ROWS <= BLOCK_M;
    blocks divide.
    """
    m = tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    here = m[:, None] < ROWS
    if SWAP:
        first = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    else:
        first = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    second = first
    gram = tl.zeros((BLOCK_M, BLOCK_M), tl.float32)
    mean = tl.zeros((BLOCK_M,), tl.float32)
    factor = mean
    if NORM == 1 or NORM == 3:
        mean, factor = statistics(x, m, here, eps, K, CHUNK, NORM == 3)
    share: tl.constexpr = K // SPLITS
    for start in range(tl.program_id(1) * share, (tl.program_id(1) + 1) * share, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=here, other=0.0)
        if NORM == 2:
            gram = tl.dot(a, tl.trans(a), gram)
        if NORM == 3:
            wide = (a.to(tl.float32) - mean[:, None]) * factor[:, None]
            a = (wide * tl.load(gain + k)[None, :] + tl.load(shift + k)[None, :]).to(a.dtype)
        elif GAIN:
            a = a * tl.load(gain + k)[None, :]
        first = product(a, w, k, n, first, STRIDE, K_INSIDE, SWAP)
        if GATE:
            second = product(a, v + V_AT, k, n, second, STRIDE, K_INSIDE, SWAP)
    if NORM == 2:
        factor = 1.0 / tl.sqrt(tl.sum(tl.where(m[:, None] == m[None, :], gram, 0.0), 1) / K + eps)
    if SWAP:
        first = tl.trans(first)
        second = tl.trans(second)
    if NORM == 1 or NORM == 2:
        first *= factor[:, None]
        second *= factor[:, None]
    first = activated(first, ACT)
    if GATE:
        first *= second
    if REST:
        first += tl.load(rest + m[:, None] * N + n[None, :], mask=here, other=0.0)
    at = (tl.program_id(1) * ROWS + m[:, None]) * N + n[None, :]
    tl.store(out + at, first.to(out.dtype.element_ty), mask=here)


@triton.jit
def add_up(parts, rest, out, SPLITS: tl.constexpr, SIZE: tl.constexpr, REST: tl.constexpr, BLOCK: tl.constexpr):
    """``parts``: f32 (SPLITS, SIZE); ``rest``, ``out``: (SIZE,)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for part in tl.static_range(SPLITS):
        total += tl.load(parts + part * SIZE + i)
    if REST:
        total += tl.load(rest + i)
    tl.store(out + i, total.to(out.dtype.element_ty))


@triton.jit
def columns(
    a, x, w, out, factor, m, here, n,
    ROWS: tl.constexpr, K: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr, SWAP: tl.constexpr,
):  # fmt: skip
    """Some columns of x times one matrix (K, N)."""
    acc = a
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        tile = tl.load(x + m[:, None] * K + k[None, :], mask=here, other=0.0)
        acc = product(tile, w, k, n, acc, N, False, SWAP)
    if SWAP:
        acc = tl.trans(acc)
    acc *= factor[:, None]
    tl.store(out + m[:, None] * N + n[None, :], acc.to(out.dtype.element_ty), mask=here)


@triton.jit
def norm_qkv(
    x, wq, wk, wv, q, k, v, eps,
    ROWS: tl.constexpr, K: tl.constexpr, NQ: tl.constexpr, NK: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, CHUNK: tl.constexpr, SWAP: tl.constexpr,
):  # fmt: skip
    """RMSNorm, then three products: ``wq``: (K, NQ), ``wk``, ``wv``: (K, NK). One program a block of columns of all three."""
    m = tl.arange(0, BLOCK_M)
    here = m[:, None] < ROWS
    _, factor = statistics(x, m, here, eps, K, CHUNK, False)
    if SWAP:
        zero = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    else:
        zero = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    block = tl.program_id(0)
    n = block * BLOCK_N + tl.arange(0, BLOCK_N)
    if block < NQ // BLOCK_N:
        columns(zero, x, wq, q, factor, m, here, n, ROWS, K, NQ, BLOCK_K, SWAP)
    elif block < (NQ + NK) // BLOCK_N:
        columns(zero, x, wk, k, factor, m, here, n - NQ, ROWS, K, NK, BLOCK_K, SWAP)
    else:
        columns(zero, x, wv, v, factor, m, here, n - NQ - NK, ROWS, K, NK, BLOCK_K, SWAP)


@triton.jit
def lora(
    x, w, down, up, out,
    ROWS: tl.constexpr, K: tl.constexpr, N: tl.constexpr, RANK: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SWAP: tl.constexpr,
):  # fmt: skip
    """x times w, and x times down (K, RANK) times up (RANK, N). Each program has its own x times down, which is small."""
    m = tl.arange(0, ROWS)
    r = tl.arange(0, RANK)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    if SWAP:
        acc = tl.zeros((BLOCK_N, ROWS), tl.float32)
        low = tl.zeros((RANK, ROWS), tl.float32)
    else:
        acc = tl.zeros((ROWS, BLOCK_N), tl.float32)
        low = tl.zeros((ROWS, RANK), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(x + m[:, None] * K + k[None, :])
        acc = product(a, w, k, n, acc, N, False, SWAP)
        low = product(a, down, k, r, low, RANK, False, SWAP)
    b = tl.load(up + r[:, None] * N + n[None, :])
    if SWAP:
        acc = tl.trans(tl.dot(tl.trans(b), low.to(b.dtype), acc))
    else:
        acc = tl.dot(low.to(b.dtype), b, acc)
    tl.store(out + m[:, None] * N + n[None, :], acc.to(out.dtype.element_ty))


@triton.jit
def rms_norm(x, gain, out, eps, K: tl.constexpr):
    """One program a row of a power of two elements."""
    k = tl.arange(0, K)
    row = tl.program_id(0) * K
    wide = tl.load(x + row + k).to(tl.float32)
    scaled = wide / tl.sqrt(tl.sum(wide * wide, 0) / K + eps)
    tl.store(out + row + k, scaled.to(out.dtype.element_ty) * tl.load(gain + k))
