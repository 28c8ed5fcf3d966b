"""Results go from registers to global memory, rounded once, as several elements at a time where they lie together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from prism_mlir.codegen.builder import Int
from prism_mlir.codegen.kernel_state import GlobalTensor, KernelState
from prism_mlir.codegen.layout import Linear, Pack, Spread
from prism_mlir.codegen.tile_values import Evaluator, shared_reads, spread_for
from prism_mlir.graph.footprint import Buffer
from prism_mlir.graph.mapping import WHOLE, Partition


@dataclass(frozen=True)
class Save:
    """One output on its way to one tensor.

    added:  for each dim, grid dims whose blocks store their whole tiles one after the other along it (partial results)
    values: the f32 values of a pack
    """

    node: int
    target: GlobalTensor
    added: tuple[Partition, ...]
    values: Callable[[Pack], list[str]]


def save(state: KernelState, node: int, omap: Sequence[int], targets: Sequence[GlobalTensor]) -> None:
    """Store a tile to global memory, to each of some tensors, rounded once, elements outside of the tensor left out.

    Along a grid dim without omap all blocks hold the same tile: the first one stores it.
    """
    b, block, tile = state.b, state.block, state.placement.tiles[node]
    spread, tag = spread_for(state, node), state.new_site()
    staged = state.memory.buffers.get((node, "store"))
    if staged is not None and spread is not None:
        _stage(state, node, staged, spread)
    else:
        state.touch(shared_reads(state, node, spread is not None), set())
    cut = WHOLE.union(*state.placement.parts[node])
    joined = [(g, d) for g, d in zip(block.grid, omap, strict=True) if g not in cut]
    added = tuple(frozenset(g for g, at in joined if at == d) for d in range(len(tile)))
    first = b.all([b.equal(state.block_index(g), 0) for g, d in joined if d < 0])

    def values(pack: Pack) -> list[str]:
        if staged is not None:
            return state.load(staged, pack.coordinates, pack.width, tag)
        return Evaluator(state, tag, pack).values(node)

    for target in targets:
        job = Save(node, target, added, values)
        widest = Linear(tile, next(w for w in (8, 4, 2, 1) if tile[-1] % w == 0 and w * target.dtype.bytes <= 16))
        b.when(first, partial(_each, state, job, widest if staged is not None or spread is None else spread))


def _each(state: KernelState, job: Save, deal: Linear | Spread) -> None:
    deal.each(state.b, state.threads, lambda pack: _save_pack(state, job, pack))


def _stage(state: KernelState, node: int, buffer: Buffer, spread: Spread) -> None:
    """Write a result from registers to shared memory, for threads to store whole rows."""
    state.barrier()  # the buffer may lie where other tiles were
    state.touch(shared_reads(state, node, True), {buffer.key})
    tag = state.new_site()
    spread.each(
        state.b,
        state.threads,
        lambda pack: state.store(buffer, pack.coordinates, Evaluator(state, tag, pack).values(node)),
    )
    state.touch({buffer.key}, set())


def _save_pack(state: KernelState, job: Save, pack: Pack) -> None:
    b, node, target = state.b, job.node, job.target
    values = [state.narrow(v, target.dtype) for v in job.values(pack)]
    ragged = [d for d in range(len(pack.coordinates)) if state.is_ragged(node, d)]
    step = next((w for w in (8, 4, 2) if pack.width % w == 0 and _stores_together(state, node, w, target)), 1)
    for k in range(0, pack.width, step):
        here = (*pack.coordinates[:-1], b.add(pack.coordinates[-1], k))

        def store(here: tuple[Int, ...] = here, k: int = k) -> None:
            place = state.start(target)
            for d, stride in enumerate(state.steps(target)):
                place = b.add(place, b.mul(b.add(state.origin(node, d, job.added[d]), here[d]), stride))
            state.store_at(target.name, target.type, b.index(place), values[k : k + step], target.dtype)

        b.when(state.inside(node, here, ragged), store)


def _stores_together(state: KernelState, node: int, width: int, target: GlobalTensor) -> bool:
    """Whether neighbours along the last dim are one aligned access, which then exists as a whole or not at all."""
    others = [s for s, n in zip(target.multiples[:-1], target.shape[:-1], strict=True) if n > 1]
    last = target.length_multiple(len(target.shape) - 1)
    steps = [*others, target.start_multiple, state.placement.tiles[node][-1], last]
    if state.is_dynamic(node, len(target.shape) - 1):
        steps.append(state.dynamic[node][-1].times)
    return target.strides[-1] == 1 and all(step % width == 0 for step in steps)
