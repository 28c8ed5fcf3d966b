"""mbarrier: barriers in shared memory, and cp.async.mbarrier.arrive (PTX ISA, "Parallel Synchronization: mbarrier").

An object is opaque to programs. Here its 64 bits hold, from the lowest on, how many arrivals the current phase still waits for
(20 bits), how many a phase waits for (20 bits), the number of the phase (23 bits), and whether it is an object at all (1 bit).
The state that an arrival returns is the object as it was before. An arrival releases, a successful wait acquires (see
``checks.order``).

Transaction counts belong to bulk copies, which the machine does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_mlir.runtime.ptx.checks.order import Order
from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.memory import SHARED_WINDOW
from prism_mlir.runtime.ptx.ops.atomics import turns
from prism_mlir.runtime.ptx.ops.loads import address, addresses, pick, spread_out
from prism_mlir.runtime.ptx.program import Operand
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.table import PRED, Access, Context, Made, op
from prism_mlir.runtime.ptx.types import SCALARS, Array

U32 = SCALARS["u32"]
B64 = SCALARS["b64"]
COUNT_BITS = 20
MOST = (1 << COUNT_BITS) - 1
_FIELD = np.uint64(MOST)
_WIDTH = np.uint64(COUNT_BITS)
_VALID = np.uint64(1 << 63)
_PHASE = _VALID - np.uint64(1)
_NUMBER = _PHASE >> np.uint64(2 * COUNT_BITS)
_ARRIVAL = Order.STRONG | Order.RMW | Order.RELEASE
_SPACES = ((), ("shared",), ("shared::cta",))


def pending(word: Array) -> Array:
    return word & _FIELD


def expected(word: Array) -> Array:
    return (word >> _WIDTH) & _FIELD


def phase(word: Array) -> Array:
    number: Array = (word & _PHASE) >> np.uint64(2 * COUNT_BITS)
    return number


def packed(left: Array, whole: Array, number: Array) -> Array:
    """An object: arrivals left, arrivals a phase, number of the phase."""
    word: Array = left | (whole << _WIDTH) | ((number << np.uint64(2 * COUNT_BITS)) & _PHASE) | _VALID
    return word


@dataclass(frozen=True, slots=True)
class Place:
    """Where the objects of an instruction lie."""

    site: Site
    slot: int
    offset: int
    generic: bool

    def at(self, st: State, mask: Mask, lanes: Array) -> Array:
        """Addresses in shared memory, one a lane."""
        at = np.broadcast_to(pick(addresses(st, self.slot, self.offset), mask), lanes.shape)
        return at - SHARED_WINDOW if self.generic else at

    def get(self, st: State, at: Array, lanes: Array, order: Order) -> Array:
        """The objects, which must be valid."""
        word: Array = st.shared.load(st, self.site, at, lanes, 8, order)
        bad = np.flatnonzero((word & _VALID) == 0)
        if bad.size and st.checks.barrier:
            raise self.error(st, lanes, bad, at, "there is no valid mbarrier object here",
                             "initialise it with mbarrier.init, and let a bar.sync order that before its first use")  # fmt: skip
        return word

    def put(self, st: State, at: Array, lanes: Array, word: Array, order: Order) -> None:
        st.shared.store(st, self.site, at, lanes, 8, word, order)

    def error(self, st: State, lanes: Array, bad: Array, at: Array, message: str, hint: str) -> Exception:
        first = int(bad[0])
        return report(st, "barrier", self.site, message, lanes=[int(lanes[first])], address=st.shared.name(int(at[first])),
                      total=int(bad.size), hint=hint)  # fmt: skip


def _place(ctx: Context, operand: Operand, space: tuple[str, ...]) -> Place:
    slot, offset = address(ctx, operand)
    return Place(ctx.site, slot, offset, not space)


def _lanes(st: State, mask: Mask) -> Array:
    return np.arange(st.n) if mask.index is None else mask.index


def _access(place: Place) -> Access:
    return Access("shared", 8, place.slot, True, True)


@op("mbarrier")
def mbarrier(ctx: Context) -> Made:
    mods = ctx.mods
    if len(mods) < 2 or mods[-1] != "b64":
        raise ctx.unknown()
    name, rest = mods[0], mods[1:-1]
    builders: dict[str, Callable[[Context, tuple[str, ...]], Made]] = {
        "init": _init,
        "inval": _init,
        "arrive": _arrive,
        "arrive_drop": _arrive,
        "test_wait": _wait,
        "try_wait": _wait,
        "pending_count": _pending_count,
    }
    if name not in builders:
        raise ctx.unknown()
    return builders[name](ctx, rest)


def _init(ctx: Context, space: tuple[str, ...]) -> Made:
    """mbarrier.init and mbarrier.inval: plain stores."""
    invalidate = ctx.mods[0] == "inval"
    if space not in _SPACES:
        raise ctx.unknown()
    ctx.count(1 if invalidate else 2)
    place = _place(ctx, ctx.operands[0], space)
    count = -1 if invalidate else ctx.src(ctx.operands[1], U32)

    def run(st: State, mask: Mask) -> None:
        lanes = _lanes(st, mask)
        at = place.at(st, mask, lanes)
        whole = np.zeros(lanes.shape, dtype=np.uint64)
        if not invalidate:
            whole = np.broadcast_to(pick(st.regs[count], mask), lanes.shape).astype(np.uint64)
            bad = np.flatnonzero((whole == 0) | (whole > _FIELD))
            if bad.size and st.checks.barrier:
                raise place.error(st, lanes, bad, at, f"a barrier cannot wait for {int(whole[bad[0]])} arrivals",
                                  f"give a count of 1 to {MOST}")  # fmt: skip
        word = np.zeros_like(whole) if invalidate else packed(whole, whole, np.zeros_like(whole))
        place.put(st, at, lanes, word, Order.WEAK)

    return Made(run, "mbarrier", access=_access(place))


def _arrive(ctx: Context, mods: tuple[str, ...]) -> Made:
    drop, no_complete = ctx.mods[0] == "arrive_drop", mods[:1] == ("noComplete",)
    mods = mods[no_complete:]
    if mods[:2] == ("release", "cta") or (mods[:2] == ("release", "cluster") and not no_complete):
        mods = mods[2:]
    if mods not in _SPACES:
        raise ctx.unknown()
    ctx.count(*((3,) if no_complete else (2, 3)))
    d = ctx.dst(ctx.operands[0], B64)
    place = _place(ctx, ctx.operands[1], mods)
    count = ctx.src(ctx.operands[2], U32) if len(ctx.operands) == 3 else -1
    if count >= 0 and not no_complete and (ctx.program.sm < 90 or ctx.program.version < (7, 8)):
        raise ctx.fail("a count without .noComplete needs .target sm_90 and .version 7.8 or later")

    def run(st: State, mask: Mask) -> None:
        lanes = _lanes(st, mask)
        at = place.at(st, mask, lanes)
        number = np.ones(lanes.shape, dtype=np.uint64)
        if count >= 0:
            number = np.broadcast_to(pick(st.regs[count], mask), lanes.shape).astype(np.uint64)
        states = np.zeros(lanes.shape, dtype=np.uint64)
        for turn in turns(at + (st.lane_block[lanes] << 40)):
            states[turn] = arrive(st, place, at[turn], lanes[turn], number[turn], drop, no_complete)
        spread_out(st, mask, d, states)

    return Made(run, "mbarrier", access=_access(place))


def arrive(
    st: State, place: Place, at: Array, lanes: Array, number: Array, drop: bool = False, no_complete: bool = False
) -> Array:
    """``number`` arrivals each at different objects; returns these as they were before."""
    before = place.get(st, at, lanes, Order.STRONG | Order.RMW)
    left, whole = pending(before), expected(before)
    bad = np.flatnonzero((number == 0) | (number > left) | (no_complete & (number == left)))
    if bad.size and st.checks.barrier:
        i = int(bad[0])
        what = f"{int(number[i])} arrivals where the phase waits for {int(left[i])}"
        hint = (
            "noComplete must leave arrivals open"
            if no_complete
            else "let as many threads arrive as mbarrier.init was told"
        )
        raise place.error(st, lanes, bad, at, what, hint)
    whole = whole - number if drop else whole
    left = left - number
    done = left == 0
    place.put(
        st, at, lanes, packed(np.where(done, whole, left), whole, phase(before) + done.astype(np.uint64)), _ARRIVAL
    )
    return before


def _wait(ctx: Context, mods: tuple[str, ...]) -> Made:
    """test_wait and try_wait, which may as well return at once: whether the phase of a state, or of a parity, is over."""
    parity = mods[:1] == ("parity",)
    mods = mods[parity:]
    if mods[:2] in (("acquire", "cta"), ("acquire", "cluster")):
        mods = mods[2:]
    if mods not in _SPACES:
        raise ctx.unknown()
    ctx.count(*((3, 4) if ctx.mods[0] == "try_wait" else (3,)))
    d = ctx.dst(ctx.operands[0], PRED)
    place = _place(ctx, ctx.operands[1], mods)
    which = ctx.src(ctx.operands[2], U32 if parity else B64)
    if len(ctx.operands) == 4:
        ctx.src(ctx.operands[3], U32)

    def run(st: State, mask: Mask) -> None:
        lanes = _lanes(st, mask)
        at = place.at(st, mask, lanes)
        finish_copies(st, place, at, lanes)
        word = place.get(st, at, lanes, Order.STRONG)
        wanted = np.broadcast_to(pick(st.regs[which], mask), lanes.shape).astype(np.uint64)
        if parity:
            over = (phase(word) & np.uint64(1)) != wanted
            bad = np.flatnonzero(wanted > 1)
        else:
            over = phase(word) != phase(wanted)
            bad = np.flatnonzero((phase(word) - phase(wanted)) & _NUMBER > 1)
        if bad.size and st.checks.barrier:
            raise place.error(st, lanes, bad, at, "neither the current nor the last phase of the barrier is asked for",
                              "wait for each phase before the next one ends, with a parity of 0 or 1")  # fmt: skip
        if over.any():
            place.get(st, at[over], lanes[over], Order.STRONG | Order.ACQUIRE)
        spread_out(st, mask, d, over)

    return Made(run, "mbarrier", access=_access(place))


def _pending_count(ctx: Context, mods: tuple[str, ...]) -> Made:
    """How many arrivals were left before the one that returned a state."""
    if mods:
        raise ctx.unknown()
    ctx.count(2)
    d, state = ctx.dst(ctx.operands[0], U32), ctx.src(ctx.operands[1], B64)

    def run(st: State, mask: Mask) -> None:
        lanes = _lanes(st, mask)
        words = np.broadcast_to(pick(st.regs[state], mask), lanes.shape)
        spread_out(st, mask, d, pending(words).astype(np.uint32))

    return Made(run, "mbarrier")


# -- asynchronous copies ------------------------------------------------------------------------------------------


def copies_arrive(ctx: Context) -> Made:
    """cp.async.mbarrier.arrive: the thread arrives when all its copies so far are complete, at the latest when someone waits.

    Without ``.noinc`` the phase waits for one arrival more, so that the count of mbarrier.init does not include this one.
    """
    mods = ctx.mods[3:]
    no_increment = mods[:1] == ("noinc",)
    space = mods[no_increment:-1]
    if mods[-1:] != ("b64",) or space not in _SPACES:
        raise ctx.unknown()
    ctx.count(1)
    place = _place(ctx, ctx.operands[0], space)

    def run(st: State, mask: Mask) -> None:
        lanes = _lanes(st, mask)
        at = place.at(st, mask, lanes)
        if not no_increment:
            for turn in turns(at + (st.lane_block[lanes] << 40)):
                word = place.get(st, at[turn], lanes[turn], Order.STRONG | Order.RMW)
                more = packed(pending(word) + np.uint64(1), expected(word), phase(word))
                place.put(st, at[turn], lanes[turn], more, Order.STRONG | Order.RMW)
        st.queue.signal(place, at, lanes)

    return Made(run, "cp.async.wait", access=_access(place))


def finish_copies(st: State, place: Place, at: Array, lanes: Array) -> None:
    """Complete the copies whose threads signal the objects at ``at``, and let them arrive."""
    if not st.queue.signals:
        return
    wanted = set(zip(st.lane_block[lanes].tolist(), at.tolist(), strict=True))
    for where, their_at, their_lanes in st.queue.signalled(st, wanted):
        one = np.ones(their_lanes.shape, dtype=np.uint64)
        for turn in turns(their_at + (st.lane_block[their_lanes] << 40)):
            arrive(st, where, their_at[turn], their_lanes[turn], one[turn])
