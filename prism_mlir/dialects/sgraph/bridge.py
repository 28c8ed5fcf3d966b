"""The only place where IR and graph objects meet: both directions, nothing lost.

``ir_to_program(program_to_ir(p)) == p`` and ``ir_to_graph(graph_to_ir(g)) == g``; the other way round, SSA names, tensors'
names in mapping variables, thread graphs (they are inlined) and element types of tiles take their default form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Region, SSAValue

from prism_mlir.dialects.sgraph.attributes import (
    Equalities,
    InputView,
    MapAttr,
    OutputView,
    Relation,
    ScheduleAttr,
    VerdictAttr,
    VerdictNote,
)
from prism_mlir.dialects.sgraph.block_ops import AccumOp, LoadOp, SaveOp
from prism_mlir.dialects.sgraph.block_reading import read_block, read_equalities
from prism_mlir.dialects.sgraph.graph_ops import CustomOp, GraphOp, YieldOp
from prism_mlir.dialects.sgraph.operator_ops import OperatorOp, UnaryOp, build_operator
from prism_mlir.dialects.sgraph.program_ops import ProgramOp, ReturnOp
from prism_mlir.dialects.sgraph.tile_dims import concrete_dims, symbolic_dims
from prism_mlir.dialects.sgraph.types import TileType, dtype_of, shape_of, tensor_type
from prism_mlir.graph.block import Accum, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.kernel import CustomNode, KernelGraph, KernelNode, LibraryNode
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput
from prism_mlir.graph.schedule import Schedule


def program_to_ir(program: Program) -> ProgramOp:
    """``sgraph.program`` for a program. Raises :class:`InputError` where an operator's operands do not fit."""
    block = Block(arg_types=[tensor_type(i.shape, i.dtype) for i in program.inputs])
    values: list[SSAValue] = list(block.args)
    for spec, argument in zip(program.inputs, block.args, strict=True):
        _hint(argument, spec.name)
    for k, node in enumerate(program.nodes):
        result_type = tensor_type(program.shapes[len(program.inputs) + k], node.dtype)
        op = build_operator(node.op, [values[v] for v in node.operands], result_type, node.shift)
        block.add_op(op)
        values.append(op.result)
    outputs = [OutputView(o.name, o.dtype, o.shape, o.strides) for o in program.outputs]
    block.add_op(ReturnOp([values[o.value] for o in program.outputs], outputs))
    views = [InputView(i.name, i.arg, i.arg_shape, i.strides, i.offset, i.data) for i in program.inputs]
    return ProgramOp(program.name, views, Region([block]))


def ir_to_program(op: ProgramOp) -> Program:
    """The program that a verified ``sgraph.program`` holds."""
    number: dict[SSAValue, int] = {a: k for k, a in enumerate(op.body.block.args)}
    inputs = [
        ProgramInput(v.name, shape_of(a.type), dtype_of(a.type), v.arg, v.shape, v.strides, v.offset, v.data)
        for a, v in zip(op.body.block.args, (i.data for i in op.inputs), strict=True)
    ]
    nodes: list[ProgramNode] = []
    outputs: list[ProgramOutput] = []
    for inner in op.body.block.ops:
        operands = tuple(number[v] for v in inner.operands)
        if isinstance(inner, OperatorOp):
            shift = inner.shift.value.data if isinstance(inner, UnaryOp) and inner.shift is not None else None
            number[inner.result] = len(inputs) + len(nodes)
            nodes.append(ProgramNode(inner.op, operands, dtype_of(inner.result.type), shift))
        elif isinstance(inner, ReturnOp):
            views = (o.data for o in inner.outputs)
            outputs = [
                ProgramOutput(v, o.dtype, o.shape, o.strides, o.name) for v, o in zip(operands, views, strict=True)
            ]
    return Program(op.sym_name.data, tuple(inputs), tuple(nodes), tuple(outputs))


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
        _hint(argument, hint)
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
        schedule=None if schedule is None else ScheduleAttr(schedule),
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
        _hint(argument, tensor.lower())
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
            tile_type = TileType(dims[k], dtype_of(source.type))
            op: LoadOp | AccumOp | OperatorOp = LoadOp(
                source, names[k], imap, tile_type, fmap=None if inner.op.invariant else MapAttr(fmap)
            )
        elif isinstance(inner.op, Accum):
            op = AccumOp(values[0], TileType(dims[k], dtype_of(values[0].type)), inner.op.monoid)
        else:
            dtype = _join([dtype_of(v.type) for v in values] or [t.dtype for t in graph.inputs])
            op = build_operator(inner.op, values, TileType(dims[k], dtype))
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


def _hint(value: SSAValue, name: str) -> None:
    if SSAValue.is_valid_name(name):
        value.name_hint = name


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
            nodes.append(LibraryNode(inner.op, operands))
        elif isinstance(inner, CustomOp):
            reading = read_block(inner)
            nodes.append(CustomNode(reading.block, operands, reading.mapping, read_equalities(inner, reading)))
        for result in inner.results:
            number[result] = len(number)
    inputs = tuple(TensorType(shape_of(a.type), dtype_of(a.type)) for a in op.body.block.args)
    return KernelGraph(inputs, tuple(nodes), outputs)


__all__ = ["graph_to_ir", "ir_to_graph", "ir_to_program", "program_to_ir"]
