"""Axioms and expressions as an egglog program. The only module that knows egglog, through its textual language.

Besides the terms, the e-graph holds the shape of every term: ``shape(t)`` is a vector ``[parallel dims, size, size, ...]``
of numbers that name what they are: each dim class of the program and each parallel dim has a prime of its own, so two
numbers are equal only where the dims are equal for all sizes. The function must not take two values for one class: a rule that
unites terms of different shape stops the run with :class:`SoundnessError`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from egglog import bindings

from prism_mlir.graph.dims import reshape_groups
from prism_mlir.verify.expr import Expr, reshape_shapes, walk
from prism_mlir.verify.rule import (
    BINARY_SYMBOLS,
    SIGNATURES,
    Monoid,
    Pattern,
    Rule,
    Sort,
    applied,
    constructors,
    parse_pattern,
    split_condition,
)
from prism_mlir.verify.verdict import SoundnessError

_SORTS = {Sort.TENSOR: "T", Sort.DIM: "i64", Sort.PARALLEL: "String", Sort.TEXT: "String"}

_PRELUDE = "\n".join(
    [
        "(sort Shape (Vec i64)) (sort T)",
        *(f"(constructor {c} ({' '.join(_SORTS[s] for s in sig)}) T)" for c, sig in SIGNATURES.items()),
        "(function shape (T) Shape :no-merge)",
        "(function count (String) i64 :no-merge)",
        "(function bit (String) i64 :no-merge)",
        *(f"(relation Partial{m} (T String T))" for m in Monoid),
        "(relation Moves (String i64 i64))",
        "(relation Wanted (i64 T)) (relation Offered (i64 i64 T)) (relation Proved (i64 i64))",
        "(ruleset types) (ruleset axioms) (ruleset load)",
    ]
)

_TYPES = """
(rule ((= e (Part t d p)) (= s (shape t)) (= n (count p)) (= b (bit p)))
  ((set (shape e) (vec-set (vec-set s (+ d 1) (/ (vec-get s (+ d 1)) n)) 0 (| (vec-get s 0) b))))
  :ruleset types :name "type:part")
(rule ((= e (Comb t d p)) (= s (shape t)) (= n (count p)) (= b (bit p)))
  ((set (shape e) (vec-set (vec-set s (+ d 1) (* (vec-get s (+ d 1)) n)) 0 (^ (vec-get s 0) b))))
  :ruleset types :name "type:comb")
(rule ((= e (Repl t p)) (= s (shape t)) (= b (bit p)))
  ((set (shape e) (vec-set s 0 (| (vec-get s 0) b)))) :ruleset types :name "type:repl")
(rule ((= e (Unrepl t p)) (= s (shape t)) (= b (bit p)))
  ((set (shape e) (vec-set s 0 (^ (vec-get s 0) b)))) :ruleset types :name "type:unrepl")
(rule ((= e (Red t p)) (= s (shape t)) (= b (bit p)))
  ((set (shape e) (vec-set s 0 (^ (vec-get s 0) b)))) :ruleset types :name "type:red")
(rule ((= e (RedMax t p)) (= s (shape t)) (= b (bit p)))
  ((set (shape e) (vec-set s 0 (^ (vec-get s 0) b)))) :ruleset types :name "type:redmax")
(rule ((= e (RedMin t p)) (= s (shape t)) (= b (bit p)))
  ((set (shape e) (vec-set s 0 (^ (vec-get s 0) b)))) :ruleset types :name "type:redmin")
(rule ((= e (Unary t f)) (= s (shape t))) ((set (shape e) s)) :ruleset types :name "type:unary")
(rule ((= e (Sum t d)) (= s (shape t))) ((set (shape e) (vec-set s (+ d 1) 1))) :ruleset types :name "type:sum")
(rule ((= e (ReduceMin t d)) (= s (shape t))) ((set (shape e) (vec-set s (+ d 1) 1))) :ruleset types :name "type:reducemin")
(rule ((= e (ReduceMax t d)) (= s (shape t))) ((set (shape e) (vec-set s (+ d 1) 1))) :ruleset types :name "type:reducemax")
(rule ((= e (Matmul a b row col)) (= s (shape a)) (= r (shape b)))
  ((set (shape e) (vec-set s (+ col 1) (vec-get r (+ col 1))))) :ruleset types :name "type:matmul")
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers that stand for symbolic sizes: ``count[p]`` parts along each parallel dim, and the shape of every input."""

    count: Mapping[str, int]
    inputs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Round:
    """What one round of rewriting did. fired: axioms that matched; changed: whether anything new was learned."""

    fired: frozenset[str]
    changed: bool


_Base = tuple[tuple[Rule, ...], frozenset[str], tuple[int, ...]]


class _Spare(threading.local):
    """E-graphs that hold rules and nothing else. Reading the rules costs more than most proofs do, and they rarely change.

    An e-graph belongs to the thread that made it, which must be the one that drops it too.
    """

    def __init__(self) -> None:
        self.graphs: dict[_Base, bindings.EGraph] = {}


_SPARE = _Spare()

_MAX_SPARE = 16


class ProofGraph:
    """An e-graph that holds the program's outputs and those of all candidates. To be closed after use, for speed only."""

    def __init__(self, rules: Iterable[Rule], sizes: Sizes) -> None:
        self._rules, self._sizes = tuple(rules), sizes
        self._base: _Base | None = None

    def load(self, wanted: Sequence[Expr], offered: Mapping[int, Sequence[Expr]]) -> None:
        """Insert the axioms that can ever match, the program's outputs and, under their numbers, the candidates'."""
        order = walk([*wanted, *(e for outputs in offered.values() for e in outputs)])
        self._open(order)
        name = {e: f"e{k}" for k, e in enumerate(order)}
        actions = [f"(let {name[e]} {_term(e, name)})" for e in order]
        actions += [
            f"(set (shape {name[e]}) (vec-of {_numbers((0, *shape))}))"
            for e in order
            if (shape := self._leaf_shape(e)) is not None
        ]
        actions += [f"(Wanted {o} {name[e]})" for o, e in enumerate(wanted)]
        actions += [f"(Offered {k} {o} {name[e]})" for k, outputs in offered.items() for o, e in enumerate(outputs)]
        counts = self._sizes.count.items()
        program = [f'(set (count "{p}") {n}) (set (bit "{p}") {1 << k})' for k, (p, n) in enumerate(counts)]
        program += [
            *_moves(order),
            f"(rule () ({' '.join(actions)}) :ruleset load)",
            "(run load 1) (run-schedule (saturate types))",
        ]
        self._run("\n".join(program))

    def _open(self, order: Sequence[Expr]) -> None:
        """Take an e-graph with the rules that matter for these terms; what is added to it from now on can be taken back."""
        symbols = frozenset(e.symbol for e in order)
        ranks = tuple(sorted({len(shape) for e in order if (shape := self._leaf_shape(e)) is not None}))
        self._base = (self._rules, symbols, ranks)
        spare = _SPARE.graphs.pop(self._base, None)
        self._egraph = spare or bindings.EGraph()
        if spare is None:
            axioms = reachable(self._rules, symbols)
            symbols |= {s for r in axioms for s in (*r.symbols, *constructors(parse_pattern(r.right)))}
            program = [_PRELUDE, _TYPES, *_binary_types(symbols, ranks), *map(_rule_text, axioms)]
            program.append('(rule ((Wanted o e) (Offered k o e)) ((Proved k o)) :ruleset types :name "type:proved")')
            self._run("\n".join(program))
        self._run("(push)")

    def close(self) -> None:
        """Forget the terms and keep the rules for the next e-graph of their kind."""
        if self._base is not None:
            self._run("(pop)")
            spare = _SPARE.graphs
            while len(spare) >= _MAX_SPARE:
                del spare[next(iter(spare))]
            spare[self._base], self._base = self._egraph, None
            del self._egraph

    def _leaf_shape(self, expr: Expr) -> tuple[int, ...] | None:
        if expr.symbol == "Var":
            return self._sizes.inputs[int(expr.attrs[0])]
        if expr.symbol == "Constant":
            return tuple(int(n) for n in str(expr.attrs[1]).split(",") if n)
        return None

    def step(self) -> Round:
        """Apply every axiom once, everywhere. Raises :class:`SoundnessError` when shapes clash."""
        (output,) = self._run("(run-schedule (run axioms) (saturate types))")
        matches = output.report.num_matches_per_rule
        fired = frozenset(name for name, count in matches.items() if count and not name.startswith("type:"))
        return Round(fired, bool(output.report.updated))

    def proved(self) -> frozenset[tuple[int, int]]:
        """(candidate, output) pairs that are equal to the program's output."""
        (output,) = self._run("(print-function Proved 1000000)")
        found = (line.split("->")[0].strip(" ()").split() for line in str(output).splitlines() if "Proved" in line)
        return frozenset((int(candidate), int(out)) for _, candidate, out in found)

    def size(self) -> int:
        """E-nodes and facts held."""
        (output,) = self._run("(print-size)")
        return sum(count for _, count in output.sizes)

    def _run(self, text: str) -> list[Any]:
        try:
            return list(self._egraph.run_program(*self._egraph.parse_program(text)))
        except bindings.EggSmolError as error:
            if "Illegal merge" in str(error):
                raise SoundnessError(
                    "an axiom united two tensors of different shape; this is a bug in the verifier"
                ) from error
            raise


def reachable(rules: Sequence[Rule], symbols: Iterable[str]) -> list[Rule]:
    """The rules that can ever match in an e-graph that starts with these constructors."""
    have, chosen, waiting = set(symbols), dict[str, Rule](), list(rules)
    while True:
        ready = [r for r in waiting if r.symbols <= have]
        if not ready:
            return [r for r in rules if r.name in chosen]
        for rule in ready:
            chosen[rule.name] = rule
            have |= set(constructors(parse_pattern(rule.right)))
        waiting = [r for r in waiting if r.name not in chosen]


def _term(expr: Expr, name: Mapping[Expr, str]) -> str:
    attrs = [
        str(a) if isinstance(a, int) else '"' + a.replace("\\", "\\\\").replace('"', '\\"') + '"' for a in expr.attrs
    ]
    return f"({' '.join([expr.symbol, *(name[o] for o in expr.operands), *attrs])})"


def _numbers(values: Iterable[int]) -> str:
    return " ".join(map(str, values))


def _show(pattern: Pattern) -> str:
    return pattern if isinstance(pattern, str) else f"({' '.join(map(_show, pattern))})"


def _rule_text(rule: Rule) -> str:
    facts = [f"(= whole {rule.left})"]
    facts += [f"(Partial{rule.given_monoid} {e} {p} {t})" for e, p, t in rule.given]
    for k, condition in enumerate(rule.when):
        facts += _condition(condition, k)
    action = f"(union whole {rule.right})"
    if rule.concludes is not None:
        action = f"(Partial{rule.concludes} whole {rule.over} {rule.right})"
    return f'(rule ({" ".join(facts)}) ({action}) :ruleset axioms :name "{rule.name}")'


def _condition(text: str, k: int) -> list[str]:
    name, arguments = split_condition(text)
    shown = [_show(a) for a in arguments]
    match name:
        case "one":
            return [f"(= s{k} (shape {shown[0]}))", f"(= 1 (vec-get s{k} (+ {shown[1]} 1)))"]
        case "same":
            a, b, d = shown
            same = f"(= (vec-get s{k} (+ {d} 1)) (vec-get r{k} (+ {d} 1)))"
            return [f"(= s{k} (shape {a}))", f"(= r{k} (shape {b}))", same]
        case "alike":
            return [f"(= s{k} (shape {shown[0]}))", f"(= s{k} (shape {shown[1]}))"]
        case "flat":
            v, d, t = shown
            return [f"(= s{k} (shape {v}))", f"(= r{k} (shape {t}))", f"(= s{k} (vec-set r{k} (+ {d} 1) 1))"]
        case "differ":
            return [f"(!= {shown[0]} {shown[1]})"]
        case "below":
            return [f"(< {shown[0]} {shown[1]})"]
        case "moves":
            return [f"(Moves {' '.join(shown)})"]
        case _:
            raise ValueError(f"unknown precondition '{text}'")


def _binary_types(symbols: Iterable[str], ranks: Sequence[int]) -> list[str]:
    """Elementwise shapes with broadcast, for each rank."""
    rules: list[str] = []
    for op in sorted(set(symbols) & set(BINARY_SYMBOLS)):
        for rank in ranks:
            sizes = [f"(max (vec-get s {d}) (vec-get r {d}))" for d in range(1, rank + 1)]
            rules.append(
                f"(rule ((= e {applied(op, 'a', 'b')}) (= s (shape a)) (= {rank + 1} (vec-length s)) (= r (shape b)))"
                f" ((set (shape e) (vec-of (vec-get s 0) {' '.join(sizes)})))"
                f' :ruleset types :name "type:{op}{rank}")'
            )
    return rules


def _moves(order: Sequence[Expr]) -> list[str]:
    """For every transpose and reshape in use: its result's shape, and which dims it carries where."""
    program: dict[str, None] = {}
    for expr in order:
        if expr.symbol not in ("Transpose", "Reshape"):
            continue
        attr = str(expr.attrs[0])
        if expr.symbol == "Transpose":
            perm = [int(n) for n in attr.split(",") if n]
            carried, sizes = list(zip(perm, range(len(perm)), strict=True)), [f"(vec-get s {d + 1})" for d in perm]
        else:
            source, target = reshape_shapes(attr)
            groups = reshape_groups(source, target)
            carried = [(a[0], b[0]) for a, b in groups if len(a) == len(b) == 1]
            sizes = [str(n) for n in target]
            for d, k in carried:
                sizes[k] = f"(vec-get s {d + 1})"
        program |= {f'(Moves "{attr}" {d} {k})': None for d, k in carried}
        program[
            f'(rule ((= e ({expr.symbol} t "{attr}")) (= s (shape t))) ((set (shape e) (vec-of (vec-get s 0) {" ".join(sizes)})))'
            f' :ruleset types :name "type:{expr.symbol}:{attr}")'
        ] = None
    return list(program)
