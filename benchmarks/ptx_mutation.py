"""Mutation test of the PTX machine: kernels with one instruction changed, which it must catch.

Every kernel of ``harness/ptx_cases.py`` is changed in one place at a time (``harness/ptx_mutants.py``: barriers, waits and groups
of copies, addresses, widths, predicates, fragments, initialisations, operands), and run on small launches with all checks. A
mutant is

- *caught* by a check, by the text being refused ("text"), by outputs that stay unwritten, or by an endless loop;
- *wrong* in its results, compared with f64;
- *harmless*, by an argument that is computed: of the control flow (``harness/ptx_paths.py``), of where changed values go
  (``harness/ptx_flow.py``), or of a list of all accesses (``harness/ptx_order.py``), which also has to find nothing in a mutant
  that is harmless for another reason;
- *missed* otherwise, and then printed with its line and with what stands against an argument.

Arguments are tried on what was caught, too: one that holds for a mutant with wrong results, or orders accesses where the machine
reports a race or an early access to a copy, is a contradiction.

What is missed today is equal to the original for reasons that no argument covers; ``harness/ptx_explained.py`` says them.

    python benchmarks/ptx_mutation.py [--kernel NAME] [--kind KIND] [--every N] [--json FILE]

Exit code 1 if there is a contradiction, if a missed mutant is not explained, or if more than 5 % of the mutants that are not
harmless are missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from harness.measure import cpu_seconds
from harness.report import show, write
from rich.console import Console

COLUMNS = ("kernel", "kind", "mutants", "caught", "by", "wrong result", "harmless", "because", "missed")
LIMIT = 0.05


def main(
    kernel: Annotated[list[str] | None, typer.Option(help="Only kernels whose name has this in it.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only mutants of this kind.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Only every N-th mutant of a kernel and kind.")] = 1,
    json: Annotated[Path | None, typer.Option(help="Write the rows to this file.")] = None,
) -> None:
    """Print a row for each kernel and kind, and one line for each mutant that is missed."""
    from harness.ptx_cases import cases, paper_cases
    from harness.ptx_judge import MISSED, contradiction, judge, sample

    console, rows, bad, seconds = Console(width=200, highlight=False), [], [], 0.0
    for case in (*cases(), *paper_cases()):
        if kernel and not any(name in case.name for name in kernel):
            continue
        chosen = [m for m in sample(case, every) if not kind or m.kind in kind]
        took, verdicts = cpu_seconds(lambda chosen=chosen, case=case: [judge(case, m) for m in chosen])
        more, found = cpu_seconds(lambda verdicts=verdicts, case=case: [contradiction(case, v) for v in verdicts])
        seconds += took + more
        rows += table(case.name, verdicts)
        bad += [f"CONTRADICTION {text}" for text in found if text]
        bad += [f"UNEXPLAINED {v}" for v in verdicts if v.outcome == MISSED and not v.why]
        for v in verdicts:
            if v.outcome == MISSED:
                console.print(f"missed {v}", markup=False, soft_wrap=True)
        console.print(f"{case.name}: {len(verdicts)} mutants, {took:.1f} s, cross-checks {more:.1f} s (processor time)")
    kinds = list(dict.fromkeys(r["kind"] for r in rows))
    rows += [total("all", k, [r for r in rows if r["kind"] == k]) for k in kinds]
    rows.append(total("all", "all", [r for r in rows if r["kernel"] != "all"]))
    show("PTX mutants", rows, COLUMNS)
    for line in bad:
        console.print(line, markup=False, soft_wrap=True)
    last = rows[-1]
    harmful = last["mutants"] - last["harmless"]
    rate = 1 - last["missed"] / max(1, harmful)
    console.print(f"{harmful} mutants are not shown to be harmless; {rate:.2%} of them are caught; {seconds:.0f} s")
    write(rows, json)
    raise typer.Exit(1 if bad or rate < 1 - LIMIT else 0)


def table(name: str, verdicts: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """A row for each kind of mutant."""
    from harness.ptx_judge import CAUGHT, HARMLESS, MISSED, WRONG

    for kind in dict.fromkeys(v.mutant.kind for v in verdicts):
        mine = [v for v in verdicts if v.mutant.kind == kind]
        count = Counter(v.outcome for v in mine)
        by, because = (Counter(v.by for v in mine if v.outcome == o) for o in (CAUGHT, HARMLESS))
        yield {
            "kernel": name,
            "kind": kind,
            "mutants": len(mine),
            "caught": count[CAUGHT],
            "by": listed(by),
            "wrong result": count[WRONG],
            "harmless": count[HARMLESS],
            "because": listed(because),
            "missed": count[MISSED],
            "checks": dict(by),
            "arguments": dict(because),
            "missed mutants": [str(v) for v in mine if v.outcome == MISSED],
        }


def total(kernel: str, kind: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The sum of rows."""
    by, because = (sum((Counter(r[c]) for r in rows), Counter()) for c in ("checks", "arguments"))
    sums = {c: sum(r[c] for r in rows) for c in ("mutants", "caught", "wrong result", "harmless", "missed")}
    return {
        "kernel": kernel,
        "kind": kind,
        **sums,
        "by": listed(by),
        "because": listed(because),
        "checks": dict(by),
        "arguments": dict(because),
    }


def listed(counts: Counter[str]) -> str:
    """Names with their counts, the most frequent first."""
    return ", ".join(f"{name} {n}" for name, n in counts.most_common())


if __name__ == "__main__":
    typer.run(main)
