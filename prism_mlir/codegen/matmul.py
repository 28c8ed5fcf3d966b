"""Products of two tiles: ``mma.sync.m16n8k16`` with f32 accumulators, or fused multiply-add for f32 tensors.

The tensor core multiplies a 16-row side by an 8-column side. In the normal form ``C = A.B`` the rows of A are the 16-row side; in
the transposed form ``C^T = B^T.A^T`` the columns of B are, so that eight or fewer rows of A waste nothing. Both sides are read by
``ldmatrix``, which transposes on the way where a side's tile has its rows, not k, next to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from prism_mlir.codegen.builder import Int
from prism_mlir.codegen.kernel_state import KernelState
from prism_mlir.codegen.layout import Fragments, Scattered, Spread
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.footprint import Buffer, ScheduleError

_UNROLLED_STEPS = 8
_WORDS = {DType.F16: "vector<2xf16>", DType.BF16: "i32"}  # what one register of an operand is in nvvm
_MAX_REGISTERS = 160  # accumulators a thread can hold beside everything else, of 255 registers


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a product in shared memory: ``row`` is its m or n dim, ``k`` its contraction dim."""

    buffer: Buffer
    row: int
    k: int


def check_registers(spreads: Iterable[Spread]) -> None:
    """Raises :class:`ScheduleError` where all tiles held in registers together need more than a thread has."""
    total = sum(s.count for s in spreads)
    if total > _MAX_REGISTERS:
        raise ScheduleError(f"a thread would hold {total} accumulators, more than {_MAX_REGISTERS}")


def multiply(state: KernelState, node: int, spread: Spread, accumulators: Sequence[str]) -> list[str]:
    """``accumulators + A.B`` for matmul ``node``, whose operands must lie in shared memory."""
    a, b = (state.memory.buffers[state.placement.operands[node, position]] for position in range(2))
    state.touch({a.key, b.key}, set())
    rank = len(a.layout.extents)
    left, right = Operand(a, rank - 2, rank - 1), Operand(b, rank - 1, rank - 2)
    if isinstance(spread, Scattered):
        return _fused_multiply_add(state, spread, (left, right), accumulators)
    sides = (right, left) if spread.product.transposed else (left, right)
    return _tensor_core(state, spread, sides, accumulators)


def _tensor_core(
    state: KernelState, spread: Fragments, sides: tuple[Operand, Operand], accumulators: Sequence[str]
) -> list[str]:
    steps = -(-spread.product.k // 16)

    def step(k: Int, values: list[str]) -> list[str]:
        return _one_step(state, spread, sides, state.b.mul(k, 16), values)

    return state.b.loop(steps, step, [(v, "f32") for v in accumulators], unroll=_UNROLLED_STEPS)


def _one_step(
    state: KernelState, spread: Fragments, sides: tuple[Operand, Operand], k: Int, accumulators: list[str]
) -> list[str]:
    """One step of 16 along k: every fragment of both sides is read once, then all pairs are multiplied."""
    result = list(accumulators)
    tiles_p, tiles_q = spread.each_warp
    for batch in range(spread.product.batch):
        lead = state.b.unflatten(batch, spread.shape[:-2])
        p_parts = [_p_fragment(state, spread, sides[0], (lead, k), a) for a in range(tiles_p)]
        q_parts: list[list[str]] = []
        while len(q_parts) < tiles_q:
            q_parts += _q_fragments(state, spread, sides[1], (lead, k), len(q_parts), min(2, tiles_q - len(q_parts)))
        for a in range(tiles_p):
            for c in range(tiles_q):
                r = spread.register(batch, a, c)
                result[r : r + 4] = _mma(state, spread.product.dtype, p_parts[a], q_parts[c], result[r : r + 4])
    return result


def _mma(
    state: KernelState, dtype: DType, left: Sequence[str], right: Sequence[str], accumulators: Sequence[str]
) -> list[str]:
    """``mma.sync.aligned.m16n8k16.row.col.f32``: four registers, two registers and four f32 to four f32."""
    result = "!llvm.struct<(f32, f32, f32, f32)>"
    # nvgpu.mma.sync does not take bf16 (MLIR 22.1: "failed to deduce operand PTX types"); nvvm.mma.sync takes both.
    word = _WORDS[dtype]
    types = (
        "" if dtype is DType.F16 else "".join(f"multiplicand{side}PtxType = #nvvm.mma_type<{dtype}>, " for side in "AB")
    )
    done = state.b.effect(
        f"nvvm.mma.sync A[{', '.join(left)}] B[{', '.join(right)}] C[{', '.join(accumulators)}]"
        f" {{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, {types}"
        f"shape = #nvvm.shape<m = 16, n = 8, k = 16>}} : ({word}, {word}, f32) -> {result}"
    )
    return [state.b.pure(f"llvm.extractvalue {done}[{i}] : {result}") for i in range(4)]


Place = tuple[Sequence[Int], Int]  # batch coordinates, and where the step starts along k


def _p_fragment(state: KernelState, spread: Fragments, operand: Operand, place: Place, index: int) -> list[str]:
    """The 16x16 fragment of tile ``index`` of the 16-row side: two blocks of 8 rows, for each of two blocks of 8 along k."""
    b = state.b
    tile, _ = spread.tile(b, state.threads, index, 0)
    if spread.tiles[0] % spread.warps_p:
        tile = b.minimum(tile, spread.tiles[0] - 1)  # a warp without work reads the last tile
    matrix = b.rem(b.div(state.threads.lane, 8), 4)
    row = b.add(b.mul(tile, 16), b.mul(b.rem(matrix, 2), 8))
    return _ldmatrix(state, operand, place, (row, b.div(matrix, 2)), 4)


def _q_fragments(
    state: KernelState, spread: Fragments, operand: Operand, place: Place, index: int, count: int
) -> list[list[str]]:
    """The 16x8 fragments of one or two tiles, from ``index`` on, of the 8-column side: for each, two blocks of 8 along k."""
    b = state.b
    _, tile = spread.tile(b, state.threads, 0, index)
    matrix = b.rem(b.div(state.threads.lane, 8), 2 * count)
    tile = b.add(tile, b.mul(b.div(matrix, 2), spread.warps_q))
    if spread.tiles[1] % spread.warps_q:
        tile = b.minimum(tile, spread.tiles[1] - 1)
    words = _ldmatrix(state, operand, place, (b.mul(tile, 8), b.rem(matrix, 2)), 2 * count)
    return [words[2 * c : 2 * c + 2] for c in range(count)]


def _ldmatrix(state: KernelState, operand: Operand, place: Place, first: tuple[Int, Int], count: int) -> list[str]:
    """``count`` 8x8 matrices, one register each.

    Lane ``l`` gives the address of row ``l % 8`` of matrix ``l / 8``; ``first`` is the row at which the lane's matrix starts,
    and its block of 8 along k. Where rows, not k, lie next to each other, the matrix in memory is the transposed one.
    """
    b, (lead, start) = state.b, place
    turned, within = operand.buffer.layout.fastest == operand.row, b.rem(state.threads.lane, 8)
    coordinates: list[Int] = [*lead, 0, 0]
    coordinates[operand.row] = b.add(first[0], 0 if turned else within)
    coordinates[operand.k] = b.add(start, b.add(b.mul(first[1], 8), within if turned else 0))
    name, kind = state.view(operand.buffer)
    at = b.index(state.address(operand.buffer, coordinates, state.slot_of(operand.buffer)))
    dtype, transpose = operand.buffer.dtype, "true" if turned else "false"
    loaded = b.effect(
        f"nvgpu.ldmatrix {name}[{at}] {{numTiles = {count} : i32, transpose = {transpose}}}"
        f" : {kind} -> vector<{count}x2x{dtype}>"
    )
    whole = f"vector<{count}x2x{dtype}>"
    pairs = [b.pure(f"vector.extract {loaded}[{i}] : vector<2x{dtype}> from {whole}") for i in range(count)]
    return pairs if dtype is DType.F16 else [b.pure(f"llvm.bitcast {v} : vector<2x{dtype}> to i32") for v in pairs]


def _fused_multiply_add(
    state: KernelState, spread: Scattered, operands: tuple[Operand, Operand], accumulators: Sequence[str]
) -> list[str]:
    """Each thread computes its own elements of the result, one after another along k."""
    b, tag = state.b, state.new_site()
    places = [spread.pack(b, state.threads, j).coordinates for j in range(spread.count)]
    if prod(spread.shape) % spread.threads:  # a thread past the end computes the last element once more
        places = [tuple(b.minimum(c, n - 1) for c, n in zip(p, spread.shape, strict=True)) for p in places]

    def step(k: Int, values: list[str]) -> list[str]:
        result: list[str] = []
        for place, value in zip(places, values, strict=True):
            left = state.load(operands[0].buffer, (*place[:-1], k), 1, tag)
            right = state.load(operands[1].buffer, (*place[:-2], k, place[-1]), 1, tag)
            result.append(state.math.fma(left[0], right[0], value))
        return result

    return b.loop(spread.product.k, step, [(v, "f32") for v in accumulators], unroll=_UNROLLED_STEPS)
