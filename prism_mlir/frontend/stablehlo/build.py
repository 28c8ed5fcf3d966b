"""What conversions are written with: attributes read, operations of upstream made at the current insertion point.

Everything here works at the insertion point and location that ``convert`` has set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

Value = Any  # an mlir.ir.Value
Body = Callable[[list[Value]], list[Value]]


class Refused(Exception):
    """An operation, legal in StableHLO, that cannot be converted. ``what`` follows the operation's name."""

    def __init__(self, what: str, hint: str = "rewrite it with supported operations") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def attribute(op: Any, name: str) -> Any:
    """An attribute that an operation must have."""
    if name not in op.attributes:
        raise ValueError(f"it has no attribute {name}")
    return op.attributes[name]


def integers(op: Any, name: str) -> list[int]:
    """An attribute that lists integers: ``array<i64: ...>``, or ``dense<...>`` as older files have it."""
    from mlir import ir

    given = attribute(op, name)
    if isinstance(given, ir.DenseI64ArrayAttr):
        return [int(n) for n in given]
    return [int(n) for n in ir.DenseIntElementsAttr(given)]


def integer(op: Any, name: str) -> int:
    from mlir import ir

    return int(ir.IntegerAttr(attribute(op, name)).value)


def lists(given: Any) -> dict[str, list[int]]:
    """The fields ``name = [1, 2]`` of an attribute of StableHLO, which upstream keeps as text."""
    found = re.findall(r"(\w+) = \[([\d, ]*)\]", str(given))
    return {name: [int(n) for n in numbers.split(",") if n.strip()] for name, numbers in found}


def words(given: Any) -> dict[str, str]:
    """The fields ``name = word`` of an attribute of StableHLO."""
    return dict(re.findall(r"(\w+) = (\w+)", str(given)))


def enumerator(op: Any, name: str) -> str:
    """The word of an enumeration such as ``#stablehlo<comparison_direction GE>``; empty where there is none."""
    found = re.search(r"(\w+)>$", str(op.attributes[name])) if name in op.attributes else None
    return found.group(1) if found else ""


def shape_of(value: Value) -> list[int | None]:
    """Sizes of a ranked tensor; None for ``?``."""
    return shape_of_type(value.type)


def shape_of_type(kind: Any) -> list[int | None]:
    return [None if kind.is_dynamic_dim(d) else int(kind.shape[d]) for d in range(kind.rank)]


def tensor_type(shape: Sequence[int | None], element: Any) -> Any:
    from mlir import ir

    dynamic = ir.ShapedType.get_dynamic_size()
    return ir.RankedTensorType.get([dynamic if n is None else n for n in shape], element)


def index(number: int) -> Value:
    from mlir import ir
    from mlir.dialects import arith

    return arith.ConstantOp(ir.IndexType.get(), number).result


def number(value: float, element: Any) -> Value:
    """A scalar constant."""
    from mlir import ir
    from mlir.dialects import arith

    made = (
        ir.FloatAttr.get(element, float(value))
        if isinstance(element, ir.FloatType)
        else ir.IntegerAttr.get(element, int(value))
    )
    return arith.ConstantOp(element, made).result


def size(value: Value, d: int) -> Value | int:
    """Size ``d`` of a tensor: a number, or an ``index`` value."""
    from mlir.dialects import tensor

    known = shape_of(value)[d]
    return known if known is not None else tensor.DimOp(value, index(d)).result


def empty(kind: Any, sizes: Callable[[int], Value]) -> Value:
    """A tensor that was never written. sizes: the ``index`` value of a dim that is ``?``."""
    from mlir.dialects import tensor

    shape = [n if n is not None else sizes(d) for d, n in enumerate(shape_of_type(kind))]
    return tensor.EmptyOp(shape, kind.element_type).result


def filled(kind: Any, sizes: Callable[[int], Value], value: Value) -> Value:
    """A tensor that holds one scalar everywhere."""
    from mlir.dialects import linalg

    return linalg.fill(value, outs=[empty(kind, sizes)])


def scalar(value: Value) -> Value:
    """The element of a tensor that has one, as a constant where it is one."""
    from mlir import ir
    from mlir.dialects import arith, tensor

    made = value.owner
    if not isinstance(made, ir.Block) and made.name == "arith.constant":
        dense = made.attributes["value"]
        if isinstance(dense, ir.DenseElementsAttr) and dense.is_splat:
            return arith.ConstantOp(value.type.element_type, dense.get_splat_value()).result
    return tensor.ExtractOp(value, [index(0)] * value.type.rank).result


def known_integer(value: Value) -> int | None:
    """The element of an integer tensor that is a constant of one element, or None."""
    from mlir import ir

    made = value.owner
    if isinstance(made, ir.Block) or made.name != "arith.constant":
        return None
    dense = made.attributes["value"]
    return int(dense[0]) if isinstance(dense, ir.DenseIntElementsAttr) and len(dense) == 1 else None


def affine(loops: int, places: Sequence[int | None]) -> Any:
    """An indexing map: dim ``k`` of a tensor is loop ``places[k]``, or index 0 where that is None."""
    from mlir import ir

    if any(p is not None and not 0 <= p < loops for p in places):  # upstream asserts
        raise ValueError("it names a dim that is not there")
    exprs = [ir.AffineExpr.get_constant(0) if p is None else ir.AffineExpr.get_dim(p) for p in places]
    return ir.AffineMap.get(loops, 0, exprs)


def generic(
    loops: int,
    inputs: Sequence[tuple[Value, Sequence[int | None]]],
    outputs: Sequence[tuple[Value, Sequence[int | None]]],
    body: Body,
    reduced: Collection[int] = (),
) -> list[Value]:
    """A ``linalg.generic``. inputs, outputs: tensors, with the loop of each dim as in :func:`affine`; reduced: loops."""
    from mlir import ir
    from mlir.dialects import linalg

    maps = [ir.AffineMapAttr.get(affine(loops, places)) for _, places in (*inputs, *outputs)]
    kinds = ["reduction" if n in reduced else "parallel" for n in range(loops)]
    iterators = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
    tensors, written = [v for v, _ in inputs], [v for v, _ in outputs]
    types = [v.type for v in written]
    op = linalg.GenericOp(types, tensors, written, ir.ArrayAttr.get(maps), ir.ArrayAttr.get(iterators))
    elements = [v.type.element_type for v in (*tensors, *written)]
    block = op.regions[0].blocks.append(*elements, arg_locs=[ir.Location.current] * len(elements))
    with ir.InsertionPoint(block):
        linalg.YieldOp(body(list(block.arguments)))
    return list(op.results)


def moved(value: Value, places: Sequence[int | None], kind: Any, sizes: Callable[[int], Value]) -> Value:
    """A tensor of type ``kind`` whose elements are those of ``value``, whose dim ``k`` is dim ``places[k]`` of the result."""
    rank = kind.rank
    out = empty(kind, sizes)
    return generic(rank, [(value, places)], [(out, range(rank))], lambda given: given[:1])[0]
