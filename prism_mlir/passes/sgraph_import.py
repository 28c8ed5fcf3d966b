"""``sgraph-import``: linalg functions to tensor programs."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter

from prism_mlir.dialects.sgraph.bridge import program_to_ir
from prism_mlir.dialects.sgraph.program_ops import ProgramOp
from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.errors import InputError, Location
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at, location_of


@dataclass(frozen=True)
class SgraphImportPass(PrismPass):
    """Turn functions of linalg operations into tensor programs.

    Every function with a body becomes a program of the same name; declarations are dropped. Scalar chains on one tensor are
    fused into one unary, transposes and strides of arguments become views, and a softmax's shift is recorded on its
    exponential when it cancels.

    Options:

    - ``function``: import this function alone and drop the others

    Before:

    ```mlir
    func.func @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = tensor.empty() : tensor<4x8xf32>
      %1 = linalg.exp ins(%a : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
    ```

    After:

    ```mlir
    sgraph.program @main(%arg0: tensor<4x8xf32>) {
      %0 = sgraph.unary %arg0 "exp(x)" : tensor<4x8xf32> -> tensor<4x8xf32>
      sgraph.return %0 as "out" : tensor<4x8xf32>
    }
    ```
    """

    name = "sgraph-import"
    before: ClassVar[Stage] = Stage.SOURCE
    after: ClassVar[Stage] = Stage.PROGRAM

    function: str | None = None

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        functions = [inner for inner in op.body.block.ops if inner.name == "func.func" and isinstance(inner, FuncOp)]
        bodies = {f.sym_name.data: f for f in functions if not f.is_declaration}
        if self.function is not None and self.function not in bodies:
            known = ", ".join(f"@{name}" for name in bodies) or "none"
            raise InputError(f"no function @{self.function}", location_of(op), f"there is: {known}")
        if not bodies and not any(isinstance(inner, ProgramOp) for inner in op.body.block.ops):
            raise InputError(
                "no function with a body to import", location_of(op), "give a func.func of linalg operations"
            )
        if not functions:
            return
        place = location_of(functions[0]) or Location("<module>")
        upstream = read_module(_generic_text(op, ctx), place.file)
        for function in functions:
            name = function.sym_name.data
            if name not in bodies or self.function not in (None, name) or _is_private(function):
                Rewriter.erase_op(function)
                continue
            with at(function):
                program = program_to_ir(import_module(upstream, name))
            program.location = function.location
            program.sym_name = StringAttr(name)
            Rewriter.replace_op(function, program)


def _is_private(function: FuncOp) -> bool:
    """Private functions were inlined into the public ones that call them."""
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _generic_text(module: ModuleOp, ctx: Context) -> str:
    """The module with its resources: constants that stand at the end of a file, such as exported weights."""
    stream = StringIO()
    printer = Printer(stream, print_generic_format=True, print_debuginfo=True)
    printer.print_op(module)
    dialects = list(ctx.loaded_dialects)
    if any(d.name == "builtin" for d in dialects):  # which holds them
        printer.print_metadata(dialects)
    return stream.getvalue()
