"""Search without pruning, and programs small enough for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from prism_mlir.graph.examples import build_program
from prism_mlir.graph.ops import ADD, DIV, MATMUL, MUL, keep, reduce_min, sum_, unary
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import AbstractTarget, abstract_target


class _Anything(Mapping):  # type: ignore[type-arg]
    """Says that every result is a subexpression."""

    def __getitem__(self, key: object) -> int:
        return 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(())

    def __len__(self) -> int:
        return 1


class Unpruned(AbstractTarget):
    """A target without expression-guided pruning: only shapes and stages restrict what the generator builds."""

    def __init__(self, program: Program) -> None:
        real = abstract_target(program)
        inputs, roots = (0,) * len(program.inputs), (0,) * len(program.outputs)
        super().__init__(real.graph, inputs, roots, defaultdict(int, {0: 0}), True, {}, {})

    def on_one(self, expr: int) -> Mapping[tuple[str, ...], int]:
        return _Anything()

    def on_two(self, left: int, right: int) -> Mapping[str, int]:
        return _Anything()


SMALL = [
    (build_program("divided", {"X": (8, 12), "v": (8, 1), "W": (12, 6)}, [(DIV, (0, 1)), (MATMUL, (3, 2))]), 3),
    (build_program("summed", {"X": (8, 12)}, [(unary("exp(x)"), (0,)), (sum_(1), (1,))]), 4),
    (build_program("chain", {"X": (8, 12), "A": (12, 4), "B": (4, 6)}, [(MATMUL, (0, 1)), (MATMUL, (3, 2))]), 3),
    (build_program("two", {"X": (8, 12), "W": (12, 6), "R": (8, 6)}, [(MATMUL, (0, 1)), (ADD, (3, 2))]), 3),
    (
        build_program(
            "gated", {"X": (8, 12), "W": (12, 6), "V": (12, 6)}, [(MATMUL, (0, 1)), (MATMUL, (0, 2)), (MUL, (3, 4))]
        ),
        5,
    ),
]

# Here masking twice is masking once, a law the axioms leave out: brute force finds such graphs right, and nobody proves them.
MASKED = [
    (build_program("masked", {"m": (1, 12), "X": (8, 12)}, [(keep(0.0), (0, 1)), (sum_(1), (2,))]), 4),
    (build_program("masked rows", {"m": (8, 1), "X": (8, 12)}, [(keep(0.0), (0, 1)), (sum_(1), (2,))]), 4),
    (build_program("hidden", {"m": (8, 12), "X": (8, 12)}, [(keep(-1.0), (0, 1)), (reduce_min(1), (2,))]), 4),
]
