"""Products of two tiles: ``mma.sync.m16n8k16`` with f32 accumulators, or fused multiply-add for f32 tensors.

The tensor core multiplies a 16-row side by an 8-column side. In the normal form ``C = A.B`` the rows of A are the 16-row side; in
the transposed form ``C^T = B^T.A^T`` the columns of B are, so that eight or fewer rows of A waste nothing. Both sides are read by
``ldmatrix``, which transposes on the way where a side's tile has its rows, not k, next to each other. f32 operands that may be
rounded to tf32 are read element by element: ``ldmatrix`` moves 16 bits.
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
    """Steps of 16 along k, eight of them written out. The permutation of chunks has come round after that many, so that from one
    turn of the loop to the next all addresses grow by the same."""
    steps, values = -(-spread.product.k // 16), list(accumulators)
    turns = steps // _UNROLLED_STEPS if steps > _UNROLLED_STEPS else 0

    def some(turn: Int, first: int, last: int, values: list[str]) -> list[str]:
        together = 2 if spread.each_warp[1] == 1 else 1
        for step in range(first, last, together):
            values = _steps(state, spread, sides, (turn, step * 16), min(together, last - step), values)
        return values

    carried = [(v, "f32") for v in values]
    values = state.b.loop(turns, lambda k, held: some(k, 0, _UNROLLED_STEPS, held), carried, unroll=1)
    return some(0, turns * _UNROLLED_STEPS, steps, values)


def _steps(
    state: KernelState,
    spread: Fragments,
    sides: tuple[Operand, Operand],
    k: Along,
    count: int,
    accumulators: list[str],
) -> list[str]:
    """One or two steps of 16 along k: every fragment of both sides is read once, then all pairs are multiplied."""
    result = list(accumulators)
    tiles_p, tiles_q = spread.each_warp
    for batch in range(spread.product.batch):
        lead = state.b.unflatten(batch, spread.shape[:-2])
        q_parts = _q_side(state, spread, sides[1], (lead, k), count)
        for step in range(count):
            place = (lead, (k[0], k[1] + 16 * step))
            p_parts = [_p_fragment(state, spread, sides[0], place, a) for a in range(tiles_p)]
            for a in range(tiles_p):
                for c in range(tiles_q):
                    r, q = spread.register(batch, a, c), q_parts[step * tiles_q + c]
                    result[r : r + 4] = _mma(state, spread.product.dtype, p_parts[a], q, result[r : r + 4])
    return result


def _mma(
    state: KernelState, dtype: DType, left: Sequence[str], right: Sequence[str], accumulators: Sequence[str]
) -> list[str]:
    """``mma.sync.aligned.m16n8k16.row.col.f32``: four registers, two registers and four f32 to four f32.

    Of tf32 an instruction has a depth of 8, and two take as many registers each.
    """
    if dtype is DType.F32:
        for half in range(2):
            a, b = left[4 * half : 4 * half + 4], right[2 * half : 2 * half + 2]
            accumulators = _one_mma(state, ("tf32", 8), "i32", a, b, accumulators)
        return list(accumulators)
    return _one_mma(state, (dtype, 16), _WORDS[dtype], left, right, accumulators)


def _one_mma(
    state: KernelState,
    kind: tuple[str, int],
    word: str,
    left: Sequence[str],
    right: Sequence[str],
    accumulators: Sequence[str],
) -> list[str]:
    """One instruction. kind: element type, and the depth."""
    dtype, depth = kind
    result = "!llvm.struct<(f32, f32, f32, f32)>"
    # nvgpu.mma.sync does not take bf16 (MLIR 22.1: "failed to deduce operand PTX types"); nvvm.mma.sync takes both.
    types = (
        "" if dtype == DType.F16 else "".join(f"multiplicand{side}PtxType = #nvvm.mma_type<{dtype}>, " for side in "AB")
    )
    done = state.b.effect(
        f"nvvm.mma.sync A[{', '.join(left)}] B[{', '.join(right)}] C[{', '.join(accumulators)}]"
        f" {{layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, {types}"
        f"shape = #nvvm.shape<m = 16, n = 8, k = {depth}>}} : ({word}, {word}, f32) -> {result}"
    )
    return [state.b.pure(f"llvm.extractvalue {done}[{i}] : {result}") for i in range(4)]


Along = tuple[Int, int]  # where a step starts along k: the turn of the loop, and elements from there
Place = tuple[Sequence[Int], Along]  # batch coordinates, and where the step starts


def _p_fragment(state: KernelState, spread: Fragments, operand: Operand, place: Place, index: int) -> list[str]:
    """The 16x16 fragment of tile ``index`` of the 16-row side: two blocks of 8 rows, for each of two blocks of 8 along k."""
    b = state.b
    tile, _ = spread.tile(b, state.threads, index, 0)
    if spread.tiles[0] % spread.warps_p:
        tile = b.minimum(tile, spread.tiles[0] - 1)  # a warp without work reads the last tile
    if spread.product.tf32:
        g = b.div(state.threads.lane, 4)
        rows = [b.add(b.mul(tile, 16), b.add(g, shift)) for shift in (0, 8)]
        return _tf32_words(state, operand, place, rows)
    matrix = b.rem(b.div(state.threads.lane, 8), 4)
    row = b.add(b.mul(tile, 16), b.mul(b.rem(matrix, 2), 8))
    return _ldmatrix(state, operand, place, (row, b.div(matrix, 2)), 4)


def _q_side(state: KernelState, spread: Fragments, operand: Operand, place: Place, steps: int) -> list[list[str]]:
    """The 16x8 fragments of the 8-column side: of all tiles of a warp in one step, or of its only tile in two.

    One read brings up to four blocks of 8x8: of two tiles, or of two steps, two blocks along k each.
    """
    tiles = spread.each_warp[1]
    if spread.product.tf32:
        return [_tf32_column(state, spread, operand, place, (c, step)) for step in range(steps) for c in range(tiles)]
    if steps > 1:
        return _q_fragments(state, spread, operand, place, (0, 1, steps))
    found: list[list[str]] = []
    while len(found) < tiles:
        found += _q_fragments(state, spread, operand, place, (len(found), min(2, tiles - len(found)), 1))
    return found


def _q_fragments(
    state: KernelState, spread: Fragments, operand: Operand, place: Place, which: tuple[int, int, int]
) -> list[list[str]]:
    """Fragments of ``which``: the first tile, how many tiles, and how many steps; one of the numbers is 1."""
    b, (index, tiles, steps) = state.b, which
    _, tile = spread.tile(b, state.threads, 0, index)
    matrix = b.rem(b.div(state.threads.lane, 8), 2 * tiles * steps)
    if tiles > 1:
        tile = b.add(tile, b.mul(b.div(matrix, 2), spread.warps_q))
    if spread.tiles[1] % spread.warps_q:
        tile = b.minimum(tile, spread.tiles[1] - 1)
    words = _ldmatrix(state, operand, place, (b.mul(tile, 8), b.rem(matrix, 2 * steps)), 2 * tiles * steps)
    return [words[2 * c : 2 * c + 2] for c in range(tiles * steps)]


def _tf32_column(
    state: KernelState, spread: Fragments, operand: Operand, place: Place, which: tuple[int, int]
) -> list[str]:
    """The 16x8 fragment of tile ``which[0]`` of the 8-column side, ``which[1]`` steps further along k."""
    b, (lead, (turn, start)) = state.b, place
    _, tile = spread.tile(b, state.threads, 0, which[0])
    if spread.tiles[1] % spread.warps_q:
        tile = b.minimum(tile, spread.tiles[1] - 1)
    rows = [b.add(b.mul(tile, 8), b.div(state.threads.lane, 4))]
    return _tf32_words(state, operand, (lead, (turn, start + 16 * which[1])), rows)


def _tf32_words(state: KernelState, operand: Operand, place: Place, rows: Sequence[Int]) -> list[str]:
    """Elements of two steps of 8 along k, rounded to tf32: of each step for k = t and then t + 4 those of all rows, in the order
    of "Matrix Fragments for mma.m16n8k8" (PTX ISA). There is no ``ldmatrix`` for 32 bits."""
    b, (lead, (turn, start)) = state.b, place
    name, kind = _view(state, operand, turn)
    found = []
    for shift in (0, 4, 8, 12):
        for row in rows:
            coordinates: list[Int] = [*lead, 0, 0]
            coordinates[operand.row] = row
            coordinates[operand.k] = b.add(b.rem(state.threads.lane, 4), start + shift)
            value = b.effect(f"memref.load {name}[{state.element(operand.buffer, coordinates)}] : {kind}")
            found.append(b.pure(f"nvvm.convert.float.to.tf32 {value} {{rnd = #nvvm.fp_rnd_mode<rna>}}"))
    return found


def _view(state: KernelState, operand: Operand, turn: Int) -> tuple[str, str]:
    """An operand's buffer from where a turn of the loop starts along k, as a memref, and its type."""
    layout = operand.buffer.layout
    passed = state.b.mul(turn, 16 * _UNROLLED_STEPS * layout.stride(operand.k) * layout.element_bytes)
    return state.view(operand.buffer, state.slot_of(operand.buffer), passed)


def _ldmatrix(state: KernelState, operand: Operand, place: Place, first: tuple[Int, Int], count: int) -> list[str]:
    """``count`` 8x8 matrices, one register each.

    Lane ``l`` gives the address of row ``l % 8`` of matrix ``l / 8``; ``first`` is the row at which the lane's matrix starts,
    and its block of 8 along k. Where rows, not k, lie next to each other, the matrix in memory is the transposed one.
    """
    b, (lead, (turn, start)) = state.b, place
    turned, within = operand.buffer.layout.fastest == operand.row, b.rem(state.threads.lane, 8)
    coordinates: list[Int] = [*lead, 0, 0]
    coordinates[operand.row] = b.add(first[0], 0 if turned else within)
    coordinates[operand.k] = b.add(start, b.add(b.mul(first[1], 8), within if turned else 0))
    name, kind = _view(state, operand, turn)
    at = state.element(operand.buffer, coordinates)
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
