"""The page of code for dynamic sizes, and counters of lines, from inputs written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.page import render
from prism_mlir.report.sections import variants
from prism_mlir.tools import report_counts
from prism_mlir.tools.prism import main
from prism_mlir.tools.report_counts import count_lines

# One block of 32 threads; each goes `n` times around, and stores its number where it is less than `n`.
LOOP = """.version 7.8
.target sm_80
.address_size 64
.visible .entry loop(.param .u64 dst, .param .u32 n)
{
  .reg .b32 %r<5>;
  .reg .b64 %a<4>;
  .reg .pred %p<3>;
  ld.param.u64 %a1, [dst];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, 0;
TURN:
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra TURN;
  setp.lt.u32 %p2, %r2, %r1;
  mul.wide.u32 %a2, %r2, 4;
  add.s64 %a3, %a1, %a2;
  @%p2 st.global.u32 [%a3], %r2;
  ret;
}
"""
ADD, STORE = 14, 20


def argument(size: Any) -> dict[str, Any]:
    return {
        "role": "output",
        "index": 0,
        "name": "out",
        "dtype": "f32",
        "shape": [size],
        "strides": [1],
        "alignment": 16,
    }


def dispatch() -> dict[str, Any]:
    """One variant, for sizes 1 to 16."""
    size = {"times": 1, "sizes": ["x[0]"]}
    kernel = {
        "entry": "loop",
        "ptx": "loop.ptx",
        "grid": [1, 1, 1],
        "block": [32, 1, 1],
        "shared_bytes": 0,
        "arguments": [argument(size), {"role": "size", "index": 0, "name": "x[0]"}],
    }
    return {
        "sizes": [{"name": "x[0]", "dims": [[0, 0]]}],
        "variants": [{"from": [1], "to": [16], "kernels": [kernel], "workspace": []}],
    }


def test_lines_are_counted_at_the_largest_size() -> None:
    """16 turns of one warp; 16 threads store 64 bytes in a row, two sectors."""
    counted = count_lines(dispatch(), {"loop.ptx": LOOP})["loop.ptx"]
    assert counted.lines[ADD].warps == 16
    assert counted.lines[ADD].threads == 16 * 32
    assert (counted.lines[STORE].global_bytes, counted.lines[STORE].sectors) == (64, 2)
    assert counted.note == "Counted on the PTX machine by running one block; numbers are of a mean block"


def test_a_mean_block_is_between_the_first_and_the_last() -> None:
    """Block 0 of two goes 0 + 1 times around, block 1 twice: 1.5 on average."""
    text = LOOP.replace("ld.param.u32 %r1, [n];", "mov.u32 %r1, %ctaid.x; ")
    text = text.replace("add.u32 %r3, %r3, 1;", "add.u32 %r3, %r3, 1;").replace("setp.lt.u32 %p1", "setp.le.u32 %p1")
    kernel = {**dispatch()["variants"][0]["kernels"][0], "grid": [2, 1, 1], "arguments": [argument(32)]}
    text = text.replace(", .param .u32 n)", ")")
    counted = count_lines({"kernels": [kernel], "workspace": []}, {"loop.ptx": text})["loop.ptx"]
    assert counted.lines[ADD].warps == 1.5
    assert "the first and the last block" in counted.note


@pytest.mark.parametrize(
    ("launch", "text", "note"),
    [
        ({"kernels": 3}, LOOP, "Not counted: launch info: kernels is no list"),
        (dispatch(), LOOP.replace("add.u32", "wat.u32"), "loop was not counted: "),
        (dispatch(), LOOP.replace("@%p1 bra", "bra"), "loop was not counted: "),  # an endless loop
        (dispatch(), LOOP.replace(".entry loop", ".entry other"), "loop was not counted: "),
    ],
)
def test_what_cannot_be_counted_says_why(launch: Any, text: str, note: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_counts, "MAX_STEPS", 1000)
    counted = count_lines(launch, {"loop.ptx": text})["loop.ptx"]
    assert counted.lines == {} and counted.note.startswith(note) and "\n" not in counted.note


VERDICT = {"status": "proved", "rules_fired": ["sum-part"]}
PART = {
    "name": "loop",
    "verdict": VERDICT,
    "graph": {"fingerprint": "f00d", "text": "custom"},
    "schedule": {"sizes": {"x": 4}, "warps": 1, "stages": 2},
    "cost": {"total_us": 4.0, "limiter": "dram", "dram_bytes": 2048},
}
RESULT = {
    "inputs": "random",
    "output": "out",
    "error": 0.1,
    "source_error": 0.2,
    "used": 0.3,
    "scale": 1.0,
    "special": 0,
    "ok": True,
}
REPORT = {
    "source": "dyn.mlir",
    "function": "dyn",
    "sizes": [{"name": "x[0]", "dims": [[0, 0], [2, 1]]}],
    "operators": ["matmul", "exp"],
    "variants": [
        {"from": [1], "to": [1], "parts": [PART]},
        {"from": [2], "to": [16], "parts": [PART, PART]},
    ],
    "unserved": [{"from": [17], "to": [32], "reason": "too large"}],
    "checks": [
        {"variant": [1], "sizes": [1], "in_part": False, "accuracy": [RESULT, {**RESULT, "used": 0.5}]},
        {"variant": [16], "sizes": [16], "in_part": True, "accuracy": [RESULT]},
        {"variant": [16], "sizes": [8], "in_part": False, "accuracy": None},
    ],
    "target": "sm_80",
    "seed": 0,
    "limits": {"operators": 11},
    "versions": {"prism-mlir": "0.1.0"},
    "seconds": {"import": 0.5},
}


def contents() -> Contents:
    launch = Data(dispatch(), "launch.json: ")
    return Contents("out", (), "then", Data(REPORT, "report.json: "), launch=launch, ptx={"loop.ptx": LOOP})


def test_variants_have_their_sizes_times_and_checks() -> None:
    """The second variant has two kernels of 4 us, so the first has a bar half as long."""
    found = variants.view(contents())
    assert found.names == (("x[0]", "dim 0 of argument 0, dim 1 of argument 2"),)
    assert [(v.sizes, v.us, v.width, len(v.kernels)) for v in found.variants] == [
        ("x[0] 1", "4 µs", 50.0, 1),
        ("x[0] 2 to 16", "8 µs", 100.0, 2),
    ]
    assert found.variants[0].kernels[0].schedule == "x=4, 1 warp, 2 stages"
    assert found.unserved == (("x[0] 17 to 32", "too large"),)
    assert [(c.variant, c.at, c.used, c.note) for c in found.checks] == [
        ("1", "1", "50%", ""),
        ("16", "16", "30%", "some blocks"),
        ("16", "8", "", "not run, too much for the PTX machine"),
    ]


def test_the_page_of_dynamic_sizes_has_its_own_sections() -> None:
    page = render(contents())
    assert variants.is_dynamic(contents())
    assert 'id="variants"' in page and 'id="code-1-ptx"' in page and 'id="files"' in page
    assert 'id="funnel"' not in page and "This section is missing" not in page
    assert "its largest error was 50% of what is allowed" in page


def test_a_folder_for_dynamic_sizes_lacks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    (tmp_path / "launch.json").write_text(json.dumps(dispatch()))
    (tmp_path / "loop.ptx").write_text(LOOP)
    assert main(["report", str(tmp_path)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("wrote ")
    assert "Counted on the PTX machine" in (tmp_path / "report.html").read_text()
