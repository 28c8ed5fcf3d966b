"""What damaged files have found, each as small as it gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from xdsl.context import Context

from prism_mlir.dialects.sgraph import SGRAPH
from prism_mlir.frontend.import_linalg import import_file
from prism_mlir.graph.errors import LONGEST, InputError, Location, PrismError, UnsupportedError, printable
from prism_mlir.tools.files import MAX_JSON, read_json
from prism_mlir.tools.module_reader import read_ir
from prism_mlir.tools.prism import main
from prism_mlir.tune.records.transfer import parse_lines

SUM = "sgraph.program @p(%X: tensor<8x16xf16>) {\n  %0 = sgraph.sum %X dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>\n"
SUM += '  sgraph.return %0 as "o" : tensor<8x1xf16>\n}\n'


def context() -> Context:
    made = Context(allow_unregistered=True)
    made.load_dialect(SGRAPH)
    return made


@pytest.mark.parametrize("first", ["'", "\u2028", "\U0001f600"])
def test_a_first_character_that_is_no_token(first: str) -> None:
    with pytest.raises(InputError) as caught:
        read_ir(first + SUM, "a.mlir", context())
    assert caught.value.location == Location("a.mlir", 1, 1)


def test_an_integer_that_f64_rounds_is_not_computed_with() -> None:
    """The largest i64 rounds to 2^63, which is none."""
    with pytest.raises(UnsupportedError, match="53 bits"):
        import_file(
            """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %most = arith.constant 9223372036854775807 : i64
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %j, %most : i64
    %n = arith.uitofp %c : i1 to f32
    %y = arith.mulf %x, %n : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""
        )


@pytest.mark.parametrize(
    "text", ["9" * 5000, "[" * 100_000, "\ufeff{}", "{} {}", "", "\0", "[1,", "[NaN]", "-Infinity"]
)
def test_json_that_is_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_json(path)
    assert caught.value.location is not None and caught.value.location.line == 1


def test_json_of_any_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with path.open("wb") as stream:
        stream.truncate(MAX_JSON + 1)  # a file with a hole, which takes no space
    with pytest.raises(PrismError, match="more than"):
        read_json(path)


def test_a_number_of_records_that_no_f64_holds() -> None:
    lines = (Path(__file__).parents[2] / "inputs" / "records.jsonl").read_text().splitlines(keepends=True)
    (k, row) = next((k, json.loads(line)) for k, line in enumerate(lines) if '"microseconds"' in line)
    row["microseconds"] = 10**400
    with pytest.raises(InputError, match=f"a.jsonl:{k + 1}:1"):
        parse_lines([*lines[:k], json.dumps(row), *lines[k + 1 :]], "a.jsonl")


def test_messages_are_short_whatever_they_quote() -> None:
    error = PrismError(f"no function {'x' * 10_000_000} here", None, "y" * 10_000_000)
    assert len(str(error)) < 3 * LONGEST
    assert error.message.startswith("no function x") and error.message.endswith("x here")


def test_messages_do_not_steer_a_terminal() -> None:
    text = str(InputError("no '\x1b[2J\x07'", Location("\u202egnp.mlir", 1, 1)))
    assert text.isprintable() and "\\x1b[2J\\x07" in text and "\\u202egnp" in text
    assert printable("é 😀 λ") == "é 😀 λ"


@pytest.mark.parametrize("number", ["-1", "1e400", str(2**70)])
def test_a_launch_that_cannot_be_is_refused_where_it_stands(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) { ret; }\n"
    (tmp_path / "k.ptx").write_text(kernel)
    argument = {"role": "input", "index": 0, "shape": [256], "dtype": "f32", "bytes": 1024, "name": "a"}
    launch = {"kernels": [{"entry": "k", "ptx": "k.ptx", "arguments": [argument]}]}
    (tmp_path / "l.json").write_text(json.dumps(launch).replace("1024", number))
    assert main(["ptx", "check", str(tmp_path / "k.ptx"), "--launch", str(tmp_path / "l.json")]) == 1
    assert capsys.readouterr().err.startswith(f"{tmp_path}/l.json:1:1: error: ")


@pytest.mark.parametrize("command", ["explain", "cost"])
def test_a_file_without_a_program(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.mlir"
    path.write_text("sgraph.graph @g implements @p(%X: tensor<8x16xf16>) {\n  sgraph.yield %X : tensor<8x16xf16>\n}\n")
    assert main([command, str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:1:1: error: no function with a body")
