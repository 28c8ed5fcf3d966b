"""A function as the StableHLO that JAX lowers it to, and the kernels of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from prism_mlir.api import Result
from prism_mlir.frameworks.kernels import kernels_of
from prism_mlir.tune.targets import DEFAULT_TARGET


@dataclass(frozen=True, slots=True)
class Lowered:
    """text: StableHLO;  structure: the tree of the results;  results: shape and type of each leaf"""

    text: str
    structure: Any
    results: tuple[Any, ...]


def compile(
    function: Callable[..., Any],
    *arguments: Any,
    static_argnums: int | Sequence[int] = (),
    target: str = DEFAULT_TARGET,
    **options: Any,
) -> Result:
    """Kernels for a function on arrays of the shapes and types of ``arguments``, which may be ``jax.ShapeDtypeStruct``.

    The result takes the leaves of the arguments that are not static, in JAX's order, and gives the leaves of what the function
    returns. options: those of :func:`prism_mlir.optimize`; records default to the user's.

    Raises :class:`~prism_mlir.graph.errors.PrismError` as :func:`prism_mlir.optimize` does.
    """
    return kernels_of(to_mlir(function, *arguments, static_argnums=static_argnums), target, options)


def to_mlir(function: Callable[..., Any], *arguments: Any, static_argnums: int | Sequence[int] = ()) -> str:
    """The StableHLO text of a function for arguments of some shapes and types."""
    return lower(staged(function, static_argnums=static_argnums), arguments, {}).text


def staged(function: Callable[..., Any], **statics: Any) -> Any:
    """The function as ``jax.jit`` has it; no argument is left out, so that leaves and arguments of the module are the same."""
    return jax.jit(function, keep_unused=True, **statics)


def lower(function: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> Lowered:
    """Lower what :func:`staged` gave."""
    lowered = function.lower(*arguments, **named)
    module = lowered.compiler_ir("stablehlo")
    text = module.operation.get_asm(print_generic_op_form=True, use_local_scope=True, enable_debug_info=True)
    return Lowered(str(text), lowered.out_tree, tuple(jax.tree_util.tree_leaves(lowered.out_info)))
