"""A compiler on xDSL that puts ``prism-superoptimize`` between passes of its own.

    python examples/downstream/xdsl_pipeline.py IN.mlir -o OUT.mlir

``acme-outline`` stands for what comes before: here it leaves only what is called on a GPU. ``acme-kernel-table`` stands for what
comes after: it reads the kernels that Prism left and writes a table for a loader.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass, PassPipeline
from xdsl.printer import Printer

from prism_mlir.graph.errors import PrismError
from prism_mlir.passes.prism_superoptimize import PrismSuperoptimizePass
from prism_mlir.tools.module_reader import new_context, read_ir


@dataclass(frozen=True)
class AcmeOutlinePass(ModulePass):
    """Keep the functions that are marked ``acme.gpu``, and drop the mark."""

    name = "acme-outline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, FuncOp)]:
            if function.attributes.pop("acme.gpu", None) is None:
                op.body.block.erase_op(function)


@dataclass(frozen=True)
class AcmeKernelTablePass(ModulePass):
    """Leave the binaries only, and note their symbols on the module, for a loader that knows no more."""

    name = "acme-kernel-table"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for other in [o for o in op.body.block.ops if not _is_binary(o)]:
            op.body.block.erase_op(other)
        op.attributes["acme.kernels"] = ArrayAttr(_entry(o) for o in op.body.block.ops)


def _is_binary(op: Operation) -> bool:
    return isinstance(op, UnregisteredOp) and op.op_name.data == "gpu.binary"


def _entry(op: Operation) -> DictionaryAttr:
    symbol = {**op.properties, **op.attributes}["sym_name"]
    assert isinstance(symbol, StringAttr)
    return DictionaryAttr({"symbol": symbol})


def compile_text(text: str, filename: str = "<input>") -> ModuleOp:
    """A module after the whole pipeline. Raises :class:`PrismError` for what cannot be read, or compiled."""
    context = new_context()
    module = read_ir(text, filename, context)
    prism = PrismSuperoptimizePass(target="sm_80", operators=4, grid_dims=1)
    PassPipeline((AcmeOutlinePass(), prism, AcmeKernelTablePass())).apply(context, module)
    module.verify()
    return module


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile a file; errors are one line on standard error and exit code 1."""
    parser = argparse.ArgumentParser(description="Acme's compiler.")
    parser.add_argument("input", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        module = compile_text(options.input.read_text(), str(options.input))
        with options.output.open("w") as stream:
            Printer(stream).print_op(module)
    except (PrismError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
