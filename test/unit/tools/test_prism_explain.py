"""``prism explain`` as a user runs it: the funnel, given graphs, limits, Ctrl-C; and the options that limit a search."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from prism_mlir.compiler.discover import Discovery, discover
from prism_mlir.compiler.explain import Answer, symbolic, why
from prism_mlir.compiler.workers import Judge
from prism_mlir.dialects.sgraph.bridge import graph_to_ir, program_to_ir
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.examples import attention, rms_norm, softmax_matmul, softmax_matmul_block
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tools.prism import main
from prism_mlir.tools.search_options import search_limits

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
TWO = SearchLimits(operators=7, kernels=2, second_operators=4)
OPTIONS = ["--max-operators", "7", "--max-kernels", "2", "--max-second-operators", "4"]


@pytest.fixture(scope="module")
def found() -> Discovery:
    return discover(attention(), TWO)


def write(path: Path, program: Program | None, graphs: dict[str, KernelGraph], owner: Program) -> Path:
    ops = [] if program is None else [program_to_ir(program)]
    module = ModuleOp([*ops, *(graph_to_ir(g, name, program=owner) for name, g in graphs.items())])
    stream = StringIO()
    Printer(stream).print_op(module)
    path.write_text(stream.getvalue() + "\n")
    return path


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    capsys.readouterr()
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def row(lines: list[str], stage: str) -> int:
    (line,) = [
        text
        for text in lines
        if text.strip().startswith(f"{stage} ")
        and text.split()[-1][0].isdigit()
        and text.strip().rsplit(None, 1)[0] == stage
    ]
    return int(line.split()[-1].replace(",", ""))


def test_the_funnel_is_that_of_the_search(found: Discovery, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "in.mlir", attention(), {}, attention())
    lines = explained(capsys, str(source), *OPTIONS, "-o", str(tmp_path / "out.json"))
    counts = found.to_dict()["counts"]
    assert isinstance(counts, dict)
    for stage in (
        "states",
        "structures",
        "two-kernel structures",
        "cuts refuted alone",
        "mappings",
        "refuted",
        "proved",
    ):
        assert row(lines, stage) == counts[stage]
    assert any(line.strip().startswith("rejected: dims do not match") for line in lines)
    assert lines[-1] == "complete: everything within the limits was searched"
    data = json.loads((tmp_path / "out.json").read_text())
    assert data == {
        "schema": "prism.explain",
        "schema_version": 1,
        "program": "attention",
        "funnel": found.to_dict(),
        "why": [],
    }


def test_every_candidate_in_a_file_is_found(
    found: Discovery, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Split reductions included; concrete, and with its mappings taken away."""
    chosen = Random(5).sample(range(len(found.candidates)), 8)
    graphs = {f"g{k}": found.candidates[k] for k in chosen}
    path = write(tmp_path / "graphs.mlir", attention(), graphs, attention())
    lines = explained(capsys, str(path), *OPTIONS, "--why", str(path), "-j", "2")
    for k in chosen:
        assert f"@g{k}: found: proved, and found as candidate {k}" in lines
    answers = why(
        attention(), [(str(k), symbolic(found.candidates[k])) for k in chosen], TWO, found, Judge(attention(), 0)
    )
    for k, answer in zip(chosen, answers, strict=True):
        assert answer.found and k in answer.candidates


def answer(graph: KernelGraph, limits: SearchLimits, program: Program | None = None) -> Answer:
    program = program or softmax_matmul()
    found = discover(program, limits)
    (only,) = why(program, [("@g", graph)], limits, found, Judge(program, 0))
    return only


def test_rejected_by_a_rule_though_right() -> None:
    """Figure 1(b) of the paper has six operators."""
    told = answer(softmax_matmul_block(), SearchLimits(operators=5))
    assert not told.found and told.rule == "operators"
    assert told.text == "more operators (6) than the limit of 5; by itself it is proved"


def test_the_limit_that_ended_the_search_is_named() -> None:
    told = answer(softmax_matmul_block(), SearchLimits(operators=6, candidates=0))
    assert not told.found and told.rule == "limit"
    assert "candidates limit of 0" in told.text and told.verdict is not None and told.verdict.proved


def test_the_same_graph_twice_is_told() -> None:
    program, limits = softmax_matmul(), SearchLimits(operators=6)
    graph = softmax_matmul_block()
    first, second = why(program, [("@a", graph), ("@b", graph)], limits, discover(program, limits), Judge(program, 0))
    assert first.found and first.candidates == second.candidates
    assert second.text.endswith("the same graph as @a")


def test_a_limit_tells_what_it_left(capsys: pytest.CaptureFixture[str]) -> None:
    lines = explained(capsys, str(EXAMPLES / "rms_norm.mlir"), "--max-states", "50")
    assert "stopped  states limit of 50 (raise it with --max-states)" in lines
    assert "left     1 of 2 load sets" in lines


def _heed_ctrl_c() -> None:
    """A shell may have started the tests with Ctrl-C ignored, which children inherit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_prints_what_was_found(tmp_path: Path) -> None:
    """A search that takes minutes, interrupted: the funnel so far, nobody left behind."""
    prism = [sys.executable, "-m", "prism_mlir.tools.prism"]
    asked = [
        *prism,
        "explain",
        str(EXAMPLES / "rms_norm_mlp.mlir"),
        "--max-kernels",
        "2",
        "--limit",
        "operators=13",
        "--limit",
        "states=100000000",
        "-j",
        "2",
    ]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        asked, stdout=pipe, stderr=pipe, text=True, start_new_session=True, preexec_fn=_heed_ctrl_c
    )
    time.sleep(6)
    os.killpg(process.pid, signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "error: interrupted; what the search did so far is printed\n")
    assert "stopped  interrupted" in out.splitlines()
    time.sleep(0.5)
    assert not living(process.pid)


def living(session: int) -> list[str]:
    """Processes of a session that are not over."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


def test_ctrl_c_in_compile_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from prism_mlir.compiler import discover as module

    def stopped(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "search", stopped)
    for extra in ([], ["--keep-partial"]):  # nothing was proved, so there is nothing to keep
        assert main(["compile", str(EXAMPLES / "rms_norm.mlir"), "-o", str(tmp_path / "out"), *extra]) == 130
        assert capsys.readouterr().err == "error: interrupted; nothing was written\n"
    assert not (tmp_path / "out").exists()


def test_keep_partial_builds_what_was_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_mlir.compiler import discover as module

    real = module.search  # type: ignore[attr-defined]

    def stopped(*arguments: Any) -> Any:
        for k, graph in enumerate(real(*arguments)):
            if k == 8:
                raise KeyboardInterrupt
            yield graph

    monkeypatch.setattr(module, "search", stopped)
    monkeypatch.setattr(module, "BATCH", 4)
    asked = [
        "compile",
        str(EXAMPLES / "rms_norm.mlir"),
        "-o",
        str(tmp_path / "out"),
        "-q",
        "--no-check",
        "--samples",
        "50",
    ]
    assert main([*asked, "--keep-partial"]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "interrupted" in json.dumps(report)


def test_a_file_without_graphs_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(EXAMPLES / "rms_norm.mlir")
    assert main(["explain", path, "--why", path, "--max-operators", "5"]) == 1
    assert capsys.readouterr().err.strip() == f"{path}:1:1: error: the file holds no sgraph.graph"


def test_graphs_of_another_program_are_told_apart() -> None:
    told = answer(softmax_matmul_block(), SearchLimits(operators=6), rms_norm())
    assert not told.found and told.rule == "interface"


def test_limits_as_options() -> None:
    limits = search_limits(["operators=9", "states=10"], operators=7, seconds=1.5, kernels=None)
    assert limits == SearchLimits(operators=7, states=10, seconds=1.5)
    assert search_limits(["invariant_loads=1"]).invariant_loads is True


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("operator=3", "no limit is called 'operator', known: operators"),
        ("operators=x", "limit operators needs a number, got 'x'"),
        ("grid_dims=4", "limit grid_dims=4 is out of range"),
        ("kernels=3", "limit kernels=3 is out of range"),
        ("kernels=0", "limit kernels=0 is out of range"),
        ("seconds=nan", "limit seconds=nan is out of range"),
        ("states=-1", "limit states=-1 is out of range"),
    ],
)
def test_wrong_limits(pair: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        search_limits([pair])
    assert message in str(raised.value)
