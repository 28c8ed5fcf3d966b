"""Accumulators over the loop that are no products: in registers where a product's distribution serves, else in shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from prism_mlir.codegen.kernel_state import KernelState
from prism_mlir.codegen.layout import Linear, Pack, Spread
from prism_mlir.codegen.running import factor_reads, rescaled
from prism_mlir.codegen.tile_values import existing_values, shared_reads
from prism_mlir.graph.block import Accum


def _deal(state: KernelState, node: int) -> Linear:
    """How the elements of an accumulator in shared memory are dealt to threads: each always to the same thread."""
    return Linear.of(state.placement.tiles[node], state.threads.count, 4)


def start_accumulator(state: KernelState, node: int) -> None:
    """Initialise an accumulator that lives in shared memory."""
    buffer, neutral = state.buffer(node), state.math.neutral(_monoid(state, node))
    state.touch(set(), {buffer.key})
    state.fill_tail(buffer)
    _deal(state, node).each(
        state.b, state.threads, lambda pack: state.store(buffer, pack.coordinates, [neutral] * pack.width)
    )


def accumulate(state: KernelState, node: int) -> None:
    """Combine this iteration's tile into an accumulator in shared memory.

    Every element is read and written by one thread only, in all iterations, so no barrier is needed for it.
    """
    operand = state.block.nodes[node].operands[0]
    buffer, monoid, tag = state.buffer(node), _monoid(state, node), state.new_site()
    state.touch(shared_reads(state, operand, False) | factor_reads(state, node), set())
    state.written.add(buffer.key)

    def one(pack: Pack) -> None:
        held = state.load(buffer, pack.coordinates, pack.width, tag)
        old = rescaled(state, node, pack.coordinates, held, tag)
        new = added_values(state, operand, pack, tag, monoid)
        state.store(buffer, pack.coordinates, [state.math.combine(monoid, x, y) for x, y in zip(old, new, strict=True)])

    _deal(state, node).each(state.b, state.threads, one)


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
    return existing_values(state, operand, pack, tag, cut, state.math.neutral(monoid))


def _monoid(state: KernelState, node: int) -> str:
    op = state.block.nodes[node].op
    assert isinstance(op, Accum)
    return op.monoid
