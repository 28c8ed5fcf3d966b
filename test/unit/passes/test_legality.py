"""Passes refuse modules that are not at their stage, and say which pass leads there."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from prism_mlir.passes import NAMES, PASSES, class_name
from prism_mlir.passes.base import PrismPass
from prism_mlir.passes.legality import GRAPH_RULES, LEGAL, Stage
from prism_mlir.tools.prism_opt import main

FUNCTION = "func.func @f(%a: tensor<8x16xf16>) -> tensor<8x16xf16> {\n  return %a : tensor<8x16xf16>\n}\n"
PROGRAM = 'sgraph.program @p(%X: tensor<8x16xf16>) {\n  sgraph.return %X as "o" : tensor<8x16xf16>\n}\n'
GRAPH = """sgraph.graph @g implements @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf16>) grid {x = d_x} -> tensor<8x16xf16> {
    %1 = sgraph.load %x as X imap IMAP : tensor<8x16xf16> -> !sgraph.tile<TILE x f16>
    sgraph.save %1 omap IMAP : !sgraph.tile<TILE x f16>
  }
  sgraph.yield %0 : tensor<8x16xf16>
}
"""
MAPPED = PROGRAM + GRAPH.replace("IMAP", "{x -> 0}").replace("TILE", "[8/x, 16]")
SYMBOLS = PROGRAM + GRAPH.replace("IMAP", "m").replace("TILE", "[8/sigma(X,0), 16/sigma(X,1)]")
TWO = PROGRAM + PROGRAM.replace("@p", "@q") + MAPPED.removeprefix(PROGRAM).replace(" implements @p", "")


@pytest.mark.parametrize(
    ("text", "pipeline", "error"),
    [
        (
            FUNCTION,
            "sgraph-generate",
            "wants tensor programs, the module holds no sgraph.program, run sgraph-import first",
        ),
        (
            PROGRAM + FUNCTION,
            "sgraph-generate",
            ":4:1: error: sgraph-generate wants tensor programs, the module holds func",
        ),
        (
            PROGRAM,
            "gpu-to-ptx",
            "gpu-to-ptx wants GPU modules, the module holds no gpu.module, run sgraph-to-gpu first",
        ),
        (
            SYMBOLS,
            "sgraph-verify",
            ":6:10: error: sgraph-verify: @g has mappings that are still symbols, run sgraph-inst",
        ),
        (MAPPED, "sgraph-prune", ":6:10: error: sgraph-prune: @g has mappings that are chosen already"),
        (
            MAPPED,
            "sgraph-instantiate-parameters",
            ":4:1: error: sgraph-instantiate-parameters: @g has no verdict, run sgr",
        ),
        (
            MAPPED,
            "sgraph-verify,sgraph-to-gpu",
            ":4:1: error: sgraph-to-gpu: @g has sizes that are still symbols, run sg",
        ),
        (
            TWO,
            "sgraph-verify",
            ":7:1: error: @g does not say which of 2 programs it implements, write 'implements @prog",
        ),
    ],
)
def test_a_module_at_another_stage_is_refused(
    text: str, pipeline: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(text)
    assert main([str(path), "-p", pipeline]) == 1
    captured = capsys.readouterr()
    assert error in captured.err and len(captured.err.splitlines()) == 1
    assert captured.out == ""


def test_passes_form_one_line() -> None:
    """Each pass takes what the one before it leaves, and every stage and rule of the table is in use."""
    line = [PASSES[name]() for name in NAMES if name != "prism-superoptimize"]
    assert all(issubclass(p, PrismPass) for p in line)
    for earlier, later in pairwise(line):
        assert earlier.after is later.before  # type: ignore[attr-defined]
    assert {p.after for p in line} | {line[0].before} == set(Stage) == set(LEGAL)  # type: ignore[attr-defined]
    assert {rule for legal in LEGAL.values() for rule in legal.graphs} == set(GRAPH_RULES)


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_has_one_name_everywhere(name: str) -> None:
    loaded = PASSES[name]()
    assert loaded.name == name
    assert loaded.__name__ == class_name(name)
    assert loaded.__module__ == f"prism_mlir.passes.{name.replace('-', '_')}"
    assert (Path(__file__).parents[2] / "passes" / f"{name}.mlir").exists()
    assert "Before:" in (loaded.__doc__ or "") and "After:" in (loaded.__doc__ or "")
