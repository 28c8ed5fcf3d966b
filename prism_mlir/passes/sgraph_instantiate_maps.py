"""``sgraph-instantiate-maps``: from mapping variables to concrete mappings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from prism_mlir.dialects.sgraph.bridge import graph_to_ir
from prism_mlir.dialects.sgraph.graph_ops import GraphOp
from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.candidates import record_funnel, replace_graphs, work_of
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at
from prism_mlir.search.instantiate import instantiate
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.verify.refute import Refuter


@dataclass(frozen=True)
class SgraphInstantiateMapsPass(PrismPass):
    """Enumerate the mappings of every symbolic graph (paper, section 3.4).

    A graph becomes one graph for each mapping that keeps constraints (1) and (2) and the recorded equalities, is the
    lexicographically smallest under permutations of the grid, and is not refuted with all parallel sizes but one set to 1.
    Grid dims that cut nothing are left out. Graphs with one graph-defined operator are taken.

    Options:

    - ``candidates``: graphs to emit for each program, at most
    - ``seed``: of the refuter's random inputs

    Before:

    ```mlir
    sgraph.graph @p_0 implements @p ... { ... grid {x = d_x, y = d_y} ... imap m fmap m ... omap m }
    ```

    After:

    ```mlir
    sgraph.graph @p_0_0 implements @p ... { ... grid {x = d_x} ... imap {x -> 0} fmap {i -> 1} ... omap {x -> 0} }
    sgraph.graph @p_0_1 implements @p ...
    ```
    """

    name = "sgraph-instantiate-maps"
    before: ClassVar[Stage] = Stage.SYMBOLIC
    after: ClassVar[Stage] = Stage.MAPPED

    candidates: int = SearchLimits().candidates
    seed: int = 0

    def __post_init__(self) -> None:
        self.require(1, "candidates")
        self.require(0, "seed")

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        for work in work_of(op):
            funnel = Funnel()
            refuter = Refuter(work.program, seed=self.seed)
            input_dims = dim_classes(work.program).of[: len(work.program.inputs)]

            def accept(graph: KernelGraph, dim: str, refuter: Refuter = refuter) -> bool:
                return refuter.refute_alone(graph, dim) is None

            found: list[GraphOp] = []
            for source, graph in zip(work.ops, work.graphs, strict=True):
                with at(source):
                    if len(graph.nodes) != 1 or graph.is_concrete:
                        raise UnsupportedError(
                            f"@{source.sym_name.data} has {len(graph.nodes)} kernels; mappings are enumerated for one"
                        )
                    try:
                        mapped = list(instantiate(graph, accept, funnel, input_dims, self.candidates))
                    except InputError as error:
                        raise InputError(f"@{source.sym_name.data}: {error.message}") from None
                found += [
                    graph_to_ir(g, f"{source.sym_name.data}_{k}", program=work.program) for k, g in enumerate(mapped)
                ]
            record_funnel(work.op, funnel.counts, funnel.stopped_by)
            replace_graphs(work, found)
