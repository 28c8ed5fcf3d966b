"""What ``prism compile`` says: limits in the words of who gave them, and what Ctrl-C leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prism_mlir.tools.prism import main
from prism_mlir.tools.summary import _stopped
from prism_mlir.tune.records.store import Records

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.mark.parametrize(
    ("reason", "limit", "said"),
    [
        ("time limit of 0.2 s", 2.0, "time limit of 2 s, of which this search had 0.2 s"),
        ("time limit of 1.2345678 s", 10.0, "time limit of 10 s, of which this search had 1.2 s"),
        ("time limit of 5.0 s", None, "time limit of 5.0 s (raise it with --time-limit)"),  # --limit seconds=5
        ("states limit of 50", 10.0, "states limit of 50 (raise it with --max-states)"),
        ("interrupted", 10.0, "interrupted"),
    ],
)
def test_a_time_limit_is_the_one_that_was_given(reason: str, limit: float | None, said: str) -> None:
    assert _stopped(reason, limit) == said


def test_ctrl_c_says_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The search is on record when code is made."""

    def stopped(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("prism_mlir.compiler.parts.select", stopped)
    records = tmp_path / "records"
    source = str(EXAMPLES / "rms_norm.mlir")
    few = ["--max-operators", "5", "--cache", str(records)]
    assert main(["compile", source, "-o", str(tmp_path / "out"), *few]) == 130
    err = capsys.readouterr().err
    with Records.open(records) as opened:
        kept = sum(opened._connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in TABLES)  # type: ignore
    assert kept > 0
    what = "1 record of this run is" if kept == 1 else f"{kept} records of this run are"
    assert err == f"error: interrupted; no file was written; {what} kept, from which the next one goes on\n"
    assert not (tmp_path / "out").exists()


TABLES = ("families", "choices", "measurements", "objects", "steps")
