"""Numbers that depend on sizes which are known only when a kernel is launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True, order=True)
class Extent:
    """A number that depends on dynamic sizes: ``times * product(size[k] for k in sizes)``, over a number and rounded up.

    >>> Extent(64, (0,)).at((3,)), Extent(1, (0,), 16).at((33,))
    (192, 3)
    """

    times: int
    sizes: tuple[int, ...] = ()
    over: int = 1

    @property
    def dynamic(self) -> bool:
        return bool(self.sizes)

    def at(self, sizes: Sequence[int]) -> int:
        """Its value."""
        return -(-self.times * prod(sizes[k] for k in self.sizes) // self.over)

    def __mul__(self, other: Extent) -> Extent:
        assert self.over == other.over == 1
        return Extent(self.times * other.times, tuple(sorted((*self.sizes, *other.sizes))))


def row_major_extents(shape: Sequence[Extent]) -> tuple[Extent, ...]:
    """Strides of a contiguous row-major tensor at every size."""
    strides, step = [], Extent(1)
    for extent in reversed(shape):
        strides.append(step)
        step = step * extent
    return tuple(reversed(strides))


def extent_of(number: int, primes: Sequence[int]) -> Extent:
    """A number of the twin with these primes, as it depends on the sizes.

    >>> extent_of(3 * 7 * 11, (7, 11))
    Extent(times=3, sizes=(0, 1), over=1)
    """
    sizes: list[int] = []
    for k, prime in enumerate(primes):
        while number and number % prime == 0:
            number //= prime
            sizes.append(k)
    return Extent(number, tuple(sizes))
