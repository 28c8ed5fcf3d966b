"""``prism verify`` and ``prism certify`` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from prism_mlir.tools.prism import main

PROGRAM = """\
sgraph.program @rows(%X: tensor<8x16xf16>, %V: tensor<8x1xf16>, %W: tensor<16x16xf16>) {
  %0 = sgraph.div %X, %V : (tensor<8x16xf16>, tensor<8x1xf16>) -> tensor<8x16xf16>
  %1 = sgraph.matmul %0, %W : (tensor<8x16xf16>, tensor<16x16xf16>) -> tensor<8x16xf16>
  sgraph.return %1 as "o" : tensor<8x16xf16>
}
"""
FUNCTION = """\
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>
func.func @rows(%x: tensor<8x16xf16>, %v: tensor<8x1xf16>, %w: tensor<16x16xf16>) -> tensor<8x16xf16> {
  %e = tensor.empty() : tensor<8x16xf16>
  %q = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %v : tensor<8x16xf16>, tensor<8x1xf16>) outs(%e : tensor<8x16xf16>) {
  ^bb0(%a: f16, %b: f16, %out: f16):
    %c = arith.divf %a, %b : f16
    linalg.yield %c : f16
  } -> tensor<8x16xf16>
  %zero = arith.constant 0.0 : f16
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<8x16xf16>) -> tensor<8x16xf16>
  %p = linalg.matmul ins(%q, %w : tensor<8x16xf16>, tensor<16x16xf16>) outs(%f : tensor<8x16xf16>) -> tensor<8x16xf16>
  return %p : tensor<8x16xf16>
}
"""
HEAD = "implements @rows(%X: tensor<8x16xf16>, %V: tensor<8x1xf16>, %W: tensor<16x16xf16>) {"
KERNEL = "%x = %X : tensor<8x16xf16>, %v = %V : tensor<8x1xf16>, %w = %W : tensor<16x16xf16>"
TILE = "!sgraph.tile<[8/x, 16] x f16>"


def graph(name: str, quotient: str) -> str:
    """X.W tile by tile, then a quotient of the product (%4) and the divisor's tile (%2)."""
    sides = {"%4": TILE, "%2": "!sgraph.tile<[8/x, 1] x f16>"}
    types = ", ".join(sides[v.strip()] for v in quotient.split(","))
    return f"""\
sgraph.graph @{name} {HEAD}
  %0 = sgraph.custom({KERNEL}) grid {{x = d_x}} -> tensor<8x16xf16> {{
    %1 = sgraph.load %x as X imap {{x -> 0}} : tensor<8x16xf16> -> {TILE}
    %2 = sgraph.load %v as V imap {{x -> 0}} : tensor<8x1xf16> -> !sgraph.tile<[8/x, 1] x f16>
    %3 = sgraph.load %w as W imap {{}} : tensor<16x16xf16> -> !sgraph.tile<[16, 16] x f16>
    %4 = sgraph.matmul %1, %3 : ({TILE}, !sgraph.tile<[16, 16] x f16>) -> {TILE}
    %5 = sgraph.div {quotient} : ({types}) -> {TILE}
    sgraph.save %5 omap {{x -> 0}} : {TILE}
  }}
  sgraph.yield %0 : tensor<8x16xf16>
}}
"""


RIGHT, WRONG = graph("right", "%4, %2"), graph("upside_down", "%2, %4")


@pytest.fixture
def files(tmp_path: Path):
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_proved_graphs_end_with_exit_code_0(files, capsys) -> None:
    assert main(["verify", files("a.mlir", PROGRAM + RIGHT)]) == 0
    out = capsys.readouterr().out
    assert "@right" in out and "proved" in out and "1 of 1 graphs proved for all sizes" in out


def test_one_graph_that_is_not_proved_ends_with_exit_code_1(files, capsys) -> None:
    assert main(["verify", files("a.mlir", PROGRAM + RIGHT + WRONG)]) == 1
    captured = capsys.readouterr()
    assert "1 of 2 graphs proved" in captured.out and captured.err == ""
    assert "@upside_down: an element differs; output 0 at [0, 0]" in captured.out


def test_a_function_and_graphs_in_another_file(files, capsys) -> None:
    source, graphs = files("f.mlir", FUNCTION), files("g.mlir", PROGRAM + RIGHT)
    assert main(["verify", source, "--graph", graphs]) == 0
    assert "@rows: 1 of 1" in capsys.readouterr().out


def test_a_function_and_a_graph_in_one_file(files, capsys) -> None:
    assert main(["verify", files("f.mlir", FUNCTION + RIGHT)]) == 0


def test_verdicts_as_json(files, tmp_path, capsys) -> None:
    out = tmp_path / "v.json"
    assert main(["verify", files("a.mlir", PROGRAM + RIGHT + WRONG), "-o", str(out), "--seed", "5"]) == 1
    data = json.loads(out.read_text())
    right, wrong = data["graphs"]
    assert (right["graph"], right["status"], right["together"]) == ("right", "proved", 1)
    assert "matmul-div-left" in right["rules_used"] and right["chain_steps"] > 0
    assert set(right["rules_used"]) <= set(right["rules_fired"]) and right["sizes_tried"] == [{"x": 2}, {"x": 3}]
    assert (wrong["status"], wrong["rules_used"], wrong["counterexample"]["seed"]) == ("refuted", None, 5)


def test_a_counterexample_is_replayed_exactly(files, tmp_path, capsys) -> None:
    """And what it says is what NumPy says: v / (x @ w), modulo the prime, at the recorded sizes and seed."""
    source, out = files("a.mlir", PROGRAM + RIGHT + WRONG), tmp_path / "v.json"
    main(["verify", source, "-o", str(out)])
    capsys.readouterr()
    assert main(["verify", source, "--replay", str(out)]) == 0
    shown = capsys.readouterr().out
    found = json.loads(out.read_text())["graphs"][1]["counterexample"]
    assert str(found["expected"]) in shown and str(found["got"]) in shown and "@right" not in shown
    p, (m, k, n) = 67_108_859, found["dims"]
    rng = np.random.default_rng(found["seed"])
    x, v, w = (rng.integers(1, p, s).astype(object) for s in ((m, k), (m, 1), (k, n)))
    i, j = found["index"]
    product = int((x @ w)[i, j])
    assert found["got"] == int(v[i, 0]) * pow(product, -1, p) % p
    assert found["expected"] == product * pow(int(v[i, 0]), -1, p) % p


def test_a_changed_counterexample_does_not_replay(files, tmp_path, capsys) -> None:
    source, out = files("a.mlir", PROGRAM + RIGHT + WRONG), tmp_path / "v.json"
    main(["verify", source, "-o", str(out)])
    row = json.loads(out.read_text())["graphs"][1]
    row["counterexample"]["got"] += 1
    assert main(["verify", source, "--replay", files("one.json", json.dumps(row))]) == 1
    row["counterexample"]["got"] -= 1
    assert main(["verify", source, "--replay", files("one.json", json.dumps(row))]) == 0
    row["graph"] = "right"
    assert main(["verify", source, "--replay", files("one.json", json.dumps(row))]) == 1
    assert "program and graph agree" in capsys.readouterr().out


def test_limits_make_unknown_never_refuted(files, capsys) -> None:
    assert main(["verify", files("a.mlir", PROGRAM + RIGHT), "--iterations", "1"]) == 1
    out = capsys.readouterr().out
    assert "unknown" in out and "refuted" not in out and "@right: stopped after 1 iterations" in out


SHIFTED = """\
sgraph.program @shifted(%X: tensor<8x16xf32>, %M: tensor<8x1xf32>) {
  %0 = sgraph.unary %X "exp(x)" : tensor<8x16xf32> -> tensor<8x16xf32>
  %1 = sgraph.unary %M "exp(x)" : tensor<8x1xf32> -> tensor<8x1xf32>
  %2 = sgraph.div %0, %1 : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
  sgraph.return %2 as "o" : tensor<8x16xf32>
}
sgraph.graph @subtracted implements @shifted(%X: tensor<8x16xf32>, %M: tensor<8x1xf32>) {
  %0 = sgraph.custom(%x = %X : tensor<8x16xf32>, %m = %M : tensor<8x1xf32>) grid {x = d_x} -> tensor<8x16xf32> {
    %1 = sgraph.load %x as X imap {x -> 0} : tensor<8x16xf32> -> !sgraph.tile<[8/x, 16] x f32>
    %2 = sgraph.load %m as M imap {x -> 0} : tensor<8x1xf32> -> !sgraph.tile<[8/x, 1] x f32>
    %3 = sgraph.sub %1, %2 : (!sgraph.tile<[8/x, 16] x f32>, !sgraph.tile<[8/x, 1] x f32>) -> !sgraph.tile<[8/x, 16] x f32>
    %4 = sgraph.unary %3 "exp(x)" : !sgraph.tile<[8/x, 16] x f32> -> !sgraph.tile<[8/x, 16] x f32>
    sgraph.save %4 omap {x -> 0} : !sgraph.tile<[8/x, 16] x f32>
  }
  sgraph.yield %0 : tensor<8x16xf32>
}
"""


def test_arithmetic_rules_are_added_by_name(files, tmp_path, capsys) -> None:
    source = files("e.mlir", SHIFTED)
    assert main(["verify", source]) == 1
    assert main(["verify", source, "--axioms", "exp", "--certificate", str(tmp_path / "c.json")]) == 0
    assert main(["certify", str(tmp_path / "c.json"), source]) == 0
    assert "is about a known function" in capsys.readouterr().out


def test_a_certificate_is_written_and_checked(files, tmp_path, capsys) -> None:
    source, out = files("a.mlir", PROGRAM + RIGHT), tmp_path / "c.json"
    assert main(["verify", source, "--certificate", str(out)]) == 0
    assert "1 graph, 1 with a full chain of rule applications" in capsys.readouterr().out
    assert main(["certify", str(out), source]) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 graphs have a certificate, and every claim in it holds" in shown and "steps" in shown
    assert main(["certify", str(out), files("f.mlir", FUNCTION), "--graph", source]) == 0
    both = files("b.mlir", PROGRAM + RIGHT + graph("again", "%4, %2"))
    assert main(["certify", str(out), both]) == 1  # a graph without a certificate


def test_a_certificate_of_another_graph_is_refused(files, tmp_path, capsys) -> None:
    out = tmp_path / "c.json"
    main(["verify", files("a.mlir", PROGRAM + RIGHT), "--certificate", str(out)])
    other = files("b.mlir", PROGRAM + WRONG.replace("upside_down", "right"))
    assert main(["certify", str(out), other]) == 1
    assert f"{out}:1:1: error: @right: the certificate is about another graph of this name" in capsys.readouterr().err


TWO = PROGRAM + PROGRAM.replace("@rows", "@more")
ERRORS = {
    "no graph": (["verify", PROGRAM], r"1:1: error: the file holds no sgraph.graph to verify, add one, or name a file"),
    "no program": (["verify", "module {}"], "the file holds no sgraph.graph to verify"),
    "a syntax error": (["verify", PROGRAM + "sgraph.graph @g implements"], "error: "),
    "symbolic mappings": (
        [
            "verify",
            PROGRAM + RIGHT.replace("imap {x -> 0} : tensor<8x16xf16> -> " + TILE, ": tensor<8x16xf16> -> " + TILE),
        ],
        "error: ",
    ),
    "several programs": (["verify", TWO + RIGHT.replace("implements @rows", "")], "error: "),
    "an unknown function": (
        ["verify", PROGRAM + RIGHT, "--function", "no"],
        "no program or function @no, there is: @rows",
    ),
    "unknown axioms": (["verify", PROGRAM + RIGHT, "--axioms", "magic"], "no axioms called 'magic', known are"),
    "two graphs of one name": (["verify", PROGRAM + RIGHT + RIGHT], "error: "),
    "a replay that is no JSON": (["verify", PROGRAM + RIGHT, "--replay", "HERE"], "the file is not JSON"),
    "a certificate that is no JSON": (["certify", "HERE", PROGRAM + RIGHT], "the file is not JSON"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_errors_are_one_located_line(what, files, capsys) -> None:
    arguments, reason = ERRORS[what]
    source = next(a for a in arguments if "\n" in a or a == "module {}")
    path = files("in.mlir", source)
    given = [path if a in (source, "HERE") else a for a in arguments]
    assert main(given) == (2 if "--axioms" in given else 1)
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and reason in err and (path in err or "--axioms" in given)


@pytest.mark.parametrize("arguments", [["verify", "missing.mlir"], ["certify", "missing.json", "missing.mlir"]])
def test_missing_files(arguments, capsys) -> None:
    assert main(arguments) == 1
    assert "error: cannot read 'missing.mlir': there is no such file" in capsys.readouterr().err


COUNTEREXAMPLE = {"sizes": {"x": 2}, "dims": [4, 6, 8], "seed": 0, "output": 0, "index": [0, 0]}
COUNTEREXAMPLE |= {"expected": 1, "got": 2, "reason": ""}


@pytest.mark.parametrize(
    "row",
    [
        {"graph": "upside_down", "counterexample": {"sizes": {"q": 2}}},
        {"graph": "upside_down", "counterexample": 5},
        {"graph": "nobody", "counterexample": None},
        [1, 2],
        {"graphs": [5]},
        {"graph": "upside_down", "counterexample": COUNTEREXAMPLE | {"sizes": {"q": 2}}},
        {"graph": "upside_down", "counterexample": COUNTEREXAMPLE | {"dims": [2, 3]}},
        {"graph": "upside_down", "counterexample": COUNTEREXAMPLE | {"sizes": {"x": -2}}},
        {"graph": "upside_down", "counterexample": COUNTEREXAMPLE | {"seed": -1}},
        {"graph": "upside_down", "counterexample": COUNTEREXAMPLE | {"dims": [4, 4, 10**12]}},
    ],
)
def test_malformed_counterexamples(row, files, capsys) -> None:
    source = files("a.mlir", PROGRAM + WRONG)
    assert main(["verify", source, "--replay", files("r.json", json.dumps(row))]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "error: " in err
