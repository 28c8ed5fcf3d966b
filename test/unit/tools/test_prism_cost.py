"""``prism cost``: schedules as text, what is refused and why, the chosen schedule, rankings, and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prism_mlir.codegen.external import find_tool
from prism_mlir.compiler.costing import ProvedGraphs, checked, compare, proved_graphs, report, schedule_of
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.select import select
from prism_mlir.graph.errors import CodegenError, InputError, UnsupportedError
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.ops import MATMUL
from prism_mlir.graph.program import Program, ProgramOutput, row_major
from prism_mlir.graph.schedule import Schedule
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tools.prism import main
from prism_mlir.tools.prism_cost import cell, parse_schedule

SOURCE = Path(__file__).resolve().parents[2] / "tools" / "cost.mlir"
OPTIONS = CompileOptions(limits=SearchLimits(operators=4))


@pytest.fixture(scope="module")
def found() -> ProvedGraphs:
    """16 x 64 by 64 x 64. Graph 3 cuts the columns by x, and the inner dim by the loop i."""
    program = build_program("product", {"X": (16, 64), "W": (64, 64)}, [(MATMUL, (0, 1))])
    graphs = proved_graphs(program, OPTIONS)
    assert graphs.graph(3).parallel_dims == ("x", "i")
    return graphs


def test_a_schedule_as_text() -> None:
    assert parse_schedule("x=2, y = 32,,warps=2") == {"x": "2", "y": "32", "warps": "2"}
    assert parse_schedule("") == {}


@pytest.mark.parametrize("text", ["x", "x=", "=2", "x=2,y"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"is no part of a schedule, write x=2"):
        parse_schedule(text)


def test_a_name_is_given_once() -> None:
    with pytest.raises(InputError, match="the schedule names x twice"):
        parse_schedule("x=1,x=2")


def test_a_schedule_of_a_graph(found: ProvedGraphs) -> None:
    graph = found.graph(3)
    assert schedule_of(graph, {"i": "2", "x": "4"}) == Schedule.of({"x": 4, "i": 2})
    assert schedule_of(graph, {"x": "4", "stages": "3", "i": "4", "warps": "1"}) == Schedule.of({"x": 4, "i": 4}, 1, 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"i": "2"}, r"the schedule gives no size for x, give x, i, warps, stages"),
        (
            {"x": "2", "i": "2", "q": "3"},
            r"the schedule names 'q', which the graph does not have, give x, i, warps, stages",
        ),
        ({"x": "2", "i": "2", "warps": "many"}, r"the schedule's warps is 'many', write a number"),
        ({"x": "2", "i": "half"}, r"the schedule's i is 'half', write a number"),
        ({"x": "0", "i": "2"}, r"the schedule gives x no positive size, write x=1 or more"),
        ({"x": "2", "i": "-1"}, r"the schedule gives i no positive size"),
    ],
)
def test_names_and_values_that_a_graph_does_not_take(found: ProvedGraphs, given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        schedule_of(found.graph(3), given)


@pytest.mark.parametrize(
    ("schedule", "rule"),
    [
        (Schedule.of({"x": 16, "i": 2}, 1, 2), "rows shorter than a copy"),  # 4 columns are 8 bytes
        (Schedule.of({"x": 4, "i": 8}, 1, 2), "no multiple of 16 x 8 x 16"),  # 8 of the inner dim
        (Schedule.of({"x": 4, "i": 2}, 8, 2), "a warp without work"),  # two fragments of 16 x 8
        (Schedule.of({"x": 4, "i": 2}, 1, 3), "more stages than iterations"),
        (Schedule.of({"x": 4, "i": 2}, 0, 2), "0 warps a block"),
        (Schedule.of({"x": 4, "i": 2}, 1, 0), "0 pipeline stages"),
    ],
)
def test_a_refused_schedule_names_the_rule(found: ProvedGraphs, schedule: Schedule, rule: str) -> None:
    with pytest.raises(CodegenError, match=f"sm_80 refuses .*warps={schedule.warps}.* for graph 3: .*{rule}"):
        checked(found, found.graph(3), schedule)


def test_a_graph_that_is_not_there(found: ProvedGraphs) -> None:
    for number in (0, 99, -1):
        with pytest.raises(InputError, match=rf"no graph {number}, there are 8 proved graphs, from 1 to 8"):
            report(found, number, None)


def test_the_default_is_what_a_compilation_chooses(found: ProvedGraphs) -> None:
    chosen = select(found.program, found.graphs, OPTIONS)
    explained = report(found, None, None)
    assert found.graph(explained.number) == chosen.graph
    assert all(f"{name}={size}" in explained.schedule for name, size in chosen.ranked.scheduled.schedule.sizes)


def test_a_given_schedule_without_a_graph_is_of_the_one_that_ranks_first(found: ProvedGraphs) -> None:
    first = compare(found, None, 1)[0]
    explained = report(found, None, parse_schedule(str(first["schedule"])))
    assert (explained.number, explained.schedule) == (first["graph"], first["schedule"])


def test_a_ranking_is_in_order_and_of_one_graph_where_asked(found: ProvedGraphs) -> None:
    rows = compare(found, None, 12)
    assert [r["cold us"] for r in rows] == sorted(float(r["cold us"]) for r in rows)
    assert {r["graph"] for r in compare(found, 3, 5)} == {3}
    assert all("counted us" not in r for r in rows)


def test_counters_beside_the_model(found: ProvedGraphs) -> None:
    """Two steps of 16 x 16 by 32: eight fragments of 16 x 8 x 16 for each of four blocks, whoever counts."""
    given = {"x": "4", "i": "2", "warps": "2", "stages": "2"}
    explained = report(found, 3, given, counters=True)
    assert explained.counters is not None
    for source, peak in ((explained.model, 1024 * 0.78), (explained.counters, 1024)):
        (tensor,) = [t for t in source.kernels[0].terms if t.name == "tensor"]
        assert tensor.cold == pytest.approx(8 * 16 * 8 * 16 / peak)
    assert report(found, 3, given).counters is None
    row = compare(found, 3, 1, counters=True)[0]
    assert float(row["counted us"]) > 2.7


def test_registers_are_those_of_ptxas_where_it_is_found(found: ProvedGraphs) -> None:
    explained = report(found, 3, {"x": "4", "i": "2", "warps": "2"})
    (registers,) = [t for t in explained.model.kernels[0].terms if t.name == "registers"]
    assert registers.note == ("estimated" if find_tool("ptxas") is None else "as ptxas says")


def test_a_result_that_is_an_argument_has_no_cost() -> None:
    program = build_program("copy", {"X": (16, 64)}, [])
    moved = Program(
        "copy", program.inputs, (), (ProgramOutput(0, program.inputs[0].dtype, (16, 64), row_major((16, 64))),)
    )
    with pytest.raises(UnsupportedError, match="which needs no kernel"):
        proved_graphs(moved, OPTIONS)


def test_nothing_proved_is_an_error_with_a_way_out() -> None:
    program = build_program("product", {"X": (16, 64), "W": (64, 64)}, [(MATMUL, (0, 1))])
    with pytest.raises(CodegenError, match=r"no proved graph for 'product'.*raise the limits"):
        proved_graphs(program, CompileOptions(limits=SearchLimits(operators=0)))


def test_numbers_as_people_read_them() -> None:
    assert [cell(v) for v in (1048576, 5.4567, 1234.5, 0.0, "dram")] == ["1,048,576", "5.46", "1,234", "0", "dram"]


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ["--schedule", "x=1", "--compare", "2"], "error: --compare ranks schedules, and --schedule names one"),
        (2, ["--target", "sm_70"], "error: --target: unknown target 'sm_70', known are sm_80"),
        (2, ["--schedule", "x"], "error: 'x' is no part of a schedule"),
        (1, ["--limit", "operators=4", "--graph", "99"], "error: no graph 99, there are 8 proved graphs"),
        (2, ["--compare", "0"], "error: --compare: Input should be greater than or equal to 1 (see prism cost --help)"),
        (1, ["--time-limit", "0s"], "error: no proved graph for 'product': "),
    ],
)
def test_errors_are_one_line(code: int, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["cost", str(SOURCE), *arguments]) == code
    printed = capsys.readouterr()
    assert printed.err.startswith(message)
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "no/such/file.mlir"]) == 1
    assert "error: cannot read 'no/such/file.mlir': there is no such file" in capsys.readouterr().err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(SOURCE), "--limit", "operators=4", "--compare", "2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["program"], data["target"], len(data["candidates"])) == ("product", "sm_80", 2)
    assert main(["cost", str(SOURCE), "--limit", "operators=4", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data) == {
        "schema",
        "schema_version",
        "program",
        "target",
        "graph",
        "schedule",
        "model",
        "counters",
        "roofline",
    }
    assert data["counters"] is None
