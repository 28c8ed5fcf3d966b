"""From the region of ``sgraph.custom`` to a block graph of the graph model, remembering which op each node was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, OpResult, SSAValue

from prism_mlir.dialects.sgraph.attributes import MapAttr
from prism_mlir.dialects.sgraph.block_ops import AccumOp, LoadOp, SaveOp, ThreadOp
from prism_mlir.dialects.sgraph.bridge.elements import dtype_of
from prism_mlir.dialects.sgraph.bridge.operators import operator_of
from prism_mlir.dialects.sgraph.graph_ops import CustomOp, YieldOp
from prism_mlir.dialects.sgraph.operator_ops import OperatorOp
from prism_mlir.dialects.sgraph.refuse import RefusedOp, refuse
from prism_mlir.dialects.sgraph.types import shape_of
from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load, TensorType
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.kernel import DimEquality, TileDim
from prism_mlir.graph.mapping import Mapping, expansion, tile_partitions
from prism_mlir.graph.ops import Op


@dataclass(frozen=True, slots=True)
class BlockReading:
    """What a block graph's region says.

    ops:     for each node, the op it was
    loads:   the loads, in order
    saves:   the saves, in order
    mapping: ``None`` while the maps are symbols
    """

    block: BlockGraph
    mapping: Mapping | None
    ops: tuple[Operation, ...]
    loads: tuple[LoadOp, ...]
    saves: tuple[SaveOp, ...]


def read_block(custom: CustomOp, readers: frozenset[Operation] = frozenset()) -> BlockReading:
    """Read the region. Raises ``RefusedOp`` where it is no block graph.

    readers: ops that are being read already, so that a graph whose ops use each other in a circle ends
    """
    number: dict[SSAValue, int] = {}
    nodes: list[BlockNode] = []
    ops: list[Operation] = []
    saves: list[SaveOp] = []
    for op in custom.body.block.ops:
        if isinstance(op, SaveOp):
            saves.append(op)
        elif isinstance(op, ThreadOp):
            _inline_thread(op, number, nodes, ops)
        else:
            _add(op, number, nodes, ops)
    outputs = tuple(_lookup(save, save.tile, number) for save in saves)
    readers |= {custom}
    inputs = tuple(
        TensorType(shape_of(a.type), dtype_of(a.type), _expanded(v, readers))
        for a, v in zip(custom.body.block.args, custom.operands, strict=False)
    )
    loads = tuple(op for op in ops if isinstance(op, LoadOp))
    block = BlockGraph(custom.grid.names, custom.loop_name, inputs, tuple(nodes), outputs)
    return BlockReading(block, _read_mapping(custom, loads, saves), tuple(ops), loads, tuple(saves))


def _expanded(value: SSAValue, readers: frozenset[Operation]) -> tuple[tuple[str, int], ...]:
    """Along which dims another kernel stored one part for each of its blocks; says nothing of a kernel that is ill-formed."""
    if not isinstance(value, OpResult) or not isinstance(maker := value.op, CustomOp) or maker in readers:
        return ()
    try:
        made = read_block(maker, readers)
        if made.mapping is None or value.index >= len(made.block.outputs):
            return ()
        return expansion(made.block, made.mapping, value.index, tile_partitions(made.block, made.mapping))
    except (InputError, RefusedOp):
        return ()


def _add(op: Operation, number: dict[SSAValue, int], nodes: list[BlockNode], ops: list[Operation]) -> None:
    operands = () if isinstance(op, LoadOp) else tuple(_lookup(op, v, number) for v in op.operands)
    match op:
        case LoadOp():
            node = BlockNode(Load(_input_of(op), op.invariant))
        case AccumOp():
            node = BlockNode(Accum(op.monoid.data), operands)
        case OperatorOp():
            node = BlockNode(_operator(op), operands)
        case _:
            refuse(op, "is not allowed in a block graph")
    number[op.results[0]] = len(nodes)
    nodes.append(node)
    ops.append(op)


def _operator(op: OperatorOp) -> Op:
    try:
        return operator_of(op)
    except InputError as error:
        refuse(op, error.message)


def _input_of(op: LoadOp) -> int:
    custom = op.parent_op()
    sources = custom.body.block.args if isinstance(custom, CustomOp) else ()
    found = [k for k, argument in enumerate(sources) if argument is op.source]
    if not found:
        refuse(op, "loads something else than an input of its block graph")
    return found[0]


def _lookup(op: Operation, value: SSAValue, number: dict[SSAValue, int]) -> int:
    if value not in number:
        refuse(op, "uses a value that is not defined before it in its block graph")
    return number[value]


def _inline_thread(thread: ThreadOp, number: dict[SSAValue, int], nodes: list[BlockNode], ops: list[Operation]) -> None:
    inner: dict[SSAValue, int] = {
        a: _lookup(thread, v, number) for a, v in zip(thread.body.block.args, thread.inputs, strict=True)
    }
    for op in thread.body.block.ops:
        if not isinstance(op, YieldOp):
            _add(op, inner, nodes, ops)
            continue
        for result, value in zip(thread.outputs, op.values, strict=True):
            number[result] = _lookup(op, value, inner)


def _read_mapping(custom: CustomOp, loads: Sequence[LoadOp], saves: Sequence[SaveOp]) -> Mapping | None:
    maps: list[tuple[Operation, MapAttr]] = [(op, op.imap) for op in loads]
    maps += [(op, op.fmap) for op in loads if op.fmap is not None]
    maps += [(op, op.omap) for op in saves]
    symbolic = [m.is_symbolic for _, m in maps]
    if any(symbolic):
        for op, m in maps:
            if not m.is_symbolic:
                refuse(op, "has a chosen map while other maps of this block graph are symbols; choose all or none")
        return None
    if not maps:
        return None
    grid = custom.grid.names
    return Mapping(
        tuple(_row(op.imap, grid) for op in loads),
        tuple(-1 if op.fmap is None else _row(op.fmap, (custom.loop_name or "",))[0] for op in loads),
        tuple(_row(op.omap, grid) for op in saves),
    )


def _row(attribute: MapAttr, names: Sequence[str]) -> tuple[int, ...]:
    relation = dict(attribute.data or ())
    return tuple(relation.get(name, -1) for name in names)


def read_equalities(custom: CustomOp, reading: BlockReading) -> tuple[DimEquality, ...]:
    """The recorded equalities, with tensors named by node. Raises ``RefusedOp`` for an undeclared one."""
    if custom.equalities is None:
        return ()
    by_name = {op.tensor.data: k for k, op in enumerate(reading.ops) if isinstance(op, LoadOp)}

    def reference(tensor: str | int, dim: int) -> TileDim:
        node = by_name.get(tensor, -1) if isinstance(tensor, str) else tensor
        if not 0 <= node < len(reading.ops):
            refuse(custom, f"uses an undeclared symbol: sigma({tensor},{dim}) names no loaded tensor and no node")
        rank = len(shape_of(reading.ops[node].results[0].type))
        if dim >= rank:
            refuse(custom, f"sigma({tensor},{dim}) names dim {dim} of a tensor of rank {rank}")
        return TileDim(node, dim)

    return tuple(DimEquality(reference(*a), reference(*b)) for a, b in custom.equalities.data)
