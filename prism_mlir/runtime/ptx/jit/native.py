"""From a decoded kernel to machine code."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from prism_mlir.runtime.ptx.decode import Decoded
from prism_mlir.runtime.ptx.jit import barrier, library, target
from prism_mlir.runtime.ptx.jit.kernel import WarpKernel
from prism_mlir.runtime.ptx.jit.library import Module, Options
from prism_mlir.runtime.ptx.jit.values import CannotCompile
from prism_mlir.runtime.ptx.program import Program

LARGE = 12000  # LLVM instructions


# Instructions of a kernel: LLVM needs some 40 kB and a millisecond for each, twice that where threads run apart.
MOST_INSTRUCTIONS = 10_000


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of a kernel. ``run(context, first, last)`` runs blocks of the kernel at ``address``, which ``engine`` keeps
    alive.

    Attributes:
        state_bytes: memory of a warp.
        tables: slots of special registers that differ from thread to thread, in the order of their tables in it.
        counted: counter of each guarded memory access, by its program counter, and of each generic one in a state space.
    """

    run: Any
    address: int
    engine: Any
    options: Options
    state_bytes: int
    tables: tuple[int, ...]
    counted: dict[tuple[int, str], int]


def compile_kernel(program: Program, decoded: Decoded, options: Options) -> Compiled:
    """Compile a kernel.

    Raises:
        CannotCompile: it has an instruction without a compiled form.
    """
    if len(decoded.steps) > MOST_INSTRUCTIONS:
        what = f"the kernel has {len(decoded.steps)} instructions, more than the {MOST_INSTRUCTIONS}"
        raise CannotCompile(f"{what} that are compiled")
    lack = target.lacks()
    if lack:
        raise CannotCompile(f"this CPU has no {lack}")
    with target.LOCK:
        module = Module(options)
        kernel = WarpKernel(module, program, decoded)
        loop = barrier.run_blocks(module)
        library.link(module)
        engine = library.generate(module.ir, _effort(decoded, kernel))
        address = engine.get_function_address(kernel.function.name)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(library.address(loop))
    return Compiled(run, address, engine, options, kernel.state_bytes, tuple(kernel.tables), kernel.counted)


def _effort(decoded: Decoded, kernel: WarpKernel) -> int:
    """LLVM's -O. Code that runs once a thread is not worth much time of the compiler, and code that would take it more than a
    second is made in half the time, to run by a quarter longer."""
    size = sum(len(block.instructions) for block in kernel.function.blocks)
    return 1 if _loops(decoded) and size <= LARGE else 0


def _loops(decoded: Decoded) -> bool:
    """Whether a branch goes back."""
    for at, block in enumerate(decoded.blocks):
        targets = block.control.targets if block.control is not None else ()
        if any(decoded.block_of_label[t] <= at for t in targets):
            return True
    return False
