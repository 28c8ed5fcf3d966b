"""Block graphs: what one thread block computes, with every mapping and size still a symbol (paper, section 2).

Nodes are numbered in order; operands point backwards. Three kinds of node exist only here:

``load``   brings a tile of kernel tensor ``source`` in. A *body* load is repeated in every iteration of the loop, and its
           fmap says which dim the loop partitions; an *invariant* load happens once, before the loop.
``accum``  sums a body tile over the iterations of the loop; its result exists after the loop.
``save``   is not a node: ``outputs`` names the nodes whose tiles are stored, each through an omap.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.ops import RUNNING_MAX, Kind, Op, Shape


class Stage(StrEnum):
    """When a tile exists: before the loop and throughout, in each iteration, or after the loop."""

    INVARIANT = "invariant"
    BODY = "body"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape and element type of a kernel-level tensor.

    expanded: pairs (parallel dim p, data dim d): the tensor is ``d_p`` times as large along ``d`` as ``shape`` says, because
              another kernel stored one part for each of its blocks along p there. Whoever reads it must cut ``d`` along p again.
    """

    shape: Shape
    dtype: DType
    expanded: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    """A tile of input ``source`` of the block graph."""

    source: int
    invariant: bool = False

    @property
    def sort_key(self) -> tuple[str, ...]:
        return ("load", f"{self.source:04}", str(self.invariant))

    def __str__(self) -> str:
        return f"load[{self.source}{'; invariant' if self.invariant else ''}]"


@dataclass(frozen=True, slots=True)
class Accum:
    """The sum of a body tile over all iterations. ``monoid`` is a row of ``ops.MONOIDS``.

    degree: where not 0, there is a second operand, a running maximum m, and the tile of iteration i counts ``exp(degree * m_i)``
            times what it holds; the result counts ``exp(degree * m)`` with the last m. Made for code (see ``scaled_tiles``).
    """

    monoid: str = "sum"
    degree: int = 0

    @property
    def sort_key(self) -> tuple[str, ...]:
        return ("accum", self.monoid, *([str(self.degree)] if self.degree else []))

    def __str__(self) -> str:
        attributes = [*([self.monoid] if self.monoid != "sum" else []), *([str(self.degree)] if self.degree else [])]
        return f"accum[{'; '.join(attributes)}]" if attributes else "accum"


BlockOp = Load | Accum | Op


@dataclass(frozen=True, slots=True)
class BlockNode:
    op: BlockOp
    operands: tuple[int, ...] = ()


@dataclass(frozen=True)
class BlockGraph:
    """A block graph.

    grid:    names of grid dims, in the order in which mappings list them
    loop:    name of the loop dim; ``None`` where nothing is accumulated
    inputs:  types of the kernel tensors it reads
    nodes:   loads, operators, accumulators
    outputs: nodes that are saved, in the order of the kernel's results
    wide:    computed operands of products that code must not round to 16 bits. Made for code (see ``roundings``).
    tf32:    products of f32 operands that may round them to tf32. For code, too.
    """

    grid: tuple[str, ...]
    loop: str | None
    inputs: tuple[TensorType, ...]
    nodes: tuple[BlockNode, ...]
    outputs: tuple[int, ...]
    wide: frozenset[int] = frozenset()
    tf32: frozenset[int] = frozenset()

    @property
    def parallel_dims(self) -> tuple[str, ...]:
        return self.grid if self.loop is None else (*self.grid, self.loop)

    @cached_property
    def loads(self) -> tuple[int, ...]:
        """Nodes that are loads, in order; mappings list imap and fmap in this order."""
        return tuple(k for k, n in enumerate(self.nodes) if isinstance(n.op, Load))

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Shape of every node when all parallel sizes are 1. Raises :class:`InputError` where operands do not fit."""
        shapes: list[Shape] = []
        for k, node in enumerate(self.nodes):
            if any(not 0 <= v < k for v in node.operands):
                raise InputError(f"block node {k} uses a node that is not defined before it")
            shapes.append(self._shape(node, shapes))
        return tuple(shapes)

    def _shape(self, node: BlockNode, shapes: list[Shape]) -> Shape:
        match node.op:
            case Load(source=source):
                if not 0 <= source < len(self.inputs):
                    raise InputError(f"load names input {source}, the graph has {len(self.inputs)}")
                return self.inputs[source].shape
            case Accum():
                return shapes[node.operands[0]]
            case Op() as op:
                return op.spec.shape(op, [shapes[v] for v in node.operands])

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Stage of every node. Raises :class:`InputError` where body and after-loop tiles meet."""
        stages: list[Stage] = []
        for k, node in enumerate(self.nodes):
            stages.append(node_stage(node, [stages[v] for v in node.operands], k))
        for out in self.outputs:
            if stages[out] is Stage.BODY:
                raise InputError(f"block node {out} is saved inside the loop; accumulate it first")
        return tuple(stages)


def node_stage(node: BlockNode, operands: list[Stage], index: int = 0) -> Stage:
    """The stage of a node from its operands' stages."""
    if isinstance(node.op, Load):
        return Stage.INVARIANT if node.op.invariant else Stage.BODY
    if isinstance(node.op, Accum):
        if operands[0] is not Stage.BODY:
            raise InputError(f"block node {index} accumulates a tile that does not change in the loop")
        return Stage.AFTER
    if isinstance(node.op, Op) and node.op.kind is Kind.SCAN:
        if operands[0] is not Stage.BODY:
            raise InputError(f"block node {index} ({node.op}) is about a tile that does not change in the loop")
        return Stage.BODY if node.op == RUNNING_MAX else Stage.AFTER
    if Stage.BODY in operands and Stage.AFTER in operands:
        raise InputError(f"block node {index} mixes a tile of the loop body with one that exists after the loop")
    for stage in (Stage.BODY, Stage.AFTER):
        if stage in operands:
            return stage
    return Stage.INVARIANT
