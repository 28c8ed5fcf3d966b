"""Operands of tensor-core products, spread in memory, while their registers do not change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from llvmlite import ir

if TYPE_CHECKING:
    from prism_mlir.runtime.ptx.jit.families import Table
    from prism_mlir.runtime.ptx.jit.kernel import WarpKernel


class Tables:
    """The tables of one basic block. Their memory is used again as soon as no later product needs them."""

    def __init__(self, kernel: WarpKernel) -> None:
        self.k = kernel
        self.uses: Counter[Table] = Counter()
        self.valid: dict[Table, ir.Value] = {}
        self.free: dict[int, list[ir.Value]] = {}

    def begin(self, uses: Counter[Table]) -> None:
        """A basic block begins."""
        for table in list(self.valid):
            self._drop(table)
        self.uses = uses

    def get(self, table: Table, fill: ir.Function, registers: Sequence[ir.Value]) -> ir.Value:
        """Where the table is; it is filled if need be."""
        if table not in self.valid:
            free = self.free.get(table.size)
            place = free.pop() if free else self.k.x.alloca(table.size)
            self.k.b.call(fill, [self.k.x.ctx, place, *registers])
            self.valid[table] = place
        return self.valid[table]

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
        self.free.setdefault(table.size, []).append(self.valid.pop(table))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Code that may be jumped over: its tables are its own."""
        kept, self.valid = self.valid, {}
        yield
        for table in list(self.valid):
            self._drop(table)
        self.valid = kept
