"""The table of results, from results written by hand; ratios are computed on paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.tools.bench_table import geometric_mean, lines_of, read_result
from prism_mlir.tools.prism import main
from prism_mlir.tools.terminal import document


def measured(peer: str, cold: float, warm: float, label: str = "one") -> dict[str, Any]:
    clocks = {"source": "nvml", "sm_mhz": 1410, "memory_mhz": 1215}
    return {
        "peer": peer,
        "label": label,
        "status": "ok",
        "reason": "",
        "cold": {"median_us": cold, "iqr_us": 0.25},
        "warm": {"median_us": warm, "iqr_us": 0.5},
        "clocks": {"before": clocks, "after": clocks},
    }


def failed(peer: str, status: str, reason: str) -> dict[str, Any]:
    return {"peer": peer, "label": "other", "status": status, "reason": reason}


def results(*rows: dict[str, Any], complete: bool = True) -> dict[str, Any]:
    device = {"name": "NVIDIA A100-SXM4-40GB", "capability": "8.0", "cuda": "12.4", "driver": "550.54"}
    return {
        "format": 1,
        "made_by": "prism 0.1",
        "target": "sm_80",
        "device": device,
        "settings": {"repeats": 100},
        "complete": complete,
        "rows": list(rows),
    }


FIRST = {
    "name": "rms_norm_d4096_n8",
    "workload": "RMSNorm",
    "size": "d=4096 n=8",
    "paper": 1.2,
    "results": [
        measured("prism", 30.0, 20.0, "slower"),
        measured("prism", 20.0, 16.0, "chosen"),
        measured("prism", 25.0, 10.0, "better when warm only"),
        failed("prism", "stopped", "a run takes 400.0 us, over 10 times the best, 20.0 us"),
        measured("triton", 25.0, 12.0),
        measured("torch", 50.0, 40.0),
        measured("compile", 40.0, 32.0),
    ],
}
SECOND = {
    "name": "mine",
    "workload": "mine",
    "size": "16x64xf16",
    "paper": None,
    "results": [measured("prism", 8.0, 4.0), measured("torch", 5.0, 4.0), failed("compile", "skipped", "time")],
}
THIRD = {"name": "alone", "workload": "alone", "size": "4", "paper": None, "results": [measured("prism", 3.0, 2.0)]}


def test_relative_performance_is_that_to_the_best_baseline() -> None:
    """Cold: the best baseline takes 25 us, so eager is 25/50, compiled 25/40, ours 25/20."""
    line = lines_of(results(FIRST), "cold")[0]
    found = {peer: line.relative(peer) for peer in ("torch", "compile", "triton", "prism")}
    assert found == {"torch": 0.5, "compile": 0.625, "triton": 1.0, "prism": 1.25}


def test_a_peer_is_its_candidate_that_is_best_when_cold() -> None:
    warm = lines_of(results(FIRST), "warm")[0]
    assert warm.cells["prism"].label == "chosen"
    assert warm.cells["prism"].median_us == 16.0
    assert warm.relative("prism") == 0.75


def test_without_a_baseline_there_is_no_ratio() -> None:
    line = lines_of(results(THIRD), "cold")[0]
    assert line.relative("prism") is None
    assert line.baseline_us is None
    assert lines_of(results(SECOND), "cold")[0].relative("triton") is None


def test_the_geometric_mean_of_two_and_eight_is_four() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([]) is None


def shown(tmp_path: Path, data: Any, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    path = tmp_path / "results.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    assert main(["bench", "--read", str(path), *more]) == 0
    return capsys.readouterr().out


def test_read_shows_both_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(tmp_path, results(FIRST, SECOND, THIRD, complete=False), capsys)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == (
        "measured on NVIDIA A100-SXM4-40GB (sm_80), code for sm_80; CUDA 12.4, driver 550.54; 100 runs each; "
        "SM 1410 MHz, memory 1215 MHz (nvml); not complete"
    )
    cold, warm = text.split("L2 not flushed")
    in_cold = [" ".join(line.split()) for line in cold.splitlines()]
    assert "RMSNorm d=4096 n=8 50.00 (0.50) 40.00 (0.62) 25.00 (1.00) 20.00 (1.25) 0.25 1.25x 1.20x" in in_cold
    assert "mine 16x64xf16 5.00 (1.00) - - 8.00 (0.62) 0.25 0.62x -" in in_cold
    assert "alone 4 - - - 3.00 0.25 - -" in in_cold
    assert "geometric mean of Prism to best, 2 rows: 0.88x" in in_cold  # sqrt(1.25 * 0.625) = 0.8839
    in_warm = [" ".join(line.split()) for line in warm.splitlines()]
    assert "RMSNorm d=4096 n=8 40.00 (0.30) 32.00 (0.38) 12.00 (1.00) 16.00 (0.75) 0.50 0.75x 1.20x" in in_warm
    assert "stopped rms_norm_d4096_n8: Prism other: a run takes 400.0 us, over 10 times the best, 20.0 us" in lines
    assert "skipped 1 candidates: the time was up" in lines


def test_columns_are_of_what_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(tmp_path, results(THIRD), capsys)
    assert "PyTorch" not in text
    assert "geometric mean" not in text


def test_read_as_json_is_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = results(FIRST, SECOND)
    assert json.loads(shown(tmp_path, data, capsys, "--json")) == document("bench", data)


BROKEN = {**FIRST, "results": [{**measured("prism", 1.0, 1.0), "cold": {"median_us": "fast"}}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nonsense", "the file is not JSON"),
        ("[1]", "holds no results of a measurement"),
        (json.dumps({"format": 2, "rows": []}), "holds no results of a measurement"),
        (json.dumps(results({"name": "a"})), "the results are damaged: 'results' is missing"),
        (json.dumps({"format": 1, "rows": [FIRST]}), "the results are damaged: 'device' is missing"),
        (json.dumps(results()), "the results have no row: nothing was measured, measure again"),
        (
            json.dumps(results({**FIRST, "results": []})),
            "the results are damaged: row 'rms_norm_d4096_n8' has no result",
        ),
        (
            json.dumps(results(BROKEN)),
            "the results are damaged: could not convert string to float: 'fast'",
        ),
        (json.dumps(results({**FIRST, "results": [measured("prism", 0.0, 1.0)]})), "a time of 0 us"),
        (
            json.dumps(results({**FIRST, "results": [failed("cublas", "failed", "x")]})),
            "a peer 'cublas', known are torch, ",
        ),
        (json.dumps(results({**FIRST, "results": [measured("cublas", 1.0, 1.0)]})), "has a peer 'cublas', known are"),
        (json.dumps(results({**FIRST, "results": [measured("prism", float("inf"), 1.0)]})), "it holds the number Infinity"),
        (
            json.dumps(results({**FIRST, "results": [{"peer": "torch", "status": "wrong"}]})),
            "damaged: 'label' is missing",
        ),
        (json.dumps({**results(FIRST), "device": None}), "the results are damaged: "),
    ],
)
def test_what_holds_no_results_is_one_line(
    tmp_path: Path, content: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    path.write_text(content)
    assert main(["bench", "--read", str(path)]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith(f"{path}:")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    with pytest.raises(InputError):
        read_result(path)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--read", str(tmp_path / "none.json")]) == 1
    assert "none.json': No such file or directory" in capsys.readouterr().err
