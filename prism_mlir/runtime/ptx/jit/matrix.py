"""ldmatrix, stmatrix and movmatrix in compiled code; layouts as in ``ops.tensor``.

Row r of matrix i is 16 bytes in shared memory at the address of lane 8 i + r, and 16 bytes of register i, those of lanes 4 r to
4 r + 3.
"""

from __future__ import annotations

from llvmlite import ir

from prism_mlir.runtime.ptx.jit import rows
from prism_mlir.runtime.ptx.jit.access import Addresses, access_type, frame, lane_place, offsets_in_shared, survey, tag
from prism_mlir.runtime.ptx.jit.build import I16, I32, I64, PTR, VOID, Build, i32, i64
from prism_mlir.runtime.ptx.jit.layout import Field
from prism_mlir.runtime.ptx.jit.library import Module

HALVES = ir.VectorType(I16, 8)
# Context, addresses, offset, program counter, what is known of the host's addresses.
CHECK = ir.FunctionType(I64, [PTR, PTR, I64, I32, I64])
MOVE = ir.FunctionType(VOID, [PTR, PTR, PTR])


def ldmatrix(m: Module, count: int, trans: bool, narrow: bool) -> ir.Function:
    """Arguments as ``access_type``; the lanes are all whose address counts, or none."""
    name = f"ldmatrix.x{count}{'.trans' if trans else ''}{'.n' if narrow else ''}{tag(m)}"
    return m.function(name, access_type(count), lambda m, x: _rows(m, x, count, trans, narrow, False))


def stmatrix(m: Module, count: int, trans: bool, narrow: bool) -> ir.Function:
    name = f"stmatrix.x{count}{'.trans' if trans else ''}{'.n' if narrow else ''}{tag(m)}"
    return m.function(name, access_type(count), lambda m, x: _rows(m, x, count, trans, narrow, True))


def check(m: Module, count: int, narrow: bool, storing: bool) -> ir.Function:
    """Check the rows of all matrices; returns what to add to an address for the host's."""
    kind = "claim" if storing else "read"
    name = f"rows.{kind}.x{count}{'.n' if narrow else ''}{tag(m)}"
    return m.function(name, CHECK, lambda m, x: _check(m, x, 8 * count, narrow, kind))


def movmatrix(m: Module) -> ir.Function:
    """Context, destination, source."""
    return m.function("movmatrix", MOVE, _movmatrix)


def _movmatrix(m: Module, x: Build) -> None:
    _, to, source = x.function.args
    for r, row in enumerate(x.transpose([x.load(source, 16 * r, HALVES, 16) for r in range(8)])):
        x.store(row, to, 16 * r, 16)
    x.b.ret_void()


def _rows(m: Module, x: Build, count: int, trans: bool, narrow: bool, storing: bool) -> None:
    b = x.b
    _, place, offset, bits, pc, known, *registers = x.function.args
    with b.if_then(b.icmp_unsigned("==", bits, i32(0))):
        b.ret_void()
    at = Addresses(x, place, narrow)
    host = b.call(check(m, count, narrow, storing), [x.ctx, place, offset, pc, known])
    with b.if_then(b.icmp_unsigned("!=", x.field(Field.STATUS), i64(0)), likely=False):
        b.ret_void()
    for i, register in enumerate(registers):
        places = [x.at(b.add(at.of(8 * i + r), host), 0) for r in range(8)]
        mine = [x.at(register, 16 * r) for r in range(8)]
        sources, targets = (mine, places) if storing else (places, mine)
        halves = [x.load(p, 0, HALVES, 2) for p in sources]
        for p, row in zip(targets, x.transpose(halves) if trans else halves, strict=True):
            x.store(row, p, 0, 2)
    b.ret_void()


def _check(m: Module, x: Build, lanes: int, narrow: bool, kind: str) -> None:
    b = x.b
    _, place, offset, pc, known = x.function.args
    at = Addresses(x, place, narrow)
    look, races = x.block("look"), x.block("races")
    ways = [(b.add(known, offset), b.block)]
    b.cbranch(b.icmp_unsigned("!=", known, i64(0)), races, look)
    b.position_at_end(look)
    f = frame(m, x, "shared", at.of(0), offset, 16)
    unusual = survey(m, x, at, f, 16, lanes).unusual
    with b.if_then(unusual, likely=False), x.each_lane(i32((1 << lanes) - 1)) as lane:  # perhaps in several variables
        a = b.add(at.of(lane), offset)
        lane_place(m, x, "shared", a, lane, 16, pc, kind == "claim", lambda: b.ret(f.host))
    ways.append((f.host, b.block))
    b.branch(races)
    b.position_at_end(races)
    host = x.merge(ways)
    if m.options.race:
        b.call(rows.check(m, kind, 16, lanes), [x.ctx, offsets_in_shared(x, at, offset, lanes), pc])
    b.ret(host)
