"""Sums and maxima along the last dim of a tile that lies in the registers of a product.

Each thread combines what it holds of a row, shuffles join the lanes that share the row: the four of a group in the normal form,
the eight with the same place in their group in the transposed one (PTX ISA, "Matrix Fragments for mma.m16n8k16"). Where several
warps share it, each leaves its part in a small buffer, and after a barrier one thread a row combines those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from prism_mlir.codegen.builder import Bool, Int
from prism_mlir.codegen.kernel_state import KernelState
from prism_mlir.codegen.layout import Fragments, spread_of
from prism_mlir.codegen.running import advanced_buffers, factor_reads, rescaled, take_in
from prism_mlir.codegen.tile_values import Evaluator, shared_reads
from prism_mlir.graph.ops import Op, Shape

Write = Callable[[Sequence[Int], str], None]
Row = tuple[tuple[Int, ...], Bool]  # coordinates in the result, moved inside the tile, and whether the row exists


@dataclass(frozen=True)
class FragmentReduction:
    """A reduction node. A thread holds ``count`` partial results, one for each row of which it has elements."""

    node: int
    operand: int
    monoid: str
    kept: Shape
    spread: Fragments

    @staticmethod
    def of(state: KernelState, node: int) -> FragmentReduction | None:
        """``None`` where the reduction reads its tile from shared memory."""
        if node not in state.placement.reduced:
            return None
        placement, operand = state.placement, state.block.nodes[node].operands[0]
        tile, op = placement.tiles[operand], state.block.nodes[node].op
        assert isinstance(op, Op) and op.spec.monoid is not None
        spread = spread_of(placement.reduced[node], tile, state.threads.warps)
        assert isinstance(spread, Fragments)
        return FragmentReduction(node, operand, op.spec.monoid, placement.tiles[node], spread)

    @property
    def turned(self) -> bool:
        """Whether the reduced dim is the 16-row side."""
        return self.spread.product.transposed

    @property
    def warps(self) -> int:
        """Warps that share a row."""
        return self.spread.warps_p if self.turned else self.spread.warps_q

    @property
    def count(self) -> int:
        return self.spread.product.batch * self._tiles * 2

    @property
    def _tiles(self) -> int:
        """Tiles across rows that a warp holds."""
        return self.spread.each_warp[1 if self.turned else 0]

    def slot(self, register: int) -> int:
        """Which partial result takes in an accumulator register."""
        p, q = self.spread.each_warp
        batch, rest = divmod(register // 4, p * q)
        a, c = divmod(rest, q)
        if self.turned:
            return (batch * q + c) * 2 + register % 2
        return (batch * p + a) * 2 + register % 4 // 2

    def row(self, state: KernelState, slot: int) -> Row:
        """The row of a partial result."""
        b, lane = state.b, state.threads.lane
        batch, rest = divmod(slot, 2 * self._tiles)
        tile, i = divmod(rest, 2)
        if self.turned:
            _, place = self.spread.tile(b, state.threads, 0, tile)
            at = b.add(b.mul(place, 8), b.add(b.mul(b.rem(lane, 4), 2), i))
        else:
            place, _ = self.spread.tile(b, state.threads, tile, 0)
            at = b.add(b.mul(place, 16), b.add(b.div(lane, 4), 8 * i))
        lead = b.unflatten(batch, self.spread.shape[:-2])
        exists = self.spread.inside(b, at, 1 if self.turned else 0)
        inside = at if exists is True else b.minimum(at, self.kept[-2] - 1)
        return (*lead, inside, 0), exists

    def shares(self, state: KernelState, starts: Sequence[str], tag: str) -> list[str]:
        """Take in what this thread holds of the tile."""
        b, result = state.b, list(starts)
        neutral = state.math.neutral(self.monoid)
        last = len(self.spread.shape) - 1
        for pack, valid in self.spread.every(b, state.threads):
            values = Evaluator(state, tag, pack).values(self.operand)
            for k, (register, value) in enumerate(zip(pack.registers, values, strict=True)):
                exists = valid
                if state.is_ragged(self.operand, last):
                    exists = b.both(exists, b.less(b.add(pack.coordinates[-1], k), state.extent(self.operand, last)))
                slot = self.slot(register)
                taken = b.select(exists, value, neutral)
                result[slot] = state.math.combine(self.monoid, result[slot], taken)
        return result

    def finish(self, state: KernelState, values: Sequence[str], writes: set[tuple[int, str]], write: Write) -> None:
        """Join lanes and warps; one thread a row, always the same, calls ``write``, which changes the buffers ``writes``."""
        b = state.b
        distances = (16, 8, 4) if self.turned else (2, 1)
        joined = [state.join_lanes(self.monoid, v, distances) for v in values]
        writer = b.less(state.threads.lane, 4) if self.turned else b.equal(b.rem(state.threads.lane, 4), 0)
        if self.warps == 1:
            state.touch(set(), writes)
            for slot, value in enumerate(joined):
                place, exists = self.row(state, slot)
                b.when(b.both(writer, exists), partial(write, place, value))
            return
        self._join_warps(state, joined, writer, writes, write)

    def _join_warps(
        self, state: KernelState, values: Sequence[str], writer: Bool, writes: set[tuple[int, str]], write: Write
    ) -> None:
        b, buffer = state.b, state.memory.buffers[self.node, "partial"]
        state.touch(set(), {buffer.key})
        if self.turned:
            mine = b.rem(state.threads.warp, self.spread.warps_p)
        else:
            mine = b.div(state.threads.warp, self.spread.warps_p)
        for slot, value in enumerate(values):
            place, exists = self.row(state, slot)
            at = (b.flatten(place[:-1], self.kept[:-1]), mine)
            b.when(b.both(writer, exists), partial(state.store, buffer, at, [value]))
            if self.warps % 4 == 3:  # LLVM reads three neighbours as four
                last = b.both(b.both(writer, exists), b.equal(mine, 0))
                b.when(last, partial(state.store, buffer, (at[0], self.warps), [state.math.neutral(self.monoid)]))
        state.touch({buffer.key}, writes)
        tag, rows, threads = state.new_site(), prod(self.kept), state.threads.count
        for j in range(-(-rows // threads)):
            flat = b.add(state.threads.thread, j * threads)
            exists = True if (j + 1) * threads <= rows else b.less(flat, rows)

            def one(flat: Int = flat) -> None:
                parts = [state.load(buffer, (flat, k), 1, tag)[0] for k in range(self.warps)]
                total = parts[0]
                for part in parts[1:]:
                    total = state.math.combine(self.monoid, total, part)
                write(b.unflatten(flat, self.kept), total)

            b.when(exists, one)


def reduce_fragments(state: KernelState, reduction: FragmentReduction) -> None:
    """Reduce a tile to its buffer."""
    buffer = state.buffer(reduction.node)
    state.touch(shared_reads(state, reduction.operand, True), set())
    state.fill_tail(buffer)
    values = reduction.shares(state, [state.math.neutral(reduction.monoid)] * reduction.count, state.new_site())
    reduction.finish(state, values, {buffer.key}, lambda place, value: state.store(buffer, place, [value]))


def raise_by_fragments(state: KernelState, reduction: FragmentReduction, running: int) -> None:
    """Reduce a tile, and let the results raise a running maximum."""
    state.touch(shared_reads(state, reduction.operand, True), set())
    tag = state.new_site()
    values = reduction.shares(state, [state.math.neutral(reduction.monoid)] * reduction.count, tag)
    other = state.new_site()
    reduction.finish(
        state, values, advanced_buffers(running), lambda place, value: take_in(state, running, place, [value], other)
    )


def add_fragments(state: KernelState, reduction: FragmentReduction, partials: Sequence[str], accum: int) -> list[str]:
    """Combine this tile's elements into each thread's partial results of accumulator ``accum``."""
    state.touch(shared_reads(state, reduction.operand, True) | factor_reads(state, accum), set())
    tag = state.new_site()
    held = [
        rescaled(state, accum, reduction.row(state, slot)[0], [value], tag)[0] for slot, value in enumerate(partials)
    ]
    return reduction.shares(state, held, tag)


def finish_fragments(state: KernelState, reduction: FragmentReduction, partials: Sequence[str], target: int) -> None:
    """Join the partial results and leave them in the buffer of node ``target``."""
    buffer = state.buffer(target)
    state.fill_tail(buffer)
    reduction.finish(state, partials, {buffer.key}, lambda place, value: state.store(buffer, place, [value]))
