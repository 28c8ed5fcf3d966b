"""From a scheduled kernel graph to a ``gpu.module``, and on to PTX.

Every graph-defined operator becomes one kernel. Kernels of one graph follow each other; what one leaves for the next lies in a
workspace buffer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from prism_mlir.codegen.builder import Builder
from prism_mlir.codegen.elementwise import Arithmetic
from prism_mlir.codegen.errors import ScheduleError
from prism_mlir.codegen.kernel_state import DYNAMIC_GLOBAL, GlobalTensor, KernelState, shared_attribution
from prism_mlir.codegen.launch import Argument, KernelLaunch, LaunchInfo
from prism_mlir.codegen.layout import Threads, spread_of
from prism_mlir.codegen.lower_block import BlockLowering
from prism_mlir.codegen.matmul import check_registers
from prism_mlir.codegen.memory_plan import MemoryPlan, plan_memory
from prism_mlir.codegen.ptx import PtxResult, gpu_module_to_ptx
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.graph.footprint import TENSOR_TYPES, Placement, place
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.ops import Shape
from prism_mlir.graph.program import Program, row_major
from prism_mlir.graph.schedule import Schedule
from prism_mlir.graph.symbols import GRID_NAMES

_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_WARPS, _MAX_STAGES = 32, 8


@dataclass(frozen=True, slots=True)
class LoweredKernel:
    """A graph as a module in upstream dialects, one ``gpu.func`` a kernel.

    shared_bytes: of each kernel
    """

    gpu_module: str
    launch: LaunchInfo
    shared_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A graph as PTX text, with everything that came before it."""

    ptx: str
    launch: LaunchInfo
    lowered: LoweredKernel
    result: PtxResult


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A kernel value in memory: the buffer a kernel gets, and the view of it that the graph means."""

    argument: Argument
    view: GlobalTensor


def lower(program: Program, graph: KernelGraph, schedule: Schedule, *, name: str | None = None) -> LoweredKernel:
    """Emit the kernels of a graph with concrete mappings at the schedule's sizes. The text depends on nothing else.

    Raises :class:`ScheduleError` where the graph cannot be built with this schedule, and
    :class:`~prism_mlir.graph.errors.UnsupportedError` where it cannot be built at all.
    """
    graph.check()
    _check_schedule(schedule)
    entry = re.sub(r"\W", "_", name or program.name) or "kernel"
    entry = entry if not entry[0].isdigit() else f"k{entry}"
    tensors = _Tensors(program, graph)
    functions: list[str] = []
    launches: list[KernelLaunch] = []
    for k, node in enumerate(_custom_nodes(graph)):
        own = entry if len(graph.nodes) == 1 else f"{entry}_{k}"
        text, launch = _lower_node(tensors, node, schedule, own)
        functions.append(text)
        launches.append(launch)
    if any(launch.dynamic_shared for launch in launches):
        functions.insert(0, f"  {DYNAMIC_GLOBAL}")
    body = "\n".join(functions)
    module = f"module attributes {{gpu.container_module}} {{\ngpu.module @{entry} {{\n{body}\n}}\n}}\n"
    sizes = tuple(launch.static_shared + launch.dynamic_shared for launch in launches)
    return LoweredKernel(module, LaunchInfo(tuple(launches), tensors.workspace).with_ptx(f"{entry}.ptx"), sizes)


def compile_graph(
    program: Program, graph: KernelGraph, schedule: Schedule, target: str = "sm_80", *, name: str | None = None
) -> CompiledKernel:
    """PTX for a graph. Raises what :func:`lower` and :func:`~prism_mlir.codegen.ptx.gpu_module_to_ptx` raise."""
    lowered = lower(program, graph, schedule, name=name)
    result = gpu_module_to_ptx(lowered.gpu_module, target)
    return CompiledKernel(result.ptx, lowered.launch, lowered, result)


def feasible(program: Program, graph: KernelGraph, schedule: Schedule) -> ScheduleError | None:
    """Why a schedule cannot be built, or ``None``. Needs no code generation."""
    try:
        _check_schedule(schedule)
        tensors = _Tensors(program, graph)
        for node in _custom_nodes(graph):
            placement, _ = _place(tensors, node, schedule)
            for held, product in placement.held.items():
                check_registers(spread_of(product, placement.tiles[held], schedule.warps))
    except ScheduleError as error:
        return error
    return None


def _check_schedule(schedule: Schedule) -> None:
    if not 1 <= schedule.warps <= _MAX_WARPS:
        raise ScheduleError(f"{schedule.warps} warps a block, the limit is {_MAX_WARPS}")
    if not 1 <= schedule.stages <= _MAX_STAGES:
        raise ScheduleError(f"{schedule.stages} pipeline stages, the limit is {_MAX_STAGES}")


def _custom_nodes(graph: KernelGraph) -> Iterator[CustomNode]:
    for node in graph.nodes:
        if not isinstance(node, CustomNode):
            raise UnsupportedError(f"no code for library operator {node.op}", None, "use graph-defined operators only")
        if node.mapping is None:
            raise InputError("the graph still has symbolic mappings; instantiate them first")
        yield node


class _Tensors:
    """Where every value of a kernel graph lies in global memory."""

    def __init__(self, program: Program, graph: KernelGraph) -> None:
        self.program, self.graph = program, graph
        if len(graph.inputs) != len(program.inputs) or len(graph.outputs) != len(program.outputs):
            raise InputError("the graph and the program differ in their inputs or outputs")
        if any(v < len(graph.inputs) for v in graph.outputs):
            raise UnsupportedError("a program that returns one of its inputs needs no kernel")
        self._between = self._intermediate_types()
        self._places = {v: k for k, v in enumerate(sorted(self._between))}

    def _intermediate_types(self) -> dict[int, DType]:
        """Element types of values that one kernel leaves for another."""
        types: dict[int, DType] = {}
        for node in self.graph.custom:
            for v, formal in zip(node.operands, node.block.inputs, strict=True):
                if v >= len(self.graph.inputs) and types.setdefault(v, formal.dtype) is not formal.dtype:
                    raise InputError(f"kernel value {v} is read as {types[v]} and as {formal.dtype}")
        return types

    @property
    def workspace(self) -> tuple[Argument, ...]:
        return tuple(self._workspace(v).argument for v in self._places)

    def source(self, value: int) -> _Tensor:
        """The tensor a kernel reads."""
        if value >= len(self.graph.inputs):
            return self._workspace(value)
        spec = self.program.inputs[value]
        role, index = ("constant", value) if spec.arg is None else ("input", spec.arg)
        argument = Argument(
            role, index, spec.name, spec.dtype, spec.arg_shape, row_major(spec.arg_shape), data=spec.data
        )
        return _tensor(argument, spec.shape, spec.strides, spec.offset)

    def targets(self, value: int) -> list[_Tensor]:
        """All tensors that a value is stored to."""
        found = [self._result(k) for k, v in enumerate(self.graph.outputs) if v == value]
        return found + ([self._workspace(value)] if value in self._places else [])

    def _result(self, position: int) -> _Tensor:
        out = self.program.outputs[position]
        argument = Argument("output", position, out.name, out.dtype, out.shape, row_major(out.shape))
        return _tensor(argument, self.program.shapes[out.value], out.strides, 0)

    def _workspace(self, value: int) -> _Tensor:
        shape = self.graph.shapes[value]
        argument = Argument(
            "workspace", self._places[value], f"t{value}", self._between[value], shape, row_major(shape)
        )
        return _tensor(argument, shape, row_major(shape), 0)


def _tensor(argument: Argument, shape: Shape, strides: tuple[int, ...], offset: int) -> _Tensor:
    elements = prod(argument.shape)
    if elements >= 2**31:
        raise UnsupportedError(f"tensor {argument.name} has {elements} elements, more than 2**31 - 1")
    return _Tensor(argument, GlobalTensor("", argument.dtype, shape, strides, offset, elements))


def _place(tensors: _Tensors, node: CustomNode, schedule: Schedule) -> tuple[Placement, MemoryPlan]:
    """Everything about a kernel that shapes decide."""
    _grid(node, schedule)
    assert node.mapping is not None
    strides = [tensors.source(v).view.strides for v in node.operands]
    placement = place(node.block, node.mapping, schedule.size_of, schedule.stages, strides)
    return placement, plan_memory(placement)


def _grid(node: CustomNode, schedule: Schedule) -> tuple[int, int, int]:
    unknown = [g for g in node.block.grid if g not in GRID_NAMES]
    if unknown:
        raise InputError(f"grid dim {unknown[0]} is none of {', '.join(GRID_NAMES)}")
    grid = [schedule.size_of.get(name, 0) if name in node.block.grid else 1 for name in GRID_NAMES]
    for name, size, limit in zip(GRID_NAMES, grid, _MAX_GRID, strict=True):
        if not 1 <= size <= limit:
            raise ScheduleError(f"{size} blocks along {name}, the limits are 1 and {limit}")
    return (grid[0], grid[1], grid[2])


def _lower_node(tensors: _Tensors, node: CustomNode, schedule: Schedule, entry: str) -> tuple[str, KernelLaunch]:
    placement, memory = _place(tensors, node, schedule)
    assert node.mapping is not None
    first = len(tensors.graph.inputs) + sum(
        len(n.block.outputs) for n in tensors.graph.custom if tensors.graph.nodes.index(n) < tensors.graph.nodes.index(node)
    )
    sources = [tensors.source(v) for v in node.operands]
    targets = [tensors.targets(first + k) for k in range(len(node.block.outputs))]
    names = _parameters([*sources, *(t for row in targets for t in row)])
    results = [t.argument.dtype for row in targets for t in row]
    builder = Builder()
    threads = Threads.read(builder, schedule.warps * 32)
    state = KernelState(
        b=builder,
        threads=threads,
        block=node.block,
        placement=placement,
        memory=memory,
        math=Arithmetic(builder, fast=all(t in TENSOR_TYPES for t in results)),
        sizes=schedule.size_of,
        inputs=[_named(t, names) for t in sources],
    )
    BlockLowering(state, schedule.stages).run(node.mapping, [[_named(t, names) for t in row] for row in targets])
    grid, block = _grid(node, schedule), (schedule.warps * 32, 1, 1)
    text = _function(entry, names, memory, builder.text, grid, block)
    launch = KernelLaunch(entry, "", grid, block, memory.static_bytes, memory.dynamic_bytes, tuple(names))
    return text, launch


def _parameters(tensors: list[_Tensor]) -> dict[Argument, str]:
    """Each buffer once, in order of first use, with its SSA name."""
    distinct = dict.fromkeys(t.argument for t in tensors)
    return {argument: f"%arg{k}" for k, argument in enumerate(distinct)}


def _named(tensor: _Tensor, names: dict[Argument, str]) -> GlobalTensor:
    view = tensor.view
    return GlobalTensor(names[tensor.argument], view.dtype, view.shape, view.strides, view.offset, view.elements)


def _function(
    entry: str,
    names: dict[Argument, str],
    memory: MemoryPlan,
    body: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
) -> str:
    parameters = ", ".join(f"{n}: memref<{prod(a.shape)}x{a.dtype}>" for a, n in names.items())
    known = f"known_block_size = array<i32: {', '.join(map(str, block))}>"
    known += f", known_grid_size = array<i32: {', '.join(map(str, grid))}>"
    return (
        f"  gpu.func @{entry}({parameters}){shared_attribution(memory)} kernel attributes {{{known}}} {{\n"
        f"{body}\n    gpu.return\n  }}"
    )
