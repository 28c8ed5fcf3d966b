"""What becomes of a mutant: caught by a check, wrong in its results, harmless by an argument, or missed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from harness import ptx_paths
from harness.ptx_cases import Case
from harness.ptx_explained import explanation
from harness.ptx_flow import Flow
from harness.ptx_mutants import KINDS, Mutant, mutants
from harness.ptx_order import Trace
from harness.ptx_transfer import Reaches
from harness.ptx_watch import watched
from prism_mlir.runtime.ptx import CheckError, Checks, PtxError, PtxSyntaxError
from prism_mlir.runtime.ptx.decode import decode
from prism_mlir.runtime.ptx.machine import KernelHandle

SYNCHRONISATION = ("barrier", "wait", "loosen", "commit")
CAUGHT, WRONG, HARMLESS, MISSED = "caught", "wrong result", "harmless", "missed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant.

    Attributes:
        outcome: CAUGHT, WRONG, HARMLESS or MISSED.
        by: the check, or the name of the argument, or why there is none.
        why: of a missed one, what ``ptx_explained`` says.
    """

    mutant: Mutant
    outcome: str
    by: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.mutant} ({self.by}; {self.why or 'UNEXPLAINED'})"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The original in each launch: bytes of the outputs that stay unwritten, and a limit of instructions for mutants."""

    unwritten: tuple[dict[int, int], ...]
    max_steps: int


@cache
def baseline(case: Case) -> Baseline:
    """Run the original, which must be clean and correct, also in the opinion of ``ptx_order``."""
    handle, unwritten, longest = KernelHandle(case.program, decode(case.program, case.kernel)), [], 0
    for launch in case.launches:
        outputs, result = launch.run(handle)
        assert launch.correct(outputs), case.name
        unwritten.append(dict(result.unwritten))
        trace = Trace()
        launch.run(watched(case.program, case.kernel, trace), Checks.none())
        assert not trace.conflict(), f"{case.name}: {trace.conflict()}"
        longest = max(longest, trace.steps)
    return Baseline(tuple(unwritten), 4 * longest + 1000)


def sample(case: Case, every: int) -> list[Mutant]:
    """Every ``every``-th mutant of each kind, by kind."""
    found = list(mutants(case.kernel))
    return [m for kind in KINDS for m in [m for m in found if m.kind == kind][::every]]


def judge(case: Case, mutant: Mutant) -> Verdict:
    """Run a mutant with all checks, compare its results, and if both show nothing look for an argument."""
    found = observe(case, mutant)
    if found is not None:
        return found
    argument, holds = harmless(case, mutant)
    if holds:
        return Verdict(mutant, HARMLESS, argument)
    return Verdict(mutant, MISSED, argument, explanation(case.name, mutant))


def observe(case: Case, mutant: Mutant) -> Verdict | None:
    """What the machine says of a mutant, or the results; None when both are as they should be."""
    base = baseline(case)
    try:
        handle = KernelHandle(case.program, decode(case.program, mutant.kernel))
        for launch, unwritten in zip(case.launches, base.unwritten, strict=True):
            outputs, result = launch.run(handle, max_steps=base.max_steps)
            if dict(result.unwritten) != unwritten:
                return Verdict(mutant, CAUGHT, "unwritten")
            if not launch.correct(outputs):
                return Verdict(mutant, WRONG, "")
    except CheckError as error:
        return Verdict(mutant, CAUGHT, error.kind)
    except PtxSyntaxError:
        return Verdict(mutant, CAUGHT, "text")
    except PtxError as error:
        return Verdict(mutant, CAUGHT, type(error).__name__)
    return None


def harmless(case: Case, mutant: Mutant) -> tuple[str, bool]:
    """The name of an argument, or why there is none; and whether it holds in all launches of the case."""
    found = ptx_paths.argument(case.kernel, mutant)
    if found:
        return found, True
    flow = Flow(case.kernel, mutant)
    if mutant.kind not in SYNCHRONISATION:
        try:
            handle = flow.kernel(case.program)
            for launch in case.launches:
                launch.run(handle, Checks.none())
                flow.finish()
        except Reaches as reason:
            return f"reaches {reason}", False
    conflict = unordered(case, mutant)
    if conflict:
        return conflict, False
    return ("ordered" if mutant.kind in SYNCHRONISATION else flow.argument), True


def unordered(case: Case, mutant: Mutant) -> str:
    """Two accesses of the mutant that nothing orders, in the opinion of ``ptx_order``; "" if there are none."""
    for launch in case.launches:
        trace = Trace()
        launch.run(watched(case.program, mutant.kernel, trace), Checks.none(), baseline(case).max_steps)
        found = trace.conflict() or trace.unsupported
        if found:
            return found
    return ""


def contradiction(case: Case, verdict: Verdict) -> str:
    """An argument that holds for a mutant which is caught or computes something wrong; "" if there is none.

    Flow says nothing of accesses, so that only wrong results contradict it. The order of accesses must be seen alike by the
    machine and by ``ptx_order``.
    """
    m = verdict.mutant
    if m.kind in SYNCHRONISATION and verdict.outcome == CAUGHT and verdict.by in ("race", "async_copy"):
        return "" if unordered(case, m) else f"ordered, but {verdict.by}: {m}"
    if verdict.outcome == WRONG or verdict.by == "unwritten":
        argument, holds = harmless(case, m)
        return f"{argument}, but {verdict.outcome}: {m}" if holds else ""
    return ""
