"""Which peers do the work of which program: the launches of each, by the name of the program's file.

Of each there are a few configurations, since block sizes, warps and stages that are good for one size are bad for another; the
table of kernel quality takes the fastest. Buffers are named; a name that several launches use is one buffer. Needs the ``triton``
extra.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "test"))

from corpus.compiled import Compiled
from corpus.triton.compile import Spec, compile_spec

from peers import attention as heads
from peers import skinny

Shape = tuple[int, ...]
Buffer = tuple[str, Shape, str]
Launches = tuple["PeerLaunch", ...]
ROWS_OF_MMA = 16
EPSILON = 1e-6
POINTERS = {"float16": "*fp16", "float32": "*fp32"}


@dataclass(frozen=True)
class PeerLaunch:
    """One launch. ``arguments``: (buffer, shape, NumPy type) of a pointer, or a number; hidden pointers are not listed."""

    compiled: Compiled
    grid: tuple[int, int, int]
    arguments: tuple[Buffer | float, ...]


@dataclass(frozen=True)
class Tile:
    """How a product of few rows is cut: columns and depth of a block, warps, stages of the pipeline, and whether it is taken
    transposed; ``splits`` of K for a second kernel to add up; ``gram``: norms by tensor cores, else from pieces of ``chunk``."""

    n: int = 16
    k: int = 256
    warps: int = 2
    stages: int = 4
    swap: bool = True
    splits: int = 1
    gram: bool = False
    chunk: int = 1024


TILES = (
    Tile(),
    Tile(k=128),
    Tile(swap=False),
    Tile(n=8, warps=1, swap=False),
    Tile(n=32, k=128, warps=4, swap=False),
)
NORMED = (*TILES, Tile(chunk=256), Tile(swap=False, gram=True), Tile(n=8, warps=1, swap=False, gram=True))


@dataclass(frozen=True)
class Cut:
    """How attention is cut: rows, keys and columns of a block (0: all), parts of the keys, warps and stages."""

    m: int = ROWS_OF_MMA
    n: int = 64
    slices: int = 1
    parts: int = 1
    warps: int = 4
    stages: int = 2


def half(name: str, *shape: int) -> Buffer:
    return name, shape, "float16"


def single(name: str, *shape: int) -> Buffer:
    return name, shape, "float32"


def launch(
    fn: Any,
    arguments: Sequence[Buffer | float],
    grid: Sequence[int],
    sizes: dict[str, Any],
    warps: int,
    stages: int = 2,
    contract: bool = True,
) -> PeerLaunch:
    """A kernel compiled for arguments, which come first in its list of parameters."""
    names = fn.arg_names[: len(arguments)]
    pairs = list(zip(names, arguments, strict=True))
    types = {name: POINTERS[a[2]] if isinstance(a, tuple) else "fp32" for name, a in pairs}
    pointers = frozenset(name for name, a in pairs if isinstance(a, tuple))
    spec = Spec(fn, types, sizes, pointers, num_warps=warps, num_stages=stages, contract=contract)
    x, y, z = (*grid, 1, 1, 1)[:3]
    return PeerLaunch(compile_spec(spec, line_info=False), (x, y, z), tuple(arguments))


def divisor(size: int, most: int) -> int:
    """The largest power of two up to ``most`` that divides a size."""
    return min(most, size & -size)


def linear(
    rows: int,
    k: int,
    n: int,
    tile: Tile,
    *,
    norm: str = "",
    gain: bool = False,
    gate: bool = False,
    act: str = "",
    rest: bool = False,
    packed: bool = False,
    k_inside: bool = False,
    eps: float = EPSILON,
    names: tuple[str, str, str, str] = ("x", "w", "v", "out"),
) -> Launches:
    """``norm`` (rms or layer; ``gain``: with weights), one or two products (``gate``), ``act`` (silu or gelu) of the first, the
    product of both, and ``rest`` added: one kernel, or two with splits.

    packed: both weights side by side in one tensor; k_inside: weights as (N, K)
    names: of the buffers of x, the weights, and the result
    """
    x, out = half(names[0], rows, k), half(names[3], rows, n)
    width = 2 * n if packed else n
    w = half(names[1], *((width, k) if k_inside else (k, width)))
    v = half(names[2], *w[1]) if gate and not packed else w
    block_m = rows if tile.swap else ROWS_OF_MMA
    depth = divisor(k // tile.splits, tile.k)
    sizes = {
        "ROWS": rows,
        "K": k,
        "N": n,
        "STRIDE": k if k_inside else width,
        "V_AT": n if packed else 0,
        "K_INSIDE": k_inside,
        "NORM": {"": skinny.NONE, "rms": skinny.GRAM if tile.gram else skinny.PASS, "layer": skinny.LAYER}[norm],
        "GAIN": gain,
        "GATE": gate,
        "ACT": 0 if tile.splits > 1 else {"": 0, "silu": skinny.SILU, "gelu": skinny.GELU}[act],
        "REST": rest and tile.splits == 1,
        "BLOCK_M": block_m,
        "BLOCK_N": tile.n,
        "BLOCK_K": depth,
        "CHUNK": divisor(k, tile.chunk),
        "SWAP": tile.swap,
        "SPLITS": tile.splits,
    }
    gains = (half("gain", k), half("shift", k) if norm == "layer" else half("gain", k)) if gain else (x, x)
    added = half("rest", rows, n) if rest else x
    into = single("parts", tile.splits, rows, n) if tile.splits > 1 else out
    arguments = (x, w, v, *gains, added, into, eps)
    main = launch(skinny.skinny, arguments, (n // tile.n, tile.splits), sizes, tile.warps, tile.stages)
    if tile.splits == 1:
        return (main,)
    assert not (norm or act or gate), "what stands after the sum is not written for splits"
    block = 128
    last = {"SPLITS": tile.splits, "SIZE": rows * n, "REST": rest, "BLOCK": block}
    return main, launch(skinny.add_up, (into, added if rest else out, out), (rows * n // block,), last, 4)


def lora(rows: int, k: int, n: int, rank: int, tile: Tile) -> Launches:
    """``x w + (x down) up``."""
    arguments = (half("x", rows, k), half("w", k, n), half("down", k, rank), half("up", rank, n), half("out", rows, n))
    sizes = {"ROWS": rows, "K": k, "N": n, "RANK": rank, "BLOCK_N": tile.n, "BLOCK_K": tile.k, "SWAP": tile.swap}
    return (launch(skinny.lora, arguments, (n // tile.n,), sizes, tile.warps, tile.stages),)


def norm_qkv(rows: int, k: int, nq: int, nk: int, tile: Tile) -> Launches:
    """RMSNorm and three products."""
    weights = (half("wq", k, nq), half("wk", k, nk), half("wv", k, nk))
    results = (half("q", rows, nq), half("k", rows, nk), half("v", rows, nk))
    sizes = {"ROWS": rows, "K": k, "NQ": nq, "NK": nk, "BLOCK_M": rows if tile.swap else ROWS_OF_MMA}
    cut = {"BLOCK_N": tile.n, "BLOCK_K": tile.k, "CHUNK": divisor(k, tile.chunk), "SWAP": tile.swap}
    arguments = (half("x", rows, k), *weights, *results, EPSILON)
    grid = ((nq + 2 * nk) // tile.n,)
    return (launch(skinny.norm_qkv, arguments, grid, {**sizes, **cut}, tile.warps, tile.stages),)


def rms_norm(rows: int, k: int, warps: int) -> Launches:
    arguments = (half("x", rows, k), half("gain", k), half("out", rows, k), EPSILON)
    return (launch(skinny.rms_norm, arguments, (rows,), {"K": k}, warps),)


def attention(
    count: int,
    rows: int,
    keys: int,
    head: int,
    cut: Cut,
    *,
    more: int = 0,
    norm: bool = False,
    causal: bool = False,
    mask: bool = False,
    scale: float = 1.0,
) -> Launches:
    """Attention of ``count`` heads to ``keys`` and then ``more`` of them: one kernel, or two with parts."""
    q, out = half("q", count, rows, head), half("out", count, rows, head)
    k, v = half("k", count, keys, head), half("v", count, keys, head)
    others = (half("more_k", count, more, head), half("more_v", count, more, head)) if more else (k, v)
    bias = half("mask", rows, keys) if mask else q
    left = parts_of(cut.parts, count, rows, head) if cut.parts > 1 else (out, out, out)
    sizes = {"ROWS": rows, "KEYS": keys, "MORE": more, "HEAD": head}
    blocks = {"BLOCK_M": cut.m, "BLOCK_N": cut.n, "PARTS": cut.parts, "SLICE": head // cut.slices}
    forms = {"NORM": norm, "CAUSAL": causal, "MASK": mask}
    arguments = (q, k, v, *others, bias, *left, scale, EPSILON)
    grid = (-(-rows // cut.m), count, cut.slices * cut.parts)
    main = launch(heads.attention, arguments, grid, {**sizes, **blocks, **forms}, cut.warps, cut.stages)
    return (main,) if cut.parts == 1 else (main, combined(left, out, cut.parts, count * rows, head))


def row_attention(
    count: int, keys: int, head: int, cut: Cut, *, more: int = 0, norm: bool = False, scale: float = 1.0
) -> Launches:
    """The same for one row a head, without tensor cores."""
    q, out = half("q", count, 1, head), half("out", count, 1, head)
    k, v = half("k", count, keys, head), half("v", count, keys, head)
    others = (half("more_k", count, more, head), half("more_v", count, more, head)) if more else (k, v)
    left = parts_of(cut.parts, count, 1, head) if cut.parts > 1 else (out, out, out)
    sizes = {
        "KEYS": keys,
        "MORE": more,
        "HEAD": head,
        "BLOCK_N": cut.n,
        "PARTS": cut.parts,
        "SLICE": head // cut.slices,
    }
    main = launch(
        heads.row_attention,
        (q, k, v, *others, *left, scale, EPSILON),
        (cut.slices * cut.parts, count),
        {**sizes, "NORM": norm},
        cut.warps,
        cut.stages,
    )
    return (main,) if cut.parts == 1 else (main, combined(left, out, cut.parts, count, head))


def parts_of(parts: int, count: int, rows: int, head: int) -> tuple[Buffer, Buffer, Buffer]:
    every = count * rows
    return (
        single("part_out", parts, every, head),
        single("part_top", parts, every),
        single("part_sum", parts, every),
    )


def combined(left: tuple[Buffer, ...], out: Buffer, parts: int, every: int, head: int) -> PeerLaunch:
    padded = 1 << (parts - 1).bit_length()
    last = {"PARTS": parts, "PADDED": padded, "ALL": every, "HEAD": head}
    # A contracted sum of products differs between the threads that hold copies of it, all of which store it.
    return launch(heads.combine, (*left, out), (every,), last, 4, contract=False)


def mlp(
    rows: int, k: int, n: int, up: Tile, down: Tile, *, gate: bool, act: str, rest: bool = False, k_inside: bool = False
) -> Launches:
    """A product or two to ``n`` columns, and one back."""
    first = linear(
        rows, k, n, up, gate=gate, act=act, k_inside=k_inside, names=("rest" if rest else "x", "w", "v", "hidden")
    )
    second = linear(rows, n, k, down, rest=rest, k_inside=k_inside, names=("hidden", "down", "down", "out"))
    return (*first, *second)


DECODE = (Cut(parts=8), Cut(n=128, slices=4, warps=2), Cut(n=256, slices=4))
ROW_DECODE = (Cut(n=128, parts=8), Cut(n=256, slices=8), Cut(n=256, slices=4, warps=8))
CACHE = (Cut(parts=9), Cut(slices=4, warps=2), Cut(slices=8, warps=2))
ROW_CACHE = (Cut(parts=9), Cut(slices=8))
CAUSAL = (Cut(), Cut(warps=2), Cut(m=32), Cut(n=32, warps=2), Cut(slices=2, warps=2))
MASK = (Cut(), Cut(parts=4), Cut(n=128, slices=2, warps=2), Cut(n=256, slices=2), Cut(n=256, slices=2, warps=2))
GROUPED = (Cut(m=64), Cut(n=128, warps=2), Cut(n=256, warps=2), Cut(n=256, slices=2), Cut(n=256, slices=2, warps=2))
UP = (Tile(k=128), Tile(n=8, warps=1, swap=False))
DOWN = (Tile(), Tile(n=8, warps=1, swap=False), Tile(splits=2), Tile(splits=4))
WEIGHT_ROWS = (
    Tile(swap=False),
    Tile(),
    Tile(n=32, k=128),
    Tile(n=32, k=128, warps=4, swap=False),
    Tile(n=64, k=64, warps=4),
)
LORA = (Tile(n=32, k=128), Tile(n=32, k=128, warps=4, swap=False), Tile(n=64, k=128, warps=4))

Maker = Callable[[], Launches]


def peers_of(program: str) -> Iterator[tuple[str, Launches]]:
    """The configurations of the peer of a program, by the stem of its file, each with its name; none where there is no peer.

    What Triton cannot compile is left out, and said on stderr.
    """
    for label, make in _makers(program):
        try:
            yield label, make()
        except Exception as error:  # of whatever kind: a compiler's own failure is no reason to lose the other rows
            print(f"{program}: Triton does not compile {label}: {type(error).__name__}: {error}", file=sys.stderr)


def _makers(program: str) -> list[tuple[str, Maker]]:
    """Configurations by name, compiled when asked for."""

    def each(configurations: Sequence[Any], make: Callable[[Any], Launches]) -> list[tuple[str, Maker]]:
        return [(str(c), lambda c=c: make(c)) for c in configurations]

    def by_rows(cuts: Sequence[Cut], make: Callable[[Cut], Launches]) -> list[tuple[str, Maker]]:
        return [(f"rows {label}", maker) for label, maker in each(cuts, make)]

    def decode(keys: int, norm: bool) -> list[tuple[str, Maker]]:
        return [
            *each(DECODE, lambda c: attention(16, 1, keys, 128, c, norm=norm)),
            *by_rows(ROW_DECODE, lambda c: row_attention(16, keys, 128, c, norm=norm)),
        ]

    match program:
        case "rms_norm_d1024_n16":
            return each(NORMED, lambda t: linear(16, 1024, 1024, t, norm="rms"))
        case "rms_norm_d4096_n8":
            return each(NORMED, lambda t: linear(8, 4096, 4096, t, norm="rms"))
        case "rms_norm_mlp_d1024_n8":
            return each(NORMED, lambda t: linear(8, 1024, 1024, t, norm="rms", gate=True))
        case "rms_norm_mlp_d1024_n16":
            return each(NORMED, lambda t: linear(16, 1024, 1024, t, norm="rms", gate=True))
        case "swiglu_d2048_n8":
            return each(TILES, lambda t: linear(8, 2048, 2048, t, gate=True, act="silu"))
        case "swiglu_d4096_n8":
            return each(TILES, lambda t: linear(8, 4096, 4096, t, gate=True, act="silu"))
        case "attention_b2_g8_h1024_d128":
            return decode(1024, False)
        case "attention_b2_g8_h2048_d128":
            return decode(2048, False)
        case "qk_attention_b2_g8_h1024_d128":
            return decode(1024, True)
        case "qk_attention_b2_g8_h2048_d128":
            return decode(2048, True)
        case "attention_cache":
            return [
                *each(CACHE, lambda c: attention(16, 1, 512, 128, c, more=64)),
                *by_rows(ROW_CACHE, lambda c: row_attention(16, 512, 128, c, more=64)),
            ]
        case "attention_causal":
            return each(CAUSAL, lambda c: attention(8, 256, 256, 128, c, causal=True, scale=128**-0.5))
        case "attention_mask":
            return each(MASK, lambda c: attention(8, 64, 512, 128, c, mask=True, scale=128**-0.5))
        case "gqa_repeated":
            return each(GROUPED, lambda c: attention(8, 64, 256, 64, c, scale=0.125))
        case "hf_llama_gqa_decode_b2_h1024":
            return each(DECODE, lambda c: attention(16, 4, 1024, 128, c, scale=0.08837890625))
        case "gated_mlp_residual":
            pairs = [(u, d) for u in UP for d in DOWN]
            return each(pairs, lambda t: mlp(8, 1024, 4096, *t, gate=True, act="silu", rest=True))
        case "gelu_mlp":
            pairs = [(u, d) for u in UP for d in DOWN]
            return each(pairs, lambda t: mlp(16, 768, 3072, *t, gate=False, act="gelu"))
        case "hf_llama_mlp_2048_8192":
            pairs = [(t, t) for t in WEIGHT_ROWS]
            return each(pairs, lambda t: mlp(8, 2048, 8192, *t, gate=True, act="silu", k_inside=True))
        case "packed_swiglu":
            return each(TILES, lambda t: linear(8, 1024, 2048, t, gate=True, act="silu", packed=True))
        case "rms_norm_qkv":
            return each(TILES[:4], lambda t: norm_qkv(8, 1024, 1024, 256, t))
        case "hf_llama_norm_qkv":
            return each(WEIGHT_ROWS, lambda t: linear(8, 2048, 3072, t, norm="rms", gain=True, k_inside=True))
        case "hf_llama_rmsnorm":
            return each((1, 2, 4, 8), lambda warps: rms_norm(8, 2048, warps))
        case "layernorm_linear":
            return each(TILES, lambda t: linear(8, 768, 3072, t, norm="layer", gain=True, eps=1e-5))
        case "lora":
            return each(LORA, lambda t: lora(16, 4096, 4096, 16, t))
        case _:
            return []
