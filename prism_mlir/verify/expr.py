"""The expression language of the verifier (paper, section 4): operators of the program, and of parallelism.

An expression is an immutable, shared term. Operators of the table appear under ``OpSpec.symbol``; besides them there are

=========================  ====================================================================================
``Var(k)``                 input ``k`` of the program
``Part(t, d, p)``          dim ``d`` of ``t`` cut into equal chunks, one for each part of parallel dim ``p``
``Comb(t, d, p)``          the chunks concatenated along ``d``; inverse of ``Part``
``Red(t, p)``              the sum over ``p``;  ``RedMax(t, p)`` the maximum,  ``RedMin(t, p)`` the minimum
``Repl(t, p)``             a copy for each part of ``p``
``Unrepl(t, p)``           the tile that all parts of ``p`` agree on: all that is known is ``Unrepl(Repl(t,p),p) = t``
=========================  ====================================================================================

Dims are absolute indices. ``Matmul`` carries the indices of its rows and columns, so that no rule needs to know the rank.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from prism_mlir.graph.dims import reshape_groups
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.evaluate import comb, part, repl
from prism_mlir.graph.fields import Array, Domain
from prism_mlir.graph.ops import OPS, Kind, Op, Shape, evaluate_op
from prism_mlir.graph.scalar_fn import ScalarFn

Attr = int | str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Expr:
    """A term. Make one with :func:`term`: equal terms are the same object, so comparing and hashing cost nothing."""

    symbol: str
    operands: tuple[Expr, ...]
    attrs: tuple[Attr, ...]

    def __str__(self) -> str:
        inside = [str(o) for o in self.operands] + [str(a) for a in self.attrs]
        return f"{self.symbol}({', '.join(inside)})"


_TERMS: WeakValueDictionary[tuple[object, ...], Expr] = WeakValueDictionary()


def term(symbol: str, operands: Sequence[Expr] = (), attrs: Sequence[Attr] = ()) -> Expr:
    """The term ``symbol(operands, attrs)``."""
    key = (symbol, tuple(operands), tuple(attrs))
    found = _TERMS.get(key)
    if found is None:
        found = _TERMS[key] = Expr(*key)
    return found


def walk(roots: Sequence[Expr]) -> list[Expr]:
    """Every subterm of ``roots`` once, operands first."""
    order: dict[Expr, None] = {}
    stack = [(r, False) for r in reversed(roots)]
    while stack:
        expr, done = stack.pop()
        if expr in order:
            continue
        if done:
            order[expr] = None
        else:
            stack.append((expr, True))
            stack += [(o, False) for o in reversed(expr.operands)]
    return list(order)


SYMBOL_NAMES = {spec.symbol: name for name, spec in OPS.items()}


def op_term(op: Op, operands: Sequence[Expr], shapes: Sequence[Shape]) -> Expr:
    """The term of an operator of the table; ``shapes`` are the operands' whole shapes."""
    return term(op.spec.symbol, operands, op_attrs(op, shapes))


def op_attrs(op: Op, shapes: Sequence[Shape]) -> tuple[Attr, ...]:
    if op.kind is Kind.REDUCE:
        assert op.dim is not None
        return (op.dim,)
    match op.name:
        case "matmul":
            return (len(shapes[0]) - 2, len(shapes[0]) - 1)
        case "unary":
            return (str(op.fn),)
        case "keep":
            return (repr(op.value),)
        case "transpose":
            return (_ints(op.perm or ()),)
        case "reshape":
            return (f"{_ints(shapes[0])}->{_ints(op.shape or ())}",)
        case "constant":
            return (repr(op.value), _ints(op.shape or ()))
        case _:
            return ()


def _ints(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


def _parse_ints(text: str) -> tuple[int, ...]:
    return tuple(int(t) for t in text.split(",")) if text else ()


def reshape_shapes(attr: str) -> tuple[Shape, Shape]:
    """Whole source and target shape of a ``Reshape``."""
    source, _, target = attr.partition("->")
    return _parse_ints(source), _parse_ints(target)


def carried_dims(move: str) -> tuple[tuple[int, int], ...]:
    """(from, to) for every dim that a ``Transpose`` or ``Reshape`` carries unchanged."""
    if "->" not in move:
        return tuple((d, k) for k, d in enumerate(_parse_ints(move)))
    return tuple((a[0], b[0]) for a, b in reshape_groups(*reshape_shapes(move)) if len(a) == len(b) == 1)


def tile_reshape(attr: str, tile: Shape) -> Shape:
    """Shape of a reshaped tile: dims that the reshape keeps have the tile's size, all others must be whole."""
    source, target = reshape_shapes(attr)
    kept = {a[0]: b[0] for a, b in reshape_groups(source, target) if len(a) == len(b) == 1}
    if len(tile) != len(source) or any(
        n != m for d, (n, m) in enumerate(zip(tile, source, strict=True)) if d not in kept
    ):
        raise InputError(f"reshape {attr} of a tile {list(tile)} that is cut along a dim that is merged or split")
    sizes = {k: tile[d] for d, k in kept.items()}
    return tuple(sizes.get(k, n) for k, n in enumerate(target))


def term_op(expr: Expr, operands: Sequence[Shape]) -> Op:
    """The operator of the table that a term applies to tiles of these shapes."""
    name = SYMBOL_NAMES[expr.symbol]
    if OPS[name].kind is Kind.REDUCE:
        return Op(name, dim=int(expr.attrs[0]))
    match name:
        case "unary":
            return Op(name, fn=ScalarFn(str(expr.attrs[0])))
        case "keep":
            return Op(name, value=float(expr.attrs[0]))
        case "transpose":
            return Op(name, perm=_parse_ints(str(expr.attrs[0])))
        case "reshape":
            return Op(name, shape=tile_reshape(str(expr.attrs[0]), operands[0]))
        case "constant":
            return Op(name, value=float(expr.attrs[0]), shape=_parse_ints(str(expr.attrs[1])))
        case _:
            return Op(name)


class TileType(NamedTuple):
    """Shape of a tile, and the parallel dims that have a tile of their own for each part."""

    shape: Shape
    parallel: frozenset[str] = frozenset()


def infer(
    expr: Expr, operands: Sequence[TileType], inputs: Sequence[TileType], sizes: MappingABC[str, int]
) -> TileType:
    """The type of a term from its operands' types. Raises :class:`InputError` where they do not fit."""
    if expr.symbol == "Var":
        return inputs[int(expr.attrs[0])]
    if expr.symbol not in SYMBOL_NAMES:
        return _infer_parallel(expr, operands[0], sizes)
    shapes = [o.shape for o in operands]
    op = term_op(expr, shapes)
    if len({o.parallel for o in operands}) > 1:
        raise InputError(f"operands of {expr.symbol} live on different parallel dims")
    if expr.symbol == "Matmul" and expr.attrs != (len(shapes[0]) - 2, len(shapes[0]) - 1):
        raise InputError("rows and columns of a product are its last two dims")
    return TileType(op.spec.shape(op, shapes), operands[0].parallel if operands else frozenset())


def _infer_parallel(expr: Expr, t: TileType, sizes: MappingABC[str, int]) -> TileType:
    p = str(expr.attrs[-1])
    cuts = expr.symbol in ("Part", "Repl")
    if (p in t.parallel) == cuts:
        raise InputError(f"{expr.symbol} along {p}, which the tile {'already has' if cuts else 'does not have'}")
    parallel = t.parallel | {p} if cuts else t.parallel - {p}
    if expr.symbol not in ("Part", "Comb"):
        return TileType(t.shape, parallel)
    d, count = int(expr.attrs[0]), sizes[p]
    if not 0 <= d < len(t.shape) or (cuts and t.shape[d] % count):
        raise InputError(f"dim {d} of {list(t.shape)} does not split into {count} equal parts")
    size = t.shape[d] // count if cuts else t.shape[d] * count
    return TileType((*t.shape[:d], size, *t.shape[d + 1 :]), parallel)


def types_of(roots: Sequence[Expr], inputs: Sequence[TileType], sizes: MappingABC[str, int]) -> dict[Expr, TileType]:
    """The type of every subterm. Raises :class:`InputError` for an ill-typed one."""
    types: dict[Expr, TileType] = {}
    for expr in walk(roots):
        types[expr] = infer(expr, [types[o] for o in expr.operands], inputs, sizes)
    return types


def evaluate_exprs(
    roots: Sequence[Expr], inputs: Sequence[tuple[TileType, Array]], sizes: MappingABC[str, int], domain: Domain
) -> tuple[Array, ...]:
    """Values of terms as arrays ``[parallel dims in the order of sizes..., data dims...]``, size 1 where a tile does not
    have the parallel dim. Raises :class:`InputError` for ill-typed terms and where ``Unrepl`` meets parts that disagree."""
    types = types_of(roots, [t for t, _ in inputs], sizes)
    axes = {p: k for k, p in enumerate(sizes)}
    values: dict[Expr, Array] = {}
    for expr, t in types.items():
        operands = [values[o] for o in expr.operands]
        if expr.symbol == "Var":
            values[expr] = inputs[int(expr.attrs[0])][1]
        elif expr.symbol in SYMBOL_NAMES:
            shapes = [types[o].shape for o in expr.operands]
            value = evaluate_op(term_op(expr, shapes), operands, len(shapes[0]) if shapes else 0, domain)
            values[expr] = value if operands else value.reshape(*(1,) * len(axes), *t.shape)
        else:
            values[expr] = _evaluate_parallel(expr, operands[0], axes, sizes, domain)
    return tuple(values[r] for r in roots)


def _evaluate_parallel(
    expr: Expr, t: Array, axes: MappingABC[str, int], sizes: MappingABC[str, int], domain: Domain
) -> Array:
    p = str(expr.attrs[-1])
    axis = axes[p]
    match expr.symbol:
        case "Part":
            return part(t, len(axes) + int(expr.attrs[0]), axis, sizes[p])
        case "Comb":
            return comb(t, len(axes) + int(expr.attrs[0]), axis)
        case "Repl":
            return repl(t, axis, sizes[p])
        case "Red":
            return domain.sum(t, axis)
        case "RedMax":
            return domain.amax(t, axis)
        case "RedMin":
            return domain.amin(t, axis)
        case _:
            first = np.take(t, [0], axis)
            if not np.array_equal(np.broadcast_to(first, t.shape), t):
                raise InputError(f"parts along {p} disagree")
            return first
