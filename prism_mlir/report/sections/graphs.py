"""The proved graphs at kernel, block and thread level, with their mappings; every size a symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prism_mlir.graph.block import Accum, BlockGraph, Load, Stage
from prism_mlir.graph.data import graph_from_data
from prism_mlir.graph.errors import InputError, PrismError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode
from prism_mlir.graph.mapping import Partition, tile_partitions, tile_shape
from prism_mlir.graph.threads import thread_groups
from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.figure import Figure, Node, figure
from prism_mlir.report.layout import stacked
from prism_mlir.report.words import operator

MOST_DRAWN = 24  # on a page, the chosen ones aside
REPLICATED = "φ"
_KIND = {Stage.INVARIANT: "once", Stage.BODY: "body", Stage.AFTER: "after"}


@dataclass(frozen=True, slots=True)
class MapRow:
    """Where one tile of a kernel comes from or goes to. along: for each parallel dim the data dim that it cuts, or what else."""

    tile: str
    tensor: str
    along: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A graph-defined operator. dims: of its grid, as the maps list them.

    sizes: of the parallel dims as they were chosen, where the graph is the chosen one
    threads: groups of operators that stay in registers together
    """

    name: str
    dims: tuple[str, ...]
    loop_dim: str
    grid: str
    loop: str
    sizes: str
    block: Figure
    loads: tuple[MapRow, ...]
    saves: tuple[MapRow, ...]
    threads: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """best_us, rank: of its best schedule, where one was ranked."""

    number: int
    fingerprint: str
    chosen: bool
    rank: int | None
    best_us: float | None
    grid: str
    loops: str
    text: str
    kernel: Figure | None
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True)
class Graphs:
    """proved: how many there are; listed and drawn are the best of them.

    code: the chosen graph as code computes it, where that is another one
    """

    proved: int
    listed: tuple[Graph, ...]
    code: Graph | None


def view(contents: Contents, k: int) -> Graphs:
    """The proved graphs of part ``k``."""
    part, detailed = contents.parts[k], contents.detailed_part(k)
    chosen = part["graph"]["fingerprint"].text()
    names = [i["name"].text() for i in detailed["program"]["inputs"].list()]
    sizes = {p: n.positive() for p, n in part["schedule"]["sizes"].items()}
    best, most = _best(detailed), MOST_DRAWN // len(contents.parts)
    found, code = [], None
    for number, row in enumerate(detailed["graphs"].list(), 1):
        graph, made_for = _graph(row["graph"]), row.get("code")
        rank, us = best.get("" if made_for is None else made_for.text(), (None, None))
        is_chosen = graph.fingerprint == chosen
        drawn = is_chosen or number <= most
        own = sizes if is_chosen else {}
        found.append(_shown(number, graph, is_chosen, rank, us, names, own, drawn))
    if not any(g.chosen for g in found):
        raise InputError(f"{detailed['graphs'].place} holds no graph {chosen}, which was chosen")
    made = _graph(detailed["code"])
    if made.fingerprint != chosen:
        code = _shown(0, made, True, None, None, names, sizes, True)
    return Graphs(detailed["proved"].count(), tuple(found), code)


def _graph(data: Data) -> KernelGraph:
    try:
        return graph_from_data(data.value)
    except PrismError as error:
        raise InputError(f"{data.place}: {error.message}") from None


def _best(detailed: Data) -> dict[str, tuple[int, float]]:
    """For each graph that code was ranked for, the place and the time of its best schedule."""
    found: dict[str, tuple[int, float]] = {}
    ranking = detailed.get("ranking")
    for rank, row in enumerate([] if ranking is None else ranking["rows"].list(), 1):
        cells = row.list()
        if len(cells) < 3:
            raise InputError(f"{row.place} has {len(cells)} cells and should have 9")
        graph, _, us = cells[:3]
        found.setdefault(graph.text(), (rank, us.number()))
    return found


def _shown(
    number: int,
    graph: KernelGraph,
    chosen: bool,
    rank: int | None,
    us: float | None,
    names: Sequence[str],
    sizes: Mapping[str, int],
    drawn: bool,
) -> Graph:
    values = _value_names(graph, names)
    custom = [n for n in graph.nodes if isinstance(n, CustomNode)]
    kernels = tuple(_kernels(graph, values, sizes)) if drawn else ()
    grids = "; ".join(", ".join(n.block.grid) or "one block" for n in custom)
    loops = "; ".join(n.block.loop or "none" for n in custom)
    drawing = kernel_figure(graph, values) if drawn else None
    return Graph(number, graph.fingerprint, chosen, rank, us, grids, loops, str(graph), drawing, kernels)


def _value_names(graph: KernelGraph, names: Sequence[str]) -> list[str]:
    """Names of all kernel values."""
    count = len(graph.shapes) - len(graph.inputs)
    own = [names[k] if k < len(names) else f"in{k}" for k in range(len(graph.inputs))]
    made = [f"out{graph.outputs.index(v)}" if (v := len(own) + k) in graph.outputs else f"k{k}" for k in range(count)]
    return own + made


# -- kernel level ---------------------------------------------------------------------------------------------------


def kernel_figure(graph: KernelGraph, values: Sequence[str]) -> Figure:
    """Kernels and the tensors between them."""
    nodes: dict[int, Node] = {}
    edges: list[tuple[int, int]] = []
    for v, name in enumerate(values):
        expanded = "".join(f", d_{p} parts along dim {d}" for p, d in graph.expansions[v])
        nodes[v] = Node((name, _dims(graph.shapes[v]) + expanded), "tensor")
    defined = len(graph.inputs)
    for k, node in enumerate(graph.nodes):
        key = len(values) + k
        results = 1 if isinstance(node, LibraryNode) else len(node.block.outputs)
        nodes[key] = Node(_kernel_lines(k, node), "kernel")
        edges += [(v, key) for v in node.operands]
        edges += [(key, v) for v in range(defined, defined + results)]
        defined += results
    count = len(graph.nodes)
    return figure(f"Kernel level: {count} kernel{'s' * (count != 1)} and {len(values)} tensors", nodes, edges)


def _kernel_lines(k: int, node: CustomNode | LibraryNode) -> tuple[str, ...]:
    if isinstance(node, LibraryNode):
        return (f"library {operator(str(node.op))}",)
    grid = " × ".join(f"d_{p}" for p in node.block.grid) or "1"
    loop = "" if node.block.loop is None else f", loop d_{node.block.loop}"
    return (f"kernel {k}", f"grid {grid}{loop}")


# -- block level ----------------------------------------------------------------------------------------------------


def _kernels(graph: KernelGraph, values: Sequence[str], sizes: Mapping[str, int]) -> Iterator[Kernel]:
    defined = len(graph.inputs)
    for k, node in enumerate(graph.nodes):
        results = 1 if isinstance(node, LibraryNode) else len(node.block.outputs)
        if isinstance(node, CustomNode):
            yield _kernel(k, node, [values[v] for v in node.operands], values[defined : defined + results], sizes)
        defined += results


def _kernel(
    k: int, node: CustomNode, operands: Sequence[str], results: Sequence[str], sizes: Mapping[str, int]
) -> Kernel:
    block, mapping = node.block, node.mapping
    if mapping is None:
        raise InputError(f"kernel {k} has no concrete mappings")
    if any(not 0 <= v < len(block.nodes) for v in block.outputs):
        raise InputError(f"kernel {k} saves a node that it does not have")
    parts = tile_partitions(block, mapping)
    tiles = Tiles(block, parts, {p: sizes[p] for p in block.parallel_dims if p in sizes})
    loads = [
        MapRow(f"t{v}", _source(block, v, operands), (*map(_cut, imap), *([_cut(fmap)] if block.loop else [])))
        for v, imap, fmap in zip(block.loads, mapping.imap, mapping.fmap, strict=True)
    ]
    saves = [
        MapRow(f"t{v}", name, tuple("same tile" if d < 0 else f"dim {d}" for d in omap))
        for v, name, omap in zip(block.outputs, results, mapping.omap, strict=True)
    ]
    chosen = ", ".join(f"d_{p} = {n}" for p, n in tiles.sizes.items())
    return Kernel(
        f"kernel {k}",
        block.grid,
        block.loop or "",
        " × ".join(f"d_{p}" for p in block.grid) or "one block",
        "" if block.loop is None else f"d_{block.loop}",
        chosen,
        block_figure(k, block, tiles, operands, results),
        tuple(loads),
        tuple(saves),
        tuple(thread_figure(n, block, group, tiles) for n, group in enumerate(thread_groups(block))),
    )


def _cut(dim: int) -> str:
    return REPLICATED if dim < 0 else f"dim {dim}"


def _source(block: BlockGraph, v: int, operands: Sequence[str]) -> str:
    op = block.nodes[v].op
    assert isinstance(op, Load)
    return operands[op.source]


@dataclass(frozen=True, slots=True)
class Tiles:
    """Shapes of tiles, with symbols, and with numbers where all sizes of the block are known."""

    block: BlockGraph
    parts: Sequence[Sequence[Partition]]
    sizes: Mapping[str, int]

    def symbolic(self, v: int) -> str:
        """``16/d_x × 1024``: each dim over the numbers of parts along the parallel dims that cut it."""
        order = self.block.parallel_dims
        found = []
        for n, part in zip(self.block.shapes[v], self.parts[v], strict=True):
            cuts = [f"d_{p}" for p in order if p in part]
            found.append(f"{n}/{cuts[0]}" if len(cuts) == 1 else f"{n}/({'·'.join(cuts)})" if cuts else str(n))
        return " × ".join(found) or "scalar"

    def lines(self, v: int) -> tuple[str, ...]:
        """The shape with symbols, and where it differs, with numbers."""
        symbolic = self.symbolic(v)
        if set(self.sizes) != set(self.block.parallel_dims) or "/" not in symbolic:
            return (symbolic,)
        return symbolic, f"= {_dims(tile_shape(self.block.shapes[v], self.parts[v], self.sizes))}"


def block_figure(k: int, block: BlockGraph, tiles: Tiles, operands: Sequence[str], results: Sequence[str]) -> Figure:
    """What one thread block does: loads, operators, accumulators and saves, in the loop and around it."""
    edges = [(v, n) for n, node in enumerate(block.nodes) for v in node.operands]
    least = stacked({n: int(s is Stage.AFTER) for n, s in enumerate(block.stages)}, edges)
    in_loop = frozenset(n for n, s in enumerate(block.stages) if s is Stage.BODY)
    nodes: dict[int, Node] = {}
    for n, node in enumerate(block.nodes):
        kind, first = _KIND[block.stages[n]], f"t{n} = {_label(block, n, operands)}"
        if isinstance(node.op, Load):
            kind += " load"
        elif isinstance(node.op, Accum):
            kind += " accum"
        after = least[n] if block.stages[n] is Stage.AFTER else 0
        nodes[n] = Node((first, *tiles.lines(n)), kind, after, f"{node.op}: tile {tiles.symbolic(n)}")
    for n, (v, name) in enumerate(zip(block.outputs, results, strict=True)):
        key = len(block.nodes) + n
        nodes[key] = Node((f"save to {name}",), "save")
        edges.append((v, key))
    turns = "" if block.loop is None else f"loop: d_{block.loop} times"
    label = f"Block level of kernel {k}: {len(block.nodes)} steps" + (
        f", {len(in_loop)} in the loop" if in_loop else ""
    )
    return figure(label, nodes, edges, [("loop", turns, in_loop)])


def _label(block: BlockGraph, n: int, operands: Sequence[str]) -> str:
    match block.nodes[n].op:
        case Load(source=source, invariant=invariant):
            return f"load {operands[source]}{', once' if invariant else ''}"
        case Accum() as accum:
            return "accumulate" if accum.monoid == "sum" else f"accumulate {accum.monoid}"
        case op:
            return operator(str(op))


# -- thread level ---------------------------------------------------------------------------------------------------


def thread_figure(number: int, block: BlockGraph, group: Sequence[int], tiles: Tiles) -> Figure:
    """Operators that one thread does one after the other, element by element, without leaving registers."""
    nodes: dict[int, Node] = {}
    edges: list[tuple[int, int]] = []
    for n in group:
        for v in block.nodes[n].operands:
            if v not in group:
                nodes.setdefault(v, Node((f"t{v}", tiles.symbolic(v)), "tensor"))
            edges.append((v, n))
        nodes[n] = Node((f"t{n} = {operator(str(block.nodes[n].op))}",), "thread", title=str(block.nodes[n].op))
    return figure(f"Thread level, group {number}: {len(group)} operators in registers", nodes, edges)


def _dims(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape)) or "scalar"
