"""Kernel graphs: library operators and graph-defined operators, the top level of an sGraph (paper, section 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from prism_mlir.graph.block import Accum, BlockGraph, BlockOp, Load, TensorType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.mapping import Mapping, expansion, tile_partitions
from prism_mlir.graph.ops import Op, Shape
from prism_mlir.graph.program import Program


@dataclass(frozen=True, slots=True, order=True)
class TileDim:
    """Dim ``dim`` of the tile of block node ``node``."""

    node: int
    dim: int


@dataclass(frozen=True, slots=True, order=True)
class DimEquality:
    """Two dims that are partitioned alike: ``m[a,p] = m[b,p]`` for every parallel dim p (paper, section 3.2)."""

    a: TileDim
    b: TileDim


@dataclass(frozen=True, slots=True)
class LibraryNode:
    """A predefined kernel: one operator on whole tensors."""

    op: Op
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CustomNode:
    """A graph-defined operator. Results: one value for each output of its block graph.

    operands:   kernel values, one for each input of the block graph
    mapping:    concrete mappings; ``None`` while they are symbols
    equalities: what dimension matching recorded about the loads' dims
    """

    block: BlockGraph
    operands: tuple[int, ...]
    mapping: Mapping | None = None
    equalities: tuple[DimEquality, ...] = ()


KernelNode = LibraryNode | CustomNode


@dataclass(frozen=True)
class KernelGraph:
    """A candidate implementation of a program.

    Values are numbered: inputs first (in the program's order), then the results of each node in turn.
    outputs: the value that implements each program output
    """

    inputs: tuple[TensorType, ...]
    nodes: tuple[KernelNode, ...]
    outputs: tuple[int, ...]

    def __post_init__(self) -> None:
        defined = len(self.inputs)
        for k, node in enumerate(self.nodes):
            if any(not 0 <= v < defined for v in node.operands):
                raise InputError(f"kernel node {k} uses a value that is not defined before it")
            if isinstance(node, CustomNode) and len(node.operands) != len(node.block.inputs):
                raise InputError(
                    f"kernel node {k} passes {len(node.operands)} tensors to {len(node.block.inputs)} inputs"
                )
            defined += len(node.block.outputs) if isinstance(node, CustomNode) else 1
        if any(not 0 <= v < defined for v in self.outputs):
            raise InputError("an output of the kernel graph names no value")

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Shape of every kernel value when all omaps put whole tensors together."""
        shapes: list[Shape] = [t.shape for t in self.inputs]
        for node in self.nodes:
            if isinstance(node, LibraryNode):
                shapes.append(node.op.spec.shape(node.op, [shapes[v] for v in node.operands]))
                continue
            for formal, v in zip(node.block.inputs, node.operands, strict=True):
                if formal.shape != shapes[v]:
                    raise InputError(f"a block graph wants {list(formal.shape)} and gets {list(shapes[v])}")
            shapes += [node.block.shapes[out] for out in node.block.outputs]
        return tuple(shapes)

    @property
    def custom(self) -> Iterator[CustomNode]:
        """Graph-defined operators, in order."""
        return (n for n in self.nodes if isinstance(n, CustomNode))

    @property
    def parallel_dims(self) -> tuple[str, ...]:
        """Every parallel dim in use, each once, in order of first use."""
        return tuple(dict.fromkeys(p for n in self.custom for p in n.block.parallel_dims))

    @property
    def is_concrete(self) -> bool:
        """Whether every mapping is concrete."""
        return all(n.mapping is not None for n in self.custom)

    def with_mappings(self, mappings: tuple[Mapping, ...]) -> KernelGraph:
        """The graph with a mapping given to each graph-defined operator, in order."""
        rest = iter(mappings)
        nodes = tuple(replace(n, mapping=next(rest)) if isinstance(n, CustomNode) else n for n in self.nodes)
        return replace(self, nodes=nodes)

    def check(self) -> None:
        """Shapes, stages and mappings all fit. Raises :class:`InputError` otherwise."""
        _ = self.shapes
        for custom in self.custom:
            _ = custom.block.stages
        expanded = self.expansions
        for node in self.nodes:
            for k, v in enumerate(node.operands):
                wanted = node.block.inputs[k].expanded if isinstance(node, CustomNode) else ()
                if wanted != expanded[v]:
                    raise InputError(
                        f"kernel value {v} is stored with parts {list(expanded[v])} and read with {list(wanted)}"
                    )
        if any(expanded[v] for v in self.outputs):
            raise InputError("an output of the kernel graph holds parts that no kernel has put together")

    @cached_property
    def expansions(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """Along which (parallel dim, data dim) every kernel value is expanded (see :class:`TensorType`).

        Values of operators whose mapping is symbolic count as not expanded. Raises :class:`InputError` where a mapping does
        not fit its block graph.
        """
        found: list[tuple[tuple[str, int], ...]] = [t.expanded for t in self.inputs]
        for node in self.nodes:
            if isinstance(node, LibraryNode):
                found.append(())
                continue
            if node.mapping is None:
                found += [()] * len(node.block.outputs)
                continue
            parts = tile_partitions(node.block, node.mapping)
            found += [expansion(node.block, node.mapping, k, parts) for k in range(len(node.block.outputs))]
        return tuple(found)

    @cached_property
    def sort_key(self) -> tuple[object, ...]:
        """A total order over graphs, by wiring and mapping, independent of hash seeds."""
        return (*(_node_key(n) for n in self.nodes), self.outputs)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the whole graph, wiring and mappings included."""
        return hashlib.sha256(repr((self.inputs, self.sort_key)).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return "\n".join(_describe(n) for n in self.nodes)


def _node_key(node: KernelNode) -> tuple[object, ...]:
    if isinstance(node, LibraryNode):
        return (0, node.op.sort_key, node.operands)
    block = node.block
    nodes = tuple((n.op.sort_key, n.operands) for n in block.nodes)
    mapping = () if node.mapping is None else (node.mapping.imap, node.mapping.fmap, node.mapping.omap)
    return (1, block.grid, block.loop or "", nodes, block.outputs, node.operands, mapping)


def _describe(node: KernelNode) -> str:
    if isinstance(node, LibraryNode):
        return f"{node.op}({', '.join(f'%{v}' for v in node.operands)})"
    block = node.block
    body = "; ".join(f"t{k}={_show(n.op)}({', '.join(f't{v}' for v in n.operands)})" for k, n in enumerate(block.nodes))
    saved = ", ".join(f"t{o}" for o in block.outputs)
    mapping = f" {node.mapping}" if node.mapping is not None else ""
    return f"custom[grid {','.join(block.grid)}; loop {block.loop}] {body}; save {saved}{mapping}"


def _show(op: BlockOp) -> str:
    return str(op) if isinstance(op, Load | Accum | Op) else repr(op)


def program_types(program: Program) -> tuple[TensorType, ...]:
    """The kernel-level types of a program's inputs."""
    return tuple(TensorType(i.shape, i.dtype) for i in program.inputs)
