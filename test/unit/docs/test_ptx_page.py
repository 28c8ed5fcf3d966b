"""The commands of the page about PTX print what the page says; ``...`` on a line of its own stands for any lines."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from prism_mlir.tools.prism import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "how-to" / "run-and-check-ptx.md").read_text()


def sessions() -> Iterator[tuple[str, str, list[str]]]:
    """Blocks in order: ``("python", code, [])``, or ``("shell", command, lines that it prints)``."""
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
        if language == "python":
            yield "python", text, []
        elif text.startswith("$ "):
            for part in text.removeprefix("$ ").split("\n$ "):
                command, _, printed = part.partition("\n")
                yield "shell", command, printed.splitlines()


def agrees(got: list[str], shown: list[str]) -> bool:
    lines = (re.escape(line) if line != "..." else r"[^\0]*?" for line in shown)
    return re.fullmatch("\n".join(lines), "\n".join(line.rstrip() for line in got)) is not None


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    ran = []
    for kind, text, shown in sessions():
        if kind == "python":
            exec(text, {})
            continue
        program, *arguments = shlex.split(text)
        if program != ".venv/bin/prism":
            subprocess.run(text, shell=True, check=True)
            continue
        code = main(arguments)
        out, err = capsys.readouterr()
        assert err == "" and agrees(out.splitlines(), shown), out
        assert code == (1 if shown[-1].startswith("found") else 0)
        ran.append(arguments[1])
    assert ran == ["run", "run", "check", "check", "stats"]


def test_what_the_page_says_of_other_launches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for grid, kind in (("5", "bounds"), ("3", "unwritten")):
        arguments = ["--grid", grid, "--block", "64", "--arg", "f32[256]=random", "--arg", "f32[256]=empty"]
        assert main(["ptx", "check", str(ROOT / "examples" / "reverse.ptx"), *arguments]) == 1
        out = capsys.readouterr().out
        assert f"error: [{kind}]" in out and "found    1 bug" in out


def test_the_page_shows_lines_of_the_example() -> None:
    example = (ROOT / "examples" / "reverse.ptx").read_text()
    (block,) = re.findall(r"^```ptx\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert all(line.partition("//")[0].strip() in example for line in block.splitlines())
