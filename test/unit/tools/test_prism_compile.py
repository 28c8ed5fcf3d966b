"""``prism compile`` as a user runs it: files written whole or not at all, errors in one line, the same bytes every time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.launch_info import LaunchInfo, Role
from prism_mlir.runtime.ptx import Module
from prism_mlir.tools.prism import main

SOURCE = """
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
func.func @scaled(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>, %v: tensor<16x1xf16>) -> tensor<16x32xf16> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<16x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%f0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %e1 = tensor.empty() : tensor<16x32xf16>
  %r = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%p, %v : tensor<16x32xf32>, tensor<16x1xf16>) outs(%e1 : tensor<16x32xf16>) {
  ^bb0(%a: f32, %b: f16, %out: f16):
    %b32 = arith.extf %b : f16 to f32
    %c = arith.mulf %a, %b32 : f32
    %d = arith.truncf %c : f32 to f16
    linalg.yield %d : f16
  } -> tensor<16x32xf16>
  return %r : tensor<16x32xf16>
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("in") / "scaled.mlir"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def compiled(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("out") / "scaled"
    assert main(["compile", str(source), "-o", str(output), "-q"]) == 0
    return output


def test_the_files_are_there(compiled: Path) -> None:
    assert sorted(p.name for p in compiled.iterdir()) == [
        "details.json",
        "launch.json",
        "report.json",
        "scaled.host.mlir",
        "scaled.mlir",
        "scaled.ptx",
    ]


def test_the_written_files_alone_suffice_to_run_the_kernel(compiled: Path) -> None:
    launch = LaunchInfo.from_dict(json.loads((compiled / "launch.json").read_text()))
    (kernel,) = launch.kernels
    rng = np.random.default_rng(0)
    given = [rng.normal(size=s).astype(np.float16) for s in ((16, 64), (64, 32), (16, 1))]
    out = np.zeros((16, 32), np.float16)
    assert all(a.dtype is DType.F16 and a.alignment == 16 for a in kernel.arguments)
    args = [out if a.role is Role.OUTPUT else given[a.index] for a in kernel.arguments]
    Module.load(compiled / kernel.ptx).kernel(kernel.entry).run(
        grid=kernel.grid, block=kernel.block, args=args, shared_bytes=kernel.shared_bytes
    )
    x, w, v = (g.astype(np.float64) for g in given)
    np.testing.assert_allclose(out.astype(np.float64), (x @ w) * v, atol=2**-9 * np.abs((x @ w) * v).max())


def test_prism_ptx_needs_nothing_but_the_written_files(compiled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(compiled / "scaled.ptx"), "--launch", str(compiled / "launch.json")]
    ones = [f"--arg={n}=ones" for n in range(3)]
    assert main(["ptx", "check", *arguments, "--seeds", "1"]) == 0
    assert "clean    nothing found" in capsys.readouterr().out
    assert main(["ptx", "run", *arguments, *ones, "--json"]) == 0
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert (output["shape"], output["min"], output["max"]) == ([16, 32], 64, 64)  # sums of 64 ones, times 1
    assert main(["ptx", "stats", *arguments, "--json"]) == 0
    counters = json.loads(capsys.readouterr().out)["counters"]
    fma = (
        counters["mma_flops"] // 2 + 32 * counters["warp_instructions"]["fp32"]
    )  # on tensor cores, or one f32 instruction each
    assert fma >= 16 * 64 * 32 and counters["global_store_bytes"] == 2 * 16 * 32


def test_the_report_tells_the_whole_story(compiled: Path) -> None:
    report = json.loads((compiled / "report.json").read_text())
    (part,) = report["parts"]
    counts = part["funnel"]["counts"]
    assert counts["proved"] + counts["refuted"] + counts["unknown"] == counts["mappings"] > 0
    assert part["verdict"]["status"] == "proved"
    assert all(row["ok"] for row in report["accuracy"])
    assert {"cuts", "versions", "seconds", "seed", "limits"} <= set(report)
    assert {"schedule", "cost", "graph"} <= set(part)


def test_the_final_ir_reads_back(compiled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from prism_mlir.tools.prism_opt import main as prism_opt

    assert prism_opt([str(compiled / "scaled.mlir")]) == 0
    text = capsys.readouterr().out
    assert "sgraph.program @scaled" in text
    assert "gpu.binary" in text


def test_the_host_function_takes_what_the_options_say(source: Path, tmp_path: Path) -> None:
    arguments = ["compile", str(source), "-o", str(tmp_path), "-q", "--no-check", "--samples", "20"]
    assert main([*arguments, "--host", "memref", "--workspace", "argument"]) == 0
    text = (tmp_path / "scaled.host.mlir").read_text()
    buffers = "%arg0: memref<16x64xf16>, %arg1: memref<64x32xf16>, %arg2: memref<16x1xf16>, %arg3: memref<16x32xf16>"
    assert f"func.func @scaled({buffers}) {{" in text


def test_an_unknown_host_function(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(source), "-o", str(tmp_path), "--host", "device"]) == 2
    assert "'device' is not one of 'tensor', 'memref'" in capsys.readouterr().err


def test_same_input_same_bytes(source: Path, compiled: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert main(["compile", str(source), "-o", str(again), "-q"]) == 0
    for name in ("scaled.ptx", "launch.json", "scaled.mlir", "scaled.host.mlir"):
        assert (again / name).read_bytes() == (compiled / name).read_bytes(), name
    first, second = (json.loads((d / "report.json").read_text()) for d in (compiled, again))
    del first["seconds"], second["seconds"]
    assert first == second


BROKEN = {
    "empty": (b"", "1:1"),
    "binary": (bytes(range(256)) * 8, ""),
    "text": (b"this is not MLIR\n", "1:1"),
    "unclosed": (SOURCE.encode()[:400], ""),
    "no function": (b"module {}\n", "1:1"),
    "no rank": (b"func.func @f(%x: tensor<*xf16>) -> tensor<*xf16> { return %x : tensor<*xf16> }\n", "1:"),
    "zero": (b"func.func @f(%x: tensor<0x4xf16>) -> tensor<0x4xf16> { return %x : tensor<0x4xf16> }\n", ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_located_line_and_writes_nothing(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    content, place = BROKEN[name]
    path, output = tmp_path / "broken.mlir", tmp_path / "out"
    path.write_bytes(content)
    assert main(["compile", str(path), "-o", str(output)]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"{path}:{place}")
    assert "error: " in captured.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["broken.mlir"]


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["compile"], "error: Missing argument 'IN.mlir' (see prism compile --help)"),
        (1, ["compile", "no-such-file.mlir", "-o", "out"], "cannot read 'no-such-file.mlir'"),
        (1, ["compile", ".", "-o", "out"], "it is a folder"),
        (1, ["compile", "-", "-o", "out"], "standard input is not read"),
        (2, ["compile", "", "-o", "out"], "error: IN.mlir: an empty name"),
        (2, ["compile", "{source}"], "Missing option"),
        (2, ["compile", "{source}", "-o", ""], "error: --output: an empty name; name a file, or write . for this folder"),
        (2, ["compile", "{source}", "-o", "out", "-q", "-v"], "error: -q prints nothing, and -v prints more"),
        (2, ["compile", "{source}", "-o", "out", "--max-size", "64"], "error: --max-size is for functions with `?`"),
        (
            2,
            ["compile", "{source}", "-o", "out", "--target", "sm_12"],
            "error: --target: unknown target 'sm_12', known are",
        ),
        (
            2,
            ["compile", "{source}", "-o", "out", "--executor", "x"],
            "error: --executor: no executor is called 'x', known:",
        ),
        (2, ["compile", "{source}", "-o", "out", "--limit", "speed=3"], "known: operators"),
        (2, ["compile", "{source}", "-o", "out", "--limit", "operators=many"], "needs a number"),
        (2, ["compile", "{source}", "-o", "out", "--limit", "grid_dims=7"], "out of range"),
        (1, ["compile", "{source}", "-o", "out", "--limit", "states=1"], "no proved graph"),
        (1, ["compile", "{source}", "-o", "out", "--function", "other"], "no function @other"),
        (1, ["compile", "{source}", "-o", "out", "--profile"], "no CUDA driver found"),
        (1, ["compile", "{source}", "-o", "{source}/out"], "cannot write to"),
        (2, ["frobnicate"], "No such command"),
    ],
)
def test_a_bad_command_line_is_one_line(
    code: int,
    arguments: list[str],
    message: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([a.replace("{source}", str(source)) for a in arguments]) == code
    captured = capfd.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_existing_folder_keeps_its_other_files(source: Path, compiled: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "mine.txt").write_text("keep")
    assert main(["compile", str(source), "-o", str(output), "-q", "--no-check"]) == 0
    assert (output / "mine.txt").read_text() == "keep"
    assert (output / "scaled.ptx").read_bytes() == (compiled / "scaled.ptx").read_bytes()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_profile_lets_the_driver_decide(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a driver that answers, the report holds measured times and the fastest is chosen."""
    from contextlib import nullcontext

    from prism_mlir.tools import prism_compile
    from prism_mlir.tune.profile import Samples

    times = iter([9.0, 7.0, 3.0, 5.0, 8.0, 8.0, 8.0, 8.0])

    def prepare(program, tf32):  # type: ignore[no-untyped-def]
        return lambda kernel, best_us: Samples((next(times),))

    monkeypatch.setattr(prism_compile, "gpu_timer", lambda check: nullcontext(prepare))
    assert main(["compile", str(source), "-o", str(tmp_path / "out"), "--profile"]) == 0
    assert "measured 3.0 us" in capsys.readouterr().out
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [row["us"] for row in report["parts"][0]["profile"]] == [3.0, 5.0, 7.0, 8.0, 8.0, 8.0, 8.0, 9.0]


SMALL = """func.func @{name}(%a: tensor<16x64xf16>{more}) -> {results} {{
  %e = tensor.empty() : tensor<16x64xf16>
  %r = linalg.exp ins(%a : tensor<16x64xf16>) outs(%e : tensor<16x64xf16>) -> tensor<16x64xf16>
  return {returned}
}}
"""
ONE = "tensor<16x64xf16>"


def small(tmp_path: Path, name: str = "f", more: str = "", results: str = ONE, returned: str = f"%r : {ONE}") -> Path:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL.format(name=name, more=more, results=results, returned=returned))
    return path


@pytest.mark.parametrize("more", ["", ", %b: tensor<3x5xf32>", ", %b: tensor<3xf32>, %c: tensor<2x2xbf16>"])
def test_arguments_that_nothing_uses_are_allowed(more: str, tmp_path: Path) -> None:
    assert main(["compile", str(small(tmp_path, more=more)), "-o", str(tmp_path / "out"), "-q"]) == 0


def test_results_that_are_arguments_are_copied(tmp_path: Path) -> None:
    """Unchanged beside another result, and transposed."""
    both = small(tmp_path, results=f"({ONE}, {ONE})", returned=f"%a, %r : {ONE}, {ONE}")
    done = compile_file(both, CompileOptions(samples=100))
    a = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float16)
    copied, _ = Emulator(done.launch, done.built.ptx)([a])
    assert (copied == a).all() and all(x.ok for x in done.accuracy)
    transposed = tmp_path / "t.mlir"
    transposed.write_text(
        "func.func @t(%a: tensor<16x64xf16>) -> tensor<64x16xf16> {\n  %e = tensor.empty() : tensor<64x16xf16>\n"
        "  %r = linalg.transpose ins(%a : tensor<16x64xf16>) outs(%e : tensor<64x16xf16>) permutation = [1, 0]\n"
        "  return %r : tensor<64x16xf16>\n}\n"
    )
    done = compile_file(transposed, CompileOptions(samples=100))
    (turned,) = Emulator(done.launch, done.built.ptx)([a])
    assert (turned == a.T).all()


@pytest.mark.parametrize("name", ['"../escape"', '"x y/é"', f'"{"n" * 300}"', '".."'])
def test_a_strange_function_name_stays_inside_the_folder(name: str, tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    source, out = small(inside, name=name), tmp_path / "out"
    assert main(["compile", str(source), "-o", str(out), "-q", "--no-check"]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out"]
    assert len(list(out.iterdir())) == 6
    assert all(len(p.name) < 120 and p.name.isascii() for p in out.iterdir())


def test_a_file_that_cannot_be_replaced_leaves_the_folder_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (out / "launch.json").mkdir(parents=True)
    assert main(["compile", str(small(tmp_path)), "-o", str(out), "-q", "--no-check"]) == 1
    assert "launch.json': it is a folder" in capsys.readouterr().err
    assert [p.name for p in out.iterdir()] == ["launch.json"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "small.mlir"]


def test_the_current_folder_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = small(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["compile", str(source), "-o", ".", "-q", "--no-check"]) == 0
    assert (tmp_path / "here" / "launch.json").exists()


def test_what_no_code_can_be_made_for_is_told_with_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "double.mlir"
    double = SOURCE.replace("f32", "f64").replace("f16", "f64")
    double = double.replace("arith.extf %b : f64 to f64", "arith.addf %b, %b : f64")
    path.write_text(double.replace("arith.truncf %c : f64 to f64", "arith.negf %c : f64"))
    assert main(["compile", str(path), "-o", str(tmp_path / "out"), "-q"]) == 1
    told = capsys.readouterr().err
    assert told == f"{path}:1:1: error: no code for tensors of f64, use f16, bf16, f32 or, for masks, i1\n"
    assert not (tmp_path / "out").exists()
