"""Operations that move elements: broadcasts, transposes, reshapes, slices, concatenations, paddings, and index tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from prism_mlir.frontend.stablehlo.build import (
    Refused,
    Value,
    attribute,
    empty,
    filled,
    generic,
    index,
    integer,
    integers,
    known_integer,
    moved,
    scalar,
    shape_of,
    shape_of_type,
    size,
    tensor_type,
)
from prism_mlir.frontend.stablehlo.indices import clamped
from prism_mlir.frontend.stablehlo.scalars import converted

_UNKNOWN = (1 << 61) - 1  # stands for the size of a `?` where sizes are compared; a prime, and larger than any product


def constant(op: Any) -> list[Value]:
    from mlir.dialects import arith

    return [arith.ConstantOp(op.results[0].type, attribute(op, "value")).result]


def broadcast_in_dim(op: Any) -> list[Value]:
    """Dim ``k`` of the operand is dim ``dims[k]`` of the result, repeated where its size is 1.

    In ``dynamic_broadcast_in_dim`` the second operand holds the result's shape. A ``?`` is not repeated.
    """
    from mlir import ir
    from mlir.dialects import arith, tensor

    value, kind = op.operands[0], op.results[0].type
    dims = integers(op, "broadcast_dimensions")
    if len(dims) != value.type.rank or len(set(dims)) != len(dims):
        raise ValueError("its dims do not fit its operand")
    if "known_expanding_dimensions" in op.attributes and any(
        shape_of(value)[d] is None for d in integers(op, "known_expanding_dimensions")
    ):
        raise Refused("that repeats a `?`", "give the dim size 1")
    places = [None if n == 1 and shape_of_type(kind)[d] != 1 else d for n, d in zip(shape_of(value), dims, strict=True)]
    if value.type == kind and places == list(range(kind.rank)):
        return [value]

    def sizes(d: int) -> Value:
        if len(op.operands) == 1:
            raise ValueError("its result has a `?`")
        given = tensor.ExtractOp(op.operands[1], [index(d)]).result
        if isinstance(given.type, ir.IndexType):
            return given
        return arith.IndexCastOp(ir.IndexType.get(), given).result

    return [moved(value, places, kind, sizes)]


def transpose(op: Any) -> list[Value]:
    value, order = op.operands[0], integers(op, "permutation")
    if sorted(order) != list(range(value.type.rank)):
        raise ValueError("its permutation is none of its dims")
    places = [order.index(d) for d in range(value.type.rank)]
    return [moved(value, places, op.results[0].type, lambda d: size(value, order[d]))]


def reshape(op: Any) -> list[Value]:
    """A collapse to the sizes that operand and result have in common, and an expansion of those."""
    from mlir.dialects import tensor

    value, kind = op.operands[0], op.results[0].type
    if value.type == kind:
        return [value]
    source, target = shape_of(value), shape_of_type(kind)
    pairs = groups(source, target)
    if not pairs:  # a tensor of one element, with and without dims
        if kind.rank == 0:
            return [tensor.CollapseShapeOp(kind, value, []).result]
        return [tensor.ExpandShapeOp(kind, value, [], [], kind.shape).result]
    common = [None if any(source[d] is None for d in s) else prod(source[d] or 1 for d in s) for s, _ in pairs]
    if any(len(s) > 1 for s, _ in pairs):
        value = tensor.CollapseShapeOp(tensor_type(common, kind.element_type), value, [s for s, _ in pairs]).result
    if any(len(t) > 1 for _, t in pairs):
        value = _expanded(value, kind, [t for _, t in pairs])
    return [value]


def _expanded(value: Value, kind: Any, parts: Sequence[Sequence[int]]) -> Value:
    from mlir.dialects import arith, tensor

    shape = shape_of_type(kind)
    sizes = []
    for k, part in enumerate(parts):
        rest = prod(shape[d] or 1 for d in part)
        if any(shape[d] is None for d in part):
            whole = size(value, k)
            sizes.append(whole if rest == 1 else arith.DivUIOp(whole, index(rest)).result)
    return tensor.ExpandShapeOp(kind, value, parts, sizes, kind.shape).result


def groups(source: Sequence[int | None], target: Sequence[int | None]) -> list[tuple[list[int], list[int]]]:
    """Runs of dims of two shapes that hold the same elements, as short as can be. None is one unknown size.

    >>> groups([2, 3, 4], [6, 4, 1])
    [([0, 1], [0]), ([2], [1, 2])]
    """
    sides = [[_UNKNOWN if n is None else n for n in side] for side in (source, target)]
    if 0 in sides[0] or 0 in sides[1]:
        raise Refused("of a tensor without elements", "remove dims of size 0")
    if prod(sides[0]) != prod(sides[1]):
        if None in source:
            raise Refused("of a `?` that changes", "keep the dim apart from others")
        raise ValueError("its types have different numbers of elements")
    found: list[tuple[list[int], list[int]]] = []
    a = b = 0
    while a < len(sides[0]) and b < len(sides[1]):
        left, right = [a], [b]
        while (p := prod(sides[0][d] for d in left)) != (q := prod(sides[1][d] for d in right)):
            if p < q:
                left.append(left[-1] + 1)
            else:
                right.append(right[-1] + 1)
            if left[-1] == len(sides[0]) or right[-1] == len(sides[1]):
                raise Refused("of a `?` that changes", "keep the dim apart from others")
        found.append((left, right))
        a, b = left[-1] + 1, right[-1] + 1
    if found:  # what is left has size 1
        found[-1][0].extend(range(a, len(sides[0])))
        found[-1][1].extend(range(b, len(sides[1])))
    return found


def slice_(op: Any) -> list[Value]:
    from mlir.dialects import tensor

    low, high, step = (integers(op, name) for name in ("start_indices", "limit_indices", "strides"))
    kind = op.results[0].type
    sizes = [-(-(h - n) // s) for n, h, s in zip(low, high, step, strict=True)]
    if sizes != shape_of_type(kind):
        raise ValueError("its limits do not fit its type")
    return [tensor.ExtractSliceOp(kind, op.operands[0], [], [], [], low, sizes, step).result]


def dynamic_slice(op: Any) -> list[Value]:
    """A slice from a start on that may be known at run time only. One over the edge is moved back, as StableHLO has it."""
    from mlir.dialects import tensor

    value, *starts = op.operands
    sizes = integers(op, "slice_sizes")
    low, given = _starts(value, starts, sizes)
    return [tensor.ExtractSliceOp(op.results[0].type, value, given, [], [], low, sizes, [1] * len(sizes)).result]


def dynamic_update_slice(op: Any) -> list[Value]:
    """A tensor with another one written into it, from a start on; see :func:`dynamic_slice`."""
    whole, value, *starts = op.operands
    low, given = _starts(whole, starts, shape_of(value))
    return [inserted(value, whole, low, given)]


def _starts(value: Value, starts: Sequence[Value], sizes: Sequence[int | None]) -> tuple[list[int], list[Value]]:
    """Where a slice starts, in bounds: numbers, with a mark for each that is known at run time only, and those."""
    from mlir import ir

    shape = shape_of(value)
    if len(starts) != len(shape) or len(sizes) != len(shape):
        raise ValueError("its starts do not fit its operand")
    if None in shape or None in sizes:
        raise Refused("of a `?`", "give the dim a number")
    low, given = [], []
    for start, whole, part in zip(starts, shape, sizes, strict=True):
        last, known = (whole or 0) - (part or 0), known_integer(start)
        if last < 0:
            raise ValueError("its slice is larger than its operand")
        if known is None and last:
            low.append(ir.ShapedType.get_dynamic_size())
            given.append(clamped(scalar(start), last))
        else:
            low.append(min(max(known or 0, 0), last))
    return low, given


def concatenate(op: Any) -> list[Value]:
    """Tensors written into a new one, one after the other."""
    d, kind = integer(op, "dimension"), op.results[0].type
    if any(shape_of(v)[d] is None for v in op.operands):
        raise Refused("along a `?`", "give the dim a number")
    whole = empty(kind, lambda k: size(op.operands[0], k))
    start = 0
    for value in op.operands:
        offsets = [start if k == d else 0 for k in range(kind.rank)]
        whole = inserted(value, whole, offsets)
        start += shape_of(value)[d] or 0
    if start != shape_of_type(kind)[d]:
        raise ValueError("its operands do not fill its result")
    return [whole]


def inserted(
    value: Value,
    whole: Value,
    offsets: Sequence[int],
    given: Sequence[Value] = (),
    steps: Sequence[int] | None = None,
) -> Value:
    """``whole`` with ``value`` written into it. given: offsets that are known at run time only; steps: 1 where not given."""
    from mlir import ir
    from mlir.dialects import tensor

    dynamic = ir.ShapedType.get_dynamic_size()
    shape = shape_of(value)
    sized = [size(value, k) for k, n in enumerate(shape) if n is None]
    sizes = [dynamic if n is None else n for n in shape]
    strides = [1] * len(shape) if steps is None else list(steps)
    return tensor.InsertSliceOp(value, whole, given, sized, [], offsets, sizes, strides).result


def pad(op: Any) -> list[Value]:
    """A tensor of the padding value with the operand written into it; edges that are negative are cut off."""
    value, fill = op.operands
    edges = [integers(op, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    made = padded(value, scalar(fill), *edges)
    if made.type != op.results[0].type:
        raise ValueError("its edges do not fit its type")
    return [made]


def padded(value: Value, fill: Value, low: Sequence[int], high: Sequence[int], inner: Sequence[int]) -> Value:
    """``value`` with a scalar around it, and between its elements."""
    from mlir.dialects import tensor

    shape = shape_of(value)
    if any(n is None and (a or b or i) for n, a, b, i in zip(shape, low, high, inner, strict=True)):
        raise Refused("of a `?`", "give the dim a number")
    if not any((*low, *high, *inner)):
        return value
    spread = [None if n is None else n + max(n - 1, 0) * i for n, i in zip(shape, inner, strict=True)]
    sides = [[max(n, 0) for n in edge] for edge in (low, high)]
    wide = [None if n is None else a + n + b for a, n, b in zip(sides[0], spread, sides[1], strict=True)]
    whole = filled(tensor_type(wide, value.type.element_type), lambda d: size(value, d), fill)
    made = inserted(value, whole, sides[0], steps=[i + 1 for i in inner])
    if all(n >= 0 for n in (*low, *high)):
        return made
    if None in wide:
        raise Refused("by a negative number of a `?`", "use stablehlo.slice")
    start = [max(-n, 0) for n in low]
    sizes = [(n or 0) - a - max(-b, 0) for n, a, b in zip(wide, start, high, strict=True)]
    kind = tensor_type(sizes, value.type.element_type)
    return tensor.ExtractSliceOp(kind, made, [], [], [], start, sizes, [1] * len(sizes)).result


def iota(op: Any) -> list[Value]:
    """The index along one dim."""
    from mlir import ir
    from mlir.dialects import arith, linalg

    d, kind = integer(op, "iota_dimension"), op.results[0].type
    if any(n is None for n in shape_of_type(kind)):
        raise ValueError("its result has a `?`")

    def body(_given: list[Value]) -> list[Value]:
        wide = arith.IndexCastOp(ir.IntegerType.get_signless(64), linalg.IndexOp(d).result).result
        return [converted(wide, kind.element_type)]

    return generic(kind.rank, [], [(empty(kind, index), range(kind.rank))], body)


def get_dimension_size(op: Any) -> list[Value]:
    from mlir.dialects import arith, tensor

    kind = op.results[0].type
    found = size(op.operands[0], integer(op, "dimension"))
    found = index(found) if isinstance(found, int) else found
    return [tensor.FromElementsOp(kind, [arith.IndexCastOp(kind.element_type, found).result]).result]
