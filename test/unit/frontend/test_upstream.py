"""The crossing into upstream MLIR: what comes out, and one located line for everything that cannot go in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from prism_mlir.frontend.upstream import named_ops, read_file, read_module
from prism_mlir.graph.errors import InputError, LimitError, Location, PrismError, UnsupportedError

INPUTS = Path(__file__).parents[2] / "inputs"

NAMED = """func.func @f(%a: tensor<4x8xf16>, %b: tensor<8x4xf16>) -> tensor<4x4xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = linalg.matmul ins(%a, %b : tensor<4x8xf16>, tensor<8x4xf16>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %m : tensor<4x4xf32>
}
"""


@pytest.mark.parametrize("path", sorted(INPUTS.glob("*/*.linalg.mlir")), ids=lambda p: p.stem)
def test_real_inputs_leave_linalg_generic_only(path: Path) -> None:
    text = read_file(path).text
    linalg = {line.split('"')[1] for line in text.splitlines() if '"linalg.' in line.split("loc(")[0]}
    assert linalg <= {"linalg.generic", "linalg.yield", "linalg.index"}
    assert "linalg.generic" in linalg
    assert "#map" not in text.split("{-#")[0], "aliases would not be local scope"


def test_xdsl_reads_the_text() -> None:
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects
    from xdsl.parser import Parser

    context = Context(allow_unregistered=True)
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    text = read_file(INPUTS / "paper" / "attention_b2_g8_h1024_d128.linalg.mlir").text
    module = Parser(context, text).parse_module()
    assert sum(op.name == "linalg.generic" for op in module.walk()) == text.count('"linalg.generic"')


def test_locations_survive_normalisation() -> None:
    module = read_module(NAMED, "f.mlir")
    generics = []
    module.module.walk(lambda op: _collect(op, generics))
    assert [module.locate(op) for op in generics] == [Location("f.mlir", 4, 8), Location("f.mlir", 5, 8)]
    inner = generics[1].regions[0].blocks[0].operations[0].operation  # made by upstream: has no place of its own
    assert module.locate(inner) == Location("f.mlir", 5, 8)


def _collect(op: object, found: list[object]) -> object:
    from mlir import ir

    if op.name == "linalg.generic":  # type: ignore[attr-defined]
        found.append(op)
    return ir.WalkResult.ADVANCE


def test_normalise_off_keeps_named_operations() -> None:
    assert '"linalg.matmul"' in read_module(NAMED, normalise=False).text


def test_private_functions_are_inlined() -> None:
    text = read_module(
        "func.func private @g(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n"
        "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = func.call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"
    ).text
    assert text.count("func.func") == 1
    assert "func.call" not in text


def test_foreign_operations_pass_through() -> None:
    text = read_module('"sgraph.program"() ({ "sgraph.x"() {t = !sgraph.tile<1>} : () -> () }) : () -> ()').text
    assert '"sgraph.program"' in text
    assert "!sgraph.tile<1>" in text


def test_several_top_level_operations_keep_the_file_name() -> None:
    module = read_module('"a.b"() : () -> ()\n"a.c"() : () -> ()\n', 'odd "name".mlir')
    assert r'loc("odd \22name\22.mlir":2:1)' in module.text
    second = module.module.regions[0].blocks[0].operations[1].operation
    assert module.locate(second) == Location('odd "name".mlir', 2, 1)


def test_first_file_place_inside_fused_and_named_locations() -> None:
    module = read_module('"a.b"() : () -> () loc(fused["n"(callsite("x.py":3:4 at "y.py":5:6)), "z.py":7:8])', "a.mlir")
    assert module.locate(module.module.regions[0].blocks[0].operations[0].operation) == Location("x.py", 3, 4)


BAD = [
    ("", InputError, "a.mlir:1:1: error: the input is empty, give an MLIR module"),
    ("// nothing\n", InputError, "a.mlir:1:1: error: the input holds no operation, give an MLIR module"),
    ("hello\nworld", InputError, "a.mlir:1:1: error: custom op 'hello' is unknown (tried 'builtin.hello' as well)"),
    ("module {\0}", InputError, "a.mlir:1:9: error: a NUL character is not MLIR text, give MLIR text"),
    ("\x7fELF\x02\x01", InputError, "a.mlir:1:1: error: unexpected character"),
    ("module {" * 5000, LimitError, "a.mlir:1:2056: error: nesting is deeper than 256 levels, flatten the input"),
    (
        "module {\n  %0 = mhlo.abs %1 : i1\n}",
        InputError,
        "a.mlir:2:8: error: upstream MLIR has no dialect mhlo",
    ),
    (
        "func.func @f() -> i32 {\n  return\n}",
        InputError,
        "a.mlir:2:3: error: 'func.return' op has 0 operands, but enclosing function (@f) returns 1",
    ),
    (
        'func.func @f() {\n  "sgraph.x"() ({}) : () -> ()\n  return\n}',
        UnsupportedError,
        "a.mlir:2:3: error: sgraph.x with a region inside a function, move it to the module's top",
    ),
]


@pytest.mark.parametrize(("text", "kind", "message"), BAD)
def test_bad_text_is_one_located_line(
    text: str, kind: type[PrismError], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(kind) as caught:
        read_module(text, "a.mlir")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", ""), "upstream must not print"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.mlir: error: cannot read the file: No such file"):
        read_file(tmp_path / "none.mlir")
    with pytest.raises(InputError, match="Is a directory"):
        read_file(tmp_path)
    binary = tmp_path / "binary.mlir"
    binary.write_bytes(b"module {\n  \xff}")
    with pytest.raises(InputError, match=r"binary\.mlir:2:3: error: byte 0xff is not UTF-8 text"):
        read_file(binary)


def test_importing_the_package_loads_no_mlir() -> None:
    import subprocess

    code = (
        "import sys, prism_mlir, prism_mlir.frontend.upstream, prism_mlir.runtime.cpu_jit, prism_mlir.codegen.ptx;"
        "sys.exit('mlir' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_sym_name_of_a_foreign_operation_may_be_anything() -> None:
    text = '"other.op"() ({}) {sym_name = 1 : i32} : () -> ()\nfunc.func @f() {\n  return\n}'
    read = read_module(text, "a.mlir")
    assert list(named_ops(read.module)) == ["f"]
    assert "sym_name = 1" in read.text
