"""The function that runs one warp of a kernel from a barrier to the next one.

Registers have homes in the warp's memory (see ``homes``). Those of which all lanes agree are LLVM scalars inside a basic block;
the others are LLVM vectors inside a loop over lanes (see ``loops``). The function returns the number of the barrier that it has
reached; called with that number it goes on. Branches are taken by the warp as a whole; for threads that disagree see ``apart``.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Block, Decoded, Step
from prism_mlir.runtime.ptx.jit import analysis, families
from prism_mlir.runtime.ptx.jit.analysis import (
    SAME_IN_BLOCK,
    SAME_IN_LAUNCH,
)
from prism_mlir.runtime.ptx.jit.apart import Apart
from prism_mlir.runtime.ptx.jit.build import EXITED, FAILED, I8, I32, I64, WARP_FUNCTION, Build, i32, i64
from prism_mlir.runtime.ptx.jit.gather import gathered
from prism_mlir.runtime.ptx.jit.homes import HEADER, Lives, homes, members
from prism_mlir.runtime.ptx.jit.layout import Field, Status, Wait
from prism_mlir.runtime.ptx.jit.library import Module
from prism_mlir.runtime.ptx.jit.loops import Loop
from prism_mlir.runtime.ptx.jit.ranges import Ranges
from prism_mlir.runtime.ptx.jit.tables import Tables
from prism_mlir.runtime.ptx.jit.values import LANES, CannotCompile, Value, constant, element_type, is_vector
from prism_mlir.runtime.ptx.program import Program
from prism_mlir.runtime.ptx.table import Constant, Context

TEMPORARY = 8 * LANES
# A mask of every lane, for closures that only ask whether all lanes take part.
_FULL = SimpleNamespace(full=True, dense=True, index=None)


@dataclass(frozen=True, slots=True)
class Barrier:
    """A place where a warp waits: the basic block that it ends, and its program counter."""

    at: int
    pc: int


class Registers:
    """``st.regs`` of a closure that is being compiled."""

    def __init__(self, kernel: WarpKernel) -> None:
        self.kernel = kernel
        self.written: dict[int, Value] = {}

    def __getitem__(self, slot: int) -> Value:
        return self.kernel.read(slot)

    def __setitem__(self, slot: int, value: Value) -> None:
        self.written[slot] = value


class WarpKernel:
    """One kernel being compiled; the constructor writes the function ``warp`` into ``module``.

    Raises:
        CannotCompile: an instruction has no compiled form.
    """

    def __init__(self, module: Module, program: Program, decoded: Decoded) -> None:
        self.module, self.options = module, module.options
        decoded = self.decoded = gathered(decoded, _is_family)
        self.function = ir.Function(module.ir, WARP_FUNCTION, "warp")
        self.x = Build(self.function)
        self.b = self.x.b
        self.context = Context(program, decoded.kernel, _copy_layout(decoded))
        self.context.layout.slots.update(decoded.layout.slots)
        self.live = analysis.live_in(decoded)
        apart = analysis.regions(decoded)
        self.uniform = analysis.uniform_slots(decoded, apart, self.live)
        apart = [r for r in apart if self._may_diverge(r.at)]
        self.lives = Lives(decoded, self.live, analysis.following(decoded))
        self.constants = {c.slot: (i, c) for i, c in enumerate(decoded.layout.constants.values())}
        self.tables = {s: i for i, s in enumerate(s for s, (_, c) in self.constants.items() if in_table(c))}
        self.homes, self.state_bytes = homes(
            decoded, self.lives, self.uniform, _is_family, HEADER + 4 * LANES * len(self.tables)
        )
        self.lanes: ir.Value | None = None  # the word of lanes that run, where threads run apart
        self.apart = Apart(self, apart)
        self.barriers: list[Barrier] = []
        # Counter of a memory access, by its program counter: of the threads of a guarded one, or of a generic one in a space.
        self.counted: dict[tuple[int, str], int] = {}
        self.counts = 8 * (Field.COUNT + len(self.constants))
        self.scalars: dict[int, ir.Value] = {}
        self.changed: set[int] = set()
        self.loop: Loop | None = None
        self.before = self.after = 0
        self.temporaries: list[ir.Value] = []
        self.busy: set[int] = set()  # temporaries of the instruction at hand,
        self.pinned: set[int] = set()  # and of earlier ones, which the open loop still reads
        self.operands = Tables(self)
        self.ranges = Ranges(self)
        self._write()

    # -- registers ------------------------------------------------------------------------------------------------

    def storage(self, slot: int) -> np.dtype[Any]:
        return self.decoded.layout.scalars[slot].storage

    def home(self, slot: int) -> ir.Value:
        """Where a register lies between loops."""
        if slot in self.tables:
            return self.x.at(self.state, HEADER + 4 * LANES * self.tables[slot])
        return self.x.at(self.state, self.homes[slot])

    def agrees(self, slot: int) -> bool:
        """Whether all lanes have the same value."""
        return slot in self.uniform

    def lanes_loop(self) -> Loop:
        """The loop that is being written, or a new one."""
        if self.loop is None:
            self.loop = Loop(self.b)
        return self.loop

    def read(self, slot: int) -> Value:
        """The value of a slot: a scalar, or the lanes that the loop is at."""
        storage = self.storage(slot)
        if slot in self.uniform:
            return Value(self.b, storage, [self.scalar(slot)])
        loop = self.lanes_loop()
        if slot not in loop.values:
            loop.values[slot] = loop.load(self.home(slot), storage)
        return loop.values[slot]

    def scalar(self, slot: int) -> ir.Value:
        """The value of a slot of which all lanes agree."""
        if slot not in self.scalars:
            self.scalars[slot] = self._constant(slot) if slot in self.constants else self._load_scalar(slot)
        return self.scalars[slot]

    def _constant(self, slot: int) -> ir.Value:
        number, c = self.constants[slot]
        kind = element_type(self.storage(slot))
        if c.value is not None:
            return constant(c.value[0], c.value.dtype)
        if c.special in SAME_IN_BLOCK:
            word = self.x.field(Field(Field.CTAID_X + SAME_IN_BLOCK.index(c.special)))
        else:
            word = self.x.load(self.x.ctx, 8 * (Field.COUNT + number), I64, 8)
        return word if kind == I64 else self.b.trunc(word, kind)

    def _load_scalar(self, slot: int) -> ir.Value:
        kind = element_type(self.storage(slot))
        if kind.width > 1:
            return self.x.load(self.home(slot), 0, kind, 8)
        return self.b.trunc(self.x.load(self.home(slot), 0, I8, 8), kind)

    def _store_scalar(self, slot: int) -> None:
        value = self.scalars[slot]
        self.x.store(self.b.zext(value, I8) if value.type.width == 1 else value, self.home(slot), 0, 8)

    def write(self, slot: int, value: Value, guard: ir.Value | None) -> None:
        """Bind a value to a slot, in the lanes whose guard holds."""
        if not self.wanted(slot):
            return
        (part,) = value.view(self.storage(slot)).parts
        if slot in self.uniform:
            if is_vector(part):
                raise CannotCompile("a result that should agree in all lanes does not")
            self.scalars[slot] = part if guard is None else self.b.select(guard, part, self.scalar(slot))
            self.changed.add(slot)
            return
        loop = self.lanes_loop()
        builder = value.builder
        if guard is not None:
            (old,) = self.read(slot).parts
            part, builder = loop.builder.select(guard, loop.spread(part), loop.spread(old)), loop.builder
        loop.values[slot] = Value(builder, self.storage(slot), [part])
        loop.written.add(slot)
        self.operands.forget(slot)

    def wanted(self, slot: int) -> bool:
        """Whether a result is ever read."""
        return bool(self.after >> slot & 1)

    def close(self) -> None:
        """End the loop over lanes, and store what lives on before the instruction at hand."""
        self._close(self.before)

    def _close(self, live: int) -> None:
        if self.loop is None:
            return
        loop, self.loop = self.loop, None
        self.pinned = set()
        for slot in sorted(loop.written):
            if live >> slot & 1:
                loop.store(loop.values[slot].parts[0], self.home(slot), self.storage(slot), self.lanes)
        loop.finish()

    def _flush(self, live: int) -> None:
        """Store all that lives on."""
        self._close(live)
        for slot in sorted(self.changed):
            if live >> slot & 1:
                self._store_scalar(slot)
        self.changed.clear()

    def _may_diverge(self, at: int) -> bool:
        block = self.decoded.blocks[at]
        control, guard = block.control, block.guard
        if control is not None and control.kind == "table":
            return control.slot not in self.uniform or (guard is not None and guard[0] not in self.uniform)
        return guard is not None and guard[0] not in self.uniform

    # -- what instructions need that are no closures --------------------------------------------------------------

    def temporary(self) -> ir.Value:
        """Room for 32 elements, for the instruction at hand and the loop behind it."""
        taken = self.busy | self.pinned
        number = next(i for i in range(len(taken) + 1) if i not in taken)
        if number == len(self.temporaries):
            self.temporaries.append(self.x.alloca(TEMPORARY))
        self.busy.add(number)
        return self.temporaries[number]

    def column(self, slot: int, dtype: Any) -> ir.Value:
        """Where the 32 values of a slot lie, converted to an integer type; valid once the loop is closed."""
        kind = np.dtype(dtype)
        if slot not in self.uniform and self.storage(slot).itemsize == kind.itemsize:
            return self.home(slot)
        place = self.temporary()
        loop = self.lanes_loop()
        loop.store(self.read(slot).astype(kind).parts[0], place, kind)
        return place

    def addresses(self, slot: int) -> tuple[ir.Value, bool]:
        """Where 32 addresses lie, and whether they have 32 bits; valid once the loop is closed."""
        narrow = slot not in self.uniform and self.storage(slot).itemsize == 4
        return self.column(slot, np.uint32 if narrow else np.uint64), narrow

    def target(self, slot: int) -> ir.Value:
        """Where an instruction puts 32 results."""
        if not self.wanted(slot):
            return self.temporary()
        self.operands.forget(slot)
        return self.home(slot)

    def result(self, slot: int, place: ir.Value, dtype: np.dtype[Any], guard: ir.Value | None) -> None:
        """Bind 32 values in memory to a slot, in the lanes whose guard holds."""
        if self.wanted(slot):
            self.write(slot, self.lanes_loop().load(place, dtype), guard)

    def agreed(self, slot: int, step: Step) -> ir.Value:
        """A value that the whole warp must share: where that is not sure the function looks, and stops if it does not."""
        if slot in self.uniform:
            return self.scalar(slot)
        b, x = self.b, self.x
        element = element_type(self.storage(slot))
        first = x.first_lane(self.running)
        one = x.load(self.home(slot), b.zext(b.mul(first, i32(element.width // 8)), I64), element, 4)
        every = x.load(self.home(slot), 0, ir.VectorType(element, LANES), 64)
        other = b.and_(b.bitcast(b.icmp_unsigned("!=", every, x.splat(one)), I32), self.running)
        differs = b.icmp_unsigned("!=", other, i32(0))
        x.fail_if(differs, Status.DIFFERS, i32(step.site.pc), lambda: b.branch(self.failed))
        return one

    def counter(self, step: Step, what: str) -> int:
        """Where in the context the threads of an access are counted."""
        index = self.counted.setdefault((step.site.pc, what), len(self.counted))
        return self.counts + 16 * len(self.decoded.blocks) + 8 * index

    def word(self, slot: int) -> ir.Value:
        """The lanes of a predicate, as a word; behind all loops."""
        assert self.loop is None
        if slot in self.uniform:
            return self.b.select(self.scalar(slot), i32(-1), i32(0))
        return self.x.load(self.home(slot), 0, I32, 4)

    # -- the function ---------------------------------------------------------------------------------------------

    def _write(self) -> None:
        b, x = self.b, self.x
        _, self.state, resume = self.function.args
        self.live_bits = b.trunc(x.field(Field.LIVE), I32) if self.options.partial else i32(-1)
        self.failed = x.block("failed")
        self.entries = [x.block(f"block{i}") for i in range(len(self.decoded.blocks) + 1)]
        start = x.block("start")
        self.apart.begin()
        switch = b.switch(resume, start)
        b.position_at_end(start)
        self._fresh_registers()
        for i, block in enumerate(self.decoded.blocks):
            b.position_at_end(self.entries[i])
            self.body(i, block)
            self._control(i, block)
        self.apart.write()
        b.position_at_end(self.entries[-1])
        b.ret(i32(EXITED))
        b.position_at_end(self.failed)
        b.ret(i32(FAILED))
        for number, barrier in enumerate(self.barriers, 1):
            here = x.block(f"resume{number}")
            switch.add_case(i32(number), here)
            b.position_at_end(here)
            self._resume(barrier)

    def _fresh_registers(self) -> None:
        """Registers that nothing has written hold all ones, predicates false."""
        for slot in members(self.lives.into[0]):
            scalar = self.decoded.layout.scalars[slot]
            ones = constant(0 if scalar.kind == "p" else (1 << scalar.bits) - 1, scalar.storage)
            if slot in self.uniform:
                self.scalars[slot] = ones
                self._store_scalar(slot)
            else:
                self.lanes_loop().store(ones, self.home(slot), scalar.storage)
        self._close(0)
        self.x.store(i64(0), self.state, 0, 8)
        self.b.branch(self.entries[0])

    # -- basic blocks ---------------------------------------------------------------------------------------------

    def body(self, at: int, block: Block) -> None:
        """The instructions of a block but for its control flow."""
        b, x = self.b, self.x
        self.scalars, self.changed = {}, set()
        self.operands.begin(block.steps, self.lives.before[at][-1])
        self.ranges.begin(block.steps)
        threads = b.zext(x.call("llvm.ctpop.i32", I32, self.running), I64)
        x.add_to(i64(1), x.ctx, self.counts + 16 * at)
        x.add_to(threads, x.ctx, self.counts + 16 * at + 8)
        x.add_to(i64(len(block.steps)), self.state, 0)
        touched = False
        rows = self.lives.before[at]
        for i, step in enumerate(block.steps):
            self.before, self.after = rows[i], rows[i + 1]
            if step.control is not None:
                break
            if step.raw is not None:
                touched |= self._step(step)
            self.ranges.passed(step)
        else:
            self.before = rows[-1]
        self._flush(self.before)
        if touched:
            self._leave_if(b.icmp_unsigned("!=", x.field(Field.STATUS), i64(0)))

    @property
    def running(self) -> ir.Value:
        """The word of lanes that run."""
        return self.live_bits if self.lanes is None else self.lanes

    def _leave_if(self, bad: ir.Value) -> None:
        going = self.x.block("going")
        self.b.cbranch(bad, self.failed, going)
        self.b.position_at_end(going)

    def _step(self, step: Step) -> bool:
        """Compile one instruction; returns whether it may have failed."""
        instruction = step.site.instruction
        name = ".".join((instruction.opcode, *instruction.mods))
        self.pinned = set() if self.loop is None else self.pinned | self.busy
        self.busy = set()
        try:
            family = families.find(instruction)
            if family is not None:
                self.context.begin(step.site.pc, instruction)
                return family(self, step)
            if any(self.wanted(slot) for slot in step.writes):
                self.trace(step)
            elif step.raw is not None and not step.writes:  # what it does is no value
                return families.none(self, step)
            return False
        except (CannotCompile, TypeError, AttributeError, ValueError, IndexError) as problem:
            raise CannotCompile(f"{step.site.location}: '{name}' {problem}") from problem

    def trace(self, step: Step) -> None:
        """Run the closure of the instruction table on LLVM values."""
        registers = Registers(self)
        state: Any = SimpleNamespace(regs=registers)
        mask: Any = _FULL
        assert step.raw is not None
        with np.errstate(all="ignore"):
            step.raw(state, mask)
        guard = self.guard(step)
        for slot, value in registers.written.items():
            if not isinstance(value, Value):  # the same for every input
                value = Value(self.b, value.dtype, [constant(value.reshape(-1)[0], value.dtype)])
            self.write(slot, value, guard)

    # -- guards and control flow ----------------------------------------------------------------------------------

    def guard(self, step: Step) -> ir.Value | None:
        """The guard as a predicate: a scalar where all lanes agree, else of the lanes that the loop is at."""
        if step.guard is None:
            return None
        value = self.read(step.guard[0])
        return value.builder.not_(value.parts[0]) if step.guard[1] else value.parts[0]

    def active(self, step: Step) -> ir.Value:
        """The word of lanes that take part in an instruction; behind all loops."""
        if step.guard is None:
            return self.running
        word = self.word(step.guard[0])
        return self.b.and_(self.b.not_(word) if step.guard[1] else word, self.running)

    def together(self, step: Step) -> ir.Value | None:
        """Whether the warp executes the instruction, as one bit; where its threads disagree they run apart, or the function
        stops. None: it does. Behind all loops."""
        if self.lanes is not None:  # an operation of whole warps
            self.x.fail(Status.DIVERGED, i32(step.site.pc))
            self.b.branch(self.failed)
            self.b.position_at_end(self.x.block("never"))
            return None
        if step.guard is None:
            return None
        if step.guard[0] in self.uniform:
            return self.guard(step)
        bits = self.active(step)
        yes, no = self.b.icmp_unsigned("==", bits, self.live_bits), self.b.icmp_unsigned("==", bits, i32(0))
        agreed, apart = self.x.block("agreed"), self.x.block("apart")
        self.b.cbranch(self.b.or_(yes, no), agreed, apart)
        self.b.position_at_end(apart)
        if not self.apart.enter(step, bits):
            self.x.fail(Status.DIVERGED, i32(step.site.pc))
            self.b.branch(self.failed)
        self.b.position_at_end(agreed)
        return yes

    def _control(self, at: int, block: Block) -> None:
        b = self.b
        control, last = block.control, block.last
        if control is None or last is None:
            b.branch(self.entries[at + 1])
            return
        taken = self.together(last)
        if control.kind == "branch":
            self._jump(at, self.decoded.block_of_label[control.targets[0]], taken, last)
            return
        if taken is not None:
            do = self.x.block("do")
            b.cbranch(taken, do, self.entries[at + 1])
            b.position_at_end(do)
        if control.kind == "exit":
            b.ret(i32(EXITED))
        elif control.kind == "table":
            self._table(at, last)
        else:
            self._barrier(at, last)

    def _table(self, at: int, step: Step) -> None:
        """brx.idx whose index agrees in all lanes."""
        b, x = self.b, self.x
        control = step.control
        assert control is not None
        past = x.block("past")
        switch = b.switch(self.agreed(control.slot, step), past)
        for i, label in enumerate(control.targets):
            target = self.decoded.block_of_label[label]
            to = self.entries[target]
            if target <= at:
                to = x.block("again")
                b.position_at_end(to)
                self.loop_to(self.entries[target], step)
            switch.add_case(i32(i), to)
        b.position_at_end(past)
        x.fail(Status.TABLE, i32(step.site.pc))
        b.branch(self.failed)

    def _jump(self, at: int, target: int, taken: ir.Value | None, step: Step) -> None:
        b = self.b
        to = self.entries[target]
        if target <= at:  # loops count instructions
            to = self.x.block("again")
        if taken is None:
            b.branch(to)
        else:
            b.cbranch(taken, to, self.entries[at + 1])
        if target > at:
            return
        b.position_at_end(to)
        self.loop_to(self.entries[target], step)

    def loop_to(self, target: ir.Block, step: Step) -> None:
        """Jump back, unless the limit of instructions is reached."""
        b, x = self.b, self.x
        endless = b.icmp_unsigned(">", x.load(self.state, 0, I64, 8), x.field(Field.MAX_STEPS))
        stop = x.block("endless")
        b.cbranch(endless, stop, target)
        b.position_at_end(stop)
        x.fail(Status.STEPS, i32(step.site.pc))
        b.branch(self.failed)

    # -- barriers -------------------------------------------------------------------------------------------------

    def _barrier(self, at: int, step: Step) -> None:
        """Say at which barrier the warp is, and return; one that only arrives goes on."""
        b, x = self.b, self.x
        control = step.control
        assert control is not None
        number = self.agreed(control.slot, step)
        count = i32(0) if control.count is None else self.agreed(control.count, step)
        if control.mode == "arrive":
            families.arrive(self, number, count, step)
            b.branch(self.entries[at + 1])
            return
        x.set_field(Field.NUMBER, b.zext(number, I64))
        x.set_field(Field.WANTED, b.zext(count, I64))
        x.set_field(Field.BARRIER, i64(step.site.pc))
        if control.mode == "red":
            self.context.begin(step.site.pc, step.site.instruction)
            slot, negated = self.context.predicate(self.context.operands[-1])
            word = self.word(slot)
            x.set_field(Field.VOTES, b.zext(b.and_(b.not_(word) if negated else word, self.live_bits), I64))
        self.barriers.append(Barrier(at, step.site.pc))
        b.ret(i32(len(self.barriers)))

    def _resume(self, barrier: Barrier) -> None:
        """Go on behind a barrier; a reduction brings its result."""
        b, x = self.b, self.x
        block = self.decoded.blocks[barrier.at]
        step = block.last
        assert step is not None and step.control is not None
        if step.control.mode == "red":
            self.scalars, self.changed = {}, set()
            self.after = self.lives.before[barrier.at][-1]
            record = x.at(x.pointer(Field.WAITS), b.mul(x.field(Field.WARP), i64(4 * Wait.WORDS)))
            total, met = x.load(record, 4 * Wait.TOTAL, I32, 4), x.load(record, 4 * Wait.MET, I32, 4)
            how = step.site.instruction.mods
            result = {
                "popc": total,
                "and": b.icmp_unsigned("==", total, met),
                "or": b.icmp_unsigned("!=", total, i32(0)),
            }[next(m for m in how if m in ("popc", "and", "or"))]
            kind = np.dtype(np.bool_) if result.type.width == 1 else np.dtype(np.uint32)
            for slot in step.writes:
                self.write(slot, Value(b, kind, [result]), None)
            self._flush(self.after)
        b.branch(self.entries[barrier.at + 1])


def in_table(c: Constant) -> bool:
    """Whether a constant is a special register that differs from thread to thread."""
    return bool(c.special) and c.special not in SAME_IN_LAUNCH and c.special not in SAME_IN_BLOCK


def _is_family(step: Step) -> bool:
    return families.find(step.site.instruction) is not None


def _copy_layout(decoded: Decoded) -> Any:
    """The kernel's layout, in which emitters look operands up without adding to it."""
    from copy import copy

    layout = copy(decoded.layout)
    layout.slots = dict(decoded.layout.slots)
    layout.scalars, layout.names = list(decoded.layout.scalars), list(decoded.layout.names)
    layout.constants = dict(decoded.layout.constants)
    return layout
