"""What outputs should be: their f64 values, and how far each may be from them.

A file of expected values holds, for output ``k``: ``value_k`` (f64; infinite or NaN where the result is), ``allowed_k`` (f64, the
largest error) and ``index_k``, the elements that these are of, in row-major order (empty: all). Peers that round where the source
rounds are compared with ``source_k`` instead, the largest error of the source program times a small factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .inputs import Array, to_float64

PEER_SLACK = 4.0  # peers are compared with to find those that compute something else, not to grade their rounding


@dataclass(frozen=True)
class Expected:
    """One output. dtype as in ``inputs.STORAGE``; ``index`` is empty where all elements are known."""

    dtype: str
    shape: tuple[int, ...]
    value: NDArray[np.float64]
    allowed: NDArray[np.float64]
    index: NDArray[np.int64]
    source: float


@dataclass(frozen=True)
class Judgement:
    """used: largest share of the allowed error that an element takes; reason: why the outputs are wrong, or empty."""

    used: float
    reason: str = ""


def load(path: Path, outputs: list[dict[str, Any]]) -> list[Expected]:
    """Read what a bundle says of a row's outputs (no pickled objects)."""
    with np.load(path, allow_pickle=False) as data:
        return [
            Expected(
                out["dtype"],
                tuple(out["shape"]),
                data[f"value_{k}"].astype(np.float64),
                data[f"allowed_{k}"].astype(np.float64),
                data[f"index_{k}"].astype(np.int64),
                float(data[f"source_{k}"]),
            )
            for k, out in enumerate(outputs)
        ]


def save(file: Path | IO[bytes], expected: list[Expected]) -> None:
    """Write what :func:`load` reads, compressed."""
    arrays: dict[str, Any] = {}
    for k, e in enumerate(expected):
        arrays.update({f"value_{k}": e.value, f"allowed_{k}": e.allowed, f"index_{k}": e.index})
        arrays[f"source_{k}"] = np.float64(e.source)
    np.savez_compressed(file, **arrays)


def judge(outputs: list[Array], expected: list[Expected], as_source: bool = False) -> Judgement:
    """Compare outputs with what they should be. as_source: whether they may err as the source program does, not less.

    Every element is looked at for the poison that was there before, those of known value for that value.
    """
    used = 0.0
    for k, (out, want) in enumerate(zip(outputs, expected)):
        found = _judge(k, out, want, as_source)
        if found.reason:
            return found
        used = max(used, found.used)
    return Judgement(used)


def _judge(k: int, out: Array, want: Expected, as_source: bool) -> Judgement:
    if tuple(out.shape) != want.shape:
        return Judgement(np.inf, f"output {k} has shape {list(out.shape)}, should have {list(want.shape)}")
    every = to_float64(out, want.dtype).reshape(-1)
    if np.isfinite(want.value).all():
        left = np.flatnonzero(np.isnan(every))
        if left.size:
            where = list(map(int, np.unravel_index(int(left[0]), out.shape)))
            return Judgement(
                np.inf, f"output {k}: {left.size} elements are NaN or were not written, the first is {where}"
            )
    got = every[want.index] if want.index.size else every
    allowed = np.maximum(want.allowed, PEER_SLACK * want.source) if as_source else want.allowed
    same = (got == want.value) | (np.isnan(got) & np.isnan(want.value))
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(got - want.value)
        share = np.where(same, 0.0, distance / allowed)
    share = np.where(np.isnan(share) | (np.isinf(got) & ~same), np.inf, share)
    if not share.size:
        return Judgement(0.0)
    worst = int(np.argmax(share))
    if share[worst] <= 1:
        return Judgement(float(share[worst]))
    at = int(want.index[worst]) if want.index.size else worst
    where = list(map(int, np.unravel_index(at, out.shape)))
    should = f"should be {want.value[worst]:.6g} within {allowed[worst]:.3g}"
    return Judgement(float(share[worst]), f"output {k}: element {where} is {got[worst]:.6g}, {should}")
