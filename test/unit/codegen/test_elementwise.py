"""Scalar functions, emitted, run on the PTX machine and compared with Python's f64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prism_mlir.codegen.builder import Builder
from prism_mlir.codegen.elementwise import Arithmetic
from prism_mlir.codegen.ptx import gpu_module_to_ptx
from prism_mlir.graph.errors import CodegenError
from prism_mlir.graph.ops import OPS, Kind, Op, unary
from prism_mlir.graph.scalar_fn import ScalarFn
from prism_mlir.runtime.ptx import Module

FUNCTIONS = [
    "x",
    "x + 1",
    "1 - x",
    "x**2",
    "x**5",
    "1/x",
    "x**(-3)",
    "3/x**2",
    "sqrt(x)",
    "rsqrt(x/1024 + 1e-06)",
    "1/sqrt(x)",
    "x*rsqrt(x)",
    "exp(x)",
    "exp(-x)",
    "x/(1 + exp(-x))",
    "1/(1 + exp(-x))",
    "log(x)",
    "tanh(x)",
    "erf(x)",
    "x/2*(1 + erf(x/1.4142135623730951))",
    "Max(x, 0.5)",
    "Min(x, 1.5)",
    "Abs(x - 2)",
    "x**1.5",
    "-x",
    "2",
    "pi*x",
    "Positive(x - 1)",
    "Keep(Positive(x - 1), x, x/8)",
    "Min(Max(x, 0.5), 1.5)",
]


def compile_all(fast: bool, functions: list[str] = FUNCTIONS) -> str:
    """One kernel: out[f * 32 + t] = functions[f](in[t])."""
    b = Builder()
    thread = b.pure(f"arith.index_castui {b.pure('gpu.thread_id x')} : index to i32")
    x = b.pure(f"memref.load %x[{b.index(thread)}] : memref<32xf32>")
    arithmetic = Arithmetic(b, fast)
    for k, text in enumerate(functions):
        value = arithmetic.unary(unary(text), x)
        at = b.index(b.add(thread, 32 * k))
        b.emit(f"memref.store {value}, %o[{at}] : memref<{32 * len(functions)}xf32>")
    formals = f"%x: memref<32xf32>, %o: memref<{32 * len(functions)}xf32>"
    text = f"gpu.module @m {{ gpu.func @k({formals}) kernel {{\n{b.text}\ngpu.return }} }}"
    return gpu_module_to_ptx(f"module attributes {{gpu.container_module}} {{ {text} }}").ptx


def run(ptx: str, x: np.ndarray) -> np.ndarray:
    out = np.zeros((len(FUNCTIONS), 32), np.float32)
    Module.load(ptx).kernel("k").run(grid=(1,), block=(32,), args=[x, out], outputs={1})
    return out


@pytest.fixture(scope="module", params=[False, True], ids=["accurate", "fast"])
def results(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0.05, 4.0, 32, dtype=np.float32)
    return x, run(compile_all(request.param), x)


@pytest.mark.parametrize("k", range(len(FUNCTIONS)), ids=lambda k: FUNCTIONS[k])
def test_function(results: tuple[np.ndarray, np.ndarray], k: int) -> None:
    """Each operation errs by a few ulp at most (CUDA C++ Programming Guide, "Mathematical Functions": 2 for the approximate
    ones, up to 9 for pow); none of the bodies has more than eight. Where terms cancel, the error is that of the terms, at most 4
    here, plus the argument's rounding in the exponential: 4 * 2**-24 relative."""
    x, got = results
    exact = ScalarFn.parse(FUNCTIONS[k])(x.astype(np.float64))
    allowed = 16 * 2.0**-24 * (np.abs(exact) + (4 if any(c in FUNCTIONS[k] for c in "+-sc") else 0))
    assert (np.abs(got[k] - exact) <= allowed).all()


def test_special_values() -> None:
    """IEEE rules at the edges, also with approximate division: a sigmoid saturates, a reciprocal of zero is infinite."""
    x = np.array([0.0, np.inf, -np.inf, np.nan, -100.0, 100.0, -87.5, 2.0**127, 3e38] + [1.0] * 23, dtype=np.float32)
    got = dict(zip(FUNCTIONS, run(compile_all(True), x), strict=True))
    assert got["1/x"][0] == math.inf and got["1/x"][1] == 0
    assert got["exp(x)"][1] == math.inf and got["exp(x)"][2] == 0
    assert got["1/(1 + exp(-x))"][1] == 1 and got["1/(1 + exp(-x))"][2] == 0
    assert got["1/(1 + exp(-x))"][4] == pytest.approx(0, abs=1e-38) and got["1/(1 + exp(-x))"][5] == 1
    assert got["x/(1 + exp(-x))"][4] == pytest.approx(0, abs=1e-38) and got["x/(1 + exp(-x))"][5] == 100
    assert math.isnan(got["Max(x, 0.5)"][3]) and math.isnan(got["Min(x, 1.5)"][3])
    assert got["Max(x, 0.5)"][2] == 0.5 and got["Min(x, 1.5)"][1] == 1.5
    assert got["1/x"][7] == 2.0**-127  # a subnormal result
    assert got["x/(1 + exp(-x))"][8] == x[8]
    assert got["3/x**2"][6] == pytest.approx(3 / 87.5**2, rel=2**-20)
    # exp(87.5) is above 2**126, where div.approx gives zero: 87.5 / 1e38 is not zero
    assert got["x/(1 + exp(-x))"][6] == pytest.approx(-87.5 / (1 + math.exp(87.5)), rel=2**-15)
    assert got["Positive(x - 1)"][3] == 0  # nothing is greater than NaN
    assert all(math.isnan(got[f][3]) for f in FUNCTIONS if f not in ("2", "Positive(x - 1)"))


@pytest.mark.parametrize("fast", [False, True])
def test_sine_and_cosine_are_the_accurate_ones(fast: bool) -> None:
    """``sin.approx`` is only good near zero; arguments are not known to be, so the device library's reduction is used."""
    ptx = compile_all(fast, ["sin(x)", "cos(x)"])
    assert "sin.approx" not in ptx and "cos.approx" not in ptx and ".extern .func" not in ptx


@pytest.mark.parametrize("name", [name for name, spec in OPS.items() if spec.kind is Kind.BINARY])
def test_every_binary_operator_of_the_table_has_code(name: str) -> None:
    b = Builder()
    assert Arithmetic(b, fast=True).binary(Op(name, value=0.0), "%a", "%b").startswith("%")


def test_an_operator_without_code_is_named() -> None:
    with pytest.raises(CodegenError, match="no code for operator hypot"):
        Arithmetic(Builder(), fast=True).binary(Op("hypot"), "%a", "%b")
