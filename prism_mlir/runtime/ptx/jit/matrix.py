"""ldmatrix, stmatrix and movmatrix in compiled code; layouts as in ``ops.tensor``.

Row r of matrix i is 16 bytes in shared memory at the address of lane 8 i + r, and 16 bytes of register i, those of lanes 4 r to
4 r + 3.
"""

from __future__ import annotations

from llvmlite import ir

from prism_mlir.runtime.ptx.jit import rows
from prism_mlir.runtime.ptx.jit.access import access_type, frame, lane_place, survey, tag
from prism_mlir.runtime.ptx.jit.build import I16, I32, I64, PTR, VOID, Build, i32, i64
from prism_mlir.runtime.ptx.jit.layout import Field
from prism_mlir.runtime.ptx.jit.library import Module

HALVES = ir.VectorType(I16, 8)
CHECK = ir.FunctionType(I64, [PTR, PTR, I64, I32, I32])  # context, addresses, offset, lanes, program counter
MOVE = ir.FunctionType(VOID, [PTR, PTR, PTR])


def ldmatrix(m: Module, count: int, trans: bool) -> ir.Function:
    """Context, addresses, offset, lanes whose address counts, program counter, registers."""
    name = f"ldmatrix.x{count}{'.trans' if trans else ''}{tag(m)}"
    return m.function(name, access_type(count), lambda m, x: _rows(m, x, count, trans, False))


def stmatrix(m: Module, count: int, trans: bool) -> ir.Function:
    name = f"stmatrix.x{count}{'.trans' if trans else ''}{tag(m)}"
    return m.function(name, access_type(count), lambda m, x: _rows(m, x, count, trans, True))


def movmatrix(m: Module) -> ir.Function:
    """Context, destination, source."""
    return m.function("movmatrix", MOVE, _movmatrix)


def _movmatrix(m: Module, x: Build) -> None:
    _, to, source = x.function.args
    for r, row in enumerate(x.transpose([x.load(source, 16 * r, HALVES, 16) for r in range(8)])):
        x.store(row, to, 16 * r, 16)
    x.b.ret_void()


def _rows(m: Module, x: Build, count: int, trans: bool, storing: bool) -> None:
    b = x.b
    _, at, offset, bits, pc, *registers = x.function.args
    with b.if_then(b.icmp_unsigned("==", bits, i32(0))):
        b.ret_void()
    kind = "claim" if storing else "read"
    check = m.function(f"rows.{kind}.x{count}{tag(m)}", CHECK, lambda m, x: _check(m, x, 8 * count, kind))
    host = b.call(check, [x.ctx, at, offset, bits, pc])
    with b.if_then(b.icmp_unsigned("!=", x.field(Field.STATUS), i64(0)), likely=False):
        b.ret_void()
    for i, register in enumerate(registers):
        places = [x.at(b.add(x.load(at, 8 * (8 * i + r), I64, 8), host), 0) for r in range(8)]
        mine = [x.at(register, 16 * r) for r in range(8)]
        sources, targets = (mine, places) if storing else (places, mine)
        rows_ = [x.load(p, 0, HALVES, 2) for p in sources]
        for p, row in zip(targets, x.transpose(rows_) if trans else rows_, strict=True):
            x.store(row, p, 0, 2)
    b.ret_void()


def _check(m: Module, x: Build, lanes: int, kind: str) -> None:
    """Check the rows of all matrices; returns what to add to an address for the host's."""
    b = x.b
    _, at, offset, bits, pc = x.function.args
    f = frame(m, x, "shared", x.load(at, 0, I64, 8), offset, 16)
    s = survey(m, x, at, f, 16, lanes)
    with b.if_then(s.unusual, likely=False), x.each_lane(bits) as lane:  # perhaps in several variables
        a = b.add(x.load(at, b.shl(lane, i64(3)), I64, 8), offset)
        lane_place(m, x, "shared", a, lane, 16, pc, kind == "claim", lambda: b.ret(f.host))
    if m.options.race:
        # Offsets are right modulo 2**32, whatever the survey says.
        b.call(rows.check(m, kind, 16, lanes), [x.ctx, s.offsets(x, f), pc])
    b.ret(f.host)
