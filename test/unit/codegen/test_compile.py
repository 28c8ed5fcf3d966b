"""The public entry points: what they hand over, what they refuse, and that nothing but the input decides the text."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from codegen_graphs import (
    attention_late,
    rms_norm_late,
    rms_norm_late_rows,
    rms_norm_mlp_late,
    rms_norm_whole,
    swiglu_late,
    with_dtype,
)
from machine_run import random_arguments

from prism_mlir.codegen.compile import compile_graph, feasible, lower
from prism_mlir.codegen.errors import ScheduleError
from prism_mlir.codegen.external import ptxas_check
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError, PrismError, UnsupportedError
from prism_mlir.graph.examples import attention, rms_norm, rms_norm_mlp, swiglu
from prism_mlir.graph.kernel import KernelGraph, LibraryNode, program_types
from prism_mlir.graph.launch_info import LaunchInfo, Role
from prism_mlir.graph.ops import MATMUL
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule
from prism_mlir.runtime.ptx import CheckError, Module

SMALL = rms_norm(8, 256, 128)
SCHEDULE = Schedule.of({"x": 2, "i": 4}, 4, 3)


def test_launch_info() -> None:
    compiled = compile_graph(SMALL, rms_norm_late(SMALL), SCHEDULE, name="norm")
    (kernel,) = compiled.launch.kernels
    assert (kernel.entry, kernel.ptx, kernel.grid, kernel.block) == ("norm", "norm.ptx", (2, 1, 1), (128, 1, 1))
    assert kernel.shared_bytes == 3 * (8 * 64 + 64 * 64) * 2 == compiled.lowered.shared_bytes[0]
    assert [(a.role, a.index, a.dtype, a.shape, a.strides) for a in kernel.arguments] == [
        (Role.INPUT, 0, DType.F16, (8, 256), (256, 1)),
        (Role.INPUT, 1, DType.F16, (256, 128), (128, 1)),
        (Role.OUTPUT, 0, DType.F16, (8, 128), (128, 1)),
    ]
    assert all(a.alignment == 16 for a in kernel.arguments)
    assert LaunchInfo.from_dict(compiled.launch.to_dict()) == compiled.launch


def test_ptx_uses_the_hardware() -> None:
    compiled = compile_graph(SMALL, rms_norm_late(SMALL), SCHEDULE)
    for instruction in (
        "cp.async.cg.shared.global",
        "cp.async.wait_group",
        "ldmatrix.sync.aligned.m8n8.x4.trans",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "rsqrt.approx",
        ".maxntid 128, 1, 1",
    ):
        assert instruction in compiled.ptx
    assert [e.parameters for e in compiled.result.entries] == [3]


def test_the_same_input_gives_the_same_text() -> None:
    """In another process, with another hash seed, in another folder."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from codegen_graphs import rms_norm_mlp_late\n"
        "from prism_mlir.codegen.compile import lower\n"
        "from prism_mlir.graph.examples import rms_norm_mlp\n"
        "from prism_mlir.graph.schedule import Schedule\n"
        "p = rms_norm_mlp(8, 128, 64)\n"
        "print(lower(p, rms_norm_mlp_late(p), Schedule.of({'x': 2, 'i': 4}, 2, 3)).gpu_module, end='')\n"
    )
    here = str(Path(__file__).parent)
    program = rms_norm_mlp(8, 128, 64)
    expected = lower(program, rms_norm_mlp_late(program), Schedule.of({"x": 2, "i": 4}, 2, 3)).gpu_module
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": root}
    done = subprocess.run(
        [sys.executable, "-c", script, here], capture_output=True, text=True, cwd="/", env=environment, check=True
    )
    assert done.stdout == expected


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (Schedule.of({"x": 1, "i": 1}, 4, 4), "bytes of shared memory, the limit is 166912"),
        (Schedule.of({"x": 2}, 4, 2), "no positive size for parallel dim i"),
        (Schedule.of({"x": 0, "i": 4}, 4, 2), "0 blocks along x"),
        (Schedule.of({"x": 2, "i": 4}, 0, 2), "0 warps a block"),
        (Schedule.of({"x": 2, "i": 4}, 64, 2), "64 warps a block"),
        (Schedule.of({"x": 2, "i": 4}, 4, 0), "0 pipeline stages"),
        (Schedule.of({"x": 1, "i": 64}, 1, 1), "accumulators, more than 160"),
        (replace(SCHEDULE, residency=17), "17 blocks of 4 warps an SM, it holds 16"),  # 2048 / 128
        (replace(SCHEDULE, residency=-1), "-1 blocks of 4 warps an SM"),
    ],
)
def test_schedules_that_cannot_be_built(schedule: Schedule, message: str) -> None:
    program = rms_norm(64, 512, 256)
    graph = rms_norm_late(program)
    found = feasible(program, graph, schedule)
    assert isinstance(found, ScheduleError) and message in str(found)
    with pytest.raises(ScheduleError) as raised:
        lower(program, graph, schedule)
    assert str(raised.value) == str(found)


def test_a_schedule_that_can_be_built() -> None:
    assert feasible(SMALL, rms_norm_late(SMALL), SCHEDULE) is None


def test_the_least_resident_blocks_are_asked_of_the_assembler() -> None:
    """A directive of the entry, and nothing else changes (PTX ISA, ".minnctapersm")."""
    plain = compile_graph(SMALL, rms_norm_late(SMALL), SCHEDULE).ptx
    asked = compile_graph(SMALL, rms_norm_late(SMALL), replace(SCHEDULE, residency=3)).ptx
    assert ".minnctapersm" not in plain
    assert [line for line in asked.splitlines() if line not in plain.splitlines()] == [".minnctapersm 3"]


def test_too_many_blocks_along_the_second_grid_dim() -> None:
    program = rms_norm(70000, 16, 16)
    found = feasible(program, rms_norm_late_rows(program), Schedule.of({"x": 1, "y": 70000, "i": 1}, 1, 1))
    assert "70000 blocks along y, the limits are 1 and 65535" in str(found)


def test_grid_dims_are_the_launch_dims_in_order_whatever_their_names() -> None:
    graph = rms_norm_late_rows(SMALL)
    (node,) = graph.custom
    renamed = replace(graph, nodes=(replace(node, block=replace(node.block, grid=("v", "u"))),))
    compiled = compile_graph(SMALL, renamed, Schedule.of({"v": 4, "u": 2, "i": 4}, 1, 2))
    assert compiled.launch.kernels[0].grid == (4, 2, 1)


def _library(program: Program) -> KernelGraph:
    return KernelGraph(program_types(program), (LibraryNode(MATMUL, (0, 1)),), (2,))


def _symbolic(program: Program) -> KernelGraph:
    graph = rms_norm_late(program)
    return replace(graph, nodes=tuple(replace(n, mapping=None) for n in graph.custom))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (_library, UnsupportedError, "no code for library operator matmul"),
        (_symbolic, InputError, "symbolic mappings"),
        (lambda p: replace(rms_norm_late(p), outputs=(0,)), UnsupportedError, "returns one of its inputs"),
        (lambda p: replace(rms_norm_late(p), outputs=(2, 2)), InputError, "differ in their inputs or outputs"),
    ],
)
def test_graphs_that_have_no_code(build: object, error: type[PrismError], message: str) -> None:
    assert callable(build)
    with pytest.raises(error, match=message):
        lower(SMALL, build(SMALL), SCHEDULE)


def test_a_shift_that_import_dropped_is_not_forgotten() -> None:
    """exp(x) without its shift overflows where the program does not: a maximum is taken, and subtracted, in the kernel."""
    program = attention(2, 64, 32)
    nodes = (program.nodes[0], replace(program.nodes[1], shift=2), *program.nodes[2:])
    schedule = Schedule.of({"x": 2, "i": 2}, 2, 2)
    graph, with_shift = attention_late(program), replace(program, nodes=nodes)
    assert feasible(with_shift, graph, schedule) is None
    assert "maximumf" not in lower(program, graph, schedule).gpu_module
    assert "maximumf" in lower(with_shift, graph, schedule).gpu_module


def test_element_types_that_have_no_code() -> None:
    program = with_dtype(SMALL, DType.F64)
    with pytest.raises(ScheduleError, match="no code for tensors of f64"):
        lower(program, rms_norm_late(program), SCHEDULE)


def test_names_are_symbols() -> None:
    text = lower(SMALL, rms_norm_late(SMALL), SCHEDULE, name="2nd try: ünï").gpu_module
    assert "gpu.func @k2nd_try___n_(" in text


@pytest.mark.parametrize(
    ("build", "program", "sizes", "warps", "stages"),
    [
        (rms_norm_late, rms_norm(8, 4096, 4096), {"x": 64, "i": 64}, 4, 4),
        (rms_norm_late, rms_norm(16, 1024, 1024), {"x": 16, "i": 16}, 4, 3),
        (rms_norm_whole, rms_norm(16, 1024, 1024), {"x": 64}, 4, 1),
        (rms_norm_mlp_late, rms_norm_mlp(16), {"x": 16, "i": 16}, 4, 3),
        (swiglu_late, swiglu(8, 4096, 4096), {"x": 64, "i": 64}, 4, 4),
    ],
)
def test_ptxas_accepts_it_without_spills(
    build: object, program: Program, sizes: dict[str, int], warps: int, stages: int
) -> None:
    assert callable(build)
    compiled = compile_graph(program, build(program), Schedule.of(sizes, warps, stages))
    report = ptxas_check(compiled.ptx, "sm_80")
    if report is None:
        pytest.skip("ptxas was not found")
    assert report.spills == 0
    assert report.registers <= 128


def broken(ptx: str, found: str, instead: str, occurrence: int) -> str:
    pieces = ptx.split(found)
    assert len(pieces) > occurrence + 1, f"the kernel has no {found} number {occurrence}"
    return found.join(pieces[: occurrence + 1]) + instead + found.join(pieces[occurrence + 1 :])


@pytest.mark.parametrize(
    ("found", "instead", "occurrence"),
    [
        ("bar.sync \t0;", "", 0),
        ("bar.sync \t0;", "", 1),
        ("cp.async.wait_group \t1;", "cp.async.wait_group \t2;", 0),
    ],
)
def test_the_machine_would_notice_a_missing_barrier_or_wait(found: str, instead: str, occurrence: int) -> None:
    """The clean runs of the other tests mean something: the same kernel with one line weakened is refused."""
    compiled = compile_graph(SMALL, rms_norm_late(SMALL), SCHEDULE)
    ptx = broken(compiled.ptx, found, instead, occurrence)
    (kernel,) = compiled.launch.kernels
    x, w = random_arguments(SMALL)
    out = random_arguments(rms_norm(8, 128, 128))[0]
    with pytest.raises(CheckError):
        Module.load(ptx).kernel(kernel.entry).run(
            grid=kernel.grid, block=kernel.block, args=[x, w, out], outputs={2}, shared_bytes=kernel.shared_bytes
        )
