"""``sgraph-match-dims``: record which dims of a symbolic graph must be cut alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from prism_mlir.dialects.sgraph.bridge import graph_to_ir
from prism_mlir.dialects.sgraph.graph_ops import GraphOp
from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, KernelNode
from prism_mlir.graph.program import Program
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.candidates import replace_graphs, work_of
from prism_mlir.passes.legality import Stage
from prism_mlir.passes.located import at
from prism_mlir.search.dim_match import match_dims


@dataclass(frozen=True)
class SgraphMatchDimsPass(PrismPass):
    """Symbolic dimension matching: equate mapping variables of dims that operators join (paper, section 3.2).

    A graph in which an operator joins dims that can never be cut alike is an error.

    Options:

    - ``drop``: drop such graphs, as the search does

    Before:

    ```mlir
    %O = sgraph.custom(%x = %X : ..., %w = %W : ...) grid {x = d_x} loop {i = d_i} -> tensor<16x8xf16> {
      %0 = sgraph.load %x as X imap m fmap m : ...
      %1 = sgraph.load %w as W imap m fmap m : ...
      %2 = sgraph.matmul %0, %1 : ...
    ```

    After:

    ```mlir
    %O = sgraph.custom(%x = %X : ..., %w = %W : ...) grid {x = d_x} loop {i = d_i} where [sigma(X,1) = sigma(W,0)] -> ...
    ```
    """

    name = "sgraph-match-dims"
    before: ClassVar[Stage] = Stage.SYMBOLIC
    after: ClassVar[Stage] = Stage.SYMBOLIC

    drop: bool = False

    def rewrite(self, ctx: Context, op: ModuleOp) -> None:
        for work in work_of(op):
            kept: list[GraphOp] = []
            for source, graph in zip(work.ops, work.graphs, strict=True):
                try:
                    matched = _match(work.program, graph)
                except InputError:
                    if self.drop:
                        continue
                    with at(source):
                        raise
                kept.append(graph_to_ir(matched, source.sym_name.data, program=work.program))
            replace_graphs(work, kept)


def _match(program: Program, graph: KernelGraph) -> KernelGraph:
    classes = dim_classes(program).of
    nodes: list[KernelNode] = []
    for node in graph.nodes:
        if isinstance(node, CustomNode):
            known = all(v < len(program.inputs) for v in node.operands)
            matching = match_dims(node.block, [classes[v] for v in node.operands] if known else None)
            node = replace(node, equalities=matching.equalities)
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))
