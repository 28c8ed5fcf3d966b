"""A launch on the fast engine: fill the context, run, and put everything back where it cannot be finished."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from prism_mlir.runtime.ptx.counters import Counters
from prism_mlir.runtime.ptx.decode import Block, Decoded, Step
from prism_mlir.runtime.ptx.errors import RuntimeLimit
from prism_mlir.runtime.ptx.jit.analysis import SAME_IN_LAUNCH
from prism_mlir.runtime.ptx.jit.homes import HEADER
from prism_mlir.runtime.ptx.jit.layout import BARRIER_NUMBERS, REASONS, Entry, Field, Meeting, Status, Wait, queue_bytes
from prism_mlir.runtime.ptx.jit.library import Options
from prism_mlir.runtime.ptx.jit.native import Compiled, compile_kernel
from prism_mlir.runtime.ptx.jit.values import CannotCompile
from prism_mlir.runtime.ptx.memory import Buffer, GlobalMemory, Placed
from prism_mlir.runtime.ptx.program import Program
from prism_mlir.runtime.ptx.provenance import Uses
from prism_mlir.runtime.ptx.specials import SPECIALS
from prism_mlir.runtime.ptx.state import WARP, State
from prism_mlir.runtime.ptx.types import Array

BLOCKS_PER_CALL = 256  # Python looks for interrupts in between
MOST_SLOTS = 1024  # copies in flight in one warp
Triple = tuple[int, int, int]


class Launch(Protocol):
    """What is needed of a launch; ``machine`` has it."""

    program: Program
    decoded: Decoded
    uses: Uses
    grid: Triple
    block: Triple
    threads: int
    checks: Any
    memory: GlobalMemory
    param: Array
    symbols: dict[str, int]
    shared: tuple[Placed, ...]
    shared_size: int
    local: tuple[Placed, ...]
    local_size: int

    def written(self) -> list[Buffer]: ...
    def plain_state(self) -> State: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the fast engine did not finish a launch."""

    reason: str


def run(launch: Launch, cache: dict[Options, Compiled | Refusal], counters: Counters, max_steps: int) -> Refusal | None:
    """Run a launch; None when it is done. After a refusal all memory is as before.

    Raises:
        RuntimeLimit: a warp has executed more than ``max_steps`` instructions.
    """
    compiled = _compiled(launch, cache)
    if isinstance(compiled, Refusal):
        return compiled
    copies = sum(step.copies for step in launch.decoded.steps)
    slots = max(8, 1 << (copies - 1).bit_length()) if copies else 1
    while True:
        refusal, status = _attempt(launch, compiled, slots, counters, max_steps)
        if status is not Status.QUEUE_FULL or slots >= MOST_SLOTS:
            return refusal
        slots *= 8


def _compiled(launch: Launch, cache: dict[Options, Compiled | Refusal]) -> Compiled | Refusal:
    options = _options(launch)
    if options not in cache:
        try:
            cache[options] = compile_kernel(launch.program, launch.decoded, options)
        except CannotCompile as problem:
            cache[options] = Refusal(str(problem))
        except RuntimeError as problem:  # how llvmlite reports what LLVM cannot do on this machine
            cache[options] = Refusal(f"LLVM: {problem}")
    return cache[options]


def _attempt(
    launch: Launch, compiled: Compiled, slots: int, counters: Counters, max_steps: int
) -> tuple[Refusal | None, Status]:
    """One try; the refusal, if any, and the status that led to it. ``slots``: copies in flight in a warp, a power of two."""
    saved = [(buffer, buffer.bytes.data.copy()) for buffer in launch.written()]
    prepared = _Context(launch, compiled, slots, max_steps)
    total = launch.grid[0] * launch.grid[1] * launch.grid[2]
    status = Status.DONE
    for first in range(0, total, BLOCKS_PER_CALL):
        status = prepared.call(first, min(first + BLOCKS_PER_CALL, total))
        if status is not Status.DONE:
            break
    else:
        prepared.count(counters)
        return None, Status.DONE
    return _undo(launch, prepared, status, saved, max_steps), status


def _undo(
    launch: Launch, prepared: _Context, status: Status, saved: Sequence[tuple[Buffer, Array]], max_steps: int
) -> Refusal:
    for buffer, data in saved:
        buffer.bytes.data[:] = data
    for buffer in launch.memory.buffers:
        if buffer.shadow is not None:
            buffer.shadow.writer[:] = 0
            buffer.shadow.reader[:] = 0
    site = launch.decoded.sites[int(prepared.words[Field.WHERE])]
    if status is Status.STEPS:
        raise RuntimeLimit(
            f"kernel '{launch.decoded.kernel.name}' has not ended after {max_steps} instructions;"
            " raise max_steps (--max-steps) if it is no endless loop",
            site.location,
        )
    return Refusal(f"{site.location}: {REASONS[status]} at '{site.instruction.text}'")


def _options(launch: Launch) -> Options:
    checks = launch.checks
    return Options(
        race=checks.race,
        cross_block=checks.cross_block,
        alignment=checks.alignment,
        partial=launch.threads % WARP != 0,
        cell=launch.uses.shared_cell,
    )


class _Context:
    """The context of a launch and everything that it points to."""

    def __init__(self, launch: Launch, compiled: Compiled, slots: int, max_steps: int) -> None:
        self.launch = launch
        self.compiled = compiled
        self.warps = -(-launch.threads // WARP)
        self.keep: list[Array] = []
        self.constants = len(launch.decoded.layout.constants)
        blocks = len(launch.decoded.blocks)
        self.words = self._array(Field.COUNT + self.constants + 2 * blocks + len(compiled.counted), np.uint64)
        first = Field.COUNT + self.constants
        self.seen = self.words[first : first + 2 * blocks]
        self.active = self.words[first + 2 * blocks :]
        cells = launch.shared_size // compiled.options.cell if compiled.options.race else 0
        rest = launch.threads % WARP
        self.fill(
            SHARED=self._bytes(launch.shared_size),
            LOCAL=self._bytes(launch.local_size * self.warps * WARP if launch.local else 0),
            BUFFERS=self._buffers(),
            BUFFER_COUNT=len(launch.memory.buffers),
            PARAM=self._kept(np.concatenate([launch.param, np.zeros(16, np.uint8)])),
            PARAM_BYTES=launch.param.size,
            KERNEL=compiled.address,
            MAX_STEPS=max_steps,
            LAST_LIVE=(1 << rest) - 1 if rest else 0xFFFFFFFF,
            SHARED_VARIABLES=self._variables(launch.shared),
            SHARED_COUNT=len(launch.shared),
            LOCAL_VARIABLES=self._variables(launch.local),
            LOCAL_COUNT=len(launch.local),
            CELLS=self._bytes(8 * cells),
            CELL_COUNT=cells,
            STATES=self._states(),
            STATE_BYTES=compiled.state_bytes,
            WAITS=self._bytes(4 * Wait.WORDS * self.warps),
            QUEUES=self._bytes(queue_bytes(slots) * self.warps),
            QUEUE_BYTES=queue_bytes(slots),
            QUEUE_MASK=slots - 1,
            WARPS=self.warps,
            GRID_X=launch.grid[0],
            GRID_Y=launch.grid[1],
            SHARED_BYTES=launch.shared_size,
            LOCAL_BYTES=launch.local_size if launch.local else 0,
            DUMMY=self._bytes(128),
            KNOWN=self._bytes(4 * self.warps**2),
            MEETINGS=self._bytes(4 * Meeting.WORDS * BARRIER_NUMBERS),
        )
        self._constants()

    def fill(self, **words: int) -> None:
        for name, value in words.items():
            self.words[Field[name]] = value

    def call(self, first: int, last: int) -> Status:
        self.compiled.run(self.words.ctypes.data, first, last)
        return Status(int(self.words[Field.STATUS]))

    # -- memory ---------------------------------------------------------------------------------------------------

    def _array(self, count: int, kind: type[np.generic]) -> Array:
        """A zeroed array at a multiple of 64 bytes."""
        item = np.dtype(kind).itemsize
        store = np.zeros(count * item + 128, dtype=np.uint8)
        skip = -store.ctypes.data % 64
        self.keep.append(store)
        return store[skip : skip + max(count, 1) * item].view(kind)

    def _bytes(self, size: int) -> int:
        return int(self._array(size, np.uint8).ctypes.data)

    def _kept(self, array: Array) -> int:
        self.keep.append(array)
        return int(array.ctypes.data)

    def _variables(self, placed: Sequence[Placed]) -> int:
        table = np.array([(v.start, v.size) for v in placed] or [(0, 0)], dtype=np.int64)
        return self._kept(table)

    def _buffers(self) -> int:
        buffers = self.launch.memory.buffers
        table = self._array(Entry.COUNT * max(len(buffers), 1), np.uint64).reshape(-1, Entry.COUNT)
        written = {id(buffer) for buffer in self.launch.written()}
        for row, buffer in zip(table, buffers, strict=False):
            row[Entry.STABLE] = id(buffer) not in written
            row[Entry.BASE], row[Entry.SIZE] = buffer.base, buffer.size
            row[Entry.HOST], row[Entry.WRITABLE] = buffer.bytes.data.ctypes.data, buffer.writable
            if buffer.shadow is not None and self.compiled.options.cross_block:
                row[Entry.WRITERS] = buffer.shadow.writer.ctypes.data
                row[Entry.READERS] = buffer.shadow.reader.ctypes.data
                row[Entry.CELL_SHIFT] = buffer.shadow.cell_bytes.bit_length() - 1
        return int(table.ctypes.data)

    def _states(self) -> int:
        """Memory of the warps, with their special registers that differ from thread to thread filled in."""
        layout, st = self.launch.decoded.layout, self.launch.plain_state()
        states = self._array(self.compiled.state_bytes * self.warps, np.uint8).reshape(self.warps, -1)
        by_slot = {c.slot: c for c in layout.constants.values()}
        for i, slot in enumerate(self.compiled.tables):
            values = st.spread(SPECIALS[by_slot[slot].special].value(st)).astype(np.uint32)
            at = HEADER + 4 * WARP * i
            states[:, at : at + 4 * WARP] = values.reshape(self.warps, WARP).view(np.uint8)
        return int(states.ctypes.data)

    def _constants(self) -> None:
        """One word a constant that the launch determines."""
        layout, st = self.launch.decoded.layout, self.launch.plain_state()
        for i, c in enumerate(layout.constants.values(), Field.COUNT):
            if c.symbol:
                self.words[i] = (self.launch.symbols[c.symbol] + c.offset) & (2**64 - 1)
            elif c.special in SAME_IN_LAUNCH:
                self.words[i] = int(SPECIALS[c.special].value(st)[0])

    # -- counters -------------------------------------------------------------------------------------------------

    def count(self, counters: Counters) -> None:
        """Add what was counted: how often each basic block ran, and the threads of guarded accesses."""
        seen = self.seen.reshape(-1, 2).tolist()
        for block, (warps, threads) in zip(self.launch.decoded.blocks, seen, strict=True):
            self._count_block(counters, block, warps, threads)
        counters.divergent_branches += int(self.words[Field.DIVERGENT])
        counters.barriers += int(self.words[Field.BARRIERS])

    def _count_block(self, counters: Counters, block: Block, warps: int, threads: int) -> None:
        if not threads:
            return
        counters.thread_instructions += threads * len(block.steps)
        for step in block.steps:
            counters.warp_instructions[step.klass] = counters.warp_instructions.get(step.klass, 0) + warps
            _count_step(counters, step, self._active(step, "", threads))
            if step.access is not None and not step.access.space:
                _count_generic(counters, step, *(self._active(step, space, 0) for space in ("shared", "local")))

    def _active(self, step: Step, what: str, otherwise: int) -> int:
        index = self.compiled.counted.get((step.site.pc, what))
        return otherwise if index is None else int(self.active[index])


def _count_step(counters: Counters, step: Step, threads: int) -> None:
    """``threads``: how many executed it; for matrices, 32 a warp."""
    opcode, access = step.site.instruction.opcode, step.access
    if opcode == "mma":
        shape = next(m for m in step.site.instruction.mods if m.startswith("m"))
        m, n, k = (int(part) for part in re.findall(r"\d+", shape))
        counters.mma(threads // WARP, 2 * m * n * k)
    elif access is None:
        return
    elif step.copies:
        counters.cp_async_bytes += access.width * threads
    elif opcode in ("ldmatrix", "stmatrix"):
        rows = 8 * int(next(m for m in step.site.instruction.mods if m in ("x1", "x2", "x4"))[1:])
        lanes = threads if step.guard is not None else threads // WARP * rows
        _count_bytes(counters, step, "shared", lanes)
    else:
        _count_bytes(counters, step, access.space, threads)


def _count_bytes(counters: Counters, step: Step, space: str, threads: int) -> None:
    """Bytes that some threads ask for; an atomic operation counts as a store."""
    assert step.access is not None
    moved = step.access.width * threads
    loaded = moved if not step.access.writes else 0
    stored = moved if step.access.writes else 0
    if space == "shared":
        counters.shared_load_bytes += loaded
        counters.shared_store_bytes += stored
    elif space in ("global", ""):
        counters.global_load_bytes += loaded
        counters.global_store_bytes += stored


def _count_generic(counters: Counters, step: Step, shared: int, local: int) -> None:
    """Of the threads of a generic access, which were all taken for accesses to global memory, some were others."""
    _count_bytes(counters, step, "global", -shared - local)
    _count_bytes(counters, step, "shared", shared)
