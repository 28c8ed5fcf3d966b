"""What a compilation is doing, in one line: the step, candidates a second, best time so far, the floor, and time left."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

REFRESH = 0.1  # seconds between two lines of the same step
SEARCHING = ("searching", "proving")  # steps in which candidates are found

Show = Callable[[str], None]


class Progress:
    """Takes a step by being called with its name, and numbers as they come; shows a line for each change.

    seconds: of the whole compilation, if they are limited
    """

    def __init__(self, show: Show, seconds: float | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._show, self._clock = show, clock
        self._started = clock()
        self._end = None if seconds is None else self._started + seconds
        self._step, self._shown = "", -REFRESH
        self._candidates, self._searching = 0, self._started
        self._floor_us: float | None = None
        self._best_us: float | None = None

    def __call__(self, step: str) -> None:
        """A new step begins."""
        self._step, self._shown = step, self._clock()
        self._show(self.line)

    def search(self) -> None:
        """A search begins; candidates are counted from zero."""
        self._candidates, self._searching = 0, self._clock()
        self("searching")

    def found(self, candidates: int) -> None:
        """How many candidates the search has found."""
        self._candidates = candidates
        self._refresh()

    def floor(self, microseconds: float) -> None:
        """What no kernel can be faster than (the roofline)."""
        self._floor_us = microseconds

    def best(self, microseconds: float) -> None:
        """The best modelled time of a program that is complete, and checked where that comes before the next step."""
        self._best_us = microseconds
        self._refresh()

    @property
    def line(self) -> str:
        """Example: ``proving 153 graphs; 412 candidates/s; best 5.5 us, floor 4.2 us; 7.3 s left``."""
        parts, now = [self._step], self._clock()
        if self._candidates and self._step.startswith(SEARCHING):
            parts.append(f"{self._candidates / max(now - self._searching, 1e-3):,.0f} candidates/s")
        times = [("best", self._best_us), ("floor", self._floor_us)]
        known = ", ".join(f"{name} {us:.1f} us" for name, us in times if us is not None)
        if known:
            parts.append(known)
        if self._end is not None:
            parts.append(f"{max(0.0, self._end - now):.1f} s left")
        return "; ".join(parts)

    def _refresh(self) -> None:
        if self._clock() - self._shown >= REFRESH:
            self(self._step)


def progress_of(show: Show) -> Progress:
    """A progress that shows its lines with ``show``, or ``show`` itself where it is one."""
    return show if isinstance(show, Progress) else Progress(show)
