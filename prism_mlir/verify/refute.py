"""Refutation by exact arithmetic: program and candidate are run on tiny tensors, in integers modulo a prime.

There is no rounding, so one differing element refutes. Functions of one variable are unknown functions here; where a
candidate differs only because something must be known about them (exp(a-b) = exp(a)/exp(b)), f64 evaluation at the same sizes
agrees with the program, and the candidate is not refuted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from prism_mlir.graph.dims import dim_classes, shrink
from prism_mlir.graph.errors import InputError, LimitError, PrismError, UnsupportedError
from prism_mlir.graph.evaluate import BlocksDisagree, evaluate_graph
from prism_mlir.graph.fields import Array, PrimeField, Reals
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.verify.alone import AloneRefuter, evaluate_program
from prism_mlir.verify.fit import Fit, Fitter
from prism_mlir.verify.shared_tiles import SharedTiles
from prism_mlir.verify.verdict import Counterexample

Sizes = tuple[tuple[str, int], ...]
MAX_REPLAY = 2**24  # elements of a tensor, copies for all parts included


def trial_sizes(dims: Sequence[str]) -> tuple[Sizes, ...]:
    """The parallel sizes at which candidates are run: all 2, all 3, and mixed both ways."""
    patterns = [(2,), (3,), (2, 3), (3, 2)] if len(dims) > 1 else [(2,), (3,)] if dims else [()]
    return tuple(tuple((p, pattern[k % len(pattern)]) for k, p in enumerate(dims)) for pattern in patterns)


_SIGNED_DRAWS = 4
_MAX_TILES, _MAX_SHARED = 4096, 256  # what is remembered: tiles at one choice of sizes, and choices
_ORDERED_ROUNDS = 4  # a maximum picks one of few elements, and may pick the same one by chance


@dataclass(frozen=True, slots=True)
class _WatchedField(PrimeField):
    """A prime field that notes divisions by zero."""

    zeros: list[bool] = field(default_factory=list, compare=False)

    def div(self, a: Array, b: Array) -> Array:
        self.zeros.append(not b.all())
        return a * self.inverse(b) % self.p


@dataclass(frozen=True, slots=True)
class _Run:
    """A program and a candidate at concrete sizes, and what the program computes there."""

    sizes: Sizes
    dims: tuple[int, ...]
    program: Program
    fitted: Fit
    seed: int

    def graph(self) -> KernelGraph:
        return self.fitted.resize(self.dims)


class Refuter:
    """Looks for counterexamples to candidates of one program. ``seed`` fixes all random inputs."""

    def __init__(self, program: Program, *, seed: int = 0) -> None:
        self.program, self.seed = program, seed
        self._classes = dim_classes(program)
        self._alone = AloneRefuter(program, seed)
        self._fitter = Fitter(program)
        self._programs: dict[tuple[int, ...], Program] = {}
        ordered = any(n.op.name in ("max", "min") or n.op.spec.monoid in ("max", "min") for n in program.nodes)
        self._rounds = _ORDERED_ROUNDS if ordered else 1
        self._expected: dict[tuple[tuple[int, ...], int, int], tuple[list[Array], list[Array], bool]] = {}
        self._tiles: dict[tuple[Sizes, tuple[int, ...], int, int], SharedTiles] = {}

    def refute(self, graph: KernelGraph) -> Counterexample | None:
        """A counterexample, or ``None`` where none was found. Ill-formed graphs are refuted, with the reason.

        Raises :class:`InputError` where mappings are still symbols.
        """
        if not graph.is_concrete:
            raise InputError("the graph still has symbolic mappings", hint="instantiate them first")
        try:
            fitted = self._fitter.fit(graph)
            graph.check()
        except UnsupportedError:
            return None
        except PrismError as error:
            return self._ill_formed(error.message)
        for k, sizes in enumerate(trial_sizes(graph.parallel_dims) * self._rounds):
            found = self._compare(self._resize(fitted, sizes, self.seed + k))
            if found is not None:
                return found
        return None

    def replay(self, graph: KernelGraph, found: Counterexample) -> Counterexample | None:
        """The counterexample again, from nothing but its sizes, dims, seed and attempt; ``None`` where program and graph agree.

        Raises :class:`InputError` where it does not belong to this program and graph, :class:`LimitError` where its tensors are
        larger than any counterexample's.
        """
        try:
            fitted = self._fitter.fit(graph)
            graph.check()
        except PrismError as error:
            return self._ill_formed(error.message)
        if not found.sizes and not found.dims:
            return None  # it said that the graph is ill-formed, which it is not
        if {p for p, _ in found.sizes} != set(graph.parallel_dims) or len(found.dims) != len(self._classes.sizes):
            raise InputError("the counterexample is not about this program and graph")
        program = self._resized(found.dims)
        if max(map(prod, program.shapes)) * prod(n for _, n in found.sizes) > MAX_REPLAY:
            raise LimitError(f"the counterexample's tensors have more than {MAX_REPLAY} elements")
        run = _Run(found.sizes, found.dims, program, fitted, found.seed)
        return self._run(run, found.attempt, _WatchedField(seed=run.seed))

    def refute_alone(self, graph: KernelGraph, dim: str) -> Counterexample | None:
        """A counterexample with 2 or 3 parts along parallel dim ``dim`` and one along all others, if there is one.

        What the mapping says about other parallel dims is not looked at. Expects a well-formed graph (``graph.check``).
        """
        if self._alone.takes(graph):
            return self._alone.refute(graph, dim)
        try:
            fitted = self._fitter.fit(graph)
        except UnsupportedError:
            return None
        except PrismError as error:
            return self._ill_formed(error.message)
        for count in (2, 3):
            sizes = tuple((p, count if p == dim else 1) for p in graph.parallel_dims)
            found = self._compare(self._resize(fitted, sizes, self.seed))
            if found is not None:
                return found
        return None

    def _ill_formed(
        self, reason: str, sizes: Sizes = (), dims: tuple[int, ...] = (), seed: int | None = None, attempt: int = 0
    ) -> Counterexample:
        return Counterexample(sizes, dims, self.seed if seed is None else seed, 0, (), 0, None, reason, attempt)

    def _resize(self, fitted: Fit, sizes: Sizes, seed: int) -> _Run:
        dims = self._dims(fitted, dict(sizes))
        return _Run(sizes, dims, self._resized(dims), fitted, seed)

    def _resized(self, dims: Sequence[int]) -> Program:
        key = tuple(dims)
        if key not in self._programs:
            if len(self._programs) > 1024:
                self._programs.clear()
            self._programs[key] = shrink(self.program, dict(enumerate(dims)))
        return self._programs[key]

    def _dims(self, fitted: Fit, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The smallest size of each dim class that every cut divides, with at least two elements left, all different."""
        cuts: list[set[str]] = [set() for _ in self._classes.sizes]
        for k, node in enumerate(fitted.graph.nodes):
            mapping = getattr(node, "mapping", None)
            if mapping is None:
                continue
            block = fitted.graph.nodes[k].block  # type: ignore[union-attr]
            for load, imap, fmap in zip(block.loads, mapping.imap, mapping.fmap, strict=True):
                cut = [(p, d) for p, d in zip(block.grid, imap, strict=True) if d >= 0]
                cut += [(block.loop, fmap)] if fmap >= 0 and block.loop is not None else []
                for p, d in cut:
                    for c in fitted.dims[k, load][d]:
                        cuts[c].add(p)
        result: list[int] = []
        for c in range(len(cuts)):
            step = prod(sizes[p] for p in cuts[c])
            size = 2 * step
            while size in result and not self._classes.factors[c]:
                size += step
            result.append(size)
        for _ in result:
            result = [
                prod(result[f] for f in fs) if fs else n for n, fs in zip(result, self._classes.factors, strict=True)
            ]
        return tuple(result)

    def _compare(self, run: _Run) -> Counterexample | None:
        found: Counterexample | None = None
        for attempt in range(8):
            if self._evaluate(run, attempt)[2]:
                continue
            if self._same(run, attempt):
                return None
            domain = _WatchedField(seed=run.seed)
            found = self._run(run, attempt, domain)
            if found is None or found.got is None or not any(domain.zeros):
                break
        return None if found is None or (found.got is not None and self._agree_in_f64(run)) else found

    def _same(self, run: _Run, attempt: int) -> bool:
        """Whether it computes what the program does. Quick: tiles are shared with all candidates run at these sizes."""
        inputs, expected, _ = self._evaluate(run, attempt)
        key = run.sizes, run.dims, run.seed, attempt
        tiles = self._tiles.get(key)
        if tiles is None or len(tiles) > _MAX_TILES:
            if len(self._tiles) > _MAX_SHARED:
                self._tiles.clear()
            tiles = self._tiles[key] = SharedTiles(dict(run.sizes), inputs, PrimeField(seed=run.seed))
        try:
            got = tiles.outputs(run.graph() if run.fitted.has_shapes() else run.fitted.graph)
        except (PrismError, ValueError):
            return False
        return all(map(np.array_equal, expected, got))

    def _run(self, run: _Run, attempt: int, domain: _WatchedField) -> Counterexample | None:
        """The first difference, if any. No value at all where tiles do not fit or blocks disagree."""
        inputs, expected, _ = self._evaluate(run, attempt)
        try:
            got = evaluate_graph(run.graph(), dict(run.sizes), inputs, domain)
        except PrismError as error:
            return self._ill_formed(error.message, run.sizes, run.dims, run.seed, attempt)
        except ValueError as error:  # arrays that do not fit
            return self._ill_formed(str(error), run.sizes, run.dims, run.seed, attempt)
        return _first_difference(run, expected, got, attempt)

    def _evaluate(self, run: _Run, attempt: int) -> tuple[list[Array], list[Array], bool]:
        """Inputs, the program's outputs, and whether it divides by zero; once for all candidates run at these sizes."""
        key = (run.dims, run.seed, attempt)
        known = self._expected.get(key)
        if known is None:
            domain = PrimeField(seed=run.seed)
            rng = np.random.default_rng((run.seed, attempt) if attempt else run.seed)
            inputs = [rng.integers(1, domain.p, i.shape, dtype=np.int64) for i in run.program.inputs]
            if len(self._expected) > 1024:
                self._expected.clear()
            known = self._expected[key] = (inputs, *evaluate_program(run.program, inputs, domain))
        return known

    def _agree_in_f64(self, run: _Run) -> bool:
        """Whether they have one value wherever the program has any, on positive inputs and on inputs of both signs with zeros
        (a mask without zeros hides nothing)."""
        rng = np.random.default_rng(run.seed)
        shapes, anything = [i.shape for i in run.program.inputs], False
        positive = [rng.uniform(0.5, 1.5, s) for s in shapes]
        mixed = [[rng.normal(size=s) * (rng.random(s) < 0.6) for s in shapes] for _ in range(_SIGNED_DRAWS)]
        for inputs in (positive, *mixed):
            expected = run.program.evaluate(inputs, Reals())
            try:
                got = evaluate_graph(run.graph(), dict(run.sizes), inputs, Reals())
            except BlocksDisagree:
                return False
            for a, b in zip(expected, got, strict=True):
                finite = np.isfinite(a)
                if a.shape != b.shape:
                    return False
                lost = 1e-9 * float(np.max(np.abs(a[finite]), initial=0.0))  # what sums of both signs may lose
                if not np.allclose(a[finite], b[finite], rtol=1e-9, atol=0.0 if inputs is positive else lost):
                    return False
                anything = anything or bool(finite.any())
        return anything


def _first_difference(
    run: _Run, expected: Sequence[Array], got: Sequence[Array], attempt: int
) -> Counterexample | None:
    for k, (a, b) in enumerate(zip(expected, got, strict=True)):
        if a.shape != b.shape:
            reason = f"the result has shape {list(b.shape)}, the program's {list(a.shape)}"
            return Counterexample(run.sizes, run.dims, run.seed, k, (), 0, None, reason, attempt)
        if not np.array_equal(a, b):
            index = tuple(int(n) for n in np.argwhere(a != b)[0])
            values = int(a[index]), int(b[index])
            return Counterexample(run.sizes, run.dims, run.seed, k, index, *values, "an element differs", attempt)
    return None
