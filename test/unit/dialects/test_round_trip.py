"""Every op in every syntax: test/dialects/ops.mlir and the figures, printed and read until nothing changes."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.printer import Printer

from prism_mlir.dialects.sgraph import SGRAPH
from prism_mlir.frontend.upstream import read_module
from prism_mlir.passes.located import verify_module
from prism_mlir.tools.module_reader import read_ir

FOLDER = Path(__file__).parents[2] / "dialects"
FILES = ["ops.mlir", "figure-1b.mlir", "figure-1c.mlir"]


def read(text: str) -> ModuleOp:
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    context.load_dialect(SGRAPH)
    module = read_ir(text, "f.mlir", context)
    verify_module(module)
    return module


def printed(module: ModuleOp, *, generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize("name", FILES)
def test_text_settles(name: str) -> None:
    first = read((FOLDER / name).read_text())
    custom, generic = printed(first, generic=False), printed(first, generic=True)
    assert printed(read(custom), generic=False) == custom
    again = read(generic)  # through upstream's parser and printer
    assert again.is_structurally_equivalent(first)
    assert printed(read(printed(again, generic=True)), generic=True) == printed(again, generic=True)


@pytest.mark.parametrize("name", FILES)
def test_upstream_changes_nothing(name: str) -> None:
    first = read((FOLDER / name).read_text())
    upstream = read_module(printed(first, generic=True), normalise=False).text
    assert read(upstream).is_structurally_equivalent(first)


def test_the_file_holds_every_op_and_attribute() -> None:
    module = read((FOLDER / "ops.mlir").read_text())
    assert {op.name for op in SGRAPH.operations} <= {op.name for op in module.walk()}
    text = printed(module, generic=True)
    for attribute in SGRAPH.attributes:
        if attribute.name != "sgraph.dim":  # a part of a tile's type, spelt inside it
            assert attribute.name in text
