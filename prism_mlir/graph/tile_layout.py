"""How a tile lies in shared memory: order of dims, padding, and the swizzle that keeps bank conflicts away.

Shared memory serves 128 bytes a cycle, eight 16-byte chunks. ``ldmatrix`` reads one chunk from each of eight consecutive
rows, so those eight chunks must lie in different columns of the 128-byte line. A row of ``c`` chunks is therefore stored with
its chunks permuted by XOR with some bits of the row number where ``c`` allows it, and padded to an odd ``c`` elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod

from prism_mlir.graph.ops import Shape

CHUNK_BYTES = 16
_CHUNKS_A_LINE = 8


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Chunk ``c`` of row ``r`` is stored as chunk ``c ^ (((r >> shift) & mask) * step)``; all three sizes are powers of two, less
    one for the mask."""

    shift: int
    mask: int
    step: int = 1

    @property
    def chunks(self) -> int:
        """Chunks that trade places among themselves."""
        return (self.mask + 1) * self.step


@dataclass(frozen=True)
class TileLayout:
    """The layout of one tile.

    extents:       elements along each logical dim, padding included
    order:         logical dims from slowest to fastest; all but the last form the row number
    element_bytes: bytes an element takes
    paired:        chunks trade places in pairs: f32 tiles of which the lanes of a product in the normal form read two neighbours
                   each, 32 bytes of a row and four rows at a time
    """

    extents: Shape
    order: tuple[int, ...]
    element_bytes: int
    paired: bool = False

    @staticmethod
    def row_major(extents: Shape, element_bytes: int, paired: bool = False) -> TileLayout:
        return TileLayout(extents, tuple(range(len(extents))), element_bytes, paired)

    @property
    def fastest(self) -> int:
        """The logical dim whose neighbours lie next to each other."""
        return self.order[-1]

    @cached_property
    def rows(self) -> int:
        return prod(self.extents[d] for d in self.order[:-1])

    @property
    def columns(self) -> int:
        return self.extents[self.fastest]

    @property
    def chunk(self) -> int:
        """Elements in 16 bytes."""
        return CHUNK_BYTES // self.element_bytes

    @cached_property
    def swizzle(self) -> Swizzle | None:
        """The permutation of chunks; ``None`` where rows are stored in order."""
        chunks, rest = divmod(self.columns, self.chunk)
        if rest or self.rows == 1 or chunks == 1:
            return None
        if self.paired and chunks % _CHUNKS_A_LINE == 0:
            return Swizzle(0, _CHUNKS_A_LINE // 2 - 1, 2)
        if self.paired and chunks == _CHUNKS_A_LINE // 2:
            return Swizzle(1, 1, 2)
        if chunks % _CHUNKS_A_LINE == 0:
            return Swizzle(0, _CHUNKS_A_LINE - 1)
        if chunks in (2, 4):
            return Swizzle({2: 2, 4: 1}[chunks], chunks - 1)
        return None

    @cached_property
    def pitch(self) -> int:
        """Elements from one row to the next."""
        chunks, rest = divmod(self.columns, self.chunk)
        if rest or self.rows == 1 or self.swizzle is not None:
            return self.columns
        return (chunks | 1) * self.chunk

    @property
    def elements(self) -> int:
        return self.rows * self.pitch

    @cached_property
    def bytes(self) -> int:
        """Bytes of the tile, rounded up to whole 128-byte lines so that every buffer starts on one."""
        return -(-self.elements * self.element_bytes // 128) * 128

    def stride(self, dim: int) -> int:
        """Elements by which an address grows along a dim, from one multiple of its period to the next, for each step."""
        if dim == self.fastest:
            return 1
        return self._rows_a_step(dim) * self.pitch

    def period(self, dim: int) -> int:
        """Steps along a dim after which the permutation of chunks is the same again."""
        swizzle = self.swizzle
        if swizzle is None:
            return 1
        if dim == self.fastest:
            return self.chunk * swizzle.chunks
        rows = (swizzle.mask + 1) << swizzle.shift
        return rows // gcd(rows, self._rows_a_step(dim))

    def _rows_a_step(self, dim: int) -> int:
        outer = self.order[:-1]
        return prod(self.extents[d] for d in outer[outer.index(dim) + 1 :])

    def element(self, coordinates: Shape) -> int:
        """Where an element lies, in elements from the start: the model that emitted code is tested against."""
        row = 0
        for d in self.order[:-1]:
            row = row * self.extents[d] + coordinates[d]
        column = coordinates[self.fastest]
        if self.swizzle is not None:
            chunk = column // self.chunk ^ (row >> self.swizzle.shift & self.swizzle.mask) * self.swizzle.step
            column = chunk * self.chunk + column % self.chunk
        return row * self.pitch + column
