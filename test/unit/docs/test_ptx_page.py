"""What the page about PTX says beside its blocks, which ``test_pages`` runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prism_mlir.tools.prism import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "how-to" / "run-and-check-ptx.md").read_text()


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
