"""Random kernels whose threads may race, leave their arrays, or disturb other blocks, and an oracle that knows.

The kernel is a list of accesses to one shared and one global array, at indices that are linear in the thread's number, with
barriers between some of them. The oracle writes down who touches which bytes when; it shares nothing with the machine's shadows.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt
from ptx_harness import HEADER

WARP = 32
THREADS = (32, 64, 96, 40)
OUT_OF_LINE = "@!%p1 bra {skip}; {access} {skip}:"


@dataclass(frozen=True)
class Access:
    """One instruction: threads for which ``chosen`` holds touch element ``(step * i + shift + turn * loop) % modulus``.

    ``space``: ``shared``, or ``global``, where i is the thread's number in the grid. ``wild`` is added for thread
    ``wild_thread``. ``value`` says what is stored: the thread's number, its warp's, or one number for all.
    """

    space: str
    writes: bool
    width: int
    step: int
    shift: int
    turn: int
    modulus: int
    guard: tuple[str, int]
    branch: bool
    value: str
    wild: int = 0
    wild_thread: int = 0

    def chosen(self, thread: int) -> bool:
        name, n = self.guard
        return {"all": True, "below": thread < n, "one": thread == n, "odd": bool(thread & 1)}[name]

    def index(self, thread: int, number: int, loop: int) -> int:
        return (self.step * number + self.shift + self.turn * loop) % self.modulus + self.wild * (
            thread == self.wild_thread
        )

    def stored(self, thread: int, loop: int) -> int:
        return {"thread": thread + 1, "warp": thread // WARP + 7, "one": 99}[self.value] + 1000 * loop


@dataclass(frozen=True)
class Barrier:
    """``bar.sync`` or ``bar.warp.sync``."""

    whole: bool


@dataclass(frozen=True)
class Loop:
    """The statements two times."""

    body: tuple[Access | Barrier, ...]


@dataclass(frozen=True)
class Touch:
    """One thread at one element: when, how, and by which execution of which instruction."""

    block: int
    thread: int
    epoch: int
    warp_epoch: int
    writes: bool
    execution: int
    value: int


@dataclass
class Verdict:
    """What is wrong with a kernel.

    ``racing``: pairs of threads (block, thread, thread) that race; ``wild``: threads (block, thread) that leave an array;
    ``foreign``: whether blocks disturb one another. ``harmless``: pairs that a check may report or not, because what is read is
    certain: one of several threads that have stored one value reads it again. ``suspicious``: nothing is wrong, but only the
    reference engine can tell.
    """

    racing: set[tuple[int, int, int]] = field(default_factory=set)
    harmless: set[tuple[int, int, int]] = field(default_factory=set)
    wild: set[tuple[int, int]] = field(default_factory=set)
    foreign: bool = False
    suspicious: bool = False
    settled: bool = True  # whether the results are certain
    sums: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))

    @property
    def kinds(self) -> set[str]:
        named = (("race", bool(self.racing)), ("bounds", bool(self.wild)), ("cross_block", self.foreign))
        return {name for name, found in named if found}


class RacyKernel:
    """A kernel drawn at random: about half of them are wrong."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.threads, self.blocks = rng.choice(THREADS), rng.choice((1, 1, 2, 3))
        self.shared_bytes = 4 * self.threads * rng.choice((1, 2))
        self.global_bytes = 4 * self.threads * self.blocks
        self.widths = rng.choice(((4,), (4,), (4, 8), (4, 16), (1, 4), (2, 8)))
        self.barriers = rng.choice((0.95, 0.8, 0.6))
        self.warp_barriers = rng.randrange(4) == 3
        self.wild = rng.randrange(6) == 5
        self.statements: list[Access | Barrier | Loop] = []
        for _ in range(rng.randrange(2, 6)):
            if rng.randrange(5) == 4:
                body = [s for _ in range(rng.randrange(1, 3)) for s in self._statement()]
                self.statements.append(Loop(tuple(body)))
            else:
                self.statements += self._statement()

    def _statement(self) -> Iterator[Access | Barrier]:
        yield self._access()
        if self.rng.random() < self.barriers:
            yield Barrier(whole=not (self.warp_barriers and self.rng.randrange(2)))

    def _access(self) -> Access:
        rng = self.rng
        space = "global" if rng.randrange(4) == 3 else "shared"
        width = rng.choice(self.widths) if space == "shared" else 4
        size = (self.shared_bytes if space == "shared" else self.global_bytes) // width
        guard = rng.choice((("all", 0), ("all", 0), ("below", rng.randrange(1, self.threads + 1)),
                            ("one", rng.randrange(self.threads)), ("odd", 0)))  # fmt: skip
        modulus = rng.choice((size, size, max(1, size // 2))) if space == "shared" else size
        wild = rng.choice((1, size, -size - 1)) + size if self.wild and rng.randrange(3) == 0 else 0
        return Access(
            space,
            rng.randrange(2) == 0,
            width,
            rng.choice((1, 1, 1, 0, 2, 3)) if space == "shared" else rng.choice((1, 1, 1, 1, 0)),
            rng.choice((0, 0, 1, rng.randrange(size))) if space == "shared" else rng.choice((0, 0, 0, 1)),
            rng.choice((0, 1)) if space == "shared" else 0,
            modulus,
            guard,
            rng.randrange(3) == 0,
            rng.choice(("thread", "thread", "warp", "one")),
            wild,
            rng.randrange(self.threads),
        )

    # -- PTX ----------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        lines = ["mov.u32 %loop, 0;"]
        for number, statement in enumerate(self.statements):
            if isinstance(statement, Loop):
                lines += ["mov.u32 %loop, 0;", f"L{number}:"]
                lines += [self._line(s, f"{number}x{i}") for i, s in enumerate(statement.body)]
                lines += [
                    "add.u32 %loop, %loop, 1;",
                    "setp.lt.u32 %p1, %loop, 2;",
                    f"@%p1 bra L{number};",
                    "mov.u32 %loop, 0;",
                ]
            else:
                lines.append(self._line(statement, str(number)))
        body = "\n  ".join(lines)
        words = self.shared_bytes // 4
        fill = "\n  ".join(
            f"setp.lt.u32 %p1, %t, {words - first}; @%p1 st.shared.b32 [%word+{4 * first}], 0;"
            for first in range(0, words, self.threads)
        )
        return f"""{HEADER}
.shared .align 16 .b8 s[{self.shared_bytes}];
.visible .entry k(.param .u64 data, .param .u64 sums)
{{
  .reg .b32 %t, %b, %n, %loop, %i, %x, %sum, %word, %bit, %v<4>; .reg .b16 %h; .reg .b64 %w, %a, %data, %sums; .reg .pred %p<3>;
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %n, %b, {self.threads}, %t;
  mov.u32 %word, s; mad.lo.u32 %word, %t, 4, %word;
  {fill}
  bar.sync 0;
  ld.param.u64 %data, [data]; ld.param.u64 %sums, [sums]; mov.u32 %sum, 0;
  {body}
  mad.wide.u32 %a, %n, 4, %sums; st.global.u32 [%a], %sum;
  ret;
}}
"""

    def _line(self, s: Access | Barrier, name: str) -> str:
        if isinstance(s, Barrier):
            return "bar.sync 0;" if s.whole else "bar.warp.sync -1;"
        number = "%t" if s.space == "shared" else "%n"
        lines = [f"mad.lo.u32 %i, {number}, {s.step}, {s.shift};", f"mad.lo.u32 %i, %loop, {s.turn}, %i;",
                 f"rem.u32 %i, %i, {s.modulus};"]  # fmt: skip
        if s.wild:
            lines += [f"setp.eq.u32 %p2, %t, {s.wild_thread};", f"@%p2 add.s32 %i, %i, {s.wild};"]
        lines += [f"mul.wide.s32 %a, %i, {s.width};", "mov.u64 %w, s;" if s.space == "shared" else "mov.u64 %w, %data;",
                  "add.s64 %a, %a, %w;"]  # fmt: skip
        access = self._store(s) if s.writes else self._load(s)
        guard, n = s.guard
        if guard == "all":
            return " ".join([*lines, access])
        test = {"below": f"setp.lt.u32 %p1, %t, {n};", "one": f"setp.eq.u32 %p1, %t, {n};",
                "odd": "and.b32 %bit, %t, 1; setp.ne.u32 %p1, %bit, 0;"}[guard]  # fmt: skip
        if s.branch:
            return " ".join([*lines, test, OUT_OF_LINE.format(skip=f"S{name}", access=access)])
        guarded = " ".join(f"@%p1 {part.strip()};" for part in access.split(";") if part.strip())
        return " ".join([*lines, test, guarded])

    @staticmethod
    def _store(s: Access) -> str:
        value = {
            "thread": "add.u32 %x, %t, 1;",
            "warp": "shr.u32 %x, %t, 5; add.u32 %x, %x, 7;",
            "one": "mov.u32 %x, 99;",
        }
        code = f"{value[s.value]} mad.lo.u32 %x, %loop, 1000, %x; "
        if s.width <= 4:
            return code + f"st.{s.space}.u{8 * s.width} [%a], %x;"
        names = ", ".join(["%x"] * (s.width // 4))
        return code + f"st.{s.space}.v{s.width // 4}.u32 [%a], {{{names}}};"

    @staticmethod
    def _load(s: Access) -> str:
        if s.width <= 4:
            return f"ld.{s.space}.u{8 * s.width} %x, [%a]; mad.lo.u32 %sum, %sum, 31, %x;"
        names = ", ".join(f"%v{i}" for i in range(s.width // 4))
        return f"ld.{s.space}.v{s.width // 4}.u32 {{{names}}}, [%a]; mad.lo.u32 %sum, %sum, 31, %v0;"

    # -- the oracle ---------------------------------------------------------------------------------------------------

    def executions(self) -> Iterator[tuple[Access | Barrier, int]]:
        """The statements in the order in which they are executed, each with the turn of the loop around it."""
        for statement in self.statements:
            if isinstance(statement, Loop):
                for turn in range(2):
                    for inner in statement.body:
                        yield inner, turn
            else:
                yield statement, 0

    def verdict(self) -> Verdict:
        """Run the kernel in the oracle."""
        found = Verdict(sums=np.zeros(self.threads * self.blocks, np.uint32))
        memory = {"global": bytearray(self.global_bytes)}
        touched: dict[tuple[str, int, int], list[Touch]] = defaultdict(list)
        for block in range(self.blocks):
            memory["shared"] = bytearray(self.shared_bytes)
            epoch = warp_epoch = 0
            for execution, (s, turn) in enumerate(self.executions()):
                if isinstance(s, Barrier):
                    epoch, warp_epoch = epoch + s.whole, warp_epoch + 1
                    found.suspicious |= not s.whole
                    continue
                for thread in filter(s.chosen, range(self.threads)):
                    index = s.index(thread, thread + (block * self.threads if s.space == "global" else 0), turn)
                    if not 0 <= s.width * index < len(memory[s.space]):
                        found.wild.add((block, thread))
                        continue
                    touch = Touch(
                        block, thread, epoch, warp_epoch, s.writes, execution, s.stored(thread, turn) % 256**s.width
                    )
                    for byte in range(s.width * index, s.width * (index + 1), min(4, *self.widths)):
                        touched[s.space, -1 if s.space == "global" else block, byte].append(touch)
                    self._move(s, memory[s.space], index, touch, found.sums)
        for (space, _, _), touches in touched.items():
            self._conflicts(space, touches, found)
        return found

    def _move(self, s: Access, memory: bytearray, index: int, touch: Touch, sums: npt.NDArray[np.uint32]) -> None:
        place = slice(s.width * index, s.width * index + s.width)
        if s.writes:
            memory[place] = touch.value.to_bytes(s.width, "little") if s.width <= 4 else (
                (touch.value % 2**32).to_bytes(4, "little") * (s.width // 4)
            )  # fmt: skip
        else:
            me = touch.block * self.threads + touch.thread
            sums[me] = (int(sums[me]) * 31 + int.from_bytes(memory[place][:4], "little")) % 2**32

    @staticmethod
    def _conflicts(space: str, touches: list[Touch], found: Verdict) -> None:
        """All pairs of accesses to one place."""
        if not any(t.writes for t in touches):
            return
        stored = {(t.block, t.thread, t.execution, t.value) for t in touches if t.writes}
        for a, b in combinations(touches, 2):
            if not (a.writes or b.writes) or (a.block == b.block and a.thread == b.thread):
                continue
            if a.block != b.block:
                found.foreign = True
                continue
            ordered = a.epoch != b.epoch or (a.thread // WARP == b.thread // WARP and a.warp_epoch != b.warp_epoch)
            if ordered:
                continue
            if a.writes and b.writes and a.execution == b.execution and a.value == b.value:
                found.suspicious |= space == "shared"  # which of them stores makes no difference
                continue
            again = not b.writes and (b.block, b.thread, a.execution, a.value) in stored
            if space == "shared":
                pairs = found.harmless if again else found.racing
                pairs.update({(a.block, a.thread, b.thread), (a.block, b.thread, a.thread)})
            else:
                found.settled = False  # races in global memory are not looked for
