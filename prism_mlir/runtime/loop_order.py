"""Order the loops of ``linalg.generic`` so that a CPU can vectorise them, without changing a single bit.

A contraction written (rows, columns, reduction) walks its right operand down a column. Moving the reduction dims
outside of the last parallel dim makes the innermost loop contiguous and free of carried dependences. Each output
element still sees its terms in the same order, because reduction dims keep theirs: results stay bitwise the same.
"""

from __future__ import annotations

from typing import Any


def contiguous_innermost(module: Any) -> None:
    """Rewrite, in place, every ``linalg.generic`` of ``module`` with both parallel and reduction dims.

    Operations that read their iteration index are left alone.

    >>> from prism_mlir.runtime.loop_order import loop_order
    >>> loop_order(["parallel", "parallel", "reduction"])
    (0, 2, 1)
    """
    from mlir import ir

    generics: list[Any] = []

    def collect(op: Any) -> Any:
        if op.name == "linalg.generic":
            generics.append(op)
        return ir.WalkResult.ADVANCE

    module.walk(collect)
    for op in generics:
        _reorder(op)


def loop_order(kinds: list[str]) -> tuple[int, ...]:
    """Old dim at each new place: leading parallel dims, then reductions, then the last parallel dim."""
    parallel = [dim for dim, kind in enumerate(kinds) if kind == "parallel"]
    others = [dim for dim, kind in enumerate(kinds) if kind != "parallel"]
    if not parallel or not others:
        return tuple(range(len(kinds)))
    return (*parallel[:-1], *others, parallel[-1])


def _reorder(op: Any) -> None:
    from mlir import ir

    body = op.regions[0].blocks[0]
    if any(inner.operation.name == "linalg.index" for inner in body):
        return
    iterators = list(ir.ArrayAttr(op.attributes["iterator_types"]))
    order = loop_order(["parallel" if "parallel" in str(kind) else "reduction" for kind in iterators])
    if order == tuple(range(len(order))):
        return
    place = {old: new for new, old in enumerate(order)}
    with op.context:
        dims = [ir.AffineExpr.get_dim(place[old]) for old in range(len(order))]
        maps = [ir.AffineMapAttr(attribute).value for attribute in ir.ArrayAttr(op.attributes["indexing_maps"])]
        renamed = [ir.AffineMap.get(m.n_dims, 0, [r.compose(_dims_map(dims)) for r in m.results]) for m in maps]
        op.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in renamed])
        op.attributes["iterator_types"] = ir.ArrayAttr.get([iterators[old] for old in order])


def _dims_map(dims: list[Any]) -> Any:
    from mlir import ir

    return ir.AffineMap.get(len(dims), 0, dims)
