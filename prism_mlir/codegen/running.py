"""Running maxima over a loop, and what accumulators are multiplied with when the maximum rises (see ``graph.scaled_tiles``)."""

from __future__ import annotations

from collections.abc import Sequence

from prism_mlir.codegen.builder import Int
from prism_mlir.codegen.kernel_state import KernelState
from prism_mlir.codegen.layout import Linear, Pack, Spread
from prism_mlir.codegen.tile_values import Evaluator, shared_reads
from prism_mlir.graph.block import Accum
from prism_mlir.graph.ops import LOWEST, unary

_EXP = unary("exp(x)")


def _deal(state: KernelState, node: int) -> Linear:
    """How the elements of a running maximum are dealt to threads: each always to the same thread."""
    return Linear.of(state.placement.tiles[node], state.threads.count, 4)


def start_maximum(state: KernelState, node: int) -> None:
    """Before the loop: the least finite number."""
    buffer, lowest = state.buffer(node), state.b.f32(LOWEST)
    state.touch(set(), {buffer.key})
    state.fill_tail(buffer)
    state.fill_tail(state.buffer(node, "factor"))
    _deal(state, node).each(
        state.b, state.threads, lambda pack: state.store(buffer, pack.coordinates, [lowest] * pack.width)
    )


def advance_maximum(state: KernelState, node: int) -> None:
    """Take this iteration's tile in, and leave ``exp(old - new)`` for the accumulators."""
    (operand,) = state.block.nodes[node].operands
    if operand in state.placement.rising:
        return  # the reduction has done so
    tag = state.new_site()
    state.touch(shared_reads(state, operand, False), advanced_buffers(node))

    def one(pack: Pack) -> None:
        take_in(state, node, pack.coordinates, Evaluator(state, tag, pack).values(operand), tag)

    _deal(state, node).each(state.b, state.threads, one)


def advanced_buffers(node: int) -> set[tuple[int, str]]:
    """What advancing a maximum writes."""
    return {(node, "value"), (node, "factor")}


def take_in(state: KernelState, node: int, coordinates: Sequence[Int], came: Sequence[str], tag: str) -> None:
    """Let neighbouring values along the last dim raise the maximum. One thread does so for each element, always the same."""
    buffer = state.buffer(node)
    old = state.load(buffer, coordinates, len(came), tag)
    new = [state.math.combine("max", x, y) for x, y in zip(old, came, strict=True)]
    state.store(buffer, coordinates, new)
    behind = [state.b.pure(f"arith.subf {x}, {y} : f32") for x, y in zip(old, new, strict=True)]
    state.store(state.buffer(node, "factor"), coordinates, [state.math.unary(_EXP, x) for x in behind])


def degree_of(state: KernelState, accum: int) -> int:
    """How often the factor counts for an accumulator; 0 where it has none."""
    op = state.block.nodes[accum].op
    assert isinstance(op, Accum)
    return op.degree


def factor_reads(state: KernelState, accum: int) -> set[tuple[int, str]]:
    """The buffers that rescaling an accumulator reads."""
    return {(state.block.nodes[accum].operands[1], "factor")} if degree_of(state, accum) else set()


def rescaled(state: KernelState, accum: int, coordinates: Sequence[Int], values: Sequence[str], tag: str) -> list[str]:
    """What an accumulator holds, from ``coordinates`` on along the last dim, brought to the new maximum."""
    degree = degree_of(state, accum)
    if not degree:
        return list(values)
    running = state.block.nodes[accum].operands[1]
    buffer, tile = state.buffer(running, "factor"), state.placement.tiles[running]
    here = tuple(0 if extent == 1 else c for c, extent in zip(coordinates, tile, strict=True))
    width = 1 if tile[-1] == 1 else len(values)
    factors = state.load(buffer, here, width, tag) * (len(values) // width)
    result = list(values)
    for _ in range(degree):
        result = [state.b.pure(f"arith.mulf {x}, {f} : f32") for x, f in zip(result, factors, strict=True)]
    return result


def rescaled_registers(state: KernelState, accum: int, spread: Spread, values: Sequence[str]) -> list[str]:
    """An accumulator in registers, brought to the new maximum."""
    result = list(values)
    if not degree_of(state, accum):
        return result
    state.touch(factor_reads(state, accum), set())
    tag = state.new_site()

    def one(pack: Pack) -> None:
        new = rescaled(state, accum, pack.coordinates, [result[r] for r in pack.registers], tag)
        for r, value in zip(pack.registers, new, strict=True):
            result[r] = value

    spread.each(state.b, state.threads, one, guarded=False)
    return result
