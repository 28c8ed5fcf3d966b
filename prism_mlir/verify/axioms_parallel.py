"""Axioms of the parallel operators, and how elementwise operators commute with them.

Everything is pushed outward: inside a kernel each tile becomes ``part`` or ``repl`` of a whole tensor, until the saver's
``comb`` cancels. That is the direction of the paper's "inverse" rules (section 6).
"""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.verify.rule import BINARY_SYMBOLS, MOVE_SYMBOLS, Rule

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
    ]


def _commutation() -> list[Rule]:
    """Needed where two kernels nest parallel operators differently; a single kernel keeps one order."""
    both = [
        Rule("part-repl", "(Part (Repl t p) d q)", "(Repl (Part t d q) p)", PAPER + "part and repl commute"),
        Rule("comb-repl", "(Comb (Repl t p) d q)", "(Repl (Comb t d q) p)", PAPER + "comb and repl commute"),
        Rule("red-part", "(Red (Part t d q) p)", "(Part (Red t p) d q)", PAPER + "red and part commute"),
        Rule("comb-red", "(Comb (Red t p) d q)", "(Red (Comb t d q) p)", PAPER + "comb and red commute"),
        Rule("red-repl", "(Red (Repl t q) p)", "(Repl (Red t p) q)", "ours: red over p and copies along q commute"),
        Rule("redmax-part", "(RedMax (Part t d q) p)", "(Part (RedMax t p) d q)", "ours: as red and part"),
        Rule("redmax-comb", "(Comb (RedMax t p) d q)", "(RedMax (Comb t d q) p)", "ours: as comb and red"),
        Rule("redmax-repl-other", "(RedMax (Repl t q) p)", "(Repl (RedMax t p) q)", "ours: as red and repl"),
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
    ]
    rules = [_when(r, "differ p q") for r in (*both, *(b.reverse for b in both), *symmetric)]
    rules += [_when(r, "differ p q", "differ d k") for r in (*two_dims, part_comb, part_comb.reverse)]
    return [_in_group(r, "commute") for r in rules]


def _unary() -> list[Rule]:
    rules = [
        Rule("unary-part", "(Unary (Part t d p) f)", "(Part (Unary t f) d p)", PAPER + "unary op commutes with part"),
        Rule("unary-comb", "(Unary (Comb t d p) f)", "(Comb (Unary t f) d p)", PAPER + "unary op commutes with comb"),
        Rule("unary-repl", "(Unary (Repl t p) f)", "(Repl (Unary t f) p)", PAPER + "unary op commutes with repl"),
    ]
    for move in MOVE_SYMBOLS:
        name, moved = move.lower(), ("moves m d k",)
        rules += [
            Rule(
                f"{name}-part",
                f"({move} (Part t d p) m)",
                f"(Part ({move} t m) k p)",
                "ours: a dim is cut, then moved",
                moved,
            ),
            Rule(f"{name}-comb", f"({move} (Comb t d p) m)", f"(Comb ({move} t m) k p)", "ours: as with part", moved),
            Rule(f"{name}-repl", f"({move} (Repl t p) m)", f"(Repl ({move} t m) p)", "ours: copies may be moved"),
        ]
    return rules


def _binary(op: str) -> list[Rule]:
    """With broadcast: along a dim where one operand has size 1, it is replicated where the other is partitioned."""
    name, comb, part = op.lower(), f"(Comb ({op} a b) d p)", f"(Part ({op} a b) d p)"
    return [
        Rule(
            f"{name}-part-part",
            f"({op} (Part a d p) (Part b d p))",
            part,
            PAPER + "binary op commutes with part",
            ("same a b d",),
        ),
        Rule(
            f"{name}-part-repl",
            f"({op} (Part a d p) (Repl b p))",
            part,
            PAPER + "the same, with broadcast",
            ("one b d",),
        ),
        Rule(
            f"{name}-repl-part",
            f"({op} (Repl a p) (Part b d p))",
            part,
            PAPER + "the same, with broadcast",
            ("one a d",),
        ),
        Rule(
            f"{name}-repl-repl",
            f"({op} (Repl a p) (Repl b p))",
            f"(Repl ({op} a b) p)",
            PAPER + "binary op commutes with repl",
        ),
        Rule(
            f"{name}-comb-comb",
            f"({op} (Comb a d p) (Comb b d p))",
            comb,
            PAPER + "binary op commutes with comb",
            ("same a b d",),
        ),
        Rule(
            f"{name}-comb-whole",
            f"({op} (Comb a d p) b)",
            f"(Comb ({op} a (Repl b p)) d p)",
            PAPER + "binary op commutes with comb, with broadcast",
            ("one b d",),
        ),
        Rule(
            f"{name}-whole-comb",
            f"({op} a (Comb b d p))",
            f"(Comb ({op} (Repl a p) b) d p)",
            PAPER + "binary op commutes with comb, with broadcast",
            ("one a d",),
        ),
    ]


def _when(rule: Rule, *conditions: str) -> Rule:
    return replace(rule, when=(*rule.when, *conditions))


def _in_group(rule: Rule, group: str) -> Rule:
    return replace(rule, group=group)


PARALLEL_RULES: tuple[Rule, ...] = (
    *_cancellation(),
    *_commutation(),
    *_unary(),
    *(rule for op in BINARY_SYMBOLS for rule in _binary(op)),
)
