"""A parsed PTX module: immutable, typed, with a location on everything a message may have to name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prism_mlir.runtime.ptx.errors import Location
from prism_mlir.runtime.ptx.types import Scalar


@dataclass(frozen=True, slots=True)
class Reg:
    """A register, by its name after scopes are resolved; special registers keep their dotted name (``%tid.x``)."""

    name: str


@dataclass(frozen=True, slots=True)
class IntImm:
    """An integer literal."""

    value: int


@dataclass(frozen=True, slots=True)
class FloatImm:
    """A floating literal. ``bits`` is 32 or 64 for ``0f…`` and ``0d…``, and 0 for a decimal one."""

    value: float
    raw: int
    bits: int


@dataclass(frozen=True, slots=True)
class Sym:
    """The address of a variable or a parameter, or the name of a label."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Addr:
    """``[base + offset]``."""

    base: Reg | Sym | IntImm
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vec:
    """``{a, b, …}``."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """``p|q``: the two destinations of setp and shfl."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """``!p`` as a source."""

    reg: Reg


@dataclass(frozen=True, slots=True)
class Sink:
    """``_``: a destination nobody reads."""


Operand = Reg | IntImm | FloatImm | Sym | Addr | Vec | Pair | Not | Sink


@dataclass(frozen=True, slots=True)
class Guard:
    """``@p`` or ``@!p``."""

    reg: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: ``opcode`` is the first word, ``mods`` the dotted rest (``ld`` and ``global``, ``b32``)."""

    opcode: str
    mods: tuple[str, ...]
    guard: Guard | None
    operands: tuple[Operand, ...]
    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a state space. ``size`` is in bytes; an ``extern .shared`` array has size 0. ``init`` holds the first bytes,
    the others are zero."""

    name: str
    space: str
    scalar: Scalar
    size: int
    align: int
    location: Location
    init: bytes | None = None
    extern: bool = False


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter: its place in the parameter block. ``is_array`` marks a byte array passed by value."""

    name: str
    scalar: Scalar
    size: int
    align: int
    offset: int
    is_array: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """One ``.entry``."""

    name: str
    params: tuple[Param, ...]
    registers: Mapping[str, Scalar]
    variables: tuple[Variable, ...]
    body: tuple[Instruction, ...]
    labels: Mapping[str, int]
    tables: Mapping[str, tuple[str, ...]]
    location: Location
    max_threads: int | None = None
    required_block: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """A whole ``.ptx`` file. ``functions`` names the device functions that it declares or defines."""

    name: str
    version: tuple[int, int]
    target: str
    address_size: int
    variables: tuple[Variable, ...] = ()
    kernels: Mapping[str, Kernel] = field(default_factory=dict)
    functions: tuple[str, ...] = ()

    @property
    def sm(self) -> int:
        """The number in the target: 80 for sm_80, 90 for sm_90a."""
        return int("".join(c for c in self.target if c.isdigit()))
