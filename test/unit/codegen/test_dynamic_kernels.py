"""Random kernels for dynamic sizes are right at every size, or refused with a typed error; and what a launch of them is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamic_trials import Sized, build, trial
from kernel_trials import draw_arguments
from random_programs import KINDS

from prism_mlir.codegen.compile import CompiledKernel
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.dynamic_part import check_in_part, share
from prism_mlir.compiler.execute import Emulator
from prism_mlir.graph.block import BlockGraph, BlockNode, Load
from prism_mlir.graph.dims import dim_classes
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import ExecutionError, UnsupportedError
from prism_mlir.graph.examples import swiglu
from prism_mlir.graph.extent import Extent
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import Shape, reshape, unary
from prism_mlir.graph.program import Program, ProgramInput, ProgramNode, ProgramOutput, row_major
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


def test_some_blocks_at_a_size_of_several_tiles() -> None:
    """A quarter of the columns at 100 rows, seven tiles of 16; it is compared: another program's values are not found there."""
    kernel, made = built(128, {"x": 8, "y": 4, "i": 2}, cut_rows=True), rows_of_x(128)
    assert share(kernel.launch) == 0.25
    program = made.at((100,))
    arguments = draw_arguments(program, "random", 0)
    ptx = {kernel.launch.kernels[0].ptx: kernel.ptx}
    (result,) = check_in_part(program, kernel.launch, ptx, (100,), arguments)
    assert result.ok
    nodes = tuple(replace(n, op=unary("x/(2 + exp(-x))")) if n.op.fn is not None else n for n in program.nodes)
    (other,) = check_in_part(replace(program, nodes=nodes), kernel.launch, ptx, (100,), arguments)
    assert not other.ok


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


def reshaped(shape: Shape, flat: Shape, dynamic: int) -> tuple[Sized, KernelGraph]:
    """``exp(x)`` in another shape, squared, as one kernel of one block."""
    x = ProgramInput.whole("x", shape, DType.F32, 0)
    ops = (unary("exp(x)"), reshape(*flat), unary("x**2"))
    nodes = tuple(ProgramNode(op, (k,), DType.F32) for k, op in enumerate(ops))
    program = Program("reshaped", (x,), nodes, (ProgramOutput(3, DType.F32, flat, row_major(flat)),))
    classes = dim_classes(program)
    c = classes.of[0][dynamic]
    assert c is not None
    free = classes.factors[c][0] if classes.factors[c] else c
    made = Sized(program, {k: classes.sizes[k] for k in classes.free}, (free,))
    body = (BlockNode(Load(0, True)), *(BlockNode(op, (k,)) for k, op in enumerate(ops)))
    types = program_types(made.program)
    node = CustomNode(BlockGraph((), None, types, body, (3,)), (0,), Mapping(((),), (-1,), ((),)))
    return made, KernelGraph(types, (node,), (1,))


@pytest.mark.parametrize(("shape", "flat"), [((8, 4), (32,)), ((32,), (8, 4)), ((8, 6), (8, 2, 3))])
def test_reshapes_in_which_the_dynamic_dim_is_the_slowest(shape: Shape, flat: Shape) -> None:
    made, graph = reshaped(shape, flat, 0)
    kernel = build(made, graph, Schedule.of({}, 2, 1))
    for n in (1, 3, 8):
        program = made.at((n,))
        x = np.random.default_rng(n).standard_normal(program.inputs[0].shape).astype(np.float32)
        (got,) = Emulator(kernel.launch.at((n,)), {kernel.launch.kernels[0].ptx: kernel.ptx})([x])
        exact = np.exp(2 * x.astype(np.float64)).reshape(got.shape)
        np.testing.assert_allclose(got, exact, rtol=2.0**-20)  # exp of f32, to a few units, squared


def test_reshapes_that_join_a_dynamic_dim_to_one_before_it_are_refused() -> None:
    """In a tile of 4 x 8, of which 4 x 5 exists, the elements that exist are not the first 20."""
    made, graph = reshaped((4, 8), (32,), 1)
    with pytest.raises(UnsupportedError, match="joins a dim of dynamic size to one before it"):
        build(made, graph, Schedule.of({}, 2, 1))
