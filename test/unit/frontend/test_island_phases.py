"""Which operations go together: against paths enumerated one by one."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from prism_mlir.frontend.islands.phases import Part, Plan, Step, plan

S, C, R = Part.SOURCE, Part.CANDIDATE, Part.REST


@st.composite
def blocks(draw: st.DrawFn) -> list[Step]:
    """A block: sources read sources alone, the last step ends it."""
    steps: list[Step] = []
    for k in range(draw(st.integers(0, 9))):
        part = draw(st.sampled_from([C, C, R, S]))
        readable = [n for n in range(k) if part is not S or steps[n].part is S]
        needs = draw(st.frozensets(st.sampled_from(readable), max_size=3)) if readable else frozenset()
        steps.append(Step(part, needs, part is R and draw(st.booleans())))
    last = draw(st.frozensets(st.sampled_from(range(len(steps))), max_size=3)) if steps else frozenset()
    return [*steps, Step(R, last, True)]


def between(steps: Sequence[Step], first: int, last: int) -> set[int]:
    """Steps on any way from ``first`` to ``last``."""
    below = {first}
    for k in range(first + 1, last + 1):
        if steps[k].needs & below:
            below.add(k)
    above = {last}
    for k in range(last, first, -1):
        if k in above:
            above |= steps[k].needs
    return (below & above) - {first, last}


def groups(planned: Plan) -> list[set[int]]:
    return [set(i) for i in planned.islands]


@given(blocks())
def test_every_candidate_is_in_one_island(steps: list[Step]) -> None:
    found = [k for island in plan(steps).islands for k in island]
    assert sorted(found) == [k for k, s in enumerate(steps) if s.part is C]


@given(blocks())
def test_operations_come_after_what_they_read_and_islands_lie_together(steps: list[Step]) -> None:
    planned = plan(steps)
    place = {k: n for n, k in enumerate(planned.order)}
    assert sorted(planned.order) == list(range(len(steps)))
    assert planned.order[-1] == len(steps) - 1
    for k, step in enumerate(steps):
        assert all(place[n] < place[k] for n in step.needs)
    for island in planned.islands:
        assert [place[k] for k in island] == list(range(place[island[0]], place[island[0]] + len(island)))


@given(blocks())
def test_nothing_that_stays_lies_on_a_way_through_an_island(steps: list[Step]) -> None:
    for island in groups(plan(steps)):
        for a in island:
            for b in island:
                assert a >= b or between(steps, a, b) <= island


@given(blocks())
def test_effects_keep_their_order(steps: list[Step]) -> None:
    order = [k for k in plan(steps).order if steps[k].fixed]
    assert order == sorted(order)


@given(blocks())
def test_without_anything_that_stays_neighbours_share_an_island(steps: list[Step]) -> None:
    found = groups(plan([s for s in steps if s.part is not R] and steps))
    for k, step in enumerate(steps):
        for n in step.needs:
            if step.part is C and steps[n].part is C and not any(s.part is R for s in steps[:k]):
                assert any({k, n} <= island for island in found)


def test_a_source_is_in_no_island_and_comes_first() -> None:
    steps = [Step(R, frozenset(), True), Step(S, frozenset()), Step(C, frozenset({1})), Step(R, frozenset({2}), True)]
    assert plan(steps) == Plan(islands=((2,),), order=(1, 0, 2, 3))


def test_two_products_around_an_operation_that_stays_are_two_islands() -> None:
    steps = [
        Step(C, frozenset()),
        Step(R, frozenset({0})),
        Step(C, frozenset({1})),
        Step(C, frozenset({0})),  # reads the first only, and so goes with it
        Step(R, frozenset({2, 3}), True),
    ]
    assert plan(steps) == Plan(islands=((0, 3), (2,)), order=(0, 3, 1, 2, 4))


@given(blocks())
def test_what_only_islands_read_is_in_one_of_them(steps: list[Step]) -> None:
    found = groups(plan(steps))
    of = {k: island for island in found for k in island}
    for island in found:
        readers = {k for k, s in enumerate(steps) if s.needs & island} - island
        assert not readers or any(steps[k].part is R for k in readers), (island, [of[k] for k in readers])


def test_what_a_later_island_alone_reads_goes_with_it() -> None:
    steps = [
        Step(C, frozenset()),
        Step(R, frozenset({0})),
        Step(C, frozenset()),
        Step(C, frozenset({1, 2})),
        Step(R, frozenset({3}), True),
    ]
    assert plan(steps) == Plan(islands=((0,), (2, 3)), order=(0, 1, 2, 3, 4))
