"""Prism: symbolic superoptimization of tensor programs, on MLIR.

:func:`optimize`, :class:`Result` and :class:`PartialResult` are those of :mod:`prism_mlir.api`, and all that is refused is a
:class:`PrismError`, of :mod:`prism_mlir.graph.errors`. They are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prism_mlir.api import PartialResult, PrismError, Result, optimize

__version__ = "0.1.0"
__all__ = ["PartialResult", "PrismError", "Result", "__version__", "optimize"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'prism_mlir' has no attribute '{name}'")
    from prism_mlir import api

    return getattr(api, name)
