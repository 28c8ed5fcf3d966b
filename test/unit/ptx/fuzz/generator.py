"""Random kernels that are right by construction, with an interpreter of their own.

A kernel is a tree that is written twice while it is drawn: as PTX, and as Python closures that run it, threads of a block in lock
step between barriers, each thread alone in between. It has phases of divergent code (``ptx_control_flow``) with operations from
``operations``, private rows of global, shared and local memory, uniform loops and branches around them, and steps in which
threads communicate: exchanges through shared memory, shuffles, votes, reductions, copies, atomics.

Registers are ``%v0``, ``%v1`` … of some pools. Nothing reads what is not written, races, or depends on the bits of a NaN.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from operations import INTEGERS, REGISTER, WIDTH, Operation, catalogue, extended, literal, signed
from ptx_control_flow import Program
from ptx_harness import HEADER
from straight_line import ROW, canonical, offset, rows

BLOCKS = ((32,), (64,), (16, 4), (8, 4, 3), (96,), (33,), (7, 3), (45,), (5, 4, 2), (1,))
GRIDS = ((1,), (2,), (3,), (2, 2), (1, 3), (2, 1, 2))
# A private row of memory: where values of which pools may lie, so that no NaN is read as an integer.
REGIONS = {"v": (0, 32), "f": (32, 16), "d": (48, 16), "e": (64, 8), "g": (72, 8), "m": (80, 8), "n": (88, 8)}
PRIVATE = 96
COPIES = 2 * len(WIDTH)  # numbers of registers in an output row
TABLE = (3, 0x80000000, 0xFFFFFFFF, 12345, 0, 0x7F800000, 77, 0xDEADBEEF)
Run = Callable[["Thread"], None]
Step = Callable[["Block"], None]


@dataclass
class Thread:
    """One thread: its registers, its private memory, and what its special registers say."""

    special: dict[str, int]
    live: int  # threads of its warp
    registers: dict[str, int] = field(default_factory=dict)
    memory: dict[str, bytearray] = field(default_factory=dict)
    exited: bool = False

    @property
    def lane(self) -> int:
        return self.special["%laneid"]


@dataclass
class Block:
    """One block, and what all threads of the launch share."""

    threads: list[Thread]
    kernel: Kernel
    table: npt.NDArray[np.uint64]
    counters: list[int]
    shared_counters: list[int] = field(default_factory=lambda: [0] * 4)

    def warps(self) -> list[list[Thread]]:
        alive = [t for t in self.threads if not t.exited]
        numbers = sorted({t.special["%warpid"] for t in alive})
        return [[t for t in alive if t.special["%warpid"] == w] for w in numbers]


@dataclass(frozen=True)
class Case:
    """A kernel with its launch, and what it must leave behind (None where it approximates)."""

    text: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    seed: int
    trips: int
    pools: str
    exact: bool
    compiled: bool
    run: Callable[[], tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8], list[int]]]

    @property
    def threads(self) -> int:
        return prod(self.grid) * prod(self.block)

    def arguments(self) -> list[Any]:
        """Fresh arguments of a launch: inputs, outputs, private rows, counters, a trip count, and a float."""
        return [
            input_rows(self.seed, self.threads, self.pools),
            np.full((self.threads, COPIES), 0xAAAAAAAAAAAAAAAA, np.uint64),
            np.zeros((self.threads, PRIVATE), np.uint8),
            np.zeros(8, np.uint32),
            self.trips,
            1.5,
        ]


@lru_cache(maxsize=4)
def input_rows(seed: int, count: int, pools: str) -> npt.NDArray[np.uint64]:
    table = rows(random.Random(seed), count, pools, "ab") | rows(random.Random(seed), count, "v", "ck")
    table.flags.writeable = False
    return table


class Kernel(Program[Thread]):
    """A kernel being drawn."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.block: tuple[int, ...] = rng.choice(BLOCKS)
        self.grid: tuple[int, ...] = rng.choice(GRIDS)
        self.pools = "".join(sorted({"v", "p", *(rng.choice("hqegmnfd") for _ in range(4))}))
        self.approximate = rng.randrange(10) == 9
        self.atomics = rng.randrange(8) == 7
        self.slow = rng.randrange(12) == 11
        self.spaces = ["global", *(s for s in ("shared", "local") if rng.randrange(2))]
        self.trip_count = rng.randrange(4)
        self.exact = self.compiled = True
        self.families = self._families()
        self.at = "START"
        self.lines: list[str] = []

    def _families(self) -> dict[str, list[Operation]]:
        """The operations on the pools of this kernel."""
        found = {
            name: [o for o in ops if set(o.sources + o.result) <= set(self.pools) and (o.compiled or self.slow)]
            for name, ops in catalogue().items()
            if name != "approximate" or self.approximate
        }
        return {name: ops for name, ops in found.items() if ops}

    # -- statements of one thread -----------------------------------------------------------------------------------

    def register(self, pool: str) -> str:
        return f"%{pool}{self.rng.randrange(2)}"

    def integer(self) -> str:
        return self.register(self.rng.choice([p for p in INTEGERS if p in self.pools]))

    def assign(self) -> tuple[list[str], Run]:
        kinds = [
            self.operation,
            self.operation,
            self.operation,
            self.special,
            self.private,
            self.private,
            self.constant,
        ]
        if self.atomics:
            kinds.append(self.own_atomic)
        text, run = self.rng.choice(kinds)()
        if self.rng.randrange(4):
            return [text], run
        p, wanted = self.register("p"), self.rng.randrange(2)
        lines = [f"@{'' if wanted else '!'}{p} {part.strip()};" for part in text.split(";") if part.strip()]
        if p in text.split(";")[0].split(",")[0] and len(lines) > 1:
            return [text], run  # it changes its own guard halfway

        def guarded(t: Thread) -> None:
            if t.registers[p] == wanted:
                run(t)

        return lines, guarded

    def test(self) -> tuple[list[str], str, Callable[[Thread], bool]]:
        p = self.register("p")
        if self.rng.randrange(2):
            return [], p, lambda t: bool(t.registers[p])
        v, bit = self.register("v"), 1 << self.rng.randrange(5)
        lines = [f"and.b32 %sv, {v}, {bit};", f"setp.ne.u32 {p}, %sv, 0;"]

        def holds(t: Thread) -> bool:
            t.registers[p] = int(t.registers[v] & bit != 0)
            return bool(t.registers[p])

        return lines, p, holds

    def trips(self, counter: str) -> tuple[list[str], Callable[[Thread], int]]:
        v = self.register("v")
        return [f"and.b32 {counter}, {v}, 3;"], lambda t: t.registers[v] & 3

    def operation(self) -> tuple[str, Run]:
        o = self.rng.choice(self.families[self.rng.choice(list(self.families))])
        names: dict[str, str] = {}
        values: list[Callable[[Thread], int]] = []
        literals = 0
        for place, pool in zip("abck", o.sources, strict=False):
            plain = (
                o.text.count(f"{{{place}}}") == 1
                and pool in "hvqfd"
                and not any(x in o.text for x in ("mov", "set", "bf"))
            )
            if plain and literals == 0 and self.rng.randrange(5) == 4:
                literals += 1
                x = self.rng.choice((0, 1, 2, 5, (1 << WIDTH[pool]) - 1, self.rng.getrandbits(WIDTH[pool])))
                names[place] = literal(x, pool)
                values.append(lambda t, x=x: x)  # type: ignore[misc]
            else:
                name = names[place] = self.register(pool)
                values.append(lambda t, n=name: t.registers[n])  # type: ignore[misc]
        d = self.register(o.result)
        self.exact &= o.exact
        self.compiled &= o.compiled

        def run(t: Thread) -> None:
            t.registers[d] = o.meaning(*[x(t) for x in values])

        return o.text.format(d=d, **names), run

    def special(self) -> tuple[str, Run]:
        names = [f"%{n}.{a}" for n in ("tid", "ntid", "ctaid", "nctaid") for a in "xyz"]
        name = self.rng.choice([*names, "%laneid", "%warpid", "%nwarpid", "%lanemask_lt", "%lanemask_eq", "%lanemask_le",
                                "%lanemask_gt", "%lanemask_ge"])  # fmt: skip
        d = self.register("v")

        def run(t: Thread) -> None:
            t.registers[d] = t.special[name]

        return f"mov.u32 {d}, {name};", run

    def private(self) -> tuple[str, Run]:
        """A load or a store in the thread's own row of some memory."""
        space = self.rng.choice(self.spaces)
        pool = self.rng.choice([p for p in REGIONS if p in self.pools])
        start, size = REGIONS[pool]
        if pool == "v":
            pool = self.rng.choice([p for p in INTEGERS if p in self.pools])
        bits = (
            WIDTH[pool] if pool not in INTEGERS else self.rng.choice([b for b in (8, 16, 32, 64) if b <= WIDTH[pool]])
        )
        kind = self.rng.choice("bus") if pool in INTEGERS else "b"
        lanes = self.rng.choice([n for n in (1, 2, 4) if n * bits // 8 <= min(size, 16)])
        width = lanes * bits // 8
        storing = self.rng.randrange(2) == 0
        registers = [self.register(pool) for _ in range(lanes)]
        if not storing and lanes > 1:
            registers = [f"%{pool}0", f"%{pool}1", *[f"%s{pool}"] * 2][:lanes]
        v = self.register("v") if self.rng.randrange(3) == 0 else ""
        mask = (size - 1) & -width
        address, prefix = self._row_address(space, start, v, mask)
        vector = f".v{lanes}" if lanes > 1 else ""
        names = f"{{{', '.join(registers)}}}" if lanes > 1 else registers[0]
        generic = self.rng.randrange(4) == 3 and space != "local"
        if generic:
            prefix += "" if space == "global" else f"cvta.shared.u64 %sq, {address.split('+')[0]}; "
            address = address if space == "global" else "%sq" + (f"+{start}" if "+" in address else "")
        where = "" if generic else f".{space}"
        text = (
            f"st{where}{vector}.{kind}{bits} [{address}], {names};"
            if storing
            else f"ld{where}{vector}.{kind}{bits} {names}, [{address}];"
        )

        def place(t: Thread) -> int:
            return start + (t.registers[v] & mask if v else 0)

        def store(t: Thread) -> None:
            at = place(t)
            data = b"".join((t.registers[r] & ((1 << bits) - 1)).to_bytes(bits // 8, "little") for r in registers)
            t.memory[space][at : at + width] = data

        def load(t: Thread) -> None:
            at = place(t)
            data = bytes(t.memory[space][at : at + width])
            for i, r in enumerate(registers):
                x = int.from_bytes(data[i * bits // 8 : (i + 1) * bits // 8], "little")
                t.registers[r] = extended(x, kind, bits, WIDTH[pool])

        return prefix + text, store if storing else load

    def _row_address(self, space: str, start: int, v: str, mask: int) -> tuple[str, str]:
        """The address of a place in the thread's row, and the instructions that compute it."""
        row = f"%row_{space}"
        if not v:
            return f"{row}+{start}", ""
        return (
            "%sq",
            f"and.b32 %sv, {v}, {mask}; add.u32 %sv, %sv, {start}; cvt.u64.u32 %sq, %sv; add.u64 %sq, %sq, {row}; ",
        )

    def constant(self) -> tuple[str, Run]:
        """A parameter, an element of constant memory, or an element of some thread's input."""
        d, v = self.register("v"), self.register("v")
        kind = self.rng.randrange(4)
        if kind == 0:
            return f"ld.param.u32 {d}, [trips];", self._set(d, lambda t: self.trip_count)
        if kind == 1 and "f" in self.pools:
            f = self.register("f")
            return f"ld.param.f32 {f}, [scale];", self._set(
                f, lambda t: int.from_bytes(struct.pack("<f", 1.5), "little")
            )
        if kind == 2:
            text = f"and.b32 %sv, {v}, 7; mul.wide.u32 %sq, %sv, 4; mov.u64 %su64, table; add.u64 %sq, %sq, %su64; "
            return f"{text}ld.const.u32 {d}, [%sq];", self._set(d, lambda t: TABLE[t.registers[v] & 7])
        column = self.rng.choice("abck")
        text = (f"rem.u32 %sv, {v}, %total; mul.wide.u32 %sq, %sv, {ROW}; add.u64 %sq, %sq, %rows; "
                f"ld.global.nc.u32 {d}, [%sq+{offset(column, 'v')}];")  # fmt: skip
        return text, self._set(d, lambda t: int(self.table[t.registers[v] % len(self.table), offset(column, "v") // 8]))

    @staticmethod
    def _set(name: str, value: Callable[[Thread], int]) -> Run:
        def run(t: Thread) -> None:
            t.registers[name] = value(t)

        return run

    def own_atomic(self) -> tuple[str, Run]:
        """An atomic on a word that nobody else touches; what it returns is certain."""
        self.compiled = False
        d, v = self.register("v"), self.register("v")
        name, kind, fn = self.rng.choice(ATOMICS)

        def run(t: Thread) -> None:
            row = t.memory["global"]
            old = int.from_bytes(row[0:4], "little")
            row[0:4] = (fn(old, t.registers[v]) & 0xFFFFFFFF).to_bytes(4, "little")
            t.registers[d] = old

        return f"atom.global.{name}.{kind} {d}, [%row_global], {v};", run

    # -- statements of a block ---------------------------------------------------------------------------------------

    def go(self, label: str) -> None:
        """End the basic block and begin another one."""
        self.blocks[self.at] = [*self.lines, f"bra {label};"]
        self.at, self.lines = label, []

    def sequence(self, depth: int, within_warp: bool = False) -> Step:
        """Some statements one after the other; ``within_warp``: none that needs the other warps."""
        kinds: list[Callable[[], Step]] = [self.phase, self.phase, self.shuffle, self.vote, self.reduction]
        if not within_warp:
            kinds += [self.exchange, self.exchange, self.copy]
            if depth:
                kinds += [
                    lambda: self.uniform_loop(depth),
                    lambda: self.uniform_branch(depth),
                    lambda: self.warp_branch(depth),
                ]
            if self.atomics:
                kinds += [self.shared_atomic, self.global_atomic]
            if self.slow:
                kinds += [self.barrier_reduction, self.match]
        steps = [self.rng.choice(kinds)() for _ in range(self.rng.randrange(1, 4))]

        def run(b: Block) -> None:
            for step in steps:
                step(b)

        return run

    @staticmethod
    def each(run: Run) -> Step:
        def step(b: Block) -> None:
            for t in b.threads:
                if not t.exited:
                    run(t)

        return step

    def phase(self) -> Step:
        """Code in which threads may go different ways."""
        start, after = self.label(), self.label()
        self.go(start)
        run = self.body(start, after, None, self.rng.randrange(3))
        self.at, self.lines = after, []
        return self.each(run)

    def uniform_loop(self, depth: int) -> Step:
        counter, head, inside, after = f"%u{self.count}", self.label(), self.label(), self.label()
        self.declarations.append(f".reg .b32 {counter};")
        source, rounds = self.rng.choice((("2", lambda b: 2), ("%trips", lambda b: self.trip_count),
                                          ("%ctaid.x", lambda b: b.threads[0].special["%ctaid.x"])))  # fmt: skip
        self.lines.append(f"mov.u32 {counter}, {source};")
        self.go(head)
        self.lines += [f"setp.eq.u32 %sp, {counter}, 0;", f"@%sp bra{self.rng.choice(('', '.uni'))} {after};",
                       f"sub.u32 {counter}, {counter}, 1;"]  # fmt: skip
        self.go(inside)
        inner = self.sequence(depth - 1)
        self.go(head)
        self.at, self.lines = after, []

        def run(b: Block) -> None:
            for _ in range(rounds(b)):
                inner(b)

        return run

    def uniform_branch(self, depth: int) -> Step:
        """All threads of a block go the same way."""
        yes, no, after = self.label(), self.label(), self.label()
        self.lines += ["mov.u32 %sv, %ctaid.x;",
            "xor.b32 %sv, %sv, %trips;", "and.b32 %sv, %sv, 1;", "setp.ne.u32 %sp, %sv, 0;",
                       f"@%sp bra {yes};"]  # fmt: skip
        self.go(no)
        second = self.sequence(depth - 1)
        self.go(after)
        self.at, self.lines = yes, []
        first = self.sequence(depth - 1)
        self.go(after)
        return lambda b: (first if (b.threads[0].special["%ctaid.x"] ^ self.trip_count) & 1 else second)(b)

    def warp_branch(self, depth: int) -> Step:
        """All threads of a warp go the same way."""
        yes, after, odd = self.label(), self.label(), self.rng.randrange(2)
        self.lines += ["and.b32 %sv, %warp, 1;", f"setp.eq.u32 %sp, %sv, {odd};", f"@!%sp bra {after};"]
        self.go(yes)
        inner = self.sequence(0, within_warp=True)
        self.go(after)

        def run(b: Block) -> None:
            chosen = [t for t in b.threads if t.special["%warpid"] & 1 == odd]
            inner(Block(chosen, b.kernel, b.table, b.counters, b.shared_counters))

        return run

    def exchange(self) -> Step:
        """Through shared memory: every thread writes a value and reads another thread's."""
        pool = self.rng.choice([p for p in self.pools if p != "p"])
        source, target = self.register(pool), self.register(pool)
        bits, n = WIDTH[pool], prod(self.block)
        a, c = self.rng.randrange(1, 8), self.rng.randrange(n)
        barrier = self.rng.choice(("bar.sync 0;", "barrier.sync 0;", "barrier.sync.aligned 1;"))
        self.lines += [
            f"mad.lo.u32 %sv, %me, {bits // 8}, %exchange;", f"st.shared.b{bits} [%sv], {source};", barrier,
            f"mad.lo.u32 %sv, %me, {a}, {c};", f"rem.u32 %sv, %sv, {n};", f"mad.lo.u32 %sv, %sv, {bits // 8}, %exchange;",
            f"ld.shared.b{bits} {target}, [%sv];", "bar.sync 0;",
        ]  # fmt: skip

        def run(b: Block) -> None:
            values = [t.registers[source] for t in b.threads]
            for i, t in enumerate(b.threads):
                t.registers[target] = values[(i * a + c) % n]

        return run

    def copy(self) -> Step:
        """Asynchronous copies of the input to shared memory, in one or two groups."""
        groups, width = self.rng.randrange(1, 3), self.rng.choice((4, 8, 16))
        d, n = self.register("v"), prod(self.block)
        how = "cg" if width == 16 else "ca"
        self.lines += ["mad.lo.u32 %sv, %me, 32, %copies;", f"mul.wide.u32 %sq, %everyone, {ROW};",
                       "add.u64 %sq, %sq, %rows;"]  # fmt: skip
        for g in range(groups):
            self.lines += [
                f"cp.async.{how}.shared.global [%sv+{16 * g}], [%sq+{32 * g}], {width};",
                "cp.async.commit_group;",
            ]
        step = self.rng.randrange(n)
        self.lines += [
            f"cp.async.wait_group {groups - 1};", "bar.sync 0;", f"add.u32 %su, %me, {step};", f"rem.u32 %su, %su, {n};",
            "mad.lo.u32 %su, %su, 32, %copies;", f"ld.shared.u32 {d}, [%su];", "cp.async.wait_all;", "bar.sync 0;",
        ]  # fmt: skip
        if groups == 2:
            self.lines += ["ld.shared.u32 %su, [%sv+16];", f"xor.b32 {d}, {d}, %su;", "bar.sync 0;"]

        def run(b: Block) -> None:
            first = b.threads[0].special["global"]
            for i, t in enumerate(b.threads):
                t.registers[d] = int(b.table[first + (i + step) % n, 0]) & 0xFFFFFFFF
                if groups == 2:
                    t.registers[d] ^= int(b.table[first + i, 4]) & 0xFFFFFFFF

        return run

    def shuffle(self) -> Step:
        source, target = self.register("v"), self.register("v")
        p = self.register("p") if self.rng.randrange(2) else ""
        mode = self.rng.choice(("idx", "bfly", "down", "up"))
        whole = prod(self.block) % 32 == 0
        self.compiled &= whole
        v = self.register("v") if self.rng.randrange(2) else ""
        step = self.rng.randrange(32)
        segment = self.rng.choice((0, 0, 16, 24, 28)) if whole else 0
        if mode == "idx" and not whole:
            self.lines += (
                [f"rem.u32 %sv, {v or step}, %live;"] if v else [f"mov.u32 %sv, {step};", "rem.u32 %sv, %sv, %live;"]
            )
        else:
            self.lines += [f"mov.u32 %sv, {v or step};"]
        if whole:
            by = "%sv" if v or mode == "idx" else str(step)
            bounds = str(segment << 8 | (0 if mode == "up" else 31))
        else:
            by, bounds = "%sv", "%su"
            self.lines.append("mov.u32 %su, 0;" if mode == "up" else "sub.u32 %su, %live, 1;")
        d = f"{target}|{p}" if p else target
        self.lines.append(f"shfl.sync.{mode}.b32 {d}, {source}, {by}, {bounds}, -1;")

        def run(b: Block) -> None:
            for warp in b.warps():
                values = [t.registers[source] for t in warp]
                amounts = [t.registers[v] if v else step for t in warp]
                for t, amount in zip(warp, amounts, strict=True):
                    amount = amount % t.live if mode == "idx" and not whole else amount
                    clamp = 0 if mode == "up" else 31 if whole else t.live - 1
                    lane, inside = shuffle_source(mode, t.lane, amount & 31, clamp, segment)
                    t.registers[target] = values[lane]
                    if p:
                        t.registers[p] = int(inside)

        return run

    def vote(self) -> Step:
        how, p = self.rng.choice(("all", "any", "uni", "ballot")), self.register("p")
        negated = self.rng.randrange(2)
        d = self.register("v" if how == "ballot" else "p")
        kind = "b32" if how == "ballot" else "pred"
        self.lines.append(f"vote.sync.{how}.{kind} {d}, {'!' if negated else ''}{p}, -1;")

        def run(b: Block) -> None:
            for warp in b.warps():
                votes = {t.lane: t.registers[p] ^ negated for t in warp}
                result = {
                    "all": int(all(votes.values())),
                    "any": int(any(votes.values())),
                    "uni": int(len(set(votes.values())) == 1),
                    "ballot": sum(x << lane for lane, x in votes.items()),
                }[how]
                for t in warp:
                    t.registers[d] = result

        return run

    def reduction(self) -> Step:
        name = self.rng.choice(("add", "min", "max", "and", "or", "xor"))
        kind = self.rng.choice("us") if name in ("add", "min", "max") else "b"
        d, v = self.register("v"), self.register("v")
        self.lines.append(f"redux.sync.{name}.{kind}32 {d}, {v}, -1;")

        def run(b: Block) -> None:
            for warp in b.warps():
                values = [signed(t.registers[v], 32) if kind == "s" else t.registers[v] for t in warp]
                result = values[0]
                for x in values[1:]:
                    result = COMBINE[name](result, x)
                for t in warp:
                    t.registers[d] = result & 0xFFFFFFFF

        return run

    def match(self) -> Step:
        self.compiled = False
        d, v = self.register("v"), self.register("v")
        self.lines.append(f"match.any.sync.b32 {d}, {v}, -1;")

        def run(b: Block) -> None:
            for warp in b.warps():
                values = {t.lane: t.registers[v] for t in warp}
                for t in warp:
                    t.registers[d] = sum(1 << lane for lane, x in values.items() if x == values[t.lane])

        return run

    def barrier_reduction(self) -> Step:
        self.compiled = False
        how, p = self.rng.choice(("popc.u32", "and.pred", "or.pred")), self.register("p")
        d = self.register("v" if how == "popc.u32" else "p")
        self.lines.append(f"bar.red.{how} {d}, 0, {p};")

        def run(b: Block) -> None:
            votes = [t.registers[p] for t in b.threads]
            result = {"popc.u32": sum(votes), "and.pred": int(all(votes)), "or.pred": int(any(votes))}[how]
            for t in b.threads:
                t.registers[d] = result

        return run

    def shared_atomic(self) -> Step:
        """All threads combine values in four words of shared memory, and read them."""
        self.compiled = False
        name, kind, fn = self.rng.choice(ATOMICS)
        v, d, at = self.register("v"), self.register("v"), self.rng.randrange(4)
        self.lines += [f"and.b32 %sv, {v}, 3;", "mad.lo.u32 %sv, %sv, 4, %counts;", f"red.shared.{name}.{kind} [%sv], {v};",
                       "bar.sync 0;", f"ld.shared.u32 {d}, [%counts+{4 * at}];", "bar.sync 0;"]  # fmt: skip

        def run(b: Block) -> None:
            for t in b.threads:
                x = t.registers[v]
                b.shared_counters[x & 3] = fn(b.shared_counters[x & 3], x) & 0xFFFFFFFF
            for t in b.threads:
                t.registers[d] = b.shared_counters[at]

        return run

    def global_atomic(self) -> Step:
        """All threads of all blocks add to eight words of global memory."""
        self.compiled = False
        v = self.register("v")
        self.lines += [f"and.b32 %sv, {v}, 7;", "mul.wide.u32 %sq, %sv, 4;", "add.u64 %sq, %sq, %totals;",
                       f"red.global.add.u32 [%sq], {v};"]  # fmt: skip

        def run(b: Block) -> None:
            for t in b.threads:
                x = t.registers[v]
                b.counters[x & 7] = (b.counters[x & 7] + x) & 0xFFFFFFFF

        return run

    # -- the whole -----------------------------------------------------------------------------------------------------

    def leave(self) -> Step:
        """Some threads, or some warps, end before the others store."""
        kind = self.rng.randrange(4)
        if kind > 1:
            return lambda b: None
        p = self.register("p")
        if kind == 0:
            self.lines += ["setp.eq.u32 %sp, %warp, 1;", "@%sp exit;", "bar.sync 0;"]
            left: Callable[[Thread], bool] = lambda t: t.special["%warpid"] == 1  # noqa: E731
        else:
            self.lines.append(f"@{p} ret;")
            left = lambda t: bool(t.registers[p])  # noqa: E731

        def run(b: Block) -> None:
            for t in b.threads:
                t.exited |= left(t)

        return run

    def draw(self, seed: int) -> Case:
        """Draw the kernel; ``seed`` is that of its inputs."""
        self.table = input_rows(seed, prod(self.grid) * prod(self.block), self.pools)
        preamble = self._preamble()
        body, leave = self.sequence(2), self.leave()
        self.lines += [*self._stores(), "ret;"]
        self.blocks[self.at] = self.lines
        code = self.text()
        text = f"""{HEADER}
.const .align 4 .b32 table[8] = {{{", ".join(map(str, TABLE))}}};
.visible .entry k(.param .u64 rows, .param .u64 out, .param .u64 private, .param .u64 totals, .param .u32 trips,
                  .param .f32 scale)
{{
  {preamble}
  {" ".join(self.declarations)}
  bra START;
{code}
}}
"""

        def run() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8], list[int]]:
            return self._interpret(body, leave)

        return Case(text, self.grid, self.block, seed, self.trip_count, self.pools, self.exact, self.compiled, run)

    def _preamble(self) -> str:
        """Declarations; where this thread's rows are; initial values."""
        n = prod(self.block)
        lines = [f".reg {kind} %s{pool};" for pool, kind in REGISTER.items()]
        lines += [f".reg {REGISTER[pool]} %{pool}<2>;" for pool in self.pools]
        lines += [".reg .b32 %su, %me, %everyone, %total, %warp, %live, %trips, %exchange, %copies, %counts;",
                  ".reg .b64 %su64, %rows, %out, %totals, %row_global, %row_shared, %row_local;",
                  f".shared .align 16 .b8 exchange[{8 * n}];"]  # fmt: skip
        lines += [f".shared .align 16 .b8 copies[{32 * n}];", ".shared .align 16 .b32 counts[4];"]
        lines += _index(self.block, self.grid)
        lines += [f"mov.u32 %total, {n * prod(self.grid)};", "ld.param.u32 %trips, [trips];",
                  "mov.u32 %exchange, exchange;", "mov.u32 %copies, copies;", "mov.u32 %counts, counts;",
                  "shr.u32 %warp, %me, 5;", "shl.b32 %live, %warp, 5;", f"sub.u32 %live, {n}, %live;",
                  "min.u32 %live, %live, 32;", "ld.param.u64 %totals, [totals];",
                  "ld.param.u64 %rows, [rows];", f"mad.wide.u32 %sq, %everyone, {ROW}, %rows;",
                  "ld.param.u64 %row_global, [private];", f"mad.wide.u32 %row_global, %everyone, {PRIVATE}, %row_global;",
                  "ld.param.u64 %out, [out];", f"mad.wide.u32 %out, %everyone, {8 * COPIES}, %out;"]  # fmt: skip
        for pool in self.pools:
            for i, place in enumerate("ab"):
                where = f"[%sq+{offset(place, pool)}]"
                if pool == "p":
                    lines.append(f"ld.global.u32 %sv, {where}; setp.ne.u32 %p{i}, %sv, 0;")
                else:
                    lines.append(f"ld.global.b{WIDTH[pool]} %{pool}{i}, {where};")
        for space in self.spaces[1:]:
            size = PRIVATE * (n if space == "shared" else 1)
            lines += [f".{space} .align 16 .b8 rows_{space}[{size}];", f"mov.u64 %row_{space}, rows_{space};"]
            if space == "shared":
                lines.append(f"mad.wide.u32 %row_shared, %me, {PRIVATE}, %row_shared;")
            lines += ["mov.b64 %sq, 0;"]
            lines += [f"st.{space}.v2.b64 [%row_{space}+{i}], {{%sq, %sq}};" for i in range(0, PRIVATE, 16)]
        if self.atomics:
            lines += ["setp.eq.u32 %sp, %me, 0;", "mov.b32 %su, 0;", "@%sp st.shared.v4.b32 [%counts], {%su, %su, %su, %su};",
                      "bar.sync 0;"]  # fmt: skip
        return "\n  ".join(lines)

    def _stores(self) -> list[str]:
        lines = []
        for pool in self.pools:
            for i in range(2):
                at = 8 * (2 * list(WIDTH).index(pool) + i)
                if pool == "p":
                    lines += [f"selp.b32 %sv, 1, 0, %p{i};", f"st.global.b32 [%out+{at}], %sv;"]
                else:
                    lines.append(f"st.global.b{WIDTH[pool]} [%out+{at}], %{pool}{i};")
        return lines

    def _interpret(self, body: Step, leave: Step) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8], list[int]]:
        n, count = prod(self.block), prod(self.grid)
        out = np.full((n * count, COPIES), 0xAAAAAAAAAAAAAAAA, np.uint64)
        private = np.zeros((n * count, PRIVATE), np.uint8)
        counters = [0] * 8
        for index in range(count):
            block = Block([self._thread(index, i) for i in range(n)], self, self.table, counters)
            body(block)
            leave(block)
            for t in block.threads:
                private[t.special["global"]] = np.frombuffer(bytes(t.memory["global"]), np.uint8)
                if not t.exited:
                    self._store(t, out[t.special["global"]])
        return out, private, counters

    def _thread(self, block: int, i: int) -> Thread:
        n = prod(self.block)
        lane = i % 32
        special = {"%laneid": lane, "%warpid": i // 32, "%nwarpid": -(-n // 32), "global": block * n + i}
        for name, index, shape in (("tid", i, self.block), ("ctaid", block, self.grid)):
            for axis, extent in zip("xyz", (*shape, 1, 1), strict=False):
                special[f"%{name}.{axis}"] = index % extent
                special[f"%n{name}.{axis}"] = extent
                index //= extent
        below = (1 << lane) - 1
        special |= {"%lanemask_eq": 1 << lane, "%lanemask_lt": below, "%lanemask_le": 2 * below + 1,
                    "%lanemask_ge": 0xFFFFFFFF - below, "%lanemask_gt": 0xFFFFFFFF - (2 * below + 1)}  # fmt: skip
        t = Thread(special, min(32, n - i // 32 * 32), memory={s: bytearray(PRIVATE) for s in self.spaces})
        for pool in self.pools:
            for j, place in enumerate("ab"):
                x = int(self.table[special["global"], offset(place, pool) // 8])
                t.registers[f"%{pool}{j}"] = int(x & 0xFFFFFFFF != 0) if pool == "p" else x & ((1 << WIDTH[pool]) - 1)
        return t

    def _store(self, t: Thread, row: npt.NDArray[np.uint64]) -> None:
        for pool in self.pools:
            for i in range(2):
                bits = 32 if pool == "p" else WIDTH[pool]
                at = 2 * list(WIDTH).index(pool) + i
                row[at] = int(row[at]) >> bits << bits | t.registers[f"%{pool}{i}"]


def _index(block: Sequence[int], grid: Sequence[int]) -> list[str]:
    """``%me`` and ``%everyone``: linear indices, x fastest."""
    return [
        "mov.u32 %me, %tid.z;", "mov.u32 %su, %ntid.y;", "mov.u32 %sv, %tid.y;", "mad.lo.u32 %me, %me, %su, %sv;",
        "mov.u32 %su, %ntid.x;", "mov.u32 %sv, %tid.x;", "mad.lo.u32 %me, %me, %su, %sv;",
        "mov.u32 %everyone, %ctaid.z;", "mov.u32 %su, %nctaid.y;", "mov.u32 %sv, %ctaid.y;",
        "mad.lo.u32 %everyone, %everyone, %su, %sv;", "mov.u32 %su, %nctaid.x;", "mov.u32 %sv, %ctaid.x;",
        "mad.lo.u32 %everyone, %everyone, %su, %sv;", f"mad.lo.u32 %everyone, %everyone, {prod(block)}, %me;",
    ]  # fmt: skip


def shuffle_source(mode: str, lane: int, b: int, clamp: int, segment: int) -> tuple[int, bool]:
    """The pseudo-code of shfl in the PTX ISA: the lane that is read, and the predicate."""
    most = (lane & segment) | (clamp & ~segment & 31)
    least = lane & segment
    if mode == "up":
        j = lane - b
        inside = j >= most
    elif mode == "down":
        j = lane + b
        inside = j <= most
    elif mode == "bfly":
        j = lane ^ b
        inside = j <= most
    else:
        j = least | (b & ~segment & 31)
        inside = j <= most
    return (j if inside else lane), inside


COMBINE: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
# Atomics whose result does not depend on the order.
ATOMICS: tuple[tuple[str, str, Callable[[int, int], int]], ...] = (
    ("add", "u32", COMBINE["add"]),
    ("min", "u32", min),
    ("max", "u32", max),
    ("min", "s32", lambda a, b: min(signed(a, 32), signed(b, 32))),
    ("max", "s32", lambda a, b: max(signed(a, 32), signed(b, 32))),
    ("and", "b32", COMBINE["and"]),
    ("or", "b32", COMBINE["or"]),
    ("xor", "b32", COMBINE["xor"]),
)


def draw(rng: random.Random) -> Case:
    """A random kernel."""
    return Kernel(rng).draw(rng.randrange(1 << 16))


def canonical_rows(out: npt.NDArray[np.uint64], case: Case) -> npt.NDArray[np.uint64]:
    """Output rows with every NaN made the same one; bits above a value are kept."""
    result = out.copy()
    for i, pool in enumerate(WIDTH):
        if pool in case.pools:
            result[:, 2 * i : 2 * i + 2] = canonical(result[:, 2 * i : 2 * i + 2], pool)
    return result


def canonical_private(private: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Private rows with every NaN made the same one."""
    result = private.copy()
    for pool, (start, size) in REGIONS.items():
        kind = np.dtype(f"<u{WIDTH[pool] // 8}")
        cells = np.ascontiguousarray(result[:, start : start + size]).view(kind)
        result[:, start : start + size] = canonical(cells.astype(np.uint64), pool).astype(kind).view(np.uint8)
    return result
