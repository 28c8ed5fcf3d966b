"""Errors of Prism's own: two lines on standard error, exit code 70, and a file that says all there is to know."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from prism_mlir import __version__
from prism_mlir.tools import crash
from prism_mlir.tools.prism import main

SOURCE = "func.func @f(%a: tensor<4x8xf16>) -> tensor<4x8xf16> {\n  return %a : tensor<4x8xf16>\n}\n"
HINT = "note: this is a bug in prism; run it again with --reproducer FILE and report FILE\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.mlir"
    path.write_text(SOURCE)
    return path


@pytest.fixture(autouse=True)
def bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads a program fails as only a bug can."""

    def fails(*_: Any, **__: Any) -> Any:
        raise KeyError("x")

    for place in ("compiler.pipeline.read_text", "tools.problem._read", "tools.ptx_launch.prepare"):
        monkeypatch.setattr(f"prism_mlir.{place}", fails)


COMMANDS = {
    "compile": ["compile", "IN", "-o", "OUT"],
    "explain": ["explain", "IN"],
    "verify": ["verify", "IN"],
    "cost": ["cost", "IN"],
    "bundle": ["bundle", "OUT", "IN"],
    "ptx": ["ptx", "run", "IN"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_reads_a_program(
    name: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [{"IN": str(source), "OUT": str(tmp_path / "out")}.get(word, word) for word in COMMANDS[name]]
    assert main(given) == 70
    assert capsys.readouterr() == ("", f"error: internal error of prism: KeyError: 'x'\n{HINT}")
    report = tmp_path / "bug.mlir"
    assert main([*given, "--reproducer", str(report)]) == 70
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines() == [
        "error: internal error of prism: KeyError: 'x'",
        f"note: this is a bug in prism; report it with the file '{report}'",
    ]
    head, _, program = report.read_text().partition(f"// input {source}: {len(SOURCE)} bytes\n")
    assert program == SOURCE
    lines = head.splitlines()
    assert all(line.startswith("//") for line in lines)
    assert lines[:3] == [
        "// prism reproducer",
        "// error: KeyError: 'x'",
        f"// command: prism {' '.join(given)} --reproducer {report}",
    ]
    assert lines[3].startswith(f"// versions: prism-mlir {__version__}, xdsl ")
    assert "// traceback:" in lines and any('raise KeyError("x")' in line for line in lines)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bug.mlir", "in.mlir"]


def test_a_traceback_is_shown_to_those_who_ask(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for value, shown in (("0", False), ("", False), ("1", True)):
        monkeypatch.setenv("PRISM_TRACEBACK", value)
        assert main(["cost", str(source)]) == 70
        assert ("Traceback" in capsys.readouterr().err) is shown


def test_a_reproducer_that_cannot_be_written_is_refused_before_the_work(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cost", str(source), "--reproducer", str(tmp_path)]) == 2
    assert "error: --reproducer: " in capsys.readouterr().err


def test_a_reproducer_that_cannot_be_written_after_all(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crash, "check_file", lambda path: None)
    assert main(["cost", str(source), "--reproducer", str(source.parent / "no" / "file")]) == 70
    assert "this is a bug in prism, and no reproducer: " in capsys.readouterr().err


def test_errors_of_users_make_no_reproducer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "bug.mlir"
    assert main(["cost", "none.mlir", "--reproducer", str(report)]) == 1
    assert "bug" not in capsys.readouterr().err and not report.exists()


def test_inputs_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Binary files are copied in base64, large ones are named by their digest, folders and outputs are left out."""
    monkeypatch.setattr(crash, "LARGEST", 100)
    (tmp_path / "a.mlir").write_text("module {}")
    (tmp_path / "b.mlir").write_bytes(bytes(range(256))[200:])
    (tmp_path / "c.ptx").write_bytes(b"x" * 101)
    (tmp_path / "d.mlir").mkdir()
    given = ["verify", str(tmp_path / "a.mlir"), f"--graph={tmp_path / 'b.mlir'}", str(tmp_path / "c.ptx")]
    text = crash.reproducer_text("prism", [*given, str(tmp_path / "d.mlir"), "none.mlir"], ValueError("x"))
    assert f"// input {tmp_path / 'a.mlir'}: 9 bytes\nmodule {{}}\n" in text
    assert base64.b64encode(bytes(range(256))[200:]).decode() in text
    assert f"101 bytes, too large to be copied, SHA-256 {hashlib.sha256(b'x' * 101).hexdigest()}" in text
    assert "// input" in text and text.count("// input") == 3
