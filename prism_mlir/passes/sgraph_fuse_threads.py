"""``sgraph-fuse-threads``: elementwise chains of block graphs become thread graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from prism_mlir.dialects.sgraph.block_ops import ThreadOp
from prism_mlir.dialects.sgraph.bridge.blocks import read_block
from prism_mlir.dialects.sgraph.graph_ops import CustomOp, YieldOp
from prism_mlir.graph.threads import thread_groups
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.legality import Stage


@dataclass(frozen=True)
class SgraphFuseThreadsPass(PrismPass):
    """Fuse elementwise operators that only feed each other into thread graphs: what lies between them stays in registers
    (paper, section 2).

    What a graph computes does not change, and code generation fuses the same chains whether this pass ran or not; it makes the
    thread level of the graph visible.

    Before:

    ```mlir
    %7 = sgraph.unary %6 "1/sqrt(x/1024 + 1e-06)" : ...
    %8 = sgraph.mul %5, %7 : ...
    sgraph.save %8 ...
    ```

    After:

    ```mlir
    %8 = sgraph.thread(%0 = %6 : ..., %1 = %5 : ...) -> ... {
      %2 = sgraph.unary %0 "1/sqrt(x/1024 + 1e-06)" : ...
      %3 = sgraph.mul %1, %2 : ...
      sgraph.yield %3 : ...
    }
    sgraph.save %8 ...
    ```
    """

    name = "sgraph-fuse-threads"
    before: ClassVar[Stage] = Stage.SCHEDULED
    after: ClassVar[Stage] = Stage.SCHEDULED

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        fuse_threads(op)


def fuse_threads(op: Operation) -> None:
    """Fuse the chains of every block graph inside ``op``; block graphs that hold thread graphs already stay as they are."""
    for custom in [inner for inner in op.walk() if isinstance(inner, CustomOp)]:
        if any(isinstance(inner, ThreadOp) for inner in custom.body.block.ops):
            continue
        reading = read_block(custom)
        for group in thread_groups(reading.block):
            _fuse([reading.ops[k] for k in group])


def _fuse(members: list[Operation]) -> None:
    """Move operators into a thread graph in place of the last one."""
    last, inside = members[-1], {r for op in members for r in op.results}
    outside = list(dict.fromkeys(v for op in members for v in op.operands if v not in inside))
    block = Block(arg_types=[v.type for v in outside])
    copies: dict[SSAValue, SSAValue] = dict(zip(outside, block.args, strict=True))
    for argument, value in zip(block.args, outside, strict=True):
        argument.name_hint = value.name_hint
    for op in members:
        block.add_op(op.clone(copies))
    block.add_op(YieldOp([copies[r] for r in last.results]))
    thread = ThreadOp(outside, [r.type for r in last.results], Region([block]))
    thread.location = last.location
    parent = last.parent_block()
    assert parent is not None
    parent.insert_op_before(thread, last)
    for old, new in zip(last.results, thread.results, strict=True):
        old.replace_all_uses_with(new)
        new.name_hint = old.name_hint
    for op in reversed(members):
        op.detach()  # type: ignore[no-untyped-call]
        op.erase()
