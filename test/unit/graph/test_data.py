"""Graphs as data and back, and damaged data."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from prism_mlir.compiler.discover import discover
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.data import graph_from_data, graph_to_data, schedule_from_data, schedule_to_data
from prism_mlir.graph.errors import InputError, PrismError
from prism_mlir.graph.examples import attention, build_program, rms_norm, rms_norm_mlp, swiglu
from prism_mlir.graph.kernel import KernelGraph, LibraryNode, program_types
from prism_mlir.graph.ops import MATMUL, MUL, constant, keep, reshape, transpose, unary
from prism_mlir.graph.schedule import Orientation, Schedule
from prism_mlir.search.limits import SearchLimits

PROGRAMS = {
    "two kernels": (rms_norm(16, 64, 64), SearchLimits(kernels=2)),
    "mlp": (rms_norm_mlp(8, 64, 64), SearchLimits()),
    "swiglu": (swiglu(8, 64, 64), SearchLimits()),
    "attention": (attention(2, 64, 32, 4), SearchLimits()),
}


def same_through_text(graph: KernelGraph) -> bool:
    return graph_from_data(json.loads(json.dumps(graph_to_data(graph)))) == graph


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_graph_reads_back_equal(name: str) -> None:
    program, limits = PROGRAMS[name]
    proved = discover(program, limits).proved
    assert len(proved) > 5
    assert all(map(same_through_text, proved))
    made, _ = code_graphs(program, list(proved), tf32=True)  # with what is made for code only
    assert all(map(same_through_text, made))


def test_every_attribute_of_an_operator_reads_back() -> None:
    program = build_program(
        "ops",
        {"M": (4, 6), "X": (4, 6), "W": (6, 5)},
        [
            (keep(float("-inf")), (0, 1)),
            (unary("exp(x)"), (3,)),
            (constant(0.1, (1, 1)), ()),
            (MUL, (4, 5)),
            (MATMUL, (6, 2)),
            (transpose(1, 0), (7,)),
            (reshape(20), (8,)),
        ],
    )
    nodes = tuple(LibraryNode(n.op, n.operands) for n in program.nodes)
    graph = KernelGraph(program_types(program), nodes, tuple(o.value for o in program.outputs))
    assert same_through_text(graph)


def test_a_schedule_reads_back() -> None:
    schedule = Schedule.of({"x": 4, "i": 8}, warps=8, stages=3)
    assert schedule_from_data(json.loads(json.dumps(schedule_to_data(schedule)))) == schedule
    assert schedule_to_data(schedule) == {"sizes": {"i": 8, "x": 4}, "warps": 8, "stages": 3}  # as records have it
    for orientation, residency in product(Orientation, (0, 1, 4)):
        asked = replace(schedule, orientation=orientation, residency=residency)
        assert schedule_from_data(json.loads(json.dumps(schedule_to_data(asked)))) == asked


@pytest.mark.parametrize(
    "asked", [{"orientation": "slanted"}, {"orientation": 1}, {"residency": 0}, {"residency": "2"}]
)
def test_what_a_schedule_cannot_ask_is_an_error(asked: dict[str, object]) -> None:
    with pytest.raises(InputError, match="not a schedule"):
        schedule_from_data({"sizes": {}, "warps": 1, "stages": 1, **asked})


@pytest.mark.parametrize("seed", range(300))
def test_damaged_data_is_an_error_or_a_well_formed_graph(seed: int) -> None:
    rng = random.Random(seed)
    program, limits = PROGRAMS["two kernels"]
    data = json.loads(json.dumps(graph_to_data(GRAPHS.setdefault("two", discover(program, limits).proved)[seed % 16])))
    damage(data, rng)
    try:
        graph = graph_from_data(data)
    except PrismError:
        return
    graph.check()
    assert same_through_text(graph)


GRAPHS: dict[str, tuple[KernelGraph, ...]] = {}


def damage(data: Any, rng: random.Random) -> None:
    """Change one field somewhere to something else, or take it away."""
    places: list[tuple[Any, Any]] = []

    def collect(part: Any) -> None:
        for key in list(part) if isinstance(part, dict) else range(len(part)):
            places.append((part, key))
            if isinstance(part[key], dict | list):
                collect(part[key])

    collect(data)
    part, key = rng.choice(places)
    if rng.random() < 0.3:
        del part[key]
    else:
        part[key] = rng.choice([None, -1, 0, 1, 2, 7, True, 1.5, "x", "sum", [], {}, [0], [[0]], "exp(x)", 10**30])


@pytest.mark.parametrize(
    "data", [None, 3, [], {}, {"sizes": {"x": 0}, "warps": 1, "stages": 1}, {"sizes": {}, "warps": True, "stages": 1}]
)
def test_what_is_no_schedule_is_an_error(data: Any) -> None:
    with pytest.raises(PrismError, match="not a schedule"):
        schedule_from_data(data)
