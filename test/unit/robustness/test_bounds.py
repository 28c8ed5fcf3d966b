"""Inputs that are too large are refused early, with a place, and in little memory."""

from __future__ import annotations

import os
import re
import resource
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "fuzz"))

from fork_server import Limits, run

from prism_mlir.frontend import import_file
from prism_mlir.frontend.bounds import MAX_ELEMENTS, MAX_OPERATIONS, MAX_RANK, MAX_RESULTS
from prism_mlir.frontend.stablehlo.text import is_stablehlo
from prism_mlir.frontend.text_guard import check_text
from prism_mlir.frontend.xdsl_text import MAX_SPLAT, check_splats
from prism_mlir.graph.errors import InputError, LimitError
from prism_mlir.graph.scalar_fn import MAX_TEXT, ScalarFn
from prism_mlir.runtime.ptx import Module, PtxSyntaxError

TENSOR = "tensor<4xf32>"


def function(body: str, results: str = TENSOR, kind: str = TENSOR) -> str:
    return f"func.func @main(%a: {kind}) -> ({results}) {{\n{body}\n}}\n"


def test_operations() -> None:
    ops = "\n".join(f"%v{k} = math.exp %{'a' if k == 0 else f'v{k - 1}'} : {TENSOR}" for k in range(MAX_OPERATIONS + 1))
    text = function(f"{ops}\nreturn %v{MAX_OPERATIONS} : {TENSOR}")
    with pytest.raises(LimitError, match=rf":{1 + MAX_OPERATIONS + 1}:\d+: error: the function has .* operations"):
        import_file(text)


def test_results() -> None:
    def returning(n: int) -> str:
        return function(f"return {', '.join(['%a'] * n)} : {', '.join([TENSOR] * n)}", ", ".join([TENSOR] * n))

    assert len(import_file(returning(MAX_RESULTS)).outputs) == MAX_RESULTS
    with pytest.raises(LimitError, match=rf"2:1: error: the function has {MAX_RESULTS + 1} results"):
        import_file(returning(MAX_RESULTS + 1))


@pytest.mark.parametrize("shape", ["1x" * (MAX_RANK + 1), f"{MAX_ELEMENTS + 1}x", "1048576x" * 3, f"{2**62}x"])
def test_shapes(shape: str) -> None:
    kind = f"tensor<{shape}f32>"
    with pytest.raises(LimitError, match="at most"):
        import_file(function(f"%r = arith.addf %a, %a : {kind}\nreturn %r : {kind}", kind, kind))


def test_constants_of_one_value_that_xdsl_would_spell_out() -> None:
    check_splats(f"dense<1.0> : tensor<{MAX_SPLAT}xf32>", "a")
    check_splats("dense<[1.0]> : tensor<99999999999xf32>", "a")  # a list is as long as it is
    with pytest.raises(LimitError, match=r"b.mlir:3:4: error: a constant of \d+ elements"):
        check_splats(f'dense<1.0> : tensor<2x{MAX_SPLAT}xf32> loc("b.mlir":3:4)', "a")


@pytest.mark.parametrize(
    "text",
    [
        "((9**1024)**1024)**1024",
        "9" * 5000,
        "exp(exp(exp(exp(9.0))))",
        f"Max({'exp(' * 20}1{')' * 20}, 3)",
        "-" * 3000 + "x",
        "(" * 300 + "x" + ")" * 300,
        "x" + "+x" * MAX_TEXT,
        "1/0",
        "nan",
        "x.real",
        "__import__('os')",
    ],
)
def test_scalar_functions_that_no_time_is_enough_for(text: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    try:
        ScalarFn.parse(text)
    except InputError as error:
        assert re.search("scalar function", error.message)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 20  # seconds; without bounds, for ever


def scan(text: str) -> int:
    """What looks at raw text before anything else does."""
    check_text(text, "a.mlir")
    assert not is_stablehlo(f"{text}// stablehlo.add")
    try:
        Module.load(f"{text}\n.version 7.0\n")
    except PtxSyntaxError:
        return 0
    return 1


@pytest.mark.parametrize(
    "text", ['"' + "F" * 30_000_000 + '"\n', '"' + "\\\\" * 5_000_000 + '"\n'], ids=["digits", "escapes"]
)
def test_a_long_string_takes_no_more_memory_than_a_few_times_its_length(text: str, tmp_path: Path) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limits = Limits(memory=pages * os.sysconf("SC_PAGE_SIZE") + (400 << 20), wall_seconds=600)
    outcome = run(lambda: scan(text), tmp_path, limits)
    assert outcome.code == 0, outcome.err


def test_results_that_are_the_same_are_saved_alike(tmp_path: Path) -> None:
    """One choice of a tile, not one for each of 30 results, which would be 2^30 graphs."""
    from prism_mlir.tools.prism import main

    count = 30
    path = tmp_path / "a.mlir"
    path.write_text(
        function(f"return {', '.join(['%a'] * count)} : {', '.join([TENSOR] * count)}", ", ".join([TENSOR] * count))
    )
    assert main(["explain", str(path), "--time-limit", "120s"]) == 0
