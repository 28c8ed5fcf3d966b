"""Brute force: every block graph within the limits (and, in ``exhaustive_maps``, every mapping of it). It is the oracle of "the
search loses nothing", and shares no code with the generator.

Nothing is cut off on the way: partial graphs are not compared with the program's expressions or dims, and are not built in the
search's order of nodes. What is built is what the space is defined as:

- one kernel of at most so many operators; each tensor loaded at most once inside the loop and once outside it
- the program's operators and those handed in; none that says nothing (a sum over a dim of size 1) or what another one says (a
  product over a dim of size 1 is a ``mul``)
- no operator twice on the same operands, no result that nobody needs

Only finished graphs are looked at: one that does not compute the program in f64 when all parallel sizes are 1 is not listed,
for no mapping makes it right.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, BlockOp, Load, Stage, node_stage
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.fields import Array, Reals
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.ops import ADD, DIV, MATMUL, MUL, SUB, Kind, Op, Shape, evaluate_op
from prism_mlir.graph.program import Program
from prism_mlir.graph.symbols import LOOP_NAME

Terms = frozenset[int]
"""A partial graph: numbers of its terms. Equal terms of all graphs have one number, larger than those of their operands."""

ON_SCALARS: dict[Op, Callable[[float, float], float]] = {
    ADD: operator.add,
    SUB: operator.sub,
    MUL: operator.mul,
    DIV: lambda a, b: a / b if b else float("nan"),
}
DIGITS = 1e-6  # relative difference in f64 above which something else is computed


Type = tuple[Shape, Stage]


@dataclass(frozen=True, slots=True)
class Way:
    """An operator that fits operands of certain types, and the type of its result.

    index: the operator's place in the list of those with as many operands
    type:  the number of the result's shape and stage
    """

    index: int
    op: BlockOp
    type: int


class Exhaustive:
    """All block graphs of one program with at most ``operators`` operators.

    also: binary operators that may occur beside the program's own
    """

    def __init__(self, program: Program, operators: int, also: Iterable[Op] = (MATMUL, MUL)) -> None:
        self.program, self.operators = program, operators
        self.inputs = program_types(program)
        self._outputs = len(program.outputs)
        self._single, self._double = _operators(program, also)
        products = (n for n in program.nodes if n.op.kind is Kind.MATMUL)
        self._outer_products = any(program.shapes[n.operands[0]][-1] == 1 for n in products)
        self._types: list[Type] = []
        self._type_number: dict[Type, int] = {}
        self._terms: list[tuple[Way, tuple[int, ...]]] = []
        self._type_of: list[int] = []
        self._number: dict[tuple[int, tuple[int, ...]], int] = {}
        self._ways: dict[tuple[int, ...], tuple[Way, ...]] = {}
        self._last_ways = _Table(lambda types: [way for way in self._ways_of(types) if self._may_be_saved(way)])
        self._results: dict[tuple[int, ...], Terms] = {}
        self._right: dict[int, tuple[int, ...]] = {}
        self._values = Values(program, self._terms)

    def structures(self, loads: Sequence[Load]) -> Iterator[KernelGraph]:
        """All graphs that load exactly this and compute the program when all parallel sizes are 1; mappings are symbols."""
        first = frozenset(self._load(load) for load in loads)
        level: dict[Terms, Terms] = {first: first}  # with the terms that are open: no operator uses them
        yield from self._finished(level)
        for left in range(self.operators, 0, -1):
            level = {
                terms | {new}: open_terms.difference(self._terms[new][1]) | {new}
                for terms, open_terms in level.items()
                for new in self._next(terms, open_terms, left)
            }
            yield from self._finished(level)

    def _load(self, load: Load) -> int:
        place = -1 - 2 * load.source - load.invariant  # below all terms, so no operand
        kind = self._type((self.inputs[load.source].shape, node_stage(BlockNode(load), [])))
        return self._term(Way(0, load, kind), (place,))

    def _type(self, kind: Type) -> int:
        number = self._type_number.setdefault(kind, len(self._types))
        if number == len(self._types):
            self._types.append(kind)
        return number

    def _term(self, way: Way, operands: tuple[int, ...]) -> int:
        key = (way.index, operands)
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self._terms)
            self._terms.append((way, operands))
            self._type_of.append(way.type)
        return number

    def _next(self, terms: Terms, open_terms: Terms, left: int) -> Terms:
        """What may be added to a graph when ``left`` operators may still be.

        An operator uses two open terms and leaves one at most, so open terms must not be too many; a graph's last operator is
        an output.
        """
        must_use = len(open_terms) + 2 - left - self._outputs
        if must_use > 2:
            return frozenset()
        first = open_terms if must_use > 0 else terms
        second = open_terms if must_use > 1 else terms
        if left == 1:
            return self._right_results(first if must_use < 2 else (), first, second) - terms
        found = [self._results_of((v,)) for v in first] if must_use < 2 else []
        found += [self._results_of(pair) for a in first for b in second for pair in ((a, b), (b, a))]
        return frozenset[int]().union(*found) - terms

    def _results_of(self, operands: tuple[int, ...]) -> Terms:
        found = self._results.get(operands)
        if found is None:
            ways = self._ways_of(tuple(self._type_of[v] for v in operands))
            found = self._results[operands] = frozenset(self._term(way, _in_order(way, operands)) for way in ways)
        return found

    def _right_results(self, alone: Iterable[int], first: Iterable[int], second: Iterable[int]) -> Terms:
        """Those results of one term, or of one of the first with one of the second, that are outputs of the program."""
        kind, ways = self._type_of, self._last_ways
        made: list[tuple[Way, tuple[int, ...]]] = [(way, (a,)) for a in alone for way in ways[kind[a],]]
        made += [(way, (a, b)) for a in first for b in second for way in ways[kind[a], kind[b]]]
        made += [
            (way, (b, a)) for a in first for b in second for way in ways[kind[b], kind[a]] if not _commutes(way.op)
        ]
        good = [self._term(w, _in_order(w, v)) for w, v in made if self._values.may_be_output(w.op, v)]
        return frozenset(k for k in good if self._outputs_of(k))

    def _may_be_saved(self, way: Way) -> bool:
        shape, stage = self._types[way.type]
        return stage is not Stage.BODY and any(shape == self.program.shapes[o.value] for o in self.program.outputs)

    def _ways_of(self, types: tuple[int, ...]) -> tuple[Way, ...]:
        """Every operator that fits operands of these types."""
        found = self._ways.get(types)
        if found is None:
            ops, operands = (self._single if len(types) == 1 else self._double), [self._types[t] for t in types]
            ways = [self._way(n, op, operands) for n, op in enumerate(ops)]
            found = self._ways[types] = tuple(way for way in ways if way is not None)
        return found

    def _way(self, index: int, op: BlockOp, operands: Sequence[Type]) -> Way | None:
        shapes, stages = [shape for shape, _ in operands], [stage for _, stage in operands]
        try:
            stage = node_stage(BlockNode(op), stages)
            shape = op.spec.shape(op, shapes) if isinstance(op, Op) else shapes[0]
        except InputError:
            return None
        if isinstance(op, Op) and op.kind is Kind.REDUCE and shape == shapes[0]:
            return None  # of a dim of size 1
        if op == MATMUL and shapes[0][-1] == 1 and not self._outer_products:
            return None
        return Way(index, op, self._type((shape, stage)))

    def _finished(self, graphs: Mapping[Terms, Terms]) -> Iterator[KernelGraph]:
        """The graphs that save some of their terms as the outputs and leave none open."""
        for terms, open_terms in graphs.items():
            if len(open_terms) > self._outputs or not all(map(self._outputs_of, open_terms)):
                continue
            right = [[k for k in terms if o in self._outputs_of(k)] for o in range(self._outputs)]
            for saved in product(*right):
                if open_terms.issubset(saved):
                    yield self._graph(terms, saved)

    def _outputs_of(self, term: int) -> tuple[int, ...]:
        """Which outputs of the program a term is."""
        found = self._right.get(term)
        if found is None:
            way = self._terms[term][0]
            found = self._right[term] = self._values.outputs_of(term) if self._may_be_saved(way) else ()
        return found

    def _graph(self, terms: Terms, saved: Sequence[int]) -> KernelGraph:
        place = {k: n for n, k in enumerate(sorted(terms))}
        made = [self._terms[k] for k in place]
        nodes = tuple(BlockNode(way.op, tuple(place[v] for v in operands if v >= 0)) for way, operands in made)
        loop = LOOP_NAME if any(self._types[way.type][1] is Stage.BODY for way, _ in made) else None
        block = BlockGraph((), loop, self.inputs, nodes, tuple(place[k] for k in saved))
        count = len(self.inputs)
        node = CustomNode(block, tuple(range(count)))
        return KernelGraph(self.inputs, (node,), tuple(range(count, count + self._outputs)))


def _operators(program: Program, also: Iterable[Op]) -> tuple[list[BlockOp], list[Op]]:
    """Operators of one operand and of two: the program's (reductions over every dim), accumulators, and others."""
    ops = sorted({n.op for n in program.nodes} | set(also), key=str)
    reductions = sorted({op.name for op in ops if op.kind is Kind.REDUCE} | {"sum"})
    monoids = sorted({monoid for name in reductions if (monoid := Op(name).spec.monoid) is not None})
    single: list[BlockOp] = [op for op in ops if op.kind in (Kind.UNARY, Kind.TRANSPOSE)]
    ranks = range(max(len(shape) for shape in program.shapes))
    single += [*(Op(name, dim=d) for name in reductions for d in ranks), *map(Accum, monoids)]
    return single, [op for op in ops if op.kind in (Kind.BINARY, Kind.MATMUL)]


class _Table(dict[tuple[int, ...], list[Way]]):
    """Filled on demand."""

    def __init__(self, make: Callable[[tuple[int, ...]], list[Way]]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, types: tuple[int, ...]) -> list[Way]:
        self[types] = found = self._make(types)
        return found


def _commutes(op: BlockOp) -> bool:
    return isinstance(op, Op) and op.spec.commutative


def _in_order(way: Way, operands: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(operands)) if _commutes(way.op) else operands


class Values:
    """What terms are when all parallel sizes are 1, on random inputs, beside what the program computes from them."""

    def __init__(self, program: Program, terms: Sequence[tuple[Way, tuple[int, ...]]]) -> None:
        rng = np.random.default_rng(0)
        self._terms = terms
        self._inputs = [rng.uniform(0.5, 1.5, i.shape) for i in program.inputs]
        self._wanted = program.evaluate(self._inputs, Reals())
        self._corners = [float(wanted.flat[0]) for wanted in self._wanted]
        self._values: dict[int, Array] = {}
        self._first: dict[int, float] = {}

    def outputs_of(self, term: int) -> tuple[int, ...]:
        """Which outputs of the program a term is."""
        value = self._value(term)
        return tuple(
            o
            for o, wanted in enumerate(self._wanted)
            if value.shape == wanted.shape and bool((np.abs(value - wanted) <= DIGITS * np.abs(wanted)).all())
        )

    def may_be_output(self, op: BlockOp, operands: Sequence[int]) -> bool:
        """Whether a term could be one, before it is made: a look at its first element, where that is quick."""
        on_scalars = ON_SCALARS.get(op) if isinstance(op, Op) else None
        if on_scalars is None:
            return True
        first = on_scalars(*[self._corner(v) for v in operands])
        return any(abs(first - c) <= 2 * DIGITS * abs(c) for c in self._corners)

    def _corner(self, term: int) -> float:
        known = self._first.get(term)
        if known is None:
            known = self._first[term] = float(self._value(term).flat[0])
        return known

    def _value(self, term: int) -> Array:
        if term not in self._values:
            way, operands = self._terms[term]
            if isinstance(way.op, Load):
                self._values[term] = self._inputs[way.op.source]
            elif isinstance(way.op, Accum):
                self._values[term] = self._value(operands[0])
            else:
                arrays = [self._value(v) for v in operands]
                self._values[term] = evaluate_op(way.op, arrays, arrays[0].ndim, Reals())
        return self._values[term]


def load_sets(inputs: int, outside: int | None) -> Iterator[tuple[Load, ...]]:
    """What is loaded where, in a stage of the search (see ``generate.load_stages``).

    outside: how many tensors are loaded outside the loop, beside some inside; ``None``: all tensors are loaded in one place
    """
    if outside is None:
        yield from (tuple(Load(k, invariant) for k in range(inputs)) for invariant in (False, True))
        return
    places = [(False,), (True,), (False, True)]
    for chosen in product(places, repeat=inputs):
        loads = tuple(Load(k, invariant) for k, place in enumerate(chosen) for invariant in place)
        if sum(load.invariant for load in loads) == outside and any(not load.invariant for load in loads):
            yield loads
