"""The page about MLIR: its command writes the file, its Python lowers it, its options and the selected object exist."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from mlir import ir

from prism_mlir.compiler.options import HostSignature, WorkspacePlace
from prism_mlir.tools.prism import main

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "how-to" / "use-the-result-in-mlir.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
QUICK = ["--samples", "50", "--no-check", "-q"]


def block(language: str, start: str = "") -> str:
    (found,) = [text for kind, text in BLOCKS if kind == language and text.startswith(start)]
    return str(found)


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(block("console", "$ .venv/bin/prism").removeprefix("$ "))
    assert program == ".venv/bin/prism"
    assert main([*arguments, *QUICK]) == 0
    made: dict[str, Any] = {}
    exec(block("python"), made)
    assert "call void @mgpuLaunchKernel(" in made["text"]
    assert "call ptr @mgpuModuleLoadJIT(" in made["text"]
    assert "@memrefCopy" not in made["text"]
    pipeline = re.sub(r"\s*\\\n\s*", "", re.search(r'--pass-pipeline="(.*?)"', PAGE, re.DOTALL)[1])  # type: ignore[index]
    assert pipeline == f"builtin.module({made['BUFFERISE']},gpu-lower-to-nvvm-pipeline)"
    with ir.Context():
        module = ir.Module.parse(Path("out/rms_norm/main.host.mlir").read_text())
    names = [op.operation.name for op in module.body]
    assert names == ["gpu.binary", "func.func"]


def test_upstream_reads_the_selection() -> None:
    line = block("mlir").replace("[...]", '[#gpu.object<#nvvm.target, "">, #gpu.object<#nvvm.target, bin = "">]')
    with ir.Context():
        ir.Module.parse(line)


def test_the_tables_name_all_options() -> None:
    assert set(re.findall(r"^\| `--host (\w+)`", PAGE, re.MULTILINE)) == set(HostSignature)
    assert set(re.findall(r"^\| `--workspace (\w+)`", PAGE, re.MULTILINE)) == set(WorkspacePlace)
