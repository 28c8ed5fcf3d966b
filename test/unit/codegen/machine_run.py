"""Compile a graph, run it on the PTX machine with all checks on, and compare with the program evaluated in f64.

Tolerance, element by element. Let ``u`` be half an ulp at 1 of the result type (2**-11 f16, 2**-8 bf16, 2**-24 f32), ``K`` the
length of the longest reduction, and ``A`` the program evaluated on the absolute values of its inputs, with additions for
subtractions, which bounds the sum of the absolute values of all terms. Then

    |got - exact| <= u |exact| + 4 (K 2**-24 + R v) A + t

The first term is the one rounding of the result. K additions in f32 lose at most K 2**-24 of the terms' absolute sum; computed
operands are rounded once to the operands' type (R of them on a path, half an ulp v); the factor 4 covers the slopes of the
scalar functions (at most 1.1 for silu, 1/2 for rsqrt), the two ulp of approximate ones, and the truncation of tensor cores (one
bit more than rounding). t is the smallest subnormal of the result type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism_mlir.codegen.compile import CompiledKernel, compile_graph
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.launch_info import Role
from prism_mlir.graph.ops import ADD, SUB, Kind
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule
from prism_mlir.runtime.ptx import Module

_SMALLEST = {DType.F16: 2.0**-24, DType.BF16: 2.0**-133, DType.F32: 2.0**-149}


@dataclass(frozen=True)
class Outcome:
    compiled: CompiledKernel
    got: tuple[NDArray[np.float64], ...]
    exact: tuple[NDArray[np.float64], ...]
    bound: tuple[NDArray[np.float64], ...]

    @property
    def worst(self) -> float:
        """The largest error as a share of what is allowed."""
        return max(float(np.max(np.abs(g - e) / b)) for g, e, b in zip(self.got, self.exact, self.bound, strict=True))


def random_arguments(program: Program, seed: int = 0, scale: float = 0.5) -> list[NDArray[np.generic]]:
    rng = np.random.default_rng(seed)
    count = max(i.arg for i in program.inputs if i.arg is not None) + 1
    specs = [next(i for i in program.inputs if i.arg == k) for k in range(count)]
    return [from_float64(rng.standard_normal(s.arg_shape) * scale, s.dtype) for s in specs]


def execute(
    program: Program,
    graph: KernelGraph,
    schedule: Schedule,
    arguments: list[NDArray[np.generic]] | None = None,
    roundings: int = 1,
) -> Outcome:
    """Run every kernel of a graph; ``roundings`` is R of the tolerance."""
    compiled = compile_graph(program, graph, schedule)
    arguments = random_arguments(program) if arguments is None else arguments
    results = [np.zeros(o.shape, o.dtype.storage) for o in program.outputs]
    between = [np.zeros(size, np.uint8) for size in compiled.launch.workspace]
    buffers = {Role.INPUT: arguments, Role.OUTPUT: results, Role.WORKSPACE: between}
    module = Module.load(compiled.ptx)
    for k in compiled.launch.kernels:
        poisoned = {n for n, a in enumerate(k.arguments) if a.role is Role.OUTPUT}
        module.kernel(k.entry).run(
            grid=k.grid,
            block=k.block,
            args=[buffers[a.role][a.index] for a in k.arguments],
            outputs=poisoned,
            shared_bytes=k.shared_bytes,
        )
    exact = program.run(arguments)
    magnitude = magnitudes(program, arguments)
    got = tuple(to_float64(r, o.dtype) for r, o in zip(results, program.outputs, strict=True))
    bound = tuple(
        tolerance(program, o.dtype, e, m, roundings) for o, e, m in zip(program.outputs, exact, magnitude, strict=True)
    )
    return Outcome(compiled, got, exact, bound)


def magnitudes(program: Program, arguments: list[NDArray[np.generic]]) -> tuple[NDArray[np.float64], ...]:
    """A of the tolerance, one an output."""
    return _without_signs(program).run([_absolute(a, d) for a, d in zip(arguments, _dtypes(program), strict=True)])


def _absolute(array: NDArray[np.generic], dtype: DType) -> NDArray[np.generic]:
    return from_float64(np.abs(to_float64(array, dtype)), dtype)


def _without_signs(program: Program) -> Program:
    nodes = tuple(replace(n, op=ADD) if n.op == SUB else n for n in program.nodes)
    inputs = tuple(
        i
        if i.data is None
        else replace(i, data=_absolute(np.frombuffer(i.data, dtype=i.dtype.storage), i.dtype).tobytes())
        for i in program.inputs
    )
    return replace(program, inputs=inputs, nodes=nodes)


def _dtypes(program: Program) -> list[DType]:
    count = max(i.arg for i in program.inputs if i.arg is not None) + 1
    return [next(i.dtype for i in program.inputs if i.arg == k) for k in range(count)]


def tolerance(
    program: Program, dtype: DType, exact: NDArray[np.float64], magnitude: NDArray[np.float64], roundings: int
) -> NDArray[np.float64]:
    """The allowed error, see the module's text."""
    unit = 2.0 ** -(dtype.mantissa_bits + 1)
    operand = max(2.0 ** -(i.dtype.mantissa_bits + 1) for i in program.inputs)
    shapes = program.shapes
    lengths = [1]
    for node in program.nodes:
        if node.op.kind is Kind.MATMUL:
            lengths.append(shapes[node.operands[0]][-1])
        elif node.op.kind is Kind.REDUCE and node.op.dim is not None:
            lengths.append(shapes[node.operands[0]][node.op.dim])
    inner = max(lengths) * 2.0**-24 + roundings * operand
    return unit * np.abs(exact) + 4 * inner * magnitude + _SMALLEST[dtype]
