"""Which sizes get code of their own: powers of two up to a largest size, and sizes that were asked for.

Code for a bucket serves every size from the one after the last bucket's on. Where several sizes are dynamic, their buckets
multiply, so there are few of each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from prism_mlir.graph.errors import InputError

LARGEST = 8192
"""The largest size served where nothing else is said."""
_STEPS = {1: 2, 2: 16}  # from bucket to bucket, by the number of dynamic sizes; more have one bucket each
_FIRST = {1: 1, 2: 16}
Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SizeOptions:
    """Which sizes get code. largest: of each dynamic size; exact: as ``exact_sizes`` reads them."""

    largest: int = LARGEST
    exact: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Bucket:
    """Sizes ``low .. high``, one pair for each dynamic size."""

    low: Sizes
    high: Sizes

    @property
    def exact(self) -> bool:
        """Whether it serves one size alone: code is static."""
        return self.low == self.high

    def __contains__(self, sizes: Sequence[int]) -> bool:
        return all(a <= n <= b for a, n, b in zip(self.low, sizes, self.high, strict=True))

    def label(self, names: Sequence[str]) -> str:
        """For people.

        >>> Bucket((5,), (8,)).label(["x[0]"]), Bucket((7,), (7,)).label(["x[0]"])
        ('x[0] 5..8', 'x[0] 7')
        """
        rows = zip(names, self.low, self.high, strict=True)
        return ", ".join(f"{name} {a}" if a == b else f"{name} {a}..{b}" for name, a, b in rows)

    def joined(self, other: Bucket) -> Bucket | None:
        """Both as one, where they are neighbours along one size and alike in the others."""
        apart = [k for k in range(len(self.low)) if (self.low[k], self.high[k]) != (other.low[k], other.high[k])]
        if len(apart) != 1 or self.high[apart[0]] + 1 != other.low[apart[0]]:
            return None
        return Bucket(self.low, other.high)


def buckets(names: Sequence[str], largest: int = LARGEST, exact: Sequence[Sizes] = ()) -> tuple[Bucket, ...]:
    """The buckets of dynamic sizes, exact ones first."""
    many = len(names)
    bounds = _bounds(largest, _FIRST.get(many, largest), _STEPS.get(many, 2))
    spans = [(a + 1, b) for a, b in pairwise([0, *bounds])]
    ranges = [Bucket(tuple(a for a, _ in c), tuple(b for _, b in c)) for c in product(spans, repeat=many)]
    alone = [Bucket(sizes, sizes) for sizes in dict.fromkeys(exact)]
    return (*alone, *(b for b in ranges if b not in alone))


def _bounds(largest: int, first: int, step: int) -> list[int]:
    """``first`` and its multiples by ``step`` below the largest, and the largest."""
    found, size = [], first
    while size < largest:
        found.append(size)
        size *= step
    return [*found, largest]


def exact_sizes(texts: Sequence[str], names: Sequence[str], largest: int) -> tuple[Sizes, ...]:
    """Read ``1,8,100`` where one size is dynamic, or ``x[0]=1,8`` for each of several: all their combinations.

    Raises :class:`InputError` for anything else.
    """
    given: dict[str, list[int]] = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        if name == "" and len(names) > 1:
            raise InputError(
                f"--sizes {text}: which size? there is: {', '.join(names)}", None, f"write {names[0]}={text}"
            )
        if name not in ("", *names):
            raise InputError(f"--sizes: there is no dynamic size '{name}'", None, f"there is: {', '.join(names)}")
        given.setdefault(name or names[0], []).extend(numbers_of(numbers, largest))
    missing = [n for n in names if n not in given]
    if given and missing:
        raise InputError(
            f"--sizes says nothing of {missing[0]}", None, "give numbers for all dynamic sizes, or for none"
        )
    return tuple(product(*(given[n] for n in names))) if given else ()


def one_size(texts: Sequence[str], names: Sequence[str]) -> Sizes:
    """Read one number for every dynamic size, ``x[0]=13``. Raises :class:`InputError`."""
    found = exact_sizes(texts, names, 2**31 - 1)
    if len(found) != 1:
        what = "is missing" if not found else "must be one number for each"
        hint = " ".join(f"--size '{n}=13'" for n in names)
        raise InputError(f"the dynamic size {what}: {', '.join(names)}", None, f"give {hint}")
    return found[0]


def numbers_of(text: str, largest: int) -> list[int]:
    """Read ``1,8,100``. Raises :class:`InputError` for what is no number of 1 to ``largest``."""
    words = [t.strip() for t in text.split(",")]
    if not all(re.fullmatch(r"\d{1,9}", w, re.ASCII) for w in words):
        raise InputError(f"'{text}' are no sizes", None, "write numbers, as in 1,8,100")
    for number in map(int, words):
        if not 1 <= number <= largest:
            hint = "raise the largest (--max-size)" if number > largest else "sizes are positive"
            raise InputError(f"size {number} is outside of 1 to {largest}", None, hint)
    return [int(w) for w in words]
