"""Addresses in shared memory: buffers that are never alive together share it.

Buffers are alive for one, two or all of the three phases before, in and after the loop. Those alive throughout come first;
then those of the first two phases grow upwards and those of the last two downwards, which leaves exactly the room that the
fullest phase needs: the total equals ``Placement.shared_bytes``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism_mlir.graph.footprint import SHARED_LIMIT, Buffer, Phase, Placement, ScheduleError

ALIGNMENT = 128
"""Bytes to which every buffer is aligned: a line of shared memory, which the swizzles are made for."""


@dataclass(frozen=True)
class MemoryPlan:
    """offsets[key]: byte offset of the buffer with that key; total: bytes of shared memory."""

    buffers: Mapping[tuple[int, str], Buffer]
    offsets: Mapping[tuple[int, str], int]
    total: int


def plan_memory(placement: Placement, limit: int = SHARED_LIMIT) -> MemoryPlan:
    """Give every buffer its place. Raises :class:`ScheduleError` where the block needs more than ``limit`` bytes."""
    total = placement.shared_bytes
    if total > limit:
        raise ScheduleError(f"a block needs {total} bytes of shared memory, the limit is {limit}")
    offsets: dict[tuple[int, str], int] = {}
    bottom = _upwards(_alive(placement, Phase.BEFORE, Phase.AFTER), 0, offsets)
    middle = _upwards(_alive(placement, Phase.BEFORE, Phase.LOOP), bottom, offsets)
    top = total
    for buffer in _alive(placement, Phase.LOOP, Phase.AFTER):
        top -= buffer.bytes
        offsets[buffer.key] = top
    _upwards(_alive(placement, Phase.BEFORE, Phase.BEFORE), middle, offsets)
    _upwards(_alive(placement, Phase.LOOP, Phase.LOOP), middle, offsets)
    _upwards(_alive(placement, Phase.AFTER, Phase.AFTER), bottom, offsets)
    return MemoryPlan({b.key: b for b in placement.buffers}, offsets, total)


def _alive(placement: Placement, first: Phase, last: Phase) -> list[Buffer]:
    return [b for b in placement.buffers if (b.first, b.last) == (first, last)]


def _upwards(buffers: Sequence[Buffer], start: int, offsets: dict[tuple[int, str], int]) -> int:
    for buffer in buffers:
        offsets[buffer.key] = start
        start += buffer.bytes
    return start
