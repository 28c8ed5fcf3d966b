"""Every real input becomes the program it is: operators counted by hand, values compared with upstream's CPU JIT."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from prism_mlir.frontend import import_file
from prism_mlir.graph.program import Program
from prism_mlir.runtime.cpu_jit import compile_module

INPUTS = Path(__file__).parents[2] / "inputs"
SILU = "unary[x/(1 + exp(-x))]"
EPS16 = float(np.float16(1e-6))
EPS32 = float(np.float32(1e-6))


def rms(inner: int, eps: float) -> list[str]:
    """Mean of squares, its reciprocal root, and the product with x."""
    return ["unary[x**2]", "sum", f"unary[1/sqrt(x/{inner} + {eps!r})]", "mul"]


SOFTMAX = ["unary[exp(x)]", "sum", "div"]

# operators in order (reductions without their dim), and the longest sum that the file adds up in f16
EXPECTED: dict[str, tuple[list[str], int]] = {
    "rms_norm_d1024_n16": ([*rms(1024, EPS16), "matmul"], 1024),
    "rms_norm_d4096_n8": ([*rms(4096, EPS16), "matmul"], 4096),
    "rms_norm_mlp_d1024_n16": ([*rms(1024, EPS16), "matmul", "matmul", "mul"], 1024),
    "rms_norm_mlp_d1024_n8": ([*rms(1024, EPS16), "matmul", "matmul", "mul"], 1024),
    "swiglu_d2048_n8": (["matmul", SILU, "matmul", "mul"], 0),
    "swiglu_d4096_n8": (["matmul", SILU, "matmul", "mul"], 0),
    "attention_b2_g8_h1024_d128": (["matmul", *SOFTMAX, "matmul"], 0),
    "attention_b2_g8_h2048_d128": (["matmul", *SOFTMAX, "matmul"], 0),
    "qk_attention_b2_g8_h1024_d128": ([*rms(128, EPS16), "matmul", *SOFTMAX, "matmul"], 128),
    "qk_attention_b2_g8_h2048_d128": ([*rms(128, EPS16), "matmul", *SOFTMAX, "matmul"], 128),
    "hf_llama_rmsnorm": ([*rms(2048, EPS32), "mul"], 0),
    "hf_llama_norm_qkv": ([*rms(2048, EPS32), "mul", "matmul"], 0),
    "hf_llama_mlp_2048_8192": (["matmul", SILU, "matmul", "mul", "matmul"], 0),
    "lora": (["matmul", "matmul", "matmul", "add"], 0),
    "hf_llama_gqa_decode_b2_h1024": (
        ["matmul", f"unary[{float(np.float16(8.838830e-02))!r}*x]", *SOFTMAX, "matmul"],
        0,
    ),
    "layernorm_linear": (
        [
            *("sum", "unary[x/768]", "sub", "unary[x**2]", "sum"),
            f"unary[1/sqrt(x/768 + {float(np.float32(1e-5))!r})]",
            *("mul", "mul", "add", "matmul"),
        ],
        0,
    ),
}


# Values are compared on the whole program where it is small, else with sizes replaced in the text; a second
# configuration of the same program is compared in structure only.
SMALLER: dict[str, dict[str, str]] = {
    "rms_norm_d1024_n16": {},
    "rms_norm_mlp_d1024_n8": {"1024": "160"},
    "swiglu_d2048_n8": {"2048": "224"},
    "attention_b2_g8_h1024_d128": {},
    "qk_attention_b2_g8_h1024_d128": {"1024": "96"},
    "hf_llama_rmsnorm": {},
    "hf_llama_norm_qkv": {"2048": "192", "3072": "320"},
    "hf_llama_mlp_2048_8192": {"8192": "288", "2048": "192"},
    "lora": {"4096": "352"},
    "hf_llama_gqa_decode_b2_h1024": {"1024": "96"},
    "layernorm_linear": {"3072": "64"},
}


@dataclass(frozen=True)
class Case:
    program: Program
    path: Path


@pytest.fixture(scope="module", params=sorted(EXPECTED))
def case(request: pytest.FixtureRequest) -> Case:
    (path,) = INPUTS.glob(f"*/{request.param}.linalg.mlir")
    return Case(import_file(path), path)


def test_every_input_is_expected() -> None:
    assert {path.name.removesuffix(".linalg.mlir") for path in INPUTS.glob("*/*.linalg.mlir")} == set(EXPECTED)


def test_operators(case: Case) -> None:
    expected, _ = EXPECTED[case.path.name.removesuffix(".linalg.mlir")]
    got = [node.op.name if node.op.dim is not None else str(node.op) for node in case.program.nodes]
    assert got == expected


def test_exponentials_carry_the_dim_of_their_shift(case: Case) -> None:
    shifts = [node.shift for node in case.program.nodes if str(node.op) == "unary[exp(x)]"]
    assert shifts == ([2] if "attention" in case.path.name or "gqa" in case.path.name else [])
    assert all(node.shift is None for node in case.program.nodes if str(node.op) != "unary[exp(x)]")


@pytest.mark.parametrize("name", sorted(SMALLER))
def test_values(name: str) -> None:
    """Against upstream's JIT, whose own error is a few roundings to f16, and those of its f16 sums."""
    (path,) = INPUTS.glob(f"*/{name}.linalg.mlir")
    text = path.read_text()
    for size, smaller in SMALLER[name].items():
        text = re.sub(rf"(?<![\d.]){size}(?!\d)", smaller, text)
    compiled, program = compile_module(text), import_file(text)
    rng = np.random.default_rng(11)
    args = [
        (rng.standard_normal(a.shape, dtype=np.float32) / math.sqrt(a.shape[-1] if k else 1)).astype(a.numpy_dtype)
        for k, a in enumerate(compiled.arguments)
    ]
    (jit,) = compiled(*args)
    (exact,) = program.run(args)
    assert exact.shape == jit.shape
    _, f16_sum = EXPECTED[name]
    bound = 2.0**-11 * (8 + 2 * math.sqrt(f16_sum)) * np.max(np.abs(exact))
    assert np.max(np.abs(jit.astype(np.float64) - exact)) <= bound
    assert np.max(np.abs(exact)) > 0


def test_two_imports_are_equal(case: Case) -> None:
    assert import_file(case.path) == case.program


def test_keys_are_seen_transposed() -> None:
    program = import_file(INPUTS / "paper" / "attention_b2_g8_h1024_d128.linalg.mlir")
    q, k, v = program.inputs
    assert (q.shape, k.shape, v.shape) == ((16, 1, 128), (16, 128, 1024), (16, 1024, 128))
    assert (k.arg_shape, k.strides) == ((16, 1024, 128), (1024 * 128, 1, 128))
    assert q.contiguous
    assert v.contiguous
    assert [str(n.dtype) for n in program.nodes] == ["f16", "f32", "f32", "f16", "f16"]


def test_grouped_heads_become_rows() -> None:
    """32 query heads on 8 key heads in 2 batches: 16 products of 4 rows, no repeated keys."""
    program = import_file(INPUTS / "frameworks" / "hf_llama_gqa_decode_b2_h1024.linalg.mlir")
    assert [i.shape for i in program.inputs] == [(16, 4, 128), (16, 128, 1024), (16, 1024, 128)]
    (out,) = program.outputs
    assert (out.shape, out.strides) == ((2, 1, 32, 128), (512, 128, 1))


def test_resources_become_constant_inputs() -> None:
    program = import_file(INPUTS / "frameworks" / "layernorm_linear.linalg.mlir")
    constants = [i for i in program.inputs if i.arg is None]
    values = [np.frombuffer(i.data or b"", np.float16) for i in constants]
    assert [(i.shape, i.arg_shape) for i in constants] == [((1, 768), (768,))] * 2
    # PyTorch's defaults: weight one, bias zero
    assert sorted((float(v.min()), float(v.max())) for v in values) == [(0.0, 0.0), (1.0, 1.0)]
