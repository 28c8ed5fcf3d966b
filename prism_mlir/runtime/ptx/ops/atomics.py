"""atom and red (PTX ISA, "Parallel Synchronization: atom, red"). Lanes that name one address take turns, lowest lane first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prism_mlir.runtime.ptx.checks.order import Order
from prism_mlir.runtime.ptx.numerics import bf16_to_f32, f32_to_bf16
from prism_mlir.runtime.ptx.ops.bits import U32
from prism_mlir.runtime.ptx.ops.loads import (
    SCOPES,
    STRONG,
    address,
    addresses,
    count,
    generic_load,
    generic_store,
    pick,
    spread_out,
)
from prism_mlir.runtime.ptx.state import Mask, State
from prism_mlir.runtime.ptx.table import Access, Context, Made, op
from prism_mlir.runtime.ptx.types import Array, Scalar

OPS = ("add", "exch", "cas", "min", "max", "inc", "dec", "and", "or", "xor")
_TYPES = {
    "add": ("u32", "s32", "u64", "f32", "f64"),
    "exch": ("b32", "b64"),
    "cas": ("b16", "b32", "b64"),
    **dict.fromkeys(("min", "max"), ("u32", "s32", "u64", "s64")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
}
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
Combine = Callable[..., Array]


@op("atom", "red")
def atom(ctx: Context) -> Made:
    orders = [STRONG[m] for m in ctx.mods if m in ("relaxed", "acquire", "release", "acq_rel")]
    order = (orders[0] if orders else Order.STRONG) | Order.RMW
    mods = [m for m in ctx.mods if m not in ("relaxed", "acquire", "release", "acq_rel", "noftz", *SCOPES)]
    space = ""
    if mods and mods[0].split("::")[0] in ("global", "shared"):
        space = mods.pop(0).split("::")[0]
    hint = "L2::cache_hint" in mods
    mods = [m for m in mods if m != "L2::cache_hint"]
    scopes = [m for m in ctx.mods if m in SCOPES]
    if len(orders) > 1 or len(scopes) > 1 or (ctx.instruction.opcode == "red" and Order.ACQUIRE in order):
        raise ctx.unknown()
    returns = ctx.instruction.opcode == "atom"
    if len(mods) != 2 or mods[0] not in OPS or (mods[0] in ("exch", "cas") and not returns):
        raise ctx.unknown()
    name, scalar = mods[0], ctx.scalar(mods[1])
    halves = scalar.name in _HALVES
    if scalar.name not in (*_TYPES[name], *(_HALVES if name == "add" else ())) or ("noftz" in ctx.mods) != halves:
        raise ctx.unknown()
    combine = combination(ctx, name, scalar)
    sources = 2 if name == "cas" else 1
    count(ctx, hint, returns + 1 + sources)
    slot, offset = address(ctx, ctx.operands[int(returns)])
    slots = [ctx.src(o, scalar) for o in ctx.operands[returns + 1 : returns + 1 + sources]]
    d = ctx.dst(ctx.operands[0], scalar) if returns else -1
    site, width = ctx.site, scalar.bytes

    def run(st: State, mask: Mask) -> None:
        lane = mask.index
        lanes = np.arange(st.n) if lane is None else lane
        at = np.broadcast_to(pick(addresses(st, slot, offset), mask), lanes.shape)
        values = [np.broadcast_to(pick(st.regs[s], mask), lanes.shape) for s in slots]
        old = np.zeros(lanes.shape, dtype=scalar.storage)
        owner = at if space != "shared" else at + (st.lane_block[lanes] << 40)
        if not space:
            owner = np.where(at < (1 << 39), at + (st.lane_block[lanes] << 40), at)
        st.counters.store(st, space, width, at, mask, atomic=True)
        for turn in turns(owner):
            args = [v[turn] for v in values]
            if space == "shared":
                before = st.shared.load(st, site, at[turn], lanes[turn], width, order)
                st.shared.store(st, site, at[turn], lanes[turn], width, combine(before, *args), order)
            elif space == "global":
                before = st.memory.load(st, site, at[turn], lanes[turn], width, order)
                st.memory.store(st, site, at[turn], lanes[turn], width, combine(before, *args), order)
            else:
                before = generic_load(st, site, at[turn], lanes[turn], width, order)
                generic_store(st, site, at[turn], lanes[turn], width, combine(before, *args), order)
            old[turn] = before
        if returns:
            spread_out(st, mask, d, old)

    return Made(run, f"atom.{space or 'generic'}", access=Access(space, width, slot, True, True))


def turns(owner: Array) -> list[Array]:
    """Split accesses into rounds in which no address occurs twice."""
    order = np.argsort(owner, kind="stable")
    ranked = owner[order]
    start = np.concatenate(([True], ranked[1:] != ranked[:-1]))
    first = np.maximum.accumulate(np.where(start, np.arange(owner.shape[0]), 0))
    turn = np.empty(owner.shape, dtype=np.int64)
    turn[order] = np.arange(owner.shape[0]) - first
    return [np.flatnonzero(turn == t) for t in range(int(turn.max()) + 1)]


def combination(ctx: Context, name: str, scalar: Scalar) -> Combine:
    """New value from the old one and the operands, all as bits."""
    storage, value = scalar.storage, scalar.value
    if name == "cas":

        def swap(old: Array, compare: Array, new: Array) -> Array:
            return np.where(old == compare, new, old)

        return swap
    if name == "exch":
        return lambda old, new: new
    if name in ("and", "or", "xor") and scalar.kind == "b":
        ufunc = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[name]
        return lambda old, b: ufunc(old, b)
    if name in ("inc", "dec") and scalar.name == U32.name:
        one, zero = np.uint32(1), np.uint32(0)
        if name == "inc":
            return lambda old, b: np.where(old >= b, zero, old + one)
        return lambda old, b: np.where((old == 0) | (old > b), b, old - one)
    if name == "add" and scalar.kind in ("bf", "bfx2"):
        return lambda old, b: _bf16_add(old, b)
    if name == "add" and scalar.name == "f16x2":
        return lambda old, b: (old.view(np.float16) + b.view(np.float16)).view(np.uint32)
    if name == "add" and scalar.kind in ("u", "s", "f"):
        return lambda old, b: (old.view(value) + b.view(value)).view(storage)
    if name in ("min", "max") and scalar.kind in ("u", "s"):
        pick_one = np.minimum if name == "min" else np.maximum
        return lambda old, b: pick_one(old.view(value), b.view(value)).view(storage)
    raise ctx.unknown()


def _bf16_add(old: Array, b: Array) -> Array:
    x, y = (bf16_to_f32(v.view(np.uint16)) for v in (old, b))
    return f32_to_bf16(x + y).view(old.dtype)
