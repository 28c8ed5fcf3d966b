"""A run over a bundle: the order of candidates, the budget, the file of results, the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from double_kernel import write_bundle
from fake_gpu import Behaviour, FakeGpu
from test_profiler import SETTINGS

from prism_mlir.runtime.bundle import command
from prism_mlir.runtime.bundle.command import main, measure_all

OK = {"status": "ok", "reason": "", "cold": {"median_us": 5.0, "iqr_us": 1.0}, "warm": {"median_us": 4.0}}


class Scripted:
    """Answers from a script; every request is kept, and whether the file of results was whole when it came."""

    def __init__(self, answers: list[dict[str, Any]], output: Path | None = None, takes: float = 0.0) -> None:
        self.answers, self.output, self.takes = iter(answers), output, takes
        self.now = 0.0
        self.requests: list[tuple[dict[str, Any], float]] = []
        self.files: list[dict[str, Any]] = []
        self.closed = 0

    def clock(self) -> float:
        return self.now

    def device(self) -> dict[str, Any]:
        return {"name": "Scripted"}

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        self.requests.append((request, seconds))
        if self.output is not None:
            self.files.append(json.loads(self.output.read_text()))
        self.now += self.takes
        return dict(next(self.answers))

    def close(self) -> None:
        self.closed += 1


def manifest(*rows: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
    return {
        "made_by": "a test",
        "target": "sm_80",
        "rows": [{"name": n, "candidates": [{"peer": p, "label": f"{n}-{p}"} for p in peers]} for n, peers in rows],
    }


def test_kernels_of_all_rows_come_before_torch_and_compiled_code_last(tmp_path: Path) -> None:
    every = ("compile", "torch", "triton", "prism")
    worker = Scripted([OK] * 8)
    measure_all(manifest(("a", every), ("b", every)), tmp_path, worker, SETTINGS, minutes=5, clock=worker.clock)
    asked = [r["candidate"]["label"] for r, _ in worker.requests]
    assert asked == [f"{row}-{peer}" for peer in ("prism", "triton", "torch", "compile") for row in "ab"]
    assert worker.closed == 1


def test_the_best_of_the_same_peer_and_row_is_the_measure() -> None:
    """Rows a and b: three and one candidates of prism, then two of triton in row a."""
    times = [7.0, 3.0, 5.0, 9.0, 4.0, 6.0]
    answers = [{**OK, "cold": {"median_us": t, "iqr_us": 0.0}} for t in times]
    worker = Scripted(answers)
    measure_all(
        manifest(("a", ("prism", "prism", "prism", "triton", "triton")), ("b", ("prism",))),
        Path(),
        worker,
        SETTINGS,
        minutes=5,
        clock=worker.clock,
    )
    assert [r["best_us"] for r, _ in worker.requests] == [None, 7.0, 3.0, None, None, 4.0]


def test_results_are_in_the_file_after_every_candidate(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    worker = Scripted([OK, {"status": "failed", "reason": "why"}, OK], output)
    given = manifest(("a", ("prism", "prism", "prism")))
    result = measure_all(given, tmp_path, worker, SETTINGS, minutes=5, output=output, clock=worker.clock)
    assert [len(f["rows"][0]["results"]) for f in worker.files] == [0, 1, 2]
    assert not any(f["complete"] for f in worker.files)
    assert json.loads(output.read_text()) == result
    assert result["complete"]
    assert [p.name for p in tmp_path.iterdir()] == ["results.json"]


def test_when_the_time_is_up_the_rest_is_skipped_and_said_so(tmp_path: Path) -> None:
    """Each takes 25 s of one minute: two are measured, the third is given the 10 s that are left, the fourth is not begun."""
    worker = Scripted([OK] * 3, takes=25.0)
    result = measure_all(manifest(("a", ("prism",) * 4)), tmp_path, worker, SETTINGS, minutes=1, clock=worker.clock)
    assert [seconds for _, seconds in worker.requests] == [60, 35, 10]
    statuses = [r["status"] for r in result["rows"][0]["results"]]
    assert statuses == ["ok", "ok", "ok", "skipped"]
    assert not result["complete"]


def test_nothing_is_begun_in_the_last_seconds(tmp_path: Path) -> None:
    """The first takes 59 s of the minute, and the second would have one."""
    worker = Scripted([OK] * 2, takes=59.0)
    result = measure_all(manifest(("a", ("prism",) * 2)), tmp_path, worker, SETTINGS, minutes=1, clock=worker.clock)
    assert [r["status"] for r in result["rows"][0]["results"]] == ["ok", "skipped"]


def test_peers_can_be_left_out(tmp_path: Path) -> None:
    worker = Scripted([OK])
    given = manifest(("a", ("prism", "triton", "torch")))
    measure_all(given, tmp_path, worker, SETTINGS, minutes=5, peers=["triton"], clock=worker.clock)
    assert [r["candidate"]["peer"] for r, _ in worker.requests] == ["triton"]


def test_the_worker_is_closed_whatever_happens(tmp_path: Path) -> None:
    worker = Scripted([])
    with pytest.raises(StopIteration):
        measure_all(manifest(("a", ("prism",))), tmp_path, worker, SETTINGS, minutes=5, clock=worker.clock)
    assert worker.closed == 1


SMALL = ["--repeats", "3", "--warm-up", "1", "--most-sets", "2"]


def test_the_command_line_measures_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bundle(tmp_path, ("double", "wrong"))
    fake = FakeGpu({"wrong": Behaviour(fault="wrong", at=3)})
    output = tmp_path / "out.json"
    assert main(["--bundle", str(tmp_path), "--output", str(output), *SMALL], fake, fake.seconds) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "double: prism double: 20.00 us (spread 0.00), warm 10.00 us"
    assert shown[1].startswith("double: prism wrong: wrong: output 0: element [0] is ")
    assert shown[2] == f"wrote {output}"
    data = json.loads(output.read_text())
    assert data["device"]["name"] == "Fake GPU"
    assert data["device"]["capability"] == "8.0"
    assert data["settings"]["repeats"] == 3
    assert fake.open == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "error: cannot read "),
        ("{", "error: cannot read "),
        ("[]", "is no bundle of format 1"),
        ('{"format": 99}', "is no bundle of format 1"),
    ],
)
def test_what_is_no_bundle_is_one_line(
    tmp_path: Path, content: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "bundle.json").write_text(content)
    assert main(["--bundle", str(tmp_path)], FakeGpu()) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bundle(tmp_path, ("double",))
    fake = FakeGpu()
    assert main(["--bundle", str(tmp_path), "--output", str(tmp_path / "no" / "out.json"), *SMALL], fake) == 1
    assert "error: cannot write" in capsys.readouterr().err
    assert fake.open == []


def test_inputs_that_are_drawn_otherwise_are_refused(tmp_path: Path) -> None:
    given = write_bundle(tmp_path, ("double",))
    given["rows"][0]["inputs"][0]["sha256"] = "0" * 64
    fake = FakeGpu()
    worker = command.Local(fake, fake.seconds)
    result = measure_all(given, tmp_path, worker, SETTINGS, minutes=60, clock=fake.seconds)
    (found,) = result["rows"][0]["results"]
    assert found == {
        "peer": "prism",
        "label": "double",
        "status": "failed",
        "reason": "input 0 is not what it was where the bundle was made",
    }


def test_an_interrupt_leaves_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C in the 15th launch: the first candidate, of 12 launches, is in the file, and the device is given back."""
    write_bundle(tmp_path, ("double", "other"))

    class Interrupted(FakeGpu):
        def cuLaunchKernel(self, function: Any, *arguments: Any) -> tuple[Any]:
            if len(self.launches) == 14:
                raise KeyboardInterrupt
            return super().cuLaunchKernel(function, *arguments)

    fake, output = Interrupted(), tmp_path / "out.json"
    assert main(["--bundle", str(tmp_path), "--output", str(output), *SMALL], fake, fake.seconds) == 1
    assert capsys.readouterr().err == f"error: interrupted; what was measured so far is in {output}\n"
    assert [r["label"] for r in json.loads(output.read_text())["rows"][0]["results"]] == ["double"]
    assert fake.open == []
