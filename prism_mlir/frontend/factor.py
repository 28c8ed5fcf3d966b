"""Factors of tensor dims: make every reshape disappear.

``expand_shape`` and ``collapse_shape`` only regroup dims. If every dim of every tensor is written as a row-major
product of *factors*, fine enough for all reshapes of the function, then a reshape changes nothing and every operation
is a projection of factors. Dims that an operation iterates over together must be split alike, so dims live in a
union-find whose members can be split; a dim of size 1 has no factors at all.
"""

from __future__ import annotations

from collections.abc import Sequence


class Factors:
    """A union-find over dims in which a dim may be split into a row-major product of smaller ones.

    >>> f = Factors()
    >>> heads, (kv, group) = f.new(32), (f.new(8), f.new(4))
    >>> f.unify([heads], [kv, group])
    True
    >>> [f.size(d) for d in f.leaves(heads)]
    [8, 4]
    """

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._size: list[int] = []
        self._parts: dict[int, tuple[int, ...]] = {}

    def new(self, size: int) -> int:
        """A new dim, equal to no other yet."""
        self._parent.append(len(self._parent))
        self._size.append(size)
        return len(self._parent) - 1

    def size(self, dim: int) -> int:
        """Number of index values of a dim."""
        return self._size[self._find(dim)]

    def leaves(self, dim: int) -> list[int]:
        """The factors of a dim, slowest first; none for a dim of size 1."""
        root = self._find(dim)
        if self._size[root] == 1:
            return []
        if root not in self._parts:
            return [root]
        return [leaf for part in self._parts[root] for leaf in self.leaves(part)]

    def sizes(self, dims: Sequence[int]) -> list[int]:
        """Sizes of all factors of ``dims``, in order."""
        return [self._size[leaf] for dim in dims for leaf in self.leaves(dim)]

    def unify(self, left: Sequence[int], right: Sequence[int]) -> bool:
        """Make two products of dims the same factors, splitting where one is finer.

        Returns False, with dims left split but still consistent, where the products have no common refinement (6 * 4
        and 4 * 6) or different sizes.
        """
        while True:
            a = [leaf for dim in left for leaf in self.leaves(dim)]
            b = [leaf for dim in right for leaf in self.leaves(dim)]
            pair = next(((x, y) for x, y in zip(a, b, strict=False) if x != y), None)
            if pair is None:
                return len(a) == len(b)
            if not self._match(*pair):
                return False

    def _match(self, x: int, y: int) -> bool:
        """Unite two different leaves of equal size, or split the larger by the smaller."""
        big, small = (x, y) if self._size[x] >= self._size[y] else (y, x)
        if self._size[big] == self._size[small]:
            self._parent[big] = small
            return True
        if self._size[small] == 0 or self._size[big] % self._size[small]:
            return False
        self._parts[big] = (self.new(self._size[small]), self.new(self._size[big] // self._size[small]))
        return True

    def _find(self, dim: int) -> int:
        while self._parent[dim] != dim:
            self._parent[dim] = self._parent[self._parent[dim]]
            dim = self._parent[dim]
        return dim
