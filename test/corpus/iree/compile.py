"""Linalg to PTX for sm_80 with IREE, on a machine without a GPU.

The wheel ``iree-base-compiler`` has the CUDA target built in and needs neither ptxas nor a driver: the PTX is what it would
hand to the driver at run time. A kernel's parameters are the pointers of its bindings (here inputs in order, then the
result) followed by its 32-bit scalars (sizes known at launch only, the low and the high half of each).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from corpus.compiled import Compiled, Extent

PROGRAMS = Path(__file__).parent
COMPILE = Path(sys.executable).parent / "iree-compile"
TIMEOUT_S = 300


def compile_program(name: str) -> Compiled:
    """Compile ``name.mlir`` of this folder for sm_80, in a process of its own: IREE's Python modules and upstream's do not
    load into one (both bring nanobind).

    Raises:
        ValueError: IREE made more or fewer kernels of it than one.
    """
    ptx, module = compile_file(PROGRAMS / f"{name}.mlir")
    if len(ptx) != 1:
        raise ValueError(f"{name}.mlir: IREE made {len(ptx)} kernels of it")
    entry = re.search(r"\.visible \.entry (\w+)\(", ptx[0])
    shared = re.search(r"workgroup_local_memory = (\d+)", module)
    assert entry is not None
    return Compiled(ptx[0], entry[1], _block(module), int(shared[1]) if shared else 0, grid=_grid(module))


def compile_file(path: Path, options: tuple[str, ...] = ()) -> tuple[list[str], str]:
    """The PTX of each executable, and the module of the last phase but one, which says what is launched.

    Raises:
        ValueError: IREE does not compile the file; its first error.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(COMPILE),
            str(path),
            "--iree-hal-target-backends=cuda",
            "--iree-cuda-target=sm_80",
            f"--iree-hal-dump-executable-binaries-to={folder}",
            f"--dump-compilation-phases-to={folder}",
            *options,
            "-o",
            os.devnull,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise ValueError(next((s for s in done.stderr.splitlines() if "error" in s), done.stderr[:200]))
        ptx = [file.read_text() for file in sorted(Path(folder).glob("*.ptx"))]
        (phase,) = Path(folder).glob("*.executable-targets.mlir")
        return ptx, phase.read_text()


def _block(module: str) -> Extent:
    """``<workgroup_size = [32 : index, 8 : index, 1 : index], …>``"""
    found = re.search(r"workgroup_size = \[(\d+) : index, (\d+) : index, (\d+) : index\]", module)
    assert found is not None
    return int(found[1]), int(found[2]), int(found[3])


def _grid(module: str) -> Extent | None:
    """``hal.return %c3, %c1, %c1 : index, index, index``, where the numbers are constants; None where the sizes decide."""
    found = re.search(r"hal\.return %c(\d+), %c(\d+), %c(\d+) : index, index, index", module)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
