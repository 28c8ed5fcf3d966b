"""The operator table: one row says everything the project knows about an operator, except how it is lowered.

An operator works on the last ``rank`` axes of its operands; axes in front of them are parallel dims (grid, loop) and are
broadcast. Adding an operator means adding one row here, its lowering in ``codegen``, and its test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from prism_mlir.graph.errors import InputError
from prism_mlir.graph.fields import Array, Domain
from prism_mlir.graph.scalar_fn import ScalarFn

Shape = tuple[int, ...]


class Kind(StrEnum):
    """Families of operators that search and proof treat alike."""

    MATMUL = "matmul"
    UNARY = "unary"
    BINARY = "binary"
    REDUCE = "reduce"
    TRANSPOSE = "transpose"
    RESHAPE = "reshape"
    CONSTANT = "constant"
    SCAN = "scan"


@dataclass(frozen=True, slots=True, order=True)
class Op:
    """An operator with its attributes.

    name:  row of :data:`OPS`
    fn:    body of a ``unary``
    dim:   dimension that a reduction reduces (non-negative; the result keeps it with size 1)
    perm:  permutation of ``transpose``: result dim ``k`` is operand dim ``perm[k]``
    shape: result shape of ``reshape`` and ``constant``
    value: value of ``constant``; what ``keep`` puts where its mask is zero
    """

    name: str
    fn: ScalarFn | None = None
    dim: int | None = None
    perm: tuple[int, ...] | None = None
    shape: Shape | None = None
    value: float | None = None

    @property
    def spec(self) -> OpSpec:
        """The operator's row. Raises :class:`InputError` for a name that has none."""
        if self.name not in OPS:
            raise InputError(f"unknown operator '{self.name}', known are {', '.join(OPS)}")
        return OPS[self.name]

    @property
    def kind(self) -> Kind:
        return self.spec.kind

    @property
    def sort_key(self) -> tuple[str, ...]:
        """A total order over operators that does not depend on hashing."""
        return (self.name, str(self.fn), str(self.dim), str(self.perm), str(self.shape), str(self.value))

    def __str__(self) -> str:
        attributes = [str(a) for a in (self.fn, self.dim, self.perm, self.shape, self.value) if a is not None]
        return f"{self.name}[{'; '.join(attributes)}]" if attributes else self.name


def unary(fn: ScalarFn | str) -> Op:
    return Op("unary", fn=ScalarFn.parse(fn) if isinstance(fn, str) else fn)


def sum_(dim: int) -> Op:
    return Op("sum", dim=dim)


def reduce_max(dim: int) -> Op:
    return Op("reduce_max", dim=dim)


def reduce_min(dim: int) -> Op:
    return Op("reduce_min", dim=dim)


def keep(otherwise: float) -> Op:
    """``keep(mask, a)``: ``a`` where the mask is not zero, ``otherwise`` elsewhere."""
    return Op("keep", value=otherwise)


def transpose(*perm: int) -> Op:
    return Op("transpose", perm=perm)


def reshape(*shape: int) -> Op:
    return Op("reshape", shape=shape)


def constant(value: float, shape: Shape) -> Op:
    return Op("constant", value=value, shape=shape)


MATMUL, ADD, SUB, MUL, DIV = Op("matmul"), Op("add"), Op("sub"), Op("mul"), Op("div")
MAXIMUM, MINIMUM = Op("max"), Op("min")
RUNNING_MAX, LAST = Op("running_max"), Op("last")

LOWEST = -3.4028234663852886e38  # the least finite f32: a maximum of nothing that can still be subtracted from -inf


@dataclass(frozen=True, slots=True)
class OpSpec:
    """A row of the table.

    shape:    result shape from operand shapes; raises :class:`InputError` where they do not fit
    meaning:  the operator on arrays of a :class:`~prism_mlir.graph.fields.Domain`; data dims are the last axes
    symbol:   constructor in the verifier's expression language
    linear:   operand positions in which the operator is linear, all others held fixed
    monoid:   for a reduction, how partial results are combined: a row of :data:`MONOIDS`
    """

    kind: Kind
    arity: int
    shape: Callable[[Op, Sequence[Shape]], Shape]
    meaning: Callable[[Op, Sequence[Array], Domain], Array]
    symbol: str
    commutative: bool = False
    associative: bool = False
    linear: frozenset[int] = frozenset()
    monoid: str | None = None


MONOIDS: dict[str, str] = {"sum": "add", "max": "max", "min": "min"}
"""What combines two partial results of a reduction or an accumulator: a binary operator of the table."""


def fold(monoid: str, a: Array, axis: int, domain: Domain) -> Array:
    """All elements along ``axis`` combined; the axis stays with size 1."""
    return {"sum": domain.sum, "max": domain.amax, "min": domain.amin}[monoid](a, axis)


def broadcast_shapes(op: Op, shapes: Sequence[Shape]) -> Shape:
    """Elementwise result shape: equal ranks, and dims equal or 1."""
    a, b = shapes
    if len(a) != len(b):
        raise InputError(f"{op.name} needs operands of equal rank, got {list(a)} and {list(b)}")
    for x, y in zip(a, b, strict=True):
        if x != y and 1 not in (x, y):
            raise InputError(f"{op.name} cannot broadcast {list(a)} with {list(b)}")
    return tuple(max(x, y) for x, y in zip(a, b, strict=True))


def _matmul_shape(op: Op, shapes: Sequence[Shape]) -> Shape:
    a, b = shapes
    if len(a) != len(b) or len(a) < 2 or a[-1] != b[-2] or a[:-2] != b[:-2]:
        raise InputError(f"matmul needs [.., m, k] x [.., k, n] with equal leading dims, got {list(a)} and {list(b)}")
    return (*a[:-1], b[-1])


def _keep_shape(op: Op, shapes: Sequence[Shape]) -> Shape:
    if op.value is None:
        raise InputError("keep needs a value for where its mask is zero")
    return broadcast_shapes(op, shapes)


def _reduce_shape(op: Op, shapes: Sequence[Shape]) -> Shape:
    (a,) = shapes
    if op.dim is None or not 0 <= op.dim < len(a):
        raise InputError(f"{op.name} needs a dim between 0 and {len(a) - 1}, got {op.dim}")
    return tuple(1 if k == op.dim else size for k, size in enumerate(a))


def _transpose_shape(op: Op, shapes: Sequence[Shape]) -> Shape:
    (a,) = shapes
    if op.perm is None or sorted(op.perm) != list(range(len(a))):
        raise InputError(f"transpose of rank {len(a)} needs a permutation of its dims, got {op.perm}")
    return tuple(a[k] for k in op.perm)


def _reshape_shape(op: Op, shapes: Sequence[Shape]) -> Shape:
    (a,) = shapes
    if op.shape is None or int(np.prod(op.shape)) != int(np.prod(a)):
        raise InputError(f"reshape cannot turn {list(a)} into {list(op.shape or ())}")
    return op.shape


def _unary_shape(op: Op, shapes: Sequence[Shape]) -> Shape:
    if op.fn is None:
        raise InputError("unary needs a function")
    return shapes[0]


def _constant_shape(op: Op, shapes: Sequence[Shape]) -> Shape:
    if op.shape is None or op.value is None:
        raise InputError("constant needs a shape and a value")
    return op.shape


def _transpose(op: Op, a: Array) -> Array:
    assert op.perm is not None
    lead = a.ndim - len(op.perm)
    return np.transpose(a, (*range(lead), *(lead + k for k in op.perm)))


def _reduce_axis(op: Op, a: Array, rank: int) -> int:
    assert op.dim is not None
    return a.ndim - rank + op.dim


def _unary_meaning(op: Op, a: Sequence[Array], k: Domain) -> Array:
    assert op.fn is not None
    return k.unary(op.fn, a[0])


def _keep_meaning(op: Op, a: Sequence[Array], k: Domain) -> Array:
    assert op.value is not None
    return k.keep(a[0], a[1], op.value)


def _constant_meaning(op: Op, a: Sequence[Array], k: Domain) -> Array:
    assert op.value is not None and op.shape is not None
    return np.broadcast_to(k.constant(op.value), op.shape)


def _unranked(op: Op, a: Sequence[Array], k: Domain) -> Array:
    raise AssertionError(f"{op.name} depends on the rank: call evaluate_op")


def _scanned(op: Op, a: Array, rank: int, domain: Domain) -> Array:
    """An operator along the loop's axis, which comes right before the data dims."""
    axis = a.ndim - rank - 1
    if op.name == "last":
        return np.take(a, [-1], axis)
    parts = [np.maximum(np.take(a, [0], axis), LOWEST)]
    for k in range(1, a.shape[axis]):
        parts.append(domain.maximum(parts[-1], np.take(a, [k], axis)))
    return np.concatenate(parts, axis)


OPS: dict[str, OpSpec] = {
    "matmul": OpSpec(Kind.MATMUL, 2, _matmul_shape, lambda op, a, k: k.matmul(*a), "Matmul", linear=frozenset({0, 1})),
    "unary": OpSpec(Kind.UNARY, 1, _unary_shape, _unary_meaning, "Unary"),
    "add": OpSpec(
        Kind.BINARY, 2, broadcast_shapes, lambda op, a, k: k.add(*a), "Add", commutative=True, associative=True
    ),
    "sub": OpSpec(Kind.BINARY, 2, broadcast_shapes, lambda op, a, k: k.sub(*a), "Sub"),
    "mul": OpSpec(
        Kind.BINARY,
        2,
        broadcast_shapes,
        lambda op, a, k: k.mul(*a),
        "Mul",
        commutative=True,
        associative=True,
        linear=frozenset({0, 1}),
    ),
    "div": OpSpec(Kind.BINARY, 2, broadcast_shapes, lambda op, a, k: k.div(*a), "Div", linear=frozenset({0})),
    "max": OpSpec(
        Kind.BINARY, 2, broadcast_shapes, lambda op, a, k: k.maximum(*a), "Max", commutative=True, associative=True
    ),
    "min": OpSpec(
        Kind.BINARY, 2, broadcast_shapes, lambda op, a, k: k.minimum(*a), "Min", commutative=True, associative=True
    ),
    "keep": OpSpec(Kind.BINARY, 2, _keep_shape, _keep_meaning, "Keep"),
    "sum": OpSpec(Kind.REDUCE, 1, _reduce_shape, _unranked, "Sum", linear=frozenset({0}), monoid="sum"),
    "reduce_max": OpSpec(Kind.REDUCE, 1, _reduce_shape, _unranked, "ReduceMax", monoid="max"),
    "reduce_min": OpSpec(Kind.REDUCE, 1, _reduce_shape, _unranked, "ReduceMin", monoid="min"),
    "transpose": OpSpec(
        Kind.TRANSPOSE, 1, _transpose_shape, lambda op, a, k: _transpose(op, a[0]), "Transpose", linear=frozenset({0})
    ),
    "reshape": OpSpec(Kind.RESHAPE, 1, _reshape_shape, _unranked, "Reshape", linear=frozenset({0})),
    "constant": OpSpec(Kind.CONSTANT, 0, _constant_shape, _constant_meaning, "Constant"),
    # Of tiles of a loop, made for code and never searched (see ``scaled_tiles``): the elementwise maximum of all iterations
    # so far and of LOWEST, and the tile of the last iteration.
    "running_max": OpSpec(Kind.SCAN, 1, lambda op, shapes: shapes[0], _unranked, "RunningMax"),
    "last": OpSpec(Kind.SCAN, 1, lambda op, shapes: shapes[0], _unranked, "Last"),
}


def evaluate_op(op: Op, operands: Sequence[Array], rank: int, domain: Domain) -> Array:
    """Apply an operator to arrays whose last ``rank`` axes are the operand's data dims."""
    if (monoid := op.spec.monoid) is not None:
        return fold(monoid, operands[0], _reduce_axis(op, operands[0], rank), domain)
    if op.kind is Kind.SCAN:
        return _scanned(op, operands[0], rank, domain)
    if op.name == "reshape":
        assert op.shape is not None
        lead = operands[0].shape[: operands[0].ndim - rank]
        return operands[0].reshape(*lead, *op.shape)
    return op.spec.meaning(op, operands, domain)
