"""``details.json`` against what the other files of a compilation say, and against counts on paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prism_mlir.compiler.ranking import MOST, Point, Ranking
from prism_mlir.graph.data import graph_from_data
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.examples import rms_norm, softmax_matmul_block
from prism_mlir.graph.schedule import Orientation, Schedule, ScheduledGraph
from prism_mlir.tools.emit_details import FORMAT, measured_rows
from prism_mlir.tune.profile import Profile, Timing
from prism_mlir.tune.roofline import roofline
from prism_mlir.tune.targets import find_target

POINT = Point(
    "f00d", Schedule((("i", 2), ("x", 4)), 2, 3, Orientation.SIDEWAYS, 1), 8.5, 1000, 2048, 44, 128, 3, "dram"
)


@pytest.fixture(scope="module")
def details(compiled: Path) -> Any:
    return json.loads((compiled / "details.json").read_text())


@pytest.fixture(scope="module")
def report(compiled: Path) -> Any:
    return json.loads((compiled / "report.json").read_text())


def test_shared_memory_and_grid_are_those_of_the_launch(compiled: Path, details: Any) -> None:
    (launch,) = json.loads((compiled / "launch.json").read_text())["kernels"]
    (kernel,) = details["parts"][0]["kernels"]
    assert details["format"] == FORMAT
    assert kernel["shared"]["total"] == launch["shared_bytes"]
    assert [*kernel["grid"].values(), 1, 1, 1][:3] == launch["grid"]
    assert kernel["warps"] * 32 == launch["block"][0]


def test_buffers_that_are_alive_together_do_not_overlap(details: Any) -> None:
    phases = ["before", "loop", "after"]
    for buffers in (k["shared"]["buffers"] for k in details["parts"][0]["kernels"]):
        for a in buffers:
            for b in buffers:
                alive = phases.index(a["first"]) <= phases.index(b["last"]) and phases.index(
                    b["first"]
                ) <= phases.index(a["last"])
                apart = a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
                assert a is b or apart or not alive


def test_the_chosen_graph_is_the_first_and_its_schedule_is_ranked(details: Any, report: Any) -> None:
    part, chosen = details["parts"][0], report["parts"][0]
    assert part["graphs"][0]["fingerprint"] == chosen["graph"]["fingerprint"]
    assert graph_from_data(part["graphs"][0]["graph"]).fingerprint == chosen["graph"]["fingerprint"]
    assert part["proved"] == chosen["funnel"]["counts"]["proved"] == len(part["graphs"])
    rows = part["ranking"]["rows"]
    assert [part["graphs"][0]["code"], chosen["schedule"]] in [row[:2] for row in rows]
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)
    assert part["ranking"]["ranked"] == len(rows)


def test_one_kernel_an_operator_moves_what_was_counted_on_paper(details: Any) -> None:
    """In f16: the product reads 16 x 64 and 64 x 32 and writes 16 x 32; the scaling reads that and 16 x 1 and writes 16 x 32."""
    product, scaling, *rest = details["parts"][0]["unfused"]
    assert (product["op"], product["dram_bytes"]) == ("matmul", 2 * (16 * 64 + 64 * 32 + 16 * 32))
    assert product["tensor_fma"] == 16 * 64 * 32
    assert scaling["dram_bytes"] == 2 * (16 * 32 + 16 + 16 * 32)
    assert all(row["us"] > row["kernel_us"] > 0 for row in (product, scaling, *rest))


def test_the_program_is_written_with_shapes_and_types(details: Any) -> None:
    program = details["program"]
    assert [(i["shape"], i["dtype"]) for i in program["inputs"]] == [
        ([16, 64], "f16"),
        ([64, 32], "f16"),
        ([16, 1], "f16"),
    ]
    assert [n["operands"] for n in program["nodes"]] == [[0, 1], [3, 2], [4]]
    assert program["outputs"][0]["value"] == 5
    assert details["parts"][0]["operators"] == [0, 3]


def test_the_roofline_is_that_of_the_whole_program(details: Any) -> None:
    """Arguments once, the result once: 16 x 64 + 64 x 32 + 16 x 1 + 16 x 32 numbers of two bytes."""
    assert details["roofline"]["bytes"] == 2 * (16 * 64 + 64 * 32 + 16 + 16 * 32)
    assert details["roofline"]["fma"] == 16 * 64 * 32
    floor = roofline(rms_norm(), find_target("sm_80"))
    assert floor.bytes == 2 * (16 * 1024 + 1024 * 1024 + 16 * 1024)


def test_times_that_a_gpu_measured_are_written_as_medians() -> None:
    scheduled = ScheduledGraph(softmax_matmul_block(), POINT.schedule)
    timed = (Timing(scheduled, (3.0, 1.0, 2.0), (0.5, 0.7)), Timing(scheduled, (4.0,)))
    first, second = measured_rows(Profile(timed, ()))
    assert (first["us"], first["warm_us"], second["us"], second["warm_us"]) == (2.0, 0.6, 4.0, None)
    assert (first["graph"], first["schedule"]["stages"]) == (scheduled.graph.fingerprint, 3)
    assert measured_rows(None) == []


def test_a_ranking_comes_back_from_records() -> None:
    ranking = Ranking(7, (POINT,) * 3)
    assert Ranking.from_bytes(ranking.to_bytes()) == ranking


def test_a_ranking_is_never_longer_than_its_limit() -> None:
    packed = Ranking(9999, (POINT,) * (MOST + 5)).to_bytes()
    assert len(Ranking.from_bytes(packed).points) == MOST
    assert len(packed) < 20_000  # bytes of the records


@pytest.mark.parametrize("packed", [b"", b"none", Ranking(1, (POINT,)).to_bytes()[:-9]])
def test_a_damaged_ranking_is_an_input_error(packed: bytes) -> None:
    with pytest.raises(InputError, match="not a ranking"):
        Ranking.from_bytes(packed)


@pytest.mark.parametrize("row", [None, [], ["f00d"], [*POINT.to_row()[:-1]], ["f00d", {}, 1, 2, 3, 4, 5, 6, "dram"]])
def test_a_row_that_is_no_point_is_an_input_error(row: object) -> None:
    with pytest.raises(InputError):
        Point.from_row(row)
