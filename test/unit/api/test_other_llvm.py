"""A process may hold another LLVM beside ours: Triton's, PyTorch's, JAX's."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

COMPILED = """
import ctypes
import prism_mlir
prism_mlir.optimize('''
func.func @main(%a: tensor<8x8xf16>, %b: tensor<8x8xf16>) -> tensor<8x8xf16> {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<8x8xf16>
  %start = linalg.fill ins(%zero : f16) outs(%empty : tensor<8x8xf16>) -> tensor<8x8xf16>
  %c = linalg.matmul ins(%a, %b : tensor<8x8xf16>, tensor<8x8xf16>) outs(%start : tensor<8x8xf16>) -> tensor<8x8xf16>
  return %c : tensor<8x8xf16>
}
''', samples=20)
"""


def printed(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_symbols_of_our_llvm_are_not_those_of_the_process() -> None:
    """Where they are, another LLVM that is loaded later takes some of them for its own, and ends the process."""
    assert printed(COMPILED + "print(hasattr(ctypes.CDLL(None), 'LLVMContextCreate'))") == "False\n"


@pytest.mark.extras
@pytest.mark.parametrize("module", ["triton", "torch._dynamo"])
def test_what_brings_its_own_llvm_can_be_imported_after_a_compilation(module: str) -> None:
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"needs {module}")
    assert printed(COMPILED + f"import {module}\nprint('fine')") == "fine\n"
