"""Import of small programs made for the purpose: values against NumPy and upstream's JIT, structure by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from mlir_text import Text, tensor

from prism_mlir.frontend import import_file, import_module
from prism_mlir.frontend.upstream import read_module
from prism_mlir.graph.dtypes import DType, from_float64, to_float64
from prism_mlir.graph.errors import InputError, PrismError, UnsupportedError
from prism_mlir.graph.program import Program
from prism_mlir.runtime.cpu_jit import compile_module


def operators(program: Program) -> list[str]:
    return [str(node.op) for node in program.nodes]


def agree(text: str, seed: int = 0) -> Program:
    """Import ``text``, run it in f64, and compare every result with the JIT's f32."""
    program = import_file(text)
    compiled = compile_module(text)
    rng = np.random.default_rng(seed)
    args = [rng.standard_normal(a.shape).astype(a.numpy_dtype) for a in compiled.arguments]
    for exact, jit in zip(program.run(args), compiled(*args), strict=True):
        assert exact.shape == jit.shape
        scale = max(1.0, float(np.max(np.abs(exact))))
        # f32 sums of at most a few thousand terms, each operation rounded once
        assert np.max(np.abs(exact - jit)) <= 2.0**-24 * 512 * scale
    return program


SIZES = {"b": 2, "c": 3, "m": 4, "n": 5, "k": 6, "l": 7}
CONTRACTIONS = [
    ("mk", "kn", "mn"),
    ("mk", "nk", "mn"),
    ("km", "kn", "mn"),
    ("km", "nk", "nm"),
    ("bmk", "bkn", "bmn"),
    ("bmk", "bnk", "bmn"),
    ("mbk", "nbk", "bmn"),
    ("mbk", "nbk", "mbn"),
    ("bcmk", "bckn", "bcmn"),
    ("bmck", "bnck", "bcmn"),
    ("bcmk", "cknb", "mnbc"),
    ("mk", "k", "m"),
    ("k", "kn", "n"),
    ("bk", "bk", "b"),
    ("k", "k", ""),
    ("mkl", "kln", "mn"),
    ("mlk", "kln", "mn"),
    ("bcm", "mn", "bcn"),
    ("bmk", "kn", "nbm"),
    ("mk", "knl", "mln"),
    ("m", "n", "mn"),
    ("bm", "bn", "bmn"),
    ("mkl", "kn", "mn"),
]


def test_a_product_is_turned_where_that_saves_a_transpose() -> None:
    """JAX writes attention's last product as values times weights; as weights times values nothing moves."""
    text = Text([2, 4, 6], [2, 5, 6], [2, 5, 3])
    weights = text.softmax(text.contract(("%a0", "bmk"), ("%a1", "bnk"), "bmn", "bmnk"), "bmn", "n")
    turned = text.contract(("%a2", "bnd"), (weights, "bmn"), "bdm", "bdmn")
    program = agree(text.done(turned))
    assert operators(program) == ["matmul", "unary[exp(x)]", "sum[2]", "div", "matmul"]


def test_grouped_queries_seen_in_another_order() -> None:
    """JAX moves the group to the front between the products, where the softmax is; no tensor needs to follow."""
    text = Text([2, 4, 3, 6], [2, 5, 6], [2, 5, 7])  # batch, time, group, size; batch, keys, size; batch, keys, width
    scores = text.contract(("%a0", "btgk"), ("%a1", "bsk"), "btgs", "btgsk")
    top = text.reduce(scores, "btgs", "btg", "maximumf")
    shifted = text.map("%r = arith.subf %x0, %x1 :t", (scores, "btgs"), (top, "btg"), letters="gbts")
    e = text.map("%r = math.exp %x0 :t", (shifted, "gbts"))
    total = text.reduce(e, "gbts", "gbt")
    weights = text.map("%r = arith.divf %x0, %x1 :t", (e, "gbts"), (total, "gbt"))
    program = agree(text.done(text.contract(("%a2", "bsd"), (weights, "gbts"), "btgd", "btgds")))
    assert operators(program) == ["matmul", "unary[exp(x)]", "sum[2]", "div", "matmul"]
    assert [node.shift for node in program.nodes] == [None, 2, None, None, None]


def test_what_a_known_condition_does_not_choose_may_be_anything() -> None:
    """jax.numpy.var is NaN where there is nothing to divide by."""
    body = """%n = arith.constant 0x7FC00000 :t
      %z = arith.constant 0.0 :t
      %c = arith.constant 4.0 :t
      %p = arith.cmpf ogt, %c, %z :t
      %q = arith.divf %x0, %c :t
      %r = arith.select %p, %q, %n :t"""
    text = Text([3, 4])
    assert operators(agree(text.done(text.map(body, ("%a0", "mk"))))) == ["unary[x/4]"]


def test_powers_of_known_numbers() -> None:
    """Frequencies of rotary embeddings: 0.5 ** (i / 2) for index i."""
    body = """%i = linalg.index 1 : index
      %j = arith.index_cast %i : index to i32
      %f = arith.sitofp %j : i32 to f32
      %h = arith.constant 0.5 :t
      %e = arith.mulf %f, %h :t
      %w = math.powf %h, %e :t
      %r = arith.mulf %x0, %w :t"""
    text = Text([3, 4])
    program = agree(text.done(text.map(body, ("%a0", "mk"))))
    (weights,) = [i.data for i in program.inputs if i.data is not None]
    expected = np.array([0.5 ** (i / 2) for i in range(4)], np.float32)
    assert np.array_equal(np.frombuffer(weights, np.float32), expected)


@pytest.mark.parametrize(("left", "right", "out"), CONTRACTIONS, ids=lambda s: s or "scalar")
def test_contractions_in_any_permutation(left: str, right: str, out: str) -> None:
    a, b = ([SIZES[c] for c in index] for index in (left, right))
    text = Text(a, b)
    loops = "".join(dict.fromkeys(out + left + right))
    program = import_file(text.done(text.contract(("%a0", left), ("%a1", right), out, loops)))
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(s).astype(np.float32) for s in (a, b))
    (result,) = program.run([x, y])
    expected = np.einsum(f"{left},{right}->{out}", x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    contracted = set(left) & set(right) - set(out)
    assert operators(program).count("matmul") == (1 if contracted else 0)


@pytest.mark.parametrize(("left", "right", "out"), [c for c in CONTRACTIONS if len(c[0]) == len(c[1]) == 2])
def test_two_dim_contractions_need_no_other_operator(left: str, right: str, out: str) -> None:
    text = Text([SIZES[c] for c in left], [SIZES[c] for c in right])
    loops = "".join(dict.fromkeys(out + left + right))
    program = import_file(text.done(text.contract(("%a0", left), ("%a1", right), out, loops)))
    assert len(program.nodes) == 1


@pytest.mark.parametrize("permutation", list(itertools.permutations("mkn")))
def test_loop_order_does_not_matter(permutation: tuple[str, ...]) -> None:
    text = Text([4, 6], [6, 5])
    program = import_file(text.done(text.contract(("%a0", "mk"), ("%a1", "kn"), "mn", "".join(permutation))))
    assert operators(program) == ["matmul"]
    assert [i.shape for i in program.inputs] == [(4, 6), (6, 5)]


def test_matmul_into_an_accumulator_adds_it() -> None:
    kinds = [tensor(s) for s in ([4, 6], [6, 5], [4, 5])]
    program = agree(
        f"func.func @f(%a: {kinds[0]}, %b: {kinds[1]}, %c: {kinds[2]}) -> {kinds[2]} {{\n"
        f"  %0 = linalg.matmul ins(%a, %b : {kinds[0]}, {kinds[1]}) outs(%c : {kinds[2]}) -> {kinds[2]}\n"
        f"  return %0 : {kinds[2]}\n}}"
    )
    assert operators(program) == ["matmul", "add"]


def test_sum_with_an_initial_value() -> None:
    text = Text([3, 5])
    result = text.generic("mk", [("%a0", "mk")], "m", "%r = arith.addf %o, %x0 : f32", "2.5")
    assert operators(agree(text.done(result))) == ["sum[1]", "unary[x + 2.5]"]


def test_maximum_with_the_lowest_finite_start() -> None:
    text = Text([3, 5])
    result = text.generic("mk", [("%a0", "mk")], "m", "%r = arith.maximumf %x0, %o : f32", "-3.40282347E+38")
    assert operators(agree(text.done(result))) == ["reduce_max[1]"]


def test_sum_over_a_loop_that_the_term_lacks_is_a_multiple() -> None:
    text = Text([3], [3, 7])
    body = "%r = arith.addf %o, %x0 : f32"
    result = text.generic("mk", [("%a0", "m"), ("%a1", "mk")], "m", body, "0.0")
    assert operators(agree(text.done(result))) == ["unary[7*x]"]


def test_product_summed_over_a_loop_that_neither_factor_has() -> None:
    text = Text([3, 4], [4], [7])
    body = "%p = arith.mulf %x0, %x1 : f32\n    %r = arith.addf %o, %p : f32"
    operands = [("%a0", "mk"), ("%a1", "k"), ("%a2", "l")]
    assert operators(agree(text.done(text.generic("mkl", operands, "m", body, "0.0")))) == [
        "mul",
        "sum[1]",
        "unary[7*x]",
    ]


def test_sum_over_two_dims() -> None:
    text = Text([3, 4, 5])
    assert operators(agree(text.done(text.reduce("%a0", "mkl", "m")))) in (["sum[1]"], ["sum[1]", "sum[2]"])


def test_square_in_one_generic_is_no_matmul() -> None:
    text = Text([3, 5])
    body = "%p = arith.mulf %x0, %x0 : f32\n    %r = arith.addf %o, %p : f32"
    assert operators(agree(text.done(text.generic("mk", [("%a0", "mk")], "m", body, "0.0")))) == [
        "unary[x**2]",
        "sum[1]",
    ]


# -- elementwise


def test_chains_become_one_unary() -> None:
    text = Text([3, 4])
    half = text.map("%c = arith.constant 0.5 :t\n %r = arith.mulf %x0, %c :t", ("%a0", "mn"))
    cube = text.map("%p = arith.mulf %x0, %x0 :t\n %r = arith.mulf %p, %x0 :t", ("%a0", "mn"))
    inner = text.map("%s = arith.addf %x0, %x1 :t\n %r = math.tanh %s :t", ("%a0", "mn"), (cube, "mn"))
    result = text.map(
        "%c = arith.constant 1.0 :t\n %s = arith.addf %x1, %c :t\n %r = arith.mulf %x0, %s :t",
        (half, "mn"),
        (inner, "mn"),
    )
    assert operators(agree(text.done(result))) == ["unary[0.5*x*(tanh(x**3 + x) + 1)]"]


def test_a_value_needed_by_itself_is_not_fused_away() -> None:
    text = Text([3, 4])
    e = text.map("%r = math.exp %x0 :t", ("%a0", "mn"))
    total = text.reduce(e, "mn", "m")
    twice = text.map("%r = arith.addf %x0, %x0 :t", (e, "mn"))
    result = text.map("%r = arith.mulf %x0, %x1 :t", (twice, "mn"), (total, "m"))
    assert operators(agree(text.done(result))) == ["unary[exp(x)]", "unary[2*x]", "sum[1]", "mul"]


def test_square_of_a_difference() -> None:
    text = Text([3, 4], [3, 4])
    body = "%d = arith.subf %x0, %x1 :t\n %r = arith.mulf %d, %d :t"
    program = agree(text.done(text.map(body, ("%a0", "mn"), ("%a1", "mn"))))
    assert operators(program) == ["sub", "unary[x**2]"]


def test_shared_inner_value_is_fused_when_only_the_chain_needs_it() -> None:
    text = Text([3, 4])
    body = "%e = math.exp %x0 :t\n %p = arith.mulf %e, %x0 :t\n %r = arith.addf %p, %e :t"
    assert operators(agree(text.done(text.map(body, ("%a0", "mn"))))) == ["unary[x*exp(x) + exp(x)]"]


@pytest.mark.parametrize("body", ["%r = math.tanh %x0 :t", "%s = arith.mulf %x0, %x0 :t\n %r = arith.addf %s, %x0 :t"])
def test_very_long_chains_stay_in_pieces(body: str) -> None:
    """300 steps on one tensor; written out, the second one would have 2^300 terms."""
    text = Text([2, 3])
    value = "%a0"
    for _ in range(300):
        value = text.map(body, (value, "mn"))
    program = import_file(text.done(value))
    assert 300 / 96 < len(program.nodes) < 150
    assert all(node.op.name == "unary" for node in program.nodes)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%c = arith.constant 0.0 :t\n %r = arith.maximumf %x0, %c :t", "Max(0, x)"),
        (
            "%c = arith.constant 0.0 :t\n %p = arith.cmpf ugt, %x0, %c :t\n %r = arith.select %p, %x0, %c :t",
            "Max(0, x)",
        ),
        (
            "%c = arith.constant 6.0 :t\n %p = arith.cmpf olt, %x0, %c :t\n %r = arith.select %p, %x0, %c :t",
            "Min(6, x)",
        ),
        ("%c = arith.constant 3 : i64\n %r = math.fpowi %x0, %c :t, i64", "x**3"),
        ("%r = math.absf %x0 :t", "Abs(x)"),
        ("%n = math.absf %x0 :t\n %r = math.rsqrt %n :t", "1/sqrt(Abs(x))"),
        ("%r = math.exp2 %x0 :t", "2**x"),
        ("%r = math.erf %x0 :t", "erf(x)"),
        ("%n = arith.negf %x0 :t\n %r = math.expm1 %n :t", "-1 + exp(-x)"),
        ("%c = arith.constant 3.0 :t\n %r = math.fma %x0, %c, %c :t", "3*x + 3"),
    ],
)
def test_scalar_functions(body: str, expected: str) -> None:
    text = Text([3, 4])
    assert operators(agree(text.done(text.map(body, ("%a0", "mn"))))) == [f"unary[{expected}]"]


def test_swapped_select_is_the_other_extremum() -> None:
    text = Text([3, 4], [3, 4])
    body = "%p = arith.cmpf ogt, %x0, %x1 :t\n %r = arith.select %p, %x1, %x0 :t"
    assert operators(agree(text.done(text.map(body, ("%a0", "mn"), ("%a1", "mn"))))) == ["min"]


def test_broadcasts_keep_a_size_one_dim() -> None:
    text = Text([3, 4], [4], [3, 1])
    program = agree(
        text.done(
            text.map(
                "%s = arith.addf %x0, %x1 :t\n %r = arith.divf %s, %x2 :t", ("%a0", "mn"), ("%a1", "n"), ("%a2", "m0")
            )
        )
    )
    assert operators(program) == ["add", "div"]
    assert [i.shape for i in program.inputs] == [(3, 4), (1, 4), (3, 1)]


def test_division_keeps_its_order() -> None:
    text = Text([3, 4], [3, 4])
    (node,) = import_file(text.done(text.map("%r = arith.divf %x1, %x0 :t", ("%a0", "mn"), ("%a1", "mn")))).nodes
    assert node.operands == (1, 0)


# -- views


def test_an_argument_and_its_transpose() -> None:
    text = Text([4, 4])
    program = agree(text.done(text.map("%r = arith.subf %x0, %x1 :t", ("%a0", "mn"), ("%a0", "nm"))))
    assert operators(program) == ["sub"]
    assert [(i.name, i.strides) for i in program.inputs] == [("arg0", (4, 1)), ("arg0_view2", (1, 4))]


def test_gram_matrix_reads_its_argument_twice() -> None:
    text = Text([4, 6])
    program = agree(text.done(text.contract(("%a0", "mk"), ("%a0", "nk"), "mn", "mnk")))
    assert operators(program) == ["matmul"]
    assert [i.strides for i in program.inputs] == [(6, 1), (1, 6)]


def test_transposed_and_reshaped_results_are_views() -> None:
    text = Text([6, 4])
    doubled = text.map("%r = arith.addf %x0, %x0 :t", ("%a0", "mn"))
    turned = text.generic("nm", [(doubled, "mn")], "nm", "%r = arith.addf %x0, %x0 : f32", "0.0")
    program = agree(text.done(text.reshape(turned, [[0], [1, 2]], [4, 2, 3])))
    assert operators(program) == ["unary[4*x]"]
    (out,) = program.outputs
    assert out.shape == (4, 2, 3)


def test_reshapes_around_a_contraction_vanish() -> None:
    text = Text([2, 3, 6], [6, 5])
    flat = text.reshape("%a0", [[0, 1], [2]], [6, 6])
    product = text.contract((flat, "mk"), ("%a1", "kn"), "mn", "mnk")
    program = agree(text.done(text.reshape(product, [[0, 1], [2]], [2, 3, 5])))
    assert operators(program) == ["matmul"]
    assert program.inputs[0].shape == (6, 6)


def test_multi_head_projection_needs_one_move() -> None:
    """X.W split into heads, each head times another argument: the only operators besides products move data."""
    text = Text([5, 6], [6, 8], [2, 4, 7])
    product = text.contract(("%a0", "mk"), ("%a1", "kn"), "mn", "mnk")
    heads = text.reshape(product, [[0], [1, 2]], [5, 2, 4])
    program = agree(text.done(text.contract((heads, "mbk"), ("%a2", "bkn"), "bmn", "bmnk")))
    moves = [op for op in operators(program) if op != "matmul"]
    assert operators(program).count("matmul") == 2
    assert all(op.startswith(("transpose", "reshape")) for op in moves)
    assert len(moves) <= 2


def test_results_that_repeat() -> None:
    text = Text([3, 1], [3, 4])
    program = agree(text.done(text.map("%r = arith.addf %x0, %x0 :t", ("%a0", "m0"), ("%a1", "mn"), letters="mn")))
    assert [o.shape for o in program.outputs] == [(3, 4)]


def test_several_results_and_shared_work() -> None:
    text = Text([3, 4])
    e = text.map("%r = math.exp %x0 :t", ("%a0", "mn"))
    again = text.map("%r = math.exp %x0 :t", ("%a0", "mn"))
    total = text.reduce(again, "mn", "m")
    program = agree(text.done(e, total, e))
    assert operators(program) == ["unary[exp(x)]", "sum[1]"]
    assert [o.name for o in program.outputs] == ["out0", "out1", "out2"]


def test_an_argument_as_result() -> None:
    text = Text([3, 4])
    assert agree(text.done("%a0")).nodes == ()


def test_unused_arguments_are_not_read() -> None:
    text = Text([3, 4], [7])
    program = agree(text.done(text.map("%r = math.exp %x0 :t", ("%a0", "mn"))))
    assert [i.arg for i in program.inputs] == [0]


def test_constant_arrays_are_inputs() -> None:
    program = agree(
        "func.func @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
        "  %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>\n"
        "  %0 = arith.mulf %a, %c : tensor<2x3xf32>\n  return %0 : tensor<2x3xf32>\n}"
    )
    assert [(i.name, i.arg) for i in program.inputs] == [("arg0", 0), ("const0", None)]


def test_names_of_jax_arguments() -> None:
    text = 'func.func @f(%a: tensor<2x3xf32> loc("q")) -> tensor<2x3xf32> {\n  return %a : tensor<2x3xf32>\n}'
    assert import_file(text).inputs[0].name == "q"


BFLOAT = """func.func private @silu(%x: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  %c = arith.constant dense<1.0> : tensor<8x16xbf16>
  %n = arith.negf %x : tensor<8x16xbf16>
  %e = math.exp %n : tensor<8x16xbf16>
  %s = arith.addf %e, %c : tensor<8x16xbf16>
  %r = arith.divf %x, %s : tensor<8x16xbf16>
  return %r : tensor<8x16xbf16>
}
func.func public @main(%x: tensor<8x32xbf16> loc("x"), %w: tensor<32x16xbf16> loc("w")) -> tensor<8x16xbf16> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
  %t = arith.truncf %m : tensor<8x16xf32> to tensor<8x16xbf16>
  %s = call @silu(%t) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %s : tensor<8x16xbf16>
}
"""


def test_bfloat_program_in_the_style_of_jax() -> None:
    """A public main that calls a private function, named arguments, bf16 held as bits."""
    program = import_file(BFLOAT)
    assert [i.name for i in program.inputs] == ["x", "w"]
    assert [(str(n.op), str(n.dtype)) for n in program.nodes] == [
        ("matmul", "bf16"),
        ("unary[x/(1 + exp(-x))]", "bf16"),
    ]
    compiled = compile_module(BFLOAT)
    rng = np.random.default_rng(2)
    args = [from_float64(rng.standard_normal(a.shape), DType.BF16) for a in compiled.arguments]
    (exact,), (jit,) = program.run(args), compiled(*args)
    # five roundings to bf16 (the product, and four operations of silu), each half an ulp of at most the largest value
    assert np.max(np.abs(to_float64(jit, DType.BF16) - exact)) <= 5 * 2.0**-8 * np.max(np.abs(exact))


# -- softmax


def exponentials(program: Program) -> list[int | None]:
    return [node.shift for node in program.nodes if "exp" in str(node.op)]


@pytest.mark.parametrize(("index", "over"), [("mn", "n"), ("mn", "m"), ("bmn", "n"), ("bmn", "m")])
def test_softmax_over_any_dim(index: str, over: str) -> None:
    text = Text([SIZES[c] for c in index])
    program = agree(text.done(text.softmax("%a0", index, over)))
    dim = index.index(over)
    assert operators(program) == ["unary[exp(x)]", f"sum[{dim}]", "div"]
    assert exponentials(program) == [dim]


def test_softmax_over_two_dims_of_one_slot() -> None:
    text = Text([2, 3, 4])
    program = agree(text.done(text.softmax("%a0", "bmn", "mn")))
    assert operators(program) == ["unary[exp(x)]", "sum[1]", "div"]
    assert exponentials(program) == [1]


def test_division_after_the_product() -> None:
    """exp(s - m) . V / sum: the degree goes through the matmul."""
    text = Text([3, 4], [4, 5])
    top = text.reduce("%a0", "mk", "m", "maximumf")
    body = "%d = arith.subf %x0, %x1 :t\n %r = math.exp %d :t"
    e = text.map(body, ("%a0", "mk"), (top, "m"))
    total = text.reduce(e, "mk", "m")
    product = text.contract((e, "mk"), ("%a1", "kn"), "mn", "mnk")
    program = agree(text.done(text.map("%r = arith.divf %x0, %x1 :t", (product, "mn"), (total, "m"))))
    assert operators(program) == ["unary[exp(x)]", "matmul", "sum[1]", "div"]
    assert exponentials(program) == [1]


def shifted(text: Text) -> tuple[str, str]:
    """exp(a0 - max) and the maximum, over the last of two dims."""
    top = text.reduce("%a0", "mk", "m", "maximumf")
    body = "%d = arith.subf %x0, %x1 :t\n %r = math.exp %d :t"
    return text.map(body, ("%a0", "mk"), (top, "m")), top


def test_shift_that_a_result_shows_stays() -> None:
    text = Text([3, 4])
    e, _ = shifted(text)
    program = agree(text.done(e))
    assert "reduce_max[1]" in operators(program)
    assert exponentials(program) == [None]


def test_logsumexp_keeps_its_shift() -> None:
    """log(sum) + m: the shift cancels, but not by degrees."""
    text = Text([3, 4])
    e, top = shifted(text)
    total = text.reduce(e, "mk", "m")
    program = agree(text.done(text.map("%l = math.log %x0 :t\n %r = arith.addf %l, %x1 :t", (total, "m"), (top, "m"))))
    assert "reduce_max[1]" in operators(program)
    assert exponentials(program) == [None]


def test_rows_that_mix_keep_their_shifts() -> None:
    """Dividing by a total over all rows does not cancel each row's own factor."""
    text = Text([3, 4])
    e, _ = shifted(text)
    total = text.reduce(e, "mk", "")
    program = agree(text.done(text.map("%r = arith.divf %x0, %x1 :t", (e, "mk"), (total, ""))))
    assert exponentials(program) == [None]


def test_a_degree_of_two_cancels_against_a_square() -> None:
    text = Text([3, 4])
    e, _ = shifted(text)
    total = text.reduce(e, "mk", "m")
    body = "%s = arith.mulf %x0, %x0 :t\n %t = arith.mulf %x1, %x1 :t\n %r = arith.divf %s, %t :t"
    assert exponentials(agree(text.done(text.map(body, (e, "mk"), (total, "m"))))) == [1]
    once = "%s = arith.mulf %x0, %x0 :t\n %r = arith.divf %s, %x1 :t"
    text = Text([3, 4])
    e, _ = shifted(text)
    total = text.reduce(e, "mk", "m")
    assert exponentials(agree(text.done(text.map(once, (e, "mk"), (total, "m"))))) == [None]


def test_adding_something_without_the_factor_keeps_the_shift() -> None:
    text = Text([3, 4])
    e, _ = shifted(text)
    total = text.reduce(e, "mk", "m")
    body = "%c = arith.constant 1.0 :t\n %s = arith.addf %x1, %c :t\n %r = arith.divf %x0, %s :t"
    assert exponentials(agree(text.done(text.map(body, (e, "mk"), (total, "m"))))) == [None]


def test_adding_a_tensor_without_the_factor_keeps_the_shift() -> None:
    text = Text([3, 4], [3])
    e, _ = shifted(text)
    total = text.reduce(e, "mk", "m")
    body = "%s = arith.addf %x1, %x2 :t\n %r = arith.divf %x0, %s :t"
    program = agree(text.done(text.map(body, (e, "mk"), (total, "m"), ("%a1", "m"))))
    assert exponentials(program) == [None]


@pytest.mark.parametrize("over", ["m", "k"])
def test_a_shift_that_is_not_the_maximum_of_its_own_row_stays(over: str) -> None:
    text = Text([4, 4])
    top = text.reduce("%a0", "km", "m", "maximumf")  # maxima of columns, used for rows
    body = "%d = arith.subf %x0, %x1 :t\n %r = math.exp %d :t"
    e = text.map(body, ("%a0", "mk"), (top, "m"))
    total = text.reduce(e, "mk", over)
    program = agree(text.done(text.map("%r = arith.divf %x0, %x1 :t", (e, "mk"), (total, over))))
    assert exponentials(program) == [None]


def test_scaled_softmax() -> None:
    """exp((s - m) * 2) and a scale before the maximum both keep the exponential alone."""
    text = Text([3, 4])
    top = text.reduce("%a0", "mk", "m", "maximumf")
    body = "%c = arith.constant 2.0 :t\n %d = arith.subf %x0, %x1 :t\n %s = arith.mulf %d, %c :t\n %r = math.exp %s :t"
    e = text.map(body, ("%a0", "mk"), (top, "m"))
    total = text.reduce(e, "mk", "m")
    program = agree(text.done(text.map("%r = arith.divf %x0, %x1 :t", (e, "mk"), (total, "m"))))
    assert operators(program)[1:] == ["sum[1]", "div"] or operators(program)[2:] == ["sum[1]", "div"]
    assert exponentials(program) == [1]


# -- what cannot be expressed

ONE = "tensor<4x4xf32>"


def function(body: str, arguments: str = f"%a: {ONE}", result: str = ONE) -> str:
    return f"func.func @f({arguments}) -> {result} {{\n{body}\n}}"


REJECTED = [
    (
        function("  return %a : tensor<?x4xf32>", "%a: tensor<?x4xf32>", "tensor<?x4xf32>"),
        "<input>:1:14: error: dynamic size in argument 0, tensor<?x4xf32>, is not supported, give every dim a number; "
        "only prism compile takes ?",
    ),
    (function("  return %a : tensor<0x4xf32>", "%a: tensor<0x4xf32>", "tensor<0x4xf32>"), "argument 0 has no elements"),
    (
        function("  return %a : tensor<4xi32>", "%a: tensor<4xi32>", "tensor<4xi32>"),
        "<input>:1:14: error: argument 0 of element type i32, use a floating-point tensor",
    ),
    (
        function(f"  %0 = bufferization.alloc_tensor() : {ONE}\n  return %0 : {ONE}"),
        "<input>:2:8: error: operation bufferization.alloc_tensor, rewrite it",
    ),
    (
        function(f'  %0 = "foo.bar"(%a) : ({ONE}) -> {ONE}\n  return %0 : {ONE}'),
        "<input>:2:8: error: operation foo.bar, rewrite it",
    ),
    (
        function(
            f"  %0 = tensor.gather %a[%i] gather_dims([0]) : ({ONE}, tensor<2x1xindex>) -> tensor<2x1x4xf32>\n"
            "  return %0 : tensor<2x1x4xf32>",
            result="tensor<2x1x4xf32>",
        ).replace("(%a:", "(%i: tensor<2x1xindex>, %a:"),
        "<input>:2:8: error: operation tensor.gather",
    ),
    (function(f"  %0 = tensor.empty() : {ONE}\n  return %0 : {ONE}"), "error: a value that was never written"),
    (
        function(f"  %0 = math.atan %a : {ONE}\n  return %0 : {ONE}"),
        "<input>:2:8: error: operation math.atan",
    ),
    (
        function(
            f"  %c = arith.constant dense<0x7FC00000> : {ONE}\n  %0 = arith.addf %a, %c : {ONE}\n  return %0 : {ONE}"
        ),
        "error: a NaN constant",
    ),
    (
        function(f"  %c = arith.constant dense<0.0> : {ONE}\n  %0 = arith.divf %a, %c : {ONE}\n  return %0 : {ONE}"),
        "<input>:3:8: error: arithmetic with a constant that is not a number",
    ),
    (
        function(
            "  %e = tensor.empty() : tensor<2x3xf32>\n"
            "  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d0 + d1)>, "
            'affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} '
            "ins(%a : tensor<2x8xf32>) outs(%e : tensor<2x3xf32>) {\n  ^bb0(%x: f32, %o: f32):\n"
            "    linalg.yield %x : f32\n  } -> tensor<2x3xf32>\n  return %0 : tensor<2x3xf32>",
            "%a: tensor<2x8xf32>",
            "tensor<2x3xf32>",
        ),
        "<input>:3:8: error: linalg.generic that reads with an index that is no loop",
    ),
    ("func.func @f() {\n  return\n}", "<input>:1:1: error: @f returns nothing, return a tensor"),
    (
        "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n  cf.br ^bb1\n^bb1:\n  return %a : tensor<4xf32>\n}",
        "<input>:1:1: error: control flow in a function",
    ),
]


@pytest.mark.parametrize(("text", "message"), REJECTED)
def test_what_cannot_be_expressed_is_a_located_line(text: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        import_file(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("<input>:")
    assert capfd.readouterr() == ("", "")


def generic_error(text: Text, result: str) -> str:
    with pytest.raises(UnsupportedError) as caught:
        import_file(text.done(result))
    return str(caught.value)


def test_diagonals() -> None:
    text = Text([4, 4])
    assert "reads a diagonal" in generic_error(
        text, text.generic("m", [("%a0", "mm")], "m", "%r = arith.addf %x0, %x0 : f32", "0.0")
    )


def test_products_as_reductions() -> None:
    text = Text([4, 4])
    result = text.generic("mk", [("%a0", "mk")], "m", "%r = arith.mulf %x0, %o : f32", "1.0")
    assert "reduction by arith.mulf, reduce by addf, maximumf or minimumf" in generic_error(text, result)


def test_reductions_that_look_at_their_accumulator() -> None:
    text = Text([4, 4])
    body = "%s = arith.mulf %x0, %o : f32\n    %r = arith.addf %s, %o : f32"
    result = text.generic("mk", [("%a0", "mk")], "m", body, "0.0")
    assert "terms depend on the accumulator" in generic_error(text, result)


def test_a_computed_tensor_with_its_transpose() -> None:
    text = Text([4, 4])
    e = text.contract(("%a0", "mk"), ("%a0", "kn"), "mn", "mnk")
    program = agree(text.done(text.map("%r = arith.subf %x0, %x1 :t", (e, "mn"), (e, "nm"))))
    assert operators(program) == ["matmul", "transpose[(1, 0)]", "sub"]


def test_dead_code_is_not_looked_at() -> None:
    program = import_file(function(f"  %0 = math.acos %a : {ONE}\n  %1 = math.exp %a : {ONE}\n  return %1 : {ONE}"))
    assert operators(program) == ["unary[exp(x)]"]


def test_choice_of_function() -> None:
    two = "".join(f"func.func @{n}(%a: {ONE}) -> {ONE} {{\n  return %a : {ONE}\n}}\n" for n in "gh")
    assert import_file(two, "h").name == "h"
    with pytest.raises(InputError, match=r"which function\? there is: @g, @h, name one \(--function NAME\)"):
        import_file(two)
    with pytest.raises(InputError, match="no function @k"):
        import_file(two, "k")
    with pytest.raises(InputError, match="there is no function with a body"):
        import_file("module {}")


def test_module_and_file_and_text_agree(tmp_path: Path) -> None:
    text = Text([3, 4])
    source = text.done(text.map("%r = math.exp %x0 :t", ("%a0", "mn")))
    path = tmp_path / "x.mlir"
    path.write_text(source)
    assert import_file(path) == import_file(str(path)) == import_file(source) == import_module(read_module(source))


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text(function(f"  %0 = math.acos %a : {ONE}\n  return %0 : {ONE}"))
    with pytest.raises(PrismError, match=r"x\.mlir:2:8: error: operation math\.acos"):
        import_file(path)
