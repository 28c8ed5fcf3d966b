"""Where the registers of a warp lie in memory between loops over its lanes.

Registers that are never alive together share a home when they have one size, as in graph colouring: a kernel names a thousand
registers, but needs a few kilobytes, which stay in the first-level cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prism_mlir.runtime.ptx.decode import Decoded, Step

HEADER = 64  # of a warp's state: the first word counts instructions


def bit_set(slots: Iterable[int]) -> int:
    """Slots as the bits of a number."""
    total = 0
    for s in slots:
        total |= 1 << s
    return total


def members(bits: int) -> list[int]:
    """The slots of a set, in order."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


class Lives:
    """For each step of a basic block, the slots alive before it and, last, after the block; as sets of bits."""

    def __init__(self, decoded: Decoded, live: Sequence[frozenset[int]], following: Sequence[Sequence[int]]) -> None:
        self.into = [bit_set(s) for s in live]
        constants = bit_set(c.slot for c in decoded.layout.constants.values())
        self.before: list[list[int]] = []
        for i, block in enumerate(decoded.blocks):
            now = 0
            for s in following[i]:
                now |= self.into[s]
            rows = [now]
            for step in reversed(block.steps):
                written = bit_set(step.writes)
                now = (now if step.guard is not None else now & ~written) | bit_set(step.reads) & ~constants
                rows.append(now)
            self.before.append(rows[::-1])


def homes(
    decoded: Decoded, lives: Lives, uniform: frozenset[int], apart: Callable[[Step], bool], first: int
) -> tuple[dict[int, int], int]:
    """The place of each slot, from ``first`` on, and the size of all.

    Args:
        apart: whether an instruction must not write where it reads.
    """
    count = len(decoded.layout.scalars)
    conflicts = [0] * count
    entry = lives.into[0]
    for slot in members(entry):
        conflicts[slot] |= entry
    for rows, block in zip(lives.before, decoded.blocks, strict=True):
        for step, after in zip(block.steps, rows[1:], strict=True):
            if not step.writes:
                continue
            written = bit_set(step.writes)
            near = after | written
            if apart(step):
                near |= bit_set(step.reads)
            for slot in step.writes:
                conflicts[slot] |= near
    return _colour(decoded, conflicts, uniform, first)


def _colour(
    decoded: Decoded, conflicts: Sequence[int], uniform: frozenset[int], first: int
) -> tuple[dict[int, int], int]:
    """The first home of the right size in which no conflicting slot lives. ``conflicts``: for each slot, those that are alive
    where it is written."""
    places: dict[int, int] = {}
    taken: dict[int, list[tuple[int, int, int]]] = {}  # by size: place, slots that live there, slots in their way
    size = first
    used = bit_set(s for block in decoded.blocks for step in block.steps for s in (*step.writes, *step.reads))
    used &= ~bit_set(c.slot for c in decoded.layout.constants.values())
    for slot in members(used):
        bits = decoded.layout.scalars[slot].bits
        need = 8 if slot in uniform else 4 if bits == 1 else 4 * bits
        same_size = taken.setdefault(need, [])
        for i, (place, residents, others) in enumerate(same_size):
            if not residents & conflicts[slot] and not others >> slot & 1:
                same_size[i] = place, residents | 1 << slot, others | conflicts[slot]
                places[slot] = place
                break
        else:
            align = max(8, min(need, 64))
            size = -(-size // align) * align
            same_size.append((size, 1 << slot, conflicts[slot]))
            places[slot] = size
            size += need
    return places, -(-size // 64) * 64
