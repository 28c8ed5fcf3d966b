"""``sgraph-verify``: a verdict for every candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from prism_mlir.dialects.sgraph.attributes import VerdictAttr, VerdictNote
from prism_mlir.graph.errors import one_line
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.candidates import record_funnel, work_of
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at
from prism_mlir.verify.prove import ProofLimits
from prism_mlir.verify.verdict import Verdict
from prism_mlir.verify.verify import verify


@dataclass(frozen=True)
class SgraphVerifyPass(PrismPass):
    """Refute candidates by exact arithmetic, or prove them by equality saturation (paper, section 4).

    Every graph gets a ``verdict``: ``proved`` (for all parallel sizes, under the named axioms), ``refuted`` (with the sizes
    and the element that differs) or ``unknown`` (with what ran out).

    Options:

    - ``proved-only``: drop graphs that were not proved
    - ``iterations``, ``nodes``: when the prover gives up
    - ``seed``: of the refuter's random inputs

    Before:

    ```mlir
    sgraph.program @p ...
    sgraph.graph @g implements @p ...
    ```

    After:

    ```mlir
    sgraph.program @p ...
    sgraph.graph @g implements @p ... attributes {verdict = #sgraph.verdict<proved, "axioms 0123abcd, 4 iterations">}
    ```
    """

    name = "sgraph-verify"
    before: ClassVar[Stage] = Stage.MAPPED
    after: ClassVar[Stage] = Stage.JUDGED

    proved_only: bool = False
    iterations: int = ProofLimits().iterations
    nodes: int = ProofLimits().nodes
    seed: int = 0

    def __post_init__(self) -> None:
        self.require(1, "iterations", "nodes")
        self.require(0, "seed")

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        limits = ProofLimits(iterations=self.iterations, nodes=self.nodes)
        for work in work_of(op):
            with at(work.op):
                verdicts = verify(work.program, work.graphs, seed=self.seed, limits=limits)
            counts = dict.fromkeys(("proved", "refuted", "unknown"), 0)
            for source, verdict in zip(work.ops, verdicts, strict=True):
                counts[verdict.status.value] += 1
                if self.proved_only and not verdict.proved:
                    Rewriter.erase_op(source)
                else:
                    source.verdict = VerdictAttr(VerdictNote(verdict.status.value, detail(verdict)))
            record_funnel(work.op, counts, [])


def detail(verdict: Verdict) -> str:
    """Why, in one line, without anything that changes from run to run."""
    if verdict.proved:
        return f"axioms {verdict.axiom_hash}, {verdict.iterations} iterations"
    found = verdict.counterexample
    if found is None:
        return one_line(verdict.reason)
    sizes = ", ".join(f"{name} = {size}" for name, size in found.sizes)
    where = f"output {found.output} at {list(found.index)}"
    values = f": {found.got} instead of {found.expected}" if found.got is not None else ""
    place = f"; {where}{values}; sizes {sizes}" if sizes else ""
    return one_line(f"{found.reason}{place}")
