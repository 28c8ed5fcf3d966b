"""Which thread holds which element: with known lane and warp the emitter folds to numbers, which are counted here."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod

import pytest

from prism_mlir.codegen.builder import Builder
from prism_mlir.codegen.layout import Fragments, Linear, Pack, Scattered, Threads
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.footprint import Product

SHAPES = [(8, 64), (16, 64), (1, 8), (3, 20), (40, 24), (2, 16, 32), (2, 3, 7, 9), (128, 64)]
WARPS = [1, 2, 4, 6, 8]


def packs_of(distribution: Fragments | Scattered | Linear, warps: int, warp: int, lane: int) -> list[Pack]:
    found: list[Pack] = []
    threads = Threads(warps * 32, warp * 32 + lane, lane, warp)  # type: ignore[arg-type]  # a number folds
    distribution.each(Builder(), threads, found.append)
    return found


def held(distribution: Fragments | Scattered | Linear, warps: int) -> Counter[tuple[int, ...]]:
    """How often each element is held by the block."""
    found: Counter[tuple[int, ...]] = Counter()
    for warp, lane in product(range(warps), range(32)):
        for pack in packs_of(distribution, warps, warp, lane):
            *lead, last = pack.coordinates
            assert all(isinstance(c, int) for c in pack.coordinates)
            found.update((*lead, last + k) for k in range(pack.width))  # type: ignore[operator]
    return found


def once(shape: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    return Counter(product(*(range(n) for n in shape)))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("warps", WARPS)
def test_fragments_hold_every_element_once(shape: tuple[int, ...], warps: int) -> None:
    spread = Fragments(Product.of(shape, 16, DType.F16), shape, warps)
    assert held(spread, warps) == once(shape)


@pytest.mark.parametrize("shape", SHAPES[:-1], ids=str)
@pytest.mark.parametrize("warps", [1, 4, 6])
def test_scattered_elements_are_held_once(shape: tuple[int, ...], warps: int) -> None:
    assert held(Scattered(Product.of(shape, 16, DType.F32), shape, warps * 32), warps) == once(shape)


@pytest.mark.parametrize("shape", [(8, 64), (1, 8), (3, 20), (2, 3, 5), (7,)], ids=str)
@pytest.mark.parametrize("warps", [1, 4])
def test_linear_packs_cover_every_element_once(shape: tuple[int, ...], warps: int) -> None:
    linear = Linear.of(shape, warps * 32)
    if prod(shape) // linear.width > 4 * warps * 32:
        pytest.skip("a loop is emitted, nothing to fold")
    assert shape[-1] % linear.width == 0
    assert held(linear, warps) == once(shape)


def test_registers_are_those_of_the_tensor_core() -> None:
    """PTX ISA, m16n8k16: register 2i + j of lane 4g + t is row g + 8i, column 2t + j."""
    normal = Fragments(Product.of((16, 8), 16, DType.F16), (16, 8), 1)
    turned = Fragments(Product.of((8, 16), 16, DType.F16), (8, 16), 1)
    assert not normal.product.transposed and turned.product.transposed
    for lane in range(32):
        g, t = lane // 4, lane % 4
        expected = {2 * i + j: (g + 8 * i, 2 * t + j) for i, j in product(range(2), range(2))}
        found = {}
        for pack in packs_of(normal, 1, 0, lane):
            row, column = pack.coordinates
            found |= {r: (row, column + k) for k, r in enumerate(pack.registers)}  # type: ignore[operator]
        assert found == expected
        mirrored = {p.registers[0]: p.coordinates[::-1] for p in packs_of(turned, 1, 0, lane)}
        assert mirrored == expected


def test_warps_share_a_large_tile_as_squarely_as_they_can() -> None:
    """128 x 128 by 8 warps: 8 x 16 tiles; 4 x 2 warps read 2 + 8 fragments for 16 products, 8 x 1 would read 1 + 16."""
    spread = Fragments(Product.of((128, 128), 16, DType.F16), (128, 128), 8)
    assert (spread.warps_p, spread.warps_q, spread.each_warp) == (4, 2, (2, 8))


def test_a_thin_tile_leaves_no_warp_idle() -> None:
    spread = Fragments(Product.of((8, 64), 16, DType.F16), (8, 64), 4)
    assert (spread.warps_p, spread.warps_q, spread.each_warp) == (4, 1, (1, 1))


def test_packs_past_the_tile_are_moved_inside_without_guards() -> None:
    spread = Fragments(Product.of((20, 12), 16, DType.F16), (20, 12), 2)
    for warp, lane in product(range(2), range(32)):
        found: list[Pack] = []
        spread.each(Builder(), Threads(64, "", lane, warp), found.append, guarded=False)
        assert {r for p in found for r in p.registers} == set(range(spread.count))
        assert all(0 <= c < n for p in found for c, n in zip(p.coordinates, (20, 12), strict=True))  # type: ignore[operator]
