"""Kernel graphs and schedules as JSON-able data, and back: how tuning records keep them.

What is read is checked as if a stranger had written it: every malformed field is an :class:`InputError`, and a graph that was
read passes :meth:`KernelGraph.check`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, BlockOp, Load, TensorType
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError, PrismError
from prism_mlir.graph.kernel import CustomNode, DimEquality, KernelGraph, LibraryNode, TileDim
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import Op
from prism_mlir.graph.scalar_fn import ScalarFn
from prism_mlir.graph.schedule import Orientation, Schedule

T = TypeVar("T")


def graph_to_data(graph: KernelGraph) -> dict[str, Any]:
    """A graph as JSON-able data; :func:`graph_from_data` gives back an equal one."""
    return {
        "inputs": [_type_data(t) for t in graph.inputs],
        "nodes": [_custom_data(n) if isinstance(n, CustomNode) else _library_data(n) for n in graph.nodes],
        "outputs": list(graph.outputs),
    }


def graph_from_data(data: Any) -> KernelGraph:
    """Read a graph. Raises :class:`InputError` where data is not one, or the graph is ill-formed."""
    try:
        inputs = tuple(_type(t) for t in data["inputs"])
        nodes = tuple(_custom(n) if "block" in n else LibraryNode(_op(n), _ints(n["operands"])) for n in data["nodes"])
        graph = KernelGraph(inputs, nodes, _ints(data["outputs"]))
        graph.check()
    except PrismError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"not a kernel graph: {type(error).__name__} {error}") from None
    return graph


def schedule_to_data(schedule: Schedule) -> dict[str, Any]:
    """A schedule as JSON-able data; what is not asked is not there."""
    turned = None if schedule.orientation is Orientation.AUTO else schedule.orientation.value
    asked = _given(orientation=turned, residency=schedule.residency)
    return {"sizes": dict(schedule.sizes), "warps": schedule.warps, "stages": schedule.stages, **asked}


def schedule_from_data(data: Any) -> Schedule:
    """Read a schedule. Raises :class:`InputError` where data is not one."""
    try:
        sizes = {_name(p): _positive(n) for p, n in data["sizes"].items()}
        orientation = Orientation(data.get("orientation", Orientation.AUTO))
        residency = _positive(data["residency"]) if "residency" in data else 0
        chosen = tuple(sorted(sizes.items()))
        return Schedule(chosen, _positive(data["warps"]), _positive(data["stages"]), orientation, residency)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"not a schedule: {type(error).__name__} {error}") from None


def _type_data(t: TensorType) -> dict[str, Any]:
    return {"shape": list(t.shape), "dtype": t.dtype.value, **_given(expanded=[list(e) for e in t.expanded])}


def _type(data: Any) -> TensorType:
    expanded = tuple((_name(p), _int(d)) for p, d in data.get("expanded", ()))
    return TensorType(tuple(_positive(n) for n in data["shape"]), DType(data["dtype"]), expanded)


def _library_data(node: LibraryNode) -> dict[str, Any]:
    return {**_op_data(node.op), "operands": list(node.operands)}


def _custom_data(node: CustomNode) -> dict[str, Any]:
    block = node.block
    return {
        "operands": list(node.operands),
        "block": {
            "grid": list(block.grid),
            "loop": block.loop,
            "inputs": [_type_data(t) for t in block.inputs],
            "nodes": [{**_block_op_data(n.op), "operands": list(n.operands)} for n in block.nodes],
            "outputs": list(block.outputs),
            **_given(wide=sorted(block.wide), tf32=sorted(block.tf32)),
        },
        **_given(
            mapping=None if node.mapping is None else _mapping_data(node.mapping),
            equalities=[[e.a.node, e.a.dim, e.b.node, e.b.dim] for e in node.equalities],
        ),
    }


def _custom(data: Any) -> CustomNode:
    block = data["block"]
    equalities = (tuple(map(_int, e)) for e in data.get("equalities", ()))
    return CustomNode(
        BlockGraph(
            grid=tuple(map(_name, block["grid"])),
            loop=None if block["loop"] is None else _name(block["loop"]),
            inputs=tuple(map(_type, block["inputs"])),
            nodes=tuple(BlockNode(_block_op(n), _ints(n["operands"])) for n in block["nodes"]),
            outputs=_ints(block["outputs"]),
            wide=frozenset(_ints(block.get("wide", ()))),
            tf32=frozenset(_ints(block.get("tf32", ()))),
        ),
        _ints(data["operands"]),
        None if data.get("mapping") is None else _mapping(data["mapping"]),
        tuple(DimEquality(TileDim(a, b), TileDim(c, d)) for a, b, c, d in equalities),
    )


def _mapping_data(mapping: Mapping) -> dict[str, Any]:
    return {
        "imap": [list(row) for row in mapping.imap],
        "fmap": list(mapping.fmap),
        "omap": [list(row) for row in mapping.omap],
    }


def _mapping(data: Any) -> Mapping:
    return Mapping(tuple(map(_ints, data["imap"])), _ints(data["fmap"]), tuple(map(_ints, data["omap"])))


def _block_op_data(op: BlockOp) -> dict[str, Any]:
    match op:
        case Load():
            return {"op": "load", "source": op.source, **_given(invariant=op.invariant)}
        case Accum():
            return {"op": "accum", "monoid": op.monoid, **_given(degree=op.degree)}
        case Op():
            return _op_data(op)


def _block_op(data: Any) -> BlockOp:
    match data["op"]:
        case "load":
            return Load(_int(data["source"]), data.get("invariant", False) is True)
        case "accum":
            return Accum(_name(data["monoid"]), _int(data.get("degree", 0)))
        case _:
            return _op(data)


def _op_data(op: Op) -> dict[str, Any]:
    fields = {
        "fn": None if op.fn is None else op.fn.text,
        "dim": op.dim,
        "perm": None if op.perm is None else list(op.perm),
        "shape": None if op.shape is None else list(op.shape),
        "value": None if op.value is None else repr(op.value),  # JSON knows no infinities
    }
    return {"op": op.name, **{name: value for name, value in fields.items() if value is not None}}


def _op(data: Any) -> Op:
    op = Op(
        _name(data["op"]),
        fn=_maybe(data.get("fn"), lambda text: ScalarFn(_name(text))),
        dim=_maybe(data.get("dim"), _int),
        perm=_maybe(data.get("perm"), _ints),
        shape=_maybe(data.get("shape"), lambda shape: tuple(_positive(n) for n in shape)),
        value=_maybe(data.get("value"), float),
    )
    _ = op.spec
    return op


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value not in (None, [], 0, False)}


def _maybe(value: Any, read: Callable[[Any], T]) -> T | None:
    return None if value is None else read(value)


def _ints(values: Any) -> tuple[int, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise TypeError(f"{values!r} is no list of numbers")
    return tuple(map(_int, values))


def _int(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _positive(value: Any) -> int:
    if _int(value) < 1:
        raise ValueError(f"{value} is not positive")
    return int(value)


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no name")
    return value
