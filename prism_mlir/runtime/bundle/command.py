"""Measure all rows of a bundle within a time budget. The results so far are in the file after every candidate."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from .driver import GpuError, initialise
from .gpu import Clock
from .measure import Settings
from .worker import Child, Local, Worker, serve

FORMAT = 1
MANIFEST = "bundle.json"
PEERS = ("prism", "triton", "torch", "compile")  # in the order of measuring: what takes longest comes last
CANDIDATE_S, COMPILE_S = 60.0, 120.0  # the most that one candidate may take, whatever happens
LEAST_S = 2.0  # no candidate is begun with less time left

Say = Callable[[str], None]


def main(arguments: Sequence[str], driver: Any = None, clock: Clock = time.perf_counter) -> int:
    """The command line of a bundle. driver: measure in this process, on this one (for tests)."""
    options = _parser().parse_args(arguments)
    if options.worker:
        return serve()
    folder = Path(options.bundle)
    settings = replace(Settings(), **{n: v for n in _NUMBERS if (v := getattr(options, n)) is not None})
    try:
        manifest = read_manifest(folder)
        worker: Worker = Local(initialise(driver), clock) if driver is not None else Child(worker_command())
        result = measure_all(
            manifest,
            folder,
            worker,
            settings,
            minutes=options.minutes,
            peers=options.peers.split(",") if options.peers else list(PEERS),
            output=Path(options.output),
            clock=clock,
            say=lambda line: print(line, flush=True),
        )
    except GpuError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"error: interrupted; what was measured so far is in {options.output}", file=sys.stderr)
        return 1
    print(f"wrote {options.output}{'' if result['complete'] else ' (not everything: the time was up)'}")
    return 0


_NUMBERS = ("repeats", "warm_up", "cold_bytes", "most_sets", "grace_s")


def _parser() -> argparse.ArgumentParser:
    home = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        prog="run.py", description="Measure the kernels of a bundle on this machine's GPU."
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="time budget of everything (default 5)")
    parser.add_argument("--output", default="results.json", help="where the results go (default results.json)")
    parser.add_argument("--peers", default="", help=f"some of {','.join(PEERS)} (default: all that are installed)")
    parser.add_argument("--bundle", default=str(home), help="folder of bundle.json (default: where this program is)")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    kinds = {f.name: f.type for f in fields(Settings)}
    for name in _NUMBERS:
        kind = float if kinds[name] == "float" else int
        parser.add_argument("--" + name.replace("_", "-"), type=kind, default=None, help=f"see measure.Settings.{name}")
    return parser


def worker_command() -> list[str]:
    """Starts a child: this program, as a script where it is one, else as a module of its package."""
    script = Path(__file__).resolve().parent.parent / "run.py"
    if script.is_file():
        return [sys.executable, str(script), "--worker"]
    return [sys.executable, "-m", f"{__package__}.run", "--worker"]


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the bundle holds. Raises :class:`GpuError` where it is none, or of another version."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GpuError(f"cannot read '{path}' ({type(error).__name__}), make a bundle with prism bundle") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise GpuError(f"'{path}' is no bundle of format {FORMAT}, make one with the prism bundle of this version")
    return manifest


def measure_all(
    manifest: dict[str, Any],
    folder: Path,
    worker: Worker,
    settings: Settings,
    *,
    minutes: float,
    peers: Sequence[str] = PEERS,
    output: Path | None = None,
    clock: Clock = time.perf_counter,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Measure candidates in the order of ``PEERS``, and return the results. Raises :class:`NoDriver` where there is no device.

    output: where the results so far are written, whole, after every candidate
    """
    end = clock() + 60 * minutes
    try:
        result = _blank(manifest, worker.device(), settings)
        _write(output, result)
        for peer, row, found in _pairs(manifest, result, peers):
            for candidate in [c for c in row["candidates"] if c["peer"] == peer]:
                left = end - clock()
                request = {"folder": str(folder.resolve()), "row": row, "candidate": candidate}
                request.update(settings=settings.to_dict(), best_us=_best(found, peer))
                if left < LEAST_S:
                    reply = {"status": "skipped", "reason": f"the {minutes:g} minutes were up"}
                else:
                    reply = worker.ask(request, min(left, COMPILE_S if peer == "compile" else CANDIDATE_S))
                found["results"].append({"peer": peer, "label": candidate["label"], **_kept(candidate), **reply})
                say(_line(row, found["results"][-1]))
                _write(output, result)
        every = [r for row in result["rows"] for r in row["results"]]
        result["complete"] = all(r["status"] != "skipped" for r in every)
        result["seconds"] = clock() - end + 60 * minutes
        _write(output, result)
        return result
    finally:
        worker.close()


def _blank(manifest: dict[str, Any], device: dict[str, Any], settings: Settings) -> dict[str, Any]:
    kept = ("name", "workload", "size", "paper")
    return {
        "format": FORMAT,
        "made_by": manifest["made_by"],
        "target": manifest["target"],
        "device": device,
        "settings": settings.to_dict(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "complete": False,
        "seconds": 0.0,
        "rows": [{**{k: row.get(k) for k in kept}, "results": []} for row in manifest["rows"]],
    }


def _pairs(manifest: dict[str, Any], result: dict[str, Any], peers: Sequence[str]) -> list[tuple[str, Any, Any]]:
    """(peer, row of the bundle, row of the results)."""
    both = list(zip(manifest["rows"], result["rows"]))
    return [(peer, row, found) for peer in PEERS if peer in peers for row, found in both]


def _best(found: dict[str, Any], peer: str) -> float | None:
    """The best median with the L2 flushed of a peer's candidates so far."""
    times = [r["cold"]["median_us"] for r in found["results"] if r["peer"] == peer and r["status"] == "ok"]
    return min(times, default=None)


def _kept(candidate: dict[str, Any]) -> dict[str, Any]:
    return {"model_us": candidate["model_us"]} if "model_us" in candidate else {}


def _line(row: dict[str, Any], reply: dict[str, Any]) -> str:
    head = f"{row['name']}: {reply['peer']} {reply['label']}"
    if reply["status"] != "ok":
        return f"{head}: {reply['status']}: {reply['reason']}"
    cold, warm = reply["cold"], reply["warm"]
    return f"{head}: {cold['median_us']:.2f} us (spread {cold['iqr_us']:.2f}), warm {warm['median_us']:.2f} us"


def _write(path: Path | None, result: dict[str, Any]) -> None:
    """All of it or nothing: another name first."""
    if path is None:
        return
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        scratch.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(scratch, path)  # noqa: PTH105  (Path.replace says the same in more words)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise GpuError(f"cannot write '{path}': {error.strerror}, name another file with --output") from None
