"""Many processes write one file of tuning records while they are killed at random; nothing that was acknowledged may be missing.

    python benchmarks/cache_hammer.py --seconds 300 --processes 8 --seed 0

A worker adds records of every kind, reads some, and after each call that returned writes a line into a pipe. What it adds follows
from its name and a counter, so that afterwards every acknowledged record is known without asking the file. Workers are killed
with SIGKILL and replaced. In the end every acknowledged record must be there, every checksum right, and SQLite's structure whole.
Exit code 1 if not.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from prism_mlir.tune.records.check import problems
from prism_mlir.tune.records.database import Access, open_database
from prism_mlir.tune.records.prune import Prune, prune
from prism_mlir.tune.records.store import Records

PATIENCE = 300.0  # a busy machine is no failure
Tell = Callable[..., None]  # takes words
PRUNE_EVERY = 10  # rounds of a worker
CONTESTED = 20  # keys that all workers write, each its own payload


def text_of(name: str) -> str:
    """What a record of this name says: some hundred bytes to some ten thousand."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return digest * (1 + int(digest[:2], 16))


# -- a worker ------------------------------------------------------------------------------------------------------


def work(folder: Path, name: str) -> None:
    """Add records until killed; a line on standard output after each call that returned."""

    def tell(*words: str) -> None:
        os.write(1, (" ".join(words) + "\n").encode())

    with Records.open(folder, lambda text: tell("warning", text), patience=PATIENCE) as records:
        number = 0
        while True:
            number += 1
            one = f"{name}.{number}"
            records.add_family(one, text_of(one), {"program": one})
            tell("family", one)
            records.add_choice(one, one, text_of(one), {"sizes": {"n": number}})
            tell("choice", one)
            records.add_measurement(one, one, "gpu", float(number), None, {"worker": name})
            tell("measurement", one)
            records.add_object(text_of(one).encode(), "ptx")
            tell("object", one)
            contest(records, number, name, tell)
            steps(records, one, tell)
            if number % PRUNE_EVERY == 0:
                prune_nothing(folder)
                tell("pruned")


def prune_nothing(folder: Path) -> None:
    """Look through everything and rewrite the whole file, while others write it too. Everything is of use."""
    with closing(open_database(folder / "records.sqlite", Access.WRITE, PATIENCE)) as connection:
        dropped = +prune(connection, Prune()).rows
    if dropped:
        raise AssertionError(f"dropped {dropped}")


def contest(records: Records, number: int, name: str, tell: Tell) -> None:
    """A key that others write too: what is read is what one of them wrote, whole."""
    key = f"contested {number % CONTESTED}"
    records.add_family(key, text_of(name), {"by": name})
    tell("contested", key.replace(" ", "_"), hashlib.sha256((records.family(key) or "nothing").encode()).hexdigest())


def steps(records: Records, run: str, tell: Tell) -> None:
    """Steps of a run; of every second run they are dropped."""
    for step in ("search", "prove"):
        records.add_step(run, step, text_of(run + step))
        tell("step", run, step)
    if int(run.rpartition(".")[2]) % 2:
        tell("dropping", run)
        records.drop_steps(run)
        tell("dropped", run)


# -- the one who kills and counts ------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What was acknowledged, how many workers were killed, and what is wrong afterwards."""

    acknowledged: Counter[str] = field(default_factory=Counter)
    killed: int = 0
    wrong: list[str] = field(default_factory=list)


def hammer(folder: Path, seconds: float, processes: int, seed: int) -> Outcome:
    """Run workers, kill and replace them at random, and compare what they acknowledged with what is there."""
    outcome = Outcome()
    lines = _run(folder, seconds, processes, random.Random(seed), outcome)
    outcome.acknowledged = Counter(line.split(" ", 1)[0] for line in lines)
    outcome.wrong = [line for line in lines if line.startswith("warning")] + compare(folder, lines)
    return outcome


def _run(folder: Path, seconds: float, processes: int, rng: random.Random, outcome: Outcome) -> list[str]:
    """The lines of all workers. A last line that a killed worker could not finish is no acknowledgement."""
    selector = selectors.DefaultSelector()
    texts: dict[str, bytearray] = {}
    workers: dict[str, subprocess.Popen[bytes]] = {}

    def start() -> None:
        name = f"w{len(texts)}"
        command = [sys.executable, str(Path(__file__).resolve()), "--worker", name, "--folder", str(folder)]
        workers[name] = subprocess.Popen(command, stdout=subprocess.PIPE)
        texts[name] = bytearray()
        selector.register(workers[name].stdout, selectors.EVENT_READ, name)  # type: ignore[arg-type]

    def end(name: str) -> None:
        worker = workers.pop(name)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        assert worker.stdout is not None
        selector.unregister(worker.stdout)
        texts[name] += worker.stdout.read()
        worker.stdout.close()
        if worker.returncode != -signal.SIGKILL:
            outcome.wrong.append(f"worker {name} ended by itself with {worker.returncode}")
        outcome.killed += 1

    for _ in range(processes):
        start()
    until = time.monotonic() + seconds
    next_kill = time.monotonic() + 0.5
    while time.monotonic() < until:
        for key, _ in selector.select(0.02):
            texts[key.data] += os.read(key.fd, 1 << 16)
        if time.monotonic() > next_kill:
            end(rng.choice(sorted(n for n in workers if texts[n]) or sorted(workers)))  # one that has begun, if any
            start()
            next_kill = time.monotonic() + rng.uniform(0.02, 0.4)
    for name in sorted(workers):
        end(name)
    return [line for text in texts.values() for line in text.decode().split("\n")[:-1]]


def compare(folder: Path, lines: list[str]) -> list[str]:
    """What was acknowledged and is not there, or otherwise; and what the check of the whole file finds."""
    wrong: list[str] = []
    workers = {line.split(" ")[1].rpartition(".")[0] for line in lines if line.startswith("family ")}
    written = {hashlib.sha256(text_of(name).encode()).hexdigest() for name in workers}
    dropping = {line.split()[1] for line in lines if line.startswith("dropping ")}
    with Records.open(folder, lambda text: wrong.append(text), patience=PATIENCE) as records:
        for line in lines:
            kind, *words = line.split(" ")
            if kind == "contested" and words[1] not in written:
                wrong.append(f"nobody wrote what was read: {line}")
            if not _is_there(records, kind, words, dropping):
                wrong.append(f"acknowledged, but not there: {line}")
    with closing(open_database(folder / "records.sqlite", Access.READ)) as connection:
        wrong += problems(connection)
    return wrong


def _is_there(records: Records, kind: str, words: list[str], dropping: set[str]) -> bool:
    name = words[0] if words else ""
    if kind == "family":
        return records.family(name) == text_of(name)
    if kind == "choice":
        return records.choice(name) == text_of(name)
    if kind == "measurement":
        number = float(name.rpartition(".")[2])
        return [(m.candidate, m.microseconds) for m in records.measurements(name)] == [(name, number)]
    if kind == "object":
        content = text_of(name).encode()
        return records.object(hashlib.sha256(content).hexdigest()) == content
    if kind == "contested":
        return records.family(name.replace("_", " ")) is not None
    if kind == "step":
        return name in dropping or records.step(name, words[1]) == text_of(name + words[1])
    if kind == "dropped":
        return records.steps(name) == {}
    return kind in ("dropping", "pruned")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.folder, given.worker)
    with tempfile.TemporaryDirectory() as scratch:
        outcome = hammer(given.folder or Path(scratch), given.seconds, given.processes, given.seed)
    counts = ", ".join(f"{n} {kind}" for kind, n in sorted(outcome.acknowledged.items()))
    print(f"{outcome.killed} workers killed; acknowledged: {counts}")
    for line in outcome.wrong[:20]:
        print(f"wrong: {line}")
    print(f"{len(outcome.wrong)} wrong")
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
