"""Functions that all kernels share, compiled once a process.

A kernel's module declares what it calls; whatever is not compiled yet is written into one more module. Functions are known to
LLVM's linker by name, and a name says all that the code depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from prism_mlir.runtime.ptx.jit import target
from prism_mlir.runtime.ptx.jit.build import Build

PREFIX = "prism_ptx."
_ADDRESSES: dict[str, int] = {}
_ENGINES: list[Any] = []  # they keep the code alive


@dataclass(frozen=True, slots=True)
class Options:
    """What a kernel is compiled for.

    Attributes:
        race: look for races in shared memory.
        cross_block: look for conflicts between blocks.
        alignment: unaligned accesses stop the kernel; else their bytes are taken as they lie.
        partial: the last warp of a block has fewer than 32 threads.
        cell: bytes of a cell of the shadow of shared memory.
    """

    race: bool
    cross_block: bool
    alignment: bool
    partial: bool
    cell: int


Write = Callable[["Module", Build], None]


class Module:
    """An LLVM module, and the shared functions that it calls."""

    def __init__(self, options: Options) -> None:
        self.ir = ir.Module("kernel")
        self.options = options
        self.wanted: dict[str, tuple[ir.FunctionType, Write]] = {}

    def function(self, name: str, kind: ir.FunctionType, write: Write) -> ir.Function:
        """The shared function ``name``, declared here; ``write`` writes its body if it has to be compiled."""
        have = self.ir.globals.get(PREFIX + name)
        if have is None:
            have = ir.Function(self.ir, kind, PREFIX + name)
            have.attributes.add("nounwind")
            self.wanted[name] = kind, write
        return have


def link(kernel: Module) -> None:
    """Compile what ``kernel`` calls and is not there yet."""
    missing = {name: made for name, made in kernel.wanted.items() if name not in _ADDRESSES}
    if not missing:
        return
    shared = Module(kernel.options)
    for name, made in missing.items():
        shared.function(name, *made)
    done: set[str] = set()
    while todo := [name for name in shared.wanted if name not in _ADDRESSES and name not in done]:
        for name in todo:
            shared.wanted[name][1](shared, Build(shared.ir.globals[PREFIX + name]))
            done.add(name)
    engine = generate(shared.ir, 2)
    _ENGINES.append(engine)
    for name in done:
        _ADDRESSES[name] = engine.get_function_address(PREFIX + name)
        llvm.add_symbol(PREFIX + name, _ADDRESSES[name])


def address(function: ir.Function) -> int:
    """Where a linked function is."""
    return _ADDRESSES[function.name.removeprefix(PREFIX)]


def generate(module: ir.Module, effort: int) -> Any:
    """Machine code of a module."""
    machine = target.machine(effort)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    native = llvm.parse_assembly(str(module))
    native.verify()
    engine = llvm.create_mcjit_compiler(native, machine)
    engine.finalize_object()
    return engine
