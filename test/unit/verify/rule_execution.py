"""Runs axioms: a pattern is filled with random tensors of random shape, and both sides are evaluated in exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prism_mlir.graph.errors import InputError
from prism_mlir.graph.fields import PrimeField, Reals
from prism_mlir.verify.expr import Expr, TileType, evaluate_exprs, reshape_shapes, term, tile_reshape, types_of
from prism_mlir.verify.rule import Pattern, Rule, Sort, constructors, parse_pattern, split_condition, variables

SIZES = {"p": 2, "q": 3}
DIM_SIZES = (1, 1, 2, 3, 6, 6, 12)
FUNCTIONS = ("exp(x)", "x**2", "x/(1 + exp(-x))")
TEXTS = {"f": FUNCTIONS, "n": ("0.0", "-inf", "0.5")}  # functions, and what a mask puts where it is zero
RESHAPES = ("2,3,6->6,6", "6,6->2,3,6", "6,2,3->6,6", "12,6->12,2,3", "6,12,1->6,12")


class Reject(Exception):
    """This draw does not fit the pattern; draw again."""


@dataclass
class Case:
    """One way to fill a rule. texts: variables that are no tensors, filled; tensors: variables that are, as terms."""

    rng: np.random.Generator
    texts: dict[str, int | str] = field(default_factory=dict)
    tensors: dict[str, Expr] = field(default_factory=dict)
    inputs: list[TileType] = field(default_factory=list)

    def choice(self, options):
        return options[int(self.rng.integers(len(options)))]

    def atom(self, pattern: str) -> int | str:
        if pattern.startswith('"'):
            return pattern.strip('"')
        return int(pattern) if pattern.isdigit() else self.texts[pattern]

    def fill(self, pattern: Pattern, wanted: TileType) -> Expr:
        """A term of type ``wanted`` that matches the pattern; tensor variables get whatever type that takes."""
        if isinstance(pattern, str):
            if pattern not in self.tensors:
                self.tensors[pattern] = term("Var", (), (len(self.inputs),))
                self.inputs.append(wanted)
            if self.inputs[int(self.tensors[pattern].attrs[0])] != wanted:
                raise Reject
            return self.tensors[pattern]
        symbol = pattern[0]
        children = [a for a in pattern[1:] if isinstance(a, tuple) or a in self._tensor_names]
        attrs = [self.atom(a) for a in pattern[1 + len(children) :]]
        types = self.operand_types(symbol, attrs, wanted)
        return term(symbol, [self.fill(c, t) for c, t in zip(children, types, strict=True)], attrs)

    def operand_types(self, symbol: str, attrs, wanted: TileType) -> list[TileType]:
        shape, parallel = wanted
        match symbol:
            case "Part" | "Repl":
                p = attrs[-1]
                if p not in parallel:
                    raise Reject
                size = SIZES[p] if symbol == "Part" else 1
                return [TileType(_scale(shape, attrs[0], size) if symbol == "Part" else shape, parallel - {p})]
            case "Comb" | "Red" | "RedMax" | "RedMin" | "Unrepl":
                p = attrs[-1]
                if p in parallel or (symbol == "Comb" and shape[attrs[0]] % SIZES[p]):
                    raise Reject
                cut = _set(shape, attrs[0], shape[attrs[0]] // SIZES[p]) if symbol == "Comb" else shape
                return [TileType(cut, parallel | {p})]
            case "Matmul":
                inner = self.choice(DIM_SIZES)
                return [
                    TileType((*shape[:-1], inner), parallel),
                    TileType((*shape[:-2], inner, shape[-1]), parallel),
                ]
            case "Sum" | "ReduceMax" | "ReduceMin":
                if shape[attrs[0]] != 1:
                    raise Reject
                return [TileType(_set(shape, attrs[0], self.choice(DIM_SIZES)), parallel)]
            case "Unary":
                return [wanted]
            case "Transpose":
                perm = [int(n) for n in attrs[0].split(",")]
                source = [0] * len(perm)
                for k, d in enumerate(perm):
                    source[d] = shape[k]
                return [TileType(tuple(source), parallel)]
            case "Reshape":
                source, target = reshape_shapes(attrs[0])
                back = f"{','.join(map(str, target))}->{','.join(map(str, source))}"
                return [TileType(tile_reshape(back, shape), parallel)]
            case _:
                kinds = [self.choice(("both", "both", "both", "left", "right")) for _ in shape]
                left = tuple(1 if kind == "right" else n for n, kind in zip(shape, kinds, strict=True))
                right = tuple(1 if kind == "left" else n for n, kind in zip(shape, kinds, strict=True))
                return [TileType(left, parallel), TileType(right, parallel)]

    def build(self, pattern: Pattern) -> Expr:
        """The term of a pattern whose variables are all known."""
        if isinstance(pattern, str):
            return self.tensors[pattern]
        children = [a for a in pattern[1:] if isinstance(a, tuple) or a in self.tensors]
        attrs = [self.atom(a) for a in pattern[1 + len(children) :]]
        return term(pattern[0], [self.build(c) for c in children], attrs)

    _tensor_names: frozenset[str] = frozenset()


def _scale(shape, d, factor):
    return _set(shape, d, shape[d] * factor)


def _set(shape, d, size):
    return (*shape[:d], size, *shape[d + 1 :])


def draw(rule: Rule, rng: np.random.Generator) -> tuple[Case, Expr, Expr]:
    """Both sides of a rule, filled. Raises :class:`Reject` where this draw does not fit or a precondition fails.

    A rule about partial results is filled by its meaning: ``t`` is the reduction of ``e``, and it concludes that the
    reduction of its left side is its right side.
    """
    left, right = parse_pattern(rule.left), parse_pattern(rule.right)
    found = variables(left)
    for condition in rule.when:
        for argument in split_condition(condition)[1]:
            found |= {v: s for v, s in variables(argument, Sort.DIM).items() if v not in found}
    found |= {p: Sort.PARALLEL for _, p, _ in rule.given}
    case = Case(rng, _tensor_names=frozenset(v for v, s in found.items() if s is Sort.TENSOR))
    rank = 2 + int(rng.integers(2))
    symbols = set(constructors(left))
    attr = case.choice(RESHAPES)
    if "Reshape" in symbols:
        rank = len(reshape_shapes(attr)[1])
    for name, sort in found.items():
        case.texts[name] = {
            Sort.TENSOR: lambda: 0,
            Sort.DIM: lambda n=name: {"row": rank - 2, "col": rank - 1}.get(n, int(rng.integers(rank))),
            Sort.PARALLEL: lambda: case.choice(("p", "q")),
            Sort.TEXT: lambda n=name: case.choice(TEXTS[n]) if n in TEXTS else _move(case, symbols, rank, attr),
        }[sort]()
    parallel = frozenset(p for p in SIZES if rng.integers(2))
    shape = [case.choice(DIM_SIZES) for _ in range(rank)]
    if left[0] in ("Sum", "ReduceMax", "ReduceMin"):
        shape[int(case.atom(left[-1]))] = 1
    if "Reshape" in symbols:
        shape = list(reshape_shapes(attr)[1])
    try:
        whole = case.fill(left, TileType(tuple(shape), parallel))
    except (InputError, IndexError) as error:
        raise Reject from error
    for e, p, t in rule.given:
        case.tensors[t] = term(rule.given_monoid.value, [case.tensors[e]], [case.texts[p]])
    if rule.concludes is not None:
        whole = term(rule.concludes.value, [whole], [case.texts[rule.over]])
    try:
        types = types_of([whole, *(case.tensors[t] for _, _, t in rule.given)], case.inputs, SIZES)
    except InputError as error:
        raise Reject from error
    for condition in rule.when:
        if not _holds(case, condition, types):
            raise Reject
    return case, whole, case.build(right)


def _move(case: Case, symbols, rank: int, attr: str) -> str:
    return attr if "Reshape" in symbols else ",".join(map(str, case.rng.permutation(rank)))


def _holds(case: Case, condition: str, types) -> bool:
    name, arguments = split_condition(condition)
    if name == "alike":
        a, b = (types[case.build(x)].shape for x in arguments)
        return a == b
    if name == "one":
        return types[case.tensors[arguments[0]]].shape[case.atom(arguments[1])] == 1
    if name == "same":
        d = case.atom(arguments[2])
        a, b = (types[case.tensors[x]].shape[d] for x in arguments[:2])
        return a == b
    if name == "flat":
        d = case.atom(arguments[1])
        flat, shape = (types[case.tensors[arguments[k]]].shape for k in (0, 2))
        return flat == (*shape[:d], 1, *shape[d + 1 :])
    values = [case.atom(x) for x in arguments]
    if name == "differ":
        return values[0] != values[1]
    if name == "below":
        return values[0] < values[1]
    text, d, k = values
    if "->" not in text:
        return int(text.split(",")[k]) == d
    source, target = reshape_shapes(text)
    rest = (np.prod(source[:d]), source[d]) == (np.prod(target[:k]), target[k])
    return bool(rest) and source[d] != 1


def failure(rule: Rule, cases: int, seed: int = 0, attempts: int = 40_000) -> str:
    """Why a rule is not to be trusted; empty if it held in ``cases`` random cases."""
    rng, done = np.random.default_rng(seed), 0
    domain = PrimeField() if rule.exact else Reals()
    for _ in range(attempts):
        if done == cases:
            return ""
        try:
            case, left, right = draw(rule, rng)
        except Reject:
            continue
        done += 1
        if problem := _compare(case, left, right, domain):
            return f"{rule.name}: {problem}: {left} with {[t.shape for t in case.inputs]} is not {right}"
    return f"{rule.name}: filled only {done} times in {attempts} attempts"


def _compare(case: Case, left: Expr, right: Expr, domain) -> str:
    try:
        types = types_of([left, right], case.inputs, SIZES)
    except InputError as error:
        return error.message
    if types[left] != types[right]:
        return f"{types[left]} became {types[right]}"
    inputs = [(t, _random(case.rng, t, domain)) for t in case.inputs]
    a, b = evaluate_exprs([left, right], inputs, SIZES, domain)
    same = np.array_equal(a, b) if isinstance(domain, PrimeField) else np.allclose(a, b, rtol=1e-9)
    return "" if same else "values differ"


def _random(rng: np.random.Generator, t: TileType, domain):
    shape = (*(n if p in t.parallel else 1 for p, n in SIZES.items()), *t.shape)
    return rng.integers(1, domain.p, shape) if isinstance(domain, PrimeField) else rng.uniform(0.5, 1.5, shape)
