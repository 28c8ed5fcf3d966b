"""Which parameters a kernel may read or write through, and how narrowly: what the shadows have to remember.

A flow-insensitive over-approximation: a register may hold an address derived from every parameter or variable that flows into it.
Pointers that come out of memory may point anywhere. 32-bit values from memory are taken for indices, not for halves of pointers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prism_mlir.runtime.ptx.decode import Decoded
from prism_mlir.runtime.ptx.program import Addr, Sym

ANYWHERE = "*"


@dataclass(frozen=True, slots=True)
class Uses:
    """Attributes: ``written`` names the parameters and variables that stores may reach; ``cells`` the narrowest
    access in bytes by name;
    ``shared_cell`` the narrowest access to shared memory."""

    written: frozenset[str]
    cells: dict[str, int]
    shared_cell: int

    def may_write(self, names: set[str]) -> bool:
        return ANYWHERE in self.written or bool(names & self.written)

    def cell(self, names: set[str]) -> int:
        """The narrowest access to a buffer with these names, in bytes."""
        return min((self.cells[n] for n in (*names, ANYWHERE) if n in self.cells), default=1)


def uses(decoded: Decoded) -> Uses:
    """Analyse a kernel."""
    sources = _sources(decoded)
    written: set[str] = set()
    cells: dict[str, int] = {}
    shared_cell = 16
    for step in decoded.steps:
        access = step.access
        if step.copies:
            # cp.async: the destination is in shared memory, the source is the second address; partial sizes read narrower pieces.
            partial = len(step.site.instruction.operands) == 4
            for name in sources.get(step.reads[1 + (step.guard is not None)], {ANYWHERE}):
                cells[name] = min(cells.get(name, 16), 1 if partial else access.width if access else 16)
        if access is None:
            continue
        if access.space in ("shared", ""):
            shared_cell = min(shared_cell, access.width)
        if access.space in ("global", "const", ""):
            names = sources.get(access.slot, set()) or {ANYWHERE}
            for name in names:
                cells[name] = min(cells.get(name, 16), access.width)
            if access.writes:
                written |= names
    return Uses(frozenset(written), cells, shared_cell)


def _sources(decoded: Decoded) -> dict[int, set[str]]:
    """Names that may flow into each slot."""
    found: dict[int, set[str]] = {}
    params = {p.name: p for p in decoded.kernel.params}
    for constant in decoded.layout.constants.values():
        if constant.symbol:
            found[constant.slot] = {constant.symbol}
    flows: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for step in decoded.steps:
        instruction = step.site.instruction
        if instruction.opcode in ("ld", "ldu", "atom"):
            for slot in step.writes:
                found.setdefault(slot, set()).update(
                    _loaded(decoded, instruction.operands[1], instruction.mods, params)
                )
        elif step.writes:
            flows.append((step.reads, step.writes))
    changed = True
    while changed:
        changed = False
        for reads, writes in flows:
            incoming: set[str] = set().union(*(found.get(r, set()) for r in reads))
            for slot in writes:
                have = found.setdefault(slot, set())
                if not incoming <= have:
                    have |= incoming
                    changed = True
    return found


def _loaded(decoded: Decoded, operand: object, mods: tuple[str, ...], params: Mapping[str, object]) -> set[str]:
    """What a load may bring: a parameter's own name, anything for other 64-bit loads, nothing for narrower ones."""
    if "param" in mods:
        if isinstance(operand, Addr) and isinstance(operand.base, Sym) and operand.base.name in params:
            param = next(p for p in decoded.kernel.params if p.name == operand.base.name)
            return {param.name} if not param.is_array else {ANYWHERE}
        return {ANYWHERE}
    return {ANYWHERE} if mods and mods[-1] in ("b64", "u64", "s64") else set()
