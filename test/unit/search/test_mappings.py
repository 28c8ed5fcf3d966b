"""Mapping enumeration against brute force over all Booleans, and the worked example of Figure 1."""

from __future__ import annotations

from itertools import permutations, product

import pytest

from prism_mlir.graph.errors import InputError
from prism_mlir.search.mappings import SpaceCounts, count_space

FIGURE_1 = [("X", 2, True), ("W", 2, True), ("O", 2, False)]
MATCHED = [(("X", 1), ("W", 0))]


def brute_force(
    tensors: list[tuple[str, int, bool]], grid: str, equal: list[tuple[tuple[str, int], tuple[str, int]]]
) -> SpaceCounts:
    """All 2**n assignments, filtered by the paper's constraints one after the other."""
    variables = [(t, d, p) for t, rank, loop in tensors for d in range(rank) for p in grid + ("i" if loop else "")]
    raw = well_formed = 0
    matched: set[tuple[int, ...]] = set()
    for bits in product((0, 1), repeat=len(variables)):
        raw += 1
        m = dict(zip(variables, bits, strict=True))
        if any(
            sum(m[t, d, p] for d in range(rank)) > 1 for t, rank, loop in tensors for p in grid + ("i" if loop else "")
        ) or any(sum(m[t, d, p] for p in grid) > 1 for t, rank, _ in tensors for d in range(rank)):
            continue
        well_formed += 1
        if all(m[(*a, p)] == m[(*b, p)] for a, b in equal for p in grid + "i"):
            matched.add(bits)

    def renamed(bits: tuple[int, ...], order: tuple[str, ...]) -> tuple[int, ...]:
        m = dict(zip(variables, bits, strict=True))
        new = dict(zip(grid, order, strict=True))
        return tuple(m[t, d, new.get(p, p)] for t, d, p in variables)

    canonical = {min(renamed(bits, order) for order in permutations(grid)) for bits in matched}
    return SpaceCounts(raw, well_formed, len(matched), len(canonical))


def test_figure_1_anchor() -> None:
    """The blog's worked example, exactly."""
    assert count_space(FIGURE_1, ("x", "y"), "i", MATCHED) == SpaceCounts(65_536, 3_087, 595, 300)


@pytest.mark.parametrize(
    ("tensors", "grid", "equal"),
    [
        (FIGURE_1, "x", MATCHED),
        ([("A", 2, True), ("O", 2, False)], "xy", [(("A", 0), ("A", 1))]),
        ([("A", 1, True), ("B", 2, True), ("O", 1, False)], "xyz", [(("A", 0), ("B", 1))]),
        ([("Q", 3, True), ("O", 1, False)], "xy", []),
    ],
)
def test_counts_equal_brute_force(
    tensors: list[tuple[str, int, bool]], grid: str, equal: list[tuple[tuple[str, int], tuple[str, int]]]
) -> None:
    assert count_space(tensors, tuple(grid), "i", equal) == brute_force(tensors, grid, equal)


def test_an_equality_over_an_unknown_dim_is_an_error() -> None:
    with pytest.raises(InputError, match="no tensor has"):
        count_space(FIGURE_1, ("x",), "i", [(("X", 2), ("W", 0))])
