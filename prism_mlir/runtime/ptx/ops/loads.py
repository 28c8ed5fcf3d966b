"""ld, st and their relatives in every state space (PTX ISA, "Data Movement: ld, ldu, st, prefetch").

A vector access moves as one piece of its whole width, so bounds, alignment, races and initialisation are checked once a lane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism_mlir.runtime.ptx.checks.order import Order
from prism_mlir.runtime.ptx.checks.report import Site, report
from prism_mlir.runtime.ptx.memory import CELL, LOCAL_WINDOW, REGION_BASE, SHARED_WINDOW, WINDOW, Arena, GlobalMemory
from prism_mlir.runtime.ptx.program import Addr, Operand, Reg, Sym, Vec
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.table import Access, Context, Made, assign, op
from prism_mlir.runtime.ptx.types import SCALARS, Array, Scalar

SPACES = ("global", "shared", "local", "const", "param")
# How strong an access with this modifier is; volatile ones are relaxed (PTX ISA, "Memory Consistency Model").
STRONG = {
    "volatile": Order.STRONG,
    "relaxed": Order.STRONG,
    "mmio": Order.STRONG,
    "acquire": Order.STRONG | Order.ACQUIRE,
    "release": Order.STRONG | Order.RELEASE,
    "acq_rel": Order.STRONG | Order.ACQUIRE | Order.RELEASE,
}
SCOPES = ("cta", "cluster", "gpu", "sys")
_CACHE = {"ld": ("ca", "cg", "cs", "lu", "cv"), "st": ("cg", "cs", "wb", "wt"), "ldu": ()}
_ORDERS = {"ld": ("weak", "volatile", "relaxed", "acquire", "mmio"), "st": ("weak", "volatile", "relaxed", "release", "mmio"),
           "ldu": ()}  # fmt: skip
_LEVEL_1 = tuple(
    f"L1::{how}" for how in ("evict_last", "evict_first", "no_allocate", "evict_normal", "evict_unchanged")
)
_PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
_SUFFIXES = {"shared": ("cta", "cluster"), "param": ("entry",)}


@dataclass(frozen=True, slots=True)
class Form:
    """The modifiers of a memory instruction; ``space`` is "" for a generic address."""

    space: str
    scalar: Scalar
    lanes: int
    strong: Order
    hint: bool

    @property
    def width(self) -> int:
        return self.scalar.bytes * self.lanes


def form(ctx: Context) -> Form:
    """Take the modifiers of ld, ldu or st apart."""
    if not ctx.mods:
        raise ctx.unknown()
    opcode = ctx.instruction.opcode
    spaces: list[str] = []
    lanes: list[int] = []
    others: list[str] = []
    for mod in ctx.mods[:-1]:
        base, _, suffix = mod.partition("::")
        if base in SPACES and (not suffix or suffix in _SUFFIXES.get(base, ())):
            spaces.append(base)
        elif mod in ("v2", "v4", "v8"):
            lanes.append(int(mod[1:]))
        else:
            others.append(mod)
    scalar = ctx.scalar(ctx.mods[-1])
    if len(spaces) > 1 or len(lanes) > 1 or not _is_memory_type(scalar) or (opcode == "ldu" and 8 in lanes):
        raise ctx.unknown()
    f = Form(
        "".join(spaces),
        scalar,
        lanes[0] if lanes else 1,
        _order(ctx, opcode, "".join(spaces), others),
        "L2::cache_hint" in others,
    )
    if f.width > 16:
        raise ctx.fail(f"accesses of {f.width} bytes are not supported (16 at most)")
    return f


def _is_memory_type(scalar: Scalar) -> bool:
    return scalar.kind in ("b", "u", "s") or scalar.name in ("f32", "f64")


def _order(ctx: Context, opcode: str, space: str, mods: list[str]) -> Order:
    """How strong the access is; ``mods`` are all modifiers but space, vector and type, checked to go together."""
    groups = {
        "order": _ORDERS[opcode],
        "scope": SCOPES,
        "cache": (*_CACHE[opcode], *(("nc",) if opcode == "ld" else ())),
        "level1": _LEVEL_1 if opcode != "ldu" else (),
        "prefetch": _PREFETCH if opcode == "ld" else (),
        "hint": ("L2::cache_hint",) if opcode != "ldu" else (),
    }
    found = {name: [m for m in mods if m in members] for name, members in groups.items()}
    if sum(map(len, found.values())) != len(mods) or len(set(mods)) < len(mods):
        raise ctx.unknown()
    orders, cache = found["order"], found["cache"]
    if orders == ["mmio", "relaxed"]:
        orders = ["relaxed"] if space in ("global", "") and found["scope"] == ["sys"] else ["mmio"]
    order = orders[0] if orders else "weak"
    everywhere = space in ("", "global")
    wrong = (
        any(len(found[name]) > 1 for name in ("scope", "level1", "prefetch"))
        or len(orders) > 1
        or order == "mmio"
        or len(found["scope"]) != (order in ("relaxed", "acquire", "release"))
        or (order != "weak" and (cache or space in ("local", "const", "param")))
        or len([m for m in cache if m != "nc"]) > 1
        or ("nc" in cache and space != "global")
        or (not everywhere and (found["level1"] or found["prefetch"] or found["hint"] or opcode == "ldu"))
    )
    if wrong:
        raise ctx.unknown()
    return STRONG.get(order, Order.WEAK)


def count(ctx: Context, hint: bool, *allowed: int) -> None:
    """Check the number of operands; ``hint``: one more, the policy of ``.L2::cache_hint``, comes last."""
    ctx.count(*(n + hint for n in allowed))
    if hint:
        ctx.src(ctx.operands[-1], SCALARS["b64"])


def address(ctx: Context, operand: Operand) -> tuple[int, int]:
    """Slot and byte offset of ``[…]``."""
    if not isinstance(operand, Addr):
        raise ctx.fail("expected an address in brackets")
    base = operand.base
    if isinstance(base, Sym):
        slot = ctx.address_of(Sym(base.name, base.offset + operand.offset), SCALARS["b64"])
        ctx.reads.append(slot)
        return slot, 0
    if isinstance(base, Reg):
        slot = ctx.register(base.name)
        if ctx.layout.scalars[slot].bits not in (32, 64):
            raise ctx.fail("an address needs a 32-bit or 64-bit register")
        ctx.reads.append(slot)
        return slot, operand.offset
    return ctx.src(base, SCALARS["b64"]), operand.offset


def addresses(st: State, slot: int, offset: int) -> Array:
    """The addresses of an access as int64, one a lane or one for all; with a 32-bit base the sum has 32 bits, too."""
    value = st.regs[slot]
    if value.dtype.itemsize == 4:
        return (value + np.uint32(offset & 0xFFFFFFFF) if offset else value).astype(np.int64)
    wide = value.view(np.int64)
    return wide + offset if offset else wide


def pick(value: Array, mask: Mask) -> Array:
    """The elements of the active lanes; a uniform value stays uniform when every lane is active."""
    index = mask.index
    if index is None:
        return value
    return np.broadcast_to(value, (index.shape[0],)) if value.shape[0] == 1 else value[index]


def generic_load(st: State, site: Site, at: Array, lane: Array | None, width: int, strong: Order) -> Array:
    """A load through a generic address: split by the window that each lane's address lies in."""
    parts = _split(at)
    if len(parts) == 1:
        memory, base, _ = _resolve(st, parts[0][0])
        return memory.load(st, site, at - base if base else at, lane, width, strong)
    lanes = np.arange(st.n) if lane is None else lane
    raw = np.zeros(at.shape, dtype=CELL[width])
    for window, chosen in parts:
        memory, base, _ = _resolve(st, window)
        raw[chosen] = memory.load(st, site, at[chosen] - base, lanes[chosen], width, strong)
    return raw


def generic_store(st: State, site: Site, at: Array, lane: Array | None, width: int, raw: Array, strong: Order) -> None:
    """A store through a generic address."""
    lanes = np.arange(st.n) if lane is None else lane
    for window, chosen in _split(at):
        memory, base, _ = _resolve(st, window)
        memory.store(st, site, at[chosen] - base, lanes[chosen], width, raw[chosen], strong)


def _split(at: Array) -> list[tuple[int, Array]]:
    """Window of the addresses (2**63 for global ones) and which of them lie in it."""
    low, high = int(at.min()), int(at.max())
    if low >= REGION_BASE:
        return [(REGION_BASE, np.arange(at.shape[0]))]
    if low // WINDOW == high // WINDOW:
        return [(low // WINDOW * WINDOW, np.arange(at.shape[0]))]
    window = np.where(at >= REGION_BASE, REGION_BASE, at // WINDOW * WINDOW)
    return [(int(w), np.flatnonzero(window == w)) for w in np.unique(window)]


def _resolve(st: State, window: int) -> tuple[Arena | GlobalMemory, int, str]:
    if window == SHARED_WINDOW:
        return st.shared, SHARED_WINDOW, "shared"
    if window == LOCAL_WINDOW:
        return st.local, LOCAL_WINDOW, "local"
    return st.memory, 0, "global"


def _widen(raw: Array, f: Form, column: int, target: np.dtype[np.unsignedinteger]) -> Array:
    values = raw.view(f.scalar.storage)
    if f.lanes > 1:
        values = np.ascontiguousarray(values.reshape(-1, f.lanes)[:, column])
    if target.itemsize == f.scalar.bytes:
        return values
    if f.scalar.is_signed:
        return values.view(f.scalar.value).astype(np.dtype(f"i{target.itemsize}")).view(target)
    return values.astype(target)


def spread_out(st: State, mask: Mask, slot: int, values: Array) -> None:
    """Bind values of the active lanes (in order) to a slot."""
    index = mask.index
    if index is None or (values.shape[0] == 1 and mask.full):
        st.regs[slot] = values
        return
    old = st.regs[slot]
    new = np.empty(st.n, dtype=old.dtype)
    new[:] = old
    new[index] = values
    st.regs[slot] = new


@op("ld", "ldu")
def ld(ctx: Context) -> Made:
    f = form(ctx)
    count(ctx, f.hint, 2)
    target = ctx.operands[0]
    items = target.items if isinstance(target, Vec) else (target,)
    if len(items) != f.lanes:
        raise ctx.fail(f"{f.lanes} destinations expected")
    slot, offset = address(ctx, ctx.operands[1])
    slots = [ctx.dst(item, f.scalar, wider=True) for item in items]
    kinds = [ctx.storage(s) for s in slots]
    site, width = ctx.site, f.width
    if f.space == "param":
        return _load_param(site, f, slot, offset, slots, kinds)

    def run(st: State, mask: Mask) -> None:
        at = pick(addresses(st, slot, offset), mask)
        lane = mask.index
        if lane is not None and at.strides[0] == 0 and mask.full and f.space in ("global", "const"):
            at = at[:1]  # one address for all lanes: one value
            lane = None if st.memory.untracked(int(at[0])) else lane
            at = at if lane is None else np.broadcast_to(at, lane.shape)
        if f.space == "shared":
            raw = st.shared.load(st, site, at, lane, width, f.strong)
        elif f.space == "local":
            raw = st.local.load(st, site, at, lane, width, f.strong)
        elif f.space:
            raw = st.memory.load(st, site, at, lane, width, f.strong)
        else:
            raw = generic_load(st, site, at, lane, width, f.strong)
        st.counters.load(st, f.space, width, at, mask)
        for i, d in enumerate(slots):
            spread_out(st, mask, d, _widen(raw, f, i, kinds[i]))

    return Made(run, f"ld.{f.space or 'generic'}", access=Access(f.space, width, slot, True, False))


def _load_param(site: Site, f: Form, slot: int, offset: int, slots: list[int], kinds: list[np.dtype]) -> Made:
    def run(st: State, mask: Mask) -> None:
        at = pick(addresses(st, slot, offset), mask)
        if int(at.min()) < 0 or int(at.max()) + f.width > st.param.shape[0]:
            raise report(
                st,
                "bounds",
                site,
                "access outside of the kernel's parameters",
                lanes=[int(np.flatnonzero(mask.lanes)[0])],
                address=f"param+{int(at.min())}",
                hint="read only the parameters that the kernel declares",
            )
        if at.strides[0] == 0:
            at = at[:1]
        raw = st.param[at[:, None] + np.arange(f.width)].reshape(-1)
        for i, d in enumerate(slots):
            value = _widen(raw, f, i, kinds[i])
            if value.shape[0] == 1:
                assign(st, mask, d, value)
            else:
                spread_out(st, mask, d, value)

    return Made(run, "ld.param")


def gather_source(st: State, mask: Mask, f: Form, slots: list[int]) -> Array:
    """The values to store, one cell of ``f.width`` bytes a lane."""
    n = mask.n if mask.index is not None else st.n
    values = np.empty((n, f.lanes), dtype=f.scalar.storage)
    for i, s in enumerate(slots):
        values[:, i] = pick(st.regs[s], mask)
    return values.reshape(-1).view(CELL[f.width])


@op("st")
def store(ctx: Context) -> Made:
    f = form(ctx)
    if f.space in ("const", "param"):
        raise ctx.unknown()
    count(ctx, f.hint, 2)
    source = ctx.operands[1]
    items = source.items if isinstance(source, Vec) else (source,)
    if len(items) != f.lanes:
        raise ctx.fail(f"{f.lanes} sources expected")
    slot, offset = address(ctx, ctx.operands[0])
    slots = [ctx.src(item, f.scalar, wider=True) for item in items]
    site, width = ctx.site, f.width

    def run(st: State, mask: Mask) -> None:
        at, lane = pick(addresses(st, slot, offset), mask), mask.index
        raw = gather_source(st, mask, f, slots)
        if at.shape[0] == 1:
            at = np.broadcast_to(at, raw.shape)
        if f.space == "shared":
            st.shared.store(st, site, at, lane, width, raw, f.strong)
        elif f.space == "local":
            st.local.store(st, site, at, lane, width, raw, f.strong)
        elif f.space:
            st.memory.store(st, site, at, lane, width, raw, f.strong)
        else:
            generic_store(st, site, at, lane, width, raw, f.strong)
        st.counters.store(st, f.space, width, at, mask)

    return Made(run, f"st.{f.space or 'generic'}", access=Access(f.space, width, slot, False, True))
