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


def test_a_second_module_of_a_process_keeps_its_weights(tmp_path: Path) -> None:
    """xDSL holds resources for all modules; two that call different ones alike must not share or lose them."""
    first, second = read_program(SOURCE), read_program(SOURCE)
    assert first.fingerprint == second.fingerprint
    other = tmp_path / "other.mlir"
    text = SOURCE.read_text()
    ones = "003C" * 768  # the norm's weight in f16
    assert ones in text
    other.write_text(text.replace(ones, "0040" * 768))
    third = read_program(other)
    assert third.fingerprint == import_file(other).fingerprint != first.fingerprint
    assert read_program(SOURCE).fingerprint == first.fingerprint


def test_prism_opt_imports_a_function_with_weights() -> None:
    command = [sys.executable, "-m", "prism_mlir.tools.prism_opt", str(SOURCE), "-p", "sgraph-import"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.count(" data ") == 2
