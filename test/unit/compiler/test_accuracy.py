"""The accuracy rule accepts what f32 arithmetic gives and nothing that is merely close."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prism_mlir.compiler.accuracy import Reference, SourceError, compare, reduction_length, references
from prism_mlir.compiler.input_sets import input_sets
from prism_mlir.frontend import import_module
from prism_mlir.frontend.upstream import read_file
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.examples import attention, build_program, rms_norm, rms_norm_mlp, swiglu
from prism_mlir.graph.ops import DIV, MATMUL, MUL, SUB, sum_, unary
from prism_mlir.graph.program import Program

F16 = DType.F16


def small(factory: Callable[..., Program]) -> Program:
    return factory(8, 64, 32)


def in_f32(program: Program, arguments: tuple[np.ndarray, ...]) -> np.ndarray:
    """The program in NumPy's f32, rounded once to f16: what good code computes."""
    values = [a.astype(np.float32) for a in arguments]
    for node in program.nodes:
        a = [values[v] for v in node.operands]
        match node.op.name:
            case "matmul":
                out = a[0] @ a[1]
            case "mul":
                out = a[0] * a[1]
            case "sum":
                out = a[0].sum(axis=node.op.dim, keepdims=True)
            case "unary":
                assert node.op.fn is not None
                out = node.op.fn(a[0].astype(np.float64)).astype(np.float32)
        values.append(out)
    with np.errstate(over="ignore"):
        return values[program.outputs[0].value].astype(np.float16)


@pytest.mark.parametrize("factory", [rms_norm, rms_norm_mlp, swiglu], ids=lambda f: f.__name__)
def test_f32_arithmetic_passes_and_damage_does_not(factory: Callable[..., Program]) -> None:
    program = small(factory)
    length = reduction_length(program)
    assert length == 64
    for inputs in input_sets(program, seed=3):
        good = in_f32(program, inputs.arguments)
        (reference,) = references(program, inputs.arguments)
        poor_source = np.zeros_like(good)  # a source that loses everything must not excuse the emitted code

        def judged(value: np.ndarray, wanted: Reference = reference, source: np.ndarray = poor_source) -> bool:
            return compare("t", "out", F16, value, source, wanted, length).ok

        assert judged(good), inputs.name
        finite = np.where(np.abs(reference.exact) < 6e4, np.abs(reference.exact), 0)
        largest = np.unravel_index(np.argmax(finite), good.shape)
        if abs(reference.exact[largest]) < 1e-6:
            continue  # everything rounds to zero or to the last denormals
        assert not judged(np.zeros_like(good)), inputs.name
        off = good.copy()
        off[largest] *= np.float16(1.02)
        assert not judged(off), inputs.name
        off[largest] = np.nan
        assert not judged(off), inputs.name


def test_emitted_code_must_not_be_worse_than_an_exact_source() -> None:
    wanted = Reference(np.array([1.0, 2.0]), np.array([0.5, 0.5]))
    exact = np.array([1.0, 2.0], np.float16)
    assert compare("t", "o", F16, exact, exact, wanted, 1).ok
    assert not compare("t", "o", F16, np.array([1.0, 2.01], np.float16), exact, wanted, 1).ok


@pytest.mark.parametrize("seed", range(50))
def test_code_that_rounds_like_the_source_passes_whichever_element_is_hit(seed: int) -> None:
    """Elements whose sensitivity spans four orders of magnitude: the worst one is one of few. Four times the error is refused."""
    rng = np.random.default_rng(seed)
    bound = 10.0 ** rng.uniform(-6, -2, 4096)
    exact = rng.uniform(-1, 1, 4096)

    def drawn(size: float) -> np.ndarray:
        return np.asarray(exact + 0.05 * size * bound * rng.normal(size=4096), np.float32)

    source, wanted = drawn(1), Reference(exact, bound)
    assert compare("t", "o", DType.F32, drawn(1), source, wanted, 1).ok
    assert not compare("t", "o", DType.F32, drawn(4), source, wanted, 1).ok
    one_off = np.where(np.arange(4096) == np.argmin(bound), exact + 0.9 * bound, source).astype(np.float32)
    assert compare("t", "o", DType.F32, one_off, source, wanted, 1).ok  # its error is far below the source's largest
    at_most = int(np.argmax(bound))
    one_off = np.where(np.arange(4096) == at_most, exact + 0.9 * bound, source).astype(np.float32)
    assert not compare("t", "o", DType.F32, one_off, source, wanted, 1).ok


def test_infinite_results_must_be_infinite() -> None:
    wanted = Reference(np.array([1e6, np.nan, 1.0]), np.array([np.inf, np.nan, 1e-3]))
    right = np.array([np.inf, np.nan, 1.0], np.float16)
    assert compare("t", "o", F16, right, right, wanted, 1).ok
    assert compare("t", "o", F16, right, right, wanted, 1).special == 2
    for wrong in ([65504, np.nan, 1.0], [-np.inf, np.nan, 1.0], [np.inf, 0.0, 1.0]):
        assert not compare("t", "o", F16, np.array(wrong, np.float16), right, wanted, 1).ok


def test_what_overflows_in_the_source_may_overflow_in_the_emitted_code() -> None:
    wanted = Reference(np.array([1.0, 1e6]), np.array([0.01, 100.0]))
    source = np.array([np.nan, np.nan], np.float16)
    assert compare("t", "o", F16, np.array([np.inf, np.nan], np.float16), source, wanted, 1).ok
    assert compare("t", "o", F16, np.array([1.0, np.inf], np.float16), source, wanted, 1).ok
    assert not compare("t", "o", F16, np.array([2.0, np.inf], np.float16), source, wanted, 1).ok  # finite, and wrong
    assert not compare("t", "o", F16, np.array([1.0, 5.0], np.float16), source, wanted, 1).ok


def test_an_element_at_the_edge_of_the_type_may_fall_on_either_side() -> None:
    """65519 rounds to 65504 and 65521 to infinity; with a bound of 4 both are right for 65519, and 60000 is not."""
    wanted = Reference(np.array([65519.0]), np.array([4.0 + 16]))
    source = np.array([65504], np.float16)
    for value, ok in ((65504, True), (np.inf, True), (-np.inf, False), (60000, False)):
        assert compare("t", "o", F16, np.array([value], np.float16), source, wanted, 1).ok is ok


def test_reduction_length_is_the_longest_sum() -> None:
    assert reduction_length(attention(2, 1024, 128)) == 1024
    assert reduction_length(rms_norm(8, 4096, 128)) == 4096


def test_input_sets_hold_what_their_names_say() -> None:
    sets = {s.name: s.arguments[0].astype(np.float64) for s in input_sets(rms_norm(8, 64, 32), seed=1)}
    assert set(sets) == {"random", "zeros", "one hot", "large", "tiny"}
    assert (sets["zeros"][::2] == 0).all() and (sets["zeros"][1::2] != 0).any()
    assert ((sets["one hot"] != 0).sum(axis=1) == 1).all()
    assert np.abs(sets["large"]).max() > 60
    smallest_normal = 2.0**-14
    assert 0 < np.abs(sets["tiny"]).max() < smallest_normal


def test_a_bound_that_is_nan_leaves_the_sources_own_error() -> None:
    """Where the analysis divides by an interval around zero it knows nothing, and code as good as the source is good."""
    wanted = Reference(np.array([1.0, 2.0]), np.array([np.nan, np.nan]))
    exact = np.array([1.0, 2.0], np.float16)
    assert compare("t", "o", F16, exact, exact, wanted, 1).ok
    assert not compare("t", "o", F16, np.array([1.0, 2.01], np.float16), exact, wanted, 1).ok


def test_values_stored_between_parts_are_rounded() -> None:
    """X W is stored in f16: an error of half a unit of it (2**-11) on what comes after, beside that of the result itself."""
    program = build_program("stored", {"X": (8, 64), "W": (64, 8)}, [(MATMUL, (0, 1)), (unary("x/4"), (2,))])
    arguments = next(iter(input_sets(program))).arguments
    (tight,), (wide,) = references(program, arguments), references(program, arguments, {2})
    more = wide.bound - tight.bound
    product = 4 * np.abs(tight.exact)
    assert (more >= 2.0**-11 * product / 4).all()
    assert (more <= 8 * 2.0**-11 * product / 4 + 1e-6).all()


def test_cancellation_inside_a_function_is_no_fault() -> None:
    """x (1 + erf(x / sqrt(2))) / 2 at -4.75 is -4.83e-06; in f32, 1 + erf is 2.03e-06, which is 17 units of 2**-23."""
    program = build_program("gelu", {"x": (1, 1)}, [(unary("x*(1 + erf(x/sqrt(2)))/2"), (0,))])
    program = with_f32(program)
    (reference,) = references(program, (np.array([[-4.75]], np.float32),))
    step = 4.75 / 2 * 2.0**-24  # of f32 below 1, where erf lies
    assert step < reference.bound[0, 0] < 40 * step
    (at_two,) = references(program, (np.array([[2.0]], np.float32),))
    assert at_two.bound[0, 0] < 100 * 2.0**-23  # nothing cancels there


def test_terms_that_cancel_may_be_multiplied_first() -> None:
    """(a - b) c as a c - b c in f32, where a and b are nearly alike: a thousand times the error of what is left, but no more."""
    nodes = [(SUB, (0, 1)), (MUL, (3, 2))]
    program = with_f32(build_program("p", dict.fromkeys("abc", (8, 32)), nodes))
    rng = np.random.default_rng(0)
    a, c = (rng.uniform(1, 2, (8, 32)).astype(np.float32) for _ in range(2))
    b = (a * (1 + 1e-3 * rng.standard_normal((8, 32)))).astype(np.float32)
    (reference,) = references(program, [a, b, c])
    error = np.abs((a * c - b * c) - reference.exact)
    assert (error <= reference.bound).all()
    assert (error > 2.0**-22 * np.abs(reference.exact)).any()
    half = (a * c).astype(np.float16).astype(np.float64) - b.astype(np.float64) * c
    assert (np.abs(half - reference.exact) > reference.bound).mean() > 0.9


MASKED = "inputs/corpus/jax/dpa_causal_f32.mlir"  # masked with -2.4e38


def test_a_large_negative_mask_leaves_a_bound_on_the_rest_of_its_row() -> None:
    """One unit of a masked score is 1e31, but that score is no maximum, and its exponential is zero whatever it is."""
    program = import_module(read_file(Path(__file__).parents[2] / MASKED))
    arguments = next(iter(input_sets(program, 1))).arguments
    (reference,) = references(program, arguments)
    scale = np.abs(reference.exact).max()
    assert 2.0**-24 * scale < reference.bound.max() < 1e-3 * scale


def test_first_order_errors_are_how_far_rounding_moves_elements() -> None:
    """Softmax of scores that are a unit off: next to a tie the result moves, far from one it does not."""
    nodes = [(unary("exp(x)"), (0,)), (sum_(1), (1,)), (DIV, (1, 2))]
    program = with_f32(build_program("softmax", {"x": (2, 2)}, nodes))
    program = replace(program, nodes=(replace(program.nodes[0], shift=1), *program.nodes[1:]))
    x = np.array([[1000.0, 1000.0], [1000.0, 0.0]], np.float32)
    (reference,) = references(program, (x,))
    assert reference.first_order is not None
    moved = reference.first_order()
    assert 1000 * 2.0**-24 / 4 < moved[0, 0] < 100 * 1000 * 2.0**-24  # p (1 - p) is a quarter
    assert moved[1, 1] < 1e-40
    wide = reference.bound
    np.testing.assert_allclose(moved[0], wide[0], rtol=0.02)  # nothing is steep there


def test_the_sources_errors_on_other_inputs_of_the_kind_count() -> None:
    """An element that the source happens to hit exactly, and misses by 0.004 on other inputs."""
    wanted = Reference(np.array([1.0, 100.0]), np.array([0.5, 0.5]), lambda: np.array([1.0, 1e-6]))
    source, got = np.array([1.0, 100.0], np.float32), np.array([1.005, 100.0], np.float32)
    assert not compare("t", "o", DType.F32, got, source, wanted, 1).ok
    assert compare("t", "o", DType.F32, got, source, wanted, 1, more=lambda _: [SourceError(0.004, 0.004)]).ok
    assert not compare("t", "o", DType.F32, got, source, wanted, 1, more=lambda _: [SourceError(0.001, 0.001)]).ok


def test_denormal_factors_lose_bits() -> None:
    """exp(-100) is 3.8e-44, 26.5 times the smallest f32: rounded to 26 or 27, then multiplied by 1000."""
    program = with_f32(build_program("tiny", {"x": (1, 1)}, [(unary("exp(x)"), (0,)), (unary("1000*x"), (1,))]))
    (reference,) = references(program, (np.array([[-100.0]], np.float32),))
    assert 500 * 2.0**-149 < reference.bound[0, 0] < 10_000 * 2.0**-149


def test_overflow_inside_a_function_is_no_fault() -> None:
    """1 / (1 + exp(89)) is 2.2e-39; in f32 exp(89) is infinite, and the result 0. At -80 nothing overflows."""
    program = with_f32(build_program("sigmoid", {"x": (1, 2)}, [(unary("1/(1 + exp(-x))"), (0,))]))
    (reference,) = references(program, (np.array([[-89.0, -80.0]], np.float32),))
    assert reference.bound[0, 0] >= reference.exact[0, 0] > 2e-39
    assert reference.bound[0, 1] < 1e-4 * reference.exact[0, 1]


def with_f32(program: Program) -> Program:
    return replace(
        program,
        inputs=tuple(replace(i, dtype=DType.F32) for i in program.inputs),
        nodes=tuple(replace(n, dtype=DType.F32) for n in program.nodes),
        outputs=tuple(replace(o, dtype=DType.F32) for o in program.outputs),
    )
