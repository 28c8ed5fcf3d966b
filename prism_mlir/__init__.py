"""Prism: symbolic superoptimization of tensor programs, on MLIR.

:func:`optimize` and :class:`Result` are those of :mod:`prism_mlir.api`; they are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prism_mlir.api import Result, optimize

__version__ = "0.1.0"
__all__ = ["Result", "__version__", "optimize"]


def __getattr__(name: str) -> Any:
    if name not in ("Result", "optimize"):
        raise AttributeError(f"module 'prism_mlir' has no attribute '{name}'")
    from prism_mlir import api

    return getattr(api, name)
