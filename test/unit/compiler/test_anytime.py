"""Compilations in rounds, under a clock that only work moves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
import typer

from prism_mlir.compiler.anytime import QUICK_SAMPLES, Rounds
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.progress import Progress
from prism_mlir.graph.errors import CodegenError
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tools.search_options import duration


@dataclass
class Built:
    model_us: float
    search_seconds: float


@dataclass
class Work:
    """A program: seconds that its steps take, and the times of what they find. A full search takes what it is given, or less."""

    quick_us: float | None = 9.0
    full_us: float | None = 5.0
    quick_search: float = 0.5
    full_search: float = 4.0
    build_seconds: float = 1.0
    check_seconds: float = 2.0
    now: float = 100.0
    told: list[float] = field(default_factory=list)
    seen: list[CompileOptions] = field(default_factory=list)
    checked: list[float] = field(default_factory=list)

    def build(self, options: CompileOptions) -> Built:
        self.seen.append(options)
        quick = options.samples == QUICK_SAMPLES
        limit = options.limits.seconds
        search = self.quick_search if quick else self.full_search
        search = search if limit is None else min(limit, search)
        self.now += search + self.build_seconds
        us = self.quick_us if quick else self.full_us
        if us is None:
            raise CodegenError("nothing found")
        return Built(us, search)

    def check(self, built: Built) -> str:
        self.now += self.check_seconds
        self.checked.append(built.model_us)
        return f"checked {built.model_us}"

    def run(
        self, seconds: float, options: CompileOptions | None = None, *, known: bool = False
    ) -> tuple[str, list[str]]:
        rounds = Rounds(self.build, self.check, self.told.append, lambda: self.now)
        result, done = rounds.run(options or OPTIONS, seconds, known=known)
        assert [r.seconds for r in done] == sorted(r.seconds for r in done)
        return result, [f"{r.name}: {r.outcome}" for r in done]


OPTIONS = CompileOptions(samples=QUICK_SAMPLES + 1)


def test_time_enough_for_both() -> None:
    work = Work()
    assert work.run(60) == ("checked 5.0", ["quick: best so far", "full: best so far"])
    assert work.told == [9.0, 5.0]
    assert work.now - 100 == 3.5 + 7


def test_a_first_round_that_takes_all_the_time_is_the_result() -> None:
    work = Work()
    assert work.run(6) == ("checked 9.0", ["quick: best so far", "full: no time left for it"])
    assert len(work.seen) == 1


def test_the_second_search_leaves_time_to_build_and_check() -> None:
    work = Work(full_search=1000)
    result, _ = work.run(30)
    assert result == "checked 5.0"
    assert work.now - 100 <= 30
    searched = work.seen[1].limits.seconds
    assert searched is not None and searched == pytest.approx(30 - 3.5 - 1.2 * 3, rel=1e-2)


def test_a_result_that_is_no_faster_is_not_checked() -> None:
    work = Work(full_us=9.5)
    assert work.run(60) == ("checked 9.0", ["quick: best so far", "full: no faster"])
    assert work.checked == [9.0]


def test_a_faster_result_without_time_to_check_it_is_not_taken() -> None:
    work = Work()
    slow = replace(OPTIONS, limits=SearchLimits())
    rounds = Rounds(lambda o: late(work, o), work.check, clock=lambda: work.now)
    result, done = rounds.run(slow, 20)
    assert result == "checked 9.0"
    assert [r.outcome for r in done] == ["best so far", "no time left to check it"]


def late(work: Work, options: CompileOptions) -> Built:
    built = work.build(options)
    work.now += 0 if options.samples == QUICK_SAMPLES else 15
    return built


def test_a_first_round_without_a_result_leaves_all_the_time_to_the_second() -> None:
    work = Work(quick_us=None, full_search=1000)
    assert work.run(10) == ("checked 5.0", ["quick: nothing found", "full: best so far"])
    assert work.seen[1].limits.seconds == pytest.approx(10 - 1.5)


def test_a_second_round_without_a_result_keeps_the_first() -> None:
    assert Work(full_us=None).run(60) == ("checked 9.0", ["quick: best so far", "full: nothing found"])


@pytest.mark.parametrize("keep", [True, False])
def test_ctrl_c_in_the_second_round(keep: bool) -> None:
    work = Work()

    def build(options: CompileOptions) -> Built:
        if options.samples != QUICK_SAMPLES:
            raise KeyboardInterrupt
        return work.build(options)

    rounds = Rounds(build, work.check, clock=lambda: work.now)
    options = replace(OPTIONS, keep_partial=keep)
    if keep:
        assert rounds.run(options, 60)[0] == "checked 9.0"
    else:
        with pytest.raises(KeyboardInterrupt):
            rounds.run(options, 60)


def test_no_result_at_all_is_the_last_error() -> None:
    with pytest.raises(CodegenError, match="nothing found"):
        Work(quick_us=None, full_us=None).run(60)


def test_what_is_on_record_needs_no_first_round() -> None:
    work = Work(full_search=0)
    assert work.run(5, known=True) == ("checked 5.0", ["full: best so far"])


def test_the_first_round_is_small() -> None:
    work = Work()
    work.run(60, replace(OPTIONS, limits=SearchLimits(kernels=2, seconds=2.0)))
    quick, full = work.seen
    assert (quick.limits.kernels, quick.limits.seconds, quick.samples, quick.alternatives) == (1, 2.0, 256, False)
    assert quick.limits.states < full.limits.states
    assert (full.limits.kernels, full.limits.seconds, full.samples, full.alternatives) == (2, 2.0, 257, True)


def test_progress_says_rate_times_and_what_is_left() -> None:
    now, shown = [50.0], list[str]()
    progress = Progress(shown.append, 10.0, lambda: now[0])
    progress.floor(4.25)
    progress("reading")
    assert shown[-1] == "reading; floor 4.2 us; 10.0 s left"
    now[0] += 1
    progress.search()
    now[0] += 2
    progress.found(300)
    assert shown[-1] == "searching; 150 candidates/s; floor 4.2 us; 7.0 s left"
    progress.found(301)  # too soon after the last line
    assert len(shown) == 3
    progress.best(5.5)
    progress("checking on random inputs")
    assert shown[-1] == "checking on random inputs; best 5.5 us, floor 4.2 us; 7.0 s left"
    now[0] += 100
    progress("building")
    assert shown[-1].endswith("0.0 s left")


def test_progress_without_a_limit() -> None:
    shown = list[str]()
    Progress(shown.append, None, lambda: 0.0)("reading")
    assert shown == ["reading"]


@pytest.mark.parametrize(
    "text, seconds", [("10s", 10), ("2min", 120), ("1.5m", 90), ("500ms", 0.5), ("1h", 3600), (" 7 ", 7), (".5s", 0.5)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "-1s", "10 parsecs", "1e3s", "nan", "inf", "1s2", "٣s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="write 10s, 2min, 500ms"):
        duration(text)
