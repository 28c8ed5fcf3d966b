"""``sgraph-instantiate-parameters``: choose sizes, warps and stages for proved graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from prism_mlir.codegen.compile import feasible
from prism_mlir.dialects.sgraph.bridge import graph_to_ir
from prism_mlir.dialects.sgraph.graph_ops import GraphOp
from prism_mlir.graph.errors import CodegenError, InputError
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.candidates import Work, replace_graphs, work_of
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at
from prism_mlir.tune.choose import DEFAULT_SAMPLES, Ranked, choose
from prism_mlir.tune.targets import DEFAULT_TARGET, Target, find_target


@dataclass(frozen=True)
class SgraphInstantiateParametersPass(PrismPass):
    """Choose the number of parts along every parallel dim, warps and pipeline stages (paper, section 5).

    Schedules of all proved graphs are enumerated or sampled and ranked by the cost model. The best stay, each with its
    ``schedule`` and modelled ``cost`` in seconds; all other graphs are dropped.

    Options:

    - ``target``: chip (default ``sm_80``)
    - ``samples``: schedules to look at, at most
    - ``allow-tf32``: products of f32 tensors may round their operands to tf32, for tensor cores
    - ``keep``: graphs to keep for each program, best first
    - ``seed``: of the sampling

    Before:

    ```mlir
    sgraph.graph @g implements @p ... attributes {verdict = #sgraph.verdict<proved>} { ... grid {x = d_x} loop {i = d_i} ... }
    ```

    After:

    ```mlir
    sgraph.graph @g implements @p ... attributes {verdict = #sgraph.verdict<proved>, cost = 2.1e-06 : f64,
        schedule = #sgraph.schedule<{i = 16, x = 64}, warps 4, stages 3>} { ... grid {x = 64} loop {i = 16} ... }
    ```
    """

    name = "sgraph-instantiate-parameters"
    before: ClassVar[Stage] = Stage.JUDGED
    after: ClassVar[Stage] = Stage.SCHEDULED

    target: str = DEFAULT_TARGET
    samples: int = DEFAULT_SAMPLES
    keep: int = 1
    seed: int = 0
    allow_tf32: bool = False

    def __post_init__(self) -> None:
        find_target(self.target)
        self.require(1, "samples", "keep")
        self.require(0, "seed")

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        for work in work_of(op):
            with at(work.op):
                chosen = self._choose(work, find_target(self.target))
            replace_graphs(work, chosen)

    def _choose(self, work: Work, target: Target) -> list[GraphOp]:
        proved = [k for k, g in enumerate(work.ops) if g.verdict is not None and g.verdict.data.status == "proved"]
        if not proved:
            raise CodegenError(f"no graph of @{work.program.name} is proved", None, "raise the search limits")
        graphs = [work.graphs[k] for k in proved]
        source = {g.fingerprint: work.ops[k] for g, k in zip(graphs, proved, strict=True)}
        made, impossible = code_graphs(work.program, graphs, tf32=self.allow_tf32)
        if impossible and not made:
            raise CodegenError(f"no graph of @{work.program.name} can be built: {impossible[0][1]}")
        choice = choose(list(made), target, work.program, samples=self.samples, seed=self.seed)
        kept: list[GraphOp] = []
        for best in _buildable(choice.ranked, work):
            graph = made[best.scheduled.graph]
            origin = source[graph.fingerprint]
            assert origin.verdict is not None
            kept.append(
                graph_to_ir(
                    graph,
                    origin.sym_name.data if self.keep == 1 else f"{origin.sym_name.data}_s{len(kept)}",
                    program=work.program,
                    verdict=origin.verdict.data,
                    schedule=best.scheduled.schedule,
                    cost=best.cost.total_us * 1e-6,
                )
            )
            if len(kept) == self.keep:
                return kept
        if not kept:
            raise CodegenError(f"none of {len(choice.ranked)} schedules of @{work.program.name} can be built")
        return kept


def _buildable(ranked: tuple[Ranked, ...], work: Work) -> Iterator[Ranked]:
    for item in ranked:
        if feasible(work.program, item.scheduled.graph, item.scheduled.schedule) is None:
            yield item
