"""Which peer does the work of which program: the launches of each, by the name of the program's file.

Buffers are named; a name that several launches use is one buffer. Needs the ``triton`` extra.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "test"))

from corpus.compiled import Compiled
from corpus.triton.compile import Spec, compile_spec

from peers.decode import decode_combine, decode_part
from peers.gated_matmul import gated_matmul

Shape = tuple[int, ...]
ROWS_OF_MMA = 16
EPSILON = 1e-6


@dataclass(frozen=True)
class PeerLaunch:
    """One launch. ``arguments``: (buffer, shape, NumPy type) of a pointer, or a number; hidden pointers are not listed."""

    compiled: Compiled
    grid: tuple[int, int, int]
    arguments: tuple[tuple[str, Shape, str] | float, ...]


def gated(
    rows: int,
    k: int,
    n: int,
    *,
    norm: bool,
    gate: bool,
    silu: bool,
    block_n: int = 32,
    block_k: int = 128,
    stages: int = 4,
) -> tuple[PeerLaunch, ...]:
    """RMSNorm (``norm``), one or two products, SiLU of the first (``silu``), and their product (``gate``): one kernel."""
    pointers = dict.fromkeys(("x", "w", "v", "out"), "*fp16")
    sizes = {"ROWS": rows, "K": k, "N": n, "BLOCK_M": ROWS_OF_MMA, "BLOCK_N": block_n, "BLOCK_K": block_k}
    forms = {"NORM": norm, "GATE": gate, "SILU": silu}
    spec = Spec(
        gated_matmul,
        {**pointers, "eps": "fp32"},
        {**sizes, **forms},
        frozenset(pointers),
        num_warps=4,
        num_stages=stages,
    )
    buffers = (("x", (rows, k)), ("w", (k, n)), ("v" if gate else "w", (k, n)), ("out", (rows, n)))
    arguments = tuple((name, shape, "float16") for name, shape in buffers)
    return (PeerLaunch(compile_spec(spec, line_info=False), (n // block_n, 1, 1), (*arguments, EPSILON)),)


def decode(
    heads: int, rows: int, keys: int, head: int, *, norm: bool, scale: float = 1.0, parts: int = 8, block_n: int = 64
) -> tuple[PeerLaunch, ...]:
    """Flash-Decoding: ``parts`` of the keys in parallel, then a kernel that combines them."""
    halves, floats = (
        dict.fromkeys(("q", "k", "v"), "*fp16"),
        dict.fromkeys(("part_out", "part_top", "part_sum"), "*fp32"),
    )
    sizes = {
        "ROWS": rows,
        "PADDED": ROWS_OF_MMA,
        "HEAD": head,
        "KEYS": keys,
        "CHUNK": keys // parts,
        "BLOCK_N": block_n,
    }
    types: Mapping[str, str] = {**halves, **floats, "scale": "fp32", "eps": "fp32"}
    part = Spec(decode_part, types, {**sizes, "NORM": norm}, frozenset((*halves, *floats)), num_warps=4, num_stages=2)
    every = heads * rows
    last: Mapping[str, Any] = {"PARTS": parts, "ALL": every, "HEAD": head}
    combine = Spec(decode_combine, {**floats, "out": "*fp16"}, last, frozenset((*floats, "out")), num_warps=4)
    cache = (heads, keys, head)
    left = (
        ("part_out", (parts, every, head), "float32"),
        ("part_top", (parts, every), "float32"),
        ("part_sum", (parts, every), "float32"),
    )
    read = (("q", (heads, rows, head), "float16"), ("k", cache, "float16"), ("v", cache, "float16"))
    return (
        PeerLaunch(compile_spec(part, line_info=False), (parts, heads, 1), (*read, *left, scale, EPSILON)),
        PeerLaunch(
            compile_spec(combine, line_info=False), (every, 1, 1), (*left, ("out", (heads, rows, head), "float16"))
        ),
    )


def peer_of(program: str) -> tuple[PeerLaunch, ...] | None:
    """The launches of the peer of a program, by the stem of its file; ``None`` where there is none."""
    match program:
        case "rms_norm_d1024_n16":
            return gated(16, 1024, 1024, norm=True, gate=False, silu=False)
        case "rms_norm_d4096_n8":
            return gated(8, 4096, 4096, norm=True, gate=False, silu=False)
        case "rms_norm_mlp_d1024_n8":
            return gated(8, 1024, 1024, norm=True, gate=True, silu=False)
        case "rms_norm_mlp_d1024_n16":
            return gated(16, 1024, 1024, norm=True, gate=True, silu=False)
        case "swiglu_d2048_n8":
            return gated(8, 2048, 2048, norm=False, gate=True, silu=True)
        case "swiglu_d4096_n8":
            return gated(8, 4096, 4096, norm=False, gate=True, silu=True)
        case "attention_b2_g8_h1024_d128":
            return decode(16, 1, 1024, 128, norm=False)
        case "attention_b2_g8_h2048_d128":
            return decode(16, 1, 2048, 128, norm=False)
        case "qk_attention_b2_g8_h1024_d128":
            return decode(16, 1, 1024, 128, norm=True)
        case "qk_attention_b2_g8_h2048_d128":
            return decode(16, 1, 2048, 128, norm=True)
        case "hf_llama_gqa_decode_b2_h1024":
            return decode(16, 4, 1024, 128, norm=False, scale=0.08837890625)
        case _:
            return None
