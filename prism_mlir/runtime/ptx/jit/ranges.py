"""One look at the addresses in a register for all accesses of a basic block that use it.

Compilers address a tile as one register plus literals. Where a register holds addresses that differ from lane to lane, and the
block uses it more than once before it changes, its lanes are compared once with the range that all these accesses cover. If
they all lie in one variable or buffer, the accesses need no checks of their own: they get the distance from an address to the
host's, and 0 otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit import access
from prism_mlir.runtime.ptx.jit.build import i64
from prism_mlir.runtime.ptx.program import Addr, Reg

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel


@dataclass(frozen=True, slots=True)
class Use:
    """An access of the first ``lanes`` lanes: ``space`` is ``shared``, ``global``, or ``stable`` for sources of copies."""

    space: str
    slot: int
    lanes: int
    offset: int
    width: int
    storing: bool


@dataclass(slots=True)
class _Group:
    """Uses of one value of a register. ``even``: their offsets are multiples of their widths."""

    low: int
    high: int
    width: int = 1
    storing: bool = False
    even: bool = True
    count: int = 0
    known: ir.Value | None = None

    def add(self, use: Use) -> None:
        self.low, self.high = min(self.low, use.offset), max(self.high, use.offset + use.width)
        self.width, self.storing = max(self.width, use.width), self.storing or use.storing
        self.even &= use.offset % use.width == 0
        self.count += 1


class Ranges:
    """The groups of one basic block."""

    def __init__(self, kernel: WarpKernel) -> None:
        self.k = kernel
        self.version: dict[int, int] = {}
        self.groups: dict[tuple[str, int, int, int], _Group] = {}

    def begin(self, steps: Sequence[Step]) -> None:
        """A basic block begins."""
        self.version, self.groups = {}, {}
        if self.k.lanes is not None or self.k.options.partial:
            return
        for step in steps:
            for use in self._uses(step):
                self.groups.setdefault(self._key(use), _Group(use.offset, use.offset)).add(use)
            self.passed(step)
        self.version = {}

    def passed(self, step: Step) -> None:
        """An instruction is behind us: what it writes has a new value."""
        for slot in step.writes:
            self.version[slot] = self.version.get(slot, 0) + 1

    def known(self, step: Step, space: str, at: ir.Value, narrow: bool) -> ir.Value:
        """What to add to addresses in ``at`` for the host's, 0 where that is not known; behind all loops."""
        use = next((u for u in self._uses(step) if u.space == space), None)
        group = None if use is None else self.groups.get(self._key(use))
        if use is None or group is None or group.count < 2 or not group.even:
            return i64(0)
        if group.known is None:
            function = access.known_range(self.k.module, use.space, use.lanes, group.width, group.storing, narrow)
            low = group.low - group.low % group.width
            group.known = self.k.b.call(function, [self.k.x.ctx, at, i64(low & (2**64 - 1)), i64(group.high - low)])
        return group.known

    def _key(self, use: Use) -> tuple[str, int, int, int]:
        return use.space, use.slot, use.lanes, self.version.get(use.slot, 0)

    def _uses(self, step: Step) -> Iterator[Use]:
        """The accesses of an instruction that may share a look; none where a guard may exclude lanes."""
        found = step.access
        opcode, mods = step.site.instruction.opcode, step.site.instruction.mods
        if found is None or step.guard is not None or found.space not in ("shared", "global"):
            return
        if opcode not in ("ld", "st", "ldmatrix", "stmatrix", "cp"):
            return
        lanes = 32
        if opcode in ("ldmatrix", "stmatrix"):
            lanes = 8 * int(next(m for m in mods if m in ("x1", "x2", "x4"))[1:])
            if not any(m.startswith("shared") for m in mods):
                return
        addresses = [o for o in step.site.instruction.operands if isinstance(o, Addr)]
        for address, space in zip(addresses, (found.space, "stable"), strict=False):
            slot = self.k.decoded.layout.slots.get(address.base.name) if isinstance(address.base, Reg) else None
            if slot is not None and not self.k.agrees(slot):
                yield Use(space, slot, lanes, address.offset, found.width, found.writes and space != "stable")
