"""JSON values with their place: whoever reads them gets the kind that was asked for, or an error that says where it is not.

What is read may have been written by an older version, cut short, or made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from prism_mlir.graph.errors import InputError

_NOT_FINITE = ("nan", "inf", "-inf")
MOST = 1e30  # so that products of a few numbers are still numbers


@dataclass(frozen=True, slots=True)
class Data:
    """A value and where it stands, as in ``report.json: parts[0].funnel``."""

    value: Any
    place: str

    def __getitem__(self, name: str) -> Data:
        """A field. Raises :class:`InputError` where there is none."""
        found = self.get(name)
        if found is None:
            raise InputError(f"{self.place} has no '{name}'")
        return found

    def get(self, name: str) -> Data | None:
        """A field; ``None`` where it is missing or null."""
        if not isinstance(self.value, dict):
            raise InputError(f"{self.place} is no object")
        found = self.value.get(name)
        return None if found is None else Data(found, _inside(self.place, name))

    def list(self) -> list[Data]:
        if not isinstance(self.value, list):
            raise InputError(f"{self.place} is no list")
        return [Data(v, f"{self.place}[{k}]") for k, v in enumerate(self.value)]

    def items(self) -> Iterator[tuple[str, Data]]:
        """The fields of an object, in order."""
        if not isinstance(self.value, dict):
            raise InputError(f"{self.place} is no object")
        return ((str(name), Data(v, _inside(self.place, str(name)))) for name, v in self.value.items())

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise InputError(f"{self.place} is no text")
        return self.value

    def count(self) -> int:
        """A whole number that is not negative."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            raise InputError(f"{self.place} is no count")
        return self.value

    def index(self, below: int) -> int:
        """A position in a list of so many."""
        if self.count() >= below:
            raise InputError(f"{self.place} is {self.value}, and there are {below}")
        return self.count()

    def positive(self) -> int:
        """A whole number from 1 on."""
        if not self.count():
            raise InputError(f"{self.place} is 0")
        return self.count()

    def number(self) -> float:
        """A finite number, of a size that something can have."""
        value = self.any_number()
        if not isfinite(value):
            raise InputError(f"{self.place} is not finite")
        if abs(value) > MOST:
            raise InputError(f"{self.place} is too large")
        return value

    def any_number(self) -> float:
        """A number, or an infinity, or NaN; those are strings, as JSON has no such numbers."""
        if self.value in _NOT_FINITE:
            return float(self.value)
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise InputError(f"{self.place} is no number")
        try:
            return float(self.value)
        except OverflowError:
            raise InputError(f"{self.place} is too large") from None

    def flag(self) -> bool:
        return self.value is True

    def counts(self) -> tuple[int, ...]:
        return tuple(v.count() for v in self.list())

    def texts(self) -> tuple[str, ...]:
        return tuple(v.text() for v in self.list())


def _inside(place: str, name: str) -> str:
    return f"{place}{name}" if place.endswith(": ") else f"{place}.{name}"
