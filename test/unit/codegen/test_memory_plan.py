"""Shared memory: buffers alive together do not overlap, and the total is what the fullest phase needs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mlir.codegen.errors import ScheduleError
from prism_mlir.codegen.memory_plan import ALIGNMENT, plan_memory
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.footprint import Buffer, Phase, Placement
from prism_mlir.graph.tile_layout import TileLayout

PHASES = list(Phase)
LIFETIMES = [(a, b) for i, a in enumerate(PHASES) for b in PHASES[i:]]


def placement(buffers: list[Buffer]) -> Placement:
    return Placement((), (), (), {}, {}, frozenset(), {}, {}, {}, {}, tuple(buffers))


@st.composite
def some_buffers(draw: st.DrawFn) -> list[Buffer]:
    count = draw(st.integers(1, 9))
    result: list[Buffer] = []
    for node in range(count):
        first, last = draw(st.sampled_from(LIFETIMES))
        layout = TileLayout.row_major((draw(st.integers(1, 40)), draw(st.integers(1, 70))), 2)
        result.append(Buffer(node, "load", DType.F16, layout, draw(st.integers(1, 4)), first, last))
    return result


@given(some_buffers())
@settings(max_examples=200, deadline=None)
def test_buffers_alive_together_are_apart(buffers: list[Buffer]) -> None:
    plan = plan_memory(placement(buffers), limit=10**9)
    needed = [sum(b.bytes for b in buffers if b.first.number <= p <= b.last.number) for p in range(3)]
    assert plan.total == max(needed)
    for b in buffers:
        assert plan.offsets[b.key] % ALIGNMENT == 0
        assert 0 <= plan.offsets[b.key] <= plan.total - b.bytes
    for a, b in combinations(buffers, 2):
        together = a.first.number <= b.last.number and b.first.number <= a.last.number
        start_a, start_b = plan.offsets[a.key], plan.offsets[b.key]
        assert not together or start_a + a.bytes <= start_b or start_b + b.bytes <= start_a


def test_too_much_is_an_error_with_both_numbers() -> None:
    layout = TileLayout.row_major((1024, 128), 2)
    big = Buffer(0, "load", DType.F16, layout, 1, Phase.BEFORE, Phase.AFTER)
    with pytest.raises(ScheduleError, match="262144 bytes of shared memory, the limit is 166912"):
        plan_memory(placement([big]))
