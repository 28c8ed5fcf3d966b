"""The program as a graph: operators, shapes, dtypes, and where it was cut into parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.figure import Figure, Node, figure
from prism_mlir.report.layout import stacked
from prism_mlir.report.words import operator

MOST_NODES = 300


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut between two parts: after which operator, and what is written and read again for it."""

    after: int
    values: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Value:
    """An input or an output."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Program:
    """left_out: operators beyond those that are drawn."""

    figure: Figure
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    operators: int
    left_out: int
    cuts: tuple[Cut, ...]


def view(contents: Contents) -> Program:
    """The whole program, from ``details.json``, and its cuts, from ``report.json``."""
    details = contents.detailed()
    program = details["program"]
    inputs = [Value(i["name"].text(), _type(i)) for i in program["inputs"].list()]
    outputs = [Value(o["name"].text(), _type(o)) for o in program["outputs"].list()]
    nodes = program["nodes"].list()
    bounds = [p["operators"].counts() for p in details["parts"].list()]
    part_of = {n: k for k, (first, last) in enumerate(map(_pair, bounds)) for n in range(first, min(last, len(nodes)))}
    names = [*(i.name for i in inputs), *(f"t{k}" for k in range(len(nodes)))]
    return Program(
        draw(program, inputs, part_of if len(bounds) > 1 else {}),
        tuple(inputs),
        tuple(outputs),
        len(nodes),
        max(0, len(nodes) - MOST_NODES),
        tuple(_cut(c, names) for c in contents.report["cuts"].list()),
    )


def _pair(bounds: Sequence[int]) -> tuple[int, int]:
    first, last = (*bounds, 0, 0)[:2]
    return first, last


def draw(program: Data, inputs: Sequence[Value], part_of: dict[int, int]) -> Figure:
    """Inputs, operators and outputs; ``part_of``: the part of each operator, where there are several."""
    offset, nodes, edges = len(inputs), {}, []
    for k, i in enumerate(inputs):
        nodes[k] = Node((i.name, i.type), "tensor")
    rows = program["nodes"].list()[:MOST_NODES]
    for k, row in enumerate(rows):
        name = operator(row["op"].text()) if not part_of else f"t{k} = {operator(row['op'].text())}"
        nodes[offset + k] = Node((name, _type(row)), "op", title=f"{row['op'].text()}: {_type(row)}")
        edges += [(v.index(offset + k), offset + k) for v in row["operands"].list()]
    count = offset + len(rows)
    for k, out in enumerate(program["outputs"].list()):
        value = out["value"].count()
        if value < count:
            nodes[count + k] = Node((out["name"].text(), _type(out)), "tensor")
            edges.append((value, count + k))
    least = stacked({offset + n: p for n, p in part_of.items() if n < len(rows)}, edges)
    nodes = {v: replace(node, least=1 + least[v]) if v in least else node for v, node in nodes.items()}
    parts = sorted(set(part_of.values()))
    bands = [("part", f"part {p + 1}", _members(part_of, p, offset, len(rows))) for p in parts]
    label = f"The program {program['name'].text()} with {len(inputs)} inputs and {len(rows)} operators"
    return figure(label, nodes, edges, bands)


def _members(part_of: dict[int, int], part: int, offset: int, drawn: int) -> frozenset[int]:
    return frozenset(offset + n for n, p in part_of.items() if p == part and n < drawn)


def _type(row: Data) -> str:
    shape = " × ".join(map(str, row["shape"].counts())) or "scalar"
    return f"{shape} {row['dtype'].text()}"


def _cut(row: Data, names: Sequence[str]) -> Cut:
    values = tuple(names[v.index(len(names))] for v in row["values"].list())
    return Cut(row["after operator"].count(), values, row["bytes"].count())
