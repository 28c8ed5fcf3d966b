"""The fast engine: kernels compiled with LLVM (through llvmlite) from the program that the reference engine interprets.

Imported when a launch asks for it, so that the reference engine needs NumPy alone.
"""

from __future__ import annotations

from prism_mlir.runtime.ptx.jit.launch import Refusal, run

__all__ = ["Refusal", "run"]
