"""Addresses of tile elements in shared memory, and which thread holds which element of a product.

Fragment layouts are those of ``mma.m16n8k16`` (PTX ISA, "Matrix Fragments for mma.m16n8k16"): with lane ``l``, ``g = l / 4`` and
``t = l % 4``, accumulator register ``2i + j`` holds row ``g + 8i``, column ``2t + j``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from prism_mlir.codegen.builder import Bool, Builder, Int, parts
from prism_mlir.graph.footprint import Product
from prism_mlir.graph.ops import Shape
from prism_mlir.graph.tile_layout import TileLayout


@dataclass(frozen=True, slots=True)
class Threads:
    """The thread's place in its block, as SSA names."""

    count: int
    thread: str
    lane: Int
    warp: Int

    @property
    def warps(self) -> int:
        return self.count // 32

    @staticmethod
    def read(b: Builder, count: int) -> Threads:
        thread = b.pure(f"arith.index_castui {b.pure('gpu.thread_id x')} : index to i32")
        warp = b.div(thread, 32) if count > 32 else 0
        return Threads(count, thread, b.rem(thread, 32) if count > 32 else thread, warp)


def element_offset(b: Builder, layout: TileLayout, coordinates: Sequence[Int]) -> Int:
    """Where an element lies, in elements from the tile's start (the emitted twin of ``TileLayout.element``)."""
    row: Int = 0
    for d in layout.order[:-1]:
        row = b.add(b.mul(row, layout.extents[d]), coordinates[d] if layout.extents[d] > 1 else 0)
    column = coordinates[layout.fastest] if layout.columns > 1 else 0
    swizzle = layout.swizzle
    if swizzle is None:
        return b.add(b.mul(row, layout.pitch), column)
    key = b.mul(b.rem(b.div(row, 1 << swizzle.shift), swizzle.mask + 1), swizzle.step)
    varying, number = parts(b.div(column, layout.chunk))
    low = number % swizzle.chunks  # only these bits of the number are exchanged
    chunk = b.add(b.xor(b.add(varying, low), key), number - low)
    return b.add(b.add(b.mul(row, layout.pitch), b.mul(chunk, layout.chunk)), b.rem(column, layout.chunk))


@dataclass(frozen=True, slots=True)
class Pack:
    """Neighbouring elements of a tile that one thread evaluates together.

    coordinates: of the first; the others follow along the last dim
    width:       how many
    valid:       whether the thread has this pack at all
    registers:   where the distribution's registers hold them
    """

    coordinates: tuple[Int, ...]
    width: int
    valid: Bool
    registers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Linear:
    """Packs of ``width`` elements dealt to threads in row-major order."""

    shape: Shape
    width: int

    @staticmethod
    def of(shape: Shape, threads: int, widest: int = 8) -> Linear:
        """The widest packs that divide the last dim and leave no thread without one, if that is possible."""
        widths = [w for w in (8, 4, 2, 1) if w <= widest and shape[-1] % w == 0]
        enough = [w for w in widths if prod(shape) // w >= threads]
        return Linear(shape, (enough or [widths[0]])[0])

    def each(self, b: Builder, threads: Threads, body: Callable[[Pack], None]) -> None:
        """Call ``body`` for every pack of this thread."""
        inner = (*self.shape[:-1], self.shape[-1] // self.width)
        total = prod(inner)
        rounds = -(-total // threads.count)

        def one(j: Int, _: list[str]) -> list[str]:
            flat = b.add(threads.thread, b.mul(j, threads.count))
            whole = total % threads.count == 0 or (isinstance(j, int) and (j + 1) * threads.count <= total)
            valid = True if whole else b.less(flat, total)
            *lead, last = b.unflatten(flat, inner)
            pack = Pack((*lead, b.mul(last, self.width)), self.width, valid)
            b.when(valid, lambda: body(pack))
            return []

        b.loop(rounds, one, unroll=4)


@dataclass(frozen=True)
class Fragments:
    """The accumulators of a product on tensor cores, spread over a grid of ``warps_p x warps_q`` warps.

    Warp ``(i, j)`` holds the 16x8 tiles ``(i + a * warps_p, j + c * warps_q)``; the 16-row side is m (n in the transposed form).
    """

    product: Product
    shape: Shape
    warps: int

    @property
    def sides(self) -> tuple[int, int]:
        return self.product.sides

    @property
    def tiles(self) -> tuple[int, int]:
        return self.product.fragments

    @cached_property
    def _grid(self) -> tuple[int, int]:
        return self.product.warp_grid(self.warps)

    @property
    def warps_p(self) -> int:
        return self._grid[0]

    @property
    def warps_q(self) -> int:
        return self._grid[1]

    @property
    def each_warp(self) -> tuple[int, int]:
        """Tiles along both sides that a warp holds."""
        return -(-self.tiles[0] // self.warps_p), -(-self.tiles[1] // self.warps_q)

    @property
    def count(self) -> int:
        """Registers a thread holds."""
        return self.product.accumulators(self.warps)

    def register(self, batch: int, a: int, c: int) -> int:
        """The first of the four registers of a tile."""
        return ((batch * self.each_warp[0] + a) * self.each_warp[1] + c) * 4

    def tile(self, b: Builder, threads: Threads, a: int, c: int) -> tuple[Int, Int]:
        """Tile coordinates; those of a warp without work lie past the end."""
        i, j = b.rem(threads.warp, self.warps_p), b.div(threads.warp, self.warps_p)
        return b.add(i, a * self.warps_p), b.add(j, c * self.warps_q)

    def each(self, b: Builder, threads: Threads, body: Callable[[Pack], None], guarded: bool = True) -> None:
        """Call ``body`` for every pack of this thread: two neighbours in the normal form, one in the transposed.

        Without guards, packs that lie past the tile are moved inside, and ``body`` is called for them too.
        """
        for pack in self._packs(b, threads):
            _visit(b, pack if guarded else _moved_inside(b, pack, self.shape), body, guarded)

    def every(self, b: Builder, threads: Threads) -> list[tuple[Pack, Bool]]:
        """Every pack of this thread, moved inside the tile where it lies past it, and whether it does not."""
        return [(_moved_inside(b, pack, self.shape), pack.valid) for pack in self._packs(b, threads)]

    def _packs(self, b: Builder, threads: Threads) -> Iterator[Pack]:
        g, t2 = b.div(threads.lane, 4), b.mul(b.rem(threads.lane, 4), 2)
        for batch in range(self.product.batch):
            lead = b.unflatten(batch, self.shape[:-2])
            for a in range(self.each_warp[0]):
                for c in range(self.each_warp[1]):
                    tile_p, tile_q = self.tile(b, threads, a, c)
                    first = self.register(batch, a, c)
                    for i in range(2):
                        row = b.add(b.mul(tile_p, 16), b.add(g, 8 * i))
                        yield from self._row(b, lead, row, b.add(b.mul(tile_q, 8), t2), first + 2 * i)

    def _row(self, b: Builder, lead: Sequence[Int], p: Int, q: Int, register: int) -> list[Pack]:
        width = 1 if self.product.transposed or self.sides[1] % 2 else 2
        packs: list[Pack] = []
        for j in range(0, 2, width):
            column = b.add(q, j)
            valid = b.both(self.inside(b, p, 0), self.inside(b, column, 1))
            row_column = (column, p) if self.product.transposed else (p, column)
            packs.append(Pack((*lead, *row_column), width, valid, tuple(range(register + j, register + j + width))))
        return packs

    def inside(self, b: Builder, coordinate: Int, side: int) -> Bool:
        """Whether a coordinate along a side lies in the tile; ``True`` where all that warps hold does."""
        covered = self.tiles[side] * (16, 8)[side]
        warps = (self.warps_p, self.warps_q)[side]
        exact = covered == self.sides[side] and self.tiles[side] % warps == 0
        return True if exact else b.less(coordinate, self.sides[side])


@dataclass(frozen=True)
class Scattered:
    """The accumulators of a product without tensor cores: elements dealt to threads in row-major order."""

    product: Product
    shape: Shape
    threads: int

    @property
    def count(self) -> int:
        return self.product.accumulators(self.threads // 32)

    def each(self, b: Builder, threads: Threads, body: Callable[[Pack], None], guarded: bool = True) -> None:
        """Call ``body`` for every element of this thread; see :meth:`Fragments.each`."""
        for j in range(self.count):
            pack = self.pack(b, threads, j)
            _visit(b, pack if guarded else _moved_inside(b, pack, self.shape), body, guarded)

    def pack(self, b: Builder, threads: Threads, j: int) -> Pack:
        flat = b.add(threads.thread, j * self.threads)
        valid: Bool = True if (j + 1) * self.threads <= prod(self.shape) else b.less(flat, prod(self.shape))
        return Pack(tuple(b.unflatten(flat, self.shape)), 1, valid, (j,))


def _visit(b: Builder, pack: Pack, body: Callable[[Pack], None], guarded: bool) -> None:
    b.when(pack.valid if guarded else True, lambda: body(pack))


def _moved_inside(b: Builder, pack: Pack, shape: Shape) -> Pack:
    """The pack, or where it lies past the tile, one inside of it that some thread has anyway."""
    if pack.valid is True:
        return pack
    widths = (*(1 for _ in shape[:-1]), pack.width)
    inside = tuple(b.minimum(c, n - w) for c, n, w in zip(pack.coordinates, shape, widths, strict=True))
    return Pack(inside, pack.width, True, pack.registers)


Spread = Fragments | Scattered  # how the tile of a product lies in registers


def spread_of(product: Product, shape: Shape, warps: int) -> Spread:
    """How a result tile of a product is spread over the registers of a block."""
    return Fragments(product, shape, warps) if product.on_tensor_cores else Scattered(product, shape, warps * 32)
