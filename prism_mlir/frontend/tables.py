"""Numbers that are known at import: index arithmetic, masks made from it, and constant arrays.

Exporters write a causal mask as comparisons of ``linalg.index`` values. Such integers never become operators: they are computed
here, over the axes they depend on, and reach the program as a constant (or as nothing at all).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_ELEMENTS = 1 << 26
"""Largest table kept, in elements: a mask of 8192 by 8192."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """An array of known numbers; array axis ``i`` is the viewer's axis ``axes[i]``, its others repeat it.

    Integers are held as int64, booleans as bool, floats as f64.
    """

    array: Array
    axes: tuple[int, ...]

    def through(self, place: Sequence[int] | Mapping[int, int]) -> Table:
        """The same table seen by somebody whose axis for the viewer's axis ``k`` is ``place[k]``."""
        return Table(self.array, tuple(place[axis] for axis in self.axes))


class NoTable(Exception):
    """An operation on tables that has no value here; the text says why."""


def apply(compute: Callable[..., Array], *tables: Table) -> Table:
    """An elementwise function of tables, on the axes that they have together. Raises :class:`NoTable` above the size limit."""
    axes = tuple(sorted({axis for table in tables for axis in table.axes}))
    arrays = [_aligned(table, axes) for table in tables]
    if int(np.prod(np.broadcast_shapes(*(a.shape for a in arrays)), dtype=np.float64)) > MAX_ELEMENTS:
        raise NoTable(f"a constant of more than {MAX_ELEMENTS} elements")
    with np.errstate(all="ignore"):
        return Table(np.asarray(compute(*arrays)), axes)


def _aligned(table: Table, axes: Sequence[int]) -> Array:
    order = sorted(range(len(table.axes)), key=lambda k: table.axes[k])
    shape = [table.array.shape[table.axes.index(axis)] if axis in table.axes else 1 for axis in axes]
    return np.transpose(table.array, order).reshape(shape)


def _unsigned(compare: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: compare(a.astype(np.uint64), b.astype(np.uint64))


def _divided(divide: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def safe(a: Array, b: Array) -> Array:
        if not np.all(b):
            raise NoTable("a division of integers by zero")
        return divide(a, b)

    return safe


def _truncated(a: Array, b: Array) -> Array:
    return (a - np.fmod(a, b)) // b


INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.divsi": _divided(_truncated),
    "arith.divui": _divided(_truncated),
    "arith.floordivsi": _divided(np.floor_divide),
    "arith.ceildivsi": _divided(lambda a, b: -(-a // b)),
    "arith.remsi": _divided(np.fmod),
    "arith.remui": _divided(np.fmod),
    "arith.maxsi": np.maximum,
    "arith.maxui": np.maximum,
    "arith.minsi": np.minimum,
    "arith.minui": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}
"""Operations on two integers or booleans. Those on unsigned numbers are used where both are below the sign bit."""

COMPARE: tuple[Callable[[Array, Array], Array], ...] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    _unsigned(np.less),
    _unsigned(np.less_equal),
    _unsigned(np.greater),
    _unsigned(np.greater_equal),
)
"""The predicates of ``arith.cmpi``, in upstream's numbering."""

COMPARE_FLOATS: dict[str, Callable[[Array, Array], Array]] = {
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}

WIDEN = frozenset({"arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci"})
TO_FLOAT = frozenset({"arith.sitofp", "arith.uitofp"})


def wrapped(array: Array, kind: str) -> Array:
    """Integers reduced to the range of an MLIR type: ``i1`` as booleans, ``i8`` to ``i32`` signed, others as they are."""
    if kind == "i1":
        return (array & 1).astype(bool) if array.dtype != bool else array
    whole = array.astype(np.int64)
    if not kind.startswith("i") or not kind[1:].isdigit() or int(kind[1:]) >= 64:
        return whole
    half = 1 << (int(kind[1:]) - 1)
    return (whole + half) % (2 * half) - half


def integer(name: str, kinds: Sequence[str], result: str, tables: Sequence[Table], predicate: int = 0) -> Table:
    """The result of an integer operation of ``arith``, of type ``result``, on operands of types ``kinds``.

    Raises :class:`NoTable` for an operation that is not known, or has no value.
    """
    if name == "arith.cmpi":
        return apply(COMPARE[predicate], *tables)
    if name in WIDEN:
        signed = name == "arith.extsi"
        return apply(lambda a: wrapped(_extended(a, kinds[0], signed), result), *tables)
    if name in TO_FLOAT:
        return apply(lambda a: _extended(a, kinds[0], name == "arith.sitofp").astype(np.float64), *tables)
    if name == "arith.select":
        return apply(np.where, *tables)
    if name not in INTEGER:
        raise NoTable(f"operation {name}")
    if name.endswith("ui") and any((t.array < 0).any() for t in tables):
        raise NoTable(f"{name} of integers with their highest bit set")
    return apply(lambda a, b: wrapped(np.asarray(INTEGER[name](a, b)), result), *tables)


def _extended(array: Array, kind: str, signed: bool) -> Array:
    """Integers of a type as int64, its highest bit taken as a sign or not."""
    whole = array.astype(np.int64)
    if kind == "i1":
        return -whole if signed else whole
    width = int(kind[1:]) if kind.startswith("i") and kind[1:].isdigit() else 64
    return whole if signed or width >= 64 else whole % (1 << width)
