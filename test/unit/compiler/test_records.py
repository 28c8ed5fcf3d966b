"""Compilations with tuning records: what is found again, what is not, and that nothing wrong is ever returned."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prism_mlir.compiler import families, parts, pipeline
from prism_mlir.compiler.checking import Checker, check
from prism_mlir.compiler.discover import Discovery
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import Compilation, compile_file
from prism_mlir.graph.errors import InaccurateError, PrismError
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import OUT_OF_TIME, Funnel, SearchLimits
from prism_mlir.tools.emit import render
from prism_mlir.tune.records.store import Records

SOURCE = """
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i, 0)>
func.func @norm(%x: tensor<{n}x{d}x{t}>, %w: tensor<{d}x{e}x{t}>) -> tensor<{n}x{e}x{t}> {{
  %zero = arith.constant 0.0 : {t}
  %eps = arith.constant {eps} : {t}
  %size = arith.constant {d}.0 : {t}
  %se = tensor.empty() : tensor<{n}x1x{t}>
  %s0 = linalg.fill ins(%zero : {t}) outs(%se : tensor<{n}x1x{t}>) -> tensor<{n}x1x{t}>
  %s = linalg.generic {{indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<{n}x{d}x{t}>) outs(%s0 : tensor<{n}x1x{t}>) {{
  ^bb0(%a: {t}, %c: {t}):
    %m = arith.mulf %a, %a : {t}
    %r = arith.addf %m, %c : {t}
    linalg.yield %r : {t}
  }} -> tensor<{n}x1x{t}>
  %ye = tensor.empty() : tensor<{n}x{d}x{t}>
  %y = linalg.generic {{indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %s : tensor<{n}x{d}x{t}>, tensor<{n}x1x{t}>) outs(%ye : tensor<{n}x{d}x{t}>) {{
  ^bb0(%a: {t}, %b: {t}, %c: {t}):
    %mean = arith.divf %b, %size : {t}
    %safe = arith.addf %mean, %eps : {t}
    %root = math.rsqrt %safe : {t}
    %r = arith.mulf %a, %root : {t}
    linalg.yield %r : {t}
  }} -> tensor<{n}x{d}x{t}>
  %oe = tensor.empty() : tensor<{n}x{e}x{t}>
  %o0 = linalg.fill ins(%zero : {t}) outs(%oe : tensor<{n}x{e}x{t}>) -> tensor<{n}x{e}x{t}>
  %o = linalg.matmul ins(%y, %w : tensor<{n}x{d}x{t}>, tensor<{d}x{e}x{t}>) outs(%o0 : tensor<{n}x{e}x{t}>)
      -> tensor<{n}x{e}x{t}>
  return %o : tensor<{n}x{e}x{t}>
}}
"""


def source(folder: Path, n: int = 16, d: int = 64, e: int = 64, t: str = "f16", eps: str = "1.0e-2") -> Path:
    path = folder / f"norm_{n}_{d}_{e}_{t}_{eps}.mlir"
    path.write_text(SOURCE.format(n=n, d=d, e=e, t=t, eps=eps))
    return path


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    def warn(text: str) -> None:
        raise AssertionError(text)

    with Records.open(tmp_path / "cache", warn) as opened:
        yield opened


OPTIONS = CompileOptions(samples=200)


def outcome(done: Compilation) -> dict[str, str]:
    """What is written, but for the report with its times."""
    return {name: text for name, text in render(done).items() if name != "report.json"}


def where_from(done: Compilation) -> tuple[bool, bool, bool]:
    return done.discovery.recorded, done.selection.recorded, done.checked_before


def test_a_second_compilation_takes_everything_from_the_records_and_writes_the_same(
    records: Records, tmp_path: Path
) -> None:
    path = source(tmp_path)
    first, second = (compile_file(path, OPTIONS, records=records) for _ in range(2))
    assert where_from(first) == (False, False, False)
    assert where_from(second) == (True, True, True)
    assert outcome(first) == outcome(second)
    assert first.accuracy == second.accuracy
    plain = compile_file(path, OPTIONS)
    assert outcome(plain) == outcome(first)


def test_one_search_serves_other_sizes_types_and_constants(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_file(source(tmp_path), OPTIONS, records=records)

    def searched(*_: object, **__: object) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(families, "discover", searched)
    for n, d, e, t, eps in [(16, 128, 64, "f16", "1.0e-2"), (1, 64, 128, "bf16", "3.0e-2"), (4, 32, 32, "f32", "0.5")]:
        path = source(tmp_path, n, d, e, t, eps)
        done = compile_file(path, OPTIONS, records=records)  # which also checks the numbers against the source
        assert where_from(done) == (True, False, False)
        assert [a.ok for a in done.accuracy] == [True] * len(done.accuracy) and done.accuracy
        monkeypatch.undo()
        alone = compile_file(path, OPTIONS)
        assert done.selection.ranked.cost.total_us <= alone.selection.ranked.cost.total_us
        if n > 1:
            assert outcome(done) == outcome(alone)
        monkeypatch.setattr(families, "discover", searched)


@pytest.mark.parametrize(
    "other",
    [
        CompileOptions(samples=100),
        CompileOptions(samples=200, seed=1),
        CompileOptions(samples=200, target="sm_90"),
        CompileOptions(samples=200, limits=SearchLimits(operators=10)),
    ],
)
def test_other_options_choose_anew(records: Records, tmp_path: Path, other: CompileOptions) -> None:
    path = source(tmp_path)
    compile_file(path, OPTIONS, records=records)
    assert not compile_file(path, other, records=records).selection.recorded


def test_a_changed_compiler_chooses_anew(records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = source(tmp_path)
    compile_file(path, OPTIONS, records=records)
    monkeypatch.setattr("prism_mlir.compiler.choices.source_digest", lambda *_: "changed")
    monkeypatch.setattr("prism_mlir.compiler.checks.source_digest", lambda *_: "changed")
    assert where_from(compile_file(path, OPTIONS, records=records)) == (True, False, False)
    monkeypatch.setattr("prism_mlir.compiler.families.source_digest", lambda *_: "changed")
    assert where_from(compile_file(path, OPTIONS, records=records)) == (False, False, True)


def test_a_search_that_ran_out_of_time_is_not_recorded(records: Records, tmp_path: Path) -> None:
    path = source(tmp_path)
    limits = SearchLimits(seconds=0.0)
    for _ in range(2):
        with pytest.raises(PrismError, match="time limit"):
            compile_file(path, CompileOptions(samples=200, limits=limits), records=records)
    assert not compile_file(path, OPTIONS, records=records).discovery.recorded


def test_a_time_limit_does_not_hide_what_is_on_record(records: Records, tmp_path: Path) -> None:
    path = source(tmp_path)
    compile_file(path, OPTIONS, records=records)
    limited = CompileOptions(samples=200, limits=SearchLimits(seconds=0.0))
    assert compile_file(path, limited, records=records).discovery.recorded


def test_a_choice_among_the_graphs_of_a_search_that_was_cut_short_is_none_for_a_whole_one(
    records: Records, tmp_path: Path
) -> None:
    path, cut = source(tmp_path), families.discover

    def cut_short(program: Program, limits: SearchLimits, **options: Any) -> Discovery:
        whole = cut(program, limits, **options)
        whole.funnel.stop(f"first kernels: {OUT_OF_TIME} of 1 s")  # as a part of a search says it
        return replace(whole, candidates=whole.candidates[:3], verdicts=whole.verdicts[:3])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(families, "discover", cut_short)
        first = compile_file(path, OPTIONS, records=records)
        again = compile_file(path, OPTIONS, records=records)
    assert first.selection.space.graphs <= 3
    assert (again.discovery.recorded, again.selection.recorded) == (False, True)  # the same three graphs
    whole = compile_file(path, OPTIONS, records=records)
    assert (whole.discovery.recorded, whole.selection.recorded) == (False, False)
    assert whole.selection.space.graphs > 3


def test_a_search_that_was_cut_short_anywhere_is_told_from_a_whole_one() -> None:
    for reason, interrupted, late in [
        ("time limit of 2 s", False, True),
        ("first kernels: time limit of 2 s", False, True),
        ("interrupted", True, False),
        ("first kernels: interrupted", True, False),
        ("states limit of 2000", False, False),
    ]:
        found = Discovery((), (), Funnel(stopped_by=[reason]), 0.0, 0.0)
        assert (found.interrupted, found.out_of_time) == (interrupted, late)


def test_candidates_and_their_modelled_times_are_kept(records: Records, tmp_path: Path) -> None:
    done = compile_file(source(tmp_path), OPTIONS, records=records)
    assert records.path is not None
    with sqlite3.connect(records.path) as database:
        ((key,),) = database.execute("SELECT DISTINCT choice FROM measurements").fetchall()
    kept = records.measurements(key)
    assert [m.candidate for m in kept] == [c.name for c in done.selection.considered]
    assert [m.microseconds for m in kept] == sorted(m.microseconds for m in kept)
    assert {m.kind for m in kept} == {"model"}


def test_a_program_that_cannot_be_built_is_not_tried_again(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = source(tmp_path)
    monkeypatch.setattr("prism_mlir.compiler.building.compile_graph", refuse)
    with pytest.raises(PrismError, match="could be built"):
        compile_file(path, OPTIONS, records=records)
    monkeypatch.undo()
    monkeypatch.setattr(parts, "select", refuse)
    with pytest.raises(PrismError, match="could be built: no such luck"):
        compile_file(path, OPTIONS, records=records)


def refuse(*_: object, **__: object) -> None:
    from prism_mlir.graph.errors import CodegenError

    raise CodegenError("no such luck")


def test_a_failed_check_is_not_recorded(records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = source(tmp_path)

    def fails(*_: object, **__: object) -> None:
        raise PrismError("wrong")

    monkeypatch.setattr(pipeline, "check", fails)
    with pytest.raises(PrismError, match="wrong"):
        compile_file(path, OPTIONS, records=records)
    monkeypatch.undo()
    assert not compile_file(path, OPTIONS, records=records).checked_before


def inaccurate_once(graphs: list[str]) -> Callable[..., object]:
    """A check that finds the first graph it sees not accurate enough."""

    def run(checker: Checker, *_: object) -> object:
        name = str(sorted(checker.ptx.items()))
        if name not in graphs:
            graphs.append(name)
        if name == graphs[0]:
            raise InaccurateError("one element is wrong")
        return check(checker, *_)

    return run


def test_where_code_is_not_accurate_enough_another_graph_is_chosen(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next time that is known: neither the check that failed nor the one that passed is run again."""
    path, seen = source(tmp_path), list[str]()
    monkeypatch.setattr(pipeline, "rounds_operands", lambda graph: True)
    monkeypatch.setattr(pipeline, "check", inaccurate_once(seen))
    first = compile_file(path, OPTIONS, records=records)
    assert len(seen) == 2
    (left_out,) = first.left_out
    assert left_out.reason == "one element is wrong"
    assert left_out.graph != first.selection.graph.fingerprint
    assert [a.ok for a in first.accuracy] == [True] * len(first.accuracy)
    monkeypatch.setattr(pipeline, "check", refuse)
    second = compile_file(path, OPTIONS, records=records)
    assert second.checked_before and second.left_out == first.left_out
    assert outcome(first) == outcome(second)


def test_where_no_code_is_accurate_enough_the_first_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise InaccurateError("one element is wrong")

    path = source(tmp_path)
    monkeypatch.setattr(pipeline, "check", never)
    with pytest.raises(InaccurateError, match="one element is wrong"):  # nothing is rounded: another graph is no better
        compile_file(path, OPTIONS)
    monkeypatch.setattr(pipeline, "rounds_operands", lambda graph: True)
    with pytest.raises(InaccurateError, match="one element is wrong"):
        compile_file(path, OPTIONS)


@pytest.mark.parametrize("table, column", [("families", "payload"), ("choices", "payload"), ("objects", "content")])
def test_damaged_records_are_worked_out_anew(tmp_path: Path, table: str, column: str) -> None:
    """A row whose content was changed is told of, and what it held is done again."""
    path, told = source(tmp_path), list[str]()
    with Records.open(tmp_path / "cache", told.append) as records:
        first = compile_file(path, OPTIONS, records=records)
        assert records.path is not None
        file = records.path
    with sqlite3.connect(file) as database:
        # a kernel that would be returned if nobody looked: 2 becomes 3 wherever it stands
        for row, content in database.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
            changed = content.replace(b"2", b"3") if isinstance(content, bytes) else content.replace("2", "3")
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, row))
    database.close()
    with Records.open(tmp_path / "cache", told.append) as records:
        second = compile_file(path, OPTIONS, records=records)
    assert outcome(first) == outcome(second)
    assert any("damaged" in text for text in told)


def test_a_record_of_other_content_under_the_same_key_is_not_believed(records: Records, tmp_path: Path) -> None:
    """Sound rows that hold something else: an unreadable payload, a choice of a graph that is not proved."""
    path = source(tmp_path)
    compile_file(path, OPTIONS, records=records)
    assert records.path is not None
    with sqlite3.connect(records.path) as database:
        keys = [key for (key,) in database.execute("SELECT key FROM choices").fetchall()]
        database.execute("DELETE FROM choices")
    database.close()
    for key in keys:
        records.add_choice(key, "", '{"format": 1, "graph": {}}', {})
    done = compile_file(path, OPTIONS, records=records)
    assert where_from(done) == (True, False, False)
