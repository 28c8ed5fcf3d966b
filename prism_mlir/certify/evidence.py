"""Randomised evidence: a graph and its program agree at many sizes; and how likely that is for a wrong graph.

Where all operators are field operations and unknown functions, both sides are rational functions of the inputs and of the
values of unknown functions. If they are different functions, of which the difference has a numerator of degree D, random inputs
make them agree with probability at most D / p (Schwartz, Zippel). Values of an unknown function count as inputs of their own,
except that two different arguments may collide: N applications, with arguments of degree A, add at most N² / 2 * A / p. Trials
are independent, so their bounds multiply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm, log10, prod
from typing import Any

import numpy as np

from prism_mlir.certify.encode import encode_graph, encode_tiles, encode_values
from prism_mlir.certify.exact import PRIME, Differs, DividesByZero, draw, run_graph, run_program
from prism_mlir.certify.model import Block, Graph, Node, Program
from prism_mlir.certify.sizes import Disagrees, Refused, Size, Type
from prism_mlir.certify.terms import Term, Terms
from prism_mlir.certify.typing import Dims, Typer

COUNTS = ((1, 1), (2, 2), (3, 3), (2, 3), (3, 2), (5, 1), (1, 4), (4, 2), (2, 5), (7, 1), (1, 7), (6, 1))
"""Parallel sizes to try: for every other parallel dim, in turn."""


@dataclass(frozen=True, slots=True)
class Trial:
    """sizes: number of parts, and sizes of the program's dims; log10_bound: of the probability that a wrong graph passes,
    ``None`` where the theorem does not cover the operators."""

    sizes: tuple[tuple[str, int], ...]
    seed: int
    log10_bound: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Trials that all agreed."""

    trials: tuple[Trial, ...]

    @property
    def log10_bound(self) -> float | None:
        """Logarithm of the bound for all trials together."""
        bounds = [t.log10_bound for t in self.trials]
        return None if None in bounds else sum(b for b in bounds if b is not None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "prime": PRIME,
            "log10_error_bound": None if self.log10_bound is None else round(self.log10_bound, 1),
            "trials": [{"sizes": dict(t.sizes), "seed": t.seed} for t in self.trials],
        }


class Tester:
    """Runs graphs of one program against it."""

    def __init__(self, program: Program, dims: Dims, terms: Terms) -> None:
        self._program, self._dims, self._terms = program, dims, terms
        self._type = Typer(dims)
        self._expected: dict[tuple[Any, ...], list[Any] | None] = {}

    def test(self, graph: Graph, wanted: Sequence[Term], trials: int = 8, seed: int = 0) -> Evidence:
        """Evidence that the graph computes the program.

        Raises :class:`Refused` where an element differs, or the graph makes no sense.
        """
        offered = encode_graph(graph, self._terms)
        for a, b in zip(wanted, offered, strict=True):
            if self._type(a) != self._type(b):
                raise Refused(f"an output is {self._type(b)}, the program's is {self._type(a)}")
        types = self._tile_types(graph)
        parallel = list(dict.fromkeys(p for k in graph.kernels if isinstance(k, Block) for p in _parallel(k)))
        done: list[Trial] = []
        for n in range(trials):
            sizes = self._sizes(parallel, n, types)
            if prod(sizes[p] for p in parallel) > 400 or dict(sizes) in [dict(t.sizes) for t in done]:
                continue
            self._compare(graph, types, sizes, seed + n)
            done.append(Trial(tuple(sizes.items()), seed + n, Degrees(self._type, sizes).bound(wanted, offered)))
        return Evidence(tuple(done))

    def _tile_types(self, graph: Graph) -> dict[tuple[int, int], Type]:
        """Types of all tiles, under (kernel, node), or (kernel, -1) for a library kernel."""
        values, first = encode_values(graph, self._terms), len(graph.inputs)
        types: dict[tuple[int, int], Type] = {}
        for k, kernel in enumerate(graph.kernels):
            if isinstance(kernel, Node):
                types[k, -1] = self._type(values[first])
                first += 1
                continue
            first += len(kernel.outputs)
            tiles = encode_tiles(kernel, [values[v] for v in kernel.operands], self._terms)
            types |= {(k, n): self._type(tile) for n, tile in enumerate(tiles)}
        return types

    def _sizes(self, parallel: Sequence[str], n: int, types: Mapping[tuple[int, int], Type]) -> dict[str, int]:
        """Parallel sizes of trial ``n``, and dims that they divide: different ones of different size, the smaller ones first."""
        pair = COUNTS[n % len(COUNTS)]
        sizes = {p: pair[k % 2] for k, p in enumerate(parallel)}
        step = dict.fromkeys(self._dims.free, 1)
        for size in (s for t in types.values() for s in t.shape):
            cut = prod(sizes[p] ** -e for p, e in size.parts if e < 0)
            for d in size.dims:
                step[d] = lcm(step[d], cut)
        used: set[int] = set()
        for k, (d, least) in enumerate(step.items()):
            extent = least * (1 + (n + k) % 3)
            while extent in used or extent == 1:
                extent += least
            used.add(extent)
            sizes[d] = extent
        return sizes

    def _compare(self, graph: Graph, types: Mapping[tuple[int, int], Type], sizes: dict[str, int], seed: int) -> None:
        def concrete(shape: Sequence[Size]) -> tuple[int, ...]:
            return tuple(s.value(sizes) for s in shape)

        shapes = [concrete(s) for s in self._dims.of]
        tiles = {place: concrete(t.shape) for place, t in types.items()}
        for attempt in range(8):
            inputs = draw(shapes[: len(self._program.inputs)], seed, attempt)
            try:
                expected = run_program(self._program, shapes, inputs, seed)
                got = run_graph(graph, tiles, inputs, sizes, seed)
            except DividesByZero:
                continue
            except Differs as error:
                raise Disagrees(f"{error} at sizes {sizes}") from None
            for k, (a, b) in enumerate(zip(expected, got, strict=True)):
                if a.shape != b.shape or not np.array_equal(a, b):
                    raise Disagrees(f"output {k} differs from the program's at sizes {sizes}, seed {seed}")
            return
        raise Refused(f"no inputs found that divide by nothing but non-zero numbers, at sizes {sizes}")


def _parallel(block: Block) -> tuple[str, ...]:
    return block.grid if block.loop is None else (*block.grid, block.loop)


class Degrees:
    """Degrees of numerator and denominator of every element of a term, at concrete sizes."""

    def __init__(self, type_of: Typer, sizes: Mapping[str, int]) -> None:
        self._type, self._sizes = type_of, sizes
        self._known: dict[Term, tuple[int, int]] = {}
        self._applications, self._argument = 0, 0
        self._covered = True

    def bound(self, wanted: Sequence[Term], offered: Sequence[Term]) -> float | None:
        """Logarithm of the probability that different outputs agree; ``None`` where it is not known."""
        difference = 0
        for a, b in zip(wanted, offered, strict=True):
            (n, d), (m, e) = self._of(a), self._of(b)
            difference = max(difference, n + e, m + d)
        collisions = self._applications**2 * self._argument // 2
        return log10(max(1, difference + collisions)) - log10(PRIME) if self._covered else None

    def _of(self, term: Term) -> tuple[int, int]:
        found = self._known.get(term)
        if found is None:
            found = self._known[term] = self._degree(term, [self._of(o) for o in term.operands])
        return found

    def _degree(self, term: Term, operands: Sequence[tuple[int, int]]) -> tuple[int, int]:
        match term.symbol, operands:
            case "Var", _:
                return 1, 0
            case "Constant", _:
                return 0, 0
            case "Unary", [(n, d)]:
                t = self._type(term)
                self._applications += prod(s.value(self._sizes) for s in t.shape) * prod(
                    self._sizes[p] for p in t.parallel
                )
                self._argument = max(self._argument, n + d)
                return 1, 0
            case (("Add" | "Sub"), [(n, d), (m, e)]):
                return max(n + e, m + d), d + e
            case "Mul", [(n, d), (m, e)]:
                return n + m, d + e
            case "Div", [(n, d), (m, e)]:
                return n + e, d + m
            case "Matmul", [(n, d), (m, e)]:
                return _summed(n + m, d + e, self._extent(term.operands[0], -1))
            case "Sum", [(n, d)]:
                return _summed(n, d, self._extent(term.operands[0], int(term.attrs[0])))
            case "Red", [(n, d)]:
                return _summed(n, d, self._sizes[str(term.attrs[0])])
            case (("Part" | "Comb" | "Repl" | "Unrepl" | "Transpose" | "Reshape"), [degree]):
                return degree
        self._covered = False
        return 1, 0

    def _extent(self, term: Term, d: int) -> int:
        return self._type(term).shape[d].value(self._sizes)


def _summed(n: int, d: int, terms: int) -> tuple[int, int]:
    """A sum of fractions over the product of their denominators."""
    return n + (terms - 1) * d, terms * d
