"""Tiles written to shared memory for a later use: computed operands of products, and products that other threads need."""

from __future__ import annotations

from functools import partial

from prism_mlir.codegen.kernel_state import KernelState
from prism_mlir.codegen.layout import Linear, Pack
from prism_mlir.codegen.tile_values import Evaluator, existing_values, shared_reads, spread_for


def write_operand(state: KernelState, node: int) -> None:
    """Round an expression to the element type of a product and write it to its buffer, padding as zeros."""
    buffer, spread = state.buffer(node, "operand"), spread_for(state, node)
    state.touch(shared_reads(state, node, spread is not None), {buffer.key})
    state.fill_tail(buffer)
    tag, extents, tile = state.new_site(), buffer.layout.extents, state.placement.tiles[node]

    def write(pack: Pack) -> None:
        state.store(buffer, pack.coordinates, existing_values(state, node, pack, tag, range(len(tile))))

    if spread is None:
        widest = next(w for w in (8, 4, 2, 1) if tile[-1] % w == 0)
        Linear.of(extents, state.threads.count, widest).each(state.b, state.threads, write)
        return
    if extents != tile:  # registers hold no padding, and what is there once stays
        width = next(w for w in (8, 4, 2, 1) if tile[-1] % w == 0 and extents[-1] % w == 0)
        fill = partial(Linear(extents, width).each, state.b, state.threads, partial(_fill_padding, state, node))
        state.b.when(state.b.equal(state.step, 0), fill)
    spread.each(state.b, state.threads, write)


def _fill_padding(state: KernelState, node: int, pack: Pack) -> None:
    """Store zeros where a pack lies past the tile; other threads write what lies inside."""
    b, tile = state.b, state.placement.tiles[node]
    outside = b.negate(b.all([b.less(c, extent) for c, extent in zip(pack.coordinates, tile, strict=True)]))
    zeros = [b.f32(0.0)] * pack.width
    b.when(outside, lambda: state.store(state.buffer(node, "operand"), pack.coordinates, zeros))


def spill(state: KernelState, node: int) -> None:
    """Write a tile from registers to its f32 buffer."""
    buffer = state.buffer(node)
    state.touch(set(), {buffer.key})
    state.fill_tail(buffer)
    state.spreads[node].each(
        state.b,
        state.threads,
        lambda pack: state.store(buffer, pack.coordinates, Evaluator(state, "", pack).values(node)),
    )
