"""Random programs: what import says they compute, and what upstream's JIT computes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from mlir_text import Text

from prism_mlir.frontend import import_file
from prism_mlir.runtime.cpu_jit import compile_module

LETTERS = "abcd"
UNARY = ["%r = math.tanh %x0 :t", "%r = math.absf %x0 :t", "%n = math.tanh %x0 :t\n %r = math.exp %n :t"]


class Maker:
    """A random program: letters stand for loops; with ``square`` all sizes are equal and letters mean nothing."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.square = self.rng.random() < 0.4
        size = {c: 3 if self.square else self.rng.choice([1, 2, 3, 4, 6]) for c in LETTERS}
        indices = [self.shuffled(LETTERS)[: self.rng.choice([1, 2, 2, 3])] for _ in range(self.rng.randint(1, 3))]
        self.text = Text(*[[size[c] for c in index] for index in indices])
        self.values = [(f"%a{k}", index) for k, index in enumerate(indices)]

    def shuffled(self, letters: str) -> str:
        return "".join(self.rng.sample(letters, len(letters)))

    def pick(self) -> tuple[str, str]:
        value, index = self.rng.choice(self.values)
        return value, self.shuffled(LETTERS)[: len(index)] if self.square else index

    def step(self) -> None:
        kind = self.rng.choice(["unary", "binary", "binary", "reduce", "contract", "contract", "softmax"])
        (left, i), (right, j) = self.pick(), self.pick()
        both = self.shuffled("".join(dict.fromkeys(i + j)))
        if kind == "unary":
            out = self.shuffled(i)
            self.values.append((self.text.map(self.rng.choice(UNARY), (left, i), letters=out), out))
        elif kind == "binary":
            body = f"%r = arith.{self.rng.choice(['addf', 'subf', 'mulf', 'maximumf'])} %x0, %x1 :t"
            self.values.append((self.text.map(body, (left, i), (right, j), letters=both), both))
        elif kind == "reduce":
            out = self.shuffled(i)[: self.rng.randint(0, len(i))]
            op = self.rng.choice(["addf", "maximumf"])
            self.values.append((self.text.reduce(left, i, out, op), out))
        elif kind == "contract":
            out = "".join(c for c in both if self.rng.random() < 0.6)
            self.values.append((self.text.contract((left, i), (right, j), out, self.shuffled(both)), out))
        elif i:
            self.values.append((self.text.softmax(left, i, self.rng.choice(i)), i))

    def done(self) -> str:
        for _ in range(self.rng.randint(1, 7)):
            self.step()
        results = [self.values[-1][0], *([self.rng.choice(self.values)[0]] if self.rng.random() < 0.3 else [])]
        return self.text.done(*(self.reshaped(value) for value in results))

    def reshaped(self, value: str) -> str:
        shape = self.text.shapes[value]
        if len(shape) < 2 or self.rng.random() < 0.6:
            return value
        rest = shape[2:]
        flat = self.text.reshape(value, [[0, 1], *([k] for k in range(2, len(shape)))], [shape[0] * shape[1], *rest])
        return self.text.map(UNARY[0], (flat, LETTERS[: 1 + len(rest)])) if self.rng.random() < 0.5 else flat


@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed: int) -> None:
    source = Maker(seed).done()
    program, compiled = import_file(source), compile_module(source)
    rng = np.random.default_rng(seed)
    args = [rng.standard_normal(a.shape).astype(np.float32) for a in compiled.arguments]
    for exact, jit in zip(program.run(args), compiled(*args), strict=True):
        assert exact.shape == jit.shape
        # at most 8 steps in f32, sums of at most 216 terms, on numbers no larger than the largest result's scale
        assert np.all(np.abs(exact - jit) <= 2.0**-24 * 8 * 216 * max(1.0, float(np.max(np.abs(exact), initial=0))))
