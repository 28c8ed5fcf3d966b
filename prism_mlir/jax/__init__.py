"""Prism in JAX: functions that run as kernels, and kernels of one function.

f = prism_mlir.jax.jit(f)                     # as jax.jit; also a decorator
y = f(x)

result = prism_mlir.jax.compile(f, x)         # prism_mlir.Result
text = prism_mlir.jax.to_mlir(f, x)           # StableHLO
"""

from __future__ import annotations

from prism_mlir.frameworks.fallback import PrismWarning
from prism_mlir.jax.lower import compile, to_mlir
from prism_mlir.jax.transform import jit

__all__ = ["PrismWarning", "compile", "jit", "to_mlir"]
