"""A part of a program in which reshapes and transposes at its edges are views, not operators.

What parts leave for each other lies in memory, so a reshape or transpose of it is another view of the same memory, as are those
of arguments where strides can say it. Nothing is to be found or computed for them: a part reads through the view, and what it
computes is stored where the reshaped or transposed result wants it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

import numpy as np

from prism_mlir.graph.ops import Kind, Op, Shape, unary
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major
from prism_mlir.search.moves import MOVES
from prism_mlir.search.partition import Part, part_name, part_outputs

IDENTITY = unary("x")


@dataclass(frozen=True, slots=True)
class ValueView:
    """A value as a view of one that lies in memory: of an argument's elements, or of a contiguous tensor. In elements."""

    base: int
    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0


def view_of(program: Program, value: int) -> ValueView:
    """The value that ``value`` can be read from by strides alone; it is its own base where it is computed, or must be copied.

    >>> from prism_mlir.graph.examples import rms_norm
    >>> view_of(rms_norm(8, 12, 6), 2)
    ValueView(base=2, shape=(8, 12), strides=(12, 1), offset=0)
    """
    moves = list(_moves_above(program, value))
    view = _in_memory(program, program_operand(program, moves[-1]) if moves else value)
    for move in reversed(moves):
        seen = _moved(program.nodes[move - len(program.inputs)].op, view)
        view = seen if seen is not None else _in_memory(program, move)
    return view


def program_operand(program: Program, value: int) -> int:
    """What a move moves."""
    return program.nodes[value - len(program.inputs)].operands[0]


def _moves_above(program: Program, value: int) -> Iterator[int]:
    """The moves that a value is the end of, last first."""
    inputs = len(program.inputs)
    while value >= inputs and program.nodes[value - inputs].op.kind in MOVES:
        operand = program_operand(program, value)
        constant = operand < inputs and program.inputs[operand].arg is None
        if constant or program.stored_dtype(operand) is not program.stored_dtype(value):
            return
        yield value
        value = operand


def _in_memory(program: Program, value: int) -> ValueView:
    if value < len(program.inputs):
        known = program.inputs[value]
        return ValueView(value, known.shape, known.strides, known.offset)
    return ValueView(value, program.shapes[value], row_major(program.shapes[value]))


def _moved(op: Op, view: ValueView) -> ValueView | None:
    if op.kind is Kind.TRANSPOSE:
        assert op.perm is not None
        shape, strides = (tuple(x[k] for k in op.perm) for x in (view.shape, view.strides))
        return replace(view, shape=shape, strides=strides)
    assert op.shape is not None
    found = reshaped_strides(view.shape, view.strides, op.shape)
    return None if found is None else replace(view, shape=op.shape, strides=found)


def reshaped_strides(shape: Shape, strides: Sequence[int], to: Shape) -> tuple[int, ...] | None:
    """Strides of a reshape that moves no element, or ``None``.

    >>> reshaped_strides((2, 6), (6, 1), (3, 4)), reshaped_strides((2, 6), (12, 1), (3, 4))
    ((4, 1), None)
    """
    view = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), shape, strides)  # nobody looks at its elements
    try:
        return tuple(np.reshape(view, to, copy=False).strides)
    except ValueError:
        return None


def viewed_part(program: Program, first: int, last: int) -> Part | None:
    """Nodes ``first .. last - 1`` as a program, as :func:`~prism_mlir.search.partition.part_of` has it, with views for moves;
    ``None`` where nothing is left to compute.
    """
    offset = len(program.inputs)
    own = range(offset + first, offset + last)
    views = {v: view_of(program, v) for v in range(offset + last)}
    results = [(k, _stored_view(program, o, own)) for k, o in enumerate(program.outputs) if o.value in own]
    later = {view_of(program, v).base for n in program.nodes[last:] for v in n.operands}
    wanted = {o.value for _, o in results} | (later & set(own))
    for v in reversed(own):  # what is computed for them
        if v in wanted:
            wanted |= {u for u in program.nodes[v - offset].operands if u in own and views[u].base in own}
    computed = [v for v in own if v in wanted]
    return _made(program, first, last, computed, views, results, later) if computed else None


def _made(
    program: Program,
    first: int,
    last: int,
    computed: Sequence[int],
    views: dict[int, ValueView],
    results: Sequence[tuple[int, ProgramOutput]],
    later: set[int],
) -> Part:
    """The part that computes some values."""
    nodes = {v: _node(program, v, views, computed) for v in computed}
    outside = dict.fromkeys(views[u] for v, n in nodes.items() for u in n.operands if u not in nodes or u == v)
    bases = sorted({view.base for view in outside})
    number = {v: len(outside) + k for k, v in enumerate(computed)}
    seen = {view: k for k, view in enumerate(outside)}
    body = tuple(
        replace(n, operands=tuple(number[u] if u in number and u != v else seen[views[u]] for u in n.operands))
        for v, n in nodes.items()
    )
    outputs, ends = part_outputs(program, results, [v for v in computed if v in later], number)
    ins = tuple(_named(_input(program, v, bases.index(v.base)) for v in outside))
    return Part(Program(part_name(program, first), ins, body, outputs), tuple(bases), ends, first, last - first)


def _node(program: Program, value: int, views: dict[int, ValueView], computed: Sequence[int]) -> ProgramNode:
    """What computes a value: a copy of itself as others see it where it is a move of what lies in memory."""
    node = program.nodes[value - len(program.inputs)]
    if views[value].base == value or views[value].base in computed:
        return node
    return ProgramNode(IDENTITY, (value,), node.dtype)


def _stored_view(program: Program, output: ProgramOutput, own: range) -> ProgramOutput:
    """An output of a moved value as one of the value before the move, where strides can say it."""
    value, strides = output.value, output.strides
    for move in _moves_above(program, value):
        operand, op = program_operand(program, move), program.nodes[move - len(program.inputs)].op
        if operand not in own:
            break
        shape = program.shapes[operand]
        if op.kind is Kind.TRANSPOSE:
            assert op.perm is not None
            before: tuple[int, ...] | None = tuple(strides[op.perm.index(k)] for k in range(len(op.perm)))
        else:
            before = reshaped_strides(program.shapes[move], strides, shape)
        if before is None:
            break
        value, strides = operand, before
    return replace(output, value=value, strides=strides)


def _input(program: Program, view: ValueView, position: int) -> ProgramInput:
    if view.base < len(program.inputs):
        known = program.inputs[view.base]
        if known.arg is None:
            return known
        return replace(known, shape=view.shape, strides=view.strides, offset=view.offset, arg=position)
    whole = ProgramInput.whole(f"t{view.base}", program.shapes[view.base], program.stored_dtype(view.base), position)
    return replace(whole, shape=view.shape, strides=view.strides, offset=view.offset)


def _named(inputs: Iterable[ProgramInput]) -> Iterator[ProgramInput]:
    """Views of one tensor by names of their own."""
    known: set[str] = set()
    for found in inputs:
        others = (f"{found.name}_view{k}" for k in count(2))
        name = next(n for n in chain([found.name], others) if n not in known)
        known.add(name)
        yield replace(found, name=name)
