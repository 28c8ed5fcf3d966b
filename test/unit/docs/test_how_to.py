"""The program that the how-to writes is one that the importer reads."""

from __future__ import annotations

import re
from pathlib import Path

from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.upstream import read_module

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "compile-a-program.md"


def test_the_example_imports_as_the_page_says() -> None:
    (source,) = re.findall(r"^```mlir\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    program = import_module(read_module(source, "gated.mlir"))
    assert [str(node.op) for node in program.nodes] == ["matmul", "unary[x/(1 + exp(-x))]"]
    assert program.shapes[-1] == (8, 512)
