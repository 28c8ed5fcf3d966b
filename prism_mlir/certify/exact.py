"""Run a program, and run a graph as a GPU would, in exact arithmetic.

Numbers are integers modulo the prime 2^61 - 1; functions of one variable are random functions fixed by their text. A graph runs
block by block and iteration by iteration: each block slices its tiles out of whole tensors, and stores its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.certify.encode import stages
from prism_mlir.certify.model import Accumulator, Block, Graph, Load, Node, Program
from prism_mlir.certify.sizes import Refused
from prism_mlir.certify.terms import Attr
from prism_mlir.certify.typing import numbers

Array = NDArray[Any]
PRIME = 2**61 - 1


class DividesByZero(Exception):
    """These inputs decide nothing; draw others."""


class Differs(Exception):
    """The graph does not compute what the program does, at these sizes and inputs."""


def run_program(program: Program, shapes: Sequence[tuple[int, ...]], inputs: Sequence[Array], seed: int) -> list[Array]:
    """Values of the outputs. shapes: of every value, at the sizes of the inputs."""
    values = list(inputs)
    for node in program.nodes:
        values.append(apply(node.symbol, node.attrs, [values[v] for v in node.operands], shapes[len(values)], seed))
    return [values[o] for o in program.outputs]


def run_graph(
    graph: Graph,
    shapes: Mapping[tuple[int, int], tuple[int, ...]],
    inputs: Sequence[Array],
    sizes: Mapping[str, int],
    seed: int,
) -> list[Array]:
    """Values of the outputs.

    shapes: of the tile of node ``n`` of kernel ``k`` under ``(k, n)``; a library kernel's result under ``(k, -1)``

    Raises :class:`Differs` where tiles do not fit or blocks disagree.
    """
    values = list(inputs)
    for k, kernel in enumerate(graph.kernels):
        operands = [values[v] for v in kernel.operands]
        if isinstance(kernel, Node):
            values.append(apply(kernel.symbol, kernel.attrs, operands, shapes[k, -1], seed))
        else:
            tile_shapes = [shapes[k, n] for n in range(len(kernel.nodes))]
            values += _Kernel(kernel, tile_shapes, operands, sizes, seed).run()
    return [values[o] for o in graph.outputs]


class _Kernel:
    """One graph-defined kernel at concrete sizes."""

    def __init__(
        self,
        block: Block,
        shapes: Sequence[tuple[int, ...]],
        operands: Sequence[Array],
        sizes: Mapping[str, int],
        seed: int,
    ) -> None:
        self.block, self.shapes, self.operands, self.sizes, self.seed = block, shapes, operands, sizes, seed
        self.stages = stages(block)
        self.stored: list[Array | None] = [None] * len(block.outputs)

    def run(self) -> list[Array]:
        for index in product(*(range(self.sizes[p]) for p in self.block.grid)):
            place = dict(zip(self.block.grid, index, strict=True))
            tiles = self._run_block(place)
            for k, o in enumerate(self.block.outputs):
                self._store(k, tiles[o], place)
        done: list[Array] = []
        for stored in self.stored:
            if stored is None or any(v is None for v in stored.flat):
                raise Differs("an element is stored by no block")
            done.append(stored)
        return done

    def _run_block(self, place: Mapping[str, int]) -> dict[int, Array]:
        block, tiles = self.block, dict[int, Array]()
        self._compute("once", tiles, place)
        if block.loop is not None:
            totals: dict[int, Array] = {}
            for i in range(self.sizes[block.loop]):
                body = dict(tiles)
                self._compute("loop", body, {**place, block.loop: i})
                for k, node in enumerate(block.nodes):
                    if isinstance(node, Accumulator):
                        tile = body[node.tile]
                        totals[k] = combine(node.monoid, totals[k], tile) if k in totals else tile
            tiles |= totals
        self._compute("after", tiles, place)
        return tiles

    def _compute(self, stage: str, tiles: dict[int, Array], place: Mapping[str, int]) -> None:
        for k, node in enumerate(self.block.nodes):
            if self.stages[k] != stage or isinstance(node, Accumulator):
                continue
            if isinstance(node, Load):
                tiles[k] = self._load(node, place)
            else:
                tiles[k] = apply(node.symbol, node.attrs, [tiles[v] for v in node.operands], self.shapes[k], self.seed)

    def _load(self, node: Load, place: Mapping[str, int]) -> Array:
        whole = self.operands[node.source]
        start, size = [0] * whole.ndim, list(whole.shape)
        cuts = list(zip(self.block.grid, node.imap, strict=True))
        if self.block.loop is not None and not node.invariant:
            cuts.append((self.block.loop, node.fmap))
        for p, d in cuts:
            if d < 0:
                continue
            if size[d] % self.sizes[p]:
                raise Refused(f"a dim of size {size[d]} does not split into {self.sizes[p]} parts")
            size[d] //= self.sizes[p]
            start[d] += place[p] * size[d]
        return np.asarray(whole[tuple(slice(a, a + n) for a, n in zip(start, size, strict=True))])

    def _store(self, k: int, tile: Array, place: Mapping[str, int]) -> None:
        start, size = [0] * tile.ndim, list(tile.shape)
        for p, d in reversed(list(zip(self.block.grid, self.block.omap[k], strict=True))):
            if d >= 0:
                start[d] += place[p] * size[d]
                size[d] *= self.sizes[p]
        whole = self.stored[k]
        if whole is None:
            whole = self.stored[k] = np.full(size, None, dtype=object)
        at = tuple(slice(a, a + n) for a, n in zip(start, tile.shape, strict=True))
        for old, new in zip(whole[at].flat, tile.flat, strict=True):
            if old is not None and old != new:
                raise Differs("blocks store different values in one place")
        whole[at] = tile


def combine(monoid: str, a: Array, b: Array) -> Array:
    """Two partial results of an accumulator, as one."""
    if monoid == "sum":
        return (a + b) % PRIME
    return np.asarray(np.maximum(a, b) if monoid == "max" else np.minimum(a, b))


def apply(symbol: str, attrs: Sequence[Attr], operands: Sequence[Array], shape: tuple[int, ...], seed: int) -> Array:
    """An operator on tiles or whole tensors; ``shape`` is the result's."""
    try:
        result = _apply(symbol, attrs, operands, shape, seed)
    except ValueError as error:
        raise Differs(f"{symbol}: {error}") from None
    if result.shape != shape:
        raise Differs(f"{symbol} gives a tile of shape {list(result.shape)}, not {list(shape)}")
    return result


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: (a + b) % PRIME,
    "Sub": lambda a, b: (a - b) % PRIME,
    "Mul": lambda a, b: a * b % PRIME,
    "Max": np.maximum,
    "Min": np.minimum,
}


def _apply(symbol: str, attrs: Sequence[Attr], operands: Sequence[Array], shape: tuple[int, ...], seed: int) -> Array:
    if symbol in _BINARY:
        return np.asarray(_BINARY[symbol](*operands))
    match symbol:
        case "Matmul":
            return np.asarray(np.matmul(*operands) % PRIME)
        case "Div":
            if not operands[1].all():
                raise DividesByZero
            return np.asarray(operands[0] * _inverse(operands[1]) % PRIME)
        case "Unary":
            return random_function(str(attrs[0]), seed)(operands[0])
        case "Keep":
            mask, a = operands
            return np.asarray(np.where(mask % 2 == 1, a, number(str(attrs[0]))))
        case "Sum":
            return np.asarray(operands[0].sum(axis=_axis(attrs), keepdims=True) % PRIME)
        case "ReduceMax":
            return np.asarray(operands[0].max(axis=_axis(attrs), keepdims=True))
        case "ReduceMin":
            return np.asarray(operands[0].min(axis=_axis(attrs), keepdims=True))
        case "Transpose":
            return operands[0].transpose(numbers(attrs[0]))
        case "Reshape":
            return operands[0].reshape(shape)
        case "Constant":
            return np.full(shape, number(str(attrs[0])), dtype=object)
    raise Refused(f"the checker cannot run {symbol}")


def _axis(attrs: Sequence[Attr]) -> int:
    return int(attrs[0])


def _inverse(a: Array) -> Array:
    return np.asarray(np.frompyfunc(lambda v: pow(int(v), -1, PRIME), 1, 1)(a))


def number(text: str) -> int:
    """A float of the program as a number of the field; infinities are fixed random numbers."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
    top, bottom = value.as_integer_ratio()
    return top * pow(bottom, -1, PRIME) % PRIME


def random_function(text: str, seed: int) -> Callable[[Array], Array]:
    """A function of which nothing is known but its name."""
    key = hashlib.sha256(f"{seed} {text}".encode()).digest()

    def value(v: int) -> int:
        return (
            int.from_bytes(hashlib.blake2b(int(v).to_bytes(8, "big"), key=key, digest_size=8).digest(), "big") % PRIME
        )

    return lambda a: np.asarray(np.frompyfunc(value, 1, 1)(a), dtype=object)


def draw(shapes: Sequence[tuple[int, ...]], seed: int, attempt: int) -> list[Array]:
    """Random inputs."""
    stream = _stream(f"inputs {seed} {attempt}")
    return [np.array([next(stream) for _ in range(prod(s))], dtype=object).reshape(s) for s in shapes]


def _stream(text: str) -> Iterator[int]:
    state = text.encode()
    while True:
        state = hashlib.sha256(state).digest()
        yield int.from_bytes(state[:8], "big") % (PRIME - 1) + 1
