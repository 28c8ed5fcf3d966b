"""Layered drawings of acyclic graphs (Sugiyama, Tagawa, Toda 1981): layers, order within a layer, places.

Everything is deterministic: the same boxes and edges give the same drawing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

Key = int
GAP_X, GAP_Y, MARGIN = 22.0, 42.0, 12.0
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Box:
    """What is to be placed. least: the first layer that it may be in."""

    width: float
    height: float
    least: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A placed box: its left upper corner, its size, and its layer."""

    x: float
    y: float
    width: float
    height: float
    layer: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """places: of each box; paths: of each edge, in the order given, as SVG path data."""

    width: float
    height: float
    places: Mapping[Key, Place]
    paths: tuple[str, ...]


def layered(boxes: Mapping[Key, Box], edges: Sequence[tuple[Key, Key]]) -> Drawing:
    """Boxes in layers from top to bottom, so that every edge points down. Edges must have no cycle."""
    layer = layers(boxes, edges)
    chains, width = _chains(boxes, edges, layer)
    rows = _ordered(chains, layer)
    centre = _centres(rows, chains, width)
    return _drawn(boxes, edges, layer, chains, centre)


def stacked(groups: Mapping[Key, int], edges: Sequence[tuple[Key, Key]]) -> dict[Key, int]:
    """The first layer of each box where groups stand below each other: all of group 1 below all of group 0, and so on.

    No edge may lead to a lower group, and edges must lead to a larger key.

    >>> stacked({0: 0, 1: 0, 2: 1, 3: 1}, [(0, 1), (2, 3)])
    {0: 0, 1: 1, 2: 2, 3: 3}
    """
    before: dict[Key, list[Key]] = {}
    for u, v in edges:
        before.setdefault(v, []).append(u)
    found: dict[Key, int] = {}
    top = 0
    for group in sorted(set(groups.values())):
        for v in sorted(v for v, g in groups.items() if g == group):
            found[v] = max([top, *(found[u] + 1 for u in before.get(v, ()) if u in found)])
        top = max(found.values()) + 1
    return found


def layers(boxes: Mapping[Key, Box], edges: Sequence[tuple[Key, Key]]) -> dict[Key, int]:
    """The layer of each box: below all it depends on; what depends on nothing stands right above its first use."""
    graph = nx.DiGraph()
    graph.add_nodes_from(boxes)
    graph.add_edges_from(edges)
    layer: dict[Key, int] = {}
    for generation in nx.topological_generations(graph):
        for v in generation:
            layer[v] = max([boxes[v].least, *(layer[u] + 1 for u in graph.predecessors(v))])
    for v in boxes:
        if not graph.in_degree(v) and graph.out_degree(v):
            layer[v] = max(layer[v], min(layer[w] for w in graph.successors(v)) - 1)
    return layer


def _chains(
    boxes: Mapping[Key, Box], edges: Sequence[tuple[Key, Key]], layer: dict[Key, int]
) -> tuple[list[list[Key]], dict[Key, float]]:
    """For each edge the boxes it passes, with bends (negative keys, added to ``layer``) in the layers between; and all widths."""
    width = {v: box.width for v, box in boxes.items()}
    chains, fresh = [], -1
    for u, v in edges:
        chain = [u]
        for level in range(layer[u] + 1, layer[v]):
            layer[fresh], width[fresh] = level, 4.0
            chain.append(fresh)
            fresh -= 1
        chains.append([*chain, v])
    return chains, width


def _ordered(chains: Sequence[Sequence[Key]], layer: Mapping[Key, int]) -> list[list[Key]]:
    """An order in each layer with few crossings: each box goes where its neighbours are on average, down and up in turns."""
    rows: list[list[Key]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for v in sorted(layer, key=lambda v: (v < 0, abs(v))):
        rows[layer[v]].append(v)
    links = [pair for chain in chains for pair in pairwise(chain)]
    above: dict[Key, list[Key]] = {v: [] for v in layer}
    below: dict[Key, list[Key]] = {v: [] for v in layer}
    for u, v in links:
        above[v].append(u)
        below[u].append(v)
    best, fewest = rows, _crossings(rows, below)
    for sweep in range(_SWEEPS):
        rows = [list(row) for row in rows]
        down = sweep % 2 == 0
        for k in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            fixed = {v: i for i, v in enumerate(rows[k - 1] if down else rows[k + 1])}
            near = above if down else below
            old = {v: i for i, v in enumerate(rows[k])}
            rows[k].sort(key=lambda v, n=near, f=fixed, o=old: (_mean([f[u] for u in n[v]], o[v]), o[v]))  # type: ignore[misc]
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(rows: Sequence[Sequence[Key]], below: Mapping[Key, Sequence[Key]]) -> int:
    found = 0
    for upper, lower in pairwise(rows):
        at = {v: i for i, v in enumerate(lower)}
        links = [(i, at[w]) for i, v in enumerate(upper) for w in below[v]]
        found += sum((a < c and b > d) for n, (a, b) in enumerate(links) for c, d in links[n + 1 :])
    return found


def _centres(
    rows: Sequence[Sequence[Key]], chains: Sequence[Sequence[Key]], width: Mapping[Key, float]
) -> dict[Key, float]:
    """Where the middle of each box is: near its neighbours, and apart from those beside it."""
    near: dict[Key, list[Key]] = {v: [] for row in rows for v in row}
    for chain in chains:
        for u, v in pairwise(chain):
            near[u].append(v)
            near[v].append(u)
    centre: dict[Key, float] = {}
    for row in rows:
        centre |= dict(zip(row, _apart([0.0] * len(row), [width[v] for v in row]), strict=True))
    for sweep in range(2 * _SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [_mean([centre[u] for u in near[v]], centre[v]) for v in row]
            centre |= dict(zip(row, _apart(wanted, [width[v] for v in row]), strict=True))
    return centre


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Places as near to those wanted as boxes side by side allow, by least squares (pool adjacent violators)."""
    offset, offsets = 0.0, []
    for k, w in enumerate(widths):
        offset += (widths[k - 1] + w) / 2 + GAP_X if k else 0.0
        offsets.append(offset)
    pools: list[tuple[float, int]] = []  # mean, how many
    for want, shift in zip(wanted, offsets, strict=True):
        pools.append((want - shift, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, n), (b, m) = pools[-2:]
            pools[-2:] = [((a * n + b * m) / (n + m), n + m)]
    flat = [mean for mean, n in pools for _ in range(n)]
    return [place + shift for place, shift in zip(flat, offsets, strict=True)]


def _drawn(
    boxes: Mapping[Key, Box],
    edges: Sequence[tuple[Key, Key]],
    layer: Mapping[Key, int],
    chains: Sequence[Sequence[Key]],
    centre: Mapping[Key, float],
) -> Drawing:
    depth = max(layer.values(), default=-1) + 1
    heights = [max([boxes[v].height for v in boxes if layer[v] == k], default=0.0) for k in range(depth)]
    tops, y = [], MARGIN
    for height in heights:
        tops.append(y)
        y += height + GAP_Y
    left = min((centre[v] - boxes[v].width / 2 for v in boxes), default=0.0)
    left = min([left, *(centre[v] for v in centre)]) - MARGIN
    places = {
        v: Place(
            round(centre[v] - box.width / 2 - left, 1),
            round(tops[layer[v]] + (heights[layer[v]] - box.height) / 2, 1),
            box.width,
            box.height,
            layer[v],
        )
        for v, box in boxes.items()
    }
    right = max([*(p.x + p.width for p in places.values()), *(c - left for c in centre.values())], default=0.0)
    paths = []
    for chain in chains:
        bends = [(centre[v] - left, tops[layer[v]], tops[layer[v]] + heights[layer[v]]) for v in chain[1:-1]]
        paths.append(_path(places[chain[0]], places[chain[-1]], bends))
    return Drawing(round(right + MARGIN, 1), round(y - GAP_Y + MARGIN, 1), places, tuple(paths))


def _path(source: Place, target: Place, bends: Sequence[tuple[float, float, float]]) -> str:
    """From the lower side of a box, down through the bends, to the upper side of another."""
    x, y = source.x + source.width / 2, source.y + source.height
    parts = [f"M{x:.1f} {y:.1f}"]
    for bend, top, bottom in bends:
        parts.append(f"C{x:.1f} {(y + top) / 2:.1f} {bend:.1f} {(y + top) / 2:.1f} {bend:.1f} {top:.1f}V{bottom:.1f}")
        x, y = bend, bottom
    end, top = target.x + target.width / 2, target.y
    parts.append(f"C{x:.1f} {(y + top) / 2:.1f} {end:.1f} {(y + top) / 2:.1f} {end:.1f} {top:.1f}")
    return "".join(parts)
