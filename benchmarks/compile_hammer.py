"""Many processes compile with one set of tuning records while they are killed at random: every result must be the right one.

    python benchmarks/compile_hammer.py --seconds 120 --processes 8 --seed 0

A worker compiles small programs, drawn at random, of two families at several sizes. What each of them must come out as is known
from compilations without records. Workers are killed with SIGKILL and replaced; now and then one runs out of disk (a limit on the
size of its files). A wrong byte of PTX or launch description, an error, or a damaged file of records is a failure: exit code 1.
"""

from __future__ import annotations

import hashlib
import json
import random
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.graph.errors import PrismError
from prism_mlir.tune.records.check import problems
from prism_mlir.tune.records.database import Access, default_path, open_database
from prism_mlir.tune.records.store import Records

OPTIONS = CompileOptions(samples=60)
FULL_DISK = 200_000  # bytes of a file that a process without disk may write

SOURCE = """
func.func @f(%x: tensor<{n}x{k}x{t}>, %w: tensor<{k}x{m}x{t}>) -> tensor<{n}x{m}x{t}> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{n}x{m}xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{n}x{m}xf32>) -> tensor<{n}x{m}xf32>
  %p = linalg.matmul ins(%x, %w : tensor<{n}x{k}x{t}>, tensor<{k}x{m}x{t}>) outs(%z : tensor<{n}x{m}xf32>) -> tensor<{n}x{m}xf32>
  %o = tensor.empty() : tensor<{n}x{m}x{t}>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%p : tensor<{n}x{m}xf32>) outs(%o : tensor<{n}x{m}x{t}>) {{
  ^bb0(%a: f32, %b: {t}):
    %s = {function} : f32
    %c = arith.truncf %s : f32 to {t}
    linalg.yield %c : {t}
  }} -> tensor<{n}x{m}x{t}>
  return %r : tensor<{n}x{m}x{t}>
}}
"""
PROGRAMS = [
    {"n": n, "k": k, "m": m, "t": t, "function": function}
    for n, k, m, t in ((16, 32, 16, "f16"), (16, 64, 32, "bf16"), (1, 32, 32, "f16"), (48, 16, 16, "f16"))
    for function in ("math.exp %a", "arith.mulf %a, %a")
]


def write_programs(folder: Path) -> list[Path]:
    paths = []
    for number, sizes in enumerate(PROGRAMS):
        paths.append(folder / f"program{number}.mlir")
        paths[-1].write_text(SOURCE.format(**sizes))
    return paths


def digest_of(path: Path, records: Records | None) -> tuple[str, str]:
    """What a compilation came to, and where it came from."""
    done = compile_file(path, OPTIONS, records=records)
    text = json.dumps([done.launch.to_dict(), sorted(done.built.ptx.items()), [a.to_dict() for a in done.accuracy]])
    recorded = (done.discovery.recorded, done.selection.recorded, done.checked_before)
    return hashlib.sha256(text.encode()).hexdigest(), "".join("ny"[r] for r in recorded)


def work(folder: Path, cache: Path, seed: int, full: bool) -> None:
    """Compile until killed; a line on standard output for each result."""
    if full:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_DISK, FULL_DISK))
    rng, paths = random.Random(seed), sorted(folder.glob("program*.mlir"))
    while True:
        with Records.open(cache, lambda text: print("warning", text, flush=True), patience=300) as records:
            for path in rng.sample(paths, 3):
                try:
                    digest, source = digest_of(path, records)
                    print("done", path.name, digest, source, flush=True)
                except PrismError as error:
                    print("error", path.name, error.message, flush=True)


def start(folder: Path, cache: Path, seed: int, full: bool) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--worker", str(folder), "--cache", str(cache), "--seed", str(seed)]
    return subprocess.Popen([*command, *(["--full-disk"] if full else [])], stdout=subprocess.PIPE, text=True)


def hammer(folder: Path, seconds: float, processes: int, seed: int) -> tuple[list[str], int]:
    """All lines of all workers, and how many of them were killed."""
    rng, cache, lines, killed = random.Random(seed), folder / "cache", list[str](), 0
    workers = [start(folder, cache, rng.randrange(2**31), k == 0) for k in range(processes)]
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
        next_kill = time.monotonic() + rng.expovariate(processes / 12)
        while time.monotonic() < end:
            for key, _ in selector.select(0.2):
                lines.append(key.fileobj.readline().strip())  # type: ignore[union-attr]
            if time.monotonic() >= next_kill:
                number = rng.randrange(processes)
                old = workers[number]
                selector.unregister(old.stdout)  # type: ignore[arg-type]
                old.send_signal(signal.SIGKILL)
                lines += [line.strip() for line in old.communicate()[0].splitlines()]
                workers[number] = start(folder, cache, rng.randrange(2**31), number == 0)
                selector.register(workers[number].stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
                next_kill, killed = time.monotonic() + rng.expovariate(processes / 12), killed + 1
    for worker in workers:
        worker.kill()
        lines += [line.strip() for line in worker.communicate()[0].splitlines()]
    return [line for line in lines if line], killed


def main(
    seconds: Annotated[float, typer.Option(help="How long.")] = 120,
    processes: Annotated[int, typer.Option(help="How many compile at once.")] = 8,
    seed: Annotated[int, typer.Option(help="Of who is killed, and of what is compiled.")] = 0,
    worker: Annotated[Path | None, typer.Option(hidden=True)] = None,
    cache: Annotated[Path, typer.Option(hidden=True)] = Path(),
    full_disk: Annotated[bool, typer.Option("--full-disk", hidden=True)] = False,
) -> None:
    """Hammer, then look at every result and at the file."""
    if worker is not None:
        work(worker, cache, seed, full_disk)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wanted = {path.name: digest_of(path, None)[0] for path in write_programs(folder)}
        lines, killed = hammer(folder, seconds, processes, seed)
        done = [line.split() for line in lines if line.startswith("done")]
        wrong = [row[1] for row in done if len(row) == 4 and row[2] != wanted[row[1]]]
        errors = [line for line in lines if line.startswith("error")]
        warnings = Counter(line.split(";")[0] for line in lines if line.startswith("warning"))
        connection = open_database(default_path(folder / "cache"), Access.READ, 60)
        damage = list(problems(connection))
        connection.close()
    sources = Counter(row[3] for row in done if len(row) == 4)
    print(f"{len(done)} compilations, {killed} processes killed; from records (proof, choice, check): {dict(sources)}")
    for text, count in warnings.items():
        print(f"{count} times {text}")
    for problem in [*errors, *(f"wrong result of {name}" for name in wrong), *map(str, damage)]:
        print(f"FAILED: {problem}")
    raise typer.Exit(int(bool(errors or wrong or damage)))


if __name__ == "__main__":
    typer.run(main)
