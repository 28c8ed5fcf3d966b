"""The input module with kernels for dynamic sizes in it: the function reads its sizes and calls one of several.

    func.func @f(%x: tensor<?x16xf16>) -> tensor<?x32xf16> {
      %size0 = tensor.dim %x, %c0                              // memref.dim where arguments are memrefs
      cf.assert %served, "x[0] must be from 1 to 8192"
      %r = scf.if %first -> tensor<?x32xf16> { call @f_at1(%x) } else { scf.if ... }
      return %r
    }
    func.func private @f_at1(...)                              // as the host function of a static program, see ``host_module``

What a variant needs to know of its sizes (grids, allocations, the kernels' last arguments) it reads from its arguments again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prism_mlir.compiler.host_module import (
    HostBuffer,
    HostFunction,
    KernelBinary,
    check_host,
    device_name,
    fresh_symbol,
    function_type,
    gpu_binary,
    memref_of,
    put_in_place,
    tensor_of,
    value_name,
)
from prism_mlir.compiler.options import CompileOptions, HostSignature, WorkspacePlace
from prism_mlir.frontend.upstream import (
    UpstreamModule,
    choose_function,
    input_error,
    named_ops,
    string_literal,
)
from prism_mlir.graph.dispatch import Dispatch, LaunchVariant
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.extent import Extent
from prism_mlir.graph.launch_info import KernelLaunch, Role


@dataclass
class _SizedFunction(HostFunction):
    """The host function of one variant. results: shapes of results at every size; between: bytes of workspace buffers."""

    dispatch: Dispatch = field(kw_only=True)
    results: Mapping[int, tuple[Extent, ...]] = field(kw_only=True)
    between: Sequence[Extent] = field(kw_only=True)
    made: dict[Extent, str] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)

    def prologue(self) -> list[str]:
        return [*read_sizes(self.dispatch, self.types, self.signature), *self.before]

    def dims(self, buffer: HostBuffer) -> str:
        kind = self.types[buffer]
        if "?" not in kind:
            return ""
        if buffer[0] is Role.INPUT:
            return ", ".join(self._argument_dims(buffer))
        if buffer[0] is Role.WORKSPACE:
            return self._number(self.between[buffer[1]])
        return ", ".join(self._number(e) for e in self.results[buffer[1]] if e.dynamic)

    def grid(self, kernel: KernelLaunch) -> list[str]:
        return [self._number(e) for e in kernel.blocks] if kernel.blocks else super().grid(kernel)

    def scalars(self, kernel: KernelLaunch) -> list[str]:
        for s in kernel.sizes:
            line = f"%size{s.index}_i32 = arith.index_cast %size{s.index} : index to i32"
            if line not in self.before:
                self.before.append(line)
        return [f"%size{s.index}_i32 : i32" for s in kernel.sizes]

    def _argument_dims(self, buffer: HostBuffer) -> list[str]:
        """The dims that are ``?`` of an argument whose tensor is at hand."""
        found = []
        for d, extent in enumerate(self.types[buffer].removeprefix("memref<").split("x")[:-1]):
            if extent == "?":
                name = f"{value_name(buffer)}_dim{d}"
                self.before.append(f"{name}_at = arith.constant {d} : index")
                kind = tensor_of(self.types[buffer])
                self.before.append(f"{name} = tensor.dim {value_name(buffer)}, {name}_at : {kind}")
                found.append(name)
        return found

    def _number(self, extent: Extent) -> str:
        """An ``index`` that depends on sizes."""
        if not extent.dynamic:
            return self.constant(extent.at(()), "index")
        if extent not in self.made:
            name = f"%number{len(self.made)}"
            self.made[extent] = name
            value = f"%size{extent.sizes[0]}"
            steps = [f"%size{k}" for k in extent.sizes[1:]]
            for k, other in enumerate(steps):
                self.before.append(f"{name}_{k} = arith.muli {value}, {other} : index")
                value = f"{name}_{k}"
            self.before += [
                f"{name}_times = arith.constant {extent.times} : index",
                f"{name}_all = arith.muli {value}, {name}_times : index",
                f"{name}_over = arith.constant {extent.over} : index",
                f"{name} = arith.ceildivui {name}_all, {name}_over : index",
            ]
        return self.made[extent]


def read_sizes(dispatch: Dispatch, types: Mapping[HostBuffer, str], signature: HostSignature) -> list[str]:
    """Lines that define ``%size0`` and so on from the arguments."""
    lines = []
    for k, size in enumerate(dispatch.sizes):
        argument, dim = size.dims[0]
        lines += _read_dim(f"%size{k}", (Role.INPUT, argument), dim, types, signature)
    return lines


def _read_dim(
    name: str, buffer: HostBuffer, dim: int, types: Mapping[HostBuffer, str], signature: HostSignature
) -> list[str]:
    tensors = signature is HostSignature.TENSOR
    read = f"tensor.dim {value_name(buffer)}" if tensors else f"memref.dim {device_name(buffer)}"
    kind = tensor_of(types[buffer]) if tensors else types[buffer]
    return [f"{name}_at = arith.constant {dim} : index", f"{name} = {read}, {name}_at : {kind}"]


def check_dynamic_host(source: UpstreamModule, options: CompileOptions) -> None:
    """As :func:`~prism_mlir.compiler.host_module.check_host`; buffers between kernels are not for the caller to give either,
    since every variant needs others."""
    check_host(source, options)
    if options.workspace is WorkspacePlace.ARGUMENT:
        function, _ = choose_function(source, options.function)
        raise UnsupportedError(
            "workspace as arguments of a function with dynamic sizes", source.locate(function), "use --workspace alloc"
        )


def dynamic_host_module(
    source: UpstreamModule,
    dispatch: Dispatch,
    results: Mapping[int, tuple[Extent, ...]],
    binaries: Mapping[str, KernelBinary],
    options: CompileOptions,
) -> str:
    """The text of the source module, in which the function chooses a variant of ``dispatch``.

    source:   the module as it was written, not normalised; it is changed
    results:  shapes of the function's results at every size
    binaries: PTX file that launches name -> what to put in a ``gpu.binary``

    Raises as :func:`~prism_mlir.compiler.host_module.host_module`. The module must have passed :func:`check_dynamic_host`.
    """
    from mlir import ir

    function, name = choose_function(source, options.function)
    module, kind = source.module, function_type(function)
    taken = set(named_ops(module))
    symbols = {ptx: fresh_symbol(f"{ptx.removesuffix('.ptx')}_binary", taken) for ptx in binaries}
    signature = {
        **{(Role.INPUT, k): memref_of(t) for k, t in enumerate(kind.inputs)},
        **{(Role.OUTPUT, k): memref_of(t) for k, t in enumerate(kind.results)},
    }
    names = [fresh_symbol(f"{name}_{_suffix(v)}", taken) for v in dispatch.variants]
    lines = ["module attributes {gpu.container_module} {"]
    lines += [gpu_binary(symbols[ptx], binary) for ptx, binary in binaries.items()]
    for symbol, variant in zip(names, dispatch.variants, strict=True):
        between = variant.launch.workspace_extents
        workspace = ("?" if e.dynamic else str(e.at(())) for e in between)
        types = signature | {(Role.WORKSPACE, k): f"memref<{n}xi8>" for k, n in enumerate(workspace)}
        writer = _SizedFunction(
            types,
            options.host,
            options.workspace,
            name=f"private @{string_literal(symbol)}",
            dispatch=dispatch,
            results=results,
            between=between,
        )
        lines += writer.text(variant.launch.kernels, symbols)
    lines += [*_chooser(dispatch, names, signature, options.host), "}"]
    made = ir.Module.parse("\n".join(lines), module.context)
    put_in_place(function, name, [op.operation for op in made.body])
    module.attributes["gpu.container_module"] = ir.UnitAttr.get(module.context)
    try:
        module.verify()
    except ir.MLIRError as error:
        raise input_error(error, source.filename, "keep its arguments (--host tensor)") from None
    printed: str = module.get_asm()
    return printed.rstrip("\n") + "\n"


def _suffix(variant: LaunchVariant) -> str:
    return ("at" if variant.exact else "to") + "_".join(map(str, variant.high))


def _chooser(
    dispatch: Dispatch, names: Sequence[str], types: Mapping[HostBuffer, str], signature: HostSignature
) -> list[str]:
    """Lines of a ``func.func @host`` that calls the first variant that serves its arguments' sizes."""
    tensors = signature is HostSignature.TENSOR
    inputs = [b for b in types if b[0] is Role.INPUT or not tensors]
    outputs = [b for b in types if b[0] is Role.OUTPUT and tensors]
    kinds = [tensor_of(types[b]) if tensors else types[b] for b in inputs]
    given = [value_name(b) if tensors else device_name(b) for b in inputs]
    results = [tensor_of(types[b]) for b in outputs]
    formals = ", ".join(f"{g}: {t}" for g, t in zip(given, kinds, strict=True))
    head = f"func.func @host({formals}) -> ({', '.join(results)}) {{"
    lines = [head, *read_sizes(dispatch, types, signature), *_asserts(dispatch, types, signature)]
    values = [f"%result#{k}" if len(results) > 1 else "%result" for k in range(len(results))]
    call = f"({', '.join(given)}) : ({', '.join(kinds)}) -> ({', '.join(results)})"
    lines += _choice(dispatch, [f"@{string_literal(n)}{call}" for n in names], results)
    return [*lines, f"func.return {', '.join(values)} : {', '.join(results)}" if results else "func.return", "}"]


def _choice(dispatch: Dispatch, calls: Sequence[str], results: Sequence[str]) -> list[str]:
    """A chain of ``scf.if``; the last variant is what is left."""
    lines: list[str] = []
    kinds = ", ".join(results)
    for n, (variant, call) in enumerate(zip(dispatch.variants, calls, strict=True)):
        own = "%result" if n == 0 else f"%chosen{n}"
        several = f":{len(results)}" if len(results) > 1 else ""
        assigned = f"{own}{several} = " if results else ""
        if n == len(calls) - 1:
            lines += [f"{assigned}func.call {call}"]
            break
        lines += _serves(n, variant)
        arrow = f" -> ({kinds})" if results else ""
        called = f"%called{n}{several} = " if results else ""
        lines += [f"{assigned}scf.if %serves{n}{arrow} {{", f"{called}func.call {call}"]
        lines += [*_yield(f"%called{n}", results), "} else {"]
    for n in reversed(range(1, len(calls))):
        lines += [*_yield(f"%chosen{n}", results), "}"]
    return lines


def _yield(name: str, results: Sequence[str]) -> list[str]:
    if not results:
        return []
    values = [f"{name}#{k}" if len(results) > 1 else name for k in range(len(results))]
    return [f"scf.yield {', '.join(values)} : {', '.join(results)}"]


def _serves(n: int, variant: LaunchVariant) -> list[str]:
    """``%serves<n>``: whether all sizes are in a variant's range."""
    lines, conditions = [], []
    for k, (low, high) in enumerate(zip(variant.low, variant.high, strict=True)):
        for what, predicate, bound in (("least", "uge", low), ("most", "ule", high)):
            name = f"%{what}{n}_{k}"
            lines.append(f"{name}_bound = arith.constant {bound} : index")
            lines.append(f"{name} = arith.cmpi {predicate}, %size{k}, {name}_bound : index")
            conditions.append(name)
    return [*lines, *_all(f"%serves{n}", conditions)]


def _all(name: str, conditions: Sequence[str]) -> list[str]:
    lines, value = [], conditions[0]
    for k, other in enumerate(conditions[1:]):
        own = name if k == len(conditions) - 2 else f"{name}_{k}"
        lines.append(f"{own} = arith.andi {value}, {other} : i1")
        value = own
    return lines


def _asserts(dispatch: Dispatch, types: Mapping[HostBuffer, str], signature: HostSignature) -> list[str]:
    """A size is served, and all dims that have it agree."""
    lines = ["%one = arith.constant 1 : index"]
    for k, (size, largest) in enumerate(zip(dispatch.sizes, dispatch.largest, strict=True)):
        lines += [
            f"%above{k} = arith.cmpi uge, %size{k}, %one : index",
            f"%largest{k} = arith.constant {largest} : index",
            f"%below{k} = arith.cmpi ule, %size{k}, %largest{k} : index",
            f"%served{k} = arith.andi %above{k}, %below{k} : i1",
            f"cf.assert %served{k}, {string_literal(f'{size.name} must be from 1 to {largest}')}",
        ]
        for n, (argument, dim) in enumerate(size.dims[1:]):
            name = f"%size{k}_{n}"
            lines += _read_dim(name, (Role.INPUT, argument), dim, types, signature)
            text = f"dim {dim} of argument {argument} must be {size.name}"
            lines.append(f"{name}_same = arith.cmpi eq, %size{k}, {name} : index")
            lines.append(f"cf.assert {name}_same, {string_literal(text)}")
    return lines
