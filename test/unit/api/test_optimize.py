"""``prism_mlir.optimize``: every form of input, results against NumPy in f64, errors."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prism_mlir
from prism_mlir.graph.errors import InputError, MissingToolError, PrismError
from prism_mlir.tune.records.store import Records

SOURCE = """
func.func @scaled(%a: tensor<16x32x{t}>, %b: tensor<32x24x{t}>) -> tensor<16x24x{t}> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x24xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x24xf32>) -> tensor<16x24xf32>
  %p = linalg.matmul ins(%a, %b : tensor<16x32x{t}>, tensor<32x24x{t}>) outs(%z : tensor<16x24xf32>) -> tensor<16x24xf32>
  %o = tensor.empty() : tensor<16x24x{t}>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%p : tensor<16x24xf32>) outs(%o : tensor<16x24x{t}>) {{
  ^bb0(%x: f32, %y: {t}):
    %two = arith.constant 2.0 : f32
    %m = arith.mulf %x, %two : f32
    %c = arith.truncf %m : f32 to {t}
    linalg.yield %c : {t}
  }} -> tensor<16x24x{t}>
  return %r : tensor<16x24x{t}>
}}
"""
F16 = SOURCE.format(t="f16")
QUICK: dict[str, Any] = {"samples": 50}


@pytest.fixture(scope="module")
def result() -> prism_mlir.Result:
    return prism_mlir.optimize(F16, **QUICK)


def arrays(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (16, 32)), rng.uniform(-1, 1, (32, 24))


def test_the_result_computes_the_function(result: prism_mlir.Result) -> None:
    a, b = (x.astype(np.float16) for x in arrays())
    got = result(a, b)
    assert isinstance(got, np.ndarray) and got.dtype == np.float16
    wanted = 2 * (a.astype(np.float64) @ b.astype(np.float64))
    np.testing.assert_allclose(got.astype(np.float64), wanted, atol=np.abs(wanted).max() * 2**-10)


def test_what_a_result_holds(result: prism_mlir.Result) -> None:
    assert [k.entry for k in result.kernels] == ["scaled"]
    assert ".visible .entry scaled(" in result.ptx["scaled.ptx"]
    assert "gpu.launch_func" in result.mlir and "func.func @scaled" in result.mlir
    assert result.report["parts"][0]["verdict"]["status"] == "proved"
    assert set(result.files) == {
        "scaled.ptx",
        "launch.json",
        "scaled.mlir",
        "scaled.host.mlir",
        "report.json",
        "details.json",
    }


def test_all_forms_of_a_module_give_the_same(result: prism_mlir.Result, tmp_path: Path) -> None:
    from mlir import ir
    from xdsl.context import Context
    from xdsl.parser import Parser
    from xdsl.universe import Universe

    path = tmp_path / "scaled.mlir"
    path.write_text(F16)
    upstream = ir.Module.parse(F16, ir.Context())
    context = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, dialect)
    generic = upstream.operation.get_asm(print_generic_op_form=True, use_local_scope=True)
    for form in (path, str(path), upstream, upstream.operation, Parser(context, generic).parse_module()):
        assert prism_mlir.optimize(form, **QUICK).ptx == result.ptx


def test_bf16_is_held_in_f32_and_rounded_to_nearest_even() -> None:
    result = prism_mlir.optimize(SOURCE.format(t="bf16"), **QUICK)
    a, b = (x.astype(np.float32) for x in arrays())
    got = result(a, b)
    assert isinstance(got, np.ndarray) and got.dtype == np.float32
    wanted = 2 * (in_bf16(a) @ in_bf16(b))
    np.testing.assert_allclose(got, wanted, atol=np.abs(wanted).max() * 2**-7)
    bits = (in_bf16(a).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    np.testing.assert_array_equal(result(bits, b), got)


def in_bf16(array: Any) -> Any:
    """f64 values of an array rounded to 8 bits of mantissa, by arithmetic."""
    mantissa, exponent = np.frexp(array.astype(np.float64))
    return np.ldexp(np.rint(mantissa * 256) / 256, exponent)


@pytest.mark.parametrize(
    "given, what",
    [
        (lambda a, b: (a,), "1 arguments, the function takes 2"),
        (lambda a, b: (a, b.T), r"argument 1 is of shape \[24, 32\], the function's is \[32, 24\]"),
        (lambda a, b: (a.astype(complex), b), "argument 0 is of type complex128, the function's is f16"),
        (lambda a, b: (a, b, a), "3 arguments, the function takes 2"),
        (lambda a, b: ("text", b), r"argument 0 is of shape \[\]"),
    ],
)
def test_arguments_that_do_not_fit(result: prism_mlir.Result, given: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        result.run(*given(*arrays()), device="machine")


def test_devices(result: prism_mlir.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_driver() -> None:
        raise MissingToolError("no CUDA driver found")

    monkeypatch.setattr("prism_mlir.runtime.cuda.load_driver", no_driver)
    with pytest.raises(MissingToolError, match="no CUDA driver"):
        result.run(*arrays(), device="gpu")
    with pytest.raises(InputError, match="unknown device 'tpu'"):
        result.run(*arrays(), device="tpu")
    automatic, machine = result.run(*arrays()), result.run(*arrays(), device="machine")
    np.testing.assert_array_equal(automatic[0], machine[0])


def test_errors_name_the_place_and_unknown_options_are_type_errors() -> None:
    with pytest.raises(PrismError, match="<text>:1:1: error"):
        prism_mlir.optimize("{ this is not MLIR")
    with pytest.raises(PrismError, match=r"no/such/file\.mlir"):
        prism_mlir.optimize("no/such/file.mlir")
    with pytest.raises(InputError, match="cannot optimize a int"):
        prism_mlir.optimize(3)
    for nothing in ("", " \n"):
        with pytest.raises(
            InputError, match="cannot optimize a text of nothing, give MLIR text, or the path of a file"
        ):
            prism_mlir.optimize(nothing)
    with pytest.raises(InputError, match="unknown target 'sm_1'"):
        prism_mlir.optimize(F16, target="sm_1")
    assert prism_mlir.PrismError is PrismError
    with pytest.raises(InputError, match=r"nothing: error: cannot read the file: .*; MLIR text has a line break"):
        prism_mlir.optimize("nothing")
    with pytest.raises(TypeError, match=r"no option 'sample'; there are .*islands.*records.*samples.*target"):
        prism_mlir.optimize(F16, sample=3)


@pytest.mark.parametrize(
    "options, what",
    [
        ({"samples": "many"}, "samples is 'many', it must be a whole number"),
        ({"samples": 2.5}, "samples is 2.5, it must be a whole number"),
        ({"samples": 0}, "samples is 0, it must be at least 1"),
        ({"seed": -1}, "seed is -1, it must be at least 0"),
        ({"check": "no"}, "check is 'no', it must be True or False"),
        ({"host": "bla"}, "host is 'bla', known are tensor, memref"),
        ({"time_limit": -1}, "time_limit is -1, it must be a time in seconds"),
        ({"time_limit": float("nan")}, "it must be a time in seconds"),
        ({"time_limit": "soon"}, "time_limit: 'soon' is no time"),
        ({"kernels": 9}, "limit kernels=9 is out of range"),
        ({"operators": -1}, "limit operators=-1 is out of range"),
        ({"operators": "x"}, "operators is 'x', it must be a whole number"),
    ],
)
def test_options_are_checked(options: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=re.escape(what)):
        prism_mlir.optimize(F16, **options)


def test_a_time_limit_may_be_text_and_records_a_folder(tmp_path: Path) -> None:
    first, second = (prism_mlir.optimize(F16, records=str(tmp_path), time_limit="1min", **QUICK) for _ in range(2))
    assert second.compilation.checked_before and first.ptx == second.ptx
    assert len(repr(first)) < 200


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path, pytest.fail) as opened:
        yield opened


def test_records_progress_and_limits(records: Records, result: prism_mlir.Result) -> None:
    lines: list[str] = []
    first = prism_mlir.optimize(F16, records=records, progress=lines.append, states=5000, **QUICK)
    second = prism_mlir.optimize(F16, records=records, states=5000, **QUICK)
    assert [r.compilation.checked_before for r in (first, second)] == [False, True]
    assert first.ptx == second.ptx == result.ptx
    assert any(line.startswith("checking") for line in lines)


def test_threads_do_not_disturb_each_other(result: prism_mlir.Result) -> None:
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        own = prism_mlir.optimize(SOURCE.format(t=("f16", "bf16")[k % 2]), check=False, **QUICK)
        found[k] = own.ptx, own(*arrays(k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found[0][0] == found[2][0] == result.ptx
    assert found[1][0] == found[3][0] != result.ptx
    np.testing.assert_array_equal(found[2][1], result(*arrays(2)))


def test_threads_print_nothing(tmp_path: Path) -> None:
    """Code is generated in forked processes, which must not complain about what other threads hold."""
    (tmp_path / "in.mlir").write_text(F16)
    script = (
        "import sys, threading, prism_mlir\n"
        "work = lambda: [prism_mlir.optimize(sys.argv[1], samples=50, check=False) for _ in range(2)]\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "in.mlir")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""


def test_importing_the_package_loads_nothing() -> None:
    script = "import sys, prism_mlir; print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'xdsl', 'mlir', 'sympy')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        _ = prism_mlir.optimise  # type: ignore[attr-defined]
