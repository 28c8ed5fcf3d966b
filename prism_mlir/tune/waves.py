"""Blocks run in waves: how long all waves of a kernel keep the SMs, and what the ragged last one costs."""

from __future__ import annotations

from prism_mlir.tune.pipes import BlockWork
from prism_mlir.tune.targets import Target


def _wave(work: BlockWork, resident: int, warps: int) -> tuple[float, str]:
    """Clocks of a wave of ``resident`` blocks an SM: the busiest pipe, or a block's own latencies if those take longer."""
    together, pipe = work.busiest(resident, warps)
    alone, own = work.busiest(1, warps)
    if together >= work.chain + alone:
        return together, pipe
    return work.chain + alone, "latency" if work.chain > alone else own


def sm_time(work: BlockWork, full: int, last: int, resident: int, warps: int, target: Target) -> tuple[float, str]:
    """Microseconds and limiter of all waves, the ragged last one as crowded as its busiest SM."""
    clocks, limiter = 0.0, "latency"
    if last:
        clocks, limiter = _wave(work, -(-last // target.sms), warps)
    if full:
        wave, limiter = _wave(work, resident, warps)
        clocks += full * wave
    return clocks / (target.clock_ghz * 1e3), limiter


def even_time(work: BlockWork, blocks: int, resident: int, warps: int, target: Target) -> float:
    """Microseconds if the blocks filled every wave."""
    wave, _ = _wave(work, resident, warps)
    return wave * blocks / (target.sms * resident) / (target.clock_ghz * 1e3)
