"""One parallel dim at a time: is a mapping wrong already where all other parallel sizes are 1?

Correctness must hold for all sizes, so it holds with all sizes but one set to 1. Search asks this for thousands of pairs of
structure and assignment, which consist of few distinct tiles: every tile is evaluated once, under a number that is found
from its operator and the numbers of its operands. Arithmetic is exact, modulo a prime so small that inverses and unknown
functions are tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, Load
from prism_mlir.graph.dims import dim_classes, shrink
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.fields import Array, PrimeField
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import Op, evaluate_op, fold
from prism_mlir.graph.program import Program
from prism_mlir.graph.scalar_fn import ScalarFn
from prism_mlir.verify.verdict import Counterexample

PRIME = 65_521
MAX_TILES = 100_000  # then all are forgotten; a tile takes about half a kilobyte


@lru_cache(maxsize=1)
def _inverses() -> Array:
    return PrimeField(PRIME).inverse(np.arange(PRIME, dtype=np.int64))


@lru_cache(maxsize=64)
def _function(text: str, seed: int) -> Array:
    digest = hashlib.blake2b(f"{seed}:{text}".encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "little")).integers(0, PRIME, PRIME, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TableField(PrimeField):
    """A prime field whose inverses and unknown functions are table look-ups. Small: equality may be chance, difference never."""

    p: int = PRIME

    def inverse(self, a: Array) -> Array:
        return np.asarray(_inverses()[a])

    def unary(self, fn: ScalarFn, a: Array) -> Array:
        return np.asarray(_function(fn.text, self.seed)[a])


@dataclass(slots=True)
class _Tiles:
    """Tiles by number, for one size of the parallel dim and one draw of the inputs.

    values:  an array ``[parts or 1, data dims...]`` (1: all parts alike), or the reason why there is none
    unsure:  tiles that divide by zero somewhere: a difference there may be the field's doing
    blocks:  what block graphs save, by their nodes (held here, so that no others take their id), inputs and cuts
    """

    count: int
    domain: TableField
    inputs: list[Array]
    expected: list[Array] = field(default_factory=list)
    numbers: dict[tuple[Any, ...], int] = field(default_factory=dict)
    values: list[Array | str] = field(default_factory=list)
    unsure: set[int] = field(default_factory=set)
    differences: dict[tuple[int, int], str] = field(default_factory=dict)
    blocks: dict[tuple[Any, ...], tuple[tuple[BlockNode, ...], list[int]]] = field(default_factory=dict)

    def add(self, key: tuple[Any, ...], value: Array | str, unsure: bool = False) -> int:
        number = self.numbers[key] = len(self.values)
        self.values.append(value)
        if unsure:
            self.unsure.add(number)
        return number

    def load(self, source: int, dim: int) -> int:
        """Tile of value ``source``, cut along ``dim`` (-1: whole)."""
        key = ("load", source, dim)
        if (known := self.numbers.get(key)) is not None:
            return known
        whole = self.values[source]
        if isinstance(whole, str) or dim < 0:
            return source
        axis = dim + 1
        if axis >= whole.ndim or whole.shape[axis] % self.count:
            return self.add(key, f"a dim of size {whole.shape[axis]} does not split into {self.count} equal parts")
        shape = (*whole.shape[1:axis], self.count, whole.shape[axis] // self.count, *whole.shape[axis + 1 :])
        return self.add(key, np.ascontiguousarray(np.moveaxis(whole.reshape(shape), dim, 0)), source in self.unsure)

    def accumulate(self, tile: int, monoid: str) -> int:
        """The sum (or maximum) over all parts."""
        key = ("accum", monoid, tile)
        if (known := self.numbers.get(key)) is not None:
            return known
        value = self.values[tile]
        if not isinstance(value, str):
            if monoid != "sum":
                value = fold(monoid, value, 0, self.domain)
            else:
                value = value * self.count if len(value) == 1 else value.sum(axis=0, keepdims=True)
                value = value % PRIME
        return self.add(key, value, tile in self.unsure)

    def save(self, tile: int, dim: int) -> int:
        """The tensor that blocks store: concatenated along ``dim``, or what all of them agree on (-1)."""
        key = ("save", tile, dim)
        if (known := self.numbers.get(key)) is not None:
            return known
        value = self.values[tile]
        if isinstance(value, str) or (dim < 0 and len(value) == 1):
            return tile
        if dim < 0:
            agree = bool((value == value[:1]).all())
            return self.add(
                key, value[:1] if agree else "blocks store different values of one tile", tile in self.unsure
            )
        value = np.broadcast_to(value, (self.count, *value.shape[1:]))
        joined = np.moveaxis(value, 0, dim)
        shape = (*joined.shape[:dim], -1, *joined.shape[dim + 2 :])
        return self.add(key, joined.reshape(1, *shape), tile in self.unsure)

    def apply(self, op: Op, code: int, operands: tuple[int, ...]) -> int:
        key = (code, *operands)
        if (known := self.numbers.get(key)) is not None:
            return known
        unsure = any(o in self.unsure for o in operands)
        tiles: list[Array] = []
        for o in operands:
            value = self.values[o]
            if isinstance(value, str):
                return self.add(key, value)
            tiles.append(value)
        try:
            op.spec.shape(op, [t.shape[1:] for t in tiles])
        except InputError as error:
            return self.add(key, error.message)
        if op.name == "div":
            unsure = unsure or not tiles[1].all()
        return self.add(key, evaluate_op(op, tiles, tiles[0].ndim - 1, self.domain), unsure)

    def difference(self, output: int, tile: int) -> str:
        """Why a tensor is not the program's output; empty where it is."""
        if (known := self.differences.get((output, tile))) is None:
            known = self.differences[output, tile] = _difference(self.expected[output], self.values[tile])
        return known


def _difference(expected: Array, got: Array | str) -> str:
    if isinstance(got, str):
        return got
    if len(got) != 1:
        return "a tile that changes in the loop is saved"
    if got.shape[1:] != expected.shape:
        return f"the result has shape {list(got.shape[1:])}, the program's {list(expected.shape)}"
    return "" if np.array_equal(got[0], expected) else "an element differs"


class AloneRefuter:
    """Answers :meth:`refute` for one program, remembering every tile it has seen."""

    def __init__(self, program: Program, seed: int = 0) -> None:
        self._program, self._seed = program, seed
        self._classes = dim_classes(program)
        self._codes: dict[Op, int] = {}
        self._plans: dict[int, tuple[BlockGraph, list[tuple[int, Any, Any]], bool]] = {}
        self._tiles: dict[tuple[int, int], _Tiles] = {}

    def refute(self, graph: KernelGraph, dim: str) -> Counterexample | None:
        """A counterexample with 2 or 3 parts along ``dim`` and one along every other parallel dim, if there is one."""
        for count in (2, 3):
            found = self._try(graph, dim, count, 0)
            if found is not None:
                return found
        return None

    def _try(self, graph: KernelGraph, dim: str, count: int, draw: int) -> Counterexample | None:
        tiles = self._drawn(count, draw)
        outputs = self._run(graph, dim, tiles)
        for k, number in enumerate(outputs):
            if reason := tiles.difference(k, number):
                if number in tiles.unsure and draw < 3:
                    return self._try(graph, dim, count, draw + 1)
                return self._counterexample(tiles, dim, k, number, reason, draw)
        return None

    def _counterexample(
        self, tiles: _Tiles, dim: str, output: int, number: int, reason: str, draw: int
    ) -> Counterexample:
        sizes, dims = ((dim, tiles.count),), self._sizes(tiles.count)
        expected, got = tiles.expected[output], tiles.values[number]
        if isinstance(got, str) or got.shape[1:] != expected.shape or len(got) != 1:
            first = (0,) * expected.ndim
            return Counterexample(sizes, dims, self._seed + draw, output, first, int(expected[first]), None, reason)
        index = tuple(int(n) for n in np.argwhere(got[0] != expected)[0])
        return Counterexample(
            sizes, dims, self._seed + draw, output, index, int(expected[index]), int(got[0][index]), reason
        )

    def _sizes(self, count: int) -> tuple[int, ...]:
        return (2 * count,) * len(self._classes.sizes)  # two elements a part: size 1 would broadcast

    def _drawn(self, count: int, draw: int) -> _Tiles:
        tiles = self._tiles.get((count, draw))
        if tiles is not None and len(tiles.values) < MAX_TILES:
            return tiles
        program = shrink(self._program, dict(enumerate(self._sizes(count))))
        domain = TableField(seed=self._seed + draw)
        for attempt in range(64):
            rng = np.random.default_rng((self._seed + draw, attempt) if attempt else self._seed + draw)
            inputs = [rng.integers(1, PRIME, i.shape, dtype=np.int64) for i in program.inputs]
            expected, divides_by_zero = evaluate_program(program, inputs, domain)
            if not divides_by_zero:
                break
        tiles = _Tiles(count, domain, inputs, expected)
        for k, array in enumerate(inputs):
            tiles.add(("input", k), array[np.newaxis])
        self._tiles[count, draw] = tiles
        return tiles

    def _run(self, graph: KernelGraph, dim: str, tiles: _Tiles) -> list[int]:
        values = list(range(len(graph.inputs)))
        for node in graph.nodes:
            operands = [values[v] for v in node.operands]
            if isinstance(node, CustomNode):
                values += self._run_block(node, operands, dim, tiles)
            else:
                values.append(tiles.apply(node.op, self._code(node.op), tuple(operands)))
        return [values[v] for v in graph.outputs]

    def _run_block(self, node: CustomNode, inputs: Sequence[int], dim: str, tiles: _Tiles) -> list[int]:
        block, mapping = node.block, node.mapping
        if mapping is None:
            raise InputError("the graph still has symbolic mappings; instantiate them first")
        cuts, joins, loops = _column(block, mapping, dim)
        key = (id(block.nodes), block.outputs, *inputs, *cuts, *joins, loops)
        known = tiles.blocks.get(key)
        if known is None or known[0] is not block.nodes:
            if len(tiles.blocks) > MAX_TILES:
                tiles.blocks.clear()
            saved = self._block_outputs(block, inputs, cuts, joins, loops, tiles)
            known = tiles.blocks[key] = block.nodes, saved
        return known[1]

    def _block_outputs(
        self,
        block: BlockGraph,
        inputs: Sequence[int],
        cuts: Sequence[int],
        joins: Sequence[int],
        loops: bool,
        tiles: _Tiles,
    ) -> list[int]:
        made: list[int] = []
        loads = iter(cuts)
        for code, what, operands in self._plan(block)[1]:
            if code == _LOAD:
                made.append(tiles.load(inputs[what], next(loads)))
            elif code == _ACCUM:
                made.append(tiles.accumulate(made[operands], what) if loops else made[operands])
            else:
                made.append(tiles.apply(what, code, tuple([made[v] for v in operands])))
        return [tiles.save(made[o], d) if not loops else made[o] for o, d in zip(block.outputs, joins, strict=True)]

    def _code(self, op: Op) -> int:
        return self._codes.setdefault(op, len(self._codes))

    def takes(self, graph: KernelGraph) -> bool:
        """Whether no operator carries a shape: such a graph runs at any size as it stands."""
        return all(self._plan(n.block)[2] if isinstance(n, CustomNode) else n.op.shape is None for n in graph.nodes)

    def _plan(self, block: BlockGraph) -> tuple[BlockGraph, list[tuple[int, Any, Any]], bool]:
        known = self._plans.get(id(block.nodes))
        if known is not None:
            return known
        plan: list[tuple[int, Any, Any]] = []
        for node in block.nodes:
            match node.op:
                case Load(source=source):
                    plan.append((_LOAD, source, ()))
                case Accum(monoid=monoid):
                    plan.append((_ACCUM, monoid, node.operands[0]))
                case Op() as op:
                    plan.append((self._code(op), op, node.operands))
        if len(self._plans) > 4096:
            self._plans.clear()
        plain = all(not isinstance(n.op, Op) or n.op.shape is None for n in block.nodes)
        known = self._plans[id(block.nodes)] = (
            block,
            plan,
            plain,
        )  # holding the nodes keeps their id from being used again
        return known


_LOAD, _ACCUM = -1, -2


def _column(block: BlockGraph, mapping: Mapping, dim: str) -> tuple[Sequence[int], Sequence[int], bool]:
    """What a mapping says about one parallel dim: the loads' dims, the outputs' dims, and whether it is the loop."""
    if dim == block.loop:
        return mapping.fmap, (-1,) * len(block.outputs), True
    if dim not in block.grid:
        return (-1,) * len(mapping.imap), (-1,) * len(block.outputs), False
    g = block.grid.index(dim)
    return [row[g] for row in mapping.imap], [row[g] for row in mapping.omap], False


def evaluate_program(program: Program, inputs: Sequence[Array], domain: PrimeField) -> tuple[list[Array], bool]:
    """Outputs of a program in a prime field, and whether it divided by zero on the way."""
    values, zero = list(inputs), False
    for node in program.nodes:
        operands = [values[v] for v in node.operands]
        zero = zero or (node.op.name == "div" and not operands[1].all())
        values.append(evaluate_op(node.op, operands, len(program.shapes[node.operands[0]]) if operands else 0, domain))
    return [values[o.value] for o in program.outputs], zero
