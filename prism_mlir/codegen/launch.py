"""Where the values of a kernel graph lie in global memory, and what a launch passes.

Arguments and results of the program are kernel parameters; a value that one kernel leaves for another is a workspace buffer;
constants are part of the module. Every buffer is contiguous, the views of the program are address arithmetic in the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from prism_mlir.codegen.builder import Builder
from prism_mlir.codegen.kernel_state import GlobalTensor
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.dynamic import DynamicShapes, ViewExtents
from prism_mlir.graph.errors import InputError, UnsupportedError
from prism_mlir.graph.extent import Extent, row_major_extents
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.launch_info import KernelArgument, Role
from prism_mlir.graph.ops import Shape
from prism_mlir.graph.program import Program, ProgramInput, row_major
from prism_mlir.graph.schedule import Schedule

POINTER_ALIGNMENT = 16
"""Bytes to which every buffer must be aligned; device allocations are aligned to 256."""


@dataclass(frozen=True, slots=True)
class KernelTensor:
    """A kernel value in memory.

    argument: the buffer a kernel gets as a parameter; ``None`` for a constant, whose symbol is ``constant``
    view:     the part of the buffer that the graph means (its name is given per kernel)
    """

    view: GlobalTensor
    argument: KernelArgument | None
    constant: str = ""


class TensorTable:
    """Finds the tensor of every value of a kernel graph. Raises :class:`InputError` where program and graph differ."""

    def __init__(
        self, program: Program, graph: KernelGraph, schedule: Schedule, dynamic: DynamicShapes | None = None
    ) -> None:
        self._program, self._graph, self._sizes, self._dynamic = program, graph, schedule.size_of, dynamic
        if len(graph.inputs) != len(program.inputs) or len(graph.outputs) != len(program.outputs):
            raise InputError("the graph and the program differ in their inputs or outputs")
        if any(v < len(graph.inputs) for v in graph.outputs):
            raise UnsupportedError("a program that returns one of its inputs needs no kernel")
        self._passed_on = self._intermediate_types()
        self._positions = {v: k for k, v in enumerate(sorted(self._passed_on))}

    def _intermediate_types(self) -> dict[int, DType]:
        """Element types of values that one kernel leaves for another."""
        types: dict[int, DType] = {}
        for node in self._graph.custom:
            for v, formal in zip(node.operands, node.block.inputs, strict=True):
                if v >= len(self._graph.inputs) and types.setdefault(v, formal.dtype) is not formal.dtype:
                    raise InputError(f"kernel value {v} is read as {types[v]} and as {formal.dtype}")
        return types

    @property
    def workspace(self) -> tuple[int, ...]:
        """Bytes of each workspace buffer."""
        arguments = (self._workspace(v).argument for v in self._positions)
        return tuple(a.bytes for a in arguments if a is not None)

    @property
    def constants(self) -> list[str]:
        """Module-level definitions of the program's constants that kernels read."""
        read = {v for node in self._graph.custom for v in node.operands if v < len(self._graph.inputs)}
        inputs = ((v, self._program.inputs[v]) for v in sorted(read))
        return [_define_constant(v, spec) for v, spec in inputs if spec.arg is None]

    def sources(self, node: CustomNode) -> list[KernelTensor]:
        """The tensors a kernel reads, one for each input of its block graph."""
        return [self._source(v) for v in node.operands]

    def targets(self, node: CustomNode) -> list[list[KernelTensor]]:
        """For each output of a block graph, all tensors it is stored to."""
        position = len(self._graph.inputs)
        for other in self._graph.nodes:
            if other is node:
                break
            position += len(other.block.outputs) if isinstance(other, CustomNode) else 1
        return [self._targets(position + k) for k in range(len(node.block.outputs))]

    def _source(self, value: int) -> KernelTensor:
        if value >= len(self._graph.inputs):
            return self._workspace(value)
        spec = self._program.inputs[value]
        view = _view(spec.dtype, spec.shape, spec.strides, prod(spec.arg_shape), spec.offset)
        if spec.arg is None:
            return KernelTensor(view, None, _constant_symbol(value))
        argument = _argument(Role.INPUT, spec.arg, spec.name, spec.dtype, spec.arg_shape)
        extents = None if self._dynamic is None else self._dynamic.inputs[value]
        return _at_every_size(KernelTensor(view, argument), extents)

    def _targets(self, value: int) -> list[KernelTensor]:
        found = [self._result(k) for k, v in enumerate(self._graph.outputs) if v == value]
        return found + ([self._workspace(value)] if value in self._positions else [])

    def _result(self, position: int) -> KernelTensor:
        out = self._program.outputs[position]
        view = _view(out.dtype, self._program.shapes[out.value], out.strides, prod(out.shape), out.offset)
        result = self._program.result_of(position)
        argument = _argument(Role.OUTPUT, result, out.name, out.dtype, out.shape)
        extents = None if self._dynamic is None else self._dynamic.outputs[position]
        return _at_every_size(KernelTensor(view, argument), extents)

    def _workspace(self, value: int) -> KernelTensor:
        shape, dtype = list(self._graph.shapes[value]), self._passed_on[value]
        for parallel_dim, dim in self._graph.expansions[value]:
            shape[dim] *= self._sizes.get(parallel_dim, 1)
        argument = _argument(Role.WORKSPACE, self._positions[value], f"t{value}", dtype, tuple(shape))
        made = KernelTensor(_view(dtype, argument.shape, argument.strides, prod(shape)), argument)
        return _at_every_size(made, self._workspace_extents(value))

    def _workspace_extents(self, value: int) -> ViewExtents | None:
        if self._dynamic is None:
            return None
        shape = list(self._dynamic.values[value])
        for parallel_dim, dim in self._graph.expansions[value]:
            shape[dim] = shape[dim] * Extent(self._sizes.get(parallel_dim, 1))
        return ViewExtents(tuple(shape), row_major_extents(shape), Extent(0), tuple(shape))


@dataclass(frozen=True)
class Parameters:
    """The parameters of one kernel: each buffer once, in order of first use, however many views it has; then dynamic sizes."""

    arguments: tuple[KernelArgument, ...]
    sizes: tuple[str, ...] = ()

    @staticmethod
    def of(tensors: Sequence[KernelTensor], sizes: tuple[str, ...] = ()) -> Parameters:
        found: dict[tuple[Role, int], KernelArgument] = {}
        for tensor in tensors:
            if tensor.argument is not None:
                found.setdefault((tensor.argument.role, tensor.argument.index), tensor.argument)
        return Parameters(tuple(found.values()), sizes)

    @property
    def size_values(self) -> list[str]:
        """SSA names of the dynamic sizes, ``i32``."""
        return [f"%size{k}" for k in range(len(self.sizes))]

    @property
    def formals(self) -> str:
        """The parameter list of the function."""
        buffers = [f"%arg{k}: memref<{prod(a.shape)}x{a.dtype.in_memory}>" for k, a in enumerate(self.arguments)]
        return ", ".join([*buffers, *(f"{name}: i32" for name in self.size_values)])

    def bind(self, b: Builder, tensor: KernelTensor) -> GlobalTensor:
        """The tensor's view under the name it has in the kernel."""
        if tensor.argument is None:
            return replace(tensor.view, name=b.pure(f"memref.get_global @{tensor.constant} : {tensor.view.type}"))
        places = [(a.role, a.index) for a in self.arguments]
        position = places.index((tensor.argument.role, tensor.argument.index))
        return replace(tensor.view, name=f"%arg{position}")


def _view(dtype: DType, shape: Shape, strides: tuple[int, ...], elements: int, offset: int = 0) -> GlobalTensor:
    if elements >= 2**31:
        raise UnsupportedError(f"a tensor of {elements} elements, kernels count to 2**31 - 1")
    return GlobalTensor("", dtype, shape, strides, offset, elements)


def _at_every_size(tensor: KernelTensor, extents: ViewExtents | None) -> KernelTensor:
    """The tensor with what is known of its buffer and its view at other sizes."""
    if extents is None or tensor.argument is None or not extents.dynamic:
        return tensor
    argument = replace(tensor.argument, extents=extents.whole)
    return replace(tensor, view=replace(tensor.view, extents=extents), argument=argument)


def _argument(role: Role, index: int, name: str, dtype: DType, shape: Shape) -> KernelArgument:
    return KernelArgument(role, index, name, dtype, shape, row_major(shape), POINTER_ALIGNMENT)


def _constant_symbol(value: int) -> str:
    return f"constant_{value}"


def _define_constant(value: int, spec: ProgramInput) -> str:
    assert spec.data is not None
    kind = f"memref<{prod(spec.arg_shape)}x{spec.dtype.in_memory}>"
    content = f'dense<"0x{spec.data.hex().upper()}">'
    return f'memref.global "private" constant @{_constant_symbol(value)} : {kind} = {content} {{alignment = 16 : i64}}'
