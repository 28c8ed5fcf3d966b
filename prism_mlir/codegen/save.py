"""Results go from registers to global memory, rounded once, as several elements at a time where they lie together."""

from __future__ import annotations

from collections.abc import Sequence

from prism_mlir.codegen.builder import Int
from prism_mlir.codegen.kernel_state import GlobalTensor, KernelState
from prism_mlir.codegen.layout import Linear, Pack
from prism_mlir.codegen.tile_values import Evaluator, shared_reads, spread_for


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
