"""Many candidates at the same sizes, each tile computed once.

Candidates of one search consist of few distinct tiles. Values are numbered; what an operator, a load or a store makes of given
numbers is looked up before it is computed (see ``graph.evaluate``, which says what each of them means).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prism_mlir.graph.block import Accum, Load
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import apply_to_tiles, load_tile, save_tile, tile_op
from prism_mlir.graph.fields import Array, Domain
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.ops import evaluate_op, fold


class SharedTiles:
    """Evaluates kernel graphs on fixed inputs, for fixed parallel sizes.

    sizes:  of every parallel dim that a graph may have
    inputs: arrays of the program's inputs
    """

    def __init__(self, sizes: Mapping[str, int], inputs: Sequence[Array], domain: Domain) -> None:
        self._sizes, self._domain = sizes, domain
        self._values = list(inputs)
        self._count = len(inputs)
        self._numbers: dict[tuple[Any, ...], int] = {}

    def __len__(self) -> int:
        return len(self._values)

    def outputs(self, graph: KernelGraph) -> list[Array]:
        """What ``evaluate_graph`` returns. Raises what it raises."""
        values = list(range(self._count))
        for node in graph.nodes:
            operands = [values[v] for v in node.operands]
            if isinstance(node, CustomNode):
                values += self._block(node, operands)
            else:
                values.append(self._made(("library", node.op, *operands), self._library, node.op, operands))
        return [self._values[values[v]] for v in graph.outputs]

    def _made(self, key: tuple[Any, ...], make: Callable[..., Array], *arguments: Any) -> int:
        number = self._numbers.get(key)
        if number is None:
            value = make(*arguments)
            number = self._numbers[key] = len(self._values)
            self._values.append(value)
        return number

    def _library(self, op: Any, operands: Sequence[int]) -> Array:
        arrays = [self._values[o] for o in operands]
        return evaluate_op(op, arrays, arrays[0].ndim if arrays else 0, self._domain)

    def _block(self, node: CustomNode, inputs: Sequence[int]) -> list[int]:
        block, mapping = node.block, node.mapping
        if mapping is None:
            raise InputError("the graph still has symbolic mappings; instantiate them first")
        lead, parallel = len(block.grid) + 1, (block.grid, block.loop)
        loads = iter(zip(mapping.imap, mapping.fmap, strict=True))
        tiles: list[int] = []
        for k, n in enumerate(block.nodes):
            operands = [tiles[v] for v in n.operands]
            if isinstance(n.op, Load):
                source, (imap, fmap) = inputs[n.op.source], next(loads)
                key: tuple[Any, ...] = ("load", source, parallel, n.op.invariant, imap, fmap)
                made = self._made(key, self._load, node, n.op, source, imap, fmap)
            elif isinstance(n.op, Accum):
                made = self._made(("accum", n.op.monoid, *operands), self._accumulate, n.op.monoid, operands[0], lead)
            else:
                op = n.op if n.op.shape is None else tile_op(block, mapping, self._sizes, n.op, k)
                made = self._made((op, lead, *operands), self._apply, op, operands, lead, k)
            tiles.append(made)
        return [
            self._made(("save", parallel, tiles[o], row), self._save, node, tiles[o], row)
            for o, row in zip(block.outputs, mapping.omap, strict=True)
        ]

    def _load(self, node: CustomNode, op: Load, source: int, imap: Sequence[int], fmap: int) -> Array:
        whole = self._values[source]
        tile = whole.reshape(*(1,) * (len(node.block.grid) + 1), *whole.shape)
        return load_tile(node.block, op, tile, imap, fmap, self._sizes)

    def _accumulate(self, monoid: str, tile: int, lead: int) -> Array:
        return fold(monoid, self._values[tile], lead - 1, self._domain)

    def _apply(self, op: Any, operands: Sequence[int], lead: int, index: int) -> Array:
        return apply_to_tiles(op, [self._values[o] for o in operands], lead, self._domain, index)

    def _save(self, node: CustomNode, tile: int, row: Sequence[int]) -> Array:
        return save_tile(node.block, self._values[tile], row)
