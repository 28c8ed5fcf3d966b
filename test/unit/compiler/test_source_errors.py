"""How badly a source errs on inputs of a kind (``compiler/source_errors.py``), and that this decides by no chance."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from prism_mlir.compiler.input_sets import InputSet, argument_types
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_text
from prism_mlir.compiler.source_errors import DRAWS, HOPELESS, MOST_DRAWS, draws, input_set, more_errors
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.ops import sum_, unary
from prism_mlir.graph.program import Program

ATTENTION = """
func.func @main(%q: tensor<{n}x{d}xf32>, %k: tensor<{n}x{d}xf32>, %v: tensor<{n}x{d}xf32>) -> tensor<{n}x{d}xf32> {{
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant dense<0.353553> : tensor<{n}x{n}xf32>
  %square = tensor.empty() : tensor<{n}x{n}xf32>
  %start = linalg.fill ins(%zero : f32) outs(%square : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  %scores = linalg.matmul indexing_maps = [affine_map<(i, j, l) -> (i, l)>, affine_map<(i, j, l) -> (j, l)>,
    affine_map<(i, j, l) -> (i, j)>]
    ins(%q, %k : tensor<{n}x{d}xf32>, tensor<{n}x{d}xf32>) outs(%start : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  %scaled = linalg.mul ins(%scores, %scale : tensor<{n}x{n}xf32>, tensor<{n}x{n}xf32>)
    outs(%square : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  %p = linalg.softmax dimension(1) ins(%scaled : tensor<{n}x{n}xf32>) outs(%square : tensor<{n}x{n}xf32>)
    -> tensor<{n}x{n}xf32>
  %e = tensor.empty() : tensor<{n}x{d}xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<{n}x{d}xf32>) -> tensor<{n}x{d}xf32>
  %o = linalg.matmul ins(%p, %v : tensor<{n}x{n}xf32>, tensor<{n}x{d}xf32>) outs(%f : tensor<{n}x{d}xf32>)
    -> tensor<{n}x{d}xf32>
  return %o : tensor<{n}x{d}xf32>
}}
"""


@pytest.mark.parametrize(("n", "d", "seed", "kind"), [(13, 5, 0, "one hot"), (24, 4, 0, "steep"), (7, 10, 1, "large")])
def test_code_of_a_small_program_is_not_refused_by_chance(n: int, d: int, seed: int, kind: str) -> None:
    """The source happens to be up to 24 times better than the code on these inputs of the kind, and as bad on others of 64."""
    done = compile_text(ATTENTION.format(n=n, d=d), "attention.mlir", CompileOptions(seed=seed, samples=500))
    (found,) = (a for a in done.accuracy if a.input_set == kind)
    assert found.ok


def test_the_smaller_a_program_the_more_draws_count() -> None:
    """Of 2 x 1024 x 1024 elements and as many for the square, of 64 x 64, of 4 x 4; one element a row is the result."""

    def program(n: int) -> Program:
        return build_program("sums", {"x": (n, n)}, [(unary("x*x"), (0,)), (sum_(1), (1,))])

    assert draws(program(1024)) == DRAWS
    assert draws(program(64)) == (1 << 18) // (2 * 64 * 64 + 64)
    assert draws(program(4)) == MOST_DRAWS


class Source:
    """A source program that counts how often it is run, and errs by 0.001, 0.002, ... of its result."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, x: np.ndarray) -> list[np.ndarray]:
        self.runs += 1
        exact = (x.astype(np.float64) ** 2).sum(axis=1, keepdims=True)
        return [(exact * (1 + 0.001 * self.runs)).astype(np.float32)]


def sums(n: int) -> Program:
    program = build_program("sums", {"x": (n, n)}, [(unary("x*x"), (0,)), (sum_(1), (1,))])
    return replace(program, inputs=tuple(replace(i, dtype=DType.F32) for i in program.inputs))


@pytest.mark.parametrize(
    ("n", "times", "runs"),
    [(4, 1.0, MOST_DRAWS - 1), (4, 2 * HOPELESS, MOST_DRAWS - 1), (512, 1.0, DRAWS - 1), (512, 2 * HOPELESS, 0)],
)
def test_the_source_is_run_again_where_that_can_help(n: int, times: float, runs: int) -> None:
    """A large program's is not where the code is far worse: no chance explains that."""
    program, source, drawn = sums(n), Source(), []
    types = tuple(argument_types(program))

    def draw(again: int) -> InputSet | None:
        drawn.append(input_set(program, 0, 7, types, again))
        return drawn[-1]

    (more,) = more_errors(program, source, draw)  # type: ignore[arg-type]
    assert source.runs == 0
    found = more(times)
    assert (len(found), source.runs) == (runs, runs)
    assert more(times) == found and source.runs == runs
    arrays = [s.arguments[0] for s in drawn if s is not None]
    assert all(not np.array_equal(a, b) for a, b in pairwise(arrays))
    if runs:  # errors grow from run to run
        assert [e.worst for e in found] == sorted(e.worst for e in found) and found[0].worst < found[-1].worst
