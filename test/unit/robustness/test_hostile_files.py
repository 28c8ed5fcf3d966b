"""Files that somebody wrote to do harm, and files that merely look odd: each is read, or refused with a place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "fuzz"))

from command_targets import SMALL, TARGETS, attempt
from fork_server import Limits

pytestmark = pytest.mark.extras  # for its time alone: a process for each file

LIMITS = Limits(memory=6 << 30, cpu_seconds=120, wall_seconds=600)
TEXT = SMALL.decode()


def shaped(m: object, k: object, n: object) -> str:
    """The product of ``m`` x ``k`` by ``k`` x ``n``."""
    text = TEXT.replace("16x64x", "M!xK!x").replace("64x32x", "K!xN!x").replace("16x32x", "M!xN!x")
    return text.replace("M!", str(m)).replace("K!", str(k)).replace("N!", str(n))


def with_constant(constant: str, rest: str = "") -> str:
    return (
        "func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
        f"  %c = arith.constant {constant} : tensor<4x4xf32>\n"
        "  %r = arith.addf %a, %c : tensor<4x4xf32>\n  return %r : tensor<4x4xf32>\n}\n" + rest
    )


def resource(payload: str) -> str:
    return with_constant("dense_resource<w>", f'{{-# dialect_resources: {{ builtin: {{ w: "{payload}" }} }} #-}}\n')


FINE = {
    "CRLF": TEXT.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + TEXT,
    "no line end": TEXT.rstrip("\n"),
    "one line": TEXT.replace("\n", " "),
    "long line": TEXT.replace("\n", " ") + " " * 2_000_000,
    "long comment": "//" + "x" * 2_000_000 + "\n" + TEXT,
    "long string": TEXT.replace("xf16> {", 'xf16> attributes {a.b = "' + "x" * 2_000_000 + '"} {', 1),
    "names of PTX": TEXT.replace("%x", "%reg").replace("%w", "%tid"),
    "symbol as ours": TEXT.replace("@main", "@main_0"),
    "symbol with spaces": TEXT.replace("@main", '@"a b\\00\\22;ret"'),
    "symbol that climbs": TEXT.replace("@main", '@"../../x/y"'),
    "symbol in another script": TEXT.replace("@main", '@"é😀\u202e"'),
    "long symbol": TEXT.replace("@main", "@" + "a" * 100_000),
    "dims of 1": shaped(1, 1, 1),
    "prime dims": shaped(1009, 997, 1013),
    "a binary beside it": f'module {{\n{TEXT}gpu.binary @main_binary [#gpu.object<#nvvm.target, "x">]\n}}',
    "elements as bytes": with_constant('dense<"0x' + "0000803F" * 16 + '">'),
    "a resource": resource("0x04000000" + "0000803F" * 16),
}

WRONG = {
    "empty": "",
    "NUL": TEXT.replace("%x", "%x\0", 1),
    "two byte order marks": "\ufeff\ufeff" + TEXT,
    "cut short": TEXT[: len(TEXT) // 2],
    "deep": "(" * 100_000,
    "deep signs": "affine_map<(d0) -> (" + "-" * 100_000,
    "dim of 2^62": shaped(2**62, 64, 32),
    "dim of 2^63": shaped(2**63, 64, 32),
    "product over 2^63": shaped(2**40, 2**20, 2**20),
    "negative dim": shaped(16, -1, 32),
    "type in itself": "!t = tensor<!t>\n" + TEXT,
    "alias bomb": "".join(f"#a{k} = [#a{k - 1}, #a{k - 1}]\n" for k in range(1, 99)) + TEXT,
    "calls itself": TEXT.replace(
        "  return",
        "  %z = func.call @main(%x, %w) : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>\n  return",
    ).replace("return %y", "return %z"),
    "bytes cut short": with_constant('dense<"0x000080">'),
    "odd digits": with_constant('dense<"0x000">'),
    "no resource": with_constant("dense_resource<w>"),
    "resource of no digits": resource("0xZZ"),
    "resource cut short": resource("0x0400000000000000"),
    "resource without alignment": resource("0x"),
    "NaN": TEXT.replace("0.0 : f16", "0x7E00 : f16"),
    "no closing quote": TEXT + '"' + "a" * 100_000,
}


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """What forked children would import one after the other."""
    import mlir.passmanager  # noqa: F401

    from prism_mlir.tools.module_reader import new_context

    list(new_context().registered_dialect_names)


@pytest.mark.parametrize("name", FINE)
def test_odd_files_are_read(name: str, tmp_path: Path) -> None:
    target = next(t for t in TARGETS if t.name == "opt-import")
    outcome, faults = attempt(target, FINE[name].encode(), tmp_path / "run", LIMITS)
    assert (outcome.code, faults) == (0, []), outcome.err[-1000:]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused(name: str, tmp_path: Path) -> None:
    target = next(t for t in TARGETS if t.name == "opt-import")
    outcome, faults = attempt(target, WRONG[name].encode("utf-8", "surrogatepass"), tmp_path / "run", LIMITS)
    assert (outcome.code, faults) == (1, []), outcome.err[-1000:]


def test_a_name_of_a_file_that_steers_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from prism_mlir.tools.prism_opt import main

    path = tmp_path / "a\n\x1b[2J\u202e.mlir"
    path.write_text("not MLIR")
    assert main([str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable() and "\\x1b[2J\\u202e.mlir:1:1: error: " in line
