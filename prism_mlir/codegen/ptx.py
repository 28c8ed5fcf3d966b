"""From a ``gpu.module`` in upstream dialects to PTX text, through upstream MLIR's own pipeline, in process.

One ``gpu.module`` with one or more kernels, written with gpu, nvgpu, nvvm, scf, arith, math, memref and vector, becomes
one PTX module. Buffers are memrefs of static shape and become one pointer parameter each (bare pointers). The output
depends on the text and the target alone: libdevice is embedded in the wheel, no CUDA installation is looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from prism_mlir.codegen.isolate import ChildDiedError, run_isolated
from prism_mlir.frontend.upstream import UpstreamModule, input_error, read_module
from prism_mlir.graph.errors import CodegenError, InputError, Location, UnsupportedError

if TYPE_CHECKING:
    from mlir import ir

TARGETS: dict[str, tuple[int, ...]] = {
    "sm_80": (70, 78, 80, 86),
    "sm_86": (71, 78, 80, 86),
    "sm_87": (74, 78, 80, 86),
    "sm_89": (78, 80, 86),
    "sm_90": (78, 80, 86),
    "sm_90a": (80, 86),
    "sm_100": (86,),
    "sm_100a": (86,),
    "sm_120": (87,),
    "sm_120a": (87,),
}
"""PTX versions (times ten) to try for each target, lowest first. The first of each row is the least that the target
takes (PTX ISA, release notes); later ones add instructions."""

_PIPELINE = (
    "builtin.module(convert-nvgpu-to-nvvm,gpu-lower-to-nvvm-pipeline{{cubin-chip={target} cubin-features=+ptx{version}"
    " cubin-format=isa kernel-bare-ptr-calling-convention=true opt-level=2}})"
)
_DIALECTS = ("gpu", "nvgpu", "nvvm", "scf", "cf", "arith", "math", "memref", "vector", "affine", "index", "llvm", "ub")
_ENTRY = re.compile(r"^\.visible \.entry ([\w$.]+)\(([^)]*)\)([^{]*)\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_SHARED = re.compile(r"\.shared \.align (\d+) \.b8 [\w$.]+(?:\[(\d+)\])?;")
_EXTERN = re.compile(r"^\.extern \.func[^;]*?\b([\w$.]+)\s*\n?\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PtxEntry:
    """A kernel of a PTX module.

    ``parameters`` it takes, bytes of static shared memory it declares, and threads a block it is compiled for
    (``.reqntid`` or ``.maxntid``), if it says so. In a ``gpu.func`` that is the attribute ``known_block_size`` (not
    ``gpu.known_block_size``, which upstream ignores) or ``nvvm.reqntid``.
    """

    name: str
    parameters: int
    shared_bytes: int
    block: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class PtxResult:
    """PTX text and what it says: ``ptx_version`` is ``(major, minor)``, ``target`` is the ``.target`` it names."""

    ptx: str
    entries: tuple[PtxEntry, ...]
    ptx_version: tuple[int, int]
    target: str


def gpu_module_to_ptx(module_text: str, target: str = "sm_80", filename: str = "<gpu module>") -> PtxResult:
    """Compile ``module_text``, which holds exactly one ``gpu.module``, for ``target``.

    The lowest PTX version is used that has the instructions the module needs. Raises :class:`InputError` for a
    module that does not parse, verify or hold a kernel, :class:`UnsupportedError` for an unknown target or an operation
    that the pipeline leaves over, :class:`CodegenError` when LLVM cannot select instructions or calls would remain.
    """
    if target not in TARGETS:
        raise UnsupportedError(f"target {target}", None, f"use one of {', '.join(TARGETS)}")
    upstream = read_module(module_text, filename, normalise=False)
    place = _check_module(upstream)
    failure: ChildDiedError | None = None
    for version in TARGETS[target]:
        try:
            ptx = run_isolated(partial(_compile, upstream, target, version))
        except ChildDiedError as error:
            failure = error
            if "Cannot select" not in error.stderr:
                break
        else:
            return _described(ptx, target, place)
    assert failure is not None
    raise CodegenError(f"upstream LLVM gave up on {target}: {_last_words(failure)}", place, "report it with this input")


def describe_entries(ptx: str) -> tuple[PtxEntry, ...]:
    """The kernels of PTX text that LLVM wrote, in its order."""
    module_scope = _ENTRY.sub("", ptx)
    entries = []
    for name, parameters, directives, body in _ENTRY.findall(ptx):
        # LLVM declares a shared array inside the kernel that uses it, or at module scope when several do.
        used = [line for line in module_scope.splitlines() if ".shared" in line and _names_used(line, body)]
        block = re.search(r"\.(?:req|max)ntid ([\d, ]+)", directives)
        threads = tuple(int(size) for size in block.group(1).split(",")) if block else None
        entries.append(PtxEntry(name, parameters.count(".param"), _shared_bytes("\n".join([*used, body])), threads))
    return tuple(entries)


def _names_used(declaration: str, body: str) -> bool:
    name = re.search(r"([\w$.]+)(?:\[\d+\])?;", declaration)
    return name is not None and re.search(rf"(?<![\w$.]){re.escape(name.group(1))}(?![\w$.])", body) is not None


def _shared_bytes(text: str) -> int:
    total = 0
    for alignment, size in _SHARED.findall(text):
        total = -(-total // int(alignment)) * int(alignment) + int(size or 1)
    return total


def _check_module(upstream: UpstreamModule) -> Location:
    """The place of the only ``gpu.module``; errors for other contents."""
    top = [op.operation for op in upstream.module.regions[0].blocks[0]]
    modules = [op for op in top if op.name == "gpu.module"]
    if len(modules) != 1:
        where = upstream.locate(modules[1]) if modules else Location(upstream.filename, 1, 1)
        raise InputError(f"{len(modules)} gpu.module operations where one is needed", where, "give exactly one")
    others = [op for op in top if op.name != "gpu.module"]
    if others:
        raise InputError(f"{others[0].name} beside the gpu.module", upstream.locate(others[0]), "remove it")
    kernels = [
        op.operation
        for op in modules[0].regions[0].blocks[0]
        if op.operation.name == "gpu.func" and any(name in op.operation.attributes for name in ("gpu.kernel", "kernel"))
    ]
    if not kernels:
        raise InputError("the gpu.module holds no kernel", upstream.locate(modules[0]), "mark a gpu.func as kernel")
    for kernel in kernels:
        _check_kernel(kernel, upstream)
    return upstream.locate(modules[0])


def _check_kernel(kernel: Any, upstream: UpstreamModule) -> None:
    from mlir import ir

    signature = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value)
    for kind in signature.inputs:
        if isinstance(kind, ir.MemRefType) and not kind.has_static_shape:
            raise UnsupportedError(f"kernel argument {kind}", upstream.locate(kernel), "use static shapes")

    foreign: list[ir.Operation] = []

    def visit(op: ir.Operation) -> Any:
        if op.name.split(".")[0] not in _DIALECTS or not op.context.is_registered_operation(op.name):
            foreign.append(op)
        return ir.WalkResult.ADVANCE

    kernel.walk(visit)
    if foreign:
        raise UnsupportedError(
            f"{foreign[0].name} in a gpu.module", upstream.locate(foreign[0]), f"lower to {', '.join(_DIALECTS)} first"
        )


def _compile(upstream: UpstreamModule, target: str, version: int) -> str:
    """PTX text. Rewrites the module in place, which in a forked child nobody else sees."""
    from mlir import ir
    from mlir.dialects import gpu
    from mlir.passmanager import PassManager

    pipeline = _PIPELINE.format(target=target, version=version)
    try:
        PassManager.parse(pipeline, context=upstream.module.context).run(upstream.module)
    except ir.MLIRError as error:
        found = input_error(error, upstream.filename)
        hint = "upstream's GPU pipeline does not take this"
        raise UnsupportedError(found.message, found.location, hint) from None
    for op in upstream.module.regions[0].blocks[0]:
        if op.operation.name == "gpu.binary":
            binary = gpu.ObjectAttr(ir.ArrayAttr(op.operation.attributes["objects"])[0])
            text: str = binary.object.decode()
            return text.rstrip("\0")
    raise CodegenError("upstream's GPU pipeline left no binary", Location(upstream.filename, 1, 1))


def _described(ptx: str, target: str, place: Location) -> PtxResult:
    calls = [name for name in _EXTERN.findall(ptx) if name]
    if calls:
        raise CodegenError(f"the kernel calls {calls[0]}, which is nowhere defined", place, "use another operation")
    version = re.search(r"^\.version (\d+)\.(\d+)$", ptx, re.MULTILINE)
    if version is None:
        raise CodegenError("upstream's GPU pipeline wrote no PTX version", place)
    return PtxResult(ptx, describe_entries(ptx), (int(version.group(1)), int(version.group(2))), target)


def _last_words(failure: ChildDiedError) -> str:
    """LLVM's reason: its ``LLVM ERROR`` or assertion line, without the stack dump that follows."""
    lines = [line.strip() for line in failure.stderr.splitlines() if line.strip()]
    telling = [line for line in lines if "LLVM ERROR" in line or "Assertion" in line] or lines[:1]
    if not telling:
        return failure.reason
    return re.sub(r"^.*?(LLVM ERROR: |Assertion )", "", telling[0])[:200]
