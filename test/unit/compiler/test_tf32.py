"""Products of f32 tensors are exact f32, and run on tensor cores in tf32 where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from prism_mlir.compiler.accuracy import references
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.error_bound import TF32_UNIT
from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.input_sets import input_sets
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.select import select
from prism_mlir.compiler.selection import Selection
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import attention, build_program, rms_norm, swiglu
from prism_mlir.graph.ops import MATMUL
from prism_mlir.graph.program import Program
from prism_mlir.tools.prism import app

MMA = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
F32 = DType.F32


def in_f32(program: Program) -> Program:
    return replace(
        program,
        inputs=tuple(replace(i, dtype=F32) for i in program.inputs),
        nodes=tuple(replace(n, dtype=F32) for n in program.nodes),
        outputs=tuple(replace(o, dtype=F32) for o in program.outputs),
    )


def product(m: int, k: int, n: int) -> Program:
    return in_f32(build_program("product", {"X": (m, k), "W": (k, n)}, [(MATMUL, (0, 1))]))


def turned(m: int, k: int, n: int) -> Program:
    """X . W^T: rows of W lie along k."""
    program = product(m, k, n)
    x, w = program.inputs
    return replace(program, inputs=(x, replace(w, arg_shape=(n, k), strides=(1, k))))


def softmax_attention(batch: int, length: int, head: int, queries: int) -> Program:
    program = attention(batch, length, head, queries)
    nodes = [replace(n, shift=2) if n.op.fn is not None else n for n in program.nodes]
    return in_f32(replace(program, nodes=tuple(nodes)))


def built(program: Program, allow: bool) -> Selection:
    return select(program, discover(program).proved, CompileOptions(samples=300, allow_tf32=allow))


def run(selection: Selection, arguments: list[np.ndarray]) -> np.ndarray:
    launch = selection.kernel.launch
    (got,) = Emulator(launch, {launch.kernels[0].ptx: selection.kernel.ptx})(arguments)
    return got.astype(np.float64)


def tf32(x: np.ndarray) -> np.ndarray:
    """To ten bits behind the point, ties away from zero (PTX ISA, "cvt.rna.tf32.f32")."""
    bits = x.astype(np.float32).view(np.uint32) + np.uint32(0x1000)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (product, (8, 512, 256)),  # transposed
        (product, (48, 96, 64)),
        (product, (16, 200, 72)),
        (product, (13, 77, 40)),  # ragged, rows of W of 160 bytes
        (turned, (8, 256, 128)),
        (turned, (32, 136, 48)),
    ],
)
def test_operands_are_rounded_to_tf32_and_summed_in_f32(
    make: Callable[[int, int, int], Program], sizes: tuple[int, int, int]
) -> None:
    program, rng = make(*sizes), np.random.default_rng(5)
    arguments = [rng.standard_normal(i.arg_shape).astype(np.float32) for i in program.inputs]
    x, w = program.views(arguments)
    selection = built(program, True)
    assert MMA in selection.kernel.ptx and "cvt.rna.tf32.f32" in selection.kernel.ptx
    got = run(selection, arguments)
    size = abs(x) @ abs(w)
    assert (abs(got - tf32(x) @ tf32(w)) <= sizes[1] * 2.0**-24 * size).all()
    assert (abs(got - x @ w) > 2.0**-20 * size).any()  # it is another product
    exact = built(program, False)
    assert "mma" not in exact.kernel.ptx
    assert (abs(run(exact, arguments) - x @ w) <= sizes[1] * 2.0**-24 * size).all()


@pytest.mark.parametrize(
    "program",
    [in_f32(rms_norm(8, 256, 64)), in_f32(swiglu(16, 128, 64)), softmax_attention(2, 96, 32, 24)],
    ids=["rms_norm", "swiglu", "attention"],
)
def test_programs(program: Program) -> None:
    """Within the error bound of products in tf32, on every input set; a tenth of that bound would not do."""
    selection, used = built(program, True), []
    assert MMA in selection.kernel.ptx
    for inputs in input_sets(program):
        (reference,) = references(program, inputs.arguments, tf32=True)
        got = run(selection, list(inputs.arguments))
        finite = np.isfinite(reference.exact)
        error = abs(got - reference.exact)[finite]
        assert (error <= reference.bound[finite]).all(), inputs.name
        (without,) = references(program, inputs.arguments)
        used.append(float((error / without.bound[finite]).max(initial=0.0)))
    assert max(used) > 10
    assert TF32_UNIT == 2.0**-11


def test_the_option(tmp_path: Path) -> None:
    source = tmp_path / "p.mlir"
    source.write_text("""
    func.func @p(%x: tensor<16x64xf32>, %w: tensor<64x32xf32>) -> tensor<16x32xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<16x32xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
      %r = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x32xf32>) outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %r : tensor<16x32xf32>
    }""")
    for options, expected in ([], False), (["--allow-tf32"], True):
        out = tmp_path / f"out{expected}"
        result = CliRunner().invoke(app, ["compile", str(source), "-o", str(out), *options])
        assert result.exit_code == 0, result.output
        assert (MMA in next(out.glob("*.ptx")).read_text()) is expected
