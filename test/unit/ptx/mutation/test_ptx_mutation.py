"""Mutants of whole kernels: all that concern barriers and copies, and a few of every other kind (all of them: ``make mutation``).

Deleting a barrier from a kernel usually leaves its numbers right in lock step, so that only the race detector sees it; which is
why mutants are the machine's own test. What is not caught must be harmless by an argument that is computed, and no argument may
hold for what computes something wrong.
"""

from __future__ import annotations

import pytest
from harness.ptx_cases import Case, cases
from harness.ptx_judge import MISSED, SYNCHRONISATION, Verdict, contradiction, judge, sample

SLOW = {"skinny_gemm": 150, "triton_attention": 150, "triton_matmul": 120}  # every n-th mutant only
FEW = 18


def chosen(case: Case) -> list[Verdict]:
    """The verdicts on a sample."""
    every = SLOW.get(case.name, FEW)
    found = [m for m in sample(case, every) if m.kind not in SYNCHRONISATION]
    found += [m for m in sample(case, 1 if every == FEW else 3) if m.kind in SYNCHRONISATION]
    return [judge(case, m) for m in found]


@pytest.mark.parametrize("case", cases(), ids=lambda c: c.name)
def test_mutants(case: Case) -> None:
    verdicts = chosen(case)
    assert len(verdicts) >= 5
    missed = [v for v in verdicts if v.outcome == MISSED]
    assert not [str(v) for v in missed if not v.why or v.mutant.kind in SYNCHRONISATION]
    assert not [text for v in verdicts if (text := contradiction(case, v))]
