"""The input module with kernels in it: ``gpu.binary`` operations, and ``gpu.launch_func`` in the place of the function's body.

The result is in upstream dialects only, so any compiler on MLIR takes it. The function keeps its name, and everything else in
the module stays as it was. Its calling convention is one of two, see :class:`~prism_mlir.compiler.options.HostSignature`::

    func.func @f(%arg0: tensor<8x16xf16>) -> tensor<8x32xf16>          // tensor: host memory, copied to the device and back
    func.func @f(%arg0: memref<8x16xf16>, %arg1: memref<8x32xf16>)     // memref: device memory, results last

Kernels take one pointer for each buffer. The pointers are made explicit, as ``i64``, and so arrive alike whether or not launches
are lowered with ``use-bare-pointers-for-kernels`` (a memref would become a pointer only with it, and a whole descriptor without).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prism_mlir.compiler.options import CompileOptions, HostSignature, WorkspacePlace
from prism_mlir.frontend.upstream import (
    UpstreamModule,
    check_names,
    choose_function,
    input_error,
    named_ops,
    string_literal,
    symbol_name,
)
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.launch_info import KernelLaunch, LaunchInfo, Role

if TYPE_CHECKING:
    from mlir import ir

JIT_LEVEL = 4
"""How much the driver optimises PTX when it loads it; its own default. Upstream says 2 where a ``gpu.object`` is silent."""

HostBuffer = tuple[Role, int]


@dataclass(frozen=True, slots=True)
class KernelBinary:
    """What one ``gpu.binary`` holds.

    arch:        such as ``sm_80``
    ptx_version: ``(major, minor)``, of the PTX text
    cubin:       machine code for ``arch``, where ptxas was found
    """

    ptx: str
    arch: str
    ptx_version: tuple[int, int]
    cubin: bytes | None = None


def check_host(source: UpstreamModule, options: CompileOptions) -> None:
    """Refuse names that LLVM does not take, tensors with an encoding, and a changed signature for a function that is called.

    Raises :class:`~prism_mlir.graph.errors.InputError` or :class:`UnsupportedError`, before the search has spent any time.
    """
    from mlir import ir

    check_names(source)
    function, name = choose_function(source, options.function)
    kind = function_type(function)
    for tensor in (*kind.inputs, *kind.results):
        if isinstance(tensor, ir.RankedTensorType) and tensor.encoding is not None:
            raise UnsupportedError(f"{tensor} in a signature", source.locate(function), "remove the encoding")
    if options.host is HostSignature.TENSOR and options.workspace is WorkspacePlace.ALLOC:
        return
    user = _user(source.module, name)
    if user is not None:
        raise UnsupportedError(
            f"the module uses @{name}, whose arguments the host function changes",
            source.locate(user),
            "keep them (--host tensor --workspace alloc)",
        )


def host_module(
    source: UpstreamModule, launch: LaunchInfo, binaries: Mapping[str, KernelBinary], options: CompileOptions
) -> str:
    """The text of the source module with the function's body replaced by launches.

    source:   the module as it was written, not normalised; it is changed
    launch:   all kernels, in order
    binaries: PTX file that ``launch`` names -> what to put in a ``gpu.binary``

    Raises :class:`~prism_mlir.graph.errors.InputError` where the module does not verify with the function's new arguments.
    The module must have passed :func:`check_host`.
    """
    from mlir import ir

    function, name = choose_function(source, options.function)
    module = source.module
    taken = set(named_ops(module))
    symbols = {ptx: fresh_symbol(f"{ptx.removesuffix('.ptx')}_binary", taken) for ptx in binaries}
    kind = function_type(function)
    types = {
        **{(Role.INPUT, k): memref_of(t) for k, t in enumerate(kind.inputs)},
        **{(Role.OUTPUT, k): memref_of(t) for k, t in enumerate(kind.results)},
        **{(Role.WORKSPACE, k): f"memref<{size}xi8>" for k, size in enumerate(launch.workspace)},
    }
    writer = HostFunction(types, options.host, options.workspace)
    text = "\n".join(
        [
            "module attributes {gpu.container_module} {",
            *(gpu_binary(symbols[ptx], binary) for ptx, binary in binaries.items()),
            *writer.text(launch.kernels, symbols),
            "}",
        ]
    )
    made = ir.Module.parse(text, module.context)
    put_in_place(function, name, [op.operation for op in made.body])
    module.attributes["gpu.container_module"] = ir.UnitAttr.get(module.context)
    try:
        module.verify()
    except ir.MLIRError as error:  # what uses the function in a way that _user does not know
        raise input_error(error, source.filename, "keep its arguments (--host tensor --workspace alloc)") from None
    printed: str = module.get_asm()
    return printed.rstrip("\n") + "\n"


@dataclass
class HostFunction:
    """Writes the function: buffers, pointers, launches, results, on one stream."""

    types: Mapping[HostBuffer, str]
    signature: HostSignature
    workspace: WorkspacePlace
    lines: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    tokens: int = 0
    name: str = "@host"

    def text(self, kernels: Sequence[KernelLaunch], symbols: Mapping[str, str]) -> list[str]:
        """Lines of a ``func.func``. symbols: PTX file -> ``gpu.binary``."""
        tensors = self.signature is HostSignature.TENSOR
        used = list(dict.fromkeys((a.role, a.index) for k in kernels for a in k.arguments))
        owned = [b for b in used if not self._is_argument(b)]
        results = [b for b in self.types if b[0] is Role.OUTPUT] if tensors else []
        self.lines.append(f"{self._token()} = gpu.wait async")
        for buffer in owned:
            self._allocate(buffer)
        for buffer in used:
            self._pointer(buffer)
        for kernel in kernels:
            self._launch(kernel, symbols[kernel.ptx])
        for buffer in results:
            self._copy_out(buffer)
        for buffer in owned:
            self._chain(f"gpu.dealloc async [{{token}}] {device_name(buffer)} : {self.types[buffer]}")
        self.lines.append(f"gpu.wait [%stream{self.tokens - 1}]")
        return [self._head(), *self.prologue(), *self.constants, *self.lines, *self._return(results), "}"]

    def _head(self) -> str:
        """Name and types: arguments, then results and workspace where the caller gives them."""
        formals, results = [], []
        for buffer, kind in self.types.items():
            if self._is_argument(buffer):
                formals.append(f"{device_name(buffer)}: {kind}")
            elif buffer[0] is Role.INPUT:
                formals.append(f"{value_name(buffer)}: {tensor_of(kind)}")
            elif buffer[0] is Role.OUTPUT:
                results.append(tensor_of(kind))
        return f"func.func {self.name}({', '.join(formals)}) -> ({', '.join(results)}) {{"

    # What dynamic sizes change

    def prologue(self) -> list[str]:
        """Lines before all others."""
        return []

    def dims(self, buffer: HostBuffer) -> str:
        """What an allocation of a buffer is given for each ``?`` of its type."""
        return ""

    def grid(self, kernel: KernelLaunch) -> list[str]:
        """Blocks along x, y and z, as ``index`` values."""
        return [self.constant(n, "index") for n in kernel.grid]

    def scalars(self, kernel: KernelLaunch) -> list[str]:
        """What a kernel is given after its buffers, with types."""
        return []

    def _return(self, results: Sequence[HostBuffer]) -> list[str]:
        lines = []
        for buffer in results:
            kind = self.types[buffer]
            types = f"{kind} to {tensor_of(kind)}"
            lines.append(f"{value_name(buffer)} = bufferization.to_tensor {_host(buffer)} restrict writable : {types}")
        values, types = ", ".join(map(value_name, results)), ", ".join(tensor_of(self.types[b]) for b in results)
        return [*lines, f"func.return {values} : {types}" if results else "func.return"]

    def _is_argument(self, buffer: HostBuffer) -> bool:
        """Whether the caller gives the device memory."""
        if buffer[0] is Role.WORKSPACE:
            return self.workspace is WorkspacePlace.ARGUMENT
        return self.signature is HostSignature.MEMREF

    def _allocate(self, buffer: HostBuffer) -> None:
        """Device memory; that of an argument holds what the argument holds."""
        kind, device, host = self.types[buffer], device_name(buffer), _host(buffer)
        self._chain(f"gpu.alloc async [{{token}}] ({self.dims(buffer)}) : {kind}", device)
        if buffer[0] is Role.INPUT:
            types = f"{tensor_of(kind)} to {kind}"
            self.lines.append(f"{host} = bufferization.to_buffer {value_name(buffer)} read_only : {types}")
            self._chain(f"gpu.memcpy async [{{token}}] {device}, {host} : {kind}, {kind}")

    def _pointer(self, buffer: HostBuffer) -> None:
        device = device_name(buffer)
        self.lines.append(
            f"{device}_index = memref.extract_aligned_pointer_as_index {device} : {self.types[buffer]} -> index"
        )
        self.lines.append(f"{device}_pointer = arith.index_cast {device}_index : index to i64")

    def _launch(self, kernel: KernelLaunch, symbol: str) -> None:
        grid, block = self.grid(kernel), [self.constant(n, "index") for n in kernel.block]
        shared = self.constant(kernel.shared_bytes, "i32")
        pointers = [f"{device_name((a.role, a.index))}_pointer : i64" for a in kernel.arguments]
        given = ", ".join([*pointers, *self.scalars(kernel)])
        self._chain(
            f"gpu.launch_func async [{{token}}] @{string_literal(symbol)}::@{string_literal(kernel.entry)} "
            f"blocks in ({', '.join(grid)}) threads in ({', '.join(block)}) "
            f"dynamic_shared_memory_size {shared} args({given})"
        )

    def _copy_out(self, buffer: HostBuffer) -> None:
        """New memory of the host with what a kernel wrote."""
        kind, device, host = self.types[buffer], device_name(buffer), _host(buffer)
        self.lines.append(f"{host} = memref.alloc({self.dims(buffer)}) : {kind}")
        self._chain(f"gpu.memcpy async [{{token}}] {host}, {device} : {kind}, {kind}")

    def constant(self, value: int, kind: str) -> str:
        name = f"%{'c' if kind == 'index' else 'shared'}{value}"
        line = f"{name} = arith.constant {value} : {kind}"
        if line not in self.constants:
            self.constants.append(line)
        return name

    def _token(self) -> str:
        self.tokens += 1
        return f"%stream{self.tokens - 1}"

    def _chain(self, operation: str, result: str = "") -> None:
        """An asynchronous operation after the one before it; ``{token}`` in it is what it waits for."""
        before = f"%stream{self.tokens - 1}"
        results = ", ".join(r for r in (result, self._token()) if r)
        self.lines.append(f"{results} = {operation.replace('{token}', before)}")


def value_name(buffer: HostBuffer) -> str:
    """The name of a buffer's tensor; memory of the host and of the device have names of their own."""
    return f"%{buffer[0].value}{buffer[1]}"


def _host(buffer: HostBuffer) -> str:
    return f"{value_name(buffer)}_host"


def function_type(function: Any) -> Any:
    from mlir import ir

    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def device_name(buffer: HostBuffer) -> str:
    return f"{value_name(buffer)}_device"


def tensor_of(memref: str) -> str:
    return memref.replace("memref", "tensor", 1)


def memref_of(kind: ir.Type) -> str:
    """The buffer of a tensor; any other type as it is, for arguments that no kernel takes."""
    from mlir import ir

    if not isinstance(kind, ir.RankedTensorType):
        return str(kind)
    return str(ir.MemRefType.get(kind.shape, kind.element_type, loc=ir.Location.unknown(kind.context)))


def gpu_binary(symbol: str, binary: KernelBinary) -> str:
    """A ``gpu.binary``: the PTX, which any later chip takes and upstream picks by default, then the machine code."""
    major, minor = binary.ptx_version
    target = f'#nvvm.target<chip = "{binary.arch}", features = "+ptx{major}{minor}">'
    objects = [
        f"#gpu.object<{target}, properties = {{O = {JIT_LEVEL} : i32}}, assembly = {string_literal(binary.ptx)}>"
    ]
    if binary.cubin is not None:
        content = "".join(f"\\{byte:02X}" for byte in binary.cubin)
        objects.append(f'#gpu.object<{target}, bin = "{content}">')
    return f"gpu.binary @{string_literal(symbol)} [{', '.join(objects)}]"


def fresh_symbol(name: str, taken: set[str]) -> str:
    """A symbol that the module does not have; it has it from then on."""
    candidates = (name, *(f"{name}_{k}" for k in range(len(taken) + 1)))
    found = next(c for c in candidates if c not in taken)
    taken.add(found)
    return found


def put_in_place(function: Any, name: str, made: Sequence[Any]) -> None:
    """Replace ``function`` by new operations, the last of which is the function with launches."""
    from mlir import ir

    host = made[-1]
    same = str(host.attributes["function_type"]) == str(function.attributes["function_type"])
    replaced = {"function_type"} if same else {"function_type", "arg_attrs", "res_attrs"}
    for key in set(function.attributes) - replaced:
        host.attributes[key] = function.attributes[key]
    assert symbol_name(host) == name
    point = ir.InsertionPoint(function)
    for op in made:
        op.detach_from_parent()
        point.insert(op)
    function.erase()


def _user(module: Any, name: str) -> Any:
    """An operation whose attributes name the symbol, or ``None``."""
    from mlir import ir

    found: list[Any] = []

    def visit(op: Any) -> Any:
        for key in op.attributes:
            if isinstance(op.attributes[key], ir.FlatSymbolRefAttr) and op.attributes[key].value == name:
                found.append(op)
                return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found[0] if found else None
