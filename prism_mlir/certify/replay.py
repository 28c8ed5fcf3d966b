"""Follow a chain of rule applications, one step after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prism_mlir.certify.axioms import Axiom, Pattern, axioms, split
from prism_mlir.certify.sizes import ONE, Refused, Size
from prism_mlir.certify.terms import Attr, Term, Terms, subterm
from prism_mlir.certify.typing import Typer, carried

Filled = Mapping[str, Term | Attr]


class Replay:
    """Checks chains over one program. ``table`` holds the terms that steps refer to by number."""

    def __init__(self, terms: Terms, typer: Typer, table: Sequence[Term]) -> None:
        self._terms, self._type, self._table = terms, typer, table

    def follow(self, start: Term, end: Term, steps: Any) -> list[Axiom]:
        """The axioms used on the way. Raises :class:`Refused` at the first step that does not hold, or where the chain does
        not lead from ``start`` to ``end``."""
        used: list[Axiom] = []
        if not isinstance(steps, list):
            raise Refused("a chain is a list of steps")
        whole = start
        self._type(whole)
        for k, step in enumerate(steps):
            try:
                axiom, whole = self._step(whole, step)
            except Refused as error:
                raise Refused(f"step {k}: {error.message}") from None
            used.append(axiom)
        if whole is not end:
            raise Refused(f"after {len(steps)} steps the chain is at {whole}, not at {end}")
        return used

    def _step(self, whole: Term, step: Any) -> tuple[Axiom, Term]:
        match step:
            case {"rule": str() as name, "forward": bool() as forward, "at": list() as at, "with": dict() as with_}:
                pass
            case _:
                raise Refused("not of the form rule, forward, at, with")
        axiom = axioms().get(name)
        if axiom is None:
            raise Refused(f"there is no axiom '{name}'")
        filled = self._filled(axiom, with_)
        self._check_conditions(axiom, filled)
        left, right = self._build(axiom.left, filled), self._build(axiom.right, filled)
        if self._type(left) != self._type(right):
            raise Refused(f"{name} changes the type of {left}")
        old, new = (left, right) if forward else (right, left)
        if subterm(whole, at) is not old:
            raise Refused(f"{name} does not apply at {at}: {subterm(whole, at)} is not {old}")
        return axiom, self._terms.replace(whole, at, new)

    def _filled(self, axiom: Axiom, given: Mapping[str, Any]) -> Filled:
        tensors = {v for side in (axiom.left, axiom.right) for v in _tensors(side)}
        filled: dict[str, Term | Attr] = {}
        for name, value in given.items():
            if name in tensors:
                if type(value) is not int or not 0 <= value < len(self._table):
                    raise Refused(f"variable {name} names no term")
                filled[name] = self._table[value]
            elif type(value) in (int, str):
                filled[name] = value
            else:
                raise Refused(f"variable {name} has no value")
        return filled

    def _build(self, pattern: Pattern, filled: Filled) -> Term:
        if isinstance(pattern, str):
            found = filled.get(pattern)
            if not isinstance(found, Term):
                raise Refused(f"variable {pattern} has no value")
            return found
        symbol, operands, attrs = split(pattern)
        return self._terms.make(symbol, [self._build(o, filled) for o in operands], [_attr(a, filled) for a in attrs])

    def _check_conditions(self, axiom: Axiom, filled: Filled) -> None:
        for condition in axiom.when:
            if not self._holds(str(condition[0]), condition[1:], filled):
                raise Refused(f"{axiom.name} needs '{' '.join(map(str, condition))}'")

    def _holds(self, name: str, arguments: Sequence[Pattern], filled: Filled) -> bool:
        match name:
            case "alike":
                first, second = (self._type(self._build(x, filled)).shape for x in arguments)
                return first == second
            case "flat":
                d, tall = _attr(arguments[1], filled), self._type(self._build(arguments[2], filled)).shape
                flat = self._type(self._build(arguments[0], filled)).shape
                return isinstance(d, int) and 0 <= d < len(tall) and flat == (*tall[:d], ONE, *tall[d + 1 :])
            case "one":
                return self._size(arguments[0], arguments[1], filled) == ONE
            case "flat":
                first, second = (self._type(self._build(x, filled)).shape for x in (arguments[0], arguments[2]))
                d = _attr(arguments[1], filled)
                return isinstance(d, int) and 0 <= d < len(second) and first == (*second[:d], ONE, *second[d + 1 :])
            case "same":
                return self._size(arguments[0], arguments[2], filled) == self._size(arguments[1], arguments[2], filled)
        values = [_attr(a, filled) for a in arguments]
        match name, values:
            case "differ", [x, y]:
                return x != y
            case "below", [int() as x, int() as y]:
                return x < y
            case "moves", [move, int() as d, k]:
                return carried(str(move)).get(d) == k
        raise Refused(f"unknown condition '{name}'")

    def _size(self, tensor: Pattern, d: Pattern, filled: Filled) -> Size:
        shape, dim = self._type(self._build(tensor, filled)).shape, _attr(d, filled)
        if not isinstance(dim, int) or not 0 <= dim < len(shape):
            raise Refused(f"a tensor of rank {len(shape)} has no dim {dim}")
        return shape[dim]


def _attr(pattern: Pattern, filled: Filled) -> Attr:
    assert isinstance(pattern, str)
    if pattern.startswith('"'):
        return pattern.strip('"')
    if pattern.isdigit():
        return int(pattern)
    found = filled.get(pattern)
    if found is None or isinstance(found, Term):
        raise Refused(f"variable {pattern} has no value")
    return found


def _tensors(pattern: Pattern) -> set[str]:
    if isinstance(pattern, str):
        return {pattern}
    return {v for operand in split(pattern)[1] for v in _tensors(operand)}
