"""Symbolic sizes and mapping variables (paper, section 2).

A parallel dim is named: ``x``, ``y``, ``z`` for the grid, ``i`` for the loop. Its size is the symbol ``d_x`` and so on; two
kernels that name the same dim share its size. A mapping variable ``m[T,d,p]`` is 1 where dim ``d`` of tensor ``T`` is
partitioned along ``p``. The tile of a dim of size D is ``D / sigma``, with ``sigma = prod_p (m*d_p + 1 - m)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import sympy

GRID_NAMES = ("x", "y", "z")
LOOP_NAME = "i"
SECOND_GRID_NAMES = ("u", "v", "w")  # of the second graph-defined operator of a kernel graph
SECOND_LOOP_NAME = "j"


@lru_cache
def size_symbol(parallel_dim: str) -> Any:
    """``d_p``: the number of parts (blocks, iterations) along a parallel dim; a positive integer."""
    return sympy.Symbol(f"d_{parallel_dim}", integer=True, positive=True)


@lru_cache
def mapping_variable(tensor: str, dim: int, parallel_dim: str) -> Any:
    """``m[T,d,p]``, a symbol that is 0 or 1 (an idempotent integer; sympy knows it as non-negative)."""
    return sympy.Symbol(f"m[{tensor},{dim},{parallel_dim}]", integer=True, nonnegative=True)


def sigma(tensor: str, dim: int, parallel_dims: Iterable[str]) -> Any:
    """``sigma(T,d)``, equation (3) of the paper: how many parts dim ``d`` of ``T`` is cut into."""
    result: Any = sympy.Integer(1)
    for p in parallel_dims:
        m = mapping_variable(tensor, dim, p)
        result *= m * size_symbol(p) + 1 - m
    return result


def tile_size(size: int, tensor: str, dim: int, parallel_dims: Iterable[str]) -> Any:
    """``D / sigma(T,d)``: elements of a dim that one block holds in one iteration."""
    return sympy.Integer(size) / sigma(tensor, dim, parallel_dims)
