"""From a scheduled kernel graph to a ``gpu.module``, and on to PTX.

Every graph-defined operator becomes one kernel. Kernels of one graph follow each other; what one leaves for the next lies in a
workspace buffer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from prism_mlir.codegen.builder import Builder
from prism_mlir.codegen.dynamic import DynamicLengths
from prism_mlir.codegen.elementwise import Arithmetic
from prism_mlir.codegen.errors import ScheduleError
from prism_mlir.codegen.kernel_state import DYNAMIC_SHARED, KernelState
from prism_mlir.codegen.launch import Parameters, TensorTable
from prism_mlir.codegen.layout import Threads, spread_of
from prism_mlir.codegen.lower_block import BlockLowering
from prism_mlir.codegen.matmul import check_registers
from prism_mlir.codegen.memory_plan import MemoryPlan, plan_memory
from prism_mlir.codegen.ptx import PtxResult, gpu_module_to_ptx
from prism_mlir.graph.code_graph import code_graph
from prism_mlir.graph.dynamic import DynamicShapes
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.graph.footprint import REDUCING_WARPS, TENSOR_TYPES, Placement, place
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.launch_info import KernelLaunch, LaunchInfo, SizeArgument
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule

_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_WARPS, _MAX_STAGES = 32, 8
_MAX_RESIDENCY, _THREADS_PER_SM = 32, 2048  # of an SM of sm_80 (programming guide, "compute capabilities")


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """A graph as a module in upstream dialects, one ``gpu.func`` a kernel, and how to launch them.

    The launch info names one PTX file, ``<entry>.ptx``, for all kernels.
    """

    gpu_module: str
    launch: LaunchInfo

    @property
    def shared_bytes(self) -> tuple[int, ...]:
        """Bytes of shared memory a block of each kernel needs. All of it is dynamic: asked for at launch."""
        return tuple(k.shared_bytes for k in self.launch.kernels)


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A graph as PTX text, with everything that came before it."""

    lowered: LoweredKernel
    result: PtxResult

    @property
    def ptx(self) -> str:
        return self.result.ptx

    @property
    def launch(self) -> LaunchInfo:
        return self.lowered.launch


def lower(
    program: Program,
    graph: KernelGraph,
    schedule: Schedule,
    *,
    name: str | None = None,
    dynamic: DynamicShapes | None = None,
) -> LoweredKernel:
    """Emit the kernels of a graph with concrete mappings at the schedule's sizes. The text depends on nothing else.

    name:    names the module and its kernels; by default the program does
    dynamic: which dims have a size that is known at launch, and is at most the program's

    Raises :class:`ScheduleError` where the graph cannot be built with this schedule,
    :class:`~prism_mlir.graph.errors.UnsupportedError` where it cannot be built at all, and
    :class:`~prism_mlir.graph.errors.InputError` where it is no graph of the program or has symbolic mappings.
    """
    graph.check()
    _check_schedule(schedule)
    graph = code_graph(program, graph)
    entry = _identifier(name or program.name)
    tensors = TensorTable(program, graph, schedule, dynamic)
    lines, launches = [*tensors.constants, DYNAMIC_SHARED], []
    for k, node in enumerate(_custom_nodes(graph)):
        own = entry if len(graph.nodes) == 1 else f"{entry}_{k}"
        lengths = None if dynamic is None else DynamicLengths(dynamic, k, node)
        text, launch = _lower_node(tensors, node, schedule, (own, f"{entry}.ptx"), lengths)
        lines.append(text)
        launches.append(launch)
    body = "\n".join(f"  {line}" for line in lines)
    module = f"module attributes {{gpu.container_module}} {{\ngpu.module @{entry} {{\n{body}\n}}\n}}\n"
    return LoweredKernel(module, LaunchInfo(tuple(launches), tensors.workspace))


def compile_graph(
    program: Program,
    graph: KernelGraph,
    schedule: Schedule,
    target: str = "sm_80",
    *,
    name: str | None = None,
    dynamic: DynamicShapes | None = None,
) -> CompiledKernel:
    """PTX for a graph. Raises what :func:`lower` and :func:`~prism_mlir.codegen.ptx.gpu_module_to_ptx` raise."""
    lowered = lower(program, graph, schedule, name=name, dynamic=dynamic)
    return CompiledKernel(lowered, gpu_module_to_ptx(lowered.gpu_module, target, f"{name or program.name}.mlir"))


def feasible(program: Program, graph: KernelGraph, schedule: Schedule) -> ScheduleError | None:
    """Why a schedule cannot be built, or ``None``. Generates no code.

    Raises the errors of :func:`lower` that no other schedule would avoid.
    """
    graph = code_graph(program, graph)
    try:
        _check_schedule(schedule)
        tensors = TensorTable(program, graph, schedule)
        for node in _custom_nodes(graph):
            placement, _ = _place(tensors, node, schedule)
            held = placement.held.items()
            check_registers(spread_of(product, placement.tiles[k], schedule.warps) for k, product in held)
    except ScheduleError as error:
        return error
    return None


def _identifier(name: str) -> str:
    """A name that is a symbol in MLIR and in PTX."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)[:100]  # it names files as well
    return plain if plain[:1].isalpha() else f"k{plain}"


def _check_schedule(schedule: Schedule) -> None:
    if not 1 <= schedule.warps <= _MAX_WARPS:
        raise ScheduleError(f"{schedule.warps} warps a block, the limits are 1 and {_MAX_WARPS}")
    if not 1 <= schedule.stages <= _MAX_STAGES:
        raise ScheduleError(f"{schedule.stages} pipeline stages, the limits are 1 and {_MAX_STAGES}")
    most = min(_MAX_RESIDENCY, _THREADS_PER_SM // (schedule.warps * 32))
    if not 0 <= schedule.residency <= most:
        raise ScheduleError(f"{schedule.residency} blocks of {schedule.warps} warps an SM, it holds {most}")


def _custom_nodes(graph: KernelGraph) -> Iterator[CustomNode]:
    for node in graph.nodes:
        if not isinstance(node, CustomNode):
            raise UnsupportedError(f"no code for library operator {node.op}", None, "use graph-defined operators only")
        if node.mapping is None:
            raise InputError("the graph still has symbolic mappings; instantiate them first")
        yield node


def _place(tensors: TensorTable, node: CustomNode, schedule: Schedule) -> tuple[Placement, MemoryPlan]:
    """Everything about a kernel that shapes decide."""
    _grid(node, schedule)
    assert node.mapping is not None
    strides = [t.view.strides for t in tensors.sources(node)]
    placement = place(node.block, node.mapping, schedule.size_of, schedule.stages, strides, schedule.orientation)
    sharing = placement.sharing_warps(schedule.warps)
    if sharing > REDUCING_WARPS:
        raise ScheduleError(f"{sharing} warps share rows of a tile that is reduced, more than {REDUCING_WARPS}")
    return placement, plan_memory(placement)


def _grid(node: CustomNode, schedule: Schedule) -> tuple[int, int, int]:
    """Blocks along the launch's x, y and z: the graph's grid dims in their order, whatever their names."""
    names = node.block.grid
    if len(names) > len(_MAX_GRID):
        raise InputError(f"a kernel with {len(names)} grid dims, a launch has {len(_MAX_GRID)}")
    grid = [schedule.size_of.get(name, 0) for name in names]
    for name, size, limit in zip(names, grid, _MAX_GRID, strict=False):
        if not 1 <= size <= limit:
            raise ScheduleError(f"{size} blocks along {name}, the limits are 1 and {limit}")
    x, y, z = (*grid, 1, 1, 1)[:3]
    return (x, y, z)


def _lower_node(
    tensors: TensorTable,
    node: CustomNode,
    schedule: Schedule,
    names: tuple[str, str],
    dynamic: DynamicLengths | None = None,
) -> tuple[str, KernelLaunch]:
    """One kernel: its function and its launch. names: of the entry and of the file."""
    placement, memory = _place(tensors, node, schedule)
    assert node.mapping is not None
    sources, targets = tensors.sources(node), tensors.targets(node)
    sizes = () if dynamic is None else dynamic.shapes.names
    parameters = Parameters.of([*sources, *(t for row in targets for t in row)], sizes)
    builder, warps = Builder(), schedule.warps
    state = KernelState(
        b=builder,
        threads=Threads.read(builder, warps * 32),
        block=node.block,
        placement=placement,
        memory=memory,
        math=Arithmetic(builder, fast=all(t.view.dtype in TENSOR_TYPES for row in targets for t in row)),
        sizes=schedule.size_of,
        inputs=[parameters.bind(builder, t) for t in sources],
        dynamic={} if dynamic is None else dynamic.of_nodes,
        size_values=parameters.size_values,
    )
    if dynamic is not None:
        state.turns = dynamic.turns(placement, schedule.size_of)
    places = [[parameters.bind(builder, t) for t in row] for row in targets]
    mapping, lowering = node.mapping, BlockLowering(state, schedule.stages)
    idle = dynamic is not None and dynamic.may_be_idle(placement, schedule.size_of)
    builder.when(state.stores_something() if idle else True, lambda: lowering.run(mapping, places))
    grid, block = _grid(node, schedule), (warps * 32, 1, 1)
    blocks = None if dynamic is None else dynamic.grid(placement, schedule.size_of)
    known = _known(schedule, None if blocks else grid)
    text = f"gpu.func @{names[0]}({parameters.formals}) kernel attributes {{{known}}} {{\n{builder.text}\n    gpu.return\n  }}"
    launch = KernelLaunch(*names, grid, block, memory.total, parameters.arguments)
    return text, replace(launch, blocks=blocks, sizes=tuple(SizeArgument(k, n) for k, n in enumerate(sizes)))


def _known(schedule: Schedule, grid: tuple[int, ...] | None) -> str:
    """What the compilers after this one may rely on, as attributes of the function."""
    known = f"known_block_size = array<i32: {schedule.warps * 32}, 1, 1>"
    if grid is not None:
        known += f", known_grid_size = array<i32: {', '.join(map(str, grid))}>"
    return known + (f", nvvm.minctasm = {schedule.residency} : i32" if schedule.residency else "")
