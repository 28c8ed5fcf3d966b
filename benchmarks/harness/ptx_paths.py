"""What follows an instruction on every path, or comes before it: arguments that need no run.

- ``next barrier``: no thread touches memory between the barrier and the next ones (or the end), on any path; or between the
  ones before (or the start) and it. What the barrier orders, its neighbour orders already.
- ``next wait``: on every path another wait follows that lets no more groups fly, before the thread touches memory, commits, or
  meets others at a barrier; or the thread ends.
- ``same products``: the halves of the inner dimension of A and of B trade places; each element of D is a sum of the same
  products in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.ptx_mutants import Mutant
from prism_mlir.runtime.ptx.program import Instruction, IntImm, Kernel, Sym, Vec

_ENDS = ("ret", "exit", "trap")
_TOUCHES = ("ld", "ldu", "st", "ldmatrix", "stmatrix", "atom", "red")


def argument(kernel: Kernel, mutant: Mutant) -> str:
    """The name of an argument that holds for a mutant of ``kernel``, or ""."""
    i = mutant.original
    if mutant.kind == "barrier" and _is_barrier(i):
        after = _first(kernel, _following(kernel), mutant.pc, _is_barrier, _touches)
        before = _first(kernel, _preceding(kernel), mutant.pc, _is_barrier, _touches)
        return "next barrier" if after or before else ""
    if mutant.kind in ("wait", "loosen"):
        kept = _kept(i)
        stops = lambda j: _touches(j) or _meets(j) or j.mods[:2] == ("async", "commit_group")  # noqa: E731
        enough = lambda j: j.guard is None and _kept(j) is not None and (_kept(j) or 0) <= (kept or 0)  # noqa: E731
        return "next wait" if _first(kernel, _following(kernel), mutant.pc, enough, stops) else ""
    return "same products" if mutant.kind == "fragment" and _same_products(i, mutant.kernel.body[mutant.pc]) else ""


def _first(
    kernel: Kernel,
    edges: Sequence[Sequence[int]],
    start: int,
    wanted: Callable[[Instruction], bool],
    unwanted: Callable[[Instruction], bool],
) -> bool:
    """Whether every path along ``edges`` comes to a wanted instruction, or to its end, before any unwanted one."""
    work, seen = list(edges[start]), set()
    while work:
        pc = work.pop()
        if pc in seen or wanted(kernel.body[pc]):
            continue
        if unwanted(kernel.body[pc]):
            return False
        seen.add(pc)
        work.extend(edges[pc])
    return True


def _following(kernel: Kernel) -> list[list[int]]:
    """The instructions that may follow each one."""
    found = []
    for pc, i in enumerate(kernel.body):
        after = [pc + 1] if pc + 1 < len(kernel.body) else []
        if i.opcode in _ENDS:
            after = after if i.guard is not None else []
        elif i.opcode == "bra":
            target = i.operands[0]
            assert isinstance(target, Sym)
            to = [kernel.labels[target.name]] if kernel.labels[target.name] < len(kernel.body) else []
            after = [*after, *to] if i.guard is not None else to
        elif i.opcode == "brx":
            after = list(range(len(kernel.body)))  # anywhere: no argument holds
        found.append(after)
    return found


def _preceding(kernel: Kernel) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in kernel.body]
    for pc, after in enumerate(_following(kernel)):
        for to in after:
            found[to].append(pc)
    return found


def _is_barrier(i: Instruction) -> bool:
    """A barrier of the whole block that every thread executes."""
    return (
        i.opcode in ("bar", "barrier")
        and i.guard is None
        and "sync" in i.mods
        and "warp" not in i.mods
        and len(i.operands) == 1
    )


def _meets(i: Instruction) -> bool:
    return i.opcode in ("bar", "barrier")


def _touches(i: Instruction) -> bool:
    """Whether it accesses memory that threads share."""
    if i.opcode == "cp":
        return i.mods[1] in ("ca", "cg")
    return i.opcode in _TOUCHES and not {"param", "const", "local"} & {m.split("::")[0] for m in i.mods}


def _kept(i: Instruction) -> int | None:
    """How many groups a wait leaves in flight; None for what is no wait."""
    if i.mods[:2] == ("async", "wait_all"):
        return 0
    if i.mods[:2] == ("async", "wait_group") and isinstance(i.operands[0], IntImm):
        return i.operands[0].value
    return None


def _same_products(old: Instruction, new: Instruction) -> bool:
    if (
        old.opcode != "mma"
        or old.mods != new.mods
        or (old.operands[0], old.operands[3])
        != (
            new.operands[0],
            new.operands[3],
        )
    ):
        return False
    a, b, c, d = (o.items if isinstance(o, Vec) else (o,) for o in (*old.operands[1:3], *new.operands[1:3]))
    return len(a) == 4 and len(b) == 2 and c == (a[2], a[3], a[0], a[1]) and d == (b[1], b[0])
