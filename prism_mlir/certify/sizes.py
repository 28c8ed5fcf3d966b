"""Symbolic sizes: products of a program's dims, divided (or multiplied) by numbers of parts.

``[16/x]`` is the size of a tile that x cuts. Factors of merged dims keep their order, so [a*b] is not [b*a].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from prism_mlir.graph.errors import InputError


class Refused(InputError):
    """A certificate, or what it is about, that the checker does not accept."""


class Disagrees(Refused):
    """A graph and its program have different values."""


@dataclass(frozen=True, slots=True)
class Size:
    """A dim: the program's dims it is the product of, and powers of parallel sizes. ``ONE`` is the static size 1."""

    dims: tuple[str, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()

    def merged(self, other: Size) -> Size:
        """The dim that a reshape makes of two whole ones."""
        if self.parts or other.parts:
            raise Refused("a reshape merges a dim that is cut")
        return Size(self.dims + other.dims)

    def scaled(self, p: str, exponent: int) -> Size:
        """The dim cut into ``p`` parts (-1), or ``p`` of them side by side (+1)."""
        powers = dict(self.parts)
        powers[p] = powers.get(p, 0) + exponent
        return Size(self.dims, tuple(sorted((q, n) for q, n in powers.items() if n)))

    def value(self, sizes: Mapping[str, int]) -> int:
        """The number, where ``sizes`` says how large every dim and parallel dim is."""
        exact = Fraction(prod(sizes[d] for d in self.dims)) * prod(Fraction(sizes[p]) ** n for p, n in self.parts)
        if exact.denominator != 1:
            raise Refused(f"sizes {dict(sizes)} do not divide a dim evenly")
        return int(exact)


ONE = Size()


@dataclass(frozen=True, slots=True)
class Type:
    """Shape of a tile, and the parallel dims along which there is a tile for each part."""

    shape: tuple[Size, ...]
    parallel: frozenset[str] = frozenset()
