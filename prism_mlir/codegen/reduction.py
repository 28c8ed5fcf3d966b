"""Sums and maxima along one dim: each warp reduces whole rows, its lanes stride along them, shuffles join the lanes.

A reduction that is accumulated over the loop keeps one partial result a row in registers in every lane, and joins the lanes once,
after the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from prism_mlir.codegen.builder import Bool, Int
from prism_mlir.codegen.kernel_state import KernelState
from prism_mlir.codegen.layout import Pack
from prism_mlir.codegen.running import advanced_buffers, factor_reads, rescaled, take_in
from prism_mlir.codegen.tile_values import Evaluator, shared_reads
from prism_mlir.graph.ops import Op

_UNROLLED_STRIDES = 4
_UNROLLED_ROWS = 4


@dataclass(frozen=True)
class RowReduction:
    """A reduction node: ``rows`` results, each from ``length`` elements along ``dim``."""

    node: int
    operand: int
    dim: int
    monoid: str
    kept: tuple[int, ...]
    length: int
    width: int
    warps: int

    @staticmethod
    def of(state: KernelState, node: int) -> RowReduction:
        op, operand = state.block.nodes[node].op, state.block.nodes[node].operands[0]
        assert isinstance(op, Op) and op.dim is not None
        tile = state.placement.tiles[operand]
        last = op.dim == len(tile) - 1
        width = (
            next(w for w in (8, 4, 2, 1) if tile[op.dim] % w == 0 and (w == 1 or w * 32 <= tile[op.dim])) if last else 1
        )
        monoid = op.spec.monoid
        assert monoid is not None
        return RowReduction(
            node, operand, op.dim, monoid, state.placement.tiles[node], tile[op.dim], width, state.threads.warps
        )

    @property
    def rows(self) -> int:
        return prod(self.kept)

    @property
    def each_warp(self) -> int:
        """Rows that a warp reduces."""
        return -(-self.rows // self.warps)


def add_partials(state: KernelState, reduction: RowReduction, partials: Sequence[str], accum: int) -> list[str]:
    """Combine this tile's elements into each lane's partial results of accumulator ``accum``."""
    state.touch(shared_reads(state, reduction.operand, False) | factor_reads(state, accum), set())
    tag, result = state.new_site(), []
    for r, held in enumerate(partials):
        place = state.b.unflatten(_row(state, reduction, r)[0], reduction.kept)
        (value,) = rescaled(state, accum, place, [held], tag)
        result.append(_stride(state, reduction, r, value, tag))
    return result


def finish_partials(state: KernelState, reduction: RowReduction, partials: Sequence[str], target: int) -> None:
    """Join the lanes and leave the results in the buffer of node ``target``."""
    state.touch(set(), {state.key(target)})
    state.fill_tail(state.buffer(target))
    for r, value in enumerate(partials):
        _store(state, reduction, r, state.join_lanes(reduction.monoid, value), target)


def reduce_tile(state: KernelState, reduction: RowReduction) -> None:
    """Reduce a tile to its buffer."""
    key = state.key(reduction.node)
    state.touch(shared_reads(state, reduction.operand, False), {key})
    state.fill_tail(state.buffer(reduction.node))
    tag = state.new_site()

    def one(r: Int, _: list[str]) -> list[str]:
        value = _stride(state, reduction, r, state.math.neutral(reduction.monoid), tag)
        _store(state, reduction, r, state.join_lanes(reduction.monoid, value), reduction.node)
        return []

    state.b.loop(reduction.each_warp, one, unroll=_UNROLLED_ROWS)


def raise_maximum(state: KernelState, reduction: RowReduction, running: int) -> None:
    """Reduce a tile, and let the results raise a running maximum: the lane that would store a result does so."""
    state.touch(shared_reads(state, reduction.operand, False), advanced_buffers(running))
    tag, b = state.new_site(), state.b

    def one(r: Int, _: list[str]) -> list[str]:
        value = state.join_lanes(
            reduction.monoid, _stride(state, reduction, r, state.math.neutral(reduction.monoid), tag)
        )
        row, exists = _row(state, reduction, r)
        chosen = b.both(b.equal(state.threads.lane, 0), exists)
        b.when(chosen, lambda: take_in(state, running, b.unflatten(row, reduction.kept), [value], tag))
        return []

    b.loop(reduction.each_warp, one, unroll=_UNROLLED_ROWS)


def _row(state: KernelState, reduction: RowReduction, r: Int) -> tuple[Int, Bool]:
    """The row a warp reduces as its ``r``-th, and whether it exists; one past the end is the last row once more."""
    b = state.b
    row = b.add(state.threads.warp, b.mul(r, reduction.warps))
    if reduction.rows % reduction.warps == 0:
        return row, True
    return b.minimum(row, reduction.rows - 1), b.less(row, reduction.rows)


def _stride(state: KernelState, reduction: RowReduction, r: Int, start: str, tag: str) -> str:
    """One lane's share of a row."""
    b = state.b
    coordinates = list(b.unflatten(_row(state, reduction, r)[0], reduction.kept))
    stride = 32 * reduction.width

    def one(j: Int, values: list[str]) -> list[str]:
        at = b.add(b.mul(state.threads.lane, reduction.width), b.mul(j, stride))
        whole = reduction.length % stride == 0 or (isinstance(j, int) and (j + 1) * stride <= reduction.length)
        inside = at if whole else b.minimum(at, reduction.length - reduction.width)
        coordinates[reduction.dim] = inside
        pack = Pack(tuple(coordinates), reduction.width, True)
        total = values[0]
        for k, value in enumerate(Evaluator(state, tag, pack).values(reduction.operand)):
            exists: Bool = True if whole else b.less(at, reduction.length)
            if state.is_ragged(reduction.operand, reduction.dim):
                exists = b.both(exists, b.less(b.add(inside, k), state.extent(reduction.operand, reduction.dim)))
            value = b.select(exists, value, state.math.neutral(reduction.monoid))
            total = state.math.combine(reduction.monoid, total, value)
        return [total]

    return b.loop(-(-reduction.length // stride), one, [(start, "f32")], unroll=_UNROLLED_STRIDES)[0]


def _store(state: KernelState, reduction: RowReduction, r: Int, value: str, target: int) -> None:
    b = state.b
    row, exists = _row(state, reduction, r)
    chosen = b.both(b.equal(state.threads.lane, 0), exists)
    b.when(chosen, lambda: state.store(state.buffer(target), b.unflatten(row, reduction.kept), [value]))
