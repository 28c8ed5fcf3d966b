"""A Dask cluster of real processes on this machine, for the time of a ``with`` block."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PATIENCE = 60.0


@dataclass(frozen=True)
class Cluster:
    """address: ``HOST:PORT``; scheduler, workers: processes (of a worker, its nanny)"""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: tuple[subprocess.Popen[bytes], ...]

    @property
    def spec(self) -> str:
        return f"dask://{self.address}"


@contextmanager
def cluster(folder: Path, *workers: Sequence[str], environment: dict[str, str] | None = None) -> Iterator[Cluster]:
    """A scheduler at a port that the system chooses, and a worker for each list of further options."""
    with ExitStack() as stack:
        found = folder / "scheduler.json"
        found.unlink(missing_ok=True)
        told = ["--port", "0", "--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(found)]
        scheduler = stack.enter_context(_started(folder, "scheduler", *told))
        end = time.monotonic() + PATIENCE
        while not found.exists() or not found.read_text().strip():
            assert scheduler.poll() is None and time.monotonic() < end, (folder / "scheduler.log").read_text()
            time.sleep(0.05)
        address = json.loads(found.read_text())["address"].removeprefix("tcp://")
        started = tuple(
            stack.enter_context(_worker(folder, address, k, options, environment)) for k, options in enumerate(workers)
        )
        yield Cluster(address, scheduler, started)


@contextmanager
def _worker(
    folder: Path, address: str, number: int, options: Sequence[str], environment: dict[str, str] | None
) -> Iterator[subprocess.Popen[bytes]]:
    local = ["--local-directory", str(folder), "--no-dashboard", "--nthreads", "1", "--name", f"w{number}"]
    with _started(folder, "worker", address, *local, *options, environment=environment) as process:
        yield process


@contextmanager
def _started(
    folder: Path, what: str, *arguments: str, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    given = {**os.environ, "PYTHONPATH": paths, **(environment or {})}
    with (folder / f"{what}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", what, *arguments],
            cwd=folder,
            env=given,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
