"""Operands of tensor-core products, spread in memory, while their registers do not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Step
from prism_mlir.runtime.ptx.jit import product
from prism_mlir.runtime.ptx.ops.tensor import vector, without_options
from prism_mlir.runtime.ptx.table import Context
from prism_mlir.runtime.ptx.types import SCALARS

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel


@dataclass(frozen=True, slots=True)
class Table:
    """An operand of products, spread in memory."""

    size: int
    what: tuple[Any, ...]
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """An mma taken apart: its form, and the slots of D, A, B and C."""

    form: product.Form
    d: list[int]
    a: list[int]
    b: list[int]
    c: list[int]

    @property
    def tables(self) -> tuple[Table, Table]:
        """Of A and B."""
        f = self.form
        return (
            Table(f.m * f.k * f.bytes, ("A", f.a, f.m, f.k), tuple(self.a)),
            Table(product.N * f.k * f.bytes, ("B", f.b, f.k), tuple(self.b)),
        )


def product_of(ctx: Context) -> Product:
    """Take the mma at hand apart."""
    mods = without_options(ctx.mods, 5)
    shape, (d_type, a_type, b_type, c_type) = mods[2], mods[5:]
    rows = 8 if shape == "m8n8k4" else 16
    f = product.Form(a_type, b_type, c_type, d_type, rows, int(shape.split("k")[1]), "satfinite" in ctx.mods)
    scalar = SCALARS["b64" if a_type == "f64" else "b32"]
    d = [ctx.dst(o, scalar) for o in vector(ctx, ctx.operands[0], f.registers(f.d), "D")]
    counts = (f.a_count, f.b_count, f.registers(f.c))
    a, b, c = (
        [ctx.src(o, scalar) for o in vector(ctx, operand, count, name)]
        for operand, count, name in zip(ctx.operands[1:], counts, "ABC", strict=True)
    )
    return Product(f, d, a, b, c)


@dataclass(frozen=True, slots=True)
class Fill:
    """A table that an ldmatrix can make: for which product, of which operand, and the matrix of each register."""

    table: Table
    form: product.Form
    operand: str
    matrices: tuple[int, ...]


class Tables:
    """The tables of one basic block. Their memory is used again as soon as no later product needs them."""

    def __init__(self, kernel: WarpKernel) -> None:
        self.k = kernel
        self.uses: Counter[Table] = Counter()
        self.valid: dict[Table, tuple[ir.Value, bool]] = {}  # where, and whether by columns
        self.free: dict[int, list[ir.Value]] = {}
        self.products: dict[int, Product] = {}  # of this block, by program counter
        self.steps: Sequence[Step] = ()
        self.position: dict[int, int] = {}  # in them, by program counter
        self.live = 0

    def begin(self, steps: Sequence[Step], live: int) -> None:
        """A basic block begins; ``live`` are the slots that are alive behind it."""
        for table in list(self.valid):
            self._drop(table)
        self.steps, self.live, self.products, self.uses = steps, live, {}, Counter()
        self.position = {step.site.pc: i for i, step in enumerate(steps)}
        for step in steps:
            if step.site.instruction.opcode == "mma":
                self.k.context.begin(step.site.pc, step.site.instruction)
                self.products[step.site.pc] = product_of(self.k.context)
                self.uses.update(self.products[step.site.pc].tables)

    # -- tables from registers ------------------------------------------------------------------------------------

    def get(self, table: Table, fill: ir.Function, registers: Sequence[ir.Value]) -> tuple[ir.Value, bool]:
        """Where the table is, and whether by columns; it is made from registers if need be."""
        if table not in self.valid:
            self.k.b.call(fill, [self.k.x.ctx, self.room(table), *registers])
        return self.valid[table]

    def room(self, table: Table, columns: bool = False) -> ir.Value:
        """Memory for a table that is about to be made."""
        free = self.free.get(table.size)
        self.valid[table] = free.pop() if free else self.k.x.alloca(table.size), columns
        return self.valid[table][0]

    def used(self, tables: Sequence[Table]) -> None:
        """A product is done with some tables."""
        for table in tables:
            self.uses[table] -= 1
            if self.uses[table] <= 0 and table in self.valid:
                self._drop(table)

    def forget(self, slot: int) -> None:
        """A register changes."""
        for table in [t for t in self.valid if slot in t.slots]:
            self._drop(table)

    def _drop(self, table: Table) -> None:
        self.free.setdefault(table.size, []).append(self.valid.pop(table)[0])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Code that may be jumped over: its tables are its own."""
        kept, self.valid = self.valid, {}
        yield
        for table in list(self.valid):
            self._drop(table)
        self.valid = kept

    # -- tables from shared memory --------------------------------------------------------------------------------

    def fills(self, step: Step, slots: Sequence[int], trans: bool) -> list[Fill] | None:
        """The tables to make of what an ldmatrix loads to ``slots``, if products of this block are all that ever reads it."""
        if step.guard is not None or self.k.lanes is not None or len(set(slots)) < len(slots):
            return None
        mine, found = set(slots), dict[Table, Fill]()
        for other in self.steps[self.position[step.site.pc] + 1 :]:
            if mine.intersection(other.reads):
                more = self._of_product(other, slots, mine, trans)
                if more is None:
                    return None
                found.update((fill.table, fill) for fill in more)
            mine.difference_update(other.writes if other.guard is None else ())
        return None if any(self.live >> s & 1 for s in mine) else list(found.values())

    def _of_product(self, step: Step, slots: Sequence[int], mine: set[int], trans: bool) -> list[Fill] | None:
        """The operands of a product that are made of ``slots``, of which ``mine`` still hold what was loaded."""
        p = self.products.get(step.site.pc)
        if p is None or step.guard is not None or mine.intersection(p.c):
            return None
        fills = []
        for operand, table, kind in zip("AB", p.tables, (p.form.a, p.form.b), strict=True):
            if not mine.intersection(table.slots):
                continue
            if not mine.issuperset(table.slots) or kind == "f64" or (trans and kind not in ("f16", "bf16")):
                return None
            fills.append(Fill(table, p.form, operand, tuple(slots.index(s) for s in table.slots)))
        return fills
