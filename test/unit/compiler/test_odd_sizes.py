"""Sizes that no tile divides: schedules with a ragged last tile are tried, chosen and right, from one element to thousands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from prism_mlir.compiler.accuracy import references
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.input_sets import input_sets
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.select import select
from prism_mlir.graph.dtypes import to_float64
from prism_mlir.graph.examples import attention, rms_norm, swiglu
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits


def softmax_attention(batch: int, length: int, head: int, queries: int) -> Program:
    program = attention(batch, length, head, queries)
    nodes = [replace(n, shift=2) if n.op.fn is not None else n for n in program.nodes]
    return replace(program, nodes=tuple(nodes))


# program, and whether some dim must be cut into unequal parts for a good schedule
CASES: dict[str, tuple[Callable[[], Program], bool]] = {
    "one element": (lambda: rms_norm(1, 1, 1), False),
    "one column": (lambda: rms_norm(3, 40, 1), False),
    "7 x 13": (lambda: rms_norm(7, 13, 11), False),
    "13 x 1000": (lambda: rms_norm(13, 1000, 56), True),
    "16 x 1336": (lambda: rms_norm(16, 1336, 40), True),
    "1 x 4097": (lambda: rms_norm(1, 4097, 17), True),
    "gated, 5 x 333": (lambda: swiglu(5, 333, 129), True),
    "attention, 1 query, 77 keys": (lambda: softmax_attention(3, 77, 24, 1), False),
    "attention, 13 queries, 1000 keys": (lambda: softmax_attention(1, 1000, 40, 13), True),
}


@pytest.mark.parametrize("name", CASES)
def test_the_chosen_kernel_is_right(name: str) -> None:
    make, ragged = CASES[name]
    program = make()
    selection = select(program, discover(program, SearchLimits(grid_dims=2)).proved, CompileOptions(samples=200))
    schedule = selection.ranked.scheduled.schedule
    run = Emulator(selection.kernel.launch, {selection.kernel.launch.kernels[0].ptx: selection.kernel.ptx})
    for inputs in input_sets(program):
        if inputs.name not in ("random", "large"):
            continue
        (reference,), (got,) = references(program, inputs.arguments), run(inputs.arguments)
        value = to_float64(got, program.outputs[0].dtype)
        with np.errstate(over="ignore"):
            finite = np.isfinite(reference.exact.astype(np.float16))
        assert (np.abs(value - reference.exact) <= reference.bound)[finite].all(), inputs.name
    parts = [size for _, size in schedule.sizes if size > 1]
    assert not ragged or parts, "one block does it all"
