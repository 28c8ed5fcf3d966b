"""The function that runs one warp of a kernel from a barrier to the next one.

Registers are variables that LLVM turns into virtual ones: a vector of 32 lanes, or a scalar where all lanes agree. At a
barrier the living ones are stored and the function returns the number of the barrier; called with that number it goes on.
Branches are taken by the warp as a whole; for threads that disagree see ``apart``.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Block, Decoded, Step
from prism_mlir.runtime.ptx.jit import families
from prism_mlir.runtime.ptx.jit.access import Accesses, Options
from prism_mlir.runtime.ptx.jit.analysis import SAME_IN_BLOCK, SAME_IN_LAUNCH, crossing, live_in, regions, uniform_slots
from prism_mlir.runtime.ptx.jit.apart import Apart
from prism_mlir.runtime.ptx.jit.build import I32, I64, MASK, PTR, Build, i32, i64
from prism_mlir.runtime.ptx.jit.layout import Field, Status
from prism_mlir.runtime.ptx.jit.values import LANES, CannotCompile, Value, constant, element_type, is_vector
from prism_mlir.runtime.ptx.program import Program
from prism_mlir.runtime.ptx.table import Context

EXITED, FAILED = -1, -2
WARP_FUNCTION = ir.FunctionType(I32, [PTR, PTR, I32])
# A mask of every lane, for closures that only ask whether all lanes take part.
_FULL = SimpleNamespace(full=True, dense=True, index=None)


@dataclass(frozen=True, slots=True)
class Barrier:
    """A place where a warp waits. ``count`` is the number of threads named, None for the whole block."""

    number: int
    count: int | None
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

    def __init__(self, module: ir.Module, program: Program, decoded: Decoded, options: Options) -> None:
        self.decoded = decoded
        self.options = options
        self.access = Accesses(module, options)
        self.function = ir.Function(module, WARP_FUNCTION, "warp")
        self.function.linkage = "internal"
        self.x = Build(self.function)
        self.b = self.x.b
        self.context = Context(program, decoded.kernel, _copy_layout(decoded))
        self.context.layout.slots.update(decoded.layout.slots)
        self.live = live_in(decoded)
        apart = regions(decoded)
        self.uniform = uniform_slots(decoded, apart, self.live)
        apart = [r for r in apart if self._may_diverge(r.at)]
        self.crossing = frozenset().union(*(crossing(decoded, r, self.live) for r in apart))
        self.lanes: ir.Value | None = None  # the word of lanes that run, where threads run apart
        self.apart = Apart(self, apart)
        self.barriers: list[Barrier] = []
        # Counter of a memory access, by its program counter: of the threads of a guarded one, or of a generic one in a space.
        self.counted: dict[tuple[int, str], int] = {}
        self.constants: dict[int, ir.Value] = {}
        self.slots: dict[int, ir.Value] = {}
        self.offsets, self.state_bytes = self._state_layout()
        self._write()

    # -- registers ------------------------------------------------------------------------------------------------

    def _slot_type(self, slot: int) -> ir.Type:
        element = element_type(self.decoded.layout.scalars[slot].storage)
        return element if slot in self.uniform else ir.VectorType(element, LANES)

    def _state_layout(self) -> tuple[dict[int, int], int]:
        """Where registers are stored that live across a barrier, or where threads run apart; the first word counts
        instructions."""
        places: dict[int, int] = {}
        size = 64
        crossing = set(self.crossing)
        for at, block in enumerate(self.decoded.blocks):
            if block.control is not None and block.control.kind == "barrier":
                crossing |= self.live[at + 1]
        for slot in sorted(crossing):
            places[slot] = size
            bits = self.decoded.layout.scalars[slot].bits
            size += 64 if slot in self.uniform or bits == 1 else max(64, 4 * bits)
        return places, size

    def read(self, slot: int) -> Value:
        """The value of a slot."""
        storage = self.decoded.layout.scalars[slot].storage
        found = self.constants.get(slot)
        if found is None:
            found = self.get(slot)
        return Value(self.b, storage, [found])

    def write(self, slot: int, value: Value, guard: ir.Value | None) -> None:
        """Bind a value to a slot, in the lanes whose guard holds."""
        if slot not in self.slots:
            return  # a destination that nobody reads
        (part,) = value.view(self.decoded.layout.scalars[slot].storage).parts
        if slot in self.uniform:
            if is_vector(part):
                raise CannotCompile("a result that should agree in all lanes does not")
        else:
            part = self.x.splat(part)
            if self.lanes is not None and slot in self.crossing:
                mine = self.x.mask(self.lanes)
                guard = mine if guard is None else self.b.and_(mine, self.x.splat(guard))
        if guard is not None:
            part = self.b.select(guard, part, self.get(slot))
        self.put(slot, part)

    def get(self, slot: int) -> ir.Value:
        """A register's content."""
        if self.lanes is not None and slot in self.crossing:
            return self.from_state(slot)
        return self.b.load(self.slots[slot], typ=self._slot_type(slot))

    def put(self, slot: int, part: ir.Value) -> None:
        """Change a register. Where threads run apart these are in memory: so many ways meet there that LLVM would take
        long to put them into registers."""
        if self.lanes is not None and slot in self.crossing:
            self.to_state(slot, part)
        else:
            self.b.store(part, self.slots[slot])

    def from_state(self, slot: int) -> ir.Value:
        kind = self._slot_type(slot)
        value = self.x.load(self.state, self.offsets[slot], I32 if kind == MASK else kind, 64)
        return self.x.mask(value) if kind == MASK else value

    def to_state(self, slot: int, part: ir.Value) -> None:
        stored = self.x.bits(part) if part.type == MASK else part
        self.x.store(stored, self.state, self.offsets[slot], 64)

    def _may_diverge(self, at: int) -> bool:
        guard = self.decoded.blocks[at].guard
        return guard is not None and guard[0] not in self.uniform

    def vector(self, slot: int) -> ir.Value:
        """The value of a slot, one element a lane."""
        return self.x.splat(self.read(slot).parts[0])

    # -- the function ---------------------------------------------------------------------------------------------

    def _write(self) -> None:
        b, x = self.b, self.x
        _, self.state, resume = self.function.args
        self._constants()
        used = {s for step in self.decoded.steps for s in (*step.reads, *step.writes)} - set(self.constants)
        for slot in sorted(used):
            self.slots[slot] = x.alloca(self._slot_type(slot))
        self.steps = x.alloca(I64, 8)
        self.data = x.alloca(ir.VectorType(ir.IntType(8), 512))  # what memory functions read and fill
        if self.options.partial:
            self.live_bits = b.trunc(x.field(Field.LIVE), I32)
        else:
            self.live_bits = i32(-1)
        self.failed = self.function.append_basic_block("failed")
        self.entries = [self.function.append_basic_block(f"block{i}") for i in range(len(self.decoded.blocks) + 1)]
        start = self.function.append_basic_block("start")
        self.apart.begin()
        switch = b.switch(resume, start)
        b.position_at_end(start)
        self._fresh_registers()
        for i, block in enumerate(self.decoded.blocks):
            b.position_at_end(self.entries[i])
            self._block(i, block)
        self.apart.write()
        b.position_at_end(self.entries[-1])
        b.ret(i32(EXITED))
        b.position_at_end(self.failed)
        b.ret(i32(FAILED))
        self._resume(switch)

    def _constants(self) -> None:
        x, b = self.x, self.b
        tables = 0
        for number, c in enumerate(self.decoded.layout.constants.values()):
            kind = element_type(self.decoded.layout.scalars[c.slot].storage)
            if c.value is not None:
                self.constants[c.slot] = constant(c.value[0], c.value.dtype)
            elif c.special in SAME_IN_BLOCK:
                word = x.field(Field(Field.CTAID_X + SAME_IN_BLOCK.index(c.special)))
                self.constants[c.slot] = b.trunc(word, kind)
            elif c.special and c.special not in SAME_IN_LAUNCH:
                self.constants[c.slot] = self._special(tables, kind)
                tables += 1
            else:
                word = x.load(x.pointer(Field.CONSTANTS), 8 * number, I64, 8)
                self.constants[c.slot] = word if kind == I64 else b.trunc(word, kind)

    def _special(self, table: int, kind: ir.Type) -> ir.Value:
        x, b = self.x, self.b
        if kind != I32:
            raise CannotCompile("a special register that is not 32 bits wide")
        row = b.mul(b.mul(x.field(Field.WARPS), i64(128)), i64(table))
        at = b.add(row, b.mul(x.field(Field.WARP), i64(128)))
        return x.load(x.pointer(Field.SPECIALS), at, ir.VectorType(I32, LANES), 64)

    def _fresh_registers(self) -> None:
        """Registers that nothing has written hold all ones, predicates false."""
        for slot in self.live[0] & set(self.slots):
            scalar = self.decoded.layout.scalars[slot]
            ones = constant(0 if scalar.kind == "p" else (1 << scalar.bits) - 1, scalar.storage)
            self.b.store(ones if slot in self.uniform else self.x.splat(ones), self.slots[slot])
        self.b.store(i64(0), self.steps)
        self.b.branch(self.entries[0])

    def _resume(self, switch: ir.SwitchInstr) -> None:
        """For each barrier a block that loads the registers again."""
        b, x = self.b, self.x
        for number, barrier in enumerate(self.barriers, 1):
            at = next(i for i, blk in enumerate(self.decoded.blocks) if blk.last and blk.last.site.pc == barrier.pc) + 1
            here = self.function.append_basic_block(f"resume{number}")
            switch.add_case(i32(number), here)
            b.position_at_end(here)
            for slot in sorted(self.live[at]):
                b.store(self.from_state(slot), self.slots[slot])
            b.store(x.load(self.state, 0, I64, 64), self.steps)
            b.branch(self.entries[at])

    def _suspend(self, at: int, barrier: Barrier) -> None:
        """Store what lives after block ``at`` and return."""
        b, x = self.b, self.x
        self.barriers.append(barrier)
        for slot in sorted(self.live[at + 1]):
            self.to_state(slot, self.get(slot))
        x.store(b.load(self.steps, typ=I64), self.state, 0, 64)
        b.ret(i32(len(self.barriers)))

    # -- basic blocks ---------------------------------------------------------------------------------------------

    def _block(self, at: int, block: Block) -> None:
        self.body(at, block)
        self._control(at, block)

    def body(self, at: int, block: Block) -> None:
        """The instructions of a block but for its control flow."""
        b, x = self.b, self.x
        seen = x.pointer(Field.SEEN)
        threads = b.zext(x.call("llvm.ctpop.i32", I32, self.running), I64)
        for place, more in ((16 * at, i64(1)), (16 * at + 8, threads)):
            x.store(b.add(x.load(seen, place, I64, 8), more), seen, place, 8)
        b.store(b.add(b.load(self.steps, typ=I64), i64(len(block.steps))), self.steps)
        touched = False
        for step in block.steps:
            if step.control is not None:
                break
            if step.raw is None:
                continue
            touched |= self._step(step)
        if touched:
            self._leave_if(b.icmp_unsigned("!=", x.field(Field.STATUS), i64(0)))

    @property
    def running(self) -> ir.Value:
        """The word of lanes that run."""
        return self.live_bits if self.lanes is None else self.lanes

    def _leave_if(self, bad: ir.Value) -> None:
        going = self.function.append_basic_block("going")
        self.b.cbranch(bad, self.failed, going)
        self.b.position_at_end(going)

    def _step(self, step: Step) -> bool:
        """Compile one instruction; returns whether it may have failed."""
        instruction = step.site.instruction
        name = ".".join((instruction.opcode, *instruction.mods))
        try:
            family = families.FAMILIES.get(instruction.opcode)
            if family is not None:
                self.context.begin(step.site.pc, instruction)
                return family(self, step)
            self._trace(step)
            return False
        except (CannotCompile, TypeError, AttributeError, ValueError, IndexError) as problem:
            raise CannotCompile(f"{step.site.location}: '{name}' {problem}") from problem

    def _trace(self, step: Step) -> None:
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
        """The guard as a predicate, a scalar where all lanes agree."""
        if step.guard is None:
            return None
        (p,) = self.read(step.guard[0]).parts
        return self.b.not_(p) if step.guard[1] else p

    def active(self, step: Step) -> ir.Value:
        """The word of lanes that take part in an instruction."""
        guard = self.guard(step)
        if guard is None:
            return self.running
        return self.b.and_(self.x.bits(self.x.splat(guard)), self.running)

    def together(self, step: Step) -> ir.Value | None:
        """Whether the warp executes the instruction, as one bit; where its threads disagree they run apart, or the function
        stops. None: it does."""
        guard = self.guard(step)
        if self.lanes is not None:  # an operation of whole warps
            self.x.fail(Status.DIVERGED, i32(step.site.pc))
            self.b.branch(self.failed)
            self.b.position_at_end(self.function.append_basic_block("never"))
            return None
        if guard is None or not is_vector(guard):
            return guard
        bits = self.b.and_(self.x.bits(guard), self.live_bits)
        yes, no = self.b.icmp_unsigned("==", bits, self.live_bits), self.b.icmp_unsigned("==", bits, i32(0))
        agreed = self.function.append_basic_block("agreed")
        apart = self.function.append_basic_block("apart")
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
        if control.kind == "table":
            raise CannotCompile(f"{last.site.location}: 'brx.idx' has no compiled form")
        taken = self.together(last)
        if control.kind == "branch":
            self._jump(at, self.decoded.block_of_label[control.targets[0]], taken, last)
            return
        after = None
        if taken is not None:
            do = self.function.append_basic_block("do")
            after = self.entries[at + 1]
            b.cbranch(taken, do, after)
            b.position_at_end(do)
        if control.kind == "exit":
            b.ret(i32(EXITED))
            return
        self._suspend(at, self._barrier(last))

    def _barrier(self, step: Step) -> Barrier:
        control = step.control
        assert control is not None
        where = f"{step.site.location}: '{step.site.instruction.text}'"
        if control.mode != "sync":
            raise CannotCompile(f"{where} is a barrier that is not compiled")
        number = self.constants.get(control.slot)
        count = None if control.count is None else self.constants.get(control.count)
        if not isinstance(number, ir.Constant) or not (control.count is None or isinstance(count, ir.Constant)):
            raise CannotCompile(f"{where} takes a number or a count from a register")
        return Barrier(number.constant, None if count is None else count.constant, step.site.pc)

    def _jump(self, at: int, target: int, taken: ir.Value | None, step: Step) -> None:
        b = self.b
        to = self.entries[target]
        if target <= at:  # loops count instructions
            to = self.function.append_basic_block("again")
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
        endless = b.icmp_unsigned(">", b.load(self.steps, typ=I64), x.field(Field.MAX_STEPS))
        stop = self.function.append_basic_block("endless")
        b.cbranch(endless, stop, target)
        b.position_at_end(stop)
        x.fail(Status.STEPS, i32(step.site.pc))
        b.branch(self.failed)


def _copy_layout(decoded: Decoded) -> Any:
    """The kernel's layout, in which emitters look operands up without adding to it."""
    from copy import copy

    layout = copy(decoded.layout)
    layout.slots = dict(decoded.layout.slots)
    layout.scalars, layout.names = list(decoded.layout.scalars), list(decoded.layout.names)
    layout.constants = dict(decoded.layout.constants)
    return layout
