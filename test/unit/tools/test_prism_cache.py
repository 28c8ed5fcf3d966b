"""``prism cache`` on files that are damaged, of others, or in the way: one line that says what, and what to do."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent))

from read_only import as_nobody

from prism_mlir.graph.errors import InputError
from prism_mlir.tools.prism import main
from prism_mlir.tools.prism_cache import parse_size, parse_time
from prism_mlir.tune.records.store import Records

LINES = Path(__file__).resolve().parents[2] / "inputs" / "records.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    with Records.open(folder) as records:
        for i in range(3):
            records.add_family(f"f{i}", f"graphs {i}", {"program": "unary[x**2], sum[1]", "graphs": i})
            records.add_choice(f"c{i}", f"f{i}", "sizes", {"sizes": {"n": i}, "dtype": "f16", "target": "sm_80"})
            records.add_measurement(f"c{i}", "x", "gpu", 1.5 + i, None, {"gpu": "A100"})
    return folder


def cache(folder: Path, *arguments: str) -> int:
    return main(["cache", *arguments, "--cache", str(folder)])


def forge(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "records.sqlite")) as other:
        other.execute("UPDATE families SET payload = 'forged' WHERE key = 'f1'")
        other.commit()


def test_verify_names_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cache(folder, "verify") == 0
    forge(folder)
    capsys.readouterr()
    assert cache(folder, "verify") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[:2] == [
        "error: families: row 2 is damaged",
        "error: choice 'c1' belongs to 'f1', which is not there",
    ]
    assert cache(folder, "prune") == 0
    assert "dropped  1 family, 1 choice, 1 measurement" in capsys.readouterr().out
    assert cache(folder, "verify") == 0


def test_of_many_problems_a_few_are_shown(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged database has thousands; JSON has them all."""
    from prism_mlir.tune.records import check

    monkeypatch.setattr(check, "problems", lambda _: [f"problem {k}" for k in range(564)])
    capsys.readouterr()
    assert cache(folder, "verify", "--json") == 1
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert len(json.loads(out)["problems"]) == 564
    assert lines[9:11] == ["error: problem 9", "and 554 more (--json has them all)"]
    assert len(lines) == 12 and "564 problems; prism cache export saves" in lines[11]


def test_an_export_of_what_is_damaged_says_so(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder)
    assert cache(folder, "export", str(tmp_path / "x.jsonl")) == 1
    out, err = capsys.readouterr()
    assert "8 records" in out
    assert err == "warning: families: row 2 is damaged, and left out; prism cache prune drops it\n"
    assert cache(tmp_path / "new", "import", str(tmp_path / "x.jsonl")) == 0
    assert "new      2 families, 3 choices, 3 measurements" in capsys.readouterr().out


def test_an_export_is_written_completely_or_not_at_all(folder: Path, tmp_path: Path) -> None:
    assert cache(folder, "export", str(tmp_path / "none" / "x.jsonl")) == 1
    (tmp_path / "x.jsonl").write_text("mine")
    (folder / "records.sqlite").write_bytes(b"x" * 5000)
    assert cache(folder, "export", str(tmp_path / "x.jsonl")) == 1
    assert (tmp_path / "x.jsonl").read_text() == "mine"


@pytest.mark.parametrize(
    "command", [["list"], ["show", "f"], ["verify"], ["prune"], ["export", "x"], ["list", "--json"]]
)
def test_a_file_that_is_no_database(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    (tmp_path / "records.sqlite").write_text("x" * 5000)
    assert cache(tmp_path, *command) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith("error: tuning records in") and "it is no SQLite database, delete the file" in err


@pytest.mark.parametrize(
    "command", [["list"], ["show", "f"], ["verify"], ["prune"], ["prune", "--all"], ["list", "--json"]]
)
def test_a_file_cut_off(folder: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    path = folder / "records.sqlite"
    path.write_bytes(path.read_bytes()[:4096])
    cache(folder, *command)
    out, err = capsys.readouterr()
    assert "Traceback" not in err and "graphs 0" not in out
    assert "damaged" in out + err or "cannot be read" in out + err


def test_a_locked_file(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("prism_mlir.tune.records.database.open_database.__defaults__", (0.1,))
    with closing(sqlite3.connect(folder / "records.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert cache(folder, "list") == 0
        capsys.readouterr()
        assert cache(folder, "prune", "--all") == 1
        assert "another process keeps it locked" in capsys.readouterr().err
        other.execute("ROLLBACK")
    assert cache(folder, "verify") == 0


def test_show_asks_for_more_of_a_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cache(folder, "show", "f") == 1
    assert "the keys of 3 families begin with 'f', prism cache list shows the keys" in capsys.readouterr().err
    assert cache(folder, "show", "f1", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["key"] == "f1" and shown["about"]["graphs"] == 1
    assert [m["us"] for m in shown["choices"][0]["measurements"]] == [2.5]
    assert shown["choices"][0]["measurements"][0]["environment"] == {"gpu": "A100"}


def test_the_list_shows_text_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Brackets are no markup, and what another machine wrote moves no cursor."""
    with Records.open(folder) as records:
        records.add_family("evil", "x", {"program": "\x1b[2J[red]gone[/red]"})
    assert cache(folder, "list") == 0
    out = capsys.readouterr().out
    assert "unary[x**2], sum[1]" in out and "?[2J[red]gone[/red]" in out and "\x1b" not in out


def test_off_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PRISM_CACHE_DIR", "off")
    assert main(["cache", "list"]) == 1
    assert "error: PRISM_CACHE_DIR turns tuning records off" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, expected",
    [
        ("30d", timedelta(days=30)),
        ("12h", timedelta(hours=12)),
        ("2w", timedelta(days=14)),
        ("90s", timedelta(seconds=90)),
    ],
)
def test_lengths_of_time(text: str, expected: timedelta) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize(
    "text, expected", [("500MB", 500_000_000), ("2GB", 2_000_000_000), ("1GiB", 2**30), ("1.5 kb", 1500), ("0", 0)]
)
def test_sizes(text: str, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5d", "30 days", "1e3d", "٣d", "9999999d", "999999w"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(InputError, match="is no length of time"):
        parse_time(text)


@pytest.mark.parametrize("text", ["", "MB", "-5MB", "5XB", "1e3", "1,5MB", "٣MB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match="is no size"):
        parse_size(text)


def test_what_may_not_be_written_is_read_and_not_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "records.sqlite").read_bytes()
    with as_nobody(folder):
        assert cache(folder, "list") == 0, capsys.readouterr()
        assert "3 families" in capsys.readouterr().out
        for command in (["prune"], ["prune", "--all"], ["import", str(LINES)]):
            assert cache(folder, *command) == 1
            assert capsys.readouterr().err == (
                f"error: tuning records in '{folder / 'records.sqlite'}' cannot be changed: the file is read-only, "
                "make file and folder writable, or name another folder with --cache\n"
            )
    assert (folder / "records.sqlite").read_bytes() == before


@pytest.mark.parametrize("command", [["list"], ["verify"], ["show", "f"], ["prune"], ["export", "x"]])
def test_what_cannot_be_looked_at_is_not_taken_for_nothing(
    command: list[str], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert cache(tmp_path / "file", *command) == 1
    assert capsys.readouterr() == (
        "",
        f"error: cannot look for tuning records in '{tmp_path / 'file'}': Not a directory, "
        "name a folder with --cache or PRISM_CACHE_DIR\n",
    )


def test_a_file_of_no_bytes_holds_nothing_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "records.sqlite").touch()
    for command in ("list", "verify"):
        assert cache(tmp_path, command) == 0
        assert "there are no records yet" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["list"], ["verify"], ["prune"], ["export", "x"], ["show", "f"]])
def test_advice_for_a_file_of_which_nothing_can_be_read_leads_somewhere(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "records.sqlite"
    path.write_bytes(path.read_bytes()[:9000])
    assert cache(folder, *command) == 1
    out, err = capsys.readouterr()
    assert out == "" and "the file is damaged" in err and err.endswith("delete the file\n") and "prism cache" not in err
    path.unlink()
    assert cache(folder, "verify") == 0


def test_checks_of_code_are_no_choices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Records.open(folder) as records:
        records.add_choice("check-1", "", "[]", {"check": True})
        records.add_choice("check-2", "", "{}", {"check": False})
        records.add_choice("alone", "", "x", {"sizes": {"n": 1}, "dtype": "f16", "target": "sm_80"})
    assert cache(folder, "list") == 0
    assert "3 families, 1 choice of no family, 2 checks, 0 objects" in capsys.readouterr().out
    assert cache(folder, "list", "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["checks"] == 2 and [row["key"] for row in data["alone"]] == ["alone"]
