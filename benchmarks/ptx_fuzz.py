"""Random kernels, racing kernels, instructions and damaged texts on both engines of the PTX machine, as many as you like.

``programs`` are right by construction and interpreted by their generator as well; of ``racy`` ones an oracle knows what is
wrong; ``operations`` are all instructions on random values against Python integers; ``wrong`` are single instructions put
together from the wrong pieces and ``texts`` damaged files, which may end in a ``PtxError`` only. The generators are those of
test/unit/ptx/fuzz.

Number i is made from seed ``--seed`` + i; a failure names it, so that ``--seed I --count 1 --kind K`` repeats it. The command
ends with status 1 after a failure.

    python benchmarks/ptx_fuzz.py [--count N] [--seed S] [--kind K] [--json FILE]
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from harness.report import show, write

TESTS = Path(__file__).resolve().parents[1] / "test" / "unit" / "ptx"
sys.path += [str(TESTS), str(TESTS / "fuzz")]

import agreement  # noqa: E402
import generator  # noqa: E402
import malformed  # noqa: E402
import mutate  # noqa: E402
import racy  # noqa: E402
import straight_line  # noqa: E402
from operations import Operation, catalogue  # noqa: E402

from prism_mlir.runtime.ptx import Module  # noqa: E402

COLUMNS = ("kind", "tried", "compiled", "left to reference", "refused", "failures", "CPU s")


@dataclass
class Tally:
    """Counts of one kind of trial."""

    kind: str
    tried: int = 0
    compiled: int = 0
    left: int = 0
    refused: int = 0
    failures: int = 0
    seconds: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)

    def engine(self, name: str, reason: str) -> None:
        """Count a run that the fast engine was asked for."""
        self.compiled += name == "fast"
        self.left += name != "fast"
        if reason:
            what = reason.split(": ", 1)[-1].split(" at '")[0]
            self.reasons[what] = self.reasons.get(what, 0) + 1


def programs(rng: random.Random, tally: Tally) -> Iterator[str]:
    case = generator.draw(rng)
    ways = (*agreement.REFERENCE, *agreement.FAST, *agreement.BARE)
    yield from agreement.disagreements(case, ways, tally.engine)


def racing(rng: random.Random, tally: Tally) -> Iterator[str]:
    yield from agreement.misjudgements(racy.RacyKernel(rng), (*agreement.REFERENCE, *agreement.FAST), tally.engine)


def operations(rng: random.Random, tally: Tally) -> Iterator[str]:
    """Thirty instructions on 256 rows."""
    every: list[Operation] = [o for ops in catalogue().values() for o in ops if o.exact]
    chosen = rng.sample(every, 30)
    yield from straight_line.mistakes(chosen, straight_line.rows(rng, 256), ("reference", "fast"))


def wrong(rng: random.Random, tally: Tally) -> Iterator[str]:
    yield from _damaged(mutate.kernel_of([mutate.wrong_instruction(rng)]), tally)


def texts(rng: random.Random, tally: Tally) -> Iterator[str]:
    change = mutate.large if rng.randrange(100) == 0 else mutate.damage
    yield from _damaged(change(rng, rng.choice(mutate.corpus())), tally)


def _damaged(text: str, tally: Tally) -> Iterator[str]:
    module: Module | None = malformed.load(text)
    tally.refused += module is None
    if module is not None:
        malformed.run(module, ("reference", "fast"))
    yield from ()


KINDS: dict[str, Callable[[random.Random, Tally], Iterator[str]]] = {
    "programs": programs,
    "racy": racing,
    "operations": operations,
    "wrong": wrong,
    "texts": texts,
}


def fuzz(kind: str, seed: int, count: int) -> Tally:
    """Run ``count`` trials; failures are printed as they come."""
    tally, started = Tally(kind), time.process_time()
    for i in range(seed, seed + count):
        tally.tried += 1
        try:
            problems = list(KINDS[kind](random.Random(i), tally))
        except Exception:
            problems = [traceback.format_exc(limit=-3)]
        tally.failures += bool(problems)
        for problem in problems:
            print(f"{kind} {i}: {problem}", flush=True)
    tally.seconds = time.process_time() - started
    return tally


def main(
    count: Annotated[int, typer.Option(help="Trials of each kind.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
    kind: Annotated[str, typer.Option(help=f"One of {', '.join(KINDS)}; all by default.")] = "",
    json: Annotated[Path | None, typer.Option(help="Write the rows to this file.")] = None,
) -> None:
    """Try random kernels and print how many of them each engine ran, and what went wrong."""
    tallies = [fuzz(name, seed, count) for name in ([kind] if kind else KINDS)]
    rows = [
        {
            "kind": t.kind,
            "tried": t.tried,
            "compiled": t.compiled,
            "left to reference": t.left,
            "refused": t.refused,
            "failures": t.failures,
            "CPU s": t.seconds,
        }
        for t in tallies
    ]
    show("PTX machine, random inputs", rows, COLUMNS)
    for t in tallies:
        for reason, times in sorted(t.reasons.items(), key=lambda item: -item[1])[:12]:
            print(f"{t.kind}: left to the reference engine {times} times: {reason}")
    write(rows, json)
    if any(t.failures for t in tallies):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
