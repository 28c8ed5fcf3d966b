"""prism-opt as a user meets it: spellings, errors, files."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prism_mlir.passes import NAMES, PASSES
from prism_mlir.tools.opt_arguments import translate
from prism_mlir.tools.prism_opt import main

PROGRAM = """sgraph.program @p(%a: tensor<8x16xf16>) {
  %0 = sgraph.sum %a dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
"""

WRONG = PROGRAM.replace("dim 1", "dim 2")

FUNCTION = """func.func @f(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.mlir"
    path.write_text(PROGRAM)
    return path


def one_error(capsys: pytest.CaptureFixture[str]) -> str:
    """What the tool printed: nothing on stdout, one line on stderr."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1, captured.err
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["a.mlir"], ["a.mlir"]),
        (["--cse", "a.mlir"], ["a.mlir", "-p", "cse"]),
        (["-cse", "--canonicalize"], ["-p", "cse,canonicalize"]),
        (["--cse=a=1 b=2"], ["-p", "cse{a=1 b=2}"]),
        (["--pass-pipeline=builtin.module(cse, canonicalize{x=1,2})"], ["-p", "cse,canonicalize{x=1,2}"]),
        (["-pass-pipeline", "builtin.module(cse)"], ["-p", "cse"]),
        (["--pass-pipeline=any(cse)"], ["-p", "cse"]),
        (["-p", "cse{a=1}"], ["-p", "cse{a=1}"]),
        (["-mlir-print-op-generic"], ["--print-op-generic"]),
        (["--mlir-print-ir-after-all", "-o", "out"], ["--print-ir-after-all", "-o", "out"]),
        (["--allow-unregistered-dialect", "-", "-o", "-"], ["-", "-o", "-"]),
        (["-split-input-file"], ["--split-input-file"]),
    ],
)
def test_spellings_of_mlir_opt(given: list[str], wanted: list[str]) -> None:
    assert translate(given, ["cse", "canonicalize"]) == wanted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--no-such-flag"], "error: no option is called '--no-such-flag', see prism-opt --help"),
        (["--split-input-fil"], "error: no option is called '--split-input-fil', did you mean --split-input-file"),
        (["--sgraph-verif=x"], "error: no option is called '--sgraph-verif=x', did you mean --sgraph-verify"),
        (["-o"], "error: argument -o/--output-file: expected one argument"),
        (["-p"], "error: -p needs a pipeline"),
        (["-p", "no-such-pass"], "pass pipeline:1:1: error: no pass is called 'no-such-pass'"),
        (
            ["-p", "cse,sgraph-improt"],
            "pass pipeline:1:5: error: no pass is called 'sgraph-improt', did you mean sgraph-import",
        ),
        (["--pass-pipeline=builtin.module(cse, dcee)"], "pass pipeline:1:21: error: no pass is called 'dcee'"),
        (["--print-ir-after=cs"], "error: no pass is called 'cs', did you mean cse"),
        (["-p", "sgraph-verify{"], "pass pipeline:1:15: error: expected argument name in 'sgraph-verify{'"),
        (["-p", "cse,,cse"], "pass pipeline:1:5: error: expected pass name"),
        (
            ["-p", "sgraph-verify{seed=1 seeds=1}"],
            "pass pipeline:1:22: error: sgraph-verify has no option 'seeds', did you mean seed?",
        ),
        (["--sgraph-verify=seeds=1"], "error: sgraph-verify has no option 'seeds', did you mean seed?"),
        (["-p", "cse{x=1}"], "pass pipeline:1:5: error: cse has no option 'x', it has none"),
        (
            ["-p", "sgraph-verify{seed=abc}"],
            "pass pipeline:1:15: error: sgraph-verify: seed is 'abc', it must be a whole number",
        ),
        (["-p", "sgraph-verify{seed=1.5}"], "seed is '1.5', it must be a whole number"),
        (["-p", "sgraph-verify{seed}"], "seed has no value, it must be a whole number"),
        (["-p", "sgraph-match-dims{drop=3}"], "drop is '3', it must be true or false"),
        (["-p", "apply-individual-rewrite"], "apply-individual-rewrite needs matched-operation-index"),
        (["--pass-pipeline=builtin.module(cse"], "error: pass pipeline: a parenthesis is not closed"),
        (["-p", "sgraph-generate{grid-dims=4}"], "grid-dims is 4, it must be 0 to 3"),
        (["-p", "sgraph-generate{operators=0}"], "operators is 0, it must be at least 1"),
        (["-p", "prism-superoptimize{target=sm_12}"], "unknown target 'sm_12'"),
        (["-p", "sgraph-instantiate-parameters{keep=0}"], "keep is 0"),
        (["-p", "gpu-to-ptx{target=no}"], "unknown target 'no'"),
        (["--pass-pipeline=builtin.module(func.func(cse))"], "nests a pipeline"),
        (["--cse", "--pass-pipeline=builtin.module(cse)"], "cannot be given together"),
        (["-p", "cse", "--pass-pipeline=cse"], "two pass pipelines"),
        (["-t", "no-such-target"], "no target is called"),
        (["a", "b"], "unrecognized arguments: b"),
    ],
)
def test_bad_command_lines(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert message in one_error(capsys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the input is empty"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"ML\xefR\x01", "this is MLIR bytecode"),
        (b"int main() { return 0; }", "in.mlir:1:"),
        (b"{" * 100_000, "nesting is deeper"),
        (WRONG.encode(), "in.mlir:2:8: error: 'sgraph.sum' op has a shape mismatch"),
        (b"\n\n  func.func @f( {", "in.mlir:3:"),
        (b"func.func @f() { return ", "in.mlir:1:"),
    ],
)
def test_bad_files_leave_nothing_behind(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "in.mlir", tmp_path / "out.mlir"
    path.write_bytes(content)
    assert main([str(path), "-p", "sgraph-import", "-o", str(out)]) == 1
    error = one_error(capsys)
    assert message in error
    assert re.match(r"\S+in\.mlir:\d+:\d+: error: ", error)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.mlir"]


def test_missing_input_and_unwritable_output(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(source.parent / "none.mlir")]) == 1
    assert "none.mlir': No such file or directory" in one_error(capsys)
    assert main([str(source.parent)]) == 1
    assert "': Is a directory" in one_error(capsys)
    assert main([str(source), "-o", str(source.parent / "no" / "out.mlir")]) == 1
    assert "out.mlir': No such file or directory" in one_error(capsys)


def test_a_failing_run_keeps_the_old_output(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.mlir"
    out.write_text("old")
    bad = tmp_path / "bad.mlir"
    bad.write_text(WRONG)
    assert main([str(bad), "-o", str(out)]) == 1
    assert out.read_text() == "old"
    one_error(capsys)
    assert main([str(source), "-o", str(out)]) == 0
    assert "sgraph.program @p" in out.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.mlir", "in.mlir", "out.mlir"]


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["-"], ["-o", "-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
        assert main(arguments) == 0
        assert "sgraph.program @p" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(WRONG.encode())))
    assert main([]) == 1
    assert one_error(capsys).startswith("<stdin>:2:8: error: ")


def test_pieces_are_processed_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(f"{PROGRAM}// -----\n{FUNCTION}\n// ----- again\n{PROGRAM}")
    assert main([str(path), "--split-input-file"]) == 0
    pieces = capsys.readouterr().out.split("// -----\n")
    assert [("sgraph.program" in p, "linalg.generic" in p) for p in pieces] == [(1, 0), (0, 1), (1, 0)]
    path.write_text(f"{PROGRAM}// -----\n{WRONG}// -----\n{WRONG}")
    assert main([str(path), "--split-input-file"]) == 1
    captured = capsys.readouterr()
    places = [line.split(": error")[0] for line in captured.err.splitlines()]
    assert places == [f"{path}:7:8", f"{path}:12:8"]
    assert captured.out == ""


EXPECT = "  // expected-error @+1 {{'sgraph.sum' op has a shape mismatch}}\n"


@pytest.mark.parametrize(
    ("text", "code", "complaint"),
    [
        (WRONG.replace("  %0", EXPECT + "  %0"), 0, None),
        (WRONG.replace("  %0", EXPECT.replace("@+1", "@below") + "  %0"), 0, None),
        (
            WRONG.replace("  %0", EXPECT.replace("error @", "error-re @").replace("a shape", "{{a .*e}}") + "  %0"),
            0,
            None,
        ),
        (PROGRAM.replace("  %0", EXPECT + "  %0"), 1, "was not produced"),
        (WRONG, 1, "unexpected error: 'sgraph.sum' op has a shape mismatch"),
        (WRONG.replace("  %0", EXPECT.replace("@+1", "@+2") + "  %0"), 1, "was not produced"),
        (WRONG.replace("  %0", EXPECT.replace("shape", "sharp") + "  %0"), 1, "was not produced"),
        (WRONG.replace("  %0", EXPECT.replace("error @", "warning @") + "  %0"), 1, "was not produced"),
        (WRONG.replace("  %0", EXPECT + EXPECT.replace("@+1", "") + "  %0"), 1, "was not produced"),
    ],
)
def test_expected_diagnostics_must_come(
    text: str, code: int, complaint: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(text)
    assert main([str(path), "--verify-diagnostics"]) == code
    error = capsys.readouterr().err
    assert (complaint or "") in error and (code == 1 or error == "")


def test_ir_is_printed_around_passes(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(source), "--cse", "--mlir-print-ir-before-all", "--mlir-print-ir-after-all"]) == 0
    error = capsys.readouterr().err
    titles = re.findall(r"// -----// (.*) //----- //", error)
    assert titles == [
        "IR Dump Before CommonSubexpressionElimination (cse)",
        "IR Dump After CommonSubexpressionElimination (cse)",
    ]


def test_the_pipeline_is_printed_pass_by_pass(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(source), "--prism-superoptimize", "--dump-pass-pipeline"])
    printed = re.search(r"builtin\.module\((.*)\)", capsys.readouterr().err)
    assert printed is not None
    names = re.sub(r"\{[^}]*\}", "", printed[1]).split(",")
    assert names == [name for name in NAMES if name != "prism-superoptimize"]


def test_help_version_and_lists(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, expected in ((["--help"], "sgraph-match-dims"), (["--version"], "prism-opt 0.")):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out
    assert main(["--list-passes"]) == 0
    listed = capsys.readouterr().out.split()
    assert set(NAMES) <= set(listed) and "canonicalize" in listed
    assert main(["--show-dialects"]) == 0
    assert {"sgraph", "builtin", "arith", "linalg"} <= set(capsys.readouterr().out.split())


def test_passes_are_shown_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    """Every option of every pass of ours, and what it does; in --help as well."""
    assert main(["--show-passes"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) < 80
    for name in NAMES:
        (section,) = re.findall(rf"^  --{name}\n(?:    .*\n?)+", shown, re.MULTILINE)
        described = set(re.findall(r"[\w-]+", " ".join(re.findall(r"^      ([\w, -]+)$", section, re.MULTILINE))))
        assert {f.name.replace("_", "-") for f in dataclasses.fields(PASSES[name]())} <= described, name
        assert "``" not in section
    with pytest.raises(SystemExit):
        main(["--help"])
    assert shown.strip() in capsys.readouterr().out


def test_a_bug_is_two_lines_and_a_reproducer(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bug(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("prism_mlir.tools.prism_opt.read_ir", bug)
    assert main([str(source)]) == 70
    assert capsys.readouterr().err == (
        "error: internal error of prism-opt: KeyError: 'x'\n"
        "note: this is a bug in prism-opt; run it again with --reproducer FILE and report FILE\n"
    )
    out = tmp_path / "bug.mlir"
    assert main([str(source), "--sgraph-verify=seed=3", f"--reproducer={out}"]) == 70
    assert f"report it with the file '{out}'" in capsys.readouterr().err
    text = out.read_text()
    assert f"// command: prism-opt {source} --sgraph-verify=seed=3 --reproducer={out}" in text
    assert "// traceback:" in text and "KeyError" in text and text.endswith(PROGRAM)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
    assert main([f"--reproducer={out}"]) == 70
    assert out.read_text().endswith(f"// input from standard input: {len(PROGRAM)} bytes\n{PROGRAM}")
    capsys.readouterr()
    assert main([str(source), "--print-stack-trace"]) == 70
    assert capsys.readouterr().err.startswith("Traceback (most recent call last)")
    monkeypatch.undo()
    assert main([str(out)]) == 0  # a reproducer is the input it was made from


def test_ctrl_c_is_one_line(source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("prism_mlir.tools.prism_opt.read_ir", stopped)
    assert main([str(source)]) == 130
    assert capsys.readouterr() == ("", "error: interrupted; nothing was written\n")


def test_upstreams_syntax_is_read_and_can_be_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(FUNCTION)
    outputs = []
    for generic in ([], ["--mlir-print-op-generic"], []):
        assert main([str(path), *generic]) == 0
        outputs.append(capsys.readouterr().out)
        path.write_text(outputs[-1])
    assert outputs[0] == outputs[2]
    assert "linalg.matmul" not in outputs[0] and "linalg.generic" in outputs[0]


def test_stock_xdsl_opt_runs_our_passes_from_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(PROGRAM)
    tool = Path(sys.executable).parent / "xdsl-opt"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [tool, "in.mlir", "-p", "sgraph-generate{operators=2 grid-dims=1},sgraph-instantiate-maps,sgraph-verify"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "verdict = #sgraph.verdict<proved" in done.stdout


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(FUNCTION.replace("f32", "f16"))
    outputs = [tmp_path / "a.mlir", tmp_path / "b.mlir"]
    for out in outputs:
        assert main([str(path), "--prism-superoptimize=operators=2 samples=20", "-o", str(out)]) == 0
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert "gpu.binary" in outputs[0].read_text()
