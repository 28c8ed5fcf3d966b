"""Upstream MLIR, given our dialect as IRDL, reads, verifies and prints every op of it, and refuses what is none."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prism_mlir.codegen.external import find_tool
from prism_mlir.dialects.sgraph import SGRAPH
from prism_mlir.dialects.sgraph.irdl_file import MOST_VALUES, dialect_irdl, unquoted
from prism_mlir.graph.errors import VerifyError
from prism_mlir.tools.irdl import from_upstream, main, to_upstream
from prism_mlir.tools.module_reader import new_context, read_ir

EXAMPLES = [Path(__file__).parents[2] / "dialects" / f"{name}.mlir" for name in ("ops", "figure-1b", "figure-1c")]
TEXTS = {path.stem: path.read_text() for path in EXAMPLES}


@pytest.fixture
def context() -> Any:
    """An upstream context that knows our dialect, and no other that is not upstream's."""
    from mlir import ir
    from mlir.dialects import irdl

    context = ir.Context()
    context.attach_diagnostic_handler(lambda _: True)
    irdl.load_dialects(ir.Module.parse(dialect_irdl(), context))
    return context


def upstream(text: str, context: Any) -> str:
    from mlir import ir

    return str(ir.Module.parse(text, context))


def test_the_examples_hold_every_op_attribute_and_type() -> None:
    everything = "".join(to_upstream(text, name) for name, text in TEXTS.items())
    for op in SGRAPH.operations:
        assert f'"{op.name}"(' in everything
    # A tile dim stands inside of a tile type, whose content is one string.
    for made in SGRAPH.attributes:
        assert re.search(rf"[#!]{made.name}<\"", everything) or made.name == "sgraph.dim"


@pytest.mark.parametrize("name", TEXTS)
def test_there_and_back(name: str, context: Any) -> None:
    own = from_upstream(to_upstream(TEXTS[name], name), name)
    assert from_upstream(upstream(to_upstream(TEXTS[name], name), context), name) == own
    assert "unreachable" not in own and "SegmentSizes" not in own
    read, given = (read_ir(text, name, new_context()) for text in (own, TEXTS[name]))
    assert read.is_structurally_equivalent(given)


BODY = """func.func @f(%a: tensor<8x16xf16>, %b: f32) {
  OP
  ub.unreachable
}
"""


@pytest.mark.parametrize(
    ("op", "error"),
    [
        ('%0 = "sgraph.matmul"(%a) : (tensor<8x16xf16>) -> tensor<8x16xf16>', "2 operands"),
        ('"sgraph.matmul"(%a, %a) : (tensor<8x16xf16>, tensor<8x16xf16>) -> ()', "1 results"),
        ('%0 = "sgraph.sum"(%a) : (tensor<8x16xf16>) -> tensor<8x1xf16>', '"dim".* expected'),
        ('%0 = "sgraph.sum"(%a) {dim = "x"} : (tensor<8x16xf16>) -> tensor<8x1xf16>', "builtin.integer"),
        ('"sgraph.save"(%b) {omap = #sgraph.map<"m">} : (f32) -> ()', "sgraph.tile"),
        ('"sgraph.save"(%a) {omap = #sgraph.map<"m">} : (tensor<8x16xf16>) -> ()', "sgraph.tile"),
        ('"sgraph.save"(%a) {omap = "m"} : (tensor<8x16xf16>) -> ()', "sgraph.(map|tile)"),
        (
            '%0 = "sgraph.load"(%a) {tensor = "a", imap = #sgraph.dims<"">} : (tensor<8x16xf16>) -> !sgraph.tile<"">',
            "sgraph.map",
        ),
        ('"sgraph.nothing"() : () -> ()', "unregistered operation"),
        ('"sgraph.yield"() {operandSegmentSizes = array<i32: 1>} : () -> ()', "operandSegmentSizes"),
        ('"sgraph.thread"() : () -> ()', "regions|SegmentSizes"),
        ("%0 = builtin.unrealized_conversion_cast %a : tensor<8x16xf16> to !sgraph.nothing", "dynamic type"),
        ("%0 = builtin.unrealized_conversion_cast %a : tensor<8x16xf16> to !sgraph.tile<f32>", "builtin.string"),
    ],
)
def test_upstream_refuses(op: str, error: str, context: Any) -> None:
    from mlir import ir

    with pytest.raises(ir.MLIRError) as caught:
        upstream(BODY.replace("OP", op), context)
    told = " ".join(str(d.message) for d in caught.value.error_diagnostics)
    assert re.search(error, told), told


def test_a_list_longer_than_the_file_allows() -> None:
    results = ", ".join(f'%a as "r{k}" : tensor<8x16xf16>' for k in range(MOST_VALUES + 1))
    text = f"sgraph.program @p(%a: tensor<8x16xf16>) {{\n  sgraph.return {results}\n}}"
    with pytest.raises(VerifyError, match=r"a.mlir:2:\d+: error: .*33 operands"):
        to_upstream(text, "a.mlir")


def test_strings_of_the_portable_form_read_back() -> None:
    assert unquoted(r'#sgraph.x<"a \"b\22 \\ c"> "#sgraph.y"') == r'#sgraph.x<a "b" \ c> "#sgraph.y"'


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dialect"]) == 0
    assert capsys.readouterr().out == dialect_irdl()
    (tmp_path / "a.mlir").write_text(TEXTS["figure-1b"])
    assert main(["to-upstream", str(tmp_path / "a.mlir"), "-o", str(tmp_path / "b.mlir")]) == 0
    assert main(["from-upstream", str(tmp_path / "b.mlir")]) == 0
    assert "sgraph.custom" in capsys.readouterr().out
    assert main(["to-upstream"]) == 1
    assert main(["to-upstream", str(tmp_path / "missing.mlir")]) == 1
    assert capsys.readouterr().err.count("error: ") == 2


@pytest.mark.extras
@pytest.mark.parametrize("name", TEXTS)
def test_mlir_opt(name: str, tmp_path: Path) -> None:
    tool = find_tool("mlir-opt")
    if tool is None:
        pytest.skip("mlir-opt is not installed")
    (tmp_path / "sgraph.irdl.mlir").write_text(dialect_irdl())
    (tmp_path / "in.mlir").write_text(to_upstream(TEXTS[name], name))
    command = [
        str(tool),
        f"--irdl-file={tmp_path}/sgraph.irdl.mlir",
        str(tmp_path / "in.mlir"),
        "--canonicalize",
        "--cse",
    ]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert from_upstream(outcome.stdout, name)
