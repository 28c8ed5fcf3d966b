"""What a corpus test runs and expects: launches of compiled kernels on NumPy arrays, and the right values with a bound of
the error.

Units of rounding: ``u = 2**-p`` is half the distance from 1 to the next number, so that a result that is rounded once
differs from the exact one by at most ``u`` times its size, and n additions one after another by ``n u`` times the sum of the
sizes. PTX states 2 ulp for ex2.approx, lg2.approx and div.full, which is ``4 U32`` in this unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from corpus.compiled import Compiled
from ptx_harness import same_bits

from prism_mlir.runtime.ptx import Checks, Module, RunResult
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

U64, U32, U16, UBF = 2.0**-53, 2.0**-24, 2.0**-11, 2.0**-8
TINY16, TINY32 = 2.0**-25, 2.0**-126  # half the distance between subnormals of f16; what .ftz makes zero
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Launch:
    """One kernel of the corpus by name, its grid (None: the compiler's), and its arguments without those that the compiler
    adds."""

    kernel: str
    grid: tuple[int, ...] | None
    args: tuple[Any, ...]
    outputs: frozenset[int]


@dataclass(frozen=True)
class Expect:
    """``|got - exact| <= bound`` element by element; NaN and infinities must be equal. ``decode`` makes numbers of the bits
    of ``got``."""

    got: Array
    exact: Array
    bound: Array | float = 0.0
    decode: Callable[[Array], Array] = lambda bits: bits


@dataclass(frozen=True)
class Case:
    launches: tuple[Launch, ...]
    expected: tuple[Expect, ...]


@dataclass(frozen=True)
class Loaded:
    """A compiled kernel of the corpus, parsed."""

    module: Module
    info: Compiled

    @classmethod
    def of(cls, name: str, compiled: Compiled) -> Loaded:
        return cls(Module.load(compiled.ptx, f"{name}.ptx"), compiled)


def to_bf16(x: Array) -> Array:
    """f32 to the bits of bf16, to nearest even; no NaN."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def run(case: Case, kernels: Mapping[str, Loaded], engine: str, checks: Checks) -> list[RunResult]:
    """Run all launches of a case, in order."""
    results = []
    for launch in case.launches:
        k = kernels[launch.kernel]
        grid = launch.grid or k.info.grid
        assert grid is not None
        results.append(
            k.module.kernel(k.info.entry).run(
                grid=grid,
                block=k.info.block,
                args=[*launch.args, *[np.zeros(1, np.uint8)] * k.info.hidden],
                shared_bytes=k.info.shared_bytes,
                outputs=launch.outputs,
                engine=engine,
                checks=checks,
            )
        )
    return results


def check(case: Case, results: list[RunResult]) -> None:
    """Every output is written, and every value is right."""
    assert all(not r.unwritten for r in results)
    for e in case.expected:
        got, exact = np.asarray(e.decode(e.got)), np.asarray(e.exact)
        assert got.shape == exact.shape
        if got.dtype.kind != "f":
            np.testing.assert_array_equal(got, exact)
            continue
        wide, exact = got.astype(np.float64), exact.astype(np.float64)
        finite = np.isfinite(exact)
        np.testing.assert_array_equal(wide[~finite], exact[~finite])
        bound = np.broadcast_to(np.asarray(e.bound, np.float64), exact.shape)
        bad = ~(np.abs(wide[finite] - exact[finite]) <= bound[finite])
        worst = np.flatnonzero(bad)[:5]
        assert not bad.any(), (wide[finite][worst], exact[finite][worst], bound[finite][worst])


def run_on_both(build: Callable[[], Case], kernels: Mapping[str, Loaded]) -> list[str]:
    """The reference engine with all checks gives right values; ``auto`` gives the same bits and counts.

    Returns:
        The engine that each launch ran on, or why it was not the fast one.
    """
    case = build()
    results = run(case, kernels, "reference", Checks())
    check(case, results)
    again = build()
    auto = run(again, kernels, "auto", FAST_CHECKS)
    for one, other in zip(case.launches, again.launches, strict=True):
        for a, b in zip(one.args, other.args, strict=True):
            if isinstance(a, np.ndarray):
                same_bits(b, a)
    assert [r.counters for r in auto] == [r.counters for r in results]
    return [r.fallback_reason or r.engine for r in auto]
