"""Axes of charts: from values to places, and the values that are marked."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from ``low`` to ``high`` lie between two places, evenly or, if ``log``, by their logarithms."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value, in a tenth of a unit; values beyond the ends lie at the ends."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


def linear(low: float, high: float, start: float, end: float) -> Axis:
    """An axis that holds both values.

    >>> linear(0, 10, 100, 200).at(5), linear(0, 10, 100, 0).at(2.5)
    (150.0, 75.0)
    """
    return Axis(low, high if high > low else low + 1, start, end)


def logarithmic(low: float, high: float, start: float, end: float, room: float = 1.15) -> Axis:
    """An axis that holds both positive values, with some room beyond.

    >>> logarithmic(1, 100, 0, 200, room=1).at(10)
    100.0
    """
    low, high = max(low, 1e-12), max(high, low, 1e-12)
    return Axis(low / room, high * room if high * room > low / room else low * 10, start, end, True)


def even_ticks(high: float, most: int = 7) -> list[float]:
    """0, a round step, twice that, and so on.

    >>> even_ticks(163), even_ticks(1)
    ([0.0, 50.0, 100.0, 150.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    raw = max(high, 1e-12) / most
    scale = 10.0 ** floor(log10(raw))
    step = next(m * scale for m in (1, 2, 5, 10) if m * scale >= raw)
    return [round(k * step, 12) for k in range(floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int = 9) -> list[float]:
    """1, 2, 5, 10, 20, ... between two values; powers of ten alone where those would be too many.

    >>> log_ticks(8, 150), log_ticks(0.5, 3), log_ticks(1, 1e6, 7)
    ([10.0, 20.0, 50.0, 100.0], [0.5, 1.0, 2.0], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0])
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    found: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [m * 10.0**k for k in powers for m in steps if low <= m * 10.0**k * (1 + 1e-9) and m * 10.0**k <= high]
        if len(found) <= most:
            break
    return [float(f"{t:.6g}") for t in found]
