"""Small random tensor programs, as the importer might leave them: of any shape that the compiler takes, nothing unused.

A program is put together from patterns (products, elementwise chains, reductions, softmaxes with the shift of the source,
masks, residuals) on tensors that are whole, transposed, sliced, repeated, constant, or views of one argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from random import Random

import numpy as np

from prism_mlir.graph.dtypes import DType, from_float64
from prism_mlir.graph.ops import (
    ADD,
    DIV,
    MATMUL,
    MAXIMUM,
    MINIMUM,
    MUL,
    SUB,
    Op,
    Shape,
    keep,
    reduce_max,
    reduce_min,
    sum_,
    transpose,
    unary,
)
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major

SIZES = (1, 5, 7, 8, 13, 16, 24, 32, 40, 64, 77, 100)
FUNCTIONS = (
    "x**2",
    "x/3",
    "2*x + 1",
    "-x",
    "tanh(x)",
    "x/(1 + exp(-x))",
    "1/(1 + exp(-x))",
    "Max(x, 0)",
    "Abs(x)",
    "rsqrt(x**2 + 1)",
    "x*(1 + erf(x/sqrt(2)))/2",
    "x/(1 + Abs(x))",
)
_EXP = unary("exp(x)")


@dataclass
class Draft:
    """A program under construction; values are numbered in the order they are made."""

    rng: Random
    dtype: DType
    mixed: bool
    specs: list[ProgramInput | tuple[Op, tuple[int, ...], int | None]] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    arguments: list[tuple[Shape, DType]] = field(default_factory=list)
    shifted: set[int] = field(default_factory=set)  # values in which the shift of an exponential has not cancelled yet

    # -- values ----------------------------------------------------------------------------------------------------------

    def apply(self, op: Op, *operands: int, shift: int | None = None) -> int:
        self.specs.append((op, operands, shift))
        self.shapes.append(op.spec.shape(op, [self.shapes[v] for v in operands]))
        return len(self.specs) - 1

    def tensor(self, *shape: int) -> int:
        """An input: an argument as it is, or a view of one that is not contiguous."""
        dtype = self.rng.choice([self.dtype, DType.F32]) if self.mixed else self.dtype
        ways = [self._whole, self._whole, self._transposed, self._slice, self._repeated, self._constant]
        spec = self.rng.choice(ways)(shape, dtype)
        self.specs.append(spec)
        self.shapes.append(shape)
        return len(self.specs) - 1

    def _argument(self, shape: Shape, dtype: DType) -> int:
        """A new argument, or now and then one that is there already."""
        alike = [k for k, known in enumerate(self.arguments) if known == (shape, dtype)]
        if alike and self.rng.random() < 0.3:
            return self.rng.choice(alike)
        self.arguments.append((shape, dtype))
        return len(self.arguments) - 1

    def _view(
        self, shape: Shape, dtype: DType, whole: Shape, strides: tuple[int, ...], offset: int = 0
    ) -> ProgramInput:
        number = self._argument(whole, dtype)
        return ProgramInput(f"A{number}", shape, dtype, number, whole, strides, offset)

    def _whole(self, shape: Shape, dtype: DType) -> ProgramInput:
        return self._view(shape, dtype, shape, row_major(shape))

    def _transposed(self, shape: Shape, dtype: DType) -> ProgramInput:
        order = self.rng.sample(range(len(shape)), len(shape))
        whole = tuple(shape[d] for d in order)
        strides = row_major(whole)
        return self._view(shape, dtype, whole, tuple(strides[order.index(d)] for d in range(len(shape))))

    def _slice(self, shape: Shape, dtype: DType) -> ProgramInput:
        """A part of a larger argument, every element or every other one along a dim."""
        steps = [self.rng.choice([1, 1, 1, 2]) for _ in shape]
        first = [self.rng.choice([0, 0, 1, 8]) for _ in shape]
        last = [f + (n - 1) * s + 1 for f, n, s in zip(first, shape, steps, strict=True)]
        whole = tuple(end + self.rng.choice([0, 0, 3, 8]) for end in last)
        strides = row_major(whole)
        offset = sum(f * s for f, s in zip(first, strides, strict=True))
        return self._view(shape, dtype, whole, tuple(a * b for a, b in zip(steps, strides, strict=True)), offset)

    def _repeated(self, shape: Shape, dtype: DType) -> ProgramInput:
        dim = self.rng.randrange(len(shape))
        whole = tuple(1 if d == dim else n for d, n in enumerate(shape))
        strides = tuple(0 if d == dim else s for d, s in enumerate(row_major(whole)))
        return self._view(shape, dtype, whole, strides)

    def _constant(self, shape: Shape, dtype: DType) -> ProgramInput:
        values = np.random.default_rng(self.rng.randrange(2**32)).standard_normal(shape)
        data = from_float64(values, dtype).tobytes()
        return ProgramInput("C", shape, dtype, None, shape, row_major(shape), 0, data)

    def mask(self, *shape: int) -> int:
        """Zeros and ones that are part of the program: causal, or at random."""
        ones = np.tril(np.ones(shape))
        if self.rng.random() < 0.5:
            ones = np.random.default_rng(self.rng.randrange(2**32)).integers(0, 2, shape).astype(np.float64)
        data = from_float64(ones, self.dtype).tobytes()
        self.specs.append(ProgramInput("mask", shape, self.dtype, None, shape, row_major(shape), 0, data))
        self.shapes.append(shape)
        return len(self.specs) - 1

    def size(self) -> int:
        return self.rng.choice(SIZES)

    # -- patterns --------------------------------------------------------------------------------------------------------

    def product(self, v: int) -> int:
        """``v`` times a new tensor, from either side."""
        *lead, m, k = self.shapes[v]
        if self.rng.random() < 0.75:
            return self.apply(MATMUL, v, self.tensor(*lead, k, self.size()))
        return self.apply(MATMUL, self.tensor(*lead, self.size(), m), v)

    def function(self, v: int) -> int:
        return self.apply(unary(self.rng.choice(FUNCTIONS)), v)

    def combine(self, v: int) -> int:
        """``v`` with a tensor of its shape, or of a shape that is broadcast: a bias, a scale, a residual."""
        shape = tuple(1 if self.rng.random() < 0.25 else n for n in self.shapes[v])
        pair = [v, self.tensor(*shape)]
        op = self.rng.choice([ADD, ADD, SUB, MUL, MUL, MAXIMUM, MINIMUM])
        return self.apply(op, *self.rng.sample(pair, 2))

    def reduce(self, v: int) -> int:
        """A sum, mean, maximum or minimum; now and then the tensor relative to it."""
        dim = self.rng.randrange(len(self.shapes[v]))
        statistic = self.apply(self.rng.choice([sum_, sum_, reduce_max, reduce_min])(dim), v)
        op = self._op(statistic)
        if op.name == "sum":
            mean = self.rng.choice(["x/{n}", "rsqrt(x**2/{n} + 1)", ""]).format(n=self.shapes[v][dim])
            statistic = self.apply(unary(mean), statistic) if mean else statistic
        return self.apply(self.rng.choice([SUB, MUL]), v, statistic) if self.rng.random() < 0.5 else statistic

    def norm(self, v: int) -> int:
        """RMS norm over the last dim."""
        dim = len(self.shapes[v]) - 1
        total = self.apply(sum_(dim), self.apply(unary("x**2"), v))
        scale = self.apply(unary(f"rsqrt(x/{self.shapes[v][dim]} + 1e-05)"), total)
        return self.apply(MUL, v, scale)

    def masked(self, v: int) -> int:
        shape = self.shapes[v]
        return self.apply(keep(self.rng.choice([0.0, 0.0, 1.0, float("-inf")])), self.mask(*shape), v)

    def softmax(self, v: int, dim: int | None = None) -> int:
        """exp(v - max) / sum, with the shift dropped and recorded."""
        rank = len(self.shapes[v])
        dim = self.rng.randrange(rank) if dim is None else dim
        e = self.apply(unary(self.rng.choice(["exp(x)", "exp(x)", "exp(x/4)"])), v, shift=dim)
        total = self.apply(sum_(dim), e)
        self.shifted |= {e, total}
        return self.apply(DIV, e, total)

    def attention(self, v: int) -> int:
        """softmax(v K [+ mask]) V, divided before or after the second product."""
        *lead, _, k = self.shapes[v]
        keys, last = self.size(), len(lead) + 1
        scores = self.apply(MATMUL, v, self.tensor(*lead, k, keys))
        if self.rng.random() < 0.4:
            rows = self.rng.choice([1, self.shapes[scores][-2]])
            ones = [self.rng.choice([1, n]) for n in lead]
            scores = self.apply(ADD, scores, self.tensor(*ones, rows, keys))
        values = self.tensor(*lead, keys, self.size())
        if self.rng.random() < 0.5:
            return self.apply(MATMUL, self.softmax(scores, last), values)
        e = self.apply(_EXP, scores, shift=last)
        product, total = self.apply(MATMUL, e, values), self.apply(sum_(last), e)
        self.shifted |= {e, product, total}
        return self.apply(DIV, product, total)

    def turn(self, v: int) -> int:
        rank = len(self.shapes[v])
        return self.apply(transpose(*self.rng.sample(range(rank), rank)), v)

    def residual(self, v: int) -> int:
        """``v`` with an earlier value of its shape."""
        alike = [k for k, s in enumerate(self.shapes) if s == self.shapes[v] and k != v and k not in self.shifted]
        if not alike:
            return self.combine(v)
        return self.apply(self.rng.choice([ADD, MUL, SUB]), v, self.rng.choice(alike))

    def _op(self, v: int) -> Op:
        spec = self.specs[v]
        assert not isinstance(spec, ProgramInput)
        return spec[0]

    # -- the whole -------------------------------------------------------------------------------------------------------

    def program(self, name: str, last: int) -> Program:
        """The program with everything that nothing uses as a result, and now and then something else."""
        inputs = [v for v, s in enumerate(self.specs) if isinstance(s, ProgramInput)]
        nodes = [v for v, s in enumerate(self.specs) if not isinstance(s, ProgramInput)]
        number = {v: k for k, v in enumerate([*inputs, *nodes])}
        used = {o for v in nodes for o in self.specs[v][1]}  # type: ignore[index, union-attr]
        results = [v for v in nodes if v not in used or v == last]
        others = [v for v in nodes if v not in results and v not in self.shifted]
        if others and self.rng.random() < 0.2:
            results.append(self.rng.choice(others))
        stored = DType.F32 if self.mixed else self.dtype
        body = tuple(
            ProgramNode(op, tuple(number[o] for o in operands), stored, shift)
            for op, operands, shift in (self.specs[v] for v in nodes)  # type: ignore[misc]
        )
        outputs = tuple(self._result(number[v], self.shapes[v], k) for k, v in enumerate(results))
        return Program(name, tuple(self.specs[v] for v in inputs), body, outputs)  # type: ignore[misc]

    def _result(self, value: int, shape: Shape, k: int) -> ProgramOutput:
        """Row-major, or transposed where it is stored."""
        dtype = self.rng.choice([self.dtype, DType.F32]) if self.mixed else self.dtype
        order = self.rng.sample(range(len(shape)), len(shape)) if self.rng.random() < 0.25 else list(range(len(shape)))
        whole = tuple(shape[d] for d in order)
        strides = row_major(whole)
        own = tuple(strides[order.index(d)] for d in range(len(shape)))
        return ProgramOutput(value, dtype, whole, own, f"out{k}")


Pattern = Callable[[Draft, int], int]
KINDS: dict[str, tuple[tuple[Pattern, ...], ...]] = {
    "products": ((Draft.product,), (Draft.product, Draft.function, Draft.combine), (Draft.product, Draft.function)),
    "gated": ((Draft.product,), (Draft.function,), (Draft.residual, Draft.combine)),
    "elementwise": ((Draft.function, Draft.combine), (Draft.combine, Draft.masked), (Draft.function, Draft.residual)),
    "reductions": ((Draft.reduce, Draft.function), (Draft.reduce, Draft.combine), (Draft.reduce, Draft.product)),
    "norm": ((Draft.function, Draft.combine), (Draft.norm,), (Draft.product, Draft.combine, Draft.residual)),
    "softmax": ((Draft.product, Draft.combine, Draft.function), (Draft.softmax,), (Draft.product, Draft.combine)),
    "masked softmax": ((Draft.product, Draft.combine), (Draft.masked,), (Draft.softmax,), (Draft.product,)),
    "attention": ((Draft.attention,), (Draft.combine, Draft.residual, Draft.function)),
    "anything": (
        (Draft.product, Draft.combine, Draft.function, Draft.turn, Draft.norm),
        (Draft.product, Draft.reduce, Draft.masked, Draft.softmax, Draft.turn),
        (Draft.product, Draft.combine, Draft.reduce, Draft.residual, Draft.function, Draft.turn),
    ),
}
"""For each kind of program its steps, each one of a few patterns; the last step may be left out."""


def draw_program(rng: Random, kind: str) -> Program:
    """A program of a kind; the same state of ``rng`` gives the same one."""
    dtype = rng.choice([DType.F16, DType.F16, DType.BF16, DType.F32])
    draft = Draft(rng, dtype, mixed=rng.random() < 0.15)
    lead = [rng.choice([1, 2, 3])] if rng.random() < 0.3 else []
    value = draft.tensor(*lead, draft.size(), draft.size())
    steps = KINDS[kind]
    for step in steps[: len(steps) - (rng.random() < 0.3)]:
        value = rng.choice(step)(draft, value)
    program = draft.program(f"random_{kind.replace(' ', '_')}", value)
    return _numbered(program)


def _numbered(program: Program) -> Program:
    """Names that say which input it is; arguments are whole numbers from 0, as drawn."""
    inputs = tuple(replace(i, name=f"{i.name}_{k}") for k, i in enumerate(program.inputs))
    return replace(program, inputs=inputs)


def describe(program: Program) -> str:
    """All of a program but the values of its constants, in a few lines."""
    lines = []
    for k, i in enumerate(program.inputs):
        source = "constant" if i.arg is None else f"argument {i.arg} {list(i.arg_shape)}"
        view = "" if i.contiguous else f", strides {list(i.strides)} from {i.offset}"
        lines.append(f"  {k}: {i.dtype}{list(i.shape)} of {source}{view}")
    count = len(program.inputs)
    for k, n in enumerate(program.nodes):
        shift = "" if n.shift is None else f" (shift {n.shift})"
        lines.append(f"  {count + k}: {n.op}{list(n.operands)}{shift} -> {n.dtype}{list(program.shapes[count + k])}")
    lines += [
        f"  {o.name}: value {o.value} as {o.dtype}{list(o.shape)}, strides {list(o.strides)}" for o in program.outputs
    ]
    return "\n".join(lines)


def elements(program: Program) -> int:
    """Elements of all values together."""
    return sum(prod(s) for s in program.shapes)
