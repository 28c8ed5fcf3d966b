"""Finding and asking external programs, with programs made for the purpose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prism_mlir.codegen import external
from prism_mlir.codegen.external import PtxasReport, find_tool, parse_ptxas_log, ptxas_check, ptxas_cubin, require_tool
from prism_mlir.graph.errors import CodegenError, MissingToolError

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_80'
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 36864 bytes smem, 376 bytes cmem[0]
ptxas info    : Compiling entry function 'b' for 'sm_80'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, 376 bytes cmem[0]
"""


def fake(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any of the programs."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(external, "_folders", lambda: iter(()))


def test_largest_numbers_of_all_kernels() -> None:
    assert parse_ptxas_log(LOG) == PtxasReport(registers=255, shared=36864, spills=12, log=LOG)


def test_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake(tmp_path, "ptxas", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert find_tool("ptxas") == program


def test_wheel_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake(tmp_path / "nvidia" / "cu13" / "bin", "nvdisasm", "exit 0")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [folder for folder in external._folders() if folder == program.parent]
    assert found, "the folder of the cuda extra is searched"


def test_without_ptxas_there_is_no_report(nothing: None) -> None:
    assert find_tool("ptxas") is None
    assert ptxas_check("", "sm_80") is None
    assert ptxas_cubin("", "sm_80") is None
    with pytest.raises(MissingToolError, match=r"error: ptxas was not found, pip install \"prism-mlir\[cuda\]\""):
        require_tool("ptxas")


def test_unknown_program() -> None:
    with pytest.raises(MissingToolError, match="known are ptxas"):
        find_tool("rm")


def test_report_and_rejection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    log.write_text(LOG)
    fake(tmp_path, "ptxas", f'[ "$2" = "-arch=sm_86" ] || exit 3\n/bin/cat {log} >&2')
    monkeypatch.setenv("PATH", str(tmp_path))
    report = ptxas_check("text", "sm_86")
    assert report is not None
    assert report.registers == 255
    fake(tmp_path, "ptxas", 'echo "ptxas $5, line 3; error : Arguments mismatch" >&2; exit 255')
    with pytest.raises(CodegenError, match=r"ptxas rejects the PTX: ptxas kernel\.ptx, line 3; error : Arguments"):
        ptxas_check("text", "sm_86")


def test_machine_code_is_what_ptxas_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "ptxas", '[ "$3" = "-o" ] && printf "\\177ELF\\377\\000\\001" > "$4"')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ptxas_cubin("text", "sm_86") == b"\x7fELF\xff\x00\x01"
    fake(tmp_path, "ptxas", "exit 0")
    with pytest.raises(CodegenError, match="ptxas wrote no machine code"):
        ptxas_cubin("text", "sm_86")


@pytest.mark.skipif(find_tool("ptxas") is None, reason="ptxas not found (install the cuda extra)")
def test_real_ptxas_rejects_nonsense() -> None:
    with pytest.raises(CodegenError, match="ptxas rejects the PTX"):
        ptxas_check(".version 7.0\n.target sm_80\n.address_size 64\nnonsense;\n", "sm_80")
