"""What was added is found again: by key, by content, by run; and each row knows who wrote it and when."""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prism_mlir import __version__
from prism_mlir.tune.records.store import Records, default_folder


def fail(text: str) -> None:
    raise AssertionError(f"unexpected warning: {text}")


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path / "cache", fail) as opened:
        yield opened


@pytest.mark.parametrize("payload", ["", "{}", "grüße \U0001f600", "a\0b\nc", "x" * 3_000_000])
def test_payloads_come_back_as_they_were(records: Records, payload: str) -> None:
    records.add_family("f", payload, {"program": "matmul"})
    records.add_choice("c", "f", payload, {})
    records.add_step("run", "search", payload)
    assert records.family("f") == records.choice("c") == records.step("run", "search") == payload


def test_a_later_process_finds_what_an_earlier_one_kept(tmp_path: Path) -> None:
    with Records.open(tmp_path, fail) as first:
        first.add_family("f", "graphs", {})
    with Records.open(tmp_path, fail) as second:
        assert second.family("f") == "graphs"


def test_a_key_finds_its_own_row_only(records: Records) -> None:
    records.add_family("a", "family a", {})
    records.add_choice("a", "a", "choice a", {})
    records.add_step("a", "a", "step a")
    assert records.family("a") == "family a"
    assert records.choice("a") == "choice a"
    assert records.step("a", "a") == "step a"
    for other in ("A", "a ", " a", "a\0", "", "a%", "_"):
        assert records.family(other) is None
        assert records.choice(other) is None
        assert records.step("a", other) is None
        assert records.step(other, "a") is None


def test_what_is_added_again_replaces_what_is_there(records: Records) -> None:
    for payload in ("first", "second"):
        records.add_family("f", payload, {})
        records.add_choice("c", "f", payload, {})
    assert (records.family("f"), records.choice("c")) == ("second", "second")


def test_measurements_are_appended_in_order(records: Records) -> None:
    before = datetime.now(UTC)
    for us in (3.0, 1.0, 1.0):
        records.add_measurement("c", "warps 4", "gpu", us, 0.5, {"gpu": "A100", "driver": 550})
    records.add_measurement("c", "warps 4", "model", 0.1 + 0.2, None, {})
    records.add_measurement("other", "warps 4", "gpu", 9.0, None, {})
    found = records.measurements("c")
    assert [(m.kind, m.microseconds, m.spread) for m in found] == [
        ("gpu", 3.0, 0.5),
        ("gpu", 1.0, 0.5),
        ("gpu", 1.0, 0.5),
        ("model", 0.1 + 0.2, None),
    ]
    assert found[0].environment == {"gpu": "A100", "driver": 550}
    assert {m.version for m in found} == {__version__}
    assert all(before <= m.when <= before + timedelta(minutes=5) for m in found)
    assert records.measurements("none") == []


@pytest.mark.parametrize("us, spread", [(math.nan, None), (math.inf, None), (1.0, math.nan)])
def test_a_time_that_is_no_number_is_refused(records: Records, us: float, spread: float | None) -> None:
    with pytest.raises(ValueError, match="not a time"):
        records.add_measurement("c", "x", "gpu", us, spread, {})
    assert records.measurements("c") == []


def test_objects_are_found_by_their_content(records: Records) -> None:
    content = bytes(range(256)) * 5000
    digest = records.add_object(content, "cubin")
    assert digest == hashlib.sha256(content).hexdigest()
    assert records.add_object(content, "cubin") == digest
    assert records.object(digest) == content
    assert records.object("0" * 64) is None
    assert records.object(records.add_object(b"", "ptx")) == b""


def test_steps_of_a_run_until_they_are_dropped(records: Records) -> None:
    for name in ("search", "prove", "tune"):
        records.add_step("run 1", name, f"{name} done")
    records.add_step("run 1", "prove", "proved again")
    records.add_step("run 2", "search", "other")
    assert records.steps("run 1") == {"search": "search done", "prove": "proved again", "tune": "tune done"}
    records.drop_steps("run 1")
    assert records.steps("run 1") == {}
    assert records.steps("run 2") == {"search": "other"}


def test_none_remembers_nothing() -> None:
    with Records.none() as records:
        records.add_family("f", "x", {})
        digest = records.add_object(b"ptx", "ptx")
        assert digest == hashlib.sha256(b"ptx").hexdigest()
        assert (records.family("f"), records.object(digest), records.path) == (None, None, None)
        assert (records.measurements("c"), records.steps("r")) == ([], {})


def test_after_close_nothing_is_found(tmp_path: Path) -> None:
    records = Records.open(tmp_path, fail)
    records.add_family("f", "x", {})
    records.close()
    records.close()
    assert records.family("f") is None


def test_every_row_says_who_wrote_it_and_carries_its_checksum(records: Records) -> None:
    """The checksum, computed here from its description: name of the table, then type, length and bytes of each column."""
    records.add_family("key", "payload", {"program": "p"})
    assert records.path is not None
    with sqlite3.connect(records.path) as other:
        row = other.execute("SELECT key, payload, about, version, written, sha256 FROM families").fetchone()
    assert row[:4] == ("key", "payload", '{"program": "p"}', __version__)
    expected = hashlib.sha256(b"families")
    for value in row[:5]:
        data = value.encode()
        expected.update(b"s" + len(data).to_bytes(8, "little") + data)
    assert row[5] == expected.hexdigest()


def test_threads_share_one(records: Records) -> None:
    def work(me: int) -> None:
        for i in range(20):
            records.add_step(f"run {me}", f"{i}", f"{me}.{i}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for me in range(4):
        assert records.steps(f"run {me}") == {f"{i}": f"{me}.{i}" for i in range(20)}


def test_a_forked_child_opens_the_file_for_itself(records: Records) -> None:
    records.add_family("before", "x", {})
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if records.family("before") == "x" else 2
            records.add_family("child", "y", {})
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    records.add_family("after", "z", {})
    assert (records.family("child"), records.family("after")) == ("y", "z")


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({"PRISM_CACHE_DIR": "/a/b", "XDG_CACHE_HOME": "/x"}, Path("/a/b")),
        ({"PRISM_CACHE_DIR": "", "XDG_CACHE_HOME": "/x"}, None),
        ({"PRISM_CACHE_DIR": "off"}, None),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/prism")),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, Path("/h/.cache/prism")),
        ({"HOME": "/h"}, Path("/h/.cache/prism")),
    ],
)
def test_where_records_lie(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: Path | None) -> None:
    for name in ("PRISM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_folder() == expected


def test_open_takes_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path))
    with Records.open(warn=fail) as records:
        assert records.path == tmp_path / "records.sqlite"
    monkeypatch.setenv("PRISM_CACHE_DIR", "off")
    with Records.open(warn=fail) as records:
        assert records.path is None
