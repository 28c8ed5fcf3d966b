"""What sections show, from a small compilation written by hand, whose numbers were worked out on paper."""

from __future__ import annotations

import doctest
from itertools import pairwise

import pytest
from report_inputs import CHOSEN, CODE, DETAILS, GRAPH, REPORT, changed, contents

from prism_mlir.graph.errors import InputError
from prism_mlir.report import axes, layout, words
from prism_mlir.report.contents import Counted, LineCounts
from prism_mlir.report.data import Data
from prism_mlir.report.sections import (
    accuracy,
    comparison,
    evidence,
    files,
    funnel,
    graphs,
    memory,
    pipeline,
    program,
    ptx,
    roofline,
    schedules,
    summary,
)
from prism_mlir.report.sections.funnel import Step, steps


@pytest.mark.parametrize("module", [words, axes, layout, pipeline, ptx])
def test_examples_of_docstrings_hold(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.failed == 0 and found.attempted > 0


@pytest.mark.parametrize(
    ("value", "read", "message"),
    [
        ({"a": {}}, lambda d: d["a"]["b"], "r.json: a has no 'b'"),
        ({"a": None}, lambda d: d["a"], "r.json: has no 'a'"),
        ([1], lambda d: d["a"], "r.json: is no object"),
        ({"a": [1, "x"]}, lambda d: d["a"].counts(), "r.json: a[1] is no count"),
        ({"a": True}, lambda d: d["a"].count(), "r.json: a is no count"),
        ({"a": -1}, lambda d: d["a"].count(), "r.json: a is no count"),
        ({"a": 3}, lambda d: d["a"].index(3), "r.json: a is 3, and there are 3"),
        ({"a": float("nan")}, lambda d: d["a"].number(), "r.json: a is not finite"),
        ({"a": 10**400}, lambda d: d["a"].number(), "r.json: a is too large"),
        ({"a": 1}, lambda d: d["a"].text(), "r.json: a is no text"),
        ({"a": 1}, lambda d: d["a"].list(), "r.json: a is no list"),
    ],
)
def test_what_is_not_there_is_named_with_its_place(value: object, read: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(Data(value, "r.json: "))  # type: ignore[operator]
    assert error.value.message == message


# -- summary --------------------------------------------------------------------------------------------------------


def test_the_summary_tells_the_story_in_numbers() -> None:
    """11 of 22 us are 50%; one kernel an operator takes 30 + 14 us, twice as long."""
    found = summary.view(contents())
    assert (found.program, found.target, found.proved) == ("softmax_matmul", "toy (a toy)", True)
    tiles = {t.name: t.value for t in found.tiles}
    assert (tiles["Time"], tiles["Roofline"], tiles["Against unfused"]) == ("22 µs", "50%", "2.0×")
    assert (tiles["Kernels"], tiles["DRAM"]) == ("1", "977 KiB")
    story = " ".join(found.story)
    assert "visited 100 partial graphs, found 10 structures" in story
    assert "proved 3 of 4 candidates" in story
    assert "ranked 2 schedules" in story
    assert "on 1 set of inputs; its largest error was 25% of what is allowed" in story


def test_a_measured_time_goes_before_a_modelled_one() -> None:
    timed = changed(REPORT, "parts.0.profile", [{"us": 25.0, "sizes": {}}, {"us": 20.0, "sizes": {}}])
    found = summary.speed(contents(timed))
    assert (found.us, found.measured) == (20.0, True)


def test_one_part_that_is_not_proved_is_the_verdict() -> None:
    found = summary.view(contents(changed(REPORT, "parts.0.verdict.status", "unknown")))
    assert (found.verdict, found.proved) == ("unknown", False)


# -- funnel ---------------------------------------------------------------------------------------------------------


def test_bars_of_the_funnel_are_logarithmic() -> None:
    """1 is one unit, 10 are two, 1,000 are four: of 1,000 wide, a quarter a unit."""
    rows = [("all", "", 1000), ("some", "", 10), ("one", "", 1), ("none", "", 0)]
    assert steps(rows) == (
        Step("all", "", 1000, 1000, None),
        Step("some", "", 10, 500, 0.01),
        Step("one", "", 1, 250, 0.1),
        Step("none", "", 0, 0, 0.0),
    )


def test_a_step_that_grows_is_no_share_of_the_one_before() -> None:
    assert [s.share for s in steps([("few", "", 10), ("many", "", 1000)])] == [None, None]


def test_the_funnel_counts_graphs_and_schedules() -> None:
    found = funnel.view(contents(), 0)
    assert [s.count for s in found.graphs] == [100, 10, 4, 3]
    assert [s.count for s in found.schedules] == [1000, 100, 2, 1]
    assert [(r.name, r.count) for r in found.rejected] == [("dims", 7), ("refuted", 1)]
    assert [(r.name, r.count) for r in found.refused] == [("too much shared memory", 98)]


# -- program and graphs ---------------------------------------------------------------------------------------------


def test_the_program_is_drawn_from_inputs_to_outputs() -> None:
    """Two inputs, four operators, one output; exp feeds sum and div, so there are 1 + 1 + 2 + 2 + 1 edges."""
    found = program.view(contents())
    assert [n.texts[0][1] for n in found.figure.nodes] == ["X", "W", "exp(x)", "sum[1]", "div", "matmul", "out"]
    assert len(found.figure.paths) == 7
    assert found.figure.nodes[0].texts[1][1] == "4096 × 4096 f16"
    assert found.figure.bands == ()


def test_cuts_are_shown_as_bands_one_below_the_other() -> None:
    halves = [{**DETAILS["parts"][0], "operators": [0, 2]}, {**DETAILS["parts"][0], "operators": [2, 4]}]
    cut = changed(REPORT, "cuts", [{"after operator": 1, "values": [2, 3], "bytes": 99}])
    found = program.view(contents(cut, changed(DETAILS, "parts", halves)))
    first, second = found.figure.bands
    assert (first.name, second.name) == ("part 1", "part 2")
    assert first.y + first.height <= second.y
    assert (found.cuts[0].values, found.cuts[0].bytes) == (("t0", "t1"), 99)


def test_the_chosen_graph_is_drawn_at_three_levels() -> None:
    """Figure 1(b) of the paper: X is cut along its rows by x and along its columns by the loop i, W along its rows by i."""
    found = graphs.view(contents(), 0)
    (graph,) = found.listed
    assert (found.proved, graph.chosen, graph.rank, graph.best_us) == (3, True, 1, 22.0)
    assert found.code is None
    (kernel,) = graph.kernels
    assert [(r.tile, r.tensor, r.along) for r in kernel.loads] == [
        ("t0", "X", ("dim 0", "dim 1")),
        ("t1", "W", ("φ", "dim 0")),
    ]
    assert [(r.tile, r.tensor, r.along) for r in kernel.saves] == [("t7", "out0", ("dim 0",))]
    boxes = {n.texts[0][1]: [t for _, t in n.texts[1:]] for n in kernel.block.nodes}
    assert boxes["t0 = load X"] == ["4096/d_x × 4096/d_i", "= 32 × 64"]
    assert boxes["t5 = matmul"] == ["4096/d_x × 128", "= 32 × 128"]
    assert boxes["save to out0"] == []
    assert kernel.sizes == "d_x = 128, d_i = 64"
    assert kernel.threads == ()  # div reads two accumulators, and nothing elementwise stands beside it
    assert graph.kernel is not None and len(graph.kernel.nodes) == 4  # X, W, the kernel, its result


def test_what_is_in_the_loop_stands_above_what_comes_after_it() -> None:
    (graph,) = graphs.view(contents(), 0).listed
    block = graph.kernels[0].block
    bottom = max(n.place.y + n.place.height for n in block.nodes if n.kind.startswith("body"))
    assert bottom < min(n.place.y for n in block.nodes if n.kind.startswith(("after", "save")))
    (loop,) = block.bands
    inside = [n for n in block.nodes if loop.y < n.place.y < loop.y + loop.height]
    assert {n.kind.split()[0] for n in inside} == {"body"}


def test_a_graph_that_is_none_is_located() -> None:
    broken = changed(DETAILS, "parts.0.graphs.0.graph.nodes.0.block.nodes.2.operands", [99])
    with pytest.raises(InputError, match=r"details\.json: parts\[0\]\.graphs\[0\]\.graph: "):
        graphs.view(contents(details=broken), 0)


# -- evidence -------------------------------------------------------------------------------------------------------


def certificate(fingerprint: str) -> Data:
    steps_ = [
        {"rule": "mul-commutes", "forward": False, "at": [0, 1], "with": {}},
        {"rule": "sum-part", "forward": True, "at": []},
    ]
    row = {
        "fingerprint": fingerprint,
        "chain": {"terms": [], "outputs": [steps_]},
        "evidence": {"prime": 97, "log10_error_bound": -118.7, "trials": [{}, {}]},
    }
    return Data({"graphs": [row]}, "certificate.json: ")


def test_evidence_names_sizes_rules_and_steps() -> None:
    found = evidence.view(contents(certificate=certificate(GRAPH.fingerprint)), 0)
    assert (found.dims, found.sizes) == (("x", "i"), ((2, 2), (3, 1)))
    assert (found.rules, found.together, found.nodes) == (("partial-sum", "mul-commutes"), 3, 208)
    assert found.certificate is not None and found.certificate.length == 2
    first, second = found.certificate.steps
    assert (first.rule, first.forward, first.place) == ("mul-commutes", False, "0.1")
    assert (second.forward, second.place) == (True, "the whole")
    assert found.certificate.evidence == (
        ("prime", "97"),
        ("chance that a wrong graph passes", "at most 10^-118"),
        ("exact arithmetic", "2 trials"),
    )


def test_a_certificate_of_other_graphs_is_said_to_be_one() -> None:
    found = evidence.view(contents(certificate=certificate("another")), 0)
    assert (found.certificate, found.without) == (None, "certificate.json is about other graphs")


# -- schedules ------------------------------------------------------------------------------------------------------


def test_schedules_are_points_the_chosen_one_on_top() -> None:
    """4 KiB and 2 KiB of shared memory; the chip's 8 KiB are beyond 1.4 times the largest, so the axis ends at 5.6 KiB."""
    found = schedules.view(contents(), 0)
    slower, chosen = found.points
    assert (slower.kind, chosen.kind) == ("same", "chosen")
    width = schedules.RIGHT - schedules.LEFT
    assert chosen.x == round(schedules.LEFT + width * 4 / 5.6, 1)
    assert slower.x == round(schedules.LEFT + width * 2 / 5.6, 1)
    assert chosen.y > slower.y  # faster is lower
    assert found.limit is None
    assert (found.ranked, found.shown) == (7, 2)
    assert found.tips[1] == (
        "1",
        "22 µs",
        "1",
        "x=128, loop i=64",
        "4",
        "2",
        "4 KiB",
        "128",
        "3",
        "40",
        "977 KiB",
        "dram",
    )
    assert found.tips[0][5] == "1, orientation upright"
    assert [r.chosen for r in found.rows] == [True, False]


def test_measured_times_are_points_of_their_own() -> None:
    timed = changed(DETAILS, "parts.0.measured", [{"graph": CODE, "schedule": CHOSEN, "us": 30.0, "warm_us": None}])
    found = schedules.view(contents(details=timed), 0)
    assert [p.kind for p in found.points] == ["same", "chosen", "measured"]
    assert found.tips[2][1] == "30 µs measured"
    assert found.points[2].x == found.points[1].x


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("parts.0.ranking", None, "without its ranking"),
        ("parts.0.ranking.rows", [], "holds no schedule"),
        ("parts.0.ranking.rows.0", [CODE], "has 1 cells and should have 9"),
        ("parts.0.ranking.rows.0.2", 0.0, "is no time"),
        ("parts.0.ranking.rows.0.0", "other", "does not hold the chosen schedule"),
    ],
)
def test_a_ranking_that_is_none_is_located(path: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        schedules.view(contents(details=changed(DETAILS, path, value)), 0)


# -- roofline, comparison -------------------------------------------------------------------------------------------


def test_the_roofline_of_a_chip_of_round_numbers() -> None:
    """1e12 tensor operations and 1e11 bytes a second: the ridge is at 10 operations a byte. The kernel does 1e7 operations on
    1e6 bytes in 20 us: right below the ridge, at half of what the roof allows."""
    chip = roofline.Chip.of(Data(DETAILS["target"], "t"))
    assert (chip.tensor, chip.f32, chip.dram, chip.sustained) == (1e12, 1e11, 1e11, 8e10)
    assert (chip.attainable(1), chip.attainable(10), chip.attainable(100)) == (1e11, 1e12, 1e12)
    found = roofline.view(contents())
    kernel = found.points[-1]
    assert kernel.kind == "kernel"
    assert kernel.cells == ("kernel 0", "10,000,000", "977 KiB", "10", "20 µs", "500 Gflop/s", "50%", "dram")
    assert [p.kind for p in found.points] == ["alone", "kernel"]  # exp does no multiply-adds, so it has no place
    assert dict(found.terms)["modelled time, launches included"] == "22 µs: 50% of the roofline"


def test_the_comparison_adds_up() -> None:
    """30 + 14 us against 20 us and a launch of 2; 1.5 + 0.5 MB against 1 MB."""
    found = comparison.view(contents())
    assert (found.alone_sum, found.fused_sum) == (("44 µs", "1.91 MiB"), ("22 µs", "977 KiB"))
    assert (found.faster, found.moved) == ("2.0×", "50%")
    times, _ = found.charts
    matmul, exp, kernel = times.pieces
    assert matmul.x == comparison.LEFT
    assert exp.x == round(comparison.LEFT + (comparison.RIGHT - comparison.LEFT) * 30 / 44, 1)
    assert (kernel.x, kernel.kind) == (comparison.LEFT, "fused")
    assert kernel.width == (comparison.RIGHT - comparison.LEFT) / 2 - 1


def test_a_chip_without_bandwidth_is_none() -> None:
    with pytest.raises(InputError, match="has a rate that is not positive"):
        roofline.view(contents(details=changed(DETAILS, "target.dram_gbs", 0)))


# -- memory and pipeline --------------------------------------------------------------------------------------------


def test_buffers_lie_where_and_when_they_are_alive() -> None:
    """300 units are 4,096 bytes: 3,072 from the bottom are 225, the other buffer has the 75 above them."""
    (kernel,) = memory.view(contents(), 0).kernels
    tile, value = kernel.blocks
    assert (tile.y + tile.height, tile.height) == (memory.BOTTOM, 225)
    assert (value.y, value.height) == (memory.TOP, 75)
    third = (memory.RIGHT - memory.LEFT) / 3
    assert tile.x < memory.LEFT + third < tile.x + tile.width < memory.LEFT + 2 * third
    assert memory.LEFT + third < value.x and value.x + value.width < memory.RIGHT
    assert tile.slots == (memory.BOTTOM - 112.5,)
    assert (tile.name, value.name) == ("t0 X ×2", "t4 accum")
    assert [c.used for c in kernel.columns] == ["3 KiB", "4 KiB", "1 KiB"]
    assert (kernel.total, kernel.share, kernel.resident) == (4096, "50%", 3)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("first", "later", "which are no phases in order"),
        ("last", "before", ""),
        ("offset", 4000, "ends beyond the 4096 bytes"),
    ],
)
def test_a_buffer_that_is_nowhere_is_located(path: str, value: object, message: str) -> None:
    place = f"parts.0.kernels.0.shared.buffers.{1 if path == 'last' else 0}.{path}"
    with pytest.raises(InputError, match=r"details\.json: parts\[0\]\.kernels\[0\]\.shared\.buffers.*" + message):
        memory.view(contents(details=changed(DETAILS, place, value)), 0)


def test_three_stages_request_tiles_two_iterations_ahead() -> None:
    """Tiles 0 and 1 are requested before the loop, tile 2 in iteration 0, tile 3 in iteration 1 into the copy that 0 left."""
    found = [(s.tile, s.slot, s.kind, s.begin, s.end) for s in pipeline.spans(3, 4)]
    assert found == [
        (0, 0, "copy", 0, 1),
        (0, 0, "use", 1, 2),
        (1, 1, "copy", 0, 2),
        (1, 1, "use", 2, 3),
        (2, 2, "copy", 1, 3),
        (2, 2, "use", 3, 4),
        (3, 0, "copy", 2, 4),
        (3, 0, "use", 4, 5),
    ]


@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_no_copy_of_the_buffers_holds_two_tiles_at_once(stages: int) -> None:
    spans = list(pipeline.spans(stages, 20))
    for slot in range(stages):
        own = sorted((s.begin, s.end) for s in spans if s.slot == slot)
        assert all(a_end <= b for (_, a_end), (b, _) in pairwise(own))


def test_the_pipeline_counts_what_is_copied() -> None:
    """Tiles of 4 and 16 KiB an iteration; with two stages those of one iteration are under way."""
    (kernel,) = pipeline.view(contents(), 0).kernels
    assert (kernel.bytes_an_iteration, kernel.in_flight) == ("20 KiB", "20 KiB")
    assert (kernel.iterations, kernel.shown, len(kernel.bars)) == (64, 10, 20)


def test_a_kernel_without_a_loop_has_no_pipeline() -> None:
    found = pipeline.view(contents(details=changed(DETAILS, "parts.0.kernels.0.loop", None)), 0)
    assert (found.kernels, found.without) == ((), ("kernel 0",))


@pytest.mark.parametrize("stages", [0, 33, "two", None])
def test_a_number_of_stages_that_is_none_is_located(stages: object) -> None:
    with pytest.raises(InputError, match=r"details\.json: parts\[0\]\.kernels\[0\]"):
        pipeline.view(contents(details=changed(DETAILS, "parts.0.kernels.0.stages", stages)), 0)


# -- PTX ------------------------------------------------------------------------------------------------------------

LINES = {
    6: LineCounts(warps=8, threads=256, global_bytes=1024, sectors=32),
    8: LineCounts(warps=2, threads=32, shared_bytes=256, wavefronts=6, ideal=2),
}


def test_the_listing_has_counters_beside_the_lines() -> None:
    """Ten instructions of warps, eight in the head of the kernel; 288 threads of 320; six wavefronts where two would do."""
    found = ptx.view(contents(counted={"softmax_matmul.ptx": Counted(LINES, "counted")}), 0)
    assert [(f.name, len(f.rows), f.share, f.open) for f in found.folds] == [
        ("module", 3, "0%", False),
        ("softmax_matmul", 3, "80%", True),
        ("$L__BB0_1", 3, "20%", True),
    ]
    add, ret = found.folds[1].rows[2], found.folds[2].rows[1]
    assert (add.number, add.heat, add.issued, add.moved, add.conflicts) == (6, 4, "8", "1 KiB", "")
    assert (ret.number, ret.heat, ret.waves, ret.conflicts) == (8, 3, "6", "+4")
    totals = {name: (value, note) for name, value, note in found.totals}
    assert totals["instructions of warps"] == ("10", "28.8 of 32 threads active")
    assert totals["global memory"] == ("1 KiB", "32 sectors of 32 bytes, 32.0 bytes asked for in each")
    assert totals["bank conflicts"] == ("4", "67% of the wavefronts")
    assert [(h.number, h.what) for h in found.hot] == [
        (6, "1 KiB of global memory, issued 8 times"),
        (8, "6 wavefronts, 4 added by bank conflicts, issued 2 times"),
    ]
    assert "add" in str(add.code) and "<span" in str(add.code)


def test_without_counters_everything_is_open_and_cold() -> None:
    found = ptx.view(contents(), 0)
    assert not found.counted and all(f.open for f in found.folds)
    assert {row.heat for f in found.folds for row in f.rows} == {0}


def test_long_lines_and_long_files_are_cut_and_said_to_be() -> None:
    text = ".global .b8 table[9999] = {" + "1, " * 9999 + "};\n" + "// more\n" * 99
    found = ptx.listing("long.ptx", text, Counted({}, ""), most_lines=10)
    assert (found.lines, found.left_out, sum(len(f.rows) for f in found.folds)) == (100, 90, 10)
    assert str(found.folds[0].rows[0].code).endswith("…")
    assert len(str(found.folds[0].rows[0].code.striptags())) == ptx.MOST_CHARACTERS


def test_lines_are_numbered_as_the_machine_numbers_them() -> None:
    """Only a newline ends a line: not a form feed, nor a carriage return before or without one."""
    found = ptx.listing("odd.ptx", "one\r\ntwo\x0cstill two\rand still\u2028\nthree\n", Counted({}, ""))
    rows = [r for f in found.folds for r in f.rows]
    assert [r.number for r in rows] == [1, 2, 3]
    assert rows[2].code.striptags() == "three"


def test_a_missing_ptx_file_is_named() -> None:
    with pytest.raises(InputError, match=r"the folder has no softmax_matmul\.ptx"):
        ptx.view(contents(ptx={}), 0)


# -- accuracy and files ---------------------------------------------------------------------------------------------


def test_accuracy_shows_what_is_used_of_the_bound() -> None:
    (row,) = accuracy.view(contents()).rows
    assert (row.error, row.source, row.used, row.width, row.ok) == ("0.001", "0.002", "25%", 25.0, True)


def test_an_error_without_bound_fills_the_bar() -> None:
    for infinite in (float("inf"), "inf"):
        (row,) = accuracy.view(contents(changed(REPORT, "accuracy.0.used", infinite))).rows
        assert (row.used, row.width) == ("inf", 100)


def test_files_limits_and_versions_are_listed() -> None:
    found = files.view(contents())
    assert found.files == (("details.json", "2 KiB"), ("report.json", "1 KiB"))
    assert found.limits == (("operators", "11"), ("seconds", "none"), ("seed", "0"))
    assert found.seconds == (("import", "0.50 s"),)
