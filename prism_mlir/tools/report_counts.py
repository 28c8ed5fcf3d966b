"""Count what each line of emitted PTX does, by running the first and the last block of each kernel on the PTX machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prism_mlir.graph.errors import PrismError
from prism_mlir.report.contents import Counted, LineCounts

if TYPE_CHECKING:
    from prism_mlir.compiler.counting import Triple
    from prism_mlir.graph.launch_info import KernelLaunch
    from prism_mlir.runtime.ptx.counters import Counters

MAX_STEPS = 400_000  # of one block; the machine takes some microseconds for each
MAX_BYTES = 4 << 30  # of the arguments, whose pages are taken only when they are touched


def count_lines(launch: Any, ptx: Mapping[str, str]) -> dict[str, Counted]:
    """For each PTX file the counts of its lines, of a mean block; a note instead where it cannot be run.

    launch: the content of ``launch.json``
    """
    try:
        kernels = _kernels(launch)
    except PrismError as error:
        return {name: Counted({}, f"Not counted: {error.message}") for name in ptx}
    return {name: _file(text, [k for k in kernels if k.ptx == name]) for name, text in ptx.items()}


def _kernels(launch: Any) -> list[KernelLaunch]:
    """Every kernel; code for a range of dynamic sizes as it is launched for the largest. Raises :class:`InputError`."""
    from prism_mlir.graph.dispatch import Dispatch, is_dispatch
    from prism_mlir.graph.launch_info import LaunchInfo

    if not is_dispatch(launch):
        return list(LaunchInfo.from_dict(launch).kernels)
    return [k for v in Dispatch.from_dict(launch).variants for k in v.launch.at(v.high).kernels]


def _file(text: str, kernels: list[KernelLaunch]) -> Counted:
    from prism_mlir.runtime.ptx import PtxError

    lines: dict[int, LineCounts] = {}
    ends = 1
    for kernel in kernels:
        try:
            found, blocks = _kernel(text, kernel)
        except (PrismError, PtxError, MemoryError) as error:
            reason = str(error).splitlines()[0] if str(error) else "out of memory"
            return Counted({}, f"{kernel.entry} was not counted: {reason}")
        lines |= found
        ends = max(ends, blocks)
    which = "the first and the last block" if ends > 1 else "one block"
    return Counted(lines, f"Counted on the PTX machine by running {which}; numbers are of a mean block")


def _kernel(text: str, kernel: KernelLaunch) -> tuple[dict[int, LineCounts], int]:
    """Counts of the lines of one kernel, and how many blocks were run."""
    from prism_mlir.graph.errors import LimitError

    need = sum(a.bytes for a in kernel.arguments)
    if need > MAX_BYTES:
        raise LimitError(f"its arguments have {need:,} bytes, the limit is {MAX_BYTES:,}")
    x, y, z = kernel.grid
    ends = list(dict.fromkeys([(0, 0, 0), (x - 1, y - 1, z - 1)]))
    runs = [_block(text, kernel, at) for at in ends]
    numbers = sorted({line for run in runs for line in run})
    return {n: _mean([run[n] for run in runs if n in run], len(runs)) for n in numbers}, len(runs)


def _block(text: str, kernel: KernelLaunch, at: Triple) -> Mapping[int, Counters]:
    from prism_mlir.compiler.counting import alone, zeros
    from prism_mlir.runtime.ptx import Checks, Module

    handle = Module.load(alone(text, kernel.grid, at), kernel.ptx).kernel(kernel.entry)
    result = handle.run(
        grid=(1, 1, 1),
        block=kernel.block,
        args=[
            *(zeros((a.bytes // a.dtype.bytes,), a.dtype.storage) for a in kernel.arguments),
            *(s.value for s in kernel.sizes),
        ],
        shared_bytes=kernel.shared_bytes,
        checks=Checks.none(),
        max_steps=MAX_STEPS,
        detailed_counters=True,
        by_line=True,
    )
    return result.lines


def _mean(counts: list[Counters], runs: int) -> LineCounts:
    """The mean over all runs, also those that did not come by."""

    def mean(value: int) -> float:
        return value / runs

    return LineCounts(
        warps=mean(sum(sum(c.warp_instructions.values()) for c in counts)),
        threads=mean(sum(c.thread_instructions for c in counts)),
        global_bytes=mean(sum(c.global_load_bytes + c.global_store_bytes + c.cp_async_bytes for c in counts)),
        shared_bytes=mean(sum(c.shared_load_bytes + c.shared_store_bytes for c in counts)),
        sectors=mean(sum(c.global_sectors for c in counts)),
        wavefronts=mean(sum(c.shared_wavefronts for c in counts)),
        ideal=mean(sum(c.shared_wavefronts_ideal for c in counts)),
        flops=mean(sum(c.mma_flops for c in counts)),
    )
