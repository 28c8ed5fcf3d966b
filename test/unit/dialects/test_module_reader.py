"""Which parts of a text are ours, and that places survive the way through upstream."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Operation

from prism_mlir.dialects.sgraph import SGRAPH
from prism_mlir.graph.errors import InputError, LimitError, Location, PrismError
from prism_mlir.passes.located import location_of, verify_module
from prism_mlir.tools.module_reader import read_ir, sgraph_spans

OURS = """sgraph.program @p(%a: tensor<8xf16>) attributes {k = {nested = "} sgraph.graph @no {"}} {
  // a comment with a brace }
  %0 = sgraph.unary %a "exp(x)" : tensor<8xf16> -> tensor<8xf16>
  sgraph.return %0 as "}" : tensor<8xf16>
}"""

THEIRS = """func.func @f(%a: tensor<8xf16>) -> tensor<8xf16> {
  return %a : tensor<8xf16>
}"""


def context() -> Context:
    made = Context(allow_unregistered=True)
    made.load_dialect(Builtin)
    made.load_dialect(SGRAPH)
    return made


def read(text: str) -> list[Operation]:
    module = read_ir(text, "f.mlir", context())
    module.verify()
    return list(module.body.block.ops)


def test_spans_follow_brackets_not_strings_or_comments() -> None:
    text = f"{THEIRS}\n{OURS}\n// sgraph.graph @commented {{\n{OURS.replace('@p', '@q')}"
    assert [text[a:b] for a, b in sgraph_spans(text)] == [OURS, OURS.replace("@p", "@q")]


@pytest.mark.parametrize("text", ['"x.y"() {sgraph.graph = @f} : () -> ()', '"sgraph.graph"() : () -> ()', "", "}{"])
def test_other_text_holds_nothing_of_ours(text: str) -> None:
    assert sgraph_spans(text) == []


@pytest.mark.parametrize("shell", ["OURS", "module {\nOURS\n}", "builtin.module { OURS }", "OURS\n" + THEIRS])
def test_ops_know_their_line(shell: str) -> None:
    text = shell.replace("OURS", OURS)
    program = next(op for op in read(text) if op.name == "sgraph.program")
    unary = next(op for op in program.walk() if op.name == "sgraph.unary")
    line = text[: text.index("%0 = sgraph.unary")].count("\n") + 1
    assert location_of(unary) == Location("f.mlir", line, 8)


def test_upstream_ops_after_ours_keep_their_line() -> None:
    ops = read(f"{OURS}\n\n{THEIRS}")
    function = next(op for op in ops if op is not ops[0])
    assert location_of(function) == Location("f.mlir", 7, 1)


def test_aliases_of_upstream_reach_our_ops() -> None:
    text = "!t = tensor<8xf16>\n#other = affine_map<(d0) -> (d0)>\nsgraph.program @p(%a: !t) {\n"
    (program, *_) = read(f'{text}  sgraph.return %a as "o" : !t\n}}\n{THEIRS}')
    assert str(program.regions[0].block.args[0].type) == "tensor<8xf16>"


def test_names_come_back_after_upstream_renamed_values() -> None:
    (program,) = [op for op in read(f"{OURS}\n{THEIRS}") if op.name == "sgraph.program"]
    assert program.regions[0].block.args[0].name_hint == "a"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the input is empty"),
        ("   \n", 1, "the input is empty"),
        (OURS[:-1], 5, "syntax error in block definition"),
        (OURS.replace("exp(x)", "exp(x"), 3, "cannot read scalar function"),
        ("func.func @f(", 1, "expected"),
        (OURS.replace("@p", '@p"' + "x " * 60), 1, "a string is not closed on its line"),
        (OURS.replace("exp(x)", "a" * 60 + r"\q"), 3, "or has an unknown escape"),
        ("hello", 1, "custom op 'hello' is unknown"),
        ("sgraph.program @p", 1, "expected"),
        ("sgraph.program @p(", 1, "expected"),
        ("sgraph.program @p(%a: tensor<2x", 1, ""),
        ("sgraph.graph @p(%a: !sgraph.tile<[", 1, ""),
        ("mhlo.add %a, %b : tensor<2xf32>", 1, "no dialect mhlo"),
    ],
)
def test_bad_text_is_one_located_error(text: str, line: int, message: str) -> None:
    with pytest.raises(PrismError) as caught:
        verify_module(read_ir(text, "f.mlir", context()), "f.mlir")
    error = caught.value
    assert error.location is not None and error.location.file == "f.mlir" and error.location.line == line
    assert message.lower() in error.message.lower()
    assert "\n" not in str(error)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(LimitError):
        read_ir("module {" * 400 + OURS + "}" * 400, "f.mlir", context())


def test_binary_input_is_refused() -> None:
    with pytest.raises(InputError):
        read_ir("sgraph.program @p\0", "f.mlir", context())
