"""Random structured control flow as PTX and as Python closures, for the tests of both engines.

Programs branch on per-thread values, loop different numbers of times, and leave loops early; their basic blocks may be laid out
in any order. What the statements compute is up to a subclass.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Generic, TypeVar

S = TypeVar("S")  # what one thread holds
VARIABLES = 4


class Break(Exception):
    """Leaves the innermost loop of the interpreted program."""


class Program(Generic[S]):
    """PTX blocks (label to lines) and the same program as Python closures on a thread's state."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.blocks: dict[str, list[str]] = {}
        self.declarations: list[str] = []
        self.count = 0

    # -- what a subclass says -----------------------------------------------------------------------------------------

    def assign(self) -> tuple[list[str], Callable[[S], None]]:
        """A statement."""
        raise NotImplementedError

    def test(self) -> tuple[list[str], str, Callable[[S], bool]]:
        """Lines that set a predicate register, its name, and whether it holds."""
        raise NotImplementedError

    def trips(self, counter: str) -> tuple[list[str], Callable[[S], int]]:
        """Lines that set a 32-bit register to how often a loop goes round, and that number."""
        raise NotImplementedError

    # -- control flow -------------------------------------------------------------------------------------------------

    def label(self) -> str:
        self.count += 1
        return f"B{self.count}"

    def body(self, start: str, after: str, leave: str | None, depth: int) -> Callable[[S], None]:
        """Statements from label ``start`` that end by jumping to ``after``; ``leave`` is the exit of the loop around them."""
        steps: list[Callable[[S], None]] = []
        at, lines = start, []
        for _ in range(self.rng.randrange(1, 4)):
            kind = self.rng.choice(["assign", "if", "loop", "break"]) if depth else "assign"
            if kind == "assign":
                code, run = self.assign()
                lines += code
                steps.append(run)
                continue
            join = self.label()
            if kind == "loop":
                steps.append(self.loop(lines, join, depth))
            else:
                code, p, holds = self.test()
                lines += code
                if kind == "break" and leave is not None:
                    lines += [f"@{p} bra {leave};", f"bra {join};"]
                    steps.append(self.breaker(holds))
                else:
                    yes, no = self.label(), self.label()
                    lines += [f"@{p} bra {yes};", f"bra {no};"]
                    first = self.body(yes, join, leave, depth - 1)
                    steps.append(self.choice(holds, first, self.body(no, join, leave, depth - 1)))
            self.blocks[at] = lines
            at, lines = join, []
        self.blocks[at] = [*lines, f"bra {after};"]

        def run_all(s: S) -> None:
            for step in steps:
                step(s)

        return run_all

    @staticmethod
    def breaker(holds: Callable[[S], bool]) -> Callable[[S], None]:
        def run(s: S) -> None:
            if holds(s):
                raise Break

        return run

    @staticmethod
    def choice(holds: Callable[[S], bool], yes: Callable[[S], None], no: Callable[[S], None]) -> Callable[[S], None]:
        def run(s: S) -> None:
            (yes if holds(s) else no)(s)

        return run

    def loop(self, lines: list[str], join: str, depth: int) -> Callable[[S], None]:
        """A loop whose counter is its own register."""
        counter, head, inside, again = f"%c{self.count}", self.label(), self.label(), self.label()
        self.declarations += [f".reg .b32 {counter}; .reg .pred %l{counter[2:]};"]
        code, rounds = self.trips(counter)
        lines += [*code, f"bra {head};"]
        self.blocks[head] = [
            f"setp.eq.u32 %l{counter[2:]}, {counter}, 0;",
            f"@%l{counter[2:]} bra {join};",
            f"sub.u32 {counter}, {counter}, 1;",
            f"bra {inside};",
        ]
        self.blocks[again] = [f"bra {head};"]
        inner = self.body(inside, again, join, depth - 1)

        def run(s: S) -> None:
            try:
                for _ in range(rounds(s)):
                    inner(s)
            except Break:
                pass

        return run

    def text(self) -> str:
        """The blocks in a random order."""
        layout = list(self.blocks)
        self.rng.shuffle(layout)
        return "\n".join(line for name in layout for line in (f"{name}:", *self.blocks[name]))


class SmallProgram(Program[list[Any]]):
    """Four variables ``%v0`` … of one byte each, and a scratch register ``%t``; ``%p1`` is the predicate of branches."""

    def assign(self) -> tuple[list[str], Callable[[list[Any]], None]]:
        to, a, b = (self.rng.randrange(VARIABLES) for _ in range(3))
        c = self.rng.randrange(1, 50)
        lines = [f"mad.lo.u32 %v{to}, %v{a}, {c}, %v{b};", f"and.b32 %v{to}, %v{to}, 255;"]

        def run(s: list[Any]) -> None:
            s[to] = (s[a] * c + s[b]) & 255

        return lines, run

    def test(self) -> tuple[list[str], str, Callable[[list[Any]], bool]]:
        bit, var = 1 << self.rng.randrange(4), self.rng.randrange(VARIABLES)
        return [f"and.b32 %t, %v{var}, {bit};", "setp.ne.u32 %p1, %t, 0;"], "%p1", lambda s: bool(s[var] & bit)

    def trips(self, counter: str) -> tuple[list[str], Callable[[list[Any]], int]]:
        return [f"and.b32 {counter}, %v0, 7;"], lambda s: s[0] & 7
