"""``sgraph-prune``: drop symbolic graphs whose expression cannot be the program's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.candidates import record_funnel, work_of
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at
from prism_mlir.search.abstract import abstract_target
from prism_mlir.search.prune import dead_end


@dataclass(frozen=True)
class SgraphPrunePass(PrismPass):
    """Expression-guided pruning: drop graphs whose abstract expression is not the program's (paper, section 3.3).

    ``sgraph-generate`` prunes while it searches and leaves nothing to drop; graphs from elsewhere may lose here. Where the
    program's expressions do not saturate nothing is dropped. The program's ``sgraph.funnel`` counts what was dropped.

    Before:

    ```mlir
    sgraph.program @p ...          // sum(exp(X))
    sgraph.graph @good ...         // accum(sum(exp(X)))
    sgraph.graph @bad ...          // exp(accum(sum(X)))
    ```

    After:

    ```mlir
    sgraph.program @p ... attributes {sgraph.funnel = {complete = true, pruned = 1 : i64}}
    sgraph.graph @good ...
    ```
    """

    name = "sgraph-prune"
    before: ClassVar[Stage] = Stage.SYMBOLIC
    after: ClassVar[Stage] = Stage.SYMBOLIC

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        for work in work_of(op):
            with at(work.op):
                target = abstract_target(work.program)
            pruned = 0
            for source, graph in zip(work.ops, work.graphs, strict=True):
                with at(source):
                    reason = dead_end(work.program, graph, target)
                if reason is not None:
                    Rewriter.erase_op(source)
                    pruned += 1
            stopped = [] if target.saturated else ["abstract expressions did not saturate"]
            record_funnel(work.op, {"pruned": pruned}, stopped)
