"""Kernels that differ from a given one in a single place, made from its parsed program: what the PTX machine must notice.

| kind | what changes |
|---|---|
| ``barrier`` | a ``bar.sync`` is left out |
| ``wait`` | a ``cp.async.wait_group`` or ``wait_all`` is left out |
| ``loosen`` | a ``cp.async.wait_group N`` leaves N + 1 groups in flight |
| ``commit`` | a ``cp.async.commit_group`` is left out |
| ``element`` | an address is one element too high or too low |
| ``access`` | an address is one whole access (vector, copy, matrix row) too high or too low, which keeps it aligned |
| ``widen`` | a load, store, copy or ldmatrix moves twice as much |
| ``guard`` | a predicate is ignored: the instruction always happens, or a branch never does |
| ``fragment`` | registers of a fragment of ``mma`` trade places |
| ``init`` | a ``mov`` or a store to shared memory is left out |
| ``operands`` | the sources of an operation that does not commute trade places |

A mutant keeps the locations of the original, so that reports name its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prism_mlir.runtime.ptx.errors import Location
from prism_mlir.runtime.ptx.program import Addr, Instruction, IntImm, Kernel, Operand, Sink, Sym, Vec
from prism_mlir.runtime.ptx.types import SCALARS

KINDS = (
    "barrier",
    "wait",
    "loosen",
    "commit",
    "element",
    "access",
    "widen",
    "guard",
    "fragment",
    "init",
    "operands",
)
_ORDERED = ("sub", "div", "setp", "set", "selp", "shl", "shr", "rem")
_HALF = 2  # bytes of the elements that ldmatrix moves, and the narrowest that a cp.async is used for here


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed kernel.

    Attributes:
        kind: one of ``KINDS``.
        pc: index of the changed instruction in the original kernel.
        change: what was done, in words.
        original: the instruction as it was.
        kernel: the changed kernel.
        dropped: the instruction is gone, and those after it have moved up by one.
    """

    kind: str
    pc: int
    change: str
    original: Instruction
    kernel: Kernel
    dropped: bool = False

    @property
    def location(self) -> Location:
        return self.original.location

    def __str__(self) -> str:
        return f"{self.location}: {self.kind}: {self.change}: {self.original.text}"


def mutants(kernel: Kernel) -> Iterator[Mutant]:
    """All mutants of a kernel, in the order of its text."""
    for pc, instruction in enumerate(kernel.body):
        for kind, change, new in _changes(instruction):
            if new == instruction:
                continue  # the registers that traded places are one
            yield Mutant(kind, pc, change, instruction, _with(kernel, pc, new), new is None)


def _with(kernel: Kernel, pc: int, new: Instruction | None) -> Kernel:
    """The kernel with another instruction at ``pc``, or with none."""
    if new is not None:
        return replace(kernel, body=(*kernel.body[:pc], new, *kernel.body[pc + 1 :]))
    labels = {name: at - (at > pc) for name, at in kernel.labels.items()}
    return replace(kernel, body=(*kernel.body[:pc], *kernel.body[pc + 1 :]), labels=labels)


Change = tuple[str, str, Instruction | None]


def _changes(i: Instruction) -> Iterator[Change]:
    yield from _synchronisation(i)
    yield from _addresses(i)
    yield from _widths(i)
    if i.guard is not None:
        yield "guard", "predicate ignored", replace(i, guard=None)
        if i.opcode == "bra":
            yield "guard", "branch left out", None
    if i.opcode == "mma":
        yield from _fragments(i)
    if i.opcode == "mov" or (i.opcode == "st" and _space(i) == "shared"):
        yield "init", "left out", None
    yield from _sources(i)


def _space(i: Instruction) -> str:
    """The state space that a load or store names, "" for a generic address."""
    bases = [m.split("::")[0] for m in i.mods]
    return next((b for b in bases if b in ("global", "shared", "local", "const", "param")), "")


# -- synchronisation ----------------------------------------------------------------------------------------------


def _synchronisation(i: Instruction) -> Iterator[Change]:
    if i.opcode in ("bar", "barrier") and ("sync" in i.mods or "warp" in i.mods):
        yield "barrier", "left out", None
    if i.opcode == "cp" and i.mods[1:2] in (("wait_group",), ("wait_all",)):
        yield "wait", "left out", None
        if i.mods[1] == "wait_group" and isinstance(i.operands[0], IntImm):
            groups = i.operands[0].value + 1
            yield "loosen", f"leaves {groups} in flight", replace(i, operands=(IntImm(groups),))
    if i.opcode == "cp" and i.mods[1:2] == ("commit_group",):
        yield "commit", "left out", None


# -- addresses ----------------------------------------------------------------------------------------------------


def _addresses(i: Instruction) -> Iterator[Change]:
    sizes = _sizes(i)
    if sizes is None:
        return
    element, whole = sizes
    names = ("destination", "source") if i.opcode == "cp" else ("address", "address")
    for position, operand in enumerate(i.operands):
        if not isinstance(operand, Addr):
            continue
        for kind, step in (("element", element), ("access", whole)):
            if kind == "access" and whole == element:
                continue
            for shift in (step, -step):
                moved = replace(i, operands=_put(i.operands, position, _shifted(operand, shift)))
                yield kind, f"{names[min(position, 1)]} {shift:+d} bytes", moved


def _shifted(address: Addr, by: int) -> Addr:
    return replace(address, offset=address.offset + by)


def _sizes(i: Instruction) -> tuple[int, int] | None:
    """Bytes of an element and of the whole access of one lane; None for what is no access to global or shared memory."""
    if i.opcode == "cp":
        return (_HALF, _copied(i)) if i.mods[1:2] in (("ca",), ("cg",)) else None
    if i.opcode in ("ldmatrix", "stmatrix"):
        return _HALF, 16
    if i.opcode not in ("ld", "ldu", "st", "atom", "red") or _space(i) in ("param", "local", "const"):
        return None
    element = SCALARS[i.mods[-1]].bytes
    return element, element * _lanes(i)


def _copied(i: Instruction) -> int:
    size = i.operands[2]
    assert isinstance(size, IntImm)  # the decoder has accepted it
    return size.value


def _lanes(i: Instruction) -> int:
    return next((int(m[1:]) for m in i.mods if m in ("v2", "v4", "v8")), 1)


# -- widths -------------------------------------------------------------------------------------------------------


def _widths(i: Instruction) -> Iterator[Change]:
    if i.opcode == "cp" and i.mods[1:2] == ("ca",) and _copied(i) < 16:
        wider = 2 * _copied(i)
        yield "widen", f"{wider} bytes", replace(i, operands=_put(i.operands, 2, IntImm(wider)))
    elif i.opcode == "ldmatrix" and "x4" not in i.mods:
        count = next(int(m[1:]) for m in i.mods if m in ("x1", "x2"))
        target = Vec((*_items(i.operands[0]), *[Sink()] * count))
        mods = tuple(f"x{2 * count}" if m == f"x{count}" else m for m in i.mods)
        yield "widen", f"x{2 * count}", replace(i, mods=mods, operands=_put(i.operands, 0, target))
    elif i.opcode in ("ld", "st") and _space(i) in ("global", "shared"):
        yield from _wider_vector(i)


def _wider_vector(i: Instruction) -> Iterator[Change]:
    lanes = _lanes(i)
    if lanes == 4 or 2 * lanes * SCALARS[i.mods[-1]].bytes > 16:
        return
    mods = tuple(m for m in i.mods if m != f"v{lanes}")
    position = 0 if i.opcode == "ld" else 1
    items = _items(i.operands[position])
    added = [Sink()] * lanes if i.opcode == "ld" else items  # a store repeats what it has
    wide = _put(i.operands, position, Vec((*items, *added)))
    yield (
        "widen",
        f"v{2 * lanes}.{mods[-1]}",
        replace(i, mods=(*mods[:-1], f"v{2 * lanes}", mods[-1]), operands=wide),
    )


# -- registers ----------------------------------------------------------------------------------------------------


def _fragments(i: Instruction) -> Iterator[Change]:
    """Swaps inside A, B, C and D. The last one permutes the inner dimension of A and of B alike, which is no change."""
    d, a, b, c = (_items(o) for o in i.operands)
    if len(a) == 4:
        for name, order in (
            ("A: rows 0-7 and 8-15, first half of k", (1, 0, 2, 3)),
            ("A: rows 0-7 and 8-15", (1, 0, 3, 2)),
            ("A: halves of k, rows 0-7", (2, 1, 0, 3)),
            ("A: halves of k", (2, 3, 0, 1)),
            ("A: registers 1 and 2", (0, 2, 1, 3)),
        ):
            yield "fragment", name, replace(i, operands=(i.operands[0], _ordered(a, order), *i.operands[2:]))
    if len(b) == 2:
        yield "fragment", "B: halves of k", replace(i, operands=_put(i.operands, 2, _ordered(b, (1, 0))))
    for name, position, items in (("C", 3, c), ("D", 0, d)):
        if len(items) == 4:
            for what, order in (("columns", (1, 0, 3, 2)), ("rows", (2, 3, 0, 1))):
                yield (
                    "fragment",
                    f"{name}: {what}",
                    replace(i, operands=_put(i.operands, position, _ordered(items, order))),
                )
        elif len(items) == 2:
            yield "fragment", f"{name}: rows", replace(i, operands=_put(i.operands, position, _ordered(items, (1, 0))))
    if len(a) == 4 and len(b) == 2:
        same = (i.operands[0], _ordered(a, (2, 3, 0, 1)), _ordered(b, (1, 0)), i.operands[3])
        yield "fragment", "A and B: halves of k", replace(i, operands=same)


def _sources(i: Instruction) -> Iterator[Change]:
    """Trade the two sources of operations that do not commute; equality and inequality do."""
    if i.opcode not in _ORDERED or len(i.operands) < 3 or {"eq", "ne"} & set(i.mods):
        return
    first, second = i.operands[1:3]
    if first == second or any(isinstance(o, Sym | Addr | Vec) for o in (first, second)):
        return
    yield "operands", "sources swapped", replace(i, operands=(i.operands[0], second, first, *i.operands[3:]))


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vec) else (operand,)


def _ordered(items: Sequence[Operand], order: Sequence[int]) -> Vec:
    return Vec(tuple(items[n] for n in order))


def _put(operands: tuple[Operand, ...], position: int, new: Operand) -> tuple[Operand, ...]:
    return (*operands[:position], new, *operands[position + 1 :])
