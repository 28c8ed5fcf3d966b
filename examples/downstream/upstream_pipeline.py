"""A compiler on upstream MLIR's Python bindings that calls Prism between two of its own pass pipelines, in one process.

    python examples/downstream/upstream_pipeline.py IN.mlir -o OUT.mlir

The module that Prism is given has gone through upstream passes; the one it gives back has the kernels as ``gpu.binary`` and
launches in the function's place, and goes through more of them, down to the LLVM dialect.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlir import ir
from mlir.passmanager import PassManager

import prism_mlir
from prism_mlir.graph.errors import PrismError

BEFORE = "builtin.module(canonicalize,cse)"
BUFFERISE = "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map}"
AFTER = f"builtin.module({BUFFERISE},gpu-lower-to-nvvm-pipeline)"


def compile_module(module: Any, **options: Any) -> Any:
    """A module with a function on tensors, lowered. ``options`` are those of :func:`prism_mlir.optimize`.

    The module given is changed by the first pipeline; the one returned lives in the same context.
    """
    run(BEFORE, module)
    result = prism_mlir.optimize(module, **options)
    with module.context:
        lowered = ir.Module.parse(result.mlir)
    run(AFTER, lowered)
    return lowered


def run(pipeline: str, module: Any) -> None:
    """Run upstream passes on a module."""
    PassManager.parse(pipeline, module.context).run(module.operation)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile a file; errors are one line on standard error and exit code 1."""
    parser = argparse.ArgumentParser(description="Acme's other compiler.")
    parser.add_argument("input", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    with ir.Context() as context:
        try:
            module = ir.Module.parse(options.input.read_text(), context)
            options.output.write_text(str(compile_module(module)))
        except (PrismError, ir.MLIRError, OSError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
