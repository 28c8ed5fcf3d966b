"""atom and red in compiled code: lane by lane, lowest first.

The reference engine lets the lanes of all blocks take turns at each instruction; here a warp finishes before the next one
begins. PTX defines neither order. Where the order can show in what a kernel computes, the reference engine runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Decoded, Step
from prism_mlir.runtime.ptx.jit import shadow
from prism_mlir.runtime.ptx.jit.access import Addresses, access_type, by_window, lane_place, tag
from prism_mlir.runtime.ptx.jit.analysis import following
from prism_mlir.runtime.ptx.jit.build import Build, i64
from prism_mlir.runtime.ptx.jit.library import Module
from prism_mlir.runtime.ptx.jit.shadow import Stamps
from prism_mlir.runtime.ptx.jit.values import Value, constant
from prism_mlir.runtime.ptx.ops.atomics import OPS, combination
from prism_mlir.runtime.ptx.ops.loads import STRONG
from prism_mlir.runtime.ptx.program import Operand
from prism_mlir.runtime.ptx.table import Context
from prism_mlir.runtime.ptx.types import Scalar

_ANY_ORDER = ("add", "min", "max", "and", "or", "xor")


@dataclass(frozen=True, slots=True)
class Form:
    """An atomic operation taken apart: ``combine`` gives the new value from the old one and the sources, all as bits."""

    name: str
    scalar: Scalar
    space: str
    place: Operand
    sources: tuple[Operand, ...]
    target: Operand | None
    combine: Callable[..., Any]


def form(ctx: Context) -> Form:
    """Take an instruction apart that the table has accepted."""
    returns = ctx.instruction.opcode == "atom"
    name = next(m for m in ctx.mods if m in OPS)
    scalar = ctx.scalar(next(m for m in reversed(ctx.mods) if m != "L2::cache_hint"))
    space = next((m.split("::")[0] for m in ctx.mods if m.split("::")[0] in ("global", "shared")), "")
    first = returns + 1
    sources = tuple(ctx.operands[first : first + (2 if name == "cas" else 1)])
    target = ctx.operands[0] if returns else None
    return Form(name, scalar, space, ctx.operands[returns], sources, target, combination(ctx, name, scalar))


def order_shows(decoded: Decoded, step: Step, f: Form, read: bool) -> bool:
    """Whether results may depend on the order in which warps take turns. ``read``: the old value is used.

    It cannot where sums are exact and nobody sees them grow. A single atomic instruction that each thread executes at most
    once goes by thread and block in both engines.
    """
    steps = [s for s in decoded.steps if s.site.instruction.opcode in ("atom", "red")]
    strong = any(
        s.access is not None and s not in steps and any(m in STRONG for m in s.site.instruction.mods)
        for s in decoded.steps
    )
    exact = f.name in _ANY_ORDER and f.scalar.kind in ("u", "s", "b")
    if exact and not read:
        return strong or any(_rivals(step, s) for s in steps)
    return strong or len(steps) > 1 or _repeats(decoded, step)


def _rivals(one: Step, other: Step) -> bool:
    """Whether two atomics do not commute, should they reach one place."""
    mine, its = (next(m for m in s.site.instruction.mods if m in OPS) for s in (one, other))
    return mine != its


def _repeats(decoded: Decoded, step: Step) -> bool:
    """Whether a thread may come by an instruction twice."""
    after = following(decoded)
    home = next(i for i, block in enumerate(decoded.blocks) if step in block.steps)
    seen: set[int] = set()
    todo = list(after[home])
    while todo:
        at = todo.pop()
        if at == home:
            return True
        if at not in seen:
            seen.add(at)
            todo += after[at]
    return False


def atomic(m: Module, f: Form, narrow: bool) -> ir.Function:
    """Arguments as ``access_type``: registers for the old values and of the sources."""
    name = f"atomic.{f.space or 'generic'}.{f.name}.{f.scalar.name}{'.n' if narrow else ''}"
    kind = access_type(1 + len(f.sources))
    if not f.space:
        return m.function(
            f"{name}{tag(m)}", kind, lambda m, x: by_window(m, x, narrow, lambda s: _in_space(m, f, narrow, name, s))
        )
    return _in_space(m, f, narrow, name, f.space)


def _in_space(m: Module, f: Form, narrow: bool, name: str, space: str) -> ir.Function:
    full = f"{name}.{space}{tag(m)}"
    return m.function(full, access_type(1 + len(f.sources)), lambda m, x: _atomic(m, x, f, narrow, space))


def _atomic(m: Module, x: Build, f: Form, narrow: bool, space: str) -> None:
    b, width = x.b, f.scalar.bytes
    _, where, offset, bits, pc, _, old, *sources = x.function.args
    at = Addresses(x, where, narrow)
    stamps = Stamps(x) if m.options.race and space == "shared" else None
    element = ir.IntType(8 * width)
    with x.each_lane(bits) as lane:
        place = lane_place(m, x, space, b.add(at.of(lane), offset), lane, width, pc, True)
        if stamps is not None:
            shadow.shared_access(m, x, stamps, lane, place.offset, width, "atomic", pc)
        if m.options.cross_block and place.entry is not None:
            shadow.global_lane(x, place.entry, place.offset, width, "atomic", pc)
        here = b.mul(lane, i64(width))
        before = x.load(place.host, 0, element)
        values = [Value(b, f.scalar.storage, [x.load(s, here, element)]) for s in sources]
        after = f.combine(Value(b, f.scalar.storage, [before]), *values)
        if not isinstance(after, Value):
            after = Value(b, f.scalar.storage, [constant(after, f.scalar.storage)])
        x.store(after.view(f.scalar.storage).parts[0], place.host, 0)
        x.store(before, old, here)
    b.ret_void()
