"""From ``.mlir`` text to a tensor program.

>>> from prism_mlir.frontend import import_file
>>> import_file("examples/rms_norm.mlir").name
'main'

Importing this package loads neither upstream MLIR nor the model; they are loaded at the first import of a program.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prism_mlir.frontend.upstream import UpstreamModule
    from prism_mlir.graph.program import Program


def import_file(source: str | Path, function: str | None = None) -> Program:
    """See :func:`prism_mlir.frontend.import_linalg.import_file`."""
    from prism_mlir.frontend import import_linalg

    return import_linalg.import_file(source, function)


def import_module(upstream: UpstreamModule, function: str | None = None) -> Program:
    """See :func:`prism_mlir.frontend.import_linalg.import_module`."""
    from prism_mlir.frontend import import_linalg

    return import_linalg.import_module(upstream, function)


__all__ = ["import_file", "import_module"]
