"""Every instruction that the machine knows has a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import prism_mlir.runtime.ptx.ops  # noqa: F401  (fills the table)
from prism_mlir.runtime.ptx.table import TABLE

HERE = Path(__file__).parent
FORMS_ONLY = {"ptx_forms.py", "test_forms.py", Path(__file__).name}  # these say what exists, not what it does


def strings(tree: ast.AST) -> Iterator[str]:
    """The string literals of a module, its docstrings apart."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def test_every_opcode_stands_in_the_code_of_a_unit_test() -> None:
    code = [
        text
        for path in HERE.glob("*.py")
        if path.name not in FORMS_ONLY
        for text in strings(ast.parse(path.read_text()))
    ]
    # At the start of a literal, or behind what may stand before an instruction; alone (in a list), or with modifiers or operands.
    found = {word for text in code for word in re.findall(r"(?:^|[\s;{}:])([a-z]\w*)(?=[.\s;]|$)", text)}
    assert sorted(set(TABLE) - found) == []
