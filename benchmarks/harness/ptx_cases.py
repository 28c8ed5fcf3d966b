"""Small launches of whole kernels with a reference in f64: what other compilers wrote (``test/unit/ptx/data``), and kernels that
the project's code generator emits.

Inputs are read-only, so that a store to one of them is an error. The bounds are those of the tests of the same kernels.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from prism_mlir.codegen.compile import CompiledKernel, compile_graph
from prism_mlir.graph.dtypes import DType, to_float64
from prism_mlir.graph.examples import attention, rms_norm, rms_norm_mlp, softmax_matmul, swiglu
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.launch_info import Role
from prism_mlir.graph.program import Program as TensorProgram
from prism_mlir.graph.schedule import Schedule
from prism_mlir.runtime.ptx import Checks, KernelHandle, RunResult
from prism_mlir.runtime.ptx.decode import decode
from prism_mlir.runtime.ptx.parser import parse
from prism_mlir.runtime.ptx.program import Kernel, Program

UNIT = Path(__file__).resolve().parents[2] / "test" / "unit"
DATA = UNIT / "ptx" / "data"
sys.path += [str(p) for p in (UNIT / "codegen", UNIT / "ptx", UNIT / "ptx" / "corpus", UNIT.parent)]

import codegen_graphs as hand_written  # noqa: E402  (graphs in the shapes that search finds)
import iree_cases  # noqa: E402
import triton_cases  # noqa: E402
from machine_run import magnitudes, random_arguments, tolerance  # noqa: E402

Floats = npt.NDArray[np.float64]
Outputs = Mapping[int, npt.NDArray[Any]]


@dataclass(frozen=True)
class Launch:
    """One run of a kernel.

    Attributes:
        grid, block: extents; ``shared_bytes``: dynamic shared memory.
        args: one a parameter. Arrays that may be written are templates: every run gets its own.
        outputs: which of them start undefined (all bits are set, a NaN).
        correct: whether the written arrays, by index of the argument, are what the kernel should compute.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    args: tuple[Any, ...]
    outputs: frozenset[int]
    correct: Callable[[Outputs], bool]

    def run(
        self, kernel: KernelHandle, checks: Checks | None = None, max_steps: int = 5_000_000
    ) -> tuple[Outputs, RunResult]:
        """Run ``kernel``, which takes these arguments.

        Raises:
            PtxError: what the machine has found.
        """
        args = list(self.args)
        written = {n: a.copy() for n, a in enumerate(args) if isinstance(a, np.ndarray) and a.flags.writeable}
        for n, array in written.items():
            args[n] = array
            if n in self.outputs:
                array.reshape(-1).view(np.uint8).fill(0xFF)
        result = kernel.run(
            grid=self.grid,
            block=self.block,
            args=args,
            shared_bytes=self.shared_bytes,
            outputs=self.outputs,
            checks=checks,
            max_steps=max_steps,
        )
        return written, result


@dataclass(frozen=True, eq=False)
class Case:
    """A kernel and launches of it, which differ in their data and perhaps in their sizes. ``text``: the PTX."""

    name: str
    text: str
    program: Program
    kernel: Kernel
    launch: Callable[[int], Launch]
    count: int = 2

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(self.launch(seed) for seed in range(self.count))


def inputs(*arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Arrays that no kernel may write."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


def close(got: npt.NDArray[Any], exact: Floats, bound: Floats | float) -> bool:
    """Whether every element is within its bound, or equal (infinities); two NaN are equal."""
    wide = got.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(wide - exact) <= bound
    return bool((near | (wide == exact) | (np.isnan(wide) & np.isnan(exact))).all())


# -- the corpus ---------------------------------------------------------------------------------------------------


def skinny_gemm(seed: int) -> Launch:
    """The first 128 columns of X · W, in two blocks; the columns of W repeat with period 256 to be made quickly."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((8, 4096)) / 4).astype(np.float16)
    w = np.tile((rng.standard_normal((4096, 256)) / 8).astype(np.float16), (1, 16))
    exact = x.astype(np.float64) @ w[:, :128].astype(np.float64)
    size = np.abs(x).astype(np.float64) @ np.abs(w[:, :128]).astype(np.float64)
    bound = 4096 * 2.0**-24 * size + np.abs(exact) * 2.0**-11 + 2.0**-25
    out = np.empty((8, 4096), np.float16)
    return Launch((2,), (128,), 0, (*inputs(x, w), out), frozenset({2}), lambda o: close(o[2][:, :128], exact, bound))


def triton_softmax(seed: int) -> Launch:
    """Three rows, in blocks with place for 1024: the last 24 are masked, or most of them."""
    n = (1000, 100)[seed]
    x = (np.random.default_rng(seed).standard_normal((3, n)) * 3).astype(np.float32)
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    args = (*inputs(x), np.empty_like(x), n, *_scratch(2))
    return Launch((3,), (128,), 16, args, frozenset({1}), lambda o: close(o[1], exact, 2e-6 * exact + 1e-9))


def triton_matmul(seed: int) -> Launch:
    """Ragged in all three extents; whole blocks of 64 × 64 × 32; and a sum of nothing."""
    rng, (m, n, k) = np.random.default_rng(seed), ((100, 77, 83), (64, 128, 64), (70, 80, 0))[seed]
    a, b = (rng.standard_normal((m, k)) / 8).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    bound = k * 2.0**-24 * size + np.abs(exact) * 2.0**-11 + 2.0**-25
    args = (*inputs(a, b), np.empty((m, n), np.float16), m, n, k, *_scratch(2))
    grid = (-(-m // 64), -(-n // 64))
    return Launch(grid, (128,), 8192, args, frozenset({2}), lambda o: close(o[2], exact, bound))


def triton_attention(seed: int) -> Launch:
    """Causal, three blocks of 64 queries: one, two and three turns of the loop."""
    rng, s, scale = np.random.default_rng(seed), 192, 0.125
    q, k, v = (rng.standard_normal((s, 64)).astype(np.float16) for _ in range(3))
    scores = q.astype(np.float64) @ k.T.astype(np.float64) * scale
    scores[np.triu_indices(s, 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    exact, bound = p @ v.astype(np.float64), 2.0**-10 * (p @ np.abs(v).astype(np.float64)) + 1e-6
    args = (*inputs(q, k, v), np.empty_like(q), s, scale * 1.4426950408889634, *_scratch(2))
    return Launch((s // 64,), (128,), 16384, args, frozenset({3}), lambda o: close(o[3], exact, bound))


def _scratch(count: int) -> tuple[npt.NDArray[Any], ...]:
    """Pointers of Triton's own, unused in these kernels."""
    return inputs(*(np.zeros(1, np.uint8) for _ in range(count)))


CORPUS: dict[Callable[[int], Launch], int] = {skinny_gemm: 1, triton_softmax: 2, triton_matmul: 3, triton_attention: 2}


def _same_part(whole: npt.NDArray[Any], part: npt.NDArray[Any], other: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What lies in ``other`` where ``part``, a view of ``whole``, lies there."""
    return np.ndarray(part.shape, part.dtype, other, part.ctypes.data - whole.ctypes.data, part.strides)


def kept(name: str, info: dict[str, Any]) -> Case:
    """A kernel of ``data/corpus`` with the launch of its test."""
    text = (DATA / "corpus" / f"{name}.ptx").read_text()
    program = parse(text, f"{name}.ptx")
    build = triton_cases.CASES.get(name) or iree_cases.CASES[name.removeprefix("iree-")]

    @cache
    def launch(_: int) -> Launch:
        test = build()
        (run,) = test.launches
        args = (*run.args, *_scratch(info["hidden"]))
        arrays = {n: a for n, a in enumerate(args) if isinstance(a, np.ndarray)}
        place = [next(n for n, a in arrays.items() if np.shares_memory(a, e.got)) for e in test.expected]
        inputs(*(a for n, a in arrays.items() if n not in place))

        def correct(outputs: Outputs) -> bool:
            return all(
                close(e.decode(_same_part(args[n], e.got, outputs[n])), np.asarray(e.exact, np.float64), e.bound)
                for n, e in zip(place, test.expected, strict=True)
            )

        grid = run.grid or tuple(info["grid"])
        return Launch(grid, tuple(info["block"]), info["shared_bytes"], args, run.outputs, correct)

    return Case(name, text, program, program.kernels[info["entry"]], launch, 1)


# -- emitted kernels ----------------------------------------------------------------------------------------------

Build = Callable[[TensorProgram], KernelGraph]
BF16, F32 = DType.BF16, DType.F32
EMITTED: tuple[tuple[str, Build, TensorProgram, dict[str, int], int, int, int], ...] = (
    # name, graph, program, sizes, warps, stages, roundings of computed operands
    ("rms_norm_late", hand_written.rms_norm_late, rms_norm(8, 128, 64), {"x": 2, "i": 8}, 4, 3, 0),
    ("rms_norm_whole", hand_written.rms_norm_whole, rms_norm(8, 64, 64), {"x": 2}, 2, 1, 1),
    ("rms_norm_two_loads", hand_written.rms_norm_two_loads, rms_norm(8, 128, 64), {"x": 2, "i": 4}, 4, 2, 1),
    ("rms_norm_mlp", hand_written.rms_norm_mlp_shared_operand, rms_norm_mlp(8, 64, 32), {"x": 2, "i": 4}, 2, 2, 1),
    ("rms_norm_ragged", hand_written.rms_norm_late, rms_norm(5, 130, 48), {"x": 2, "i": 5}, 4, 2, 0),
    ("swiglu_f32", hand_written.swiglu_late, hand_written.with_dtype(swiglu(8, 64, 64), F32), {"x": 2, "i": 4}, 4, 2, 0),
    ("softmax_matmul", hand_written.softmax_matmul_late, softmax_matmul(32, 128, 32), {"x": 2, "i": 4}, 4, 2, 1),
    ("attention_late", hand_written.attention_late, attention(2, 128, 32), {"x": 2, "i": 4}, 4, 2, 1),
)  # fmt: skip


def emitted(
    name: str,
    program: TensorProgram,
    compiled: CompiledKernel,
    roundings: int,
    grid: tuple[int, ...] | None = None,
) -> Case:
    """A case of a graph of one kernel; with ``grid`` only of some of its blocks, and of what these write.

    The bound of ``machine_run`` is for the worst case. Allowed is four times what the original needs of it.
    """
    (info,) = compiled.launch.kernels
    parsed = parse(compiled.ptx, f"{name}.ptx")
    kernel = parsed.kernels[info.entry]
    where = {n: a.index for n, a in enumerate(info.arguments) if a.role is Role.OUTPUT}
    types = {n: program.outputs[i].dtype for n, i in where.items()}

    @cache
    def launch(seed: int) -> Launch:
        given = random_arguments(program, seed)
        exact, size = program.run(given), magnitudes(program, given)
        allowed = {n: tolerance(program, types[n], exact[i], size[i], roundings) for n, i in where.items()}
        results = [np.zeros(o.shape, o.dtype.storage) for o in program.outputs]
        held = {Role.INPUT: inputs(*given), Role.OUTPUT: results}
        args = tuple(held[a.role][a.index] for a in info.arguments)

        def correct(outputs: Outputs) -> bool:
            return all(
                close(to_float64(outputs[n], types[n])[written[n]], exact[i][written[n]], allowed[n][written[n]])
                for n, i in where.items()
            )

        run = Launch(grid or info.grid, info.block, info.shared_bytes, args, frozenset(where), correct)
        first, _ = run.run(KernelHandle(parsed, decode(parsed, kernel)))
        written = {n: ~np.isnan(to_float64(first[n], types[n])) for n in where}
        assert grid or all(w.all() for w in written.values())
        for n, i in where.items():
            error = np.abs(to_float64(first[n], types[n]) - exact[i])[written[n]]
            allowed[n] = allowed[n] * min(1.0, 4 * float((error / allowed[n][written[n]]).max()))
        return run

    return Case(name, compiled.ptx, parsed, kernel, launch)


PAPER = ("rms_norm_d1024_n16", "swiglu_d2048_n8", "rms_norm_mlp_d1024_n8")
SOME = 2  # blocks along each dim of a grid that run


@cache
def paper_cases() -> tuple[Case, ...]:
    """Kernels of the paper's workloads as the compiler chooses them: searched, proved and scheduled."""
    from prism_mlir.compiler.options import CompileOptions
    from prism_mlir.compiler.pipeline import compile_file

    found = []
    for name in PAPER:
        done = compile_file(UNIT.parent / "inputs" / "paper" / f"{name}.linalg.mlir", CompileOptions(samples=50))
        (info,) = done.selection.kernel.launch.kernels
        grid = tuple(min(extent, SOME) for extent in info.grid)
        found.append(emitted(f"paper_{name}", done.program, done.selection.kernel, 1, grid))
    return tuple(found)


@cache
def cases() -> tuple[Case, ...]:
    """The corpus, then the emitted kernels."""
    found = []
    for build, count in CORPUS.items():
        text = (DATA / f"{build.__name__}.ptx").read_text()
        parsed = parse(text, f"{build.__name__}.ptx")
        (kernel,) = parsed.kernels.values()
        found.append(Case(build.__name__, text, parsed, kernel, cache(build), count))
    table = json.loads((DATA / "corpus" / "launch.json").read_text())
    found += [kept(name, info) for name, info in table.items()]
    for name, build, program, sizes, warps, stages, roundings in EMITTED:
        compiled = compile_graph(program, build(program), Schedule.of(sizes, warps, stages))
        found.append(emitted(f"emitted_{name}", program, compiled, roundings))
    return tuple(found)
