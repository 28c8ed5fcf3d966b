"""Where the values go that a mutant changes: why a changed instruction may make no difference to a launch.

The *original* kernel runs. Where the changed instruction stands, both versions are tried on the same state and undone; registers
and bytes of memory that they leave different are marked. Marks then follow the data: an instruction that reads a marked
register marks what it writes. As long as no mark reaches an address, a guard or a branch, both kernels execute the same
instructions; and if none is left in global memory at the end, they have the same results, whatever the marked values are. So
the mutant is harmless in this launch if

- ``not executed``: no thread gets to the changed instruction;
- ``no effect``: whenever it is executed, it does the same as the original;
- ``dead``: what it changes is overwritten before anything reads it;
- ``unused``: what it changes is read, but nothing of it reaches an address, a guard, a branch or a result.

A branch that is always or never taken changes who executes the instructions on either way to where both meet; these are tried in
the same way (no barriers, warp operations or further choices may be among them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.ptx_marks import ANY, Marks
from harness.ptx_mutants import Mutant
from harness.ptx_transfer import Reaches, Transfer
from harness.ptx_watch import Accesses, Lanes, Run, executing, watched
from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.machine import KernelHandle
from prism_mlir.runtime.ptx.program import Kernel, Program, Sym
from prism_mlir.runtime.ptx.state import Mask, State

Bytes = npt.NDArray[np.uint8]
_CONTROL = ("bra", "brx", "ret", "exit", "bar", "barrier", "trap")


@dataclass(frozen=True)
class Effect:
    """A state after something was tried.

    Attributes:
        registers, shared, buffers: all of it; copies that were started have landed.
        slots: registers that it writes; stores: whether it writes memory; spoiled: whether it reads a marked register.
    """

    registers: Sequence[Any]
    shared: Bytes
    buffers: Sequence[Bytes]
    slots: frozenset[int] = frozenset()
    stores: bool = False
    spoiled: bool = False


class Flow:
    """Watches one launch of the kernel that ``kernel()`` gives; the launch raises ``Reaches`` if the argument does not hold."""

    def __init__(self, original: Kernel, mutant: Mutant) -> None:
        self._original, self._mutant = original, mutant
        self._control = original.body[mutant.pc].opcode in _CONTROL
        self._adds = not mutant.dropped and not self._control
        self._executed = self._changed = False
        self._st: State | None = None
        self._accesses = Accesses()
        self._results: dict[int, Bytes] = {}

    def kernel(self, program: Program) -> KernelHandle:
        """The original, with the mutant's version of the instruction in front of its own."""
        kernel, m = self._original, self._mutant
        if self._adds:
            body = (*kernel.body[: m.pc], m.kernel.body[m.pc], *kernel.body[m.pc :])
            kernel = replace(kernel, body=body, labels={n: at + (at > m.pc) for n, at in kernel.labels.items()})
        handle = watched(program, kernel, self)
        self._decoded = handle.decoded
        self._transfer = Transfer(handle.decoded)
        return handle

    def finish(self) -> None:
        """A launch has ended.

        Raises:
            Reaches: a result may be different.
        """
        if self._results:
            raise Reaches("a result")

    @property
    def argument(self) -> str:
        """What launches that were watched to their ends show."""
        if not self._executed:
            return "not executed"
        if not self._changed:
            return "no effect"
        return "unused" if self._transfer.read else "dead"

    def step(self, st: State, step: Step, mask: Mask, run: Run) -> None:
        if st is not self._st:
            self._begin(st)
        pc, here = step.site.pc, self._mutant.pc
        self._join(pc, mask)
        if self._adds and pc == here:
            self._theirs[mask.lanes.tobytes()] = self._try(st, [step], mask)
            return
        before = self._try(st, [], mask) if pc == here + self._adds else None
        if before is None:
            self._transfer.step(st, step, mask, run, self._marks)
            return
        self._executed |= bool(mask.lanes.any())
        if self._control:
            self._transfer.step(st, step, mask, run, self._marks)
            self._other_way(st, step, mask)
            return
        ours = self._try(st, [step], mask)
        self._transfer.step(st, step, mask, run, self._marks)
        theirs = self._theirs.pop(mask.lanes.tobytes(), None) if self._adds else before
        if theirs is None:
            raise Reaches("threads of different ways mix at the changed instruction")
        self._mark(st, theirs, ours, mask.lanes)

    def _begin(self, st: State) -> None:
        self._st = st
        self._accesses.attach(st)
        self._marks = Marks(st, self._results)
        self._transfer.accesses = self._accesses
        self._theirs: dict[bytes, Effect] = {}
        self._pending: list[tuple[int, Lanes, Callable[[], None]]] = []

    # -- the changed instruction ----------------------------------------------------------------------------------

    def _try(self, st: State, steps: Sequence[Step], mask: Mask) -> Effect:
        """What the instructions do to the state, which they leave as it is."""
        spoiled = False
        for step in steps:
            lanes = executing(st, mask, step)
            self._transfer.check(step, mask, lanes, self._marks)
            spoiled |= any(self._marks.any(s, lanes) for s in step.reads)
            if step.access and step.access.writes and step.access.space in ("", "local") and st.local.variables:
                raise Reaches("local memory, which is not followed")
        buffers = [b for b in st.memory.buffers if b.writable]
        saved = list(st.regs), st.shared.bytes.data.copy(), [b.bytes.data.copy() for b in buffers]
        copies = len(st.queue.copies)
        for step in steps:
            if step.run is not None:
                step.run(st, mask)
        effect = Effect(
            list(st.regs),
            _landed(st, st.queue.copies[copies:]),
            [b.bytes.data.copy() for b in buffers],
            frozenset(s for step in steps for s in step.writes),
            any(step.access is not None and step.access.writes for step in steps),
            spoiled,
        )
        st.regs[:], st.shared.bytes.data[:] = saved[0], saved[1]
        for buffer, data in zip(buffers, saved[2], strict=True):
            buffer.bytes.data[:] = data
        del st.queue.copies[copies:]
        self._accesses.take()
        return effect

    def _mark(self, st: State, theirs: Effect, ours: Effect, lanes: Lanes) -> None:
        """Mark what the mutant leaves different: where the effects differ, and the memory is not now as in the mutant."""
        buffers = [b for b in st.memory.buffers if b.writable]
        for a, b, buffer in zip(theirs.buffers, ours.buffers, buffers, strict=True):
            different = (a != b) & (a != buffer.bytes.data)
            self._changed |= bool(different.any())
            self._marks.add_results(buffer.base, different.astype(np.uint8) * np.uint8(ANY))
        if theirs.spoiled and theirs.stores:
            raise Reaches("the changed instruction stores a changed value")
        shared = self._marks.difference_of_bytes(theirs.shared, ours.shared)
        shared[theirs.shared == _landed(st, st.queue.copies)] = 0
        self._changed |= bool(shared.any())
        self._marks.add_bytes(shared)
        for slot in sorted(theirs.slots | ours.slots):
            marks = self._marks.difference(slot, theirs.registers[slot], ours.registers[slot], lanes)
            if theirs.spoiled and slot in theirs.slots:
                marks[lanes] = ANY
            self._changed |= bool(marks.any())
            self._marks.add(slot, marks)

    # -- a changed branch -----------------------------------------------------------------------------------------

    def _other_way(self, st: State, step: Step, mask: Mask) -> None:
        """The threads that go the other way execute what is there, and not what they execute in the original.

        The difference is marked where the ways meet. What they overwrite only in the original keeps its marks in the mutant.
        """
        taken = executing(st, mask, step)
        others = taken if self._mutant.dropped else mask.lanes & ~taken
        if not others.any():
            return
        if self._results:
            raise Reaches("a result, perhaps stored on the other way")
        join, through, jumped = self._ways(step)
        ours, theirs = (jumped, through) if self._mutant.dropped else (through, jumped)
        done, instead = (self._try(st, steps, st.mask(others)) for steps in (ours, theirs))
        marked, marked_bytes = {s: self._marks.register(s) * others[:, None] for s in done.slots}, self._marks.bytes

        def met() -> None:
            self._mark(st, replace(instead, slots=instead.slots | done.slots), done, others)
            if ours:
                self._marks.add_bytes(marked_bytes)
            for slot, marks in marked.items():
                self._marks.add(slot, marks)

        self._pending.append((join, others, met))

    def _ways(self, branch: Step) -> tuple[int, Sequence[Step], Sequence[Step]]:
        """Where the two ways from a branch meet, and the instructions on each up to there."""
        i = branch.site.instruction
        if i.opcode != "bra":
            raise Reaches(f"other threads execute '{i.text}'")
        through, jumped = self._way(branch.site.pc + 1), self._way(self._target(branch))
        join = next((pc for pc in through if pc in set(jumped)), None)
        if join is None:
            raise Reaches("other threads go another way")
        first, second = ([self._decoded.steps[pc] for pc in way[: way.index(join)]] for way in (through, jumped))
        if any(s.klass.startswith("cp.async") and not s.copies for s in (*first, *second)):
            raise Reaches("other threads commit or wait for copies")
        return join, [s for s in first if s.control is None], [s for s in second if s.control is None]

    def _way(self, pc: int) -> list[int]:
        """Where a thread goes from ``pc`` until it comes to a choice, a barrier, a warp operation or the end."""
        way: list[int] = []
        while pc < len(self._decoded.steps) and pc not in way:
            way.append(pc)
            step = self._decoded.steps[pc]
            if step.sync is not None or (step.control is not None and (step.guard or step.control.kind != "branch")):
                break
            pc = pc + 1 if step.control is None else self._target(step)
        return way

    def _target(self, branch: Step) -> int:
        operand = branch.site.instruction.operands[0]
        assert isinstance(operand, Sym)
        return self._decoded.kernel.labels[operand.name]

    def _join(self, pc: int, mask: Mask) -> None:
        """Threads have come to ``pc``: differences that were to appear there do."""
        due = [p for p in self._pending if p[0] == pc and bool((p[1] & mask.lanes).any())]
        self._pending = [p for p in self._pending if all(p is not d for d in due)]
        for _, _, mark in due:
            mark()


def _landed(st: State, copies: Sequence[Any]) -> Bytes:
    """Shared memory as it is when these copies in flight have landed."""
    data = st.shared.bytes.data
    kept = data.copy()
    for copy in copies:
        st.shared.bytes.put(copy.position, copy.width, copy.raw)
    landed = data.copy()
    data[:] = kept
    return landed
