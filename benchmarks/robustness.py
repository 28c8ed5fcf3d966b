"""Damaged files for every command that reads files, as many as you like.

Real files of the repository (MLIR, PTX, JSON) are damaged and given to ``prism`` and ``prism-opt`` in forked children with limits
on memory and time. A command may end with 0, or with 1 and an error that names a place; a traceback, a signal, a hang, or
something left behind is a failure. The generators are those of test/unit/robustness/fuzz.

Input number i is made from seed ``--seed`` + i; a failure names it, so that ``--seed I --count 1`` with the same targets repeats
it. The command ends with status 1 after a failure.

    python benchmarks/robustness.py [--count N] [--seconds S] [--seed S] [--target T] [--keep DIR]
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "unit" / "robustness" / "fuzz"))

from command_targets import TARGETS, Target, attempt, import_everything
from input_makers import make_input


def main(
    count: Annotated[int, typer.Option(help="Inputs to try; 0: as many as there is time for.")] = 1000,
    seconds: Annotated[float, typer.Option(help="Stop after this time.")] = 600.0,
    seed: Annotated[int, typer.Option(help="Seed of the first input.")] = 0,
    target: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(t.name for t in TARGETS)}.")] = None,
    keep: Annotated[Path | None, typer.Option(help="Folder for inputs that fail.")] = None,
) -> None:
    """Try damaged files, and print each new kind of failure."""
    chosen = [t for t in TARGETS if target is None or t.name in target]
    tried: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    import_everything()
    started, number = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="prism-fuzz-") as scratch:
        while (count == 0 or number < count) and time.monotonic() - started < seconds:
            rng = random.Random(seed + number)
            one = rng.choices(chosen, [t.weight for t in chosen])[0]
            data = make_input(rng, one)
            outcome, faults = attempt(one, data, Path(scratch) / "run")
            tried[one.name] += 1
            refused[one.name] += outcome.code == 1
            for fault in faults:
                _tell(one, fault, seed + number, data, seen, keep)
            number += 1
            if number % 1000 == 0:
                print(
                    f"{number} inputs in {time.monotonic() - started:.0f} s, {len(seen)} kinds of failure", flush=True
                )
    for name in sorted(tried):
        print(f"{name:<14} {tried[name]:>7} tried {refused[name]:>7} refused")
    print(
        f"{number} inputs in {time.monotonic() - started:.0f} s, {len(seen)} kinds of failure, {seen.total()} failures"
    )
    raise typer.Exit(1 if seen else 0)


def _tell(one: Target, fault: str, seed: int, data: bytes, seen: Counter[str], keep: Path | None) -> None:
    kind = f"{one.name}: " + re.sub(r"'[^']*'|\"[^\"]*\"|[@%][\w.$-]+|-?\d[\w.+-]*", "N", fault)[:160]
    seen[kind] += 1
    if seen[kind] > 1:
        return
    print(f"seed {seed}, {one.name}: {fault}", flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{one.name}-{seed}{one.suffix}").write_bytes(data)


if __name__ == "__main__":
    typer.run(main)
