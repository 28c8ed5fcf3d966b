"""A drawing of a graph as templates show it: boxes with lines of text, and edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism_mlir.report.layout import Box, Place, layered
from prism_mlir.report.words import shortened

CHARACTER, LINE, PADDING = 6.7, 15.0, 9.0  # of the monospaced font of figures
MOST = 44  # characters of a line


@dataclass(frozen=True, slots=True)
class Node:
    """A box: lines of text, the first of which names it.

    kind: how it looks (a class of the style sheet)
    least: the first layer it may be in
    title: the whole text, where lines are shortened
    """

    lines: tuple[str, ...]
    kind: str
    least: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A placed node: texts with the height of their base line from the top of the figure."""

    place: Place
    kind: str
    title: str
    texts: tuple[tuple[float, str], ...]

    @property
    def centre(self) -> float:
        return round(self.place.x + self.place.width / 2, 1)


@dataclass(frozen=True, slots=True)
class Band:
    """A region behind boxes, with its name."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Figure:
    """label: what a reader hears instead of seeing the figure."""

    label: str
    width: float
    height: float
    nodes: tuple[Shown, ...]
    paths: tuple[str, ...]
    bands: tuple[Band, ...] = ()

    @property
    def top(self) -> float:
        """Where the figure begins: above its boxes if a band does."""
        return min([0.0, *(b.y - 3 for b in self.bands)])


def figure(
    label: str,
    nodes: Mapping[int, Node],
    edges: Sequence[tuple[int, int]],
    bands: Sequence[tuple[str, str, frozenset[int]]] = (),
) -> Figure:
    """Lay a graph out. bands: kind, name and members of regions that are drawn behind their members."""
    boxes = {key: _box(node) for key, node in nodes.items()}
    edges = tuple(dict.fromkeys(edges))
    drawing = layered(boxes, edges)
    shown = tuple(_shown(node, drawing.places[key]) for key, node in nodes.items())
    regions = tuple(
        _band(kind, name, [drawing.places[m] for m in sorted(members)]) for kind, name, members in bands if members
    )
    right = max([drawing.width, *(b.x + b.width + 2 for b in regions)])
    return Figure(label, right, drawing.height, shown, drawing.paths, regions)


def _box(node: Node) -> Box:
    longest = max(len(shortened(line, MOST)) for line in node.lines)
    return Box(round(longest * CHARACTER + 2 * PADDING, 1), len(node.lines) * LINE + 10, node.least)


def _shown(node: Node, place: Place) -> Shown:
    texts = tuple(
        (round(place.y + 5 + LINE * (k + 0.75), 1), shortened(line, MOST)) for k, line in enumerate(node.lines)
    )
    return Shown(place, node.kind, node.title or "; ".join(node.lines), texts)


def _band(kind: str, name: str, places: Sequence[Place]) -> Band:
    left, top = min(p.x for p in places), min(p.y for p in places)
    right, bottom = max(p.x + p.width for p in places), max(p.y + p.height for p in places)
    width = max(right - left + 18, len(name) * CHARACTER + 18)
    return Band(max(2.0, left - 9), top - 26, width, bottom - top + 36, kind, name)
