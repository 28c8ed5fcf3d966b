"""A search that is killed goes on where it stopped, and finds the same."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from prism_mlir.compiler import families, workers
from prism_mlir.compiler.families import discover_family
from prism_mlir.compiler.resume import Steps
from prism_mlir.graph.examples import rms_norm, rms_norm_mlp
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.search import parallel
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.records.store import Records
from prism_mlir.verify.verdict import Verdict

TWO = SearchLimits(kernels=2)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path / "cache", pytest.fail) as opened:
        yield opened


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "Steps", lambda records, run: Steps(records, run, interval=0.0))


class Killed(BaseException):
    """What a process that is killed would not even see."""


class Killer:
    """Counts calls, and ends the run at one of them."""

    def __init__(self, wrapped: Any, last: int) -> None:
        self.wrapped, self.last, self.calls = wrapped, last, 0

    def __call__(self, *arguments: Any) -> Any:
        if self.calls == self.last:
            raise Killed
        self.calls += 1
        return self.wrapped(*arguments)


def kill_at(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, last: int) -> Killer:
    killer = Killer(getattr(module, name), last)
    killer.__name__ = name  # type: ignore[attr-defined]
    monkeypatch.setattr(module, name, killer)
    return killer


def test_verdicts_are_not_asked_for_again(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    program = rms_norm_mlp(8, 64, 64)
    whole = discover_family(program, SearchLimits(), Records.none()).discovery
    batches = -(-len(whole.candidates) // 48)
    assert batches == 4
    killer = kill_at(monkeypatch, workers, "_verdicts", 2)
    with pytest.raises(Killed):
        discover_family(program, SearchLimits(), records)
    assert killer.calls == 2
    monkeypatch.undo()
    at_once_again(monkeypatch)
    judged = kill_at(monkeypatch, workers, "_verdicts", 99)
    resumed = discover_family(program, SearchLimits(), records).discovery
    assert judged.calls == 2
    assert (resumed.candidates, resumed.verdicts) == (whole.candidates, whole.verdicts)


def test_verdicts_of_a_search_under_a_clock_are_kept(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    program, limits = rms_norm_mlp(8, 64, 64), SearchLimits(seconds=600.0)
    kill_at(monkeypatch, workers, "_verdicts", 2)
    with pytest.raises(Killed):
        discover_family(program, limits, records)
    monkeypatch.undo()
    at_once_again(monkeypatch)
    judged = kill_at(monkeypatch, workers, "_verdicts", 99)
    resumed = discover_family(program, limits, records).discovery
    assert judged.calls == 2
    assert resumed.candidates == discover_family(program, SearchLimits(), Records.none()).discovery.candidates


def at_once_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "Steps", lambda records, run: Steps(records, run, interval=0.0))


@pytest.mark.parametrize("function, limits", [("_branches", SearchLimits()), ("_saved_set", TWO)])
def test_parts_of_the_search_are_not_searched_again(
    records: Records, monkeypatch: pytest.MonkeyPatch, function: str, limits: SearchLimits
) -> None:
    program = rms_norm(16, 64, 64)
    counted = kill_at(monkeypatch, parallel, function, 10**9)
    whole = discover_family(program, limits, records).discovery
    total = counted.calls
    assert total > 4
    monkeypatch.undo()
    at_once_again(monkeypatch)
    with Records.open(records.path.parent / "other", pytest.fail) as fresh:  # type: ignore[union-attr]
        killer = kill_at(monkeypatch, parallel, function, total // 2)
        with pytest.raises(Killed):
            discover_family(program, limits, fresh)
        assert killer.calls == total // 2
        monkeypatch.undo()
        at_once_again(monkeypatch)
        rest = kill_at(monkeypatch, parallel, function, 10**9)
        resumed = discover_family(program, limits, fresh).discovery
        assert rest.calls == total - total // 2
    assert resumed.candidates == whole.candidates
    assert resumed.verdicts == whole.verdicts
    assert resumed.funnel.to_dict() == whole.funnel.to_dict()


def test_a_whole_search_leaves_no_steps(records: Records) -> None:
    done = discover_family(rms_norm(16, 64, 64), TWO, records)
    assert records.family(done.key) is not None
    assert records.steps(done.key) == {}


def test_a_quick_search_writes_no_steps(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "Steps", lambda records, run: Steps(records, run, interval=1e9))
    written: list[str] = []
    monkeypatch.setattr(records, "add_step", lambda run, name, payload: written.append(name))
    discover_family(rms_norm(16, 64, 64), SearchLimits(), records)
    assert not written


@pytest.mark.parametrize(
    "damaged", ["[]", "null", "3", '{"list": true}', '[{"status": "proved"}]', '{"parts": [], "list": false}']
)
def test_steps_that_say_nothing_are_done_again(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: str
) -> None:
    program, names = rms_norm(16, 64, 64), list[str]()
    monkeypatch.setattr(Steps, "get", spy(names, Steps.get))
    with Records.open(tmp_path / "other", pytest.fail) as other:
        whole = discover_family(program, SearchLimits(), other).discovery
    assert names
    monkeypatch.setattr(records, "steps", lambda run: dict.fromkeys(names, damaged))
    found = discover_family(program, SearchLimits(), records).discovery
    assert (found.candidates, found.verdicts) == (whole.candidates, whole.verdicts)


def spy(names: list[str], wrapped: Any) -> Any:
    def get(steps: Steps, name: str) -> Any:
        names.append(name)
        return wrapped(steps, name)

    return get


SCRIPT = """
import sys
from pathlib import Path
from prism_mlir.compiler import families
from prism_mlir.compiler.families import discover_family
from prism_mlir.compiler.resume import Steps
from prism_mlir.graph.examples import rms_norm_mlp
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.records.store import Records

families.Steps = lambda records, run: Steps(records, run, interval=0.0)
add = Records.add_step
def told(self, run, name, payload):
    add(self, run, name, payload)
    print(run, name, flush=True)
Records.add_step = told
with Records.open(Path(sys.argv[1])) as records:
    discover_family(rms_norm_mlp(8, 64, 64), SearchLimits(), records)
"""


def test_a_process_that_is_killed_has_left_what_it_told_of(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().split(" ", 1) for _ in range(5)]
        process.send_signal(signal.SIGKILL)
    with Records.open(folder, pytest.fail) as records:
        kept = records.steps(told[0][0])
        assert {name.strip() for _, name in told} <= set(kept)
        resumed = discover_family(rms_norm_mlp(8, 64, 64), SearchLimits(), records).discovery
    whole = discover_family(rms_norm_mlp(8, 64, 64), SearchLimits(), Records.none()).discovery
    assert (resumed.candidates, resumed.verdicts) == (whole.candidates, whole.verdicts)


def test_candidates_and_verdicts_stay_together(records: Records) -> None:
    def pairs(graphs: Sequence[KernelGraph], verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
        return [(g.fingerprint, v.status.value) for g, v in zip(graphs, verdicts, strict=True)]

    found = [discover_family(rms_norm(16, 64, 64), TWO, records).discovery for _ in range(2)]
    assert [f.recorded for f in found] == [False, True]
    assert pairs(found[0].candidates, found[0].verdicts) == pairs(found[1].candidates, found[1].verdicts)
