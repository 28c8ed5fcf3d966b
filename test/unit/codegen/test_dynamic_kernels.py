"""Random kernels for dynamic sizes are right at every size, or refused with a typed error; and what a launch of them is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamic_trials import Sized, build, trial
from random_programs import KINDS

from prism_mlir.codegen.compile import CompiledKernel
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.execute import Emulator
from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.examples import swiglu
from prism_mlir.graph.extent import Extent
from prism_mlir.graph.kernel import CustomNode
from prism_mlir.graph.schedule import Schedule
from prism_mlir.search.limits import SearchLimits

KERNELS = 6


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_random_kernels(kind: int) -> None:
    """Kernels of random programs with one or two dynamic dims, at random schedules, at three sizes each."""
    tallies = [trial(kind + len(KINDS) * k, KERNELS) for k in (50, 51)]
    failures = [f for t in tallies for f in t.failures]
    assert not failures, "\n".join(failures)
    assert sum(t.runs for t in tallies) >= 2 * KERNELS or sum(t.unproved for t in tallies)


def rows_of_x(rows: int) -> Sized:
    program = swiglu(rows, 64, 32)
    classes = dim_classes(program)
    row = classes.of[0][0]
    assert row is not None
    return Sized(program, {c: classes.sizes[c] for c in classes.free}, (row,))


def built(rows: int, sizes: dict[str, int], *, cut_rows: bool) -> CompiledKernel:
    """The first kernel found that has the schedule's grid dims, its rows cut by ``x`` or whole."""
    made = rows_of_x(rows)
    for graph in discover(made.program, SearchLimits(operators=9, kernels=1)).proved:
        (node,) = graph.nodes
        assert isinstance(node, CustomNode)
        assert node.mapping is not None
        if set(node.block.parallel_dims) == set(sizes) and (node.mapping.imap[0][0] == 0) == cut_rows:
            return build(made, graph, Schedule.of(sizes, 2, 2))
    raise AssertionError("no such graph")


def test_as_many_blocks_as_rows_fill() -> None:
    """Tiles of 16 rows: the grid is the number of rows over 16, and code does not know the largest size."""
    small, large = (
        built(32, {"x": 2, "y": 4, "i": 2}, cut_rows=True),
        built(128, {"x": 8, "y": 4, "i": 2}, cut_rows=True),
    )
    for kernel in (small, large):
        (launch,) = kernel.launch.kernels
        assert launch.blocks == (Extent(1, (0,), 16), Extent(4), Extent(1))
    assert small.ptx == large.ptx
    assert [large.launch.at((n,)).kernels[0].grid[0] for n in (1, 16, 17, 100, 128)] == [1, 1, 2, 7, 8]


def test_a_kernel_takes_its_sizes_last() -> None:
    kernel = built(32, {"x": 2, "y": 4, "i": 2}, cut_rows=True)
    assert kernel.ptx.count(".param .u32") == 1
    assert kernel.launch.kernels[0].sizes[0].name.startswith("n")


def test_the_machine_sees_what_a_wrong_size_does() -> None:
    """Told of one row more than there is, the kernel reads and writes past the ends of buffers, and the machine says so."""
    kernel = built(32, {"x": 2, "y": 4, "i": 2}, cut_rows=True)
    info = kernel.launch.at((7,))
    (launch,) = info.kernels
    lying = replace(info, kernels=(replace(launch, sizes=tuple(replace(s, value=8) for s in launch.sizes)),))
    arguments = [np.ones(a.shape, np.float16) for a in launch.arguments if a.role.value == "input"]
    assert Emulator(info, {launch.ptx: kernel.ptx})(arguments)[0].shape == (7, 32)
    with pytest.raises(ExecutionError, match=r"bounds|outside"):
        Emulator(lying, {launch.ptx: kernel.ptx})(arguments)
