"""The instruction table and the helpers that its entries are written with.

Every operand becomes a slot of the register file: registers, special registers, immediates and addresses of variables all
are; the last three are filled before the first instruction. :data:`TABLE` maps an opcode to the function that decodes it;
that function takes the modifiers apart, names the slots it reads and writes, and returns a :class:`Made`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prism_mlir.runtime.ptx.checks.report import Site
from prism_mlir.runtime.ptx.errors import PtxSyntaxError
from prism_mlir.runtime.ptx.program import (
    FloatImm,
    Instruction,
    IntImm,
    Kernel,
    Not,
    Operand,
    Param,
    Program,
    Reg,
    Sink,
    Sym,
    Variable,
)
from prism_mlir.runtime.ptx.specials import SPECIALS
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.types import SCALARS, Array, Scalar

Run = Callable[[State, Mask], None]
PRED = SCALARS["pred"]
ROUNDINGS = frozenset({"rn", "rz", "rm", "rp"})


@dataclass(frozen=True, slots=True)
class Access:
    """What a memory instruction does, for the analysis before a run: state space, bytes a lane, and the address slot."""

    space: str
    width: int
    slot: int
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class Control:
    """How a basic block ends: ``branch``, ``table``, ``exit`` or ``barrier``.

    ``targets`` are labels; ``slot`` holds the branch index, or the barrier's number. For a barrier ``count`` is the
    slot of the thread count
    (None: the whole block), ``mode`` is ``sync``, ``arrive`` or ``red``, ``aligned`` says that the warp must arrive together.
    """

    kind: str
    targets: tuple[str, ...] = ()
    slot: int = -1
    count: int | None = None
    mode: str = "sync"
    aligned: bool = True
    finish: Callable[[State, Any], None] | None = None


@dataclass(slots=True)
class Made:
    """What an entry of the table returns: the closure, and what the scheduler has to know about it."""

    run: Run | None
    klass: str
    control: Control | None = None
    access: Access | None = None
    sync: int | None = None
    copies: bool = False


Builder = Callable[["Context"], Made]
TABLE: dict[str, Builder] = {}


def op(*opcodes: str) -> Callable[[Builder], Builder]:
    """Register the decoder of some opcodes."""

    def register(builder: Builder) -> Builder:
        for opcode in opcodes:
            TABLE[opcode] = builder
        return builder

    return register


@dataclass(frozen=True, slots=True)
class Constant:
    """A slot to fill before a launch: with an array, a special register, or the address of a variable."""

    slot: int
    value: Array | None = None
    special: str = ""
    symbol: str = ""
    offset: int = 0
    bits: int = 64


@dataclass(slots=True)
class Layout:
    """The register file of a kernel: slot of each register, type of each slot, and the constants."""

    slots: dict[str, int] = field(default_factory=dict)
    scalars: list[Scalar] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    constants: dict[object, Constant] = field(default_factory=dict)

    def new(self, name: str, scalar: Scalar) -> int:
        self.scalars.append(scalar)
        self.names.append(name)
        return len(self.scalars) - 1


class Context:
    """One instruction being decoded, and the helpers that table entries are written with."""

    def __init__(self, program: Program, kernel: Kernel, layout: Layout) -> None:
        self.program = program
        self.kernel = kernel
        self.layout = layout
        self.variables: dict[str, Variable] = {v.name: v for v in (*program.variables, *kernel.variables)}
        self.params: dict[str, Param] = {p.name: p for p in kernel.params}
        self.instruction: Instruction
        self.site: Site
        self.reads: list[int] = []
        self.writes: list[int] = []
        for name, scalar in kernel.registers.items():
            layout.slots[name] = layout.new(name, scalar)

    def begin(self, pc: int, instruction: Instruction) -> None:
        self.instruction = instruction
        self.site = Site(pc, instruction)
        self.reads = []
        self.writes = []

    # -- messages -------------------------------------------------------------------------------------------------

    @property
    def mods(self) -> tuple[str, ...]:
        return self.instruction.mods

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.instruction.operands

    def fail(self, message: str) -> PtxSyntaxError:
        return PtxSyntaxError(f"{message} in '{self.instruction.text}'", self.instruction.location)

    def unknown(self) -> PtxSyntaxError:
        """The modifiers are none that this opcode is known with."""
        name = ".".join((self.instruction.opcode, *self.mods))
        return PtxSyntaxError(f"unknown instruction '{name}'", self.instruction.location)

    def count(self, *allowed: int) -> None:
        if len(self.operands) not in allowed:
            raise self.fail(f"expected {' or '.join(map(str, allowed))} operands, found {len(self.operands)}")

    def scalar(self, name: str) -> Scalar:
        if name not in SCALARS:
            raise self.unknown()
        return SCALARS[name]

    def take(self, *known: str) -> tuple[Scalar, frozenset[str]]:
        """The modifiers of an instruction with one type, which comes last: the type, and the others, all of them ``known``."""
        if not self.mods:
            raise self.unknown()
        flags = self.mods[:-1]
        if any(flag not in known for flag in flags) or len(set(flags)) < len(flags):
            raise self.unknown()
        if len(ROUNDINGS.intersection(flags)) > 1:
            raise self.unknown()
        return self.scalar(self.mods[-1]), frozenset(flags)

    # -- slots ----------------------------------------------------------------------------------------------------

    def register(self, name: str) -> int:
        slot = self.layout.slots.get(name)
        if slot is not None:
            return slot
        if name in SPECIALS:
            return self._constant(("special", name), name, SPECIALS[name].scalar, special=name)
        raise self.fail(f"register '{name}' is not declared")

    def _constant(
        self,
        key: object,
        name: str,
        scalar: Scalar,
        *,
        value: Array | None = None,
        special: str = "",
        symbol: str = "",
        offset: int = 0,
    ) -> int:
        found = self.layout.constants.get(key)
        if found is None:
            slot = self.layout.new(name, scalar)
            found = Constant(slot, value, special, symbol, offset, scalar.bits)
            self.layout.constants[key] = found
        return found.slot

    def immediate(self, operand: IntImm | FloatImm, scalar: Scalar) -> int:
        """The slot of a literal read as ``scalar``."""
        if scalar.kind == "p":
            if not isinstance(operand, IntImm):
                raise self.fail("a predicate literal must be an integer")
            value = np.array([operand.value != 0])
        elif isinstance(operand, IntImm):
            if scalar.kind == "f" and scalar.bits > 16:
                raise self.fail(f"integer literal where {scalar.name} is expected")
            value = np.array([operand.value & ((1 << scalar.bits) - 1)], dtype=scalar.storage)
        else:
            value = self._float(operand, scalar)
        return self._constant((value.dtype.str, value.tobytes()), str(operand), scalar, value=value)

    def _float(self, operand: FloatImm, scalar: Scalar) -> Array:
        if operand.bits == scalar.bits:
            negative = 0
            if operand.value < 0 and not operand.raw >> (operand.bits - 1):
                negative = 1 << (operand.bits - 1)
            return np.array([operand.raw | negative], dtype=scalar.storage)
        if scalar.kind == "f":
            return np.array([operand.value], dtype=scalar.value).view(scalar.storage)
        raise self.fail(f"floating literal where {scalar.name} is expected")

    def src(self, operand: Operand, scalar: Scalar, wider: bool = False) -> int:
        """The slot of a source of type ``scalar``; ``wider``: the register may be wider than the type (ld, st, cvt)."""
        if isinstance(operand, Reg):
            slot = self.register(operand.name)
            self._check_width(operand.name, slot, scalar, wider)
        elif isinstance(operand, IntImm | FloatImm):
            slot = self.immediate(operand, scalar)
        elif isinstance(operand, Sym):
            slot = self.address_of(operand, scalar)
        else:
            raise self.fail("unexpected kind of source operand")
        self.reads.append(slot)
        return slot

    def predicate(self, operand: Operand) -> tuple[int, bool]:
        """A predicate source: slot, and whether it is negated."""
        if isinstance(operand, Not):
            return self.src(operand.reg, PRED), True
        return self.src(operand, PRED), False

    def address_of(self, symbol: Sym, scalar: Scalar) -> int:
        if symbol.name not in self.variables and symbol.name not in self.params:
            raise self.fail(f"'{symbol.name}' is neither a variable nor a parameter")
        if scalar.bits not in (32, 64):
            raise self.fail("an address needs a 32-bit or 64-bit register")
        key = ("symbol", symbol.name, symbol.offset, scalar.bits)
        return self._constant(key, symbol.name, SCALARS[f"b{scalar.bits}"], symbol=symbol.name, offset=symbol.offset)

    def dst(self, operand: Operand, scalar: Scalar, wider: bool = False) -> int:
        """The slot of a destination."""
        if isinstance(operand, Sink):
            return self.layout.new("_", scalar)
        if not isinstance(operand, Reg) or operand.name not in self.layout.slots:
            raise self.fail("the destination must be a declared register")
        slot = self.layout.slots[operand.name]
        self._check_width(operand.name, slot, scalar, wider)
        self.writes.append(slot)
        return slot

    def _check_width(self, name: str, slot: int, scalar: Scalar, wider: bool) -> None:
        have = self.layout.scalars[slot]
        if (have.kind == "p") != (scalar.kind == "p"):
            raise self.fail(f"register '{name.split('#')[0]}' is {have.name}, but {scalar.name} is expected")
        if have.bits != scalar.bits and not (wider and have.bits > scalar.bits):
            raise self.fail(f"register '{name.split('#')[0]}' has {have.bits} bits, but {scalar.name} is expected")

    def storage(self, slot: int) -> np.dtype[Any]:
        return self.layout.scalars[slot].storage


def pure(ctx: Context, klass: str, fn: Callable[..., Array], dst: Scalar, *src: Scalar, wider: bool = False) -> Made:
    """An instruction without side effects: ``fn`` takes the bits of the sources and returns the bits of the destination."""
    ctx.count(1 + len(src))
    d = ctx.dst(ctx.operands[0], dst, wider)
    slots = [ctx.src(o, s, wider) for o, s in zip(ctx.operands[1:], src, strict=True)]
    return Made(pure_run(fn, d, slots), klass)


def pure_run(fn: Callable[..., Array], d: int, slots: list[int]) -> Run:
    """The closure of a pure instruction."""
    if len(slots) == 1:
        a = slots[0]

        def run1(st: State, mask: Mask) -> None:
            regs = st.regs
            value = fn(regs[a])
            regs[d] = value if mask.full else np.where(mask.lanes, value, regs[d])

        return run1
    if len(slots) == 2:
        a, b = slots

        def run2(st: State, mask: Mask) -> None:
            regs = st.regs
            value = fn(regs[a], regs[b])
            regs[d] = value if mask.full else np.where(mask.lanes, value, regs[d])

        return run2

    def run_n(st: State, mask: Mask) -> None:
        regs = st.regs
        value = fn(*[regs[s] for s in slots])
        regs[d] = value if mask.full else np.where(mask.lanes, value, regs[d])

    return run_n


def assign(st: State, mask: Mask, slot: int, value: Array) -> None:
    """Bind ``value`` (bits, one a lane or one for all) to a slot for the lanes of ``mask``."""
    st.regs[slot] = value if mask.full else np.where(mask.lanes, value, st.regs[slot])
