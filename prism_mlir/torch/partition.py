"""Which nodes of a graph become kernels: connected groups of supported operators that sum or contract something."""

from __future__ import annotations

import copy
import operator
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

from prism_mlir.frontend.torch.call import ELEMENTS
from prism_mlir.frontend.torch.convert import is_reducing, operator_name, rule_of
from prism_mlir.frontend.torch.tensors import VIEWS
from prism_mlir.torch.segments import segments

PREFIX = "prism_"
NUMBER = "prism_number"
"""The entry of ``node.meta`` that keeps a node's number, through copies of the graph."""

MOST_COPIES = 1000  # nodes that may be added, so that every use of a constant has its own


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A graph with calls of submodules, which hold what can become kernels. names: of the submodules"""

    module: torch.fx.GraphModule
    names: tuple[str, ...]


def numbered(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """A copy of a graph in which every use of a constant has nodes of its own, and nodes have numbers."""
    made = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    _separate_constants(made.graph)
    for number, node in enumerate(made.graph.nodes):
        node.meta[NUMBER] = number
    return made


def partition(module: torch.fx.GraphModule, excluded: Collection[int], fine: Collection[int] = ()) -> Partitioned:
    """A copy of a numbered graph with submodules.

    excluded: numbers of nodes that can be in none;  fine: numbers of nodes that are cut after every product
    """
    made = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    found = segments(list(made.graph.nodes), lambda n: n.meta.get(NUMBER) in fine)
    chosen = []
    for segment in sorted(set(found.values())):
        support = _Support(excluded, {n for n, s in found.items() if s == segment})
        partitioner = CapabilityBasedPartitioner(made, support, allows_single_node_partition=True)
        for proposed in partitioner.propose_partitions():
            nodes = _without_last(made.graph, proposed.nodes)
            if any(n.op == "call_function" and is_reducing(n.target) for n in nodes):
                chosen.append(nodes)
    fused = fuse_by_partitions(made, chosen, prefix=PREFIX)
    names = tuple(n.target for n in fused.graph.nodes if n.op == "call_module" and n.target.startswith(PREFIX))
    return Partitioned(fused, names)


class _Support(OperatorSupportBase):
    """Whether a node can be part of a kernel, as far as its operator and types say. among: nodes to choose from, or all"""

    def __init__(self, excluded: Collection[int] = (), among: Collection[torch.fx.Node] | None = None) -> None:
        self.excluded, self.among = excluded, among

    def is_node_supported(self, _submodules: Any, node: torch.fx.Node) -> bool:
        if node.op != "call_function" or node.meta.get(NUMBER) in self.excluded:
            return False
        if self.among is not None and node not in self.among:
            return False
        if node.target is operator.getitem:
            return isinstance(node.args[0], torch.fx.Node) and self.is_node_supported(_submodules, node.args[0])
        return rule_of(node.target) is not None and _has_types(node)


def _has_types(node: torch.fx.Node) -> bool:
    results = node.meta.get("val")
    first = results[0] if isinstance(results, tuple | list) and results else results
    return isinstance(first, torch.Tensor) and str(first.dtype) in ELEMENTS and first.numel() > 0


def _is_view(node: torch.fx.Node) -> bool:
    if node.target is operator.getitem:
        return isinstance(node.args[0], torch.fx.Node) and _is_view(node.args[0])
    name = operator_name(node.target)
    return name in VIEWS or name.rpartition(".")[0] in VIEWS


def _without_last(graph: torch.fx.Graph, nodes: dict[Any, Any]) -> dict[Any, Any]:
    """Views that others see are made outside, from what they are views of: so they share memory as they do in eager PyTorch.
    Outside as well is made what is no float, which no kernel gives.

    Such a node with users inside stays there, and others get one of their own.
    """
    kept = dict(nodes)
    for node in [n for n in reversed(list(graph.nodes)) if n in nodes]:
        outside = [user for user in node.users if user not in kept]
        if not outside or not (_is_view(node) or _is_no_float(node)):
            continue
        if len(outside) == len(node.users):
            del kept[node]
            continue
        with graph.inserting_after(node):
            own = graph.node_copy(node)
        for user in outside:
            user.replace_input_with(node, own)
    return kept


def _is_no_float(node: torch.fx.Node) -> bool:
    result = node.meta.get("val")
    return isinstance(result, torch.Tensor) and not result.is_floating_point()


def _separate_constants(graph: torch.fx.Graph) -> None:
    """A copy of constant nodes (masks made of index tensors) for every use: none is an argument of a kernel then."""
    constant = set(_constants(graph))
    left = MOST_COPIES
    for node in [n for n in reversed(list(graph.nodes)) if n in constant]:
        for user in list(node.users)[1:]:
            if left <= 0:
                return
            left -= 1
            with graph.inserting_before(node):
                own = graph.node_copy(node)
            user.replace_input_with(node, own)


def _constants(graph: torch.fx.Graph) -> Iterator[torch.fx.Node]:
    """Supported nodes that depend on no argument."""
    known: set[torch.fx.Node] = set()
    support = _Support()
    for node in graph.nodes:
        if support.is_node_supported({}, node) and all(i in known for i in node.all_input_nodes):
            known.add(node)
            yield node
