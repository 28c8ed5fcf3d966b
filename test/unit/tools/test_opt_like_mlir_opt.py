"""``prism-opt`` beside upstream's ``mlir-opt``: the same command lines, the same exit codes, the same kind of output."""

from __future__ import annotations

import io
import re
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from prism_mlir.codegen.external import find_tool
from prism_mlir.tools.opt_instruments import write_reproducer
from prism_mlir.tools.prism_opt import PrismOptMain, main

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(find_tool("mlir-opt") is None, reason="mlir-opt is not installed (extra `extras`)"),
]

GOOD = """func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = arith.muli %a, %b : i32
  return %c : i32
}
"""
WRONG = """func.func @g() -> i32 {
  return
}
"""
EXPECT = "  // expected-error @+1 {{has 0 operands, but enclosing function}}\n"
NEVER = "// expected-error @+1 {{never}}\n"


Run = subprocess.CompletedProcess[str]


def both(folder: Path, text: str, *options: str) -> dict[str, Run]:
    """The same file and options given to both; ours runs in this process."""
    upstream = find_tool("mlir-opt")
    assert upstream is not None
    done: dict[str, Run] = {}
    for name in ("mlir-opt", "prism-opt"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "in.mlir").write_text(text)
    asked = [str(upstream), *options]
    done["mlir-opt"] = subprocess.run(
        asked, cwd=folder / "mlir-opt", input=text, capture_output=True, text=True, check=False, timeout=120
    )
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "prism-opt")
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        try:
            code = main(list(options))
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else 0
    done["prism-opt"] = subprocess.CompletedProcess([*options], code, out.getvalue(), err.getvalue())
    return done


CASES = {
    "a file": (GOOD, ["in.mlir"]),
    "standard input": (GOOD, ["-"]),
    "standard input without a name": (GOOD, []),
    "an error": (WRONG, ["in.mlir"]),
    "a file that is not there": (GOOD, ["none.mlir"]),
    "an unknown option": (GOOD, ["in.mlir", "--no-such-option"]),
    "an option cut short": (GOOD, ["in.mlir", "--split-input-fil"]),
    "an unknown pass": (GOOD, ["in.mlir", "--pass-pipeline=builtin.module(nope)"]),
    "an unknown pass option": (GOOD, ["in.mlir", "--pass-pipeline=builtin.module(cse{x=1})"]),
    "a pipeline that does not end": (GOOD, ["in.mlir", "--pass-pipeline=builtin.module(cse"]),
    "a pipeline": (GOOD, ["in.mlir", "--pass-pipeline=builtin.module(cse,canonicalize)"]),
    "passes as flags": (GOOD, ["in.mlir", "--cse", "--canonicalize"]),
    "flags and a pipeline": (GOOD, ["in.mlir", "--cse", "--pass-pipeline=builtin.module(cse)"]),
    "pieces": (f"{GOOD}// -----\n{GOOD}", ["in.mlir", "--split-input-file"]),
    "pieces, one wrong": (f"{WRONG}// -----\n{GOOD}", ["in.mlir", "--split-input-file"]),
    "expected and there": (WRONG.replace("  return", EXPECT + "  return"), ["in.mlir", "--verify-diagnostics"]),
    "expected and not there": (NEVER + GOOD, ["in.mlir", "--verify-diagnostics"]),
    "there and not expected": (WRONG, ["in.mlir", "--verify-diagnostics"]),
    "nothing expected, nothing there": (GOOD, ["in.mlir", "--verify-diagnostics"]),
    "expected in another piece": (
        f"{NEVER}{GOOD}// -----\n{WRONG}",
        ["in.mlir", "--split-input-file", "--verify-diagnostics"],
    ),
    "output": (GOOD, ["in.mlir", "-o", "out.mlir"]),
    "output on standard output": (GOOD, ["in.mlir", "-o", "-"]),
    "output in no folder": (GOOD, ["in.mlir", "-o", "no/out.mlir"]),
    "generic form": (GOOD, ["in.mlir", "--mlir-print-op-generic"]),
    "places": (GOOD, ["in.mlir", "--mlir-print-debuginfo"]),
    "all of it at once": (
        GOOD,
        ["in.mlir", "--cse", "--mlir-timing", "--mlir-pass-statistics", "--mlir-print-op-generic"],
    ),
    "one dash": (GOOD, ["in.mlir", "-cse", "-mlir-print-op-generic"]),
    "list of passes": (GOOD, ["--list-passes"]),
    "dialects": (GOOD, ["--show-dialects"]),
    "version": (GOOD, ["--version"]),
    "help": (GOOD, ["--help"]),
}


@pytest.mark.parametrize("name", CASES)
def test_exit_codes_and_files(name: str, tmp_path: Path) -> None:
    text, options = CASES[name]
    done = both(tmp_path, text, *options)
    ours, upstream = done["prism-opt"], done["mlir-opt"]
    assert ours.returncode == upstream.returncode, (ours.stderr, upstream.stderr)
    assert "Traceback" not in ours.stderr
    if ours.returncode:  # mlir-opt writes the pieces that went well; here a result is whole or there is none
        assert ours.stdout == "" and ours.stderr.strip()
    else:
        assert bool(ours.stdout.strip()) == bool(upstream.stdout.strip())
        files = [sorted(p.name for p in (tmp_path / tool).iterdir()) for tool in done]
        assert files[0] == files[1]


def test_what_one_writes_the_other_reads(tmp_path: Path) -> None:
    for options in ([], ["--mlir-print-op-generic"], ["--mlir-print-debuginfo"], ["--cse", "--canonicalize"]):
        done = both(tmp_path, GOOD, "in.mlir", *options)
        for written in done.values():
            assert all(again.returncode == 0 for again in both(tmp_path, written.stdout, "in.mlir").values()), options
    generic = both(tmp_path, GOOD, "in.mlir", "--mlir-print-op-generic")
    assert all('"func.func"()' in one.stdout and '"arith.addi"(' in one.stdout for one in generic.values())
    places = both(tmp_path, GOOD, "in.mlir", "--mlir-print-debuginfo", "--mlir-print-op-generic")
    for line in (2, 3, 4):  # mlir-opt names places once and refers to them
        assert all(f"in.mlir:{line}:8" in one.stdout or f'"in.mlir":{line}:8' in one.stdout for one in places.values())


@pytest.mark.parametrize(
    "options",
    [
        ["--mlir-print-ir-before-all"],
        ["--mlir-print-ir-after-all"],
        ["--mlir-print-ir-before=cse"],
        ["--mlir-print-ir-after=canonicalize"],
        ["--mlir-print-ir-after-all", "--mlir-print-ir-after-change"],
        ["--mlir-print-ir-after-failure"],
    ],
)
def test_dumps_come_at_the_same_moments(options: list[str], tmp_path: Path) -> None:
    done = both(tmp_path, GOOD, "in.mlir", "--cse", "--canonicalize", *options)
    titles = {
        name: re.findall(r"^// -----// IR Dump (Before|After) \w+ \((.*?)\).*//----- //$", one.stderr, re.MULTILINE)
        for name, one in done.items()
    }
    assert titles["prism-opt"] == titles["mlir-opt"]


def test_reports_have_the_same_rows(tmp_path: Path) -> None:
    done = both(tmp_path, GOOD, "in.mlir", "--cse", "--canonicalize", "--mlir-timing")
    for one in done.values():
        assert "... Execution time report ..." in one.stderr and "Total Execution Time: " in one.stderr
        assert {"Parser", "Output", "Rest", "Total"} <= set(re.findall(r"%\)\s+(\w+)$", one.stderr, re.MULTILINE))
    done = both(tmp_path, GOOD, "in.mlir", "--cse", "--mlir-pass-statistics")
    for one in done.values():
        assert "... Pass statistics report ..." in one.stderr and re.search(r"\(S\) +\d+ ", one.stderr)


def test_upstream_runs_our_reproducer(tmp_path: Path) -> None:
    """Of passes that both have, it does the same in both."""
    passes = PrismOptMain(["--cse"]).pipeline.passes
    write_reproducer(tmp_path / "again.mlir", GOOD, passes)
    done = both(tmp_path, (tmp_path / "again.mlir").read_text(), "in.mlir", "--run-reproducer")
    assert {name: one.returncode for name, one in done.items()} == {"mlir-opt": 0, "prism-opt": 0}
    assert {one.stdout.count("arith.addi") for one in done.values()} == {1}
