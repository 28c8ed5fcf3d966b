"""From the text of a module to machine code, and the code's arguments."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from prism_mlir.runtime.ptx.decode import Decoded
from prism_mlir.runtime.ptx.jit.access import Options
from prism_mlir.runtime.ptx.jit.grid import write_grid
from prism_mlir.runtime.ptx.jit.kernel import Barrier, WarpKernel
from prism_mlir.runtime.ptx.jit.values import CannotCompile
from prism_mlir.runtime.ptx.program import Program

_LOCK = threading.Lock()  # LLVM's global state


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of a kernel. ``run(context, first, last)`` runs blocks; ``engine`` keeps the code alive."""

    run: Any
    engine: Any
    options: Options
    state_bytes: int
    barriers: tuple[Barrier, ...]
    counted: dict[tuple[int, str], int]


def _machine(effort: int) -> Any:
    """A target machine for this CPU; the engine that it is given to owns it. ``effort`` is LLVM's -O of code generation."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    if "f16c" in features and not features["f16c"]:
        raise CannotCompile("this CPU cannot convert halves")
    flags = features.flatten() + (",-prefer-256-bit" if features.get("avx512f") else "")
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=flags, opt=effort)


def compile_kernel(program: Program, decoded: Decoded, options: Options) -> Compiled:
    """Compile a kernel.

    Raises:
        CannotCompile: it has an instruction without a compiled form.
    """
    with _LOCK:
        machine = _machine(1 if _loops(decoded) else 0)
        module = ir.Module("kernel")
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        kernel = WarpKernel(module, program, decoded, options)
        write_grid(module, kernel, "run_blocks")
        native = llvm.parse_assembly(str(module))
        native.verify()
        _optimise(native, machine)
        engine = llvm.create_mcjit_compiler(native, machine)
        engine.finalize_object()
        address = engine.get_function_address("run_blocks")
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    return Compiled(call, engine, options, kernel.state_bytes, tuple(kernel.barriers), kernel.counted)


def _loops(decoded: Decoded) -> bool:
    """Whether a branch goes back; code that runs once a thread is not worth much time of the compiler."""
    for at, block in enumerate(decoded.blocks):
        targets = block.control.targets if block.control is not None else ()
        if any(decoded.block_of_label[t] <= at for t in targets):
            return True
    return False


def _optimise(native: Any, machine: Any) -> None:
    """Variables to registers, and little else: more passes take time and make these kernels no faster."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    manager = llvm.create_new_module_pass_manager()
    manager.add_sroa_pass()
    manager.add_ipsccp_pass()  # most accesses are made by whole warps
    manager.add_simplify_cfg_pass()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(native, builder)
