"""Multi-level graphs: ``graph.kernel.KernelGraph`` and ``sgraph.graph``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Region, SSAValue

from prism_mlir.dialects.sgraph.attributes import (
    Equalities,
    MapAttr,
    Relation,
    ScheduleAttr,
    ScheduleNote,
    VerdictAttr,
    VerdictNote,
)
from prism_mlir.dialects.sgraph.block_ops import AccumOp, LoadOp, SaveOp
from prism_mlir.dialects.sgraph.bridge.blocks import read_block, read_equalities
from prism_mlir.dialects.sgraph.bridge.elements import dtype_of, tensor_type, to_element_type
from prism_mlir.dialects.sgraph.bridge.operators import build_operator, operator_of
from prism_mlir.dialects.sgraph.bridge.programs import name_hint
from prism_mlir.dialects.sgraph.bridge.tile_dims import concrete_dims, symbolic_dims
from prism_mlir.dialects.sgraph.graph_ops import CustomOp, GraphOp, YieldOp
from prism_mlir.dialects.sgraph.operator_ops import OperatorOp
from prism_mlir.dialects.sgraph.types import TileType, element_type_of, shape_of
from prism_mlir.graph.block import Accum, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.kernel import CustomNode, KernelGraph, KernelNode, LibraryNode
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Orientation, Schedule


def graph_to_ir(
    graph: KernelGraph,
    name: str = "graph",
    *,
    program: Program | None = None,
    verdict: VerdictNote | None = None,
    schedule: Schedule | None = None,
    cost: float | None = None,
) -> GraphOp:
    """``sgraph.graph`` for a kernel graph.

    program:  what it implements: gives tensors their names and results their element types
    schedule: chosen sizes; they replace the symbols d_p in the declarations
    cost:     seconds
    Raises :class:`InputError` for a graph whose operands, stages or mappings do not fit.
    """
    block = Block(arg_types=[tensor_type(t.shape, t.dtype) for t in graph.inputs])
    names = [i.name for i in program.inputs] if program is not None else [f"in{k}" for k in range(len(graph.inputs))]
    values: list[SSAValue] = list(block.args)
    for argument, hint in zip(block.args, names, strict=True):
        name_hint(argument, hint)
    sizes = {} if schedule is None else dict(schedule.sizes)
    dtypes = _stored_dtypes(graph, program)
    for node in graph.nodes:
        operands = [values[v] for v in node.operands]
        if isinstance(node, LibraryNode):
            dtype = dtypes.get(len(values), _join([dtype_of(v.type) for v in operands]))
            op: OperatorOp | CustomOp = build_operator(node.op, operands, tensor_type(graph.shapes[len(values)], dtype))
        else:
            tensors = [names[v] if v < len(names) else f"t{v}" for v in node.operands]
            stored = [dtypes.get(len(values) + k) for k in range(len(node.block.outputs))]
            op = _custom(node, operands, tensors, stored, sizes)
        block.add_op(op)
        values.extend(op.results)
    block.add_op(YieldOp([values[v] for v in graph.outputs]))
    return GraphOp(
        name,
        Region([block]),
        implements=None if program is None else program.name,
        verdict=None if verdict is None else VerdictAttr(verdict),
        schedule=None if schedule is None else ScheduleAttr(_note(schedule)),
        cost=cost,
    )


def _stored_dtypes(graph: KernelGraph, program: Program | None) -> dict[int, DType]:
    """Element types of kernel values that something fixes: the kernel that reads it, or else the program's output."""
    fixed: dict[int, DType] = {}
    for node in graph.custom:
        for value, formal in zip(node.operands, node.block.inputs, strict=True):
            fixed.setdefault(value, formal.dtype)
    if program is not None:
        for value, output in zip(graph.outputs, program.outputs, strict=True):
            fixed.setdefault(value, output.dtype)
    return fixed


def _join(dtypes: Sequence[DType]) -> DType:
    """The element type of an operator's result: the operands', the widest where they differ."""
    if not dtypes:
        return DType.F16
    return max(dtypes, key=lambda d: (d.is_float, d.bytes, d.value))


@dataclass(slots=True)
class _Tensors:
    """Hands out each name once."""

    taken: set[str]

    def fresh(self, name: str) -> str:
        candidate, k = name, 1
        while candidate in self.taken:
            k += 1
            candidate = f"{name}_{k}"
        self.taken.add(candidate)
        return candidate


def _custom(
    node: CustomNode,
    operands: Sequence[SSAValue],
    tensors: Sequence[str],
    stored: Sequence[DType | None],
    sizes: dict[str, int],
) -> CustomOp:
    graph = node.block
    block = Block(arg_types=[tensor_type(t.shape, t.dtype) for t in graph.inputs])
    for argument, tensor in zip(block.args, tensors, strict=True):
        name_hint(argument, tensor.lower())
    fresh = _Tensors(set())
    names = {k: fresh.fresh(tensors[n.op.source]) for k, n in enumerate(graph.nodes) if isinstance(n.op, Load)}
    dims = symbolic_dims(graph, names) if node.mapping is None else concrete_dims(graph, node.mapping)
    _ = graph.stages
    maps = _maps(node)
    tiles: list[SSAValue] = []
    for k, inner in enumerate(graph.nodes):
        values = [tiles[v] for v in inner.operands]
        if isinstance(inner.op, Load):
            source = block.args[inner.op.source]
            imap, fmap = next(maps)
            tile_type = TileType(dims[k], element_type_of(source.type))
            op: LoadOp | AccumOp | OperatorOp = LoadOp(
                source, names[k], imap, tile_type, fmap=None if inner.op.invariant else MapAttr(fmap)
            )
        elif isinstance(inner.op, Accum):
            op = AccumOp(values[0], TileType(dims[k], element_type_of(values[0].type)), inner.op.monoid)
        else:
            dtype = _join([dtype_of(v.type) for v in values] or [t.dtype for t in graph.inputs])
            op = build_operator(inner.op, values, TileType(dims[k], to_element_type(dtype)))
        block.add_op(op)
        tiles.extend(op.results)
    for k, out in enumerate(graph.outputs):
        omap = None if node.mapping is None else _relation(graph.grid, node.mapping.omap[k])
        block.add_op(SaveOp(tiles[out], omap))
    result_types: list[Attribute] = [
        tensor_type(graph.shapes[out], dtype or dtype_of(tiles[out].type))
        for out, dtype in zip(graph.outputs, stored, strict=True)
    ]
    grid = tuple((p, sizes.get(p)) for p in graph.grid)
    loop = None if graph.loop is None else (graph.loop, sizes.get(graph.loop))
    return CustomOp(operands, result_types, grid, loop, Region([block]), _equalities(node, names))


def _maps(node: CustomNode) -> Iterator[tuple[Relation | None, Relation | None]]:
    """imap and fmap of each load in turn; ``None`` while they are symbols."""
    block, mapping = node.block, node.mapping
    if mapping is None:
        yield from ((None, None) for _ in block.loads)
        return
    for row, dim in zip(mapping.imap, mapping.fmap, strict=True):
        yield _relation(block.grid, row), () if dim < 0 or block.loop is None else ((block.loop, dim),)


def _relation(grid: Sequence[str], row: Sequence[int]) -> Relation:
    return tuple((p, d) for p, d in zip(grid, row, strict=True) if d >= 0)


def _equalities(node: CustomNode, names: dict[int, str]) -> Equalities:
    return tuple(
        ((names.get(e.a.node, e.a.node), e.a.dim), (names.get(e.b.node, e.b.node), e.b.dim)) for e in node.equalities
    )


def ir_to_graph(op: GraphOp) -> KernelGraph:
    """The kernel graph that a verified ``sgraph.graph`` holds (its schedule is in ``op.schedule``)."""
    number: dict[SSAValue, int] = {a: k for k, a in enumerate(op.body.block.args)}
    nodes: list[KernelNode] = []
    outputs: tuple[int, ...] = ()
    for inner in op.body.block.ops:
        operands = tuple(number[v] for v in inner.operands)
        if isinstance(inner, YieldOp):
            outputs = operands
        elif isinstance(inner, OperatorOp):
            nodes.append(LibraryNode(operator_of(inner), operands))
        elif isinstance(inner, CustomOp):
            reading = read_block(inner)
            nodes.append(CustomNode(reading.block, operands, reading.mapping, read_equalities(inner, reading)))
        for result in inner.results:
            number[result] = len(number)
    inputs = tuple(TensorType(shape_of(a.type), dtype_of(a.type)) for a in op.body.block.args)
    return KernelGraph(inputs, tuple(nodes), outputs)


def ir_to_schedule(op: GraphOp) -> Schedule | None:
    """The schedule recorded on a graph, if any."""
    if op.schedule is None:
        return None
    note = op.schedule.data
    return Schedule(note.sizes, note.warps, note.stages, Orientation(note.orientation), note.residency)


def _note(schedule: Schedule) -> ScheduleNote:
    return ScheduleNote(schedule.sizes, schedule.warps, schedule.stages, schedule.orientation.value, schedule.residency)
