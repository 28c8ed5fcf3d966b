"""Regions on scalars, as operations on whole tensors: ``linalg.generic`` and ``tensor.generate``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from prism_mlir.frontend.constants import constant_value
from prism_mlir.frontend.contraction import contract, reduce
from prism_mlir.frontend.function_dims import indexing_maps, projected, static_shape
from prism_mlir.frontend.scalar_body import CASTS, NO_OPERATOR, Comparison, Const, Unknown, Value, dtype_of, unsupported
from prism_mlir.frontend.tables import Table
from prism_mlir.frontend.tensor_graph import View
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import Location
from prism_mlir.graph.ops import MONOIDS

if TYPE_CHECKING:
    from prism_mlir.frontend.raise_function import Raiser

_LOWEST = {DType.F16: -65504.0, DType.BF16: -3.3895313892515355e38, DType.F32: -3.4028234663852886e38}
TRUTHS = {"arith.ori": "max", "arith.andi": "min"}  # any, all
REDUCTIONS = {
    "arith.addf": "sum",
    "arith.maximumf": "max",
    "arith.maxnumf": "max",
    "arith.minimumf": "min",
    "arith.minnumf": "min",
}


class Body:
    """A region on scalars, once for each iteration: its values as tensors over all iterations.

    ``loop_axes`` holds the axes of each loop, ``loop_sizes`` the sizes of those.
    """

    def __init__(self, raiser: Raiser, op: Any, location: Location, loops: Sequence[int]) -> None:
        self.raiser = raiser
        self.op = op
        self.location = location
        self.block = op.regions[0].blocks[0]
        self.loop_axes = raiser.dims.axes(list(loops))
        self.loop_sizes = [raiser.dims.factors.sizes([loop]) for loop in loops]
        self.memo: dict[Any, Value] = {}
        self.ops = [view.operation for view in self.block]

    def _value(self, wanted: Any) -> Value:
        """The value of something in (or above) the body, evaluated when it is asked for."""
        if wanted in self.memo:
            return self.memo[wanted]
        if wanted in self.raiser.values:
            outside = self.raiser.values[wanted]
            same = isinstance(outside, View | Table | Comparison) and not outside.axes  # for all iterations
            return outside if same or isinstance(outside, Const | Unknown) else self._captured()
        for op in self.ops:
            for result in op.results:
                if result not in self.memo:
                    self.memo[result] = self._evaluated(op)
            if wanted in self.memo:
                break
        return self.memo[wanted]

    def _captured(self) -> Unknown:
        return Unknown("a tensor captured by a linalg.generic body", self.location, "make it an operand")

    def _evaluated(self, op: Any) -> Value:
        where = self.raiser.upstream.locate(op)
        if op.name == "arith.constant":
            found = constant_value(op, {}, where)
            return Unknown("this arith.constant", where) if isinstance(found, bytes) else found
        if op.name == "linalg.index":
            return self._index(op)
        if len(op.regions) or len(op.results) != 1 or op.name in NO_OPERATOR:
            return unsupported(op, where)
        operands = [self.memo.get(v) or self._value(v) for v in op.operands]
        return self.raiser.body.evaluate(op, operands)

    def _index(self, op: Any) -> Table:
        from mlir import ir

        return self._number_of(ir.IntegerAttr(op.attributes["dim"]).value)

    def _number_of(self, loop: int) -> Table:
        """The number of an iteration along one loop, over the axes that the loop is made of."""
        sizes = self.loop_sizes[loop]
        return Table(np.arange(prod(sizes), dtype=np.int64).reshape(sizes), tuple(self.loop_axes[loop]))


class Generated(Body):
    """One ``tensor.generate``: its arguments are the indices of the element."""

    def __init__(self, raiser: Raiser, op: Any, location: Location) -> None:
        super().__init__(raiser, op, location, raiser.dims.dims(op.results[0]))

    def value(self) -> Value:
        if static_shape(self.op.results[0].type) is None:
            return unsupported(self.op, self.location)
        for k, argument in enumerate(self.block.arguments):
            self.memo[argument] = self._number_of(k)
        return self._value(self.ops[-1].operands[0])


class Generic(Body):
    """One ``linalg.generic``: its operands seen from the iteration space, its body, its results."""

    def __init__(self, raiser: Raiser, op: Any, location: Location) -> None:
        super().__init__(raiser, op, location, raiser.dims.loops(op))
        self.maps = [projected(index_map) for index_map in indexing_maps(op)]
        self.kinds = [str(kind) for kind in op.attributes["iterator_types"]]
        self.inputs = len(op.operands) - len(op.results)
        self.defining = {result: op for op in self.ops for result in op.results}

    def results(self) -> list[Value]:
        """One value a result."""
        for argument, operand, index_map in zip(self.block.arguments, self.op.operands, self.maps, strict=True):
            self.memo[argument] = self._seen(operand, index_map)
        terminator = self.ops[-1]
        reducing = any("reduction" in kind for kind in self.kinds)
        results: list[Value] = []
        for k, yielded in enumerate(terminator.operands):
            value = self._reduced(k, yielded) if reducing else self._value(yielded)
            results.append(self._returned(value, self.maps[self.inputs + k]))
        return results

    def _seen(self, operand: Any, index_map: list[int | None]) -> Value:
        """An operand's value on the axes of the iteration space."""
        value = self.raiser.values[operand]
        if not isinstance(value, View | Table | Comparison):
            return value
        place: list[int] = []
        for dim, position in zip(self.raiser.dims.dims(operand), index_map, strict=True):
            if self.raiser.dims.factors.size(dim) == 1:
                continue
            if position is None or position < 0:
                return Unknown("linalg.generic that reads with an index that is no loop", self.location)
            place.extend(self.loop_axes[position])
        if len(set(place)) != len(place):
            return Unknown("linalg.generic that reads a diagonal", self.location)
        return value.through(place)

    def _returned(self, value: Value, index_map: list[int | None]) -> Value:
        """A value on iteration axes as one on the result's axes."""
        if not isinstance(value, View | Table | Comparison):
            return value
        order: list[int] = []
        for position in index_map:
            if position is None:
                return Unknown("linalg.generic that writes with an index that is no loop", self.location)
            order.extend(self._axes_of(position))
        if not set(value.axes) <= set(order):
            return Unknown("linalg.generic whose result lacks a loop that its value needs", self.location)
        return value.through({axis: k for k, axis in enumerate(order)})

    def _reduced(self, k: int, yielded: Any) -> Value:
        """A result that accumulates: ``out + term`` or ``max(out, term)``, reduced over the loops it is missing."""
        accumulator = self.block.arguments[self.inputs + k]
        over = [
            axis for axes, kind in zip(self.loop_axes, self.kinds, strict=True) if "reduction" in kind for axis in axes
        ]
        op = self.defining.get(yielded)
        truths = op is not None and str(op.results[0].type) == "i1"
        name = None if op is None else (TRUTHS if truths else REDUCTIONS).get(op.name)
        if op is None or name is None or accumulator not in list(op.operands):
            if not over and op is not None:
                return self._value(yielded)  # all reduced loops have one iteration
            what = "linalg.generic" if op is None else f"reduction by {op.name}"
            return Unknown(what, self.location, "reduce by addf, maximumf or minimumf")
        terms = [v for v in op.operands if v != accumulator]
        if len(terms) != 1 or self._uses(terms[0], accumulator):
            return Unknown("reduction whose terms depend on the accumulator", self.location)
        dtype = DType.F32 if truths else dtype_of(op.results[0].type)
        if dtype is None:
            return Unknown(f"reduction on {op.results[0].type}", self.location)
        kept = [axis for position in self.maps[self.inputs + k] for axis in self._axes_of(position)]
        total = self._total(name, terms[0], over, kept, dtype)
        initial = self.memo[accumulator]
        if truths and isinstance(initial, Const) and bool(initial.value) == (name == "min"):
            return total
        return self._with_initial(name, total, initial, dtype)

    def _uses(self, value: Any, accumulator: Any) -> bool:
        if value == accumulator:
            return True
        op = self.defining.get(value)
        return op is not None and any(self._uses(v, accumulator) for v in op.operands)

    def _axes_of(self, position: int | None) -> list[int]:
        return [] if position is None or position < 0 else self.loop_axes[position]

    def _total(self, name: str, term: Any, over: list[int], kept: list[int], dtype: DType) -> Value:
        """The reduction of ``term`` alone."""
        graph = self.raiser.graph
        factors = self._product(term) if name == "sum" else None
        if factors is not None:
            left, right = factors
            missing = [axis for axis in over if axis not in left.axes and axis not in right.axes]
            if not missing and over:
                return contract(graph, left, right, kept, dtype, self.location)
        value = self._value(term)
        if isinstance(value, Table | Comparison):
            value = self.raiser.body.view(value, dtype, self.location)
        if isinstance(value, View):
            missing = [axis for axis in over if axis not in value.axes]
            total = reduce(graph, name, value, over, dtype, self.location)
            return self._repeated(name, total, missing, dtype)
        if isinstance(value, Const) and name != "sum":
            return value
        if isinstance(value, Const):
            return Const(value.value * self._count(over))
        return value if isinstance(value, Unknown) else Unknown("reduction of a comparison", self.location)

    def _repeated(self, name: str, total: View, missing: list[int], dtype: DType) -> Value:
        """A sum over loops that the term does not depend on is a multiple."""
        count = self._count(missing)
        if name != "sum" or count == 1:
            return total
        return self.raiser.body.unary(lambda v: count * v, total, dtype, self.location)

    def _count(self, axes: list[int]) -> int:
        sizes = self.raiser.dims.factors.sizes(self.raiser.dims.loops(self.op))
        product = 1
        for axis in axes:
            product *= sizes[axis]
        return product

    def _product(self, term: Any) -> tuple[View, View] | None:
        """The two different tensors whose product ``term`` is, or None if it is something else."""
        op = self.defining.get(term)
        while op is not None and op.name in CASTS:
            op = self.defining.get(op.operands[0])
        if op is None or op.name != "arith.mulf":
            return None
        left, right = (self._value(operand) for operand in op.operands)
        if not isinstance(left, View) or not isinstance(right, View):
            return None
        return None if (left.node, left.axes) == (right.node, right.axes) else (left, right)

    def _with_initial(self, name: str, total: Value, initial: Value, dtype: DType) -> Value:
        """The reduction with what the accumulator held before; nothing if that is the neutral element."""
        if isinstance(initial, Const) and isinstance(total, Const | View):
            lowest = _LOWEST.get(dtype, float("-inf"))
            neutral = {"sum": initial.value == 0, "max": initial.value <= lowest, "min": initial.value >= -lowest}[name]
            if neutral:
                return total
        if isinstance(total, Unknown) or isinstance(initial, Unknown):
            return total if isinstance(total, Unknown) else initial
        if not isinstance(total, Const | View) or not isinstance(initial, Const | View):
            return Unknown("reduction of a comparison", self.location)
        return self.raiser.body.binary(MONOIDS[name], total, initial, dtype, self.location)
