"""How an operator splits over a parallel dim: one axiom, and the rules that follow from it.

The axiom is the paper's form (Table 1): cut the operands, apply the operator to the tiles, join the results::

    join(f(cut(a), cut(b))) = f(a, b)          Comb(Matmul(Part(a,row,p), Repl(b,p)), row, p) = Matmul(a, b)

What the prover uses is derived, not listed (paper, section 6, "inverse rules"):

- *outward*: the join is undone on the right, ``f(cut(a), cut(b)) = join⁻¹(f(a, b))``, with ``Comb⁻¹ = Part`` and
  ``Unrepl⁻¹ = Repl``. ``Red`` and ``RedMax`` have no inverse: many tiles have one total, so there the rule concludes the relation
  "the reduction of this tile is f(a, b)";
- *of joined operands*: each operand that is cut by ``Part`` is taken to be a ``Comb``, whose ``Part`` cancels:
  ``f(Comb(a), b) = join(f(a, cut(b)))``.
"""

from __future__ import annotations

from dataclasses import dataclass

from prism_mlir.verify.rule import Monoid, Rule

_INVERSE = {"Comb": "Part", "Unrepl": "Repl"}


@dataclass(frozen=True, slots=True)
class Parallelized:
    """An axiom ``join(f(cut(a), ...)) = f(a, ...)``, over the parallel dim ``p``.

    outward, joined: names of the derived rules; ``joined`` is empty where no operand is partitioned
    function: ``f`` as a pattern; ``cuts`` says for each of its tensor variables how it is cut: ``Part d`` or ``Repl``
    join:     ``Comb d``, ``Unrepl``, ``Red`` or ``RedMax``
    """

    outward: str
    joined: str
    function: str
    cuts: tuple[tuple[str, str], ...]
    join: str
    source: str
    when: tuple[str, ...] = ()

    @property
    def axiom(self) -> Rule:
        """The axiom itself, as a rule (the prover works with what is derived from it)."""
        tiles = self._applied({a: _wrap(cut, a) for a, cut in self.cuts})
        return Rule(f"{self.outward}-axiom", _wrap(self.join, tiles), self.function, self.source, self.when)

    def rules(self) -> tuple[Rule, ...]:
        """The rules the prover uses."""
        return (self._outward(), *([self._joined()] if self.joined else []))

    def _outward(self) -> Rule:
        tiles = self._applied({a: _wrap(cut, a) for a, cut in self.cuts})
        symbol, *dims = self.join.split()
        if symbol in _INVERSE:
            undone = _wrap(" ".join([_INVERSE[symbol], *dims]), self.function)
            return Rule(self.outward, tiles, undone, f"inverse of {self.source}", self.when)
        source = f"relation of {self.source}"
        return Rule(self.outward, tiles, self.function, source, self.when, concludes=Monoid(symbol), over="p")

    def _joined(self) -> Rule:
        whole = {a: _wrap(cut.replace("Part", "Comb"), a) if cut.startswith("Part") else a for a, cut in self.cuts}
        tiles = {a: a if cut.startswith("Part") else _wrap(cut, a) for a, cut in self.cuts}
        right = _wrap(self.join, self._applied(tiles))
        return Rule(self.joined, self._applied(whole), right, f"{self.source}, of joined operands", self.when)

    def _applied(self, operands: dict[str, str]) -> str:
        head, *arguments = self.function.strip("()").split()
        return f"({' '.join([head, *(operands.get(a, a) for a in arguments)])})"


def _wrap(operator: str, operand: str) -> str:
    """``Part d`` around ``a``: ``(Part a d p)``."""
    symbol, *dims = operator.split()
    return f"({' '.join([symbol, operand, *dims, 'p'])})"
