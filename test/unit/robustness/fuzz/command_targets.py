"""The commands that read files, what real files they are given, and what a damaged file may lead to.

A command ends with 0, or with 1 and an error that names a place in a file (or a verdict on standard output, for commands that
judge). No traceback, no signal, no other exit code; where it fails it leaves nothing behind.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fork_server import CRASHED, Limits, Outcome, run

ROOT = Path(__file__).resolve().parents[4]
LARGEST = 60_000  # bytes of a file of the corpus; most of larger ones is more of the same

LOCATED = re.compile(r"^.*:\d+:\d+: error: ", re.MULTILINE)
# A kernel that takes other arguments than were given, a grid that no machine has, limits that keep graphs from being found.
COMMAND_LINE = re.compile(
    r"^error: (arguments? |the grid |the block |no proved graph for |none of \d+ schedules of )", re.MULTILINE
)
LONGEST_LINE = 4_000

FEW = ("--limit", "operators=4", "--limit", "states=200", "--limit", "seconds=5", "--limit", "candidates=8")


@dataclass(frozen=True)
class Target:
    """A command. ``program`` is its module's ``main``; in ``arguments`` IN is the damaged file and OUT what it may write.

    weight: how often it is tried, in relation to the others; commands that compile are slow
    judges: whether exit code 1 without an error is an answer
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    corpus: Callable[[], Sequence[bytes]]
    suffix: str = ".mlir"
    weight: int = 4
    judges: bool = False
    beside: Callable[[], dict[str, bytes]] = dict


@cache
def mlir_corpus() -> tuple[bytes, ...]:
    """Real MLIR files; those of lit that hold several pieces are cut into them."""
    paths = [*(ROOT / "test").rglob("*.mlir"), *(ROOT / "examples").glob("*.mlir")]
    pieces = [p for path in sorted(paths) for p in re.split(rb"^// -----.*$", path.read_bytes(), flags=re.MULTILINE)]
    return tuple(p for p in pieces if p.strip() and len(p) < LARGEST)


def graph_corpus() -> tuple[bytes, ...]:
    """Those with graphs of ours."""
    return tuple(p for p in mlir_corpus() if b"sgraph.graph" in p)


def function_corpus() -> tuple[bytes, ...]:
    """Those with programs: linalg, TOSA, StableHLO, or ours."""
    return tuple(p for p in mlir_corpus() if b"func.func" in p or b"sgraph.program" in p)


@cache
def ptx_corpus() -> tuple[bytes, ...]:
    paths = [*(ROOT / "test").rglob("*.ptx"), *(ROOT / "examples").glob("*.ptx")]
    return tuple(p.read_bytes() for p in sorted(paths) if p.stat().st_size < LARGEST)


def reverse() -> bytes:
    return (ROOT / "examples" / "reverse.ptx").read_bytes()


def _argument(index: int, role: str) -> dict[str, object]:
    return {"role": role, "index": index, "dtype": "f32", "shape": [256], "bytes": 1024, "name": f"a{index}"}


@cache
def launch_corpus() -> tuple[bytes, ...]:
    return (
        emitted()["launch.json"],
        *(p.read_bytes() for p in sorted((ROOT / "test/unit/ptx/data/corpus").glob("*.json"))),
    )


SMALL = b"""func.func @main(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<16x32xf16>
  %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<16x32xf16>) -> tensor<16x32xf16>
  %y = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%init : tensor<16x32xf16>) -> tensor<16x32xf16>
  return %y : tensor<16x32xf16>
}
"""

PROVED = b"""sgraph.program @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
"""


@cache
def emitted() -> dict[str, bytes]:
    """What ``prism compile`` and ``prism verify`` write for small programs."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.mlir").write_bytes(SMALL)
        (folder / "p.mlir").write_bytes(PROVED)
        line = "sgraph-generate{operators=2 grid-dims=1},sgraph-prune,sgraph-instantiate-maps"
        for program, arguments in (
            ("prism", ("compile", "in.mlir", "-o", "out", *FEW)),
            ("prism-opt", ("p.mlir", "-p", line, "-o", "graphs.mlir")),
            ("prism", ("verify", "graphs.mlir", "--certificate", "proof.json", "-o", "verdicts.json")),
        ):
            outcome = run(lambda p=program, a=arguments: main_of(p)(list(a)), folder)
            assert outcome.code in (0, 1), outcome
        files = [*(folder / "out").iterdir(), folder / "graphs.mlir", folder / "proof.json", folder / "verdicts.json"]
        return {path.name: path.read_bytes() for path in files}


def main_of(program: str) -> Callable[[list[str]], int]:
    """The entry point of a command."""
    if program == "prism":
        from prism_mlir.tools.prism import main

        return main
    if program == "optimize":
        return _optimize
    from prism_mlir.tools.prism_opt import main as opt

    return opt


def _optimize(arguments: list[str]) -> int:
    """``prism_mlir.optimize`` as a command: it knows errors of one kind."""
    import sys

    import prism_mlir
    from prism_mlir.graph.errors import PrismError

    try:
        prism_mlir.optimize(Path(arguments[0]), check=False, operators=4, states=200, candidates=8, seconds=5)
    except PrismError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _file(path: str) -> Callable[[], Sequence[bytes]]:
    return lambda: ((ROOT / path).read_bytes(),)


def _emitted(name: str) -> Callable[[], Sequence[bytes]]:
    return lambda: (emitted()[name],)


def _beside(*names: str) -> Callable[[], dict[str, bytes]]:
    return lambda: {name: emitted()[name] for name in names}


REVERSE = ("--grid", "4", "--block", "64", "--arg", "f32[256]=arange", "--arg", "f32[256]=empty")
STEPS = ("--max-steps", "20000")
SEARCHED = "sgraph-import,sgraph-generate{operators=2 grid-dims=1 max-states=100},sgraph-prune,sgraph-instantiate-maps"

TARGETS: tuple[Target, ...] = (
    Target("opt", "prism-opt", ("IN", "-o", "OUT"), mlir_corpus, weight=12),
    Target("opt-import", "prism-opt", ("IN", "-p", "sgraph-import", "-o", "OUT"), function_corpus, weight=12),
    Target("opt-verify", "prism-opt", ("IN", "-p", "sgraph-verify", "-o", "OUT"), graph_corpus, weight=6),
    Target("opt-split", "prism-opt", ("IN", "--split-input-file", "--verify-diagnostics"), mlir_corpus, weight=1),
    Target("opt-gpu", "prism-opt", ("IN", "-p", "sgraph-to-gpu", "-o", "OUT"), graph_corpus, weight=2),
    Target("opt-ptx", "prism-opt", ("IN", "-p", "gpu-to-ptx", "-o", "OUT"), mlir_corpus, weight=1),
    Target("compile", "prism", ("compile", "IN", "-o", "OUT", "--no-check", *FEW), function_corpus, weight=4),
    Target("compile-small", "prism", ("compile", "IN", "-o", "OUT", *FEW), lambda: (SMALL,), weight=3),
    Target("optimize", "optimize", ("IN",), lambda: (SMALL,), weight=1),
    Target(
        "bundle",
        "prism",
        ("bundle", "OUT", "IN", "--no-check", "--schedules", "1", "--peers", "none"),
        lambda: (SMALL,),
        weight=1,
    ),
    Target("explain", "prism", ("explain", "IN", "-o", "OUT", *FEW), function_corpus, weight=2),
    Target("verify", "prism", ("verify", "IN", "-o", "OUT", "--time-limit", "5s"), graph_corpus, weight=4, judges=True),
    Target("cost", "prism", ("cost", "IN", "--compare", "2", *FEW), function_corpus, weight=2),
    Target(
        "certify",
        "prism",
        ("certify", "IN", "graphs.mlir"),
        _emitted("proof.json"),
        ".json",
        3,
        False,
        _beside("graphs.mlir"),
    ),
    Target(
        "replay",
        "prism",
        ("verify", "graphs.mlir", "--replay", "IN"),
        _emitted("verdicts.json"),
        ".json",
        2,
        True,
        _beside("graphs.mlir"),
    ),
    Target("ptx-check", "prism", ("ptx", "check", "IN", *REVERSE, *STEPS), ptx_corpus, ".ptx", 6, True),
    Target("ptx-run", "prism", ("ptx", "run", "IN", *REVERSE, *STEPS), lambda: (reverse(),), ".ptx", 4, True),
    Target("ptx-stats", "prism", ("ptx", "stats", "IN", *REVERSE, *STEPS), lambda: (reverse(),), ".ptx", 2, True),
    Target(
        "ptx-launch",
        "prism",
        ("ptx", "check", "main.ptx", "--launch", "IN", "--seeds", "1", *STEPS),
        launch_corpus,
        ".json",
        4,
        True,
        _beside("main.ptx"),
    ),
    Target(
        "cache-import",
        "prism",
        ("cache", "import", "IN", "--cache", "OUT"),
        _file("test/inputs/records.jsonl"),
        ".jsonl",
        4,
    ),
    Target("bench-read", "prism", ("bench", "--read", "IN"), _file("test/tools/Inputs/results.json"), ".json", 4),
)


def attempt(target: Target, data: bytes, folder: Path, limits: Limits = Limits()) -> tuple[Outcome, list[str]]:  # noqa: B008
    """Give a command a file; how it ended, and everything wrong with that. ``folder`` is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    given = {f"in{target.suffix}": data, **target.beside()}
    for name, content in given.items():
        (folder / name).write_bytes(content)
    names = {"IN": f"in{target.suffix}", "OUT": "out"}
    arguments = [names.get(a, a) for a in target.arguments]
    outcome = run(lambda: main_of(target.program)(arguments), folder, limits)
    return outcome, list(_faults(target, outcome, {p.name for p in folder.iterdir()} - set(given)))


def _faults(target: Target, outcome: Outcome, left: set[str]) -> Sequence[str]:
    found = []
    if outcome.code is None:
        found.append(f"ended by {outcome.ending}: {_last(outcome.err)}")
    elif (
        "Traceback" in outcome.err
        or "internal error" in outcome.err
        or "this is a bug" in outcome.err
        or outcome.code == CRASHED
    ):
        found.append(f"crashed: {_last(outcome.err)}")
    elif outcome.code not in (0, 1):
        found.append(f"exit code {outcome.code}: {_last(outcome.err)}")
    elif outcome.code == 1 and not _explained(target, outcome):
        found.append(f"an error without a place: {_last(outcome.err)}")
    if any(len(line) > LONGEST_LINE for line in outcome.err.splitlines()):
        found.append("a line of an error is endless")
    if outcome.code != 0 and left - ({"out"} if target.judges and outcome.code == 1 else set()):
        found.append(f"left behind: {', '.join(sorted(left))}")
    return found


def _explained(target: Target, outcome: Outcome) -> bool:
    """Whether exit code 1 has a reason: an error that names a place, or a verdict."""
    if target.judges and not outcome.err.strip():
        return True
    return any(p.search(outcome.err) for p in (LOCATED, COMMAND_LINE))


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing was printed"


_IMPORT_EGGLOG = ("prism_mlir.search.egraph", "prism_mlir.verify", "prism_mlir.compiler", "prism_mlir.passes.sgraph_")


def import_everything() -> None:
    """Import what the commands import when they run, so that forked children find it there.

    Not egglog: it starts threads when it is imported, and a forked child that waits for one of them waits for ever.
    """
    import contextlib
    import importlib
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.mlir").write_bytes(SMALL)

        def call() -> int:
            main_of("prism")(["compile", "in.mlir", "-o", "out", *FEW])
            main_of("prism-opt")(["in.mlir", "-p", "sgraph-import"])
            (folder / "modules.json").write_text(json.dumps(sorted(sys.modules)))
            return 0

        run(call, folder)
        for module in json.loads((folder / "modules.json").read_text()):
            if module not in sys.modules and not module.startswith(("__", "encodings", "egglog", *_IMPORT_EGGLOG)):
                with contextlib.suppress(Exception):  # an optional part; the children will say so if they need it
                    importlib.import_module(module)
        assert "egglog" not in sys.modules
