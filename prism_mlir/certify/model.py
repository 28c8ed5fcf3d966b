"""Programs and graphs as a certificate writes them down, checked while they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.certify.sizes import Refused
from prism_mlir.certify.terms import Attr

Numbers = tuple[int, ...]
NAMES = {
    "matmul": "Matmul", "unary": "Unary", "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max",
    "min": "Min", "keep": "Keep", "sum": "Sum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin",
    "transpose": "Transpose", "reshape": "Reshape", "constant": "Constant",
}  # fmt: skip
MONOIDS = {"sum": "Red", "max": "RedMax", "min": "RedMin"}


@dataclass(frozen=True, slots=True)
class Tensor:
    shape: Numbers


@dataclass(frozen=True, slots=True)
class Node:
    """An operator. attrs: as in terms; shape: of its result in the program as it was given."""

    symbol: str
    attrs: tuple[Attr, ...]
    operands: Numbers
    shape: Numbers


@dataclass(frozen=True, slots=True)
class Program:
    """Values are numbered: inputs, then nodes."""

    inputs: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    outputs: Numbers


@dataclass(frozen=True, slots=True)
class Load:
    """A tile of operand ``source`` of a block graph. imap: a dim for each grid dim, or -1; fmap: the loop's dim, or -1."""

    source: int
    invariant: bool
    imap: Numbers
    fmap: int
    shape: Numbers


@dataclass(frozen=True, slots=True)
class Accumulator:
    monoid: str
    tile: int
    shape: Numbers


@dataclass(frozen=True, slots=True)
class Block:
    """A graph-defined kernel. outputs: nodes it stores; omap: for each of them a dim (or -1) for each grid dim."""

    grid: tuple[str, ...]
    loop: str | None
    operands: Numbers
    nodes: tuple[Load | Accumulator | Node, ...]
    outputs: Numbers
    omap: tuple[Numbers, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """Kernels, in order. A library kernel is a :class:`Node` on whole tensors."""

    inputs: tuple[Tensor, ...]
    kernels: tuple[Node | Block, ...]
    outputs: Numbers


def read_program(data: Any) -> Program:
    """A program from plain data. Raises :class:`Refused` where it is malformed."""
    inputs = tuple(Tensor(_numbers(i, "shape")) for i in _list(data, "inputs"))
    shapes = [i.shape for i in inputs]
    nodes: list[Node] = []
    for row in _list(data, "nodes"):
        nodes.append(_node(row, shapes))
        shapes.append(nodes[-1].shape)
    return Program(inputs, tuple(nodes), _values(data, "outputs", len(shapes)))


def read_graph(data: Any, program: Program) -> Graph:
    """A graph from plain data; its inputs are the program's."""
    shapes = [i.shape for i in program.inputs]
    kernels: list[Node | Block] = []
    for row in _list(data, "nodes"):
        if "op" in row:
            node = _node(row, shapes)
            kernels.append(node)
            shapes.append(node.shape)
        else:
            block = _block(row, shapes)
            kernels.append(block)
            shapes += [block.nodes[o].shape for o in block.outputs]
    outputs = _values(data, "outputs", len(shapes))
    if len(outputs) != len(program.outputs):
        raise Refused(f"the graph has {len(outputs)} outputs, the program {len(program.outputs)}")
    return Graph(program.inputs, tuple(kernels), outputs)


def _block(row: Mapping[str, Any], shapes: Sequence[Numbers]) -> Block:
    operands = _values(row, "operands", len(shapes))
    grid = tuple(str(p) for p in _list(row, "grid"))
    loop = None if row.get("loop") is None else str(row["loop"])
    if len({*grid, loop}) != len(grid) + 1:
        raise Refused("two parallel dims of a kernel have one name")
    maps = iter(zip(_list(row, "imap"), _list(row, "fmap"), strict=False))
    nodes: list[Load | Accumulator | Node] = []
    made: list[Numbers] = []
    for item in _list(row, "nodes"):
        match item.get("op"):
            case "load":
                imap, fmap = next(maps, ((), None))
                source = item.get("source")
                if type(source) is not int or not 0 <= source < len(operands):
                    raise Refused(f"a load of operand {source}, of {len(operands)}")
                shape = shapes[operands[source]]
                dims = _map(imap, grid, len(shape))
                invariant = loop is None or item.get("invariant") is True
                nodes.append(Load(source, invariant, dims, _map([fmap], ["loop"], len(shape))[0], shape))
            case "accum":
                (tile,) = _values(item, "operands", len(made)) or (0,)
                if item.get("monoid") not in MONOIDS:
                    raise Refused(f"no accumulator '{item.get('monoid')}'")
                nodes.append(Accumulator(item["monoid"], tile, made[tile]))
            case _:
                nodes.append(_node(item, made))
        made.append(nodes[-1].shape)
    outputs = _values(row, "outputs", len(made))
    omap = tuple(_map(m, grid, len(made[o])) for o, m in zip(outputs, _list(row, "omap"), strict=False))
    if len(omap) != len(outputs):
        raise Refused("a kernel needs an omap for each output")
    return Block(grid, loop, operands, tuple(nodes), outputs, omap)


def _map(dims: Any, grid: Sequence[str], rank: int) -> Numbers:
    if not isinstance(dims, list) or len(dims) != len(grid):
        raise Refused("a map needs one dim for each grid dim")
    if any(type(d) is not int or not -1 <= d < rank for d in dims):
        raise Refused(f"{dims} are no dims of a tensor of rank {rank}")
    return tuple(dims)


def _node(row: Mapping[str, Any], shapes: Sequence[Numbers]) -> Node:
    symbol = NAMES.get(str(row.get("op")))
    if symbol is None:
        raise Refused(f"the checker does not know operator '{row.get('op')}'")
    operands = _values(row, "operands", len(shapes))
    attrs = _attrs(symbol, row, [shapes[v] for v in operands])
    return Node(symbol, attrs, operands, _result(symbol, row, attrs, [shapes[v] for v in operands]))


def _attrs(symbol: str, row: Mapping[str, Any], shapes: Sequence[Numbers]) -> tuple[Attr, ...]:
    match symbol:
        case "Matmul":
            return (len(shapes[0]) - 2, len(shapes[0]) - 1)
        case "Unary":
            return (str(row.get("fn")),)
        case "Keep":
            return (repr(float(row["value"])),)
        case "Sum" | "ReduceMax" | "ReduceMin":
            if type(row.get("dim")) is not int:
                raise Refused(f"{row.get('op')} needs a dim")
            return (row["dim"],)
        case "Transpose":
            return (_text(_numbers(row, "perm")),)
        case "Reshape":
            return (f"{_text(shapes[0])}->{_text(_numbers(row, 'shape'))}",)
        case "Constant":
            return (repr(float(row["value"])), _text(_numbers(row, "shape")))
    return ()


def _result(symbol: str, row: Mapping[str, Any], attrs: Sequence[Attr], shapes: Sequence[Numbers]) -> Numbers:
    """Shape of the result in numbers; that dims fit is for typing to say."""
    match symbol:
        case "Matmul":
            return (*shapes[0][:-1], shapes[1][-1])
        case "Sum" | "ReduceMax" | "ReduceMin":
            return tuple(1 if d == attrs[0] else n for d, n in enumerate(shapes[0]))
        case "Transpose":
            return tuple(shapes[0][d] for d in _numbers(row, "perm") if d < len(shapes[0]))
        case "Reshape" | "Constant":
            return _numbers(row, "shape")
        case "Unary":
            return shapes[0]
    return tuple(map(max, shapes[0], shapes[1]))


def _text(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


def _list(data: Any, key: str) -> list[Any]:
    if not isinstance(data, Mapping) or not isinstance(data.get(key), list):
        raise Refused(f"'{key}' is missing")
    found = data[key]
    assert isinstance(found, list)
    return found


def _numbers(data: Any, key: str) -> Numbers:
    found = _list(data, key)
    if any(type(n) is not int for n in found):
        raise Refused(f"'{key}' is no list of numbers")
    return tuple(found)


def _values(data: Any, key: str, defined: int) -> Numbers:
    found = _numbers(data, key)
    if any(not 0 <= v < defined for v in found):
        raise Refused(f"'{key}' names a value that is not defined before it")
    return found
