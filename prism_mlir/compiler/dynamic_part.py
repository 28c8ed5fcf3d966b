"""A launch run in part: blocks along dims whose number does not depend on sizes are left out but the first.

Where a whole run is too much for the PTX machine, this crosses the tiles of a dynamic dim all the same. What the blocks that run
store is compared; that every element is stored is for whole runs, at smaller sizes, to tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism_mlir.compiler.accuracy import Accuracy, compare, reduction_length, references
from prism_mlir.graph.dtypes import DType, from_float64
from prism_mlir.graph.errors import ExecutionError
from prism_mlir.graph.launch_info import KernelArgument, KernelLaunch, LaunchInfo, Role
from prism_mlir.graph.program import Program
from prism_mlir.runtime.ptx import Module, PtxError

Array = NDArray[Any]
_UNTOUCHED = (
    0xA5  # bytes of a result before the run; the few elements that are stored with just these bits are not compared
)


def share(launch: LaunchInfo) -> float:
    """How much of a launch runs in part; 1 where that is no saving, and for several kernels, which read what others left."""
    if len(launch.kernels) != 1 or launch.kernels[0].blocks is None:
        return 1.0
    (kernel,) = launch.kernels
    if any(a.dtype is DType.I1 for a in kernel.arguments if a.role is Role.OUTPUT):
        return 1.0
    assert kernel.blocks is not None
    return 1.0 / prod(e.at(()) for e in kernel.blocks if not e.dynamic)


def check_in_part(
    program: Program,
    launch: LaunchInfo,
    ptx: Mapping[str, str],
    sizes: Sequence[int],
    arguments: Sequence[Array],
    *,
    tf32: bool = False,
) -> tuple[Accuracy, ...]:
    """Run part of the one kernel of a launch, and compare what it stores with f64.

    program: at the sizes. Raises :class:`ExecutionError` where a check of the machine fails, or less is stored than the blocks'
    share of each result.
    """
    (kernel,) = launch.kernels
    assert kernel.blocks is not None
    made = kernel.at(sizes)
    x, y, z = (1 if not e.dynamic else n for e, n in zip(kernel.blocks, made.grid, strict=True))
    results = _run(made, (x, y, z), ptx[kernel.ptx], arguments)
    wanted, length = references(program, arguments, tf32=tf32), reduction_length(program)
    found: list[Accuracy] = []
    for k, (out, reference) in enumerate(zip(program.results, wanted, strict=True)):
        got = results[k]
        stored = (got.reshape(-1).view(np.uint8) != _UNTOUCHED).reshape(*got.shape, -1).any(axis=-1)
        if stored.sum() < 0.99 * share(launch) * stored.size:
            raise ExecutionError(f"emitted code is wrong: {int(stored.sum())} of {stored.size} elements are stored")
        exact = from_float64(reference.exact, out.dtype)
        got = np.where(stored, got, exact)
        found.append(compare("random, in part", out.name, out.dtype, got, exact, reference, length, as_source=False))
    return tuple(found)


def _run(kernel: KernelLaunch, grid: tuple[int, int, int], ptx: str, arguments: Sequence[Array]) -> dict[int, Array]:
    buffers = [_buffer(a, arguments) for a in kernel.arguments]
    given: list[Array | int] = [*buffers, *(s.value for s in kernel.sizes)]
    outputs = {k for k, a in enumerate(kernel.arguments) if a.role is Role.OUTPUT}
    try:
        Module.load(ptx, name=kernel.ptx).kernel(kernel.entry).run(
            grid=grid, block=kernel.block, args=given, shared_bytes=kernel.shared_bytes, outputs=outputs
        )
    except PtxError as error:
        raise ExecutionError(f"emitted code is wrong: {error}") from None
    return {kernel.arguments[k].index: buffers[k] for k in outputs}


def _buffer(argument: KernelArgument, arguments: Sequence[Array]) -> Array:
    if argument.role is Role.INPUT:
        return np.ascontiguousarray(arguments[argument.index]).reshape(argument.shape)
    raw = np.full(argument.bytes, _UNTOUCHED, np.uint8)
    return raw.view(argument.dtype.storage).reshape(argument.shape)
