"""Layouts in shared memory: every element has a place of its own, and ldmatrix finds eight rows in eight bank groups."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from operator import add, floordiv, mod, mul, xor

import pytest

from prism_mlir.codegen.builder import Builder, parts
from prism_mlir.codegen.layout import element_offset
from prism_mlir.graph.tile_layout import TileLayout

LAYOUTS = [
    TileLayout(extents, order, size, paired)
    for extents, order in [
        ((8, 64), (0, 1)),
        ((64, 8), (0, 1)),
        ((16, 16), (0, 1)),
        ((24, 32), (0, 1)),
        ((16, 24), (0, 1)),  # three chunks a row: no power of two
        ((16, 96), (0, 1)),  # twelve: padded to thirteen
        ((16, 128), (1, 0)),
        ((3, 16, 64), (0, 1, 2)),
        ((3, 64, 16), (0, 2, 1)),
        ((7, 5), (0, 1)),
        ((1, 40), (0, 1)),
        ((5,), (0,)),
    ]
    for size, paired in ((2, False), (4, False), (4, True))
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda t: f"{t.extents}-{t.order}-{t.element_bytes}-{t.paired}")
def test_elements_have_places_of_their_own(layout: TileLayout) -> None:
    places = [layout.element(c) for c in product(*(range(e) for e in layout.extents))]
    assert len(set(places)) == prod(layout.extents)
    assert max(places) < layout.elements
    assert layout.elements * layout.element_bytes <= layout.bytes
    assert layout.bytes % 128 == 0


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda t: f"{t.extents}-{t.order}-{t.element_bytes}-{t.paired}")
def test_emitted_address_is_the_models(layout: TileLayout) -> None:
    """With known coordinates the builder folds the address to a number."""
    for c in product(*(range(0, e, max(1, e // 9)) for e in layout.extents)):
        assert element_offset(Builder(), layout, c) == layout.element(c)


def run(lines: str, values: dict[str, int]) -> dict[str, int]:
    """Evaluate emitted integer arithmetic."""
    does = {"addi": add, "muli": mul, "divui": floordiv, "remui": mod, "xori": xor}
    known = dict(values)
    for name, op, rest in re.findall(r"(%v\d+) = arith\.(\w+) (.*) : \w+", lines):
        if op == "constant":
            known[name] = int(rest)
        else:
            a, b = re.findall(r"%\w+", rest)
            known[name] = does[op](known[a], known[b])
    return known


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda t: f"{t.extents}-{t.order}-{t.element_bytes}-{t.paired}")
def test_numbers_added_to_coordinates_end_as_offsets(layout: TileLayout) -> None:
    """Coordinates ``name + number``: the emitted arithmetic gives the model's address, and whole periods of the permutation stay
    outside of it."""
    for numbers in product(*({0, layout.period(d), 5 % e, e // 2} for d, e in enumerate(layout.extents))):
        b = Builder()
        names = [f"%c{d}" for d in range(len(numbers))]
        coordinates = [b.add(name, number) for name, number in zip(names, numbers, strict=True)]
        offset = element_offset(b, layout, coordinates)
        for rest in product(
            *(
                {0, 1 % (e - n), (e - n) // 2, e - n - 1} if e > n else ()
                for e, n in zip(layout.extents, numbers, strict=True)
            )
        ):
            expected = layout.element(tuple(map(add, numbers, rest)))
            known = run(b.text, dict(zip(names, rest, strict=True)))
            assert (known[offset] if isinstance(offset, str) else offset) == expected
        if all(n % layout.period(d) == 0 for d, n in enumerate(numbers)):
            assert parts(offset)[1] == sum(n * layout.stride(d) for d, n in enumerate(numbers) if layout.extents[d] > 1)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda t: f"{t.extents}-{t.order}-{t.element_bytes}-{t.paired}")
def test_addresses_grow_evenly_from_period_to_period(layout: TileLayout) -> None:
    for d, extent in enumerate(layout.extents):
        period = layout.period(d)
        assert 128 % period == 0  # eight steps of 16 along k are whole periods
        for c in product(*(range(e) for e in layout.extents)):
            if c[d] + period < extent:
                later = tuple(v + period * (k == d) for k, v in enumerate(c))
                assert layout.element(later) - layout.element(c) == period * layout.stride(d)


@pytest.mark.parametrize("layout", [t for t in LAYOUTS if t.columns % t.chunk == 0], ids=lambda t: str(t.extents))
def test_chunks_stay_whole_and_aligned(layout: TileLayout) -> None:
    for c in product(*(range(e) for e in layout.extents)):
        first = tuple(v - v % layout.chunk if d == layout.fastest else v for d, v in enumerate(c))
        assert layout.element(first) % layout.chunk == 0
        assert layout.element(c) == layout.element(first) + c[layout.fastest] % layout.chunk


@pytest.mark.parametrize(
    ("rows", "columns"), [(16, 8), (16, 16), (16, 24), (16, 32), (64, 40), (64, 64), (16, 96), (64, 128), (32, 1024)]
)
def test_eight_rows_lie_in_eight_bank_groups(rows: int, columns: int) -> None:
    """Shared memory has 32 banks of 4 bytes: eight groups of 16. ldmatrix reads 16 bytes of rows r .. r+7 at a time."""
    layout = TileLayout.row_major((rows, columns), 2)
    for row, chunk in product(range(0, rows, 8), range(columns // 8)):
        addresses = [layout.element((row + r, chunk * 8)) * 2 for r in range(8)]
        assert len({a // 16 % 8 for a in addresses}) == 8


@pytest.mark.parametrize("columns", [16, 32, 64, 96, 256])
def test_pairs_of_a_fragment_lie_in_banks_of_their_own(columns: int) -> None:
    """8 bytes a lane are served for sixteen lanes at a time: four rows, four pairs of neighbours each (lane = 4 g + t)."""
    layout = TileLayout.row_major((16, columns), 4, True)
    for row, column in product(range(0, 16, 4), range(0, columns, 8)):
        places = [layout.element((row + g, column + 2 * t)) for g in range(4) for t in range(4)]
        assert len({place % 32 for place in places}) == 16 and all(place % 2 == 0 for place in places)
