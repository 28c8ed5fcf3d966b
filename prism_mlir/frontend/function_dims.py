"""Factors for every tensor of a function: the dims that move together, found before anything is evaluated."""

from __future__ import annotations

from typing import Any

from prism_mlir.frontend.factor import Factors

RESHAPES = frozenset({"tensor.expand_shape", "tensor.collapse_shape"})


class FunctionDims:
    """Dims of all tensors of one block, unified by what its operations do with them.

    ``failed`` holds the reshapes whose dims have no common factors.
    """

    def __init__(self, block: Any) -> None:
        self.factors = Factors()
        self.failed: set[Any] = set()
        self._dims: dict[Any, list[int]] = {}
        self._loops: dict[Any, list[int]] = {}
        for view in block:
            op = view.operation
            if op.name == "linalg.generic":
                self._generic(op)
            elif op.name in RESHAPES:
                self._reshape(op)
            elif op.name == "tensor.cast":
                self._join(op, self.dims(op.operands[0]), self.dims(op.results[0]))

    def dims(self, value: Any) -> list[int]:
        """The dims of a ranked tensor of static shape; none for anything else."""
        if value not in self._dims:
            self._dims[value] = [self.factors.new(size) for size in static_shape(value.type) or ()]
        return self._dims[value]

    def loops(self, op: Any) -> list[int]:
        """The dims that a ``linalg.generic`` iterates over."""
        return self._loops[op]

    def axes(self, dims: list[int]) -> list[list[int]]:
        """For each of ``dims``, the positions of its factors among all factors of ``dims``."""
        result, start = [], 0
        for dim in dims:
            count = len(self.factors.leaves(dim))
            result.append(list(range(start, start + count)))
            start += count
        return result

    def _generic(self, op: Any) -> None:
        maps = indexing_maps(op)
        loops: list[int | None] = [None] * maps[0].n_dims
        for value, index_map in zip(op.operands, maps, strict=True):
            for dim, position in zip(self.dims(value), projected(index_map), strict=False):
                if position is None or position < 0:
                    continue
                loop = loops[position]
                if loop is None:
                    loops[position] = dim
                elif self.factors.size(dim) == self.factors.size(loop):
                    self._join(op, [dim], [loop])
        self._loops[op] = [self.factors.new(1) if loop is None else loop for loop in loops]
        for operand, result in zip(list(op.operands)[-len(op.results) :], op.results, strict=True):
            self._dims[result] = self.dims(operand)

    def _reshape(self, op: Any) -> None:
        groups = [[k.value for k in group] for group in op.attributes["reassociation"]]
        many, few = op.results[0], op.operands[0]
        if op.name == "tensor.collapse_shape":
            many, few = few, many
        fine, coarse = self.dims(many), self.dims(few)
        if not groups:
            return
        for dim, group in zip(coarse, groups, strict=True):
            self._join(op, [dim], [fine[k] for k in group])

    def _join(self, op: Any, left: list[int], right: list[int]) -> None:
        if not self.factors.unify(left, right):
            self.failed.add(op)


def static_shape(kind: Any) -> tuple[int, ...] | None:
    """The shape of a ranked tensor type without dynamic sizes, else None."""
    from mlir import ir

    if isinstance(kind, ir.RankedTensorType) and kind.has_static_shape:
        return tuple(kind.shape)
    return None


def indexing_maps(op: Any) -> list[Any]:
    """The affine maps of a ``linalg.generic``, operands first."""
    from mlir import ir

    return [ir.AffineMapAttr(attribute).value for attribute in ir.ArrayAttr(op.attributes["indexing_maps"])]


def projected(index_map: Any) -> list[int | None]:
    """For each result of a map: its dim; -1 for the constant 0; None for anything else."""
    from mlir import ir

    def one(result: Any) -> int | None:
        if isinstance(result, ir.AffineDimExpr):
            return int(result.position)
        if isinstance(result, ir.AffineConstantExpr) and result.value == 0:
            return -1
        return None

    return [one(result) for result in index_map.results]
