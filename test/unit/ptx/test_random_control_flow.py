"""Random structured programs, laid out in random order, against a thread-by-thread interpreter in Python.

Every program branches on per-thread values, loops different numbers of times, leaves loops early, and ends with a barrier
and a shuffle by the whole warp: lanes that have not met again by then would be reported.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from ptx_harness import kernel, launch

State = list[int]
VARIABLES = 4


class Break(Exception):
    """Leaves the innermost loop of the interpreted program."""


@dataclass
class Program:
    """PTX blocks (label to lines) and the same program as Python closures."""

    rng: random.Random
    blocks: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0

    def label(self) -> str:
        self.count += 1
        return f"B{self.count}"

    def assign(self) -> tuple[list[str], Callable[[State], None]]:
        to, a, b = (self.rng.randrange(VARIABLES) for _ in range(3))
        c = self.rng.randrange(1, 50)
        lines = [f"mad.lo.u32 %v{to}, %v{a}, {c}, %v{b};", f"and.b32 %v{to}, %v{to}, 255;"]

        def run(s: State) -> None:
            s[to] = (s[a] * c + s[b]) & 255

        return lines, run

    def body(self, start: str, after: str, leave: str | None, depth: int) -> Callable[[State], None]:
        """Statements from label ``start`` that end by jumping to ``after``; ``leave`` is the exit of the loop around them."""
        steps: list[Callable[[State], None]] = []
        at, lines = start, []
        for _ in range(self.rng.randrange(1, 4)):
            kind = self.rng.choice(["assign", "if", "loop", "break"]) if depth else "assign"
            if kind == "assign":
                code, run = self.assign()
                lines += code
                steps.append(run)
                continue
            join, bit, var = self.label(), 1 << self.rng.randrange(4), self.rng.randrange(VARIABLES)
            lines += [f"and.b32 %t, %v{var}, {bit};", "setp.ne.u32 %p1, %t, 0;"]
            if kind == "break" and leave is not None:
                lines += [f"@%p1 bra {leave};", f"bra {join};"]
                steps.append(self.breaker(var, bit))
            elif kind == "loop":
                steps.append(self.loop(lines, join, depth))
            else:
                yes, no = self.label(), self.label()
                lines += [f"@%p1 bra {yes};", f"bra {no};"]
                steps.append(
                    self.choice(var, bit, self.body(yes, join, leave, depth - 1), self.body(no, join, leave, depth - 1))
                )
            self.blocks[at] = lines
            at, lines = join, []
        self.blocks[at] = [*lines, f"bra {after};"]

        def run_all(s: State) -> None:
            for step in steps:
                step(s)

        return run_all

    @staticmethod
    def breaker(var: int, bit: int) -> Callable[[State], None]:
        def run(s: State) -> None:
            if s[var] & bit:
                raise Break

        return run

    @staticmethod
    def choice(
        var: int, bit: int, yes: Callable[[State], None], no: Callable[[State], None]
    ) -> Callable[[State], None]:
        def run(s: State) -> None:
            (yes if s[var] & bit else no)(s)

        return run

    def loop(self, lines: list[str], join: str, depth: int) -> Callable[[State], None]:
        """A loop of (thread-dependent) v0 & 7 rounds at most; its counter is its own register."""
        counter, head, inside, again = f"%c{self.count}", self.label(), self.label(), self.label()
        lines += [f".reg .b32 {counter};", f"and.b32 {counter}, %v0, 7;", f"bra {head};"]
        self.blocks[head] = [
            f"setp.eq.u32 %p1, {counter}, 0;",
            f"@%p1 bra {join};",
            f"sub.u32 {counter}, {counter}, 1;",
            f"bra {inside};",
        ]
        self.blocks[again] = [f"bra {head};"]
        inner = self.body(inside, again, join, depth - 1)

        def run(s: State) -> None:
            try:
                for _ in range(s[0] & 7):
                    inner(s)
            except Break:
                pass

        return run


@pytest.mark.parametrize("seed", range(25))
def test_divergent_programs(seed: int) -> None:
    rng = random.Random(seed)
    program = Program(rng)
    interpret = program.body("START", "END", None, 3)
    layout = list(program.blocks)
    rng.shuffle(layout)
    code = [line for name in layout for line in (f"{name}:", *program.blocks[name])]
    declarations = [line for line in code if line.startswith(".reg")]
    code = [line for line in code if not line.startswith(".reg")]
    values = ", ".join(f"%v{i}" for i in range(VARIABLES))
    start = " ".join(f"mad.lo.u32 %v{i}, %r2, {7 * i + 3}, {i}; and.b32 %v{i}, %v{i}, 255;" for i in range(VARIABLES))
    text = kernel(f""".reg .b32 {values}, %t; {" ".join(declarations)}
      mov.u32 %r3, %ctaid.x; mad.lo.u32 %r2, %r3, 64, %r1; {start} bra START;
      {chr(10).join(code)}
      END: bar.sync 0; shfl.sync.bfly.b32 %r4, %v1, 1, 31, -1;
      mad.wide.u32 %rd1, %r2, 20, %rd1; {" ".join(f"st.global.b32 [%rd1+{4 * i}], %v{i};" for i in range(VARIABLES))}
      st.global.b32 [%rd1+16], %r4; ret;""")
    expected = np.zeros((192, 5), dtype=np.uint32)
    for t in range(192):
        s = [(t * (7 * i + 3) + i) & 255 for i in range(VARIABLES)]
        interpret(s)
        expected[t, :4] = s
    expected[:, 4] = expected[np.arange(192) ^ 1, 1]
    for lanes in (64, 8192):
        out = np.zeros((192, 5), dtype=np.uint32)
        launch(text, [out], block=64, grid=3, outputs={0}, lanes_per_batch=lanes)
        assert (out == expected).all()
