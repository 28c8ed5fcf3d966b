"""``prism compile`` of functions with dynamic sizes: what is written and said, what is checked and what is too much to check."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from prism_mlir.compiler import dynamic_check
from prism_mlir.graph.dispatch import Dispatch
from prism_mlir.tools.prism import main

SOURCE = Path(__file__).parents[2] / "inputs/dynamic/residual.mlir"
QUICK = ["--samples", "20", "--max-size", "12"]


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "residual.mlir"
    path.write_text(SOURCE.read_text().replace("2048", "8"))
    return str(path)


def test_every_variant_is_checked_at_its_largest_size_one_less_its_smallest_and_one(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", source, "-o", str(tmp_path / "out"), *QUICK]) == 0
    report = json.loads((tmp_path / "out/report.json").read_text())
    checked: dict[int, set[int]] = {}
    for row in report["checks"]:
        checked.setdefault(row["variant"][0], set()).add(row["sizes"][0])
        assert row["accuracy"]
        assert all(a["ok"] for a in row["accuracy"])
    for variant in report["variants"]:
        (low,), (high,) = variant["from"], variant["to"]
        wanted = {high} if low == high else {high, high - 1, low, 1}
        assert checked[high] == wanted
    dispatch = Dispatch.from_dict(json.loads((tmp_path / "out/launch.json").read_text()))
    assert [(list(v.low), list(v.high)) for v in dispatch.variants] == [
        (v["from"], v["to"]) for v in report["variants"]
    ]
    names = {k.ptx for v in dispatch.variants for k in v.launch.kernels}
    assert {p.name for p in (tmp_path / "out").iterdir()} == {*names, "launch.json", "report.json", "main.host.mlir"}
    assert "no bounds, initialisation, alignment, race or barrier error" in capsys.readouterr().out


def test_what_is_too_much_for_the_machine_is_said(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight operations a row, of which 40 are allowed: five rows."""
    monkeypatch.setattr(dynamic_check, "WORK", 40.0)
    assert main(["compile", source, "-o", str(tmp_path / "out"), *QUICK, "--sizes", "9"]) == 0
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "x[0] 9: not run at 9, too much for the PTX machine" in said
    assert re.search(r"x\[0\] \d\.\.12: run at (\d, )*1, error \d+% of what is allowed; not run at 12, 11", said)
    report = json.loads((tmp_path / "out/report.json").read_text())
    run = {row["sizes"][0] for row in report["checks"] if row["accuracy"]}
    assert max(run) <= 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sizes", "abc"], "--sizes abc: 'abc' are no sizes, write numbers, as in 1,8,100"),
        (["--sizes", "x[0]=0"], "--sizes x[0]=0: size 0 is outside of 1 to 8192, sizes are positive"),
        (["--sizes", "5", "--max-size", "4"], "size 5 is outside of 1 to 4, raise the largest (--max-size)"),
    ],
)
def test_sizes_that_are_none_are_a_wrong_command_line(
    options: list[str], said: str, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", source, "-o", str(tmp_path / "out"), *options]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_the_same_compilation_gives_the_same_files(source: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert main(["compile", source, "-o", str(tmp_path / name), *QUICK, "--no-check", "-q"]) == 0
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("a", "b"))
    del first["report.json"], second["report.json"]  # has timings
    assert first == second
