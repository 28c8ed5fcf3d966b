"""Verifiers of multi-level graphs. The rules themselves live in the graph model; here each broken rule finds its op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from prism_mlir.dialects.sgraph.block_ops import LoadOp
from prism_mlir.dialects.sgraph.bridge.blocks import BlockReading, read_block, read_equalities
from prism_mlir.dialects.sgraph.bridge.tile_dims import SymbolClasses, concrete_dims, symbolic_dims
from prism_mlir.dialects.sgraph.graph_ops import CustomOp, GraphOp
from prism_mlir.dialects.sgraph.program_ops import ProgramOp
from prism_mlir.dialects.sgraph.refuse import refuse
from prism_mlir.dialects.sgraph.types import TileDim, TileType, element_type_of, shape_of
from prism_mlir.graph.block import BlockGraph
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.mapping import Mapping, tile_partitions


def check_custom(custom: CustomOp) -> None:
    """Everything that needs the whole block graph. Raises ``RefusedOp`` with the op at fault."""
    _check_interface(custom)
    _check_parallel_dims(custom)
    reading = read_block(custom)
    _check_symbols(custom, reading)
    _check_saves(custom, reading)
    _check_model(reading)
    _check_equalities(custom, reading)
    _check_tile_types(custom, reading)


def _check_interface(custom: CustomOp) -> None:
    formal = tuple(a.type for a in custom.body.block.args)
    if formal != tuple(custom.operand_types):
        refuse(custom, "passes tensors of other types than its block graph takes")


def _check_parallel_dims(custom: CustomOp) -> None:
    if custom.loop is not None and len(custom.loop.data) != 1:
        refuse(custom, f"declares {len(custom.loop.data)} loop dims; a block graph has one, or no loop clause")
    names = (*custom.grid.names, *(() if custom.loop is None else custom.loop.names))
    for name in names:
        if names.count(name) > 1:
            refuse(custom, f"declares parallel dim {name} twice")
    for name, size in custom.sizes.items():
        if size is not None and size < 1:
            refuse(custom, f"declares {size} parts along {name}, it must be at least 1")


def _check_symbols(custom: CustomOp, reading: BlockReading) -> None:
    ranks: dict[str, int] = {}
    for load in reading.loads:
        if load.tensor.data in ranks:
            refuse(load, f"names its tensor {load.tensor.data}, as an earlier load does; give it its own name")
        ranks[load.tensor.data] = len(shape_of(load.source.type))
    for op in reading.ops:
        for type_ in (t for t in op.result_types if isinstance(t, TileType)):
            for dim in type_.tile_dims:
                _check_tile_symbol(custom, op, dim, ranks)


def _check_tile_symbol(custom: CustomOp, op: Operation, dim: TileDim, ranks: dict[str, int]) -> None:
    undeclared = [p for p in dim.parts if p not in custom.sizes]
    if undeclared:
        known = ", ".join(custom.sizes) or "none"
        refuse(op, f"uses an undeclared symbol: its tile is cut along {undeclared[0]}, declared are {known}")
    if dim.tensor is None:
        return
    if dim.tensor not in ranks:
        refuse(op, f"uses an undeclared symbol: sigma({dim.tensor},{dim.dim}) names no loaded tensor")
    if dim.dim >= ranks[dim.tensor]:
        refuse(op, f"names sigma({dim.tensor},{dim.dim}) of a tensor of rank {ranks[dim.tensor]}")


def _check_saves(custom: CustomOp, reading: BlockReading) -> None:
    if not reading.saves:
        refuse(custom, "saves nothing")
    if len(reading.saves) != len(custom.outputs):
        refuse(
            custom, f"has {len(custom.outputs)} results and saves {len(reading.saves)} tiles; the k-th save is result k"
        )
    for save, result in zip(reading.saves, custom.outputs, strict=True):
        saved, whole = shape_of(save.tile.type), shape_of(result.type)
        if saved != whole:
            refuse(save, f"has a shape mismatch: it saves {list(saved)}, the result's type says {list(whole)}")


Rule = Callable[[BlockGraph, Mapping | None], object]

_RULES: dict[str, Rule] = {
    "shape mismatch": lambda block, _: block.shapes,
    "stage mismatch": lambda block, _: block.stages,
    "mapping mismatch": lambda block, mapping: None if mapping is None else tile_partitions(block, mapping),
}


def _check_model(reading: BlockReading) -> None:
    """Shapes, stages and mappings, by the graph model."""
    for title, rule in _RULES.items():
        _check_rule(title, rule, reading)


def _check_rule(title: str, rule: Rule, reading: BlockReading) -> None:
    """Apply a rule; where it is broken, find the op by bisecting prefixes of the graph."""
    nodes, outputs = len(reading.ops), len(reading.saves)
    if _failure(rule, reading, nodes, outputs) is None:
        return
    op: Operation
    if _failure(rule, reading, nodes, 0) is None:
        outputs = _first(lambda n: _failure(rule, reading, nodes, n), outputs)
        op = reading.saves[outputs - 1]
    else:
        nodes, outputs = _first(lambda n: _failure(rule, reading, n, 0), nodes), 0
        op = reading.ops[nodes - 1]
    refuse(op, f"has a {title}: {_failure(rule, reading, nodes, outputs)}")


def _first(failure: Callable[[int], str | None], upper: int) -> int:
    """The smallest ``n`` in ``1..upper`` that fails, by bisection: what is wrong with a prefix stays wrong."""
    low, high = 1, upper
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if failure(middle) is not None else (middle + 1, high)
    return low


def _failure(rule: Rule, reading: BlockReading, nodes: int, outputs: int) -> str | None:
    """The rule's complaint about the graph's first ``nodes`` nodes and ``outputs`` outputs; ``None`` if it has none."""
    block, mapping = reading.block, reading.mapping
    prefix = replace(block, nodes=block.nodes[:nodes], outputs=block.outputs[:outputs])
    if mapping is not None:
        loads = len(prefix.loads)
        mapping = Mapping(mapping.imap[:loads], mapping.fmap[:loads], mapping.omap[:outputs])
    try:
        rule(prefix, mapping)
    except InputError as error:
        return error.message
    return None


def _check_equalities(custom: CustomOp, reading: BlockReading) -> None:
    for equality in read_equalities(custom, reading):
        a = reading.block.shapes[equality.a.node][equality.a.dim]
        b = reading.block.shapes[equality.b.node][equality.b.dim]
        if a != b:
            refuse(custom, f"has a shape mismatch: it equates a dim of size {a} with one of size {b}")


def _check_tile_types(custom: CustomOp, reading: BlockReading) -> None:
    names = {k: op.tensor.data for k, op in enumerate(reading.ops) if isinstance(op, LoadOp)}
    if reading.mapping is not None:
        want = concrete_dims(reading.block, reading.mapping)
    else:
        want = symbolic_dims(reading.block, names)
    classes = SymbolClasses(reading.block, want, read_equalities(custom, reading))
    for op, dims in zip(reading.ops, want, strict=True):
        type_ = op.results[0].type
        assert isinstance(type_, TileType)
        if not all(classes.same(a, b) for a, b in zip(type_.tile_dims, dims, strict=True)):
            refuse(op, f"has a shape mismatch: its tile is {TileType(dims, type_.element_type)}, its type says {type_}")
        if isinstance(op, LoadOp) and element_type_of(type_) != element_type_of(op.source.type):
            refuse(op, f"loads {element_type_of(op.source.type)} as {element_type_of(type_)}; a load does not convert")


def check_graph(graph: GraphOp) -> None:
    """What concerns the kernel graph as a whole: its program, and sizes that kernels share."""
    sizes = _shared_sizes(graph)
    if graph.schedule is not None:
        scheduled = dict(graph.schedule.data.sizes)
        for name, size in sizes.items():
            if size != scheduled.get(name):
                declared = f"d_{name}" if size is None else size
                refuse(graph, f"declares {name} = {declared}, its schedule says {scheduled.get(name, 'nothing')}")
    if graph.implements is not None and graph.parent_op() is not None:
        _check_implements(graph, graph.implements)


def _check_implements(graph: GraphOp, reference: SymbolRefAttr) -> None:
    program = SymbolTable.lookup_symbol(graph, reference)
    if not isinstance(program, ProgramOp):
        refuse(graph, f"implements {reference}, which names no sgraph.program")
    if [a.type for a in graph.body.block.args] != [a.type for a in program.body.block.args]:
        refuse(graph, f"takes other types than {reference}, the program it implements")
    ends = (graph.body.block.last_op, program.body.block.last_op)
    have, want = ([list(shape_of(t)) for t in end.operand_types] if end is not None else [] for end in ends)
    if have != want:
        refuse(ends[0] or graph, f"has a shape mismatch: {reference} returns {want}, its type says {have}")


def _shared_sizes(graph: GraphOp) -> dict[str, int | None]:
    sizes: dict[str, int | None] = {}
    for custom in (op for op in graph.body.block.ops if isinstance(op, CustomOp)):
        for name, size in custom.sizes.items():
            if sizes.setdefault(name, size) != size:
                refuse(
                    custom, f"declares another size for {name} than an earlier kernel; kernels that name a dim share it"
                )
    return sizes
