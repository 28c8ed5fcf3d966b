"""``gpu-to-ptx``: GPU modules to PTX."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.printer import Printer
from xdsl.rewriter import Rewriter

from prism_mlir.codegen.ptx import gpu_module_to_ptx
from prism_mlir.graph.errors import InputError, Location
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at, location_of
from prism_mlir.passes.upstream_ops import from_upstream, op_name, to_upstream
from prism_mlir.tune.targets import DEFAULT_TARGET, find_target


@dataclass(frozen=True)
class GpuToPtxPass(PrismPass):
    """Compile every ``gpu.module`` to PTX through upstream MLIR and LLVM; a ``gpu.binary`` with the text takes its place.

    Options:

    - ``target``: chip (default ``sm_80``)

    Before:

    ```mlir
    gpu.module @g { gpu.func @g(%arg0: memref<64xf16>) kernel { ... } }
    ```

    After:

    ```mlir
    gpu.binary @g [#gpu.object<#nvvm.target<chip = "sm_80">, assembly = ".version 7.0\\0A.target sm_80 ...">]
    ```
    """

    name = "gpu-to-ptx"
    before: ClassVar[Stage] = Stage.GPU
    after: ClassVar[Stage] = Stage.PTX

    target: str = DEFAULT_TARGET

    def __post_init__(self) -> None:
        find_target(self.target)

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        arch = find_target(self.target).arch
        for source in [inner for inner in op.body.block.ops if op_name(inner) == "gpu.module"]:
            place = location_of(source) or Location("<module>")
            with at(source):
                result = gpu_module_to_ptx(to_upstream([source]), arch, place.file)
                name = source.properties.get("sym_name", source.attributes.get("sym_name"))
                if not isinstance(name, StringAttr):
                    raise InputError("a gpu.module needs a name")
                binary = binary_op(name.data, result.ptx, arch, place.file)
            binary.attributes |= {k: v for k, v in source.attributes.items() if k.startswith("sgraph.")}
            binary.location = source.location
            Rewriter.replace_op(source, binary)


def binary_op(name: str, ptx: str, arch: str, filename: str) -> Operation:
    """A ``gpu.binary`` that holds PTX text."""
    text = (
        f'"gpu.binary"() <{{objects = [#gpu.object<#nvvm.target<chip = "{arch}">, '
        f"assembly = {_literal(ptx)}>], sym_name = {_literal(name)}}}> : () -> ()"
    )
    (binary,) = from_upstream(text, filename)
    return binary


def _literal(text: str) -> str:
    stream = StringIO()
    Printer(stream).print_string_literal(text)
    return stream.getvalue()
