"""Elementwise chains, evaluated in registers at the place where they are used, and the stores at their ends.

An expression is a tree of unary, binary and transpose nodes over leaves that lie in registers or in shared memory. Nothing
in between is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from prism_mlir.codegen.builder import Bool, Int
from prism_mlir.codegen.kernel_state import GlobalTensor, KernelState
from prism_mlir.codegen.layout import Linear, Pack, Spread
from prism_mlir.graph.block import Accum
from prism_mlir.graph.footprint import Product, is_inline, leaves, moves
from prism_mlir.graph.ops import Kind, Op


@dataclass
class Evaluator:
    """Values of nodes at the elements of one pack. ``tag`` names the site, see ``KernelState.new_site``."""

    state: KernelState
    tag: str
    pack: Pack
    _memo: dict[tuple[int, tuple[Int, ...], int], list[str]] = field(default_factory=dict)

    def values(self, root: int) -> list[str]:
        return self._at(root, self.pack.coordinates, self.pack.width)

    def _at(self, node: int, coordinates: tuple[Int, ...], width: int) -> list[str]:
        tile = self.state.placement.tiles[node]
        if width > 1 and tile[-1] == 1:
            return self._at(node, coordinates, 1) * width
        coordinates = tuple(0 if extent == 1 else c for c, extent in zip(coordinates, tile, strict=True))
        key = (node, coordinates, width)
        if key not in self._memo:
            self._memo[key] = self._compute(node, coordinates, width)
        return self._memo[key]

    def _compute(self, node: int, coordinates: tuple[Int, ...], width: int) -> list[str]:
        op, operands = self.state.block.nodes[node].op, self.state.block.nodes[node].operands
        if not is_inline(op):
            return self._leaf(node, coordinates, width)
        assert isinstance(op, Op)
        if op.kind in (Kind.TRANSPOSE, Kind.RESHAPE):
            return self._moved(node, op, coordinates, width)
        if op.kind is Kind.CONSTANT:
            assert op.value is not None
            return [self.state.b.f32(op.value)] * width
        values = [self._at(v, coordinates, width) for v in operands]
        if op.kind is Kind.UNARY:
            return [self.state.math.unary(op, x) for x in values[0]]
        return [self.state.math.binary(op, x, y) for x, y in zip(*values, strict=True)]

    def _leaf(self, node: int, coordinates: tuple[Int, ...], width: int) -> list[str]:
        if node in self.state.registers and self.pack.registers:
            return [self.state.registers[node][r] for r in self.pack.registers]
        return self.state.load(self.state.buffer(node), coordinates, width, self.tag)

    def _moved(self, node: int, op: Op, coordinates: tuple[Int, ...], width: int) -> list[str]:
        """A transpose or a reshape: the operand, element by element, at other coordinates."""
        b, (operand,) = self.state.b, self.state.block.nodes[node].operands
        tile, source = self.state.placement.tiles[node], self.state.placement.tiles[operand]
        result: list[str] = []
        for k in range(width):
            here = (*coordinates[:-1], b.add(coordinates[-1], k))
            if op.perm is None:  # tiles of a reshape hold the same elements in the same order
                there = b.unflatten(b.flatten(here, tile), source)
            else:
                there = [here[op.perm.index(d)] for d in range(len(here))]
            result += self._at(operand, tuple(there), 1)
        return result


def shared_reads(state: KernelState, root: int, from_registers: bool) -> set[tuple[int, str]]:
    """The buffers that evaluating an expression reads."""
    found = leaves(state.block, root)
    return {state.key(v) for v in found if not (from_registers and v in state.registers)}


def spread_for(state: KernelState, root: int) -> Spread | None:
    """The distribution in which an expression can take its leaves from registers."""
    held = [v for v in leaves(state.block, root) if v in state.registers]
    products: dict[tuple[int, int, int, bool, bool], Product] = {
        state.placement.held[v].registers: state.placement.held[v] for v in held
    }
    if len(products) != 1 or moves(state.block, root):
        return None
    product = next(iter(products.values()))
    *_, m, n = tile = state.placement.tiles[root]
    fits = (m, n) == (product.m, product.n) and len(tile) == len(state.spreads[held[0]].shape)
    return state.spreads[held[0]] if fits and tile == state.spreads[held[0]].shape else None


def write_operand(state: KernelState, node: int) -> None:
    """Round an expression to the element type of a product and write it to its buffer, padding as zeros."""
    buffer, spread = state.buffer(node, "operand"), spread_for(state, node)
    state.touch(shared_reads(state, node, spread is not None), {buffer.key})
    tag, extents, tile = state.new_site(), buffer.layout.extents, state.placement.tiles[node]
    if spread is not None and extents == tile:
        spread.each(
            state.b,
            state.threads,
            lambda pack: state.store(buffer, pack.coordinates, _existing(state, node, pack, tag, range(len(tile)))),
        )
        return
    if spread is not None:  # registers hold no padding: fill it with zeros first, elements of its own
        Linear(extents, 1).each(state.b, state.threads, lambda pack: _fill_padding(state, node, pack))
        spread.each(
            state.b,
            state.threads,
            lambda pack: state.store(buffer, pack.coordinates, _existing(state, node, pack, tag, range(len(tile)))),
        )
        return
    widest = next(w for w in (8, 4, 2, 1) if tile[-1] % w == 0)
    Linear.of(extents, state.threads.count, widest).each(
        state.b,
        state.threads,
        lambda pack: state.store(buffer, pack.coordinates, _existing(state, node, pack, tag, range(len(tile)))),
    )


def _fill_padding(state: KernelState, node: int, pack: Pack) -> None:
    tile = state.placement.tiles[node]
    inside = state.b.all([state.b.less(c, extent) for c, extent in zip(pack.coordinates, tile, strict=True)])
    zero = state.b.f32(0.0)
    outside = not inside if isinstance(inside, bool) else state.b.pure(f"arith.xori {inside}, {_true(state)} : i1")
    state.b.when(outside, lambda: state.store(state.buffer(node, "operand"), pack.coordinates, [zero]))


def _true(state: KernelState) -> str:
    return state.b.pure("arith.constant true")


def _existing(
    state: KernelState, node: int, pack: Pack, tag: str, dims: Sequence[int], neutral: str | None = None
) -> list[str]:
    """The values of a pack, with a neutral value where the element does not exist in one of ``dims``.

    A pack may lie in padding past the tile: it is evaluated at the nearest place inside and masked.
    """
    b, tile = state.b, state.placement.tiles[node]
    buffer = state.memory.buffers.get((node, "operand"))
    padded = buffer.layout.extents if buffer is not None else tile
    masked = [d for d in dims if padded[d] != tile[d] or state.is_ragged(node, d)]
    if not masked:
        return Evaluator(state, tag, pack).values(node)
    inner = tuple(
        b.minimum(c, tile[d] - (pack.width if d == len(tile) - 1 else 1)) if padded[d] != tile[d] else c
        for d, c in enumerate(pack.coordinates)
    )
    values = Evaluator(state, tag, Pack(inner, pack.width, pack.valid, pack.registers)).values(node)
    return [
        b.select(_exists(state, node, pack, masked, k), value, neutral or b.f32(0.0)) for k, value in enumerate(values)
    ]


def _exists(state: KernelState, node: int, pack: Pack, dims: Sequence[int], k: int) -> Bool:
    here = (*pack.coordinates[:-1], state.b.add(pack.coordinates[-1], k))
    return state.inside(node, here, dims)


def spill(state: KernelState, node: int) -> None:
    """Write a tile from registers to its f32 buffer."""
    buffer = state.buffer(node)
    state.touch(set(), {buffer.key})
    state.spreads[node].each(
        state.b,
        state.threads,
        lambda pack: state.store(buffer, pack.coordinates, Evaluator(state, "", pack).values(node)),
    )


def accumulation_deal(state: KernelState, node: int) -> Linear:
    """How the elements of an accumulator in shared memory are dealt to threads: each always to the same thread."""
    return Linear.of(state.placement.tiles[node], state.threads.count, 4)


def start_accumulator(state: KernelState, node: int) -> None:
    """Initialise an accumulator that lives in shared memory."""
    buffer, neutral = state.buffer(node), state.math.neutral(_monoid(state, node))
    state.touch(set(), {buffer.key})
    accumulation_deal(state, node).each(
        state.b, state.threads, lambda pack: state.store(buffer, pack.coordinates, [neutral] * pack.width)
    )


def accumulate(state: KernelState, node: int) -> None:
    """Combine this iteration's tile into an accumulator in shared memory.

    Every element is read and written by one thread only, in all iterations, so no barrier is needed for it.
    """
    operand = state.block.nodes[node].operands[0]
    buffer, monoid, tag = state.buffer(node), _monoid(state, node), state.new_site()
    state.touch(shared_reads(state, operand, False), set())
    state.written.add(buffer.key)

    def one(pack: Pack) -> None:
        old = state.load(buffer, pack.coordinates, pack.width, tag)
        new = added_values(state, operand, pack, tag, monoid)
        state.store(buffer, pack.coordinates, [state.math.combine(monoid, x, y) for x, y in zip(old, new, strict=True)])

    accumulation_deal(state, node).each(state.b, state.threads, one)


def add_to_registers(state: KernelState, operand: int, spread: Spread, accumulators: Sequence[str]) -> list[str]:
    """Add this iteration's tile to an accumulator in registers. Registers past the tile take in values nobody reads."""
    tag, result = state.new_site(), list(accumulators)
    state.touch(shared_reads(state, operand, True), set())

    def one(pack: Pack) -> None:
        for r, value in zip(pack.registers, added_values(state, operand, pack, tag, "sum"), strict=True):
            result[r] = state.math.combine("sum", result[r], value)

    spread.each(state.b, state.threads, one, guarded=False)
    return result


def added_values(state: KernelState, operand: int, pack: Pack, tag: str, monoid: str) -> list[str]:
    """The values an accumulator takes in: neutral where the loop runs past the end of a dim."""
    cut = [d for d, part in enumerate(state.placement.parts[operand]) if state.block.loop in part]
    return _existing(state, operand, pack, tag, cut, state.math.neutral(monoid))


def _monoid(state: KernelState, node: int) -> str:
    op = state.block.nodes[node].op
    assert isinstance(op, Accum)
    return op.monoid


def save(state: KernelState, node: int, omap: Sequence[int], target: GlobalTensor) -> None:
    """Store a tile to global memory, rounded once, elements outside of the tensor left out.

    Along a grid dim without omap all blocks hold the same tile: the first one stores it.
    """
    b = state.b
    spread = spread_for(state, node)
    state.touch(shared_reads(state, node, spread is not None), set())
    first = b.all([b.equal(state.block_index(g), 0) for g, d in zip(state.block.grid, omap, strict=True) if d < 0])
    tag, tile = state.new_site(), state.placement.tiles[node]
    deal = spread or Linear.of(tile, state.threads.count, 16 // target.dtype.bytes)
    b.when(first, lambda: deal.each(b, state.threads, lambda pack: _save_pack(state, node, pack, tag, target)))


def _save_pack(state: KernelState, node: int, pack: Pack, tag: str, target: GlobalTensor) -> None:
    b, tile = state.b, state.placement.tiles[node]
    values = [state.narrow(v, target.dtype) for v in Evaluator(state, tag, pack).values(node)]
    ragged = [d for d in range(len(tile)) if state.is_ragged(node, d)]
    step = pack.width if _stores_together(state, node, pack.width, target) else 1
    for k in range(0, pack.width, step):
        here = (*pack.coordinates[:-1], b.add(pack.coordinates[-1], k))

        def store(here: tuple[Int, ...] = here, k: int = k) -> None:
            place: Int = target.offset
            for d, stride in enumerate(target.strides):
                place = b.add(place, b.mul(b.add(state.origin(node, d), here[d]), stride))
            state.store_at(target.name, target.type, b.index(place), values[k : k + step], target.dtype)

        b.when(state.inside(node, here, ragged), store)


def _stores_together(state: KernelState, node: int, width: int, target: GlobalTensor) -> bool:
    """Whether neighbours along the last dim are one aligned access, which then exists as a whole or not at all."""
    others = [s for s, n in zip(target.strides[:-1], target.shape[:-1], strict=True) if n > 1]
    steps = [*others, target.offset, state.placement.tiles[node][-1], target.shape[-1]]
    return target.strides[-1] == 1 and all(step % width == 0 for step in steps)
