"""``sgraph-to-gpu``: scheduled graphs to GPU modules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import FlatSymbolRefAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from prism_mlir.codegen.compile import lower
from prism_mlir.dialects.sgraph.bridge import ir_to_schedule
from prism_mlir.graph.code_graph import code_graph
from prism_mlir.graph.errors import Location, VerifyError
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.candidates import work_of
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at, location_of
from prism_mlir.passes.upstream_ops import from_upstream, op_name

LAUNCH = "sgraph.launch"
"""Attribute of a ``gpu.module``: how its kernels are launched, as the JSON text of ``launch.json``."""

IMPLEMENTS = "sgraph.implements"
"""Attribute of a ``gpu.module``: the program it implements."""


@dataclass(frozen=True)
class SgraphToGpuPass(PrismPass):
    """Generate code for every scheduled graph: one ``gpu.module`` in place of it, one ``gpu.func`` a kernel.

    The module is in upstream's gpu, nvgpu, nvvm, vector, memref, scf, arith and math dialects, in generic form. Programs
    stay. ``sgraph.launch`` on the module says, as JSON, how the kernels are launched.

    Options:

    - ``unproved``: also take graphs whose verdict is not ``proved``
    - ``allow-tf32``: products of f32 tensors may round their operands to tf32; give it to ``sgraph-instantiate-parameters`` as well

    Before:

    ```mlir
    sgraph.program @p ...
    sgraph.graph @g implements @p ... attributes {schedule = #sgraph.schedule<{i = 16, x = 64}, warps 4, stages 2>} { ... }
    ```

    After:

    ```mlir
    sgraph.program @p ...
    "gpu.module"() <{sym_name = "g"}> ({
      "gpu.func"() <{...}> ({ ... "nvvm.mma.sync"(...) ... }) : () -> ()
    }) {sgraph.implements = @p, sgraph.launch = "{...}"} : () -> ()
    ```
    """

    name = "sgraph-to-gpu"
    before: ClassVar[Stage] = Stage.SCHEDULED
    after: ClassVar[Stage] = Stage.GPU

    unproved: bool = False
    allow_tf32: bool = False

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        for work in work_of(op):
            for source, graph in zip(work.ops, work.graphs, strict=True):
                name, schedule = source.sym_name.data, ir_to_schedule(source)
                assert schedule is not None and source.verdict is not None
                if source.verdict.data.status != "proved" and not self.unproved:
                    raise VerifyError(
                        f"@{name} is {source.verdict.data.status}, not proved", location_of(source), "or say unproved"
                    )
                place = location_of(source) or Location("<module>")
                with at(source):
                    made = code_graph(work.program, graph, tf32=self.allow_tf32)
                    lowered = lower(work.program, made, schedule, name=name)
                    emitted = from_upstream(lowered.gpu_module, place.file)
                gpu = next(o for o in emitted if op_name(o) == "gpu.module")
                for inner in gpu.walk():
                    inner.location = source.location
                annotate_launch(gpu, lowered.launch, work.program.name)
                Rewriter.replace_op(source, gpu)


def annotate_launch(op: Operation, launch: LaunchInfo, program: str) -> None:
    """Record on a ``gpu.module`` or ``gpu.binary`` how it is launched and which program it implements."""
    op.attributes[LAUNCH] = StringAttr(json.dumps(launch.to_dict()))
    op.attributes[IMPLEMENTS] = FlatSymbolRefAttr(program)
