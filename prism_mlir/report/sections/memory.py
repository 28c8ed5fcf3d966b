"""Shared memory of the chosen kernels: which buffer lies where, before, in and after the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prism_mlir.graph.errors import InputError
from prism_mlir.report.axes import even_ticks, linear
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.sections.schedules import Tick
from prism_mlir.report.words import KIB, number, percent, shortened, size

LEFT, RIGHT, TOP, BOTTOM = 64, 884, 30, 330
PHASES = {"before": "before the loop", "loop": "in the loop", "after": "after the loop"}
KINDS = {
    "load": "tile of a tensor",
    "operand": "operand, rounded for a product",
    "value": "value (f32)",
    "factor": "scale of accumulators",
    "partial": "partial sums of warps",
    "store": "result on its way out",
}
_GAP = 3.0


@dataclass(frozen=True, slots=True)
class Block:
    """A buffer as a rectangle; ``slots``: lines between its copies; ``base``: of its name."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    name: str
    tip: str
    slots: tuple[float, ...]
    base: float


@dataclass(frozen=True, slots=True)
class Column:
    """A phase."""

    x: float
    name: str
    used: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """total: bytes of a block; ``share``: of what the chip gives a block."""

    name: str
    total: int
    share: str
    resident: int
    blocks: tuple[Block, ...]
    columns: tuple[Column, ...]
    ticks: tuple[Tick, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Memory:
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer, read. first, last: phases, numbered."""

    node: int
    kind: str
    dtype: str
    slots: int
    bytes: int
    offset: int
    first: int
    last: int
    tile: str
    label: str

    @property
    def title(self) -> str:
        return f"{self.label}{f' ×{self.slots}' if self.slots > 1 else ''}"


def view(contents: Contents, k: int) -> Memory:
    """The kernels of part ``k``."""
    detailed, chip = contents.detailed_part(k), contents.detailed()["target"]["shared_per_block"].count()
    names = labels(detailed["code"], [i["name"].text() for i in detailed["program"]["inputs"].list()])
    return Memory(tuple(_kernel(n, kernel, chip, names) for n, kernel in enumerate(detailed["kernels"].list())))


def labels(code: Data, inputs: Sequence[str]) -> list[list[str]]:
    """What nodes of each kernel are called: tiles of the program's inputs by their names, others by operator."""
    found = []
    for node in code["nodes"].list():
        block = node.get("block")
        if block is None:
            continue
        operands = node["operands"].counts()
        rows = []
        for n, row in enumerate(block["nodes"].list()):
            op = row["op"].text()
            if op == "load":
                value = operands[row["source"].index(len(operands))]
                rows.append(f"t{n} {inputs[value] if value < len(inputs) else f'k{value - len(inputs)}'}")
            else:
                rows.append(f"t{n} {op}")
        found.append(rows)
    return found


def _kernel(n: int, kernel: Data, chip: int, names: Sequence[Sequence[str]]) -> Kernel:
    shared = kernel["shared"]
    total = shared["total"].count()
    labelled = names[n] if n < len(names) else []
    buffers = [_buffer(row, kernel["tiles"], labelled, total) for row in shared["buffers"].list()]
    down = linear(0, max(total, 1), BOTTOM, TOP)
    width = (RIGHT - LEFT) / len(PHASES)
    used = [sum(b.bytes for b in buffers if b.first <= p <= b.last) for p in range(len(PHASES))]
    return Kernel(
        f"kernel {n}",
        total,
        percent(total / chip) if chip else "-",
        kernel["cost"]["resident"].count(),
        tuple(_rectangle(b, down.at(b.offset), down.at(b.offset + b.bytes), width) for b in buffers),
        tuple(Column(LEFT + (p + 0.5) * width, name, size(used[p])) for p, name in enumerate(PHASES.values())),
        tuple(Tick(down.at(t * KIB), number(t)) for t in even_ticks(total / KIB, 6)) if total else (),
        tuple(_row(b) for b in sorted(buffers, key=lambda b: (b.first, b.offset))),
    )


def _buffer(row: Data, tiles: Data, names: Sequence[str], total: int) -> Buffer:
    phases = list(PHASES)
    first, last = row["first"].text(), row["last"].text()
    if first not in phases or last not in phases or phases.index(first) > phases.index(last):
        raise InputError(f"{row.place} is alive from '{first}' to '{last}', which are no phases in order")
    node, count, offset = row["node"].count(), row["bytes"].count(), row["offset"].count()
    if offset + count > total:
        raise InputError(f"{row.place} ends beyond the {total} bytes of the block")
    shapes = tiles.list()
    return Buffer(
        node,
        row["kind"].text(),
        row["dtype"].text(),
        max(1, row["slots"].count()),
        count,
        offset,
        phases.index(first),
        phases.index(last),
        " × ".join(map(str, shapes[node].counts())) if node < len(shapes) else "?",
        names[node] if node < len(names) else f"t{node}",
    )


def _rectangle(b: Buffer, bottom: float, top: float, width: float) -> Block:
    height = max(bottom - top, 1.5)
    tip = (
        f"{b.title}: {KINDS.get(b.kind, b.kind)}\n{b.tile} {b.dtype}, {size(b.bytes)} at byte {b.offset:,}"
        f"\n{b.slots} {'copies' if b.slots > 1 else 'copy'}"
    )
    across = (b.last - b.first + 1) * width - 2 * _GAP
    name = shortened(b.title, max(4, int(across / 7))) if height >= 13 else ""
    each = height / b.slots
    slots = tuple(round(bottom - each * s, 1) for s in range(1, min(b.slots, 16)))
    base = round(bottom - height + (each if each >= 15 else height) / 2 + 4, 1)
    kind, x, y = b.kind if b.kind in KINDS else "value", LEFT + b.first * width + _GAP, bottom - height
    return Block(round(x, 1), round(y, 1), round(across, 1), round(height, 1), kind, name, tip, slots, base)


def _row(b: Buffer) -> tuple[str, ...]:
    names = list(PHASES.values())
    alive = names[b.first] if b.first == b.last else f"{names[b.first]} to {names[b.last]}"
    what = KINDS.get(b.kind, b.kind)
    return b.label, what, f"{b.tile} {b.dtype}", str(b.slots), size(b.bytes), f"{b.offset:,}", alive
