"""Pages made from the code hold what the code holds, each compared with another source than the one it is made from."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[str, str]]:
    sys.path.insert(0, str(ROOT / "docs"))
    from site_parts.made import made_pages

    yield {Path(path).stem: text for path, text in made_pages().items()}
    sys.path.remove(str(ROOT / "docs"))


def test_every_option_that_help_prints_is_in_the_reference(pages: dict[str, str]) -> None:
    run = [sys.executable, "-m", "prism_mlir.tools.prism", "compile", "--help"]
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", printed, re.MULTILINE)) - {"--help"}
    section = pages["command-line"].split("## `prism compile`")[1].split("\n## ")[0]
    assert "--target" in options
    assert {o for o in options if f"`{o}" not in section and f", {o}" not in section} == set()


def test_every_command_has_a_description(pages: dict[str, str]) -> None:
    sections = re.split(r"^## ", pages["command-line"], flags=re.MULTILINE)[1:]
    names = [section.split("`")[1] for section in sections]
    assert {"prism", "prism compile", "prism ptx check", "prism cache list", "prism-opt"} <= set(names)
    assert [n for n, s in zip(names, sections, strict=True) if s.split("\n")[2].startswith(("```", "|"))] == []
    bare = [line for line in pages["command-line"].splitlines() if re.fullmatch(r"\| `-.*` \|\s*\|", line)]
    assert bare == []


def test_every_op_of_the_dialects_test_is_in_the_reference(pages: dict[str, str]) -> None:
    """``test/dialects/ops.mlir`` has every op and, in generic form, attributes."""
    text = (ROOT / "test" / "dialects" / "ops.mlir").read_text()
    ops = set(re.findall(r"^ *(?:%\w+ = )?(sgraph\.\w+)", text, re.MULTILINE))
    assert len(ops) > 15
    assert {op for op in ops if f"### `{op}`\n" not in pages["dialect"]} == set()
    attributes = set(re.findall(r"[#!]sgraph\.\w+(?=<)", text))
    assert {a for a in attributes if f"### `{a}`\n" not in pages["dialect"]} == set()
    assert pages["dialect"].count("```mlir\n") >= len(ops)


def test_axioms_are_those_of_the_certificate_checker(pages: dict[str, str]) -> None:
    import json

    lines = (ROOT / "prism_mlir" / "certify" / "axioms.jsonl").read_text().splitlines()
    names = [json.loads(line)["name"] for line in lines]
    assert f"{len(names)} rules" in pages["axioms"]
    assert [n for n in names if f"| `{n}` |" not in pages["axioms"]] == []


def test_opcodes_and_types_of_the_ptx_machine(pages: dict[str, str]) -> None:
    """As the PTX ISA has them: ``mma`` of f16, bf16, tf32, f64 and bytes, ``ex2`` without f64, ``dp4a`` of words."""
    rows = {
        line.split("`")[1]: line for line in pages["ptx-instructions"].split("## ")[0].splitlines() if "| `" in line
    }
    assert len(rows) > 80
    types = {opcode: set(line.split("|")[2].split()) for opcode, line in rows.items()}
    modifiers = {opcode: set(line.split("|")[3].split()) for opcode, line in rows.items()}
    assert {"f16", "bf16", "tf32", "f64", "s8", "u8"} <= types["mma"] and "m16n8k16" in modifiers["mma"]
    assert types["ex2"] == {"f16", "f16x2", "bf16", "bf16x2", "f32"} and "approx" in modifiers["ex2"]
    assert types["popc"] == types["clz"] == {"b32", "b64"}
    assert {"ca", "cg", "commit_group", "wait_group"} <= modifiers["cp"]
    assert types["dp4a"] == {"s32", "u32"}


def test_errors_name_their_base_and_exit_codes(pages: dict[str, str]) -> None:
    assert "| `InaccurateError` | `ExecutionError` | `prism_mlir.graph.errors` |" in pages["errors"]
    assert "| 130 | `INTERRUPTED` |" in pages["errors"]


def test_every_module_has_a_first_line(pages: dict[str, str]) -> None:
    without = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "prism_mlir").rglob("*.py")
        if path.name != "__init__.py" and f"`{path.relative_to(ROOT / 'prism_mlir')}`" not in pages["modules"]
    ]
    assert without == []


def test_targets_and_operators(pages: dict[str, str]) -> None:
    assert re.search(r"\| `sm_80` \| A100 40 GB \| `sm_80` \| 108 \| 1.41 \| 1024 \|", pages["targets"])
    assert "| `mul` | binary | 2 | `Mul` | commutes, associates | 0, 1 |" in pages["operators"]


def test_examples_of_attributes_and_types_can_be_read(pages: dict[str, str]) -> None:
    from page_blocks import own_context
    from xdsl.parser import Parser

    examples = re.findall(r"`([#!]sgraph\.\w+<[^`]*>)`", pages["dialect"])
    examples += re.findall(r"^!sgraph\.tile<.*>$", pages["dialect"], re.MULTILINE)
    assert len(examples) >= 10
    for text in examples:
        if "<bytes" not in text:
            Parser(own_context(), text, text).parse_attribute().verify()


def test_examples_of_operators_can_be_read(pages: dict[str, str]) -> None:
    """Each example by itself, in a program that has its operands as arguments."""
    from page_blocks import read_mlir

    section = pages["dialect"].split("## Operators")[1]
    examples = [line for line in section.splitlines() if re.match(r"%\w+ = sgraph\.", line)]
    assert len(examples) >= 14
    for line in examples:
        left, _, types = line.rpartition(" : ")
        names = re.findall(r"%\w+", left.partition("=")[2])
        (operands, _, result) = types.partition(" -> ") if names else ("", "", types)
        given = re.findall(r"tensor<[^>]*>", operands)
        assert len(given) == len(names), line
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, given, strict=True))
        value = line.split(" ")[0]
        text = f'sgraph.program @p({arguments}) {{\n  {line}\n  sgraph.return {value} as "out" : {result}\n}}\n'
        read_mlir(text, line)
