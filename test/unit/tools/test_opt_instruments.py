"""What prism-opt tells while it runs: the same options as mlir-opt's, and reproducers that reproduce."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prism_mlir.tools.opt_instruments import time_report
from prism_mlir.tools.prism_opt import main

TWICE = """
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  return %c : i32
}
"""
BAD = """
func.func @f(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %e = tensor.empty() : tensor<4x4xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf16>) outs(%e : tensor<4x4xf16>) {
  ^bb0(%a: f16, %b: f16):
    %r = math.acos %a : f16
    linalg.yield %r : f16
  } -> tensor<4x4xf16>
  return %y : tensor<4x4xf16>
}
"""


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    path = tmp_path / "twice.mlir"
    path.write_text(TWICE)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD)
    return path


CSE, DCE = "CommonSubexpressionElimination", "DeadCodeElimination"


@pytest.mark.parametrize(
    "options, titles",
    [
        (["--mlir-print-ir-before=cse"], [f"IR Dump Before {CSE} (cse)"]),
        (["--mlir-print-ir-after=dce"], [f"IR Dump After {DCE} (dce)"]),
        (["--mlir-print-ir-after=cse,dce"], [f"IR Dump After {CSE} (cse)", f"IR Dump After {DCE} (dce)"]),
        (["--mlir-print-ir-after-all", "--mlir-print-ir-after-change"], [f"IR Dump After {CSE} (cse)"]),
        (["--mlir-print-ir-after-change"], [f"IR Dump After {CSE} (cse)"]),
        (["--mlir-print-ir-after-all", "--mlir-print-ir-after-failure"], []),
    ],
)
def test_dumps(options: list[str], titles: list[str], twice: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(twice), "-p", "cse,dce", *options]) == 0
    assert re.findall(r"// -----// (.*) //----- //", capsys.readouterr().err) == titles


def test_a_dump_is_the_ir_of_that_moment(twice: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(twice), "--cse", "--mlir-print-ir-before-all", "--mlir-print-ir-after-all"])
    before, after = capsys.readouterr().err.split("IR Dump After")
    assert (before.count("arith.addi"), after.count("arith.addi")) == (2, 1)


def test_an_unknown_pass_to_print_is_named(twice: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(twice), "--cse", "--mlir-print-ir-after=csee"]) == 1
    assert "no pass is called 'csee', did you mean cse" in capsys.readouterr().err


def test_after_failure(bad: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(bad), "-p", "cse,sgraph-import", "--mlir-print-ir-after-failure"]) == 1
    error = capsys.readouterr().err
    assert re.findall(r"// -----// (.*) //----- //", error) == ["IR Dump After SgraphImportPass Failed (sgraph-import)"]
    assert "math.acos" in error and f"{bad}:7:" in error


def test_times_add_up(twice: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(twice), "-p", "cse,dce", "--mlir-timing"]) == 0
    error = capsys.readouterr().err
    names = re.findall(r"%\)  (.+)", error)
    assert names == ["Parser", "cse", "dce", "Output", "Rest", "Total"]
    seconds = [float(s) for s in re.findall(r"^ *([0-9.]+) \(", error, re.MULTILINE)]
    assert sum(seconds[:-1]) == pytest.approx(seconds[-1], abs=1e-3)


def test_the_table_of_times() -> None:
    rows = time_report([("a", 1.0), ("b", 2.0)], 4.0).splitlines()
    assert rows[3] == "  Total Execution Time: 4.0000 seconds"
    assert [row.split() for row in rows[6:]] == [
        ["1.0000", "(", "25.0%)", "a"],
        ["2.0000", "(", "50.0%)", "b"],
        ["1.0000", "(", "25.0%)", "Rest"],
        ["4.0000", "(100.0%)", "Total"],
    ]
    assert "0.0%" in time_report([], 0.0)


def test_statistics(twice: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(twice), "-p", "cse,dce", "--mlir-pass-statistics"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [" ".join(line.split()) for line in lines[3:]] == ["cse", "(S) 1 arith.addi - removed", "dce"]


def test_statistics_count_verdicts_and_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[3] / "examples" / "swiglu.mlir"
    passes = "sgraph-import,sgraph-generate,sgraph-instantiate-maps,sgraph-verify"
    assert main([str(example), "-p", passes, "--mlir-pass-statistics"]) == 0
    output, error = capsys.readouterr()
    proved = output.count("#sgraph.verdict<proved")
    verified = error[error.index("sgraph-verify") :]
    assert proved > 5
    assert re.search(rf"\(S\) +{proved} sgraph\.graph proved - added", verified)


def test_a_reproducer_reproduces(bad: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "again.mlir"
    passes = "cse,sgraph-import,sgraph-verify{seed=2}"
    assert main([str(bad), "-p", passes, f"--mlir-pass-pipeline-crash-reproducer={file}"]) == 1
    first = capsys.readouterr().err
    assert f"note: a reproducer is in '{file}'" in first
    assert main([str(file), "--run-reproducer"]) == 1
    second = capsys.readouterr().err
    message = re.compile(r"error: [^\n]*")
    assert message.findall(first) == message.findall(second) != []
    assert "builtin.module(cse,sgraph-import," in file.read_text()


def test_a_local_reproducer_begins_at_the_pass_that_failed(bad: Path, tmp_path: Path) -> None:
    file = tmp_path / "again.mlir"
    bad.write_text(BAD.replace("%e = tensor.empty()", "%d = tensor.empty() : tensor<4x4xf16>\n  %e = tensor.empty()"))
    options = [f"--mlir-pass-pipeline-crash-reproducer={file}", "--mlir-pass-pipeline-local-reproducer"]
    assert main([str(bad), "-p", "dce,sgraph-import", *options]) == 1
    text = file.read_text()
    assert "builtin.module(sgraph-import" in text
    assert text.count("tensor.empty") == 1  # the other one was dead


def test_a_pipeline_that_works_leaves_no_reproducer(twice: Path, tmp_path: Path) -> None:
    file = tmp_path / "again.mlir"
    assert main([str(twice), "--cse", f"--mlir-pass-pipeline-crash-reproducer={file}"]) == 0
    assert not file.exists()


def test_what_is_no_reproducer_is_an_error(twice: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(twice), "--run-reproducer"]) == 1
    assert "the file is no reproducer" in capsys.readouterr().err
