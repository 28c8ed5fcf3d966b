"""Factors for every tensor of a function: the dims that move together, found before anything is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from prism_mlir.frontend.factor import Factors

RESHAPES = frozenset({"tensor.expand_shape", "tensor.collapse_shape", "tensor.reshape"})


class FunctionDims:
    """Dims of all tensors of one block, unified by what its operations do with them.

    ``failed`` holds the reshapes whose dims have no common factors.
    """

    def __init__(self, block: Any) -> None:
        self.factors = Factors()
        self.failed: set[Any] = set()
        self._dims: dict[Any, list[int]] = {}
        self._loops: dict[Any, list[int]] = {}
        self._cut: list[tuple[Any, int, int, int, int]] = []  # operation, dim, the part of it, its offset and step
        for view in block:
            op = view.operation
            if op.name == "linalg.generic":
                self._generic(op)
            elif op.name in RESHAPES:
                self._reshape(op)
            elif op.name == "tensor.cast":
                self._join(op, self.dims(op.operands[0]), self.dims(op.results[0]))
            elif op.name == "tensor.concat":
                self._concat(op)
            elif op.name in ("tensor.extract_slice", "tensor.insert_slice"):
                self._slice(op)
            elif op.name == "tensor.pad":
                self._pad(op)
        self._align_slices()

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
        if op.name == "tensor.reshape":  # the same elements in the same order
            self._join(op, self.dims(op.operands[0]), self.dims(op.results[0]))
            return
        groups = [[k.value for k in group] for group in op.attributes["reassociation"]]
        many, few = op.results[0], op.operands[0]
        if op.name == "tensor.collapse_shape":
            many, few = few, many
        fine, coarse = self.dims(many), self.dims(few)
        if not groups:
            return
        for dim, group in zip(coarse, groups, strict=True):
            self._join(op, [dim], [fine[k] for k in group])

    def _concat(self, op: Any) -> None:
        from mlir import ir

        joined = ir.IntegerAttr(op.attributes["dim"]).value
        for operand in op.operands:
            for d, (a, b) in enumerate(zip(self.dims(operand), self.dims(op.results[0]), strict=True)):
                if d != joined:
                    self._join(op, [a], [b])

    def _pad(self, op: Any) -> None:
        for a, b in zip(self.dims(op.operands[0]), self.dims(op.results[0]), strict=True):
            if self.factors.size(a) == self.factors.size(b):
                self._join(op, [a], [b])

    def _slice(self, op: Any) -> None:
        """Dims that a slice has whole are the same on both sides; those it cuts are looked at when all others are known."""
        inserts = op.name == "tensor.insert_slice"
        large, small = op.operands[1 if inserts else 0], op.operands[0] if inserts else op.results[0]
        if inserts:
            self._join(op, self.dims(op.results[0]), self.dims(large))
        shape = slice_shape(op)
        if shape is None:
            return
        kept = iter([d for d in self.dims(small) if self.factors.size(d) != 1])
        for d, dim in enumerate(self.dims(large)):
            if shape.sizes[d] == 1:
                continue
            part = next(kept)
            if shape.sizes[d] == self.factors.size(dim):
                self._join(op, [dim], [part])
            elif not inserts:
                self._cut.append((op, dim, part, shape.offsets[d], shape.steps[d]))

    def _align_slices(self) -> None:
        """Where a slice takes whole rows of a dim that is made of factors, its inner factors are the dim's."""
        for _ in range(len(self._cut) + 1):
            before = [self.factors.sizes([part]) for _, _, part, _, _ in self._cut]
            for op, dim, part, offset, step in self._cut:
                inner = self.factors.leaves(dim)[1:]
                rows = prod(self.factors.sizes(inner))
                size = self.factors.size(part)
                if inner and step == 1 and offset % rows == 0 and size % rows == 0:
                    self._join(op, [part], [self.factors.new(size // rows), *inner])
            if before == [self.factors.sizes([part]) for _, _, part, _, _ in self._cut]:
                return

    def _join(self, op: Any, left: list[int], right: list[int]) -> None:
        if not self.factors.unify(left, right):
            self.failed.add(op)


@dataclass(frozen=True, slots=True)
class SliceShape:
    """Where a slice lies in the larger tensor, for each of its dims."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]


def slice_shape(op: Any) -> SliceShape | None:
    """The place of an ``extract_slice`` or ``insert_slice``; ``None`` where it is not constant or the sizes are not."""
    from mlir import ir

    names = ("static_offsets", "static_sizes", "static_strides")
    numbers = [tuple(int(n) for n in ir.DenseI64ArrayAttr(op.attributes[name])) for name in names]
    fixed = len(op.operands) == (2 if op.name == "tensor.insert_slice" else 1)
    shapes = [static_shape(v.type) for v in (*op.operands, *op.results)]
    return SliceShape(*numbers) if fixed and None not in shapes else None


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
