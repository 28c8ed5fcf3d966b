"""Run random kernels on both engines and say where anything differs: bytes, counters, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import generator
import numpy as np
import numpy.typing as npt
from racy import RacyKernel, Verdict

from prism_mlir.runtime.ptx import CheckError, Checks, Counters, Module, PtxError, RunResult
from prism_mlir.runtime.ptx.machine import FAST_CHECKS

# Engine, checks, and threads in a batch.
REFERENCE = (("reference", Checks(), 16384), ("reference", FAST_CHECKS, 1))
FAST = (("fast", FAST_CHECKS, 16384),)
BARE = (("fast", Checks.none(), 16384),)
Way = tuple[str, Checks, int]
Tell = Callable[[str, str], None]


@dataclass(frozen=True)
class Left:
    """What one run of a kernel left behind, with every NaN made the same one."""

    out: npt.NDArray[np.uint64]
    private: npt.NDArray[np.uint8]
    totals: list[int]
    counters: Counters | None

    def differs(self, other: Left) -> str:
        """What is different first, or nothing."""
        for name in ("out", "private"):
            mine, theirs = getattr(self, name), getattr(other, name)
            for at in np.argwhere(mine != theirs)[:1]:
                return f"{name}{at.tolist()} is {mine[tuple(at)]:#x}, not {theirs[tuple(at)]:#x}"
        if self.totals != other.totals:
            return f"totals are {self.totals}, not {other.totals}"
        if self.counters is not None and other.counters is not None and self.counters != other.counters:
            return f"counters are {self.counters}, not {other.counters}"
        return ""


def interpreted(case: generator.Case) -> Left:
    """What the generator's own interpreter says."""
    out, private, totals = case.run()
    return Left(generator.canonical_rows(out, case), generator.canonical_private(private), totals, None)


def run(case: generator.Case, way: Way, module: Module) -> tuple[Left, RunResult]:
    engine, checks, lanes = way
    args = case.arguments()
    result = module.kernel("k").run(
        grid=case.grid, block=case.block, args=args, engine=engine, checks=checks, lanes_per_batch=lanes
    )
    private = generator.canonical_private(args[2])
    return Left(generator.canonical_rows(args[1], case), private, args[3].tolist(), result.counters), result


def nobody(engine: str, reason: str) -> None:
    """Nobody is told which engine ran a kernel that the fast one was asked for, and why."""


def disagreements(case: generator.Case, ways: tuple[Way, ...], tell: Tell = nobody) -> Iterator[str]:
    """Where the ways to run a kernel, and its interpreter, differ; and where a kernel was not compiled for no good reason."""
    module = Module.load(case.text)
    right = interpreted(case) if case.exact else None
    for way in ways:
        try:
            left, result = run(case, way, module)
        except PtxError as error:
            yield f"{way[0]}: {error}"
            continue
        right = right or left
        problem = left.differs(right)
        if problem:
            yield f"{way[0]} ({result.engine}): {problem}"
        if right.counters is None:
            right = Left(right.out, right.private, right.totals, left.counters)
        if way[0] == "fast":
            tell(result.engine, result.fallback_reason)
        if way[0] == "fast" and (result.engine == "fast") == bool(result.fallback_reason):
            yield f"engine {result.engine}, reason '{result.fallback_reason}'"
        if way[0] == "fast" and case.compiled and result.engine != "fast":
            yield f"not compiled: {result.fallback_reason}"


# -- kernels that may be wrong ------------------------------------------------------------------------------------------


def outcome(kernel: RacyKernel, way: Way, module: Module) -> tuple[RunResult | PtxError, npt.NDArray[np.uint32]]:
    """The result of a run or the error that ends it, and the sums."""
    engine, checks, lanes = way
    sums = np.zeros(kernel.threads * kernel.blocks, np.uint32)
    args: list[Any] = [np.zeros(kernel.global_bytes // 4, np.uint32), sums]
    try:
        return module.kernel("k").run(
            grid=(kernel.blocks,),
            block=(kernel.threads,),
            args=args,
            engine=engine,
            checks=checks,
            lanes_per_batch=lanes,
        ), sums
    except PtxError as error:
        return error, sums


def misjudgements(kernel: RacyKernel, ways: tuple[Way, ...], tell: Tell = nobody) -> Iterator[str]:
    """Where a verdict is not what the oracle knows."""
    module, known = Module.load(kernel.text()), kernel.verdict()
    reports = set()
    for way in ways:
        found, sums = outcome(kernel, way, module)
        if way[0] == "fast" and isinstance(found, RunResult):
            tell(found.engine, found.fallback_reason)
        for problem in judge(known, found, sums, way):
            yield f"{way[0]}: {problem}"
        if way[1] == FAST_CHECKS and way[2] > 1 and isinstance(found, PtxError):
            reports.add(str(found))
    if len(reports) > 1:
        yield "the reports differ: " + " ".join(reports)


def judge(known: Verdict, found: RunResult | PtxError, sums: npt.NDArray[np.uint32], way: Way) -> Iterator[str]:
    """Compare one run with the oracle."""
    if not isinstance(found, CheckError):
        if isinstance(found, PtxError):
            yield str(found)
        elif known.kinds:
            yield f"nothing found, but there is {known.kinds}"
        elif known.settled and (sums != known.sums).any():
            yield "wrong sums"
        elif way[0] == "fast" and found.engine != "fast" and not known.suspicious and not known.harmless:
            yield f"suspects what is right: {found.fallback_reason}"
        return
    allowed = known.kinds | ({"race"} if known.harmless else set())
    if found.kind not in allowed:
        yield f"found {found.kind}, but there is {allowed or 'nothing'}: {found}"
    (block, *_), (first, *_) = found.threads[0]
    if found.kind == "race":
        (other, *_), (second, *_) = found.threads[1]
        if other != block or (block, first, second) not in known.racing | known.harmless:
            yield f"names threads that do not race: {found}"
    if found.kind == "bounds" and (block, first) not in known.wild:
        yield f"names a thread that stays inside: {found}"
