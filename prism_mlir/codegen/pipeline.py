"""Tiles travel from global to shared memory: 16 bytes a thread at a time, asynchronously, some iterations ahead.

With ``S`` stages a body tile has ``S`` copies. Before the loop, the tiles of iterations ``0 .. S-2`` are requested, each
iteration's tiles as one group of ``cp.async``. Iteration ``i`` waits until at most ``S-2`` younger groups are in flight, so that
its own tiles have landed; a barrier makes them visible to all threads and tells that the copy read in iteration ``i-1`` is
free; the tiles of iteration ``i+S-1`` are requested into it. A group is committed in every iteration, empty or not, because
waiting counts groups. With one stage, the request is made after a barrier and waited for at once.

Where rows are not aligned for 16 bytes, 8 or 4 are copied, or single elements by ordinary loads. Elements outside of the tensor
and padding are filled with zeros, by the copy itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prism_mlir.codegen.builder import Bool, Int
from prism_mlir.codegen.kernel_state import GlobalTensor, KernelState
from prism_mlir.graph.block import Load
from prism_mlir.graph.footprint import Buffer

_UNROLLED_COPIES = 8


@dataclass(frozen=True, slots=True)
class TileCopy:
    """How one load's tile is copied: ``chunk`` elements at a time, asynchronously or not."""

    node: int
    source: GlobalTensor
    buffer: Buffer
    chunk: int
    is_async: bool


def plan_copy(state: KernelState, node: int) -> TileCopy:
    """The widest copy whose chunks are aligned on both sides whatever the block and the iteration."""
    op = state.block.nodes[node].op
    assert isinstance(op, Load)
    source, buffer = state.inputs[op.source], state.buffer(node)
    for size in (16, 8, 4):
        chunk = size // source.dtype.bytes
        if chunk >= 1 and _is_aligned(state, node, source, buffer, chunk):
            return TileCopy(node, source, buffer, chunk, True)
    return TileCopy(node, source, buffer, 1, False)


def _is_aligned(state: KernelState, node: int, source: GlobalTensor, buffer: Buffer, chunk: int) -> bool:
    fastest = buffer.layout.fastest
    if source.strides[fastest] != 1 and source.shape[fastest] > 1:
        return False
    others = [s for d, s in enumerate(source.multiples) if d != fastest and source.shape[d] > 1]
    cut = bool(state.placement.parts[node][fastest] | state.added_to_load(node, fastest))
    tile = state.placement.tiles[node][fastest]
    steps = [*others, source.start_multiple, buffer.layout.columns, *([tile] if cut else [])]
    return all(step % chunk == 0 for step in steps)


def issue_copy(state: KernelState, copy: TileCopy, slot: Int) -> None:
    """Request one tile (of the iteration ``state.step``) into copy ``slot`` of its buffer.

    Many rounds are a loop, some of them a turn: as many as it takes until the permutation of chunks has come round, so that from
    turn to turn all addresses grow by the same.
    """
    b, layout = state.b, copy.buffer.layout
    threads, total = state.threads.count, layout.rows * (layout.columns // copy.chunk)
    rounds = -(-total // threads)
    regular = _turn(copy, threads)
    if rounds <= _UNROLLED_COPIES or regular is None:

        def one(j: Int, _: list[str]) -> list[str]:
            _round(state, copy, slot, (0, j))
            return []

        b.loop(rounds, one, unroll=_UNROLLED_COPIES)
        return

    each, rows = regular

    def turn(k: Int, _: list[str]) -> list[str]:
        for j in range(each):
            _round(state, copy, slot, (b.mul(k, rows), j))
        return []

    turns = total // threads // each
    b.loop(turns, turn, unroll=1)
    for j in range(turns * each, rounds):
        _round(state, copy, slot, (0, j))


def _turn(copy: TileCopy, threads: int) -> tuple[int, int] | None:
    """Rounds of a turn, and the rows they copy; ``None`` where no few rounds are alike for what follows from a row's number."""
    layout = copy.buffer.layout
    per_row = layout.columns // copy.chunk
    long = [d for d in layout.order[:-1] if layout.extents[d] > 1]
    for rounds in (_UNROLLED_COPIES, 2 * _UNROLLED_COPIES, 4 * _UNROLLED_COPIES):
        rows, rest = divmod(rounds * threads, per_row)
        if not rest and len(long) == 1 and rows % layout.period(long[0]) == 0:
            return rounds, rows
    return None


def _round(state: KernelState, copy: TileCopy, slot: Int, which: tuple[Int, Int]) -> None:
    """One chunk of each thread. ``which``: rows that turns of a loop have passed, and the number of the round from there."""
    b, layout, threads = state.b, copy.buffer.layout, state.threads.count
    passed, j = which
    outer = [layout.extents[d] for d in layout.order[:-1]]
    per_row = layout.columns // copy.chunk
    total = layout.rows * per_row
    if threads % per_row == 0:
        row = b.add(b.div(state.threads.thread, per_row), b.mul(j, threads // per_row))
        column = b.rem(state.threads.thread, per_row)
    else:
        flat = b.add(state.threads.thread, b.mul(j, threads))
        row, column = b.div(flat, per_row), b.rem(flat, per_row)
    whole = total % threads == 0 or (isinstance(j, int) and (j + 1) * threads <= total)
    has_work = True if whole else b.less(b.add(state.threads.thread, b.mul(j, threads)), total)

    def coordinates(row: Int) -> list[Int]:
        found: list[Int] = [0] * len(layout.extents)
        for d, c in zip(layout.order[:-1], b.unflatten(row, outer), strict=True):
            found[d] = c
        found[layout.fastest] = b.mul(column, copy.chunk)
        return found

    place = Chunk(coordinates(b.add(row, passed)), coordinates(row), b.mul(passed, layout.pitch * layout.element_bytes))
    b.when(has_work, lambda: _move(state, copy, place, slot))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Where a chunk lies in the tile; and in shared memory: an element's coordinates, ``passed`` bytes further on."""

    coordinates: Sequence[Int]
    element: Sequence[Int]
    passed: Int


def _move(state: KernelState, copy: TileCopy, chunk: Chunk, slot: Int) -> None:
    b, node, layout, coordinates = state.b, copy.node, copy.buffer.layout, chunk.coordinates
    tile = state.placement.tiles[node]
    partial = [d for d in range(len(tile)) if layout.extents[d] != tile[d] or state.is_ragged(node, d)]
    rows_exist = state.inside(node, coordinates, [d for d in partial if d != layout.fastest])
    exists = b.both(rows_exist, state.inside(node, coordinates, [d for d in partial if d == layout.fastest]))
    place = state.start(copy.source)
    for d, stride in enumerate(state.steps(copy.source)):
        start = state.origin(node, d, state.added_to_load(node, d))
        place = b.add(place, b.mul(b.add(start, coordinates[d]), stride))
    if not copy.is_async:  # a copy of no bytes reads nothing, wherever its address is
        place = b.choose(exists, place, state.start(copy.source))
    target, target_type = state.view(copy.buffer, slot if copy.buffer.slots > 1 else 0, chunk.passed)
    at = state.element(copy.buffer, chunk.element)
    if not copy.is_async:
        value = b.effect(f"memref.load {copy.source.name}[{b.index(place)}] : {copy.source.type}")
        zero = state.zero(copy.source.dtype)
        present_value = b.select(exists, value, zero, copy.source.dtype.in_memory)
        b.emit(f"memref.store {present_value}, {target}[{at}] : {target_type}")
        return
    present = ""
    if partial:
        present = f", {b.index(_present(state, copy, coordinates, exists))}"
    bypass = " {bypassL1}" if copy.chunk * copy.source.dtype.bytes == 16 else ""
    b.effect(
        f"nvgpu.device_async_copy {copy.source.name}[{b.index(place)}], {target}[{at}], {copy.chunk}{present}{bypass}"
        f" : {copy.source.type} to {target_type}"
    )


def _present(state: KernelState, copy: TileCopy, coordinates: Sequence[Int], exists: Bool) -> Int:
    """How many elements of a chunk exist; the copy fills the rest with zeros."""
    b, fastest = state.b, copy.buffer.layout.fastest
    left = b.sub_to_zero(state.extent(copy.node, fastest), coordinates[fastest])
    return b.choose(exists, b.minimum(left, copy.chunk), 0)


def commit(state: KernelState) -> None:
    """Close the group of copies requested since the last one."""
    state.b.emit("nvvm.cp.async.commit.group")


def wait(state: KernelState, in_flight: int) -> None:
    """Wait until at most ``in_flight`` groups, the youngest, have not landed; then let all threads see the rest."""
    state.b.emit(f"nvvm.cp.async.wait.group {in_flight}")
    state.barrier()
