"""The page about dynamic sizes: its commands print what it shows, and its Python computes the sum it says. Fewer schedules are
looked at than by the page as it stands, which is run among the extras."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prism_mlir.tools.prism import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "how-to" / "dynamic-sizes.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    lines = (line for kind, text in BLOCKS if kind == "console" for line in text.splitlines())
    return [shlex.split(line)[2:] for line in lines if line.startswith("$ .venv/bin/prism ")]


def test_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (compile_it, check_it) = commands()
    compile_it[1] = str(ROOT / compile_it[1])
    assert main([*compile_it, "--samples", "40", "--no-check"]) == 0
    said = re.sub(" +", " ", capsys.readouterr().out)
    (shown,) = (re.sub(" +", " ", text.strip()) for kind, text in BLOCKS if kind == "text" and text.startswith("size"))
    assert shown in said
    assert main(check_it) == 0
    assert "nothing found" in capsys.readouterr().out
    (code,) = (text for kind, text in BLOCKS if kind == "python")
    names: dict[str, Any] = {}
    exec(compile(code, "dynamic-sizes.md", "exec"), names)
    np.testing.assert_array_equal(names["result"], np.full((13, 2048), 2.0, np.float16))
