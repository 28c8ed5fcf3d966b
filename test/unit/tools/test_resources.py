"""Weights at the end of a file (``dense_resource``) arrive whichever way a program is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from prism_mlir.frontend import import_file
from prism_mlir.tools.problem import read_program

SOURCE = Path(__file__).parents[2] / "inputs" / "frameworks" / "layernorm_linear.linalg.mlir"


def test_a_program_with_weights_is_the_same_through_xdsl() -> None:
    program = read_program(SOURCE)
    assert program.fingerprint == import_file(SOURCE).fingerprint  # which covers the bytes of constants
    assert sum(i.data is not None for i in program.inputs) == 2  # weight and bias of the norm


def test_prism_opt_imports_a_function_with_weights() -> None:
    command = [sys.executable, "-m", "prism_mlir.tools.prism_opt", str(SOURCE), "-p", "sgraph-import"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count(" data ") == 2
