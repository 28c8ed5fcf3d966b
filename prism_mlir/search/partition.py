"""Cutting a program that is too large for one search into parts, where cutting costs least.

A cut makes everything that lives across it a tensor in memory, written once and read once by each part that needs it. Parts are
runs of consecutive operators; dynamic programming finds the cuts that move the fewest bytes while every part stays within the
limit. The parts together compute the program, whatever is done inside each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from prism_mlir.graph.errors import LimitError
from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major
from prism_mlir.graph.shifts import shifted_values


@dataclass(frozen=True, slots=True)
class Part:
    """A run of operators as a program of its own.

    inputs:  the value of the whole program that each input of the part is (input ``k`` is argument ``k`` of the part)
    outputs: for each result of the part the value of the whole program that it is (the first one, where several values are
             stored in one result), and the result of the whole program; ``None`` where it is kept for later parts
    first:   its first operator in the whole program, and ``count``, how many it is
    """

    program: Program
    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, int | None], ...]
    first: int
    count: int

    @property
    def last(self) -> int:
        """The operator of the whole program after its last one."""
        return self.first + self.count


@dataclass(frozen=True, slots=True)
class Cut:
    """A place between two parts: after which node, the values that live across it, and their bytes (written and read)."""

    after: int
    values: tuple[int, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Partition:
    """A program in parts. Parts follow each other; what one leaves, later ones read."""

    parts: tuple[Part, ...]
    cuts: tuple[Cut, ...]


def block_operators(program: Program, first: int, last: int) -> int:
    """Operators that nodes ``first .. last - 1`` need inside one block: themselves, and an accumulator for each reduction."""
    nodes = program.nodes[first:last]
    return len(nodes) + sum(n.op.kind in (Kind.MATMUL, Kind.REDUCE) for n in nodes)


def partition(program: Program, operators: int) -> Partition:
    """The partition into parts of at most ``operators`` block operators that moves the fewest bytes between parts.

    Where bytes are equal fewer parts win, then later cuts: what is done to a result element by element stays with its producer.
    A cut between an exponential and what its dropped shift cancels in is made only where there is no other way.
    Raises :class:`LimitError` where a single operator exceeds the limit.
    """
    count = len(program.nodes)
    cuts = [crossing(program, k) for k in range(count + 1)]
    shifted = shifted_values(program)
    unsafe = [not shifted.isdisjoint(cut.values) for cut in cuts]
    # for each prefix: cuts through a softmax, bytes, parts, start of the last part
    best: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)]
    for last in range(1, count + 1):
        options = []
        for first in range(last - 1, -1, -1):
            if block_operators(program, first, last) > operators:
                break
            broken, moved, parts, _ = best[first]
            options.append((broken + unsafe[first], moved + cuts[first].bytes, parts + 1, -first))
        if not options:
            raise LimitError(
                f"operator {program.nodes[last - 1].op} alone exceeds the limit of {operators} block operators"
            )
        broken, moved, parts, first = min(options)
        best.append((broken, moved, parts, -first))
    bounds = [count]
    while bounds[-1] > 0:
        bounds.append(best[bounds[-1]][3])
    bounds.reverse()
    runs = tuple(part_of(program, a, b) for a, b in pairwise(bounds))
    return Partition(runs, tuple(cuts[b] for b in bounds[1:-1]))


def crossing(program: Program, after: int) -> Cut:
    """What lives across the place before node ``after``."""
    if after in (0, len(program.nodes)):
        return Cut(after - 1, (), 0)
    values = _live(program, after)
    return Cut(after - 1, values, sum(_traffic(program, v, after) for v in values))


def _live(program: Program, after: int) -> tuple[int, ...]:
    limit = len(program.inputs) + after
    used = {v for node in program.nodes[after:] for v in node.operands}
    return tuple(sorted(v for v in used if len(program.inputs) <= v < limit))


def _traffic(program: Program, value: int, after: int) -> int:
    is_output = any(o.value == value for o in program.outputs)
    size = prod(program.shapes[value]) * program.stored_dtype(value).bytes
    return size * (1 if is_output else 2)


def part_of(program: Program, first: int, last: int) -> Part:
    """Nodes ``first .. last - 1`` as a program; values from outside become inputs, values used outside become outputs."""
    offset = len(program.inputs)
    nodes = program.nodes[first:last]
    own = range(offset + first, offset + last)
    inputs = tuple(sorted({v for n in nodes for v in n.operands if v not in own}))
    number = {v: k for k, v in enumerate(inputs)} | {v: len(inputs) + k for k, v in enumerate(own)}
    later = {v for n in program.nodes[last:] for v in n.operands}
    stored = [(k, o) for k, o in enumerate(program.outputs) if o.value in own]
    body = tuple(ProgramNode(n.op, tuple(number[v] for v in n.operands), n.dtype, n.shift) for n in nodes)
    ins = tuple(_input(program, v, k) for k, v in enumerate(inputs))
    outputs, ends = part_outputs(program, stored, [v for v in own if v in later], number)
    return Part(Program(part_name(program, first), ins, body, outputs), inputs, ends, first, last - first)


def part_name(program: Program, first: int) -> str:
    """The name of the part that begins with an operator."""
    return f"{program.name[:80]}_{first}"


def part_outputs(
    program: Program, stored: Sequence[tuple[int, ProgramOutput]], kept: Sequence[int], number: Mapping[int, int]
) -> tuple[tuple[ProgramOutput, ...], tuple[tuple[int, int | None], ...]]:
    """The outputs of a part's program, and :attr:`Part.outputs`.

    stored: outputs of the whole program, with their numbers, of values that the part computes
    kept:   values that it leaves for later parts;  number: of each value in the part
    """
    results = list(dict.fromkeys(program.result_of(k) for k, _ in stored))
    outs = [replace(o, value=number[o.value], result=results.index(program.result_of(k))) for k, o in stored]
    outs += [_kept(program, v, number[v], len(results) + n) for n, v in enumerate(kept)]
    ends: list[tuple[int, int | None]] = [
        (next(o.value for k, o in stored if program.result_of(k) == r), r) for r in results
    ]
    ends += [(v, None) for v in kept]
    if len(outs) == len(ends):  # each is a result of its own
        outs = [replace(o, result=None) for o in outs]
    return tuple(outs), tuple(ends)


def _input(program: Program, value: int, position: int) -> ProgramInput:
    if value < len(program.inputs):
        known = program.inputs[value]
        return known if known.arg is None else replace(known, arg=position)
    return ProgramInput.whole(f"t{value}", program.shapes[value], program.stored_dtype(value), position)


def _kept(program: Program, value: int, inside: int, result: int) -> ProgramOutput:
    shape = program.shapes[value]
    dtype = program.stored_dtype(value)
    return ProgramOutput(inside, dtype, shape, row_major(shape), f"t{value}", result=result)
