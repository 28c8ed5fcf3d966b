"""mma.sync in compiled code, sums with k ascending and C last, as in ``ops.tensor``.

Operands are spread into tables first, as numbers of the type that sums have: A by rows or by columns, whichever is simpler, B
as a vector of its eight columns for each k. A table stays valid as long as the registers that it was made from, so that a
matrix that several products use is spread once; where only products use what ldmatrix loads, it goes from shared memory into
tables. A vector of eight sums is one row of D; its lanes are columns 0 2 4 6 1 3 5 7, because so the registers of C and D
hold them: 16 bytes of register 0, then 16 bytes of register 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from prism_mlir.runtime.ptx.jit.access import Addresses
from prism_mlir.runtime.ptx.jit.build import I8, I16, I32, I64, PTR, VOID, Build, i64, same
from prism_mlir.runtime.ptx.jit.library import Module

FLOAT, DOUBLE, HALF = ir.FloatType(), ir.DoubleType(), ir.HalfType()
N = 8  # columns
A_BYTES, B_BYTES = 16 * 32 * 4, 32 * 8 * 4  # of the largest tables


@dataclass(frozen=True, slots=True)
class Form:
    """Types of A, B, C and D, the number of rows and K."""

    a: str
    b: str
    c: str
    d: str
    m: int
    k: int
    saturate: bool

    @property
    def elements(self) -> int:
        """In one register."""
        return {"f16": 2, "bf16": 2, "tf32": 1, "f64": 1, "s8": 4, "u8": 4}[self.a]

    @property
    def register(self) -> int:
        """Bytes of a register of A and B."""
        return 8 if self.a == "f64" else 4

    @property
    def sum(self) -> ir.Type:
        return {"f64": DOUBLE, "s8": I32, "u8": I32}.get(self.a, FLOAT)

    @property
    def bytes(self) -> int:
        """Of one sum."""
        return 8 if self.a == "f64" else 4

    @property
    def b_count(self) -> int:
        return self.k // (4 * self.elements)

    @property
    def a_count(self) -> int:
        return self.b_count * self.m // 8

    def registers(self, kind: str) -> int:
        """Of C or D."""
        return self.m // 8 if kind == "f16" else self.m // 4


def spread_a(m: Module, form: Form) -> ir.Function:
    """Context, table, registers of A."""
    name = f"spread.a.{form.a}.{form.m}x{form.k}"
    return m.function(name, ir.FunctionType(VOID, [PTR] * (2 + form.a_count)), lambda m, x: _spread_a(x, form))


def spread_b(m: Module, form: Form) -> ir.Function:
    """Context, table, registers of B."""
    name = f"spread.b.{form.b}.{form.k}"
    return m.function(name, ir.FunctionType(VOID, [PTR] * (2 + form.b_count)), lambda m, x: _spread_b(x, form))


def multiply(m: Module, form: Form, columns: bool) -> ir.Function:
    """Context, table of A (``columns``: which is by columns), table of B, registers of C, registers of D."""
    name = f"multiply.{form.a}.{form.c}.{form.d}.{form.m}x{form.k}{'.sat' if form.saturate else ''}{'.t' * columns}"
    count = 3 + form.registers(form.c) + form.registers(form.d)
    return m.function(name, ir.FunctionType(VOID, [PTR] * count), lambda m, x: _multiply(x, form, columns))


def fill(m: Module, operand: str, form: Form, trans: bool, narrow: bool) -> ir.Function:
    """A table from shared memory: context, table, what to add to an address for the host's, and for each register the eight
    addresses of its matrix. A transposed A comes by columns."""
    count = form.a_count if operand == "A" else form.b_count
    kind = form.a if operand == "A" else form.b
    name = f"fill.{operand}.{kind}.{form.m}x{form.k}{'.trans' * trans}{'.n' * narrow}"
    write = {"A": _fill_a, "B": _fill_b}[operand]
    return m.function(
        name, ir.FunctionType(VOID, [PTR, PTR, I64] + [PTR] * count), lambda m, x: write(x, form, trans, narrow)
    )


# -- numbers --------------------------------------------------------------------------------------------------------------


def _load(x: Build, place: ir.Value, kind: str, count: int) -> ir.Value:
    """``count`` operands that lie side by side, as they are."""
    element = {"f16": HALF, "bf16": I16, "tf32": I32, "f64": DOUBLE}.get(kind, I8)
    return x.load(place, 0, ir.VectorType(element, count), 4)


def _numbers(x: Build, raw: ir.Value, kind: str) -> ir.Value:
    """Operands as numbers to multiply."""
    b, count = x.b, raw.type.count
    words, floats = ir.VectorType(I32, count), ir.VectorType(FLOAT, count)
    if kind == "f16":
        return b.fpext(raw, floats)
    if kind == "bf16":
        return b.bitcast(b.shl(b.zext(raw, words), same(I32, 16, count)), floats)
    if kind == "tf32":
        return b.bitcast(b.and_(raw, same(I32, 0xFFFFE000, count)), floats)
    if kind == "f64":
        return raw
    return b.sext(raw, words) if kind == "s8" else b.zext(raw, words)


def _spread_a(x: Build, form: Form) -> None:
    """Register r holds, for each row, columns 4 e (r / rows of eight) to 4 e more; the table has K numbers a row."""
    _, table, *registers = x.function.args
    width, halves = 4 * form.elements, form.m // 8
    with x.unrolled(8, 2) as first:
        for i in range(2):
            g = x.b.add(first, i64(i))
            for r, register in enumerate(registers):
                place = x.at(register, x.b.mul(g, i64(4 * form.register)))
                values = _numbers(x, _load(x, place, form.a, width), form.a)
                row = x.b.add(g, i64(8 * (r % halves)))
                place = x.b.add(x.b.mul(row, i64(form.k * form.bytes)), i64(r // halves * width * form.bytes))
                x.store(values, table, place, 16)
    x.b.ret_void()


def _spread_b(x: Build, form: Form) -> None:
    """Register r holds, for each column n, rows 4 e r to 4 e more; the table has one vector of columns a row."""
    _, table, *registers = x.function.args
    e, column = form.elements, 4 * form.register
    for r, register in enumerate(registers):
        for part in range(e):
            places = [x.at(register, column * n + column // e * part) for n in range(N)]
            _store_four(x, places, form, e * r + part, table)
    x.b.ret_void()


def _store_four(x: Build, places: list[ir.Value], form: Form, fourth: int, table: ir.Value) -> None:
    """Rows ``4 fourth`` to ``4 fourth + 3`` of B: ``places`` is where those of each column lie."""
    pairs = []
    for j in range(4):
        both = [_load(x, places[2 * j + i], form.b, 4) for i in range(2)]
        pairs.append(_numbers(x, x.shuffle(both[0], both[1], list(range(8))), form.b))
    for t, vector in enumerate(_turn(x, pairs)):
        x.store(vector, table, (4 * fourth + t) * N * form.bytes, 32)


def _turn(x: Build, pairs: list[ir.Value]) -> list[ir.Value]:
    """In each half of the vectors: element t of vector j becomes element j of vector t."""

    def both(four: list[int]) -> list[int]:
        return [p % 4 + 4 * half + 8 * (p // 4) for half in range(2) for p in four]

    low, high, near, far = (both(p) for p in ([0, 4, 1, 5], [2, 6, 3, 7], [0, 1, 4, 5], [2, 3, 6, 7]))
    mixed = [[x.shuffle(pairs[i], pairs[i + 1], how) for how in (low, high)] for i in (0, 2)]
    return [x.shuffle(mixed[0][k], mixed[1][k], how) for k in range(2) for how in (near, far)]


def _matrix_row(x: Build, addresses: ir.Value, r: int, narrow: bool) -> ir.Value:
    """Where row r of a matrix lies."""
    return x.at(x.b.add(Addresses(x, addresses, narrow).of(r), x.function.args[2]), 0)


def _fill_a(x: Build, form: Form, trans: bool, narrow: bool) -> None:
    _, table, _, *matrices = x.function.args
    width, halves = 4 * form.elements, form.m // 8
    for j, matrix in enumerate(matrices):
        for r in range(8):
            values = _numbers(x, _load(x, _matrix_row(x, matrix, r, narrow), form.a, width), form.a)
            row, column = 8 * (j % halves), j // halves * width
            place = (column + r) * form.m + row if trans else (row + r) * form.k + column
            x.store(values, table, place * form.bytes, 16)
    x.b.ret_void()


def _fill_b(x: Build, form: Form, trans: bool, narrow: bool) -> None:
    _, table, _, *matrices = x.function.args
    e = form.elements
    for j, matrix in enumerate(matrices):
        rows = [_matrix_row(x, matrix, r, narrow) for r in range(8)]
        if trans:
            for r, row in enumerate(rows):
                columns = x.shuffle(_load(x, row, form.b, N), None, [0, 2, 4, 6, 1, 3, 5, 7])
                x.store(_numbers(x, columns, form.b), table, (8 * j + r) * N * form.bytes, 32)
            continue
        for part in range(e):
            _store_four(x, [x.at(row, 16 // e * part) for row in rows], form, e * j + part, table)
    x.b.ret_void()


# -- products -------------------------------------------------------------------------------------------------------------


def _multiply(x: Build, form: Form, columns: bool) -> None:
    """Eight rows at a time: their sums fill half of the vector registers."""
    _, left, right, *rest = x.function.args
    c, d = rest[: form.registers(form.c)], rest[form.registers(form.c) :]
    steps = (1, form.m) if columns else (form.k, 1)
    for half in range(form.m // 8):
        sums = _sums(x, x.at(left, 8 * half * steps[0] * form.bytes), right, form, *steps)
        for g, value in enumerate(sums):
            _put(x, _accumulate(x, value, _addend(x, c, form, half, g), form), d, form, half, g)
    x.b.ret_void()


def _sums(x: Build, left: ir.Value, right: ir.Value, form: Form, row_step: int, k_step: int) -> list[ir.Value]:
    """``row_step``, ``k_step``: numbers from one row of A to the next, and from one k to the next."""
    b = x.b
    vector = ir.VectorType(form.sum, N)
    zero = same(form.sum, 0 if form.sum == I32 else -0.0, N)  # -0 + x is x, whatever x is
    body, done, before = x.block("k"), x.block("sums"), b.block
    b.branch(body)
    b.position_at_end(body)
    k = b.phi(I64)
    k.add_incoming(i64(0), before)
    totals = [b.phi(vector) for _ in range(8)]
    for t in totals:
        t.add_incoming(zero, before)
    column = x.load(right, b.mul(k, i64(N * form.bytes)), vector, 32)
    numbers = x.at(left, b.mul(k, i64(k_step * form.bytes)))
    following = []
    for g, total in enumerate(totals):
        one = x.splat(x.load(numbers, g * row_step * form.bytes, form.sum, 4), N)
        following.append(_add_product(x, total, one, column, form))
    after = b.add(k, i64(1))
    k.add_incoming(after, body)
    for t, value in zip(totals, following, strict=True):
        t.add_incoming(value, body)
    b.cbranch(b.icmp_unsigned("<", after, i64(form.k)), body, done)
    b.position_at_end(done)
    return following


def _add_product(x: Build, total: ir.Value, a: ir.Value, column: ir.Value, form: Form) -> ir.Value:
    """Products of halves are exact in f32, so that a fused operation gives the same as two."""
    b = x.b
    if form.sum == I32:
        return b.add(total, b.mul(a, column))
    if form.a == "f16":
        return x.call(f"llvm.fma.v{N}f32", total.type, a, column, total)
    return b.fadd(total, b.fmul(a, column))


def _addend(x: Build, registers: list[ir.Value], form: Form, half: int, g: int) -> ir.Value:
    """A row of C."""
    if form.c == "f16":
        halves = x.load(registers[half], 16 * g, ir.VectorType(HALF, N), 16)
        row = x.b.fpext(halves, ir.VectorType(FLOAT, N))
        return x.shuffle(row, None, [0, 2, 4, 6, 1, 3, 5, 7])
    four = ir.VectorType(form.sum, 4)
    parts = [x.load(registers[2 * half + i], 4 * form.bytes * g, four, 16) for i in range(2)]
    return x.shuffle(parts[0], parts[1], list(range(8)))


def _accumulate(x: Build, total: ir.Value, addend: ir.Value, form: Form) -> ir.Value:
    if form.sum != I32:
        return x.b.fadd(total, addend)
    return x.call(f"llvm.sadd.sat.v{N}i32", total.type, total, addend) if form.saturate else x.b.add(total, addend)


def _put(x: Build, value: ir.Value, registers: list[ir.Value], form: Form, half: int, g: int) -> None:
    """A row of D."""
    if form.d == "f16":
        row = x.shuffle(value, None, [0, 4, 1, 5, 2, 6, 3, 7])
        x.store(x.b.fptrunc(row, ir.VectorType(HALF, N)), registers[half], 16 * g, 16)
        return
    for i in range(2):
        x.store(x.shuffle(value, None, list(range(4 * i, 4 * i + 4))), registers[2 * half + i], 4 * form.bytes * g, 16)
