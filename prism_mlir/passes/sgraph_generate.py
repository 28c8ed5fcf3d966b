"""``sgraph-generate``: symbolic graphs that may implement a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from prism_mlir.dialects.sgraph.bridge import graph_to_ir
from prism_mlir.graph.errors import InputError
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.candidates import record_funnel, replace_graphs, work_of
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at
from prism_mlir.search.generate import generate
from prism_mlir.search.limits import Funnel, SearchLimits


@dataclass(frozen=True)
class SgraphGeneratePass(PrismPass):
    """Enumerate symbolic graphs for every program (paper, section 3.1).

    Mappings and sizes stay symbols. What the search did is recorded in the program's ``sgraph.funnel`` attribute, limits that
    ended it early included.

    Options:

    - ``operators``: nodes of a block graph that are neither loads nor saves (default 11)
    - ``grid-dims``: parallel dims of the grid, 0 to 3 (default 3)
    - ``states``, ``structures``: partial graphs to visit and graphs to emit, at most
    - ``invariant-loads``: also search graphs with loads outside of the loop from the start

    Before:

    ```mlir
    sgraph.program @p(%X: tensor<64x64xf16>) { ... sgraph.sum ... }
    ```

    After:

    ```mlir
    sgraph.program @p(%X: tensor<64x64xf16>) attributes {sgraph.funnel = {complete = true, states = 7 : i64}} { ... }
    sgraph.graph @p_0 implements @p(%X: tensor<64x64xf16>) {
      %0 = sgraph.custom(%x = %X : tensor<64x64xf16>) grid {x = d_x} loop {i = d_i} -> tensor<64x1xf16> {
        %1 = sgraph.load %x as X imap m fmap m : tensor<64x64xf16> -> !sgraph.tile<[64/sigma(X,0), 64/sigma(X,1)] x f16>
        ...
    ```
    """

    name = "sgraph-generate"
    before: ClassVar[Stage] = Stage.PROGRAM
    after: ClassVar[Stage] = Stage.SYMBOLIC

    operators: int = SearchLimits().operators
    grid_dims: int = SearchLimits().grid_dims
    states: int = SearchLimits().states
    structures: int = SearchLimits().structures
    invariant_loads: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.grid_dims <= 3:
            raise InputError(f"{self.name}: grid-dims is {self.grid_dims}, it must be 0 to 3")
        self.require(1, "operators", "states", "structures")

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        limits = SearchLimits(
            operators=self.operators,
            grid_dims=self.grid_dims,
            states=self.states,
            structures=self.structures,
            invariant_loads=self.invariant_loads,
        )
        for work in work_of(op):
            funnel = Funnel()
            with at(work.op):
                found = [
                    graph_to_ir(graph, f"{work.program.name}_{k}", program=work.program)
                    for k, graph in enumerate(generate(work.program, limits, funnel))
                ]
            record_funnel(work.op, funnel.counts, funnel.stopped_by)
            replace_graphs(work, found)
