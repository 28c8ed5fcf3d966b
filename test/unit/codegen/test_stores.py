"""How results travel to global memory: 16 bytes a thread wherever rows are long and aligned enough."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from codegen_graphs import rms_norm_late

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.graph.examples import rms_norm
from prism_mlir.graph.schedule import Schedule

WIDE, PAIR, ONE = "v4.b32", "b32", "b16"


@pytest.mark.parametrize(
    ("rows", "columns", "parts", "stores"),
    [
        (8, 256, 4, {WIDE}),  # transposed: a thread holds one column of two rows
        (16, 256, 4, {WIDE}),  # a thread holds two neighbours of two rows
        (5, 256, 4, {WIDE}),
        (8, 256, 64, {"v2.b32"}),  # rows of four elements
        (8, 1004, 4, {"b16"}),  # parts of 251 elements
        (16, 1012, 4, {"b16"}),
        (8, 44, 3, {"v2.b32"}),  # rows of 44 elements in parts of 16: pieces of four are aligned, eight are not
    ],
)
def test_width_of_stores(rows: int, columns: int, parts: int, stores: set[str]) -> None:
    program = rms_norm(rows, 512, columns)
    kernel = compile_graph(program, rms_norm_late(program), Schedule((("i", 4), ("x", parts)), 2, 2))
    assert set(re.findall(r"st\.global\.([\w.]+)", kernel.ptx)) == stores


def test_a_result_stored_transposed_goes_one_by_one() -> None:
    program = rms_norm(16, 512, 256)
    turned = replace(program.outputs[0], shape=(256, 16), strides=(1, 16))
    program = replace(program, outputs=(turned,))
    kernel = compile_graph(program, rms_norm_late(program), Schedule((("i", 4), ("x", 4)), 2, 2))
    assert set(re.findall(r"st\.global\.([\w.]+)", kernel.ptx)) == {ONE}
