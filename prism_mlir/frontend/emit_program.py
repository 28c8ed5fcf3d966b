"""Write a graph on factors as a tensor program, with the shapes that :mod:`prism_mlir.frontend.layout` chose.

Arguments and results appear as strided views, so that transposes and reshapes at the border of the program cost no
operator; inside, a transpose or reshape is written only where two operators want different layouts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from prism_mlir.frontend.layout import Layout, Slot, Slots
from prism_mlir.frontend.raise_function import RaisedFunction, Result, axis_groups, axis_strides
from prism_mlir.frontend.scalar_body import narrower
from prism_mlir.frontend.tensor_graph import Kind, SourceTensor, TensorGraph, TensorNode, View
from prism_mlir.graph.dtypes import DType, from_float64
from prism_mlir.graph.errors import Location, UnsupportedError
from prism_mlir.graph.ops import ADD, MATMUL, Op, Shape, reshape, transpose, unary
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput
from prism_mlir.graph.scalar_fn import ScalarFn

_REDUCTIONS = {"sum": "sum", "max": "reduce_max", "min": "reduce_min"}


@dataclass(frozen=True, slots=True)
class Ref:
    """A value of the program being written: input or node ``index``."""

    is_input: bool
    index: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A value and the slots its dims stand for."""

    ref: Ref
    slots: Slots


def emit_program(raised: RaisedFunction) -> Program:
    """The tensor program of a raised function. Raises :class:`UnsupportedError` where a layout cannot be written."""
    return _Emitter(raised).run()


def merged_stride(slot: Slot, sizes: Sequence[int], strides: Sequence[int]) -> int | None:
    """The stride of a run of axes seen as one dim; None if memory does not run through them evenly."""
    for outer, inner in pairwise(slot):
        if strides[outer] != strides[inner] * sizes[inner]:
            return None
    return strides[slot[-1]] if slot else None


def together(index: int, groups: Sequence[Sequence[int]]) -> set[tuple[int, int, int]]:
    """Neighbouring axes of ``index`` that are one dim of the source."""
    return {(index, left, right) for group in groups for left, right in pairwise(group)}


class _Emitter:
    def __init__(self, raised: RaisedFunction) -> None:
        self.raised = raised
        self.graph: TensorGraph = raised.graph
        self.inputs: list[ProgramInput] = []
        self.nodes: list[tuple[Op, tuple[Ref, ...], DType, int | None]] = []
        self.placed: dict[int, Placed] = {}
        roots = [result.view.node for result in raised.results]
        self.live = self.graph.live(roots)
        self.layout = Layout(self.graph, self.live, self._evidence(), self._mergeable)
        self.stored = self._stored_types()

    def run(self) -> Program:
        for index in self.live:
            if self.graph.nodes[index].kind is not Kind.INPUT:
                self.placed[index] = self._node(index)
        outputs = [self._output(result) for result in self.raised.results]
        return self._assembled(outputs)

    # -- facts about the source

    def _strides(self, index: int) -> tuple[int, ...]:
        return self._source(index).strides

    def _source(self, index: int) -> SourceTensor:
        source = self.graph.nodes[index].source
        assert source is not None
        return source

    def _mergeable(self, index: int, axes: Slot) -> bool:
        return merged_stride(axes, self.graph.nodes[index].sizes, self._strides(index)) is not None

    def _evidence(self) -> set[tuple[int, int, int]]:
        """Pairs of factors that the source holds in one dim, or takes one maximum over."""
        pairs: set[tuple[int, int, int]] = set()
        for index in self.live:
            node = self.graph.nodes[index]
            if node.source is not None:
                pairs |= together(index, node.source.groups)
            if node.shift:
                pairs |= {(index, left, right) for left, right in pairwise(node.shift)}
        for result in self.raised.results:
            seen = {axis: k for k, axis in enumerate(result.view.axes)}
            for _, left, right in together(0, axis_groups(result.factor_sizes)):
                if left in seen and right in seen:
                    pairs.add((result.view.node, seen[left], seen[right]))
        return pairs

    def _stored_types(self) -> dict[int, DType]:
        """The type a value is kept in: the widest that arrives anywhere after the casts that follow it."""
        arriving: dict[int, list[DType]] = {}
        for index in self.live:
            for view in self.graph.nodes[index].operands:
                arriving.setdefault(view.node, []).append(view.dtype)
        for result in self.raised.results:
            arriving.setdefault(result.view.node, []).append(narrower(result.view.dtype, result.dtype))
        return {k: max(types, key=lambda t: t.mantissa_bits) for k, types in arriving.items()}

    # -- nodes

    def _node(self, index: int) -> Placed:
        node = self.graph.nodes[index]
        dtype = self.stored[index]
        if node.kind is Kind.CONTRACT:
            return self._contract(index, node, dtype)
        wanted = self.layout.iteration_slots(index)
        operands = tuple(self._fetch(view, wanted).ref for view in node.operands)
        slots = self.layout.slots(index)
        if node.kind is Kind.REDUCE:
            ref = operands[0]
            for position, (before, after) in enumerate(zip(wanted, slots, strict=True)):
                if before != after:
                    ref = self._add(Op(_REDUCTIONS[node.name], dim=position), (ref,), dtype)
            return Placed(ref, slots)
        op = unary(ScalarFn.of(node.fn)) if node.kind is Kind.UNARY else Op(node.name, value=node.value)
        shift = None if node.shift is None else self._shift_dim(node.shift, slots, self.graph.locations[index])
        return Placed(self._add(op, operands, dtype, shift), slots)

    def _shift_dim(self, axes: Slot, slots: Slots, where: Location) -> int | None:
        """The dim of a dropped shift. A maximum over nothing (one element a row) shifts by the element itself."""
        for position, slot in enumerate(slots):
            if sorted(slot) == sorted(axes):
                return position
        raise UnsupportedError("a softmax over several dims", where, "collapse them into one")

    def _contract(self, index: int, node: TensorNode, dtype: DType) -> Placed:
        slots = self.layout.contracts[index]
        left, right = (self._fetch(v, s) for v, s in zip(node.operands, (slots.left, slots.right), strict=True))
        made = Placed(self._add(MATMUL, (left.ref, right.ref), dtype), slots.result)
        return self._moved(made, self.layout.slots(index), node.sizes, dtype)

    def _fetch(self, view: View, wanted: Slots) -> Placed:
        """An operand in the slots that its user wants (in the user's iteration axes)."""
        inner = {axis: k for k, axis in enumerate(view.axes)}
        slots = tuple(tuple(inner[axis] for axis in slot if axis in inner) for slot in wanted)
        if self.graph.nodes[view.node].kind is Kind.INPUT:
            return self._input(view.node, slots)
        node = self.graph.nodes[view.node]
        return self._moved(self.placed[view.node], slots, node.sizes, self.stored[view.node])

    # -- arguments and results

    def _input(self, index: int, slots: Slots) -> Placed:
        """An argument as a view with these slots, followed by a reshape where memory does not run evenly."""
        node, source, strides = self.graph.nodes[index], self._source(index), self._strides(index)
        steps = [merged_stride(slot, node.sizes, strides) for slot in slots]
        if any(step is None and slot for step, slot in zip(steps, slots, strict=True)):
            apart: Slots = tuple((axis,) for slot in slots for axis in slot)
            return self._moved(self._input(index, apart), slots, node.sizes, self.graph.dtypes[index])
        shape = _shape(slots, node.sizes)
        made = ProgramInput(
            source.name,
            shape,
            self.graph.dtypes[index],
            source.arg,
            source.shape,
            _filled(steps, shape),
            source.offset,
            source.data,
        )
        return Placed(self._input_ref(made), slots)

    def _repeated_input(self, view: View, sizes: Sequence[int]) -> tuple[View, Placed]:
        """An argument or constant that a result repeats along axes which it does not have: seen with a stride of 0 there."""
        source, own = self._source(view.node), dict(zip(view.axes, self._strides(view.node), strict=True))
        steps = tuple(own.get(axis, 0) for axis in range(len(sizes)))
        dtype = self.graph.dtypes[view.node]
        made = ProgramInput(
            source.name, tuple(sizes), dtype, source.arg, source.shape, steps, source.offset, source.data
        )
        slots: Slots = tuple((axis,) for axis in range(len(sizes)))
        return View(view.node, tuple(range(len(sizes))), view.dtype), Placed(self._input_ref(made), slots)

    def _input_ref(self, made: ProgramInput) -> Ref:
        if made not in self.inputs:
            self.inputs.append(made)
        return Ref(True, self.inputs.index(made))

    def _output(self, result: Result) -> ProgramOutput:
        strides = axis_strides(result.shape, result.factor_sizes)
        sizes = [high - low for low, high in result.spans]
        offset = sum(low * stride for (low, _), stride in zip(result.spans, strides, strict=True))
        view = result.view
        if self.graph.nodes[view.node].kind is Kind.INPUT and len(view.axes) < len(sizes):
            view, placed = self._repeated_input(view, sizes)
        elif self.graph.nodes[view.node].kind is Kind.INPUT:
            placed = self._input(view.node, tuple((axis,) for axis in range(len(view.axes))))
        else:
            placed = self.placed[view.node]
        slots = tuple(tuple(view.axes[axis] for axis in slot) for slot in placed.slots)
        if any(slot and merged_stride(slot, sizes, strides) is None for slot in slots):
            node_sizes, dtype = self.graph.nodes[view.node].sizes, self.stored[view.node]
            apart: Slots = tuple((axis,) for slot in placed.slots for axis in slot)
            placed = self._moved(placed, apart, node_sizes, dtype)
            slots = tuple(tuple(view.axes[axis] for axis in slot) for slot in placed.slots)
        ref, slots = self._repeated(placed.ref, slots, sizes, self.stored[view.node])
        steps = _filled([merged_stride(slot, sizes, strides) for slot in slots], _shape(slots, sizes))
        several = self.raised.results[-1].position > 0
        in_parts = len(self.raised.results) > self.raised.results[-1].position + 1
        part_of = result.position if in_parts else None
        name = f"out{result.position}" if several else "out"
        # The index is a place in `inputs` or `nodes` until `_assembled` knows how many inputs there are.
        return ProgramOutput(self._encoded(ref), result.dtype, result.shape, steps, name, offset, part_of)

    def _repeated(self, ref: Ref, slots: Slots, sizes: Sequence[int], dtype: DType) -> tuple[Ref, Slots]:
        """A result that repeats its value along axes it does not have: add zeros of the whole shape (one number, repeated).

        The new axes take the place of dims of size 1, as far as there are any.
        """
        have = {axis for slot in slots for axis in slot}
        missing: Slots = tuple((axis,) for axis in range(len(sizes)) if axis not in have and sizes[axis] != 1)
        if not missing:
            return ref, slots
        more = missing[: max(0, len(missing) - slots.count(()))]
        thin = self._add(reshape(*([1] * len(more)), *_shape(slots, sizes)), (ref,), dtype) if more else ref
        rest = iter(missing[len(more) :])
        full = (*more, *(slot or next(rest, ()) for slot in slots))
        shape = _shape(full, sizes)
        data = from_float64(np.zeros(1), dtype).tobytes()
        zeros = self._input_ref(ProgramInput("zero", shape, dtype, None, (1,), (0,) * len(shape), 0, data))
        return self._add(ADD, (thin, zeros), dtype), full

    # -- moving between layouts

    def _moved(self, value: Placed, want: Slots, sizes: Sequence[int], dtype: DType) -> Placed:
        """The value with other slots: a transpose of whole dims if that is enough, else reshape, transpose, reshape."""
        if value.slots == want:
            return value
        order = _permutation(value.slots, want)
        if order is not None:
            return Placed(self._add(transpose(*order), (value.ref,), dtype), want)
        flat, wanted = ([axis for slot in slots for axis in slot] for slots in (value.slots, want))
        ref = value.ref
        if flat != wanted:
            ref = self._reshaped(ref, value.slots, tuple((a,) for a in flat), sizes, dtype)
            ref = self._add(transpose(*(flat.index(axis) for axis in wanted)), (ref,), dtype)
            return Placed(self._reshaped(ref, tuple((a,) for a in wanted), want, sizes, dtype), want)
        return Placed(self._reshaped(ref, value.slots, want, sizes, dtype), want)

    def _reshaped(self, ref: Ref, have: Slots, want: Slots, sizes: Sequence[int], dtype: DType) -> Ref:
        if _shape(have, sizes) == _shape(want, sizes):
            return ref
        return self._add(reshape(*_shape(want, sizes)), (ref,), dtype)

    # -- the program

    def _add(self, op: Op, operands: tuple[Ref, ...], dtype: DType, shift: int | None = None) -> Ref:
        entry = (op, operands, dtype, shift)
        if entry not in self.nodes:
            self.nodes.append(entry)
        return Ref(False, self.nodes.index(entry))

    @staticmethod
    def _encoded(ref: Ref) -> int:
        return -1 - ref.index if ref.is_input else ref.index

    def _assembled(self, outputs: list[ProgramOutput]) -> Program:
        """Inputs in the order of the function's arguments, constants last, names made unique."""

        def rank(k: int) -> tuple[bool, int, str, int]:
            spec = self.inputs[k]
            return (spec.arg is None, spec.arg or 0, "" if spec.arg is not None else spec.name, k)

        order = sorted(range(len(self.inputs)), key=rank)
        place = {old: new for new, old in enumerate(order)}
        used: dict[str, int] = {}
        inputs = []
        for k in order:
            name = self.inputs[k].name
            used[name] = used.get(name, 0) + 1
            inputs.append(replace(self.inputs[k], name=name if used[name] == 1 else f"{name}_view{used[name]}"))
        count = len(inputs)

        def value(ref: Ref) -> int:
            return place[ref.index] if ref.is_input else count + ref.index

        nodes = tuple(ProgramNode(op, tuple(map(value, refs)), dtype, shift) for op, refs, dtype, shift in self.nodes)
        final = tuple(
            replace(out, value=count + out.value if out.value >= 0 else place[-1 - out.value]) for out in outputs
        )
        program = Program(self.raised.name, tuple(inputs), nodes, final)
        _ = program.shapes  # checks that all operands fit
        return program


def _shape(slots: Slots, sizes: Sequence[int]) -> Shape:
    return tuple(math.prod(sizes[axis] for axis in slot) for slot in slots)


def _filled(steps: Sequence[int | None], shape: Shape) -> tuple[int, ...]:
    """Strides with those of size-1 dims chosen as a contiguous tensor of this shape would have them."""
    result: list[int] = []
    for step, size in zip(reversed(steps), reversed(shape), strict=True):
        inner = result[-1] * shape[len(shape) - len(result)] if result else 1
        result.append(inner if step is None or size == 1 else step)
    return tuple(reversed(result))


def _permutation(have: Slots, want: Slots) -> tuple[int, ...] | None:
    """Which dim of ``have`` stands at each place of ``want``; None if they are not the same slots."""
    left = list(range(len(have)))
    order = []
    for slot in want:
        found = next((k for k in left if have[k] == slot), None)
        if found is None:
            return None
        left.remove(found)
        order.append(found)
    return tuple(order) if not left else None
