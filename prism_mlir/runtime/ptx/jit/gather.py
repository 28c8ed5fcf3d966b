"""Bring together, in each basic block, the instructions that treat each lane by itself, so that they share loops.

Such an instruction has no effect but on registers: it may move up, past memory accesses and warp operations, to the first place
where its operands are there and its result is in nobody's way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from prism_mlir.runtime.ptx.decode import Block, Decoded, Step


def gathered(decoded: Decoded, fixed: Callable[[Step], bool]) -> Decoded:
    """The same program with instructions moved inside their blocks; ``fixed`` ones keep their places."""
    return replace(decoded, blocks=tuple(_block(block, fixed) for block in decoded.blocks))


def _block(block: Block, fixed: Callable[[Step], bool]) -> Block:
    rooms: list[list[Step]] = [[]]  # what stands before each fixed instruction, and after the last one
    pillars: list[Step] = []
    written: dict[int, int] = {}  # slot to the first room that sees its value
    read: dict[int, int] = {}  # slot to the last room, or room after a fixed instruction, that needs its old value
    for step in block.steps:
        if step.control is not None or fixed(step):
            pillars.append(step)
            rooms.append([])
            room = len(pillars)
        else:
            room = max((written.get(s, 0) for s in (*step.reads, *step.writes)), default=0)
            room = max(room, *(read.get(s, 0) for s in step.writes), 0)
            rooms[room].append(step)
        for s in step.reads:
            read[s] = max(read.get(s, 0), room)
        for s in step.writes:
            written[s] = room
    steps = list(rooms[0])
    for pillar, room_after in zip(pillars, rooms[1:], strict=True):
        steps += [pillar, *room_after]
    return replace(block, steps=tuple(steps))
