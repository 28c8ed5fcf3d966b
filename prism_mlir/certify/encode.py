"""What a program and a graph mean, as terms (paper, section 4, "Encoding sGraphs").

A load is a ``Part`` or ``Repl`` for each grid dim, in order, then for the loop. An accumulator is a ``Red`` over the loop.
A store is a ``Comb`` (or ``Unrepl``, where all blocks store the same tile) for each grid dim, the last one innermost. A tile that
does not change in the loop meets one that does as copies along the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from prism_mlir.certify.model import MONOIDS, Accumulator, Block, Graph, Load, Node, Program
from prism_mlir.certify.sizes import Refused
from prism_mlir.certify.terms import Term, Terms


def encode_program(program: Program, terms: Terms) -> tuple[Term, ...]:
    """A term for each output."""
    values = [terms.make("Var", (), (k,)) for k in range(len(program.inputs))]
    for node in program.nodes:
        values.append(terms.make(node.symbol, [values[v] for v in node.operands], node.attrs))
    return tuple(values[o] for o in program.outputs)


def encode_graph(graph: Graph, terms: Terms) -> tuple[Term, ...]:
    """A term for each output."""
    values = encode_values(graph, terms)
    return tuple(values[o] for o in graph.outputs)


def encode_values(graph: Graph, terms: Terms) -> list[Term]:
    """A term for each kernel-level value: inputs, then the results of each kernel."""
    values = [terms.make("Var", (), (k,)) for k in range(len(graph.inputs))]
    for kernel in graph.kernels:
        operands = [values[v] for v in kernel.operands]
        if isinstance(kernel, Node):
            values.append(terms.make(kernel.symbol, operands, kernel.attrs))
        else:
            tiles = encode_tiles(kernel, operands, terms)
            values += [
                _stored(tiles[o], kernel, row, terms) for o, row in zip(kernel.outputs, kernel.omap, strict=True)
            ]
    return values


def stages(block: Block) -> list[str]:
    """For every node: ``once`` before the loop, ``loop`` in each iteration, ``after`` it."""
    found: list[str] = []
    for node in block.nodes:
        if isinstance(node, Load):
            found.append("once" if node.invariant else "loop")
            continue
        used = {found[v] for v in ((node.tile,) if isinstance(node, Accumulator) else node.operands)}
        if isinstance(node, Accumulator):
            if used != {"loop"}:
                raise Refused("a tile is accumulated that does not change in the loop")
            found.append("after")
        elif {"loop", "after"} <= used:
            raise Refused("a tile of the loop meets one that exists after it")
        else:
            found.append("loop" if "loop" in used else "after" if "after" in used else "once")
    return found


def encode_tiles(block: Block, operands: Sequence[Term], terms: Terms) -> list[Term]:
    """A term for each node of a kernel."""
    stage, tiles = stages(block), list[Term]()
    for k, node in enumerate(block.nodes):
        if isinstance(node, Load):
            tile = operands[node.source]
            for p, d in zip(block.grid, node.imap, strict=True):
                tile = _cut(tile, d, p, terms)
            if block.loop is not None and not node.invariant:
                tile = _cut(tile, node.fmap, block.loop, terms)
            tiles.append(tile)
        elif isinstance(node, Accumulator):
            tiles.append(terms.make(MONOIDS[node.monoid], [tiles[node.tile]], [block.loop or ""]))
        else:
            used = [tiles[v] for v in node.operands]
            if stage[k] == "loop" and block.loop is not None:
                copies = [terms.make("Repl", [t], [block.loop]) for t in used]
                used = [t if stage[v] == "loop" else c for v, t, c in zip(node.operands, used, copies, strict=True)]
            tile = terms.make(node.symbol, used, node.attrs)
            for p in block.grid if node.symbol == "Constant" else ():
                tile = terms.make("Repl", [tile], [p])
            tiles.append(tile)
    if any(stage[o] == "loop" for o in block.outputs):
        raise Refused("a tile is stored that changes in the loop")
    return tiles


def _cut(tile: Term, d: int, p: str, terms: Terms) -> Term:
    return terms.make("Repl", [tile], [p]) if d < 0 else terms.make("Part", [tile], [d, p])


def _stored(tile: Term, block: Block, row: Sequence[int], terms: Terms) -> Term:
    for p, d in reversed(list(zip(block.grid, row, strict=True))):
        tile = terms.make("Unrepl", [tile], [p]) if d < 0 else terms.make("Comb", [tile], [d, p])
    return tile
