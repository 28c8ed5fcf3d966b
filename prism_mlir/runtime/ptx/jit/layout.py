"""Where compiled code finds things: the fields of the launch context, of a buffer's entry, and of a queued copy.

The context is an array of 64-bit words that Python fills before a launch. Addresses in it are host addresses. After the fields
come the constants of the kernel, then its counts.
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
    PARAM_BYTES = 7
    KERNEL = 8  # address of the function that runs a warp
    CTAID_X = 9
    CTAID_Y = 10
    CTAID_Z = 11
    MAX_STEPS = 12
    TIME = 13  # barriers and blocks passed
    FLOOR = 14  # stamps below this are ordered before everything that the block does now
    BLOCK = 15  # linear index of the block, plus 1
    WARP = 16  # index of the warp that runs
    LIVE = 17  # its threads, one bit each
    LAST_LIVE = 18  # the same for the last warp of a block
    SHARED_VARIABLES = 19  # (start, size) of each
    SHARED_COUNT = 20
    LOCAL_VARIABLES = 21
    LOCAL_COUNT = 22
    CELLS = 23  # shadow of the shared memory: the stamps of the last writer and of the last reader of each cell
    CELL_COUNT = 24
    STATES = 25  # registers of each warp
    STATE_BYTES = 26  # of one warp
    WAITS = 27  # a record of each warp's place, see Wait
    QUEUES = 28  # copies in flight
    QUEUE_BYTES = 29  # of one warp
    QUEUE_MASK = 30  # capacity of a queue, a power of two, minus 1
    WARPS = 31
    GRID_X = 32
    GRID_Y = 33
    SHARED_BYTES = 34
    LOCAL_BYTES = 35  # of one thread
    BARRIERS = 36  # barriers completed, over all blocks
    DIVERGENT = 37  # branches at which threads of a warp went different ways
    DUMMY = 38  # memory to read from where an access has failed
    KNOWN = 39  # for two warps, the time before which all that the second did is known to the first
    MEETINGS = 40  # barriers that some warps have reached, see Meeting
    NUMBER = 41  # the barrier that the warp has reached,
    WANTED = 42  # for how many threads it waits, 0 for all,
    VOTES = 43  # and the lanes whose predicate holds, for a reduction
    BARRIER = 44  # program counter of the barrier reached last
    COUNT = 45


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
    DIFFERS = 12
    TABLE = 13
    FAR = 14


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
    Status.DIFFERS: "an operand of a whole warp differs from thread to thread",
    Status.FAR: "the sources of an asynchronous copy lie too far apart",
    Status.TABLE: "a branch index is past the end of its table",
}

# A queued copy: group (8 bytes), mask and width (4 each), host address that the sources are relative to (8), how the
# destinations follow one another (4), 32 offsets in shared memory (4 each), 32 distances of sources (4 each, signed).
SLOT_GROUP, SLOT_MASK, SLOT_WIDTH, SLOT_BASE, SLOT_ROWS = 0, 8, 12, 16, 24
SLOT_OFFSETS = 64
SLOT_SOURCES = SLOT_OFFSETS + 128
SLOT_BYTES = SLOT_SOURCES + 128
SLOT_DATA = 512  # room for the data of 32 lanes, behind all slots
# A queue: copies taken out, copies put in, groups committed, then the slots, then their data.
QUEUE_HEAD, QUEUE_TAIL, QUEUE_COMMITTED, QUEUE_SLOTS = 0, 8, 16, 64


class Wait(IntEnum):
    """32-bit words of a warp's place in its block."""

    RESUME = 0  # where it goes on: -1 for nowhere
    NUMBER = 1  # the barrier at which it waits, plus 1; 0 for none
    VOTES = 2  # lanes whose predicate holds
    TOTAL = 3  # how many lanes of all that met had it,
    MET = 4  # and how many met
    WORDS = 8


class Meeting(IntEnum):
    """32-bit words of what is known of one barrier number, then a 64-bit time of arrival for each warp."""

    WAITING = 0  # warps, one bit each
    ARRIVED = 1  # warps that went on
    WANTED = 2  # threads, 0 for all
    TIMES = 4
    WORDS = 4 + 2 * 32


BARRIER_NUMBERS = 16


def queue_bytes(slots: int) -> int:
    return QUEUE_SLOTS + slots * (SLOT_BYTES + SLOT_DATA)
