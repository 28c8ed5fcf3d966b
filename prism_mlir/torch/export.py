"""Kernels of one module or function, by ``torch.export``."""

from __future__ import annotations

from typing import Any

import torch

from prism_mlir.api import Result
from prism_mlir.frameworks.kernels import kernels_of
from prism_mlir.frontend.torch.convert import convert, rule_of
from prism_mlir.tune.targets import DEFAULT_TARGET


def compile(function: Any, *arguments: Any, target: str = DEFAULT_TARGET, **options: Any) -> Result:
    """Kernels for a module or a function on tensors of the shapes and types of ``arguments``.

    The result takes the module's parameters, then its buffers, as ``named_parameters`` and ``named_buffers`` list them, then the
    arguments that are tensors. options: those of :func:`prism_mlir.optimize`; records default to the user's.

    Raises :class:`~prism_mlir.graph.errors.PrismError` as :func:`prism_mlir.optimize` does.
    """
    return kernels_of(to_mlir(function, *arguments), target, options)


def to_mlir(function: Any, *arguments: Any) -> str:
    """The text of a module in linalg on tensors with one function, ``main``, of the whole of a module or function.

    Raises :class:`~prism_mlir.graph.errors.UnsupportedError` at the first operator that has no conversion.
    """
    module = function if isinstance(function, torch.nn.Module) else _Function(function)
    with torch.no_grad():
        exported = torch.export.export(module, tuple(arguments)).run_decompositions(_table())
    return convert(exported.graph, plain=True).text


def _table() -> Any:
    """How operators without a rule are taken apart."""
    table = torch.export.default_decompositions()
    for operator in list(table):
        if rule_of(operator) is not None:
            table.pop(operator)
    return table


class _Function(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)
