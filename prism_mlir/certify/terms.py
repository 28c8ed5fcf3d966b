"""Terms: operators of the program, and of parallelism. Equal terms are one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prism_mlir.certify.sizes import Refused

Attr = int | str

SYMBOLS: dict[str, tuple[int, str]] = {
    "Var": (0, "d"),
    "Part": (1, "dp"),
    "Comb": (1, "dp"),
    "Red": (1, "p"),
    "RedMax": (1, "p"),
    "RedMin": (1, "p"),
    "Repl": (1, "p"),
    "Unrepl": (1, "p"),
    "Matmul": (2, "dd"),
    "Unary": (1, "s"),
    "Add": (2, ""),
    "Sub": (2, ""),
    "Mul": (2, ""),
    "Div": (2, ""),
    "Max": (2, ""),
    "Min": (2, ""),
    "Keep": (2, "s"),
    "Sum": (1, "d"),
    "ReduceMax": (1, "d"),
    "ReduceMin": (1, "d"),
    "Transpose": (1, "s"),
    "Reshape": (1, "s"),
    "Constant": (0, "ss"),
}
"""Tensor operands of each constructor, then its attributes: d a dim, p a parallel dim, s text."""

BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Keep")
REDUCTIONS = ("Sum", "ReduceMax", "ReduceMin")
PARALLEL = ("Part", "Comb", "Red", "RedMax", "RedMin", "Repl", "Unrepl")


MAX_DEPTH = 200


class Term:
    """A term. Only :class:`Terms` makes them, so identity is equality."""

    __slots__ = ("attrs", "depth", "operands", "symbol")

    def __init__(self, symbol: str, operands: tuple[Term, ...], attrs: tuple[Attr, ...]) -> None:
        self.symbol, self.operands, self.attrs = symbol, operands, attrs
        self.depth: int = 1 + max((o.depth for o in operands), default=0)

    def __repr__(self) -> str:
        return self._show(6)

    def _show(self, levels: int) -> str:
        """As text, but no deeper than some levels: written out, a term can be exponentially larger than it is."""
        if not levels:
            return "..."
        return f"{self.symbol}({', '.join([*(o._show(levels - 1) for o in self.operands), *map(str, self.attrs)])})"


class Terms:
    """Makes terms, each once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], Term] = {}

    def make(self, symbol: str, operands: Sequence[Term] = (), attrs: Sequence[Attr] = ()) -> Term:
        """``symbol(operands, attrs)``. Raises :class:`Refused` for an unknown symbol or wrong arguments."""
        if symbol not in SYMBOLS:
            raise Refused(f"there is no operator '{symbol}'")
        count, kinds = SYMBOLS[symbol]
        wanted = [str if kind in "ps" else int for kind in kinds]
        if len(operands) != count or [type(a) for a in attrs] != wanted:
            raise Refused(f"{symbol} takes {count} tensors and {len(kinds)} attributes")
        if any(o.depth >= MAX_DEPTH for o in operands):
            raise Refused(f"a term is nested more than {MAX_DEPTH} deep")
        key = (symbol, *map(id, operands), *attrs)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Term(symbol, tuple(operands), tuple(attrs))
        return found

    def table(self, rows: Any) -> list[Term]:
        """The terms of a certificate: rows ``[symbol, [earlier rows], [attributes]]``."""
        made: list[Term] = []
        if not isinstance(rows, list):
            raise Refused("a certificate's terms are a list of rows")
        for k, row in enumerate(rows):
            match row:
                case [str() as symbol, list() as operands, list() as attrs]:
                    if any(type(o) is not int or not 0 <= o < k for o in operands):
                        raise Refused(f"term {k} uses a term that does not come before it")
                    made.append(self.make(symbol, [made[o] for o in operands], attrs))
                case _:
                    raise Refused(f"term {k} is not of the form [symbol, operands, attributes]")
        return made

    def replace(self, whole: Term, position: Sequence[int], part: Term) -> Term:
        """``whole`` with the subterm at ``position`` replaced."""
        if not position:
            return part
        operands = list(whole.operands)
        operands[position[0]] = self.replace(operands[position[0]], position[1:], part)
        return self.make(whole.symbol, operands, whole.attrs)


def subterm(whole: Term, position: Sequence[int]) -> Term:
    """The subterm at ``position``. Raises :class:`Refused` where there is none."""
    for k in position:
        if type(k) is not int or not 0 <= k < len(whole.operands):
            raise Refused(f"there is no position {list(position)}")
        whole = whole.operands[k]
    return whole
