"""Axioms of the parallel operators, and how elementwise operators commute with them.

Everything is pushed outward: inside a kernel each tile becomes ``part`` or ``repl`` of a whole tensor, until the saver's
``comb`` cancels. That is the direction of the paper's "inverse" rules (section 6).
"""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.verify.parallelized import Parallelized
from prism_mlir.verify.rule import BINARY_SYMBOLS, MOVE_SYMBOLS, Rule, applied

PAPER = "paper Table 1: "
INVERSE = "paper section 6, inverse rule of Table 1: "


def _cancellation() -> list[Rule]:
    return [
        Rule("comb-part", "(Comb (Part t d p) d p)", "t", PAPER + "comb cancels part"),
        Rule("part-comb", "(Part (Comb t d p) d p)", "t", INVERSE + "part cancels comb"),
        Rule(
            "unrepl-repl",
            "(Unrepl (Repl t p) p)",
            "t",
            "ours: what all blocks agree on is the tile they have copies of",
        ),
        Rule("redmax-repl", "(RedMax (Repl t p) p)", "t", "ours: the maximum of equal copies (a sum would count them)"),
        Rule("redmin-repl", "(RedMin (Repl t p) p)", "t", "ours: the minimum of equal copies"),
    ]


def _commutation() -> list[Rule]:
    """Needed where two kernels nest parallel operators differently; a single kernel keeps one order."""
    both = [
        Rule("part-repl", "(Part (Repl t p) d q)", "(Repl (Part t d q) p)", PAPER + "part and repl commute"),
        Rule("comb-repl", "(Comb (Repl t p) d q)", "(Repl (Comb t d q) p)", PAPER + "comb and repl commute"),
        Rule("red-part", "(Red (Part t d q) p)", "(Part (Red t p) d q)", PAPER + "red and part commute"),
        Rule("comb-red", "(Comb (Red t p) d q)", "(Red (Comb t d q) p)", PAPER + "comb and red commute"),
        Rule("red-repl", "(Red (Repl t q) p)", "(Repl (Red t p) q)", "ours: red over p and copies along q commute"),
    ]
    for red in ("RedMax", "RedMin"):
        name = red.lower()
        both += [
            Rule(f"{name}-part", f"({red} (Part t d q) p)", f"(Part ({red} t p) d q)", "ours: as red and part"),
            Rule(f"{name}-comb", f"(Comb ({red} t p) d q)", f"({red} (Comb t d q) p)", "ours: as comb and red"),
            Rule(f"{name}-repl-other", f"({red} (Repl t q) p)", f"(Repl ({red} t p) q)", "ours: as red and repl"),
        ]
    two_dims = [
        Rule(
            "part-part", "(Part (Part t d p) k q)", "(Part (Part t k q) d p)", PAPER + "nested part operators commute"
        ),
        Rule(
            "comb-comb", "(Comb (Comb t d p) k q)", "(Comb (Comb t k q) d p)", PAPER + "nested comb operators commute"
        ),
    ]
    part_comb = Rule("part-comb-other", "(Part (Comb t d p) k q)", "(Comb (Part t k q) d p)", "ours: on different dims")
    symmetric = [
        Rule("repl-repl", "(Repl (Repl t p) q)", "(Repl (Repl t q) p)", "ours: copies along p and along q commute"),
        Rule("red-red", "(Red (Red t p) q)", "(Red (Red t q) p)", "ours: sums over p and over q commute"),
        Rule("redmax-redmax", "(RedMax (RedMax t p) q)", "(RedMax (RedMax t q) p)", "ours: as red and red"),
        Rule("redmin-redmin", "(RedMin (RedMin t p) q)", "(RedMin (RedMin t q) p)", "ours: as red and red"),
    ]
    rules = [_when(r, "differ p q") for r in (*both, *(b.reverse for b in both), *symmetric)]
    rules += [_when(r, "differ p q", "differ d k") for r in (*two_dims, part_comb, part_comb.reverse)]
    return [_in_group(r, "commute") for r in rules]


def _unary() -> list[Parallelized]:
    whole = "(Unary t f)"
    axioms = [
        Parallelized(
            "unary-part",
            "unary-comb",
            whole,
            (("t", "Part d"),),
            "Comb d",
            PAPER + "unary op commutes with part and comb",
        ),
        Parallelized("unary-repl", "", whole, (("t", "Repl"),), "Unrepl", PAPER + "unary op commutes with repl"),
    ]
    for move in MOVE_SYMBOLS:
        name, whole, carried = move.lower(), f"({move} t m)", ("moves m d k",)
        cut, copies = (("t", "Part d"),), (("t", "Repl"),)
        axioms += [
            Parallelized(
                f"{name}-part", f"{name}-comb", whole, cut, "Comb k", "ours: a dim is cut, then moved", carried
            ),
            Parallelized(f"{name}-repl", "", whole, copies, "Unrepl", "ours: copies may be moved"),
        ]
    return axioms


def _binary(op: str) -> list[Parallelized]:
    """With broadcast: along a dim where one operand has size 1, it is replicated where the other is partitioned."""
    name, whole, source = op.lower(), applied(op, "a", "b"), PAPER + "binary op commutes with part and comb"
    broadcast = source + ", with broadcast"
    part, repl = "Part d", "Repl"
    return [
        Parallelized(
            f"{name}-part-part",
            f"{name}-comb-comb",
            whole,
            (("a", part), ("b", part)),
            "Comb d",
            source,
            ("same a b d",),
        ),
        Parallelized(
            f"{name}-part-repl",
            f"{name}-comb-whole",
            whole,
            (("a", part), ("b", repl)),
            "Comb d",
            broadcast,
            ("one b d",),
        ),
        Parallelized(
            f"{name}-repl-part",
            f"{name}-whole-comb",
            whole,
            (("a", repl), ("b", part)),
            "Comb d",
            broadcast,
            ("one a d",),
        ),
        Parallelized(
            f"{name}-repl-repl", "", whole, (("a", repl), ("b", repl)), "Unrepl", PAPER + "binary op commutes with repl"
        ),
    ]


def _when(rule: Rule, *conditions: str) -> Rule:
    return replace(rule, when=(*rule.when, *conditions))


def _in_group(rule: Rule, group: str) -> Rule:
    return replace(rule, group=group)


ELEMENTWISE: tuple[Parallelized, ...] = (*_unary(), *(axiom for op in BINARY_SYMBOLS for axiom in _binary(op)))
"""How elementwise operators, transposes and reshapes split over a parallel dim."""

PARALLEL_RULES: tuple[Rule, ...] = (
    *_cancellation(),
    *_commutation(),
    *(rule for axiom in ELEMENTWISE for rule in axiom.rules()),
)
