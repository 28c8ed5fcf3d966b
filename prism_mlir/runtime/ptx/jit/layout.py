"""Where compiled code finds things: the fields of the launch context, of a buffer's entry, and of a queued copy.

The context is an array of 64-bit words that Python fills before a launch. Addresses in it are host addresses.
"""

from __future__ import annotations

from enum import IntEnum


class Field(IntEnum):
    """Words of the context."""

    STATUS = 0  # a Status; the first one that occurs stays
    WHERE = 1  # program counter of the instruction that set it
    SHARED = 2  # shared memory of the block that runs
    LOCAL = 3  # local memory of its threads
    BUFFERS = 4  # table of Buffer entries
    BUFFER_COUNT = 5
    PARAM = 6  # parameter block
    CONSTANTS = 7  # one word a constant slot: addresses of variables, special registers that never change
    SPECIALS = 8  # tables of special registers, one 32-bit word a thread
    CTAID_X = 9
    CTAID_Y = 10
    CTAID_Z = 11
    SEEN = 12  # two counts a basic block: warps, and threads
    ACTIVE = 13  # threads whose guard held, one count a guarded memory instruction
    MAX_STEPS = 14
    EPOCH = 15  # barriers and blocks passed
    BLOCK = 16  # linear index of the block, plus 1
    WARP = 17  # index of the warp that runs
    LIVE = 18  # its threads, one bit each
    LAST_LIVE = 19  # the same for the last warp of a block
    SHARED_VARIABLES = 20  # (start, size) of each
    LOCAL_VARIABLES = 21
    WRITERS = 22  # shadow of the shared memory: one stamp a cell
    READERS = 23
    CELLS = 24  # how many
    STATES = 25  # registers of waiting warps
    RESUME = 26  # where each warp goes on: -1 for nowhere
    QUEUES = 27  # copies in flight
    WARPS = 28
    GRID_X = 29
    GRID_Y = 30
    SHARED_BYTES = 31
    LOCAL_BYTES = 32  # of one thread
    BARRIERS = 33  # barriers completed, over all blocks
    PARAM_BYTES = 34
    DIVERGENT = 35  # branches at which threads of a warp went different ways
    COUNT = 36


class Entry(IntEnum):
    """Words of a buffer's entry; the shadow of a buffer without one is 0."""

    BASE = 0  # virtual address
    SIZE = 1
    HOST = 2
    WRITABLE = 3
    WRITERS = 4
    READERS = 5
    CELL_SHIFT = 6
    STABLE = 7  # nothing can write it during the launch
    COUNT = 8


class Status(IntEnum):
    """Why compiled code stopped."""

    DONE = 0
    DIVERGED = 1
    BOUNDS = 2
    ALIGNMENT = 3
    RACE = 4
    CROSS_BLOCK = 5
    STEPS = 6
    BARRIER = 7
    QUEUE_FULL = 8
    PARTIAL_COPY = 9
    MIXED_SPACES = 10
    TRAP = 11


REASONS = {
    Status.DIVERGED: "threads of a warp go different ways",
    Status.BOUNDS: "an access lies outside of its buffer, or one instruction reaches several buffers",
    Status.ALIGNMENT: "an address is no multiple of the access width",
    Status.RACE: "two threads may race for shared memory",
    Status.CROSS_BLOCK: "two blocks may conflict in global memory",
    Status.STEPS: "the instruction limit is reached",
    Status.BARRIER: "warps wait at different barriers",
    Status.QUEUE_FULL: "too many asynchronous copies are in flight",
    Status.PARTIAL_COPY: "an asynchronous copy is shorter than its width",
    Status.MIXED_SPACES: "a generic address of one warp lies in several state spaces",
    Status.TRAP: "a thread executes trap",
}

# A queued copy: group (8 bytes), mask and width (4 each), 32 offsets in shared memory (4 each), 32 host addresses of sources
# (8 each), room for the data of 32 lanes (16 each).
SLOT_MASK = 8
SLOT_OFFSETS = 64
SLOT_SOURCES = SLOT_OFFSETS + 128
SLOT_DATA = SLOT_SOURCES + 256
SLOT_BYTES = SLOT_DATA + 512
# A queue: copies taken out, copies put in, groups committed, then the slots.
QUEUE_HEAD, QUEUE_TAIL, QUEUE_COMMITTED, QUEUE_SLOTS = 0, 8, 16, 64
