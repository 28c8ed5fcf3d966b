"""Every term of a modelled time, as data: what it is, how much, cold and warm, and where it comes from. Printing is others'.

Two sources tell of the same kernels in the same terms: the cost model, from the schedule alone, and exact counts of emitted code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from prism_mlir.graph.kernel import CustomNode, KernelNode
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import Schedule, ScheduledGraph
from prism_mlir.tune.cost import Cost, KernelCost, cost, working_set
from prism_mlir.tune.counted import CountedKernel, CountedTime, KernelTime, counted_time, pipe_clocks
from prism_mlir.tune.occupancy import LANES
from prism_mlir.tune.roofline import Roofline
from prism_mlir.tune.sized import SECTOR_BYTES
from prism_mlir.tune.targets import Target

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Term:
    """One line: ``cold`` and ``warm`` hold numbers in ``unit``, or a word; ``note`` says how it comes about."""

    name: str
    unit: str
    cold: Value
    warm: Value
    note: str = ""

    @staticmethod
    def of(name: str, unit: str, value: Value, note: str = "") -> Term:
        """A term that does not depend on what is in L2."""
        return Term(name, unit, value, value, note)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "unit": self.unit, "cold": self.cold, "warm": self.warm, "note": self.note}


@dataclass(frozen=True, slots=True)
class KernelTerms:
    """One kernel: what it holds and moves, and how long each of that takes; ``limiter``: cold and warm."""

    title: str
    terms: tuple[Term, ...]
    limiter: tuple[str, str]

    def to_dict(self) -> dict[str, Any]:
        cold, warm = self.limiter
        terms = [t.to_dict() for t in self.terms]
        return {"title": self.title, "limiter": {"cold": cold, "warm": warm}, "terms": terms}


@dataclass(frozen=True, slots=True)
class Explanation:
    """All kernels of a schedule, and the sums.

    source: ``model`` or ``counters``
    totals: launches, kernels and both together
    """

    source: str
    kernels: tuple[KernelTerms, ...]
    totals: tuple[Term, ...]

    @property
    def total_us(self) -> tuple[float, float]:
        """Microseconds in a stream, cold and warm."""
        last = self.totals[-1]
        return float(last.cold), float(last.warm)

    def to_dict(self) -> dict[str, Any]:
        kernels, totals = [k.to_dict() for k in self.kernels], [t.to_dict() for t in self.totals]
        return {"source": self.source, "kernels": kernels, "totals": totals}


def explain_model(
    scheduled: ScheduledGraph, target: Target, program: Program | None = None, registers: Sequence[int] = ()
) -> Explanation:
    """Terms of the cost model. ``registers``: of each kernel, as ptxas says.

    Raises what :func:`~prism_mlir.tune.cost.cost` raises.
    """
    cold = cost(scheduled, target, program, registers=registers)
    warm = cost(scheduled, target, program, warm=True, registers=registers)
    origin = "as ptxas says" if registers else "estimated"
    nodes = scheduled.graph.nodes
    kernels = tuple(
        _modelled(k, node, scheduled, a, b, origin, target)
        for k, (node, a, b) in enumerate(zip(nodes, cold.kernels, warm.kernels, strict=True))
    )
    return Explanation("model", kernels, _model_totals(cold, warm, working_set(scheduled, program), target))


def _model_totals(cold: Cost, warm: Cost, used: int, target: Target) -> tuple[Term, ...]:
    fits = "fits in L2, where it is when warm" if used <= target.l2_bytes else "does not fit in L2: warm is as cold"
    count, stream, graph = len(cold.kernels), target.launch_us, target.graph_launch_us
    return (
        Term.of("working set", "B", used, fits),
        *_totals(count, (cold.kernels_us, warm.kernels_us), stream, graph),
    )


def _totals(count: int, kernels: tuple[float, float], stream: float, graph: float) -> tuple[Term, ...]:
    cold, warm = kernels
    return (
        Term("kernels", "us", cold, warm, "one after the other"),
        Term("total in a CUDA graph", "us", cold + count * graph, warm + count * graph, f"{count} x {graph} us"),
        Term("total in a stream", "us", cold + count * stream, warm + count * stream, f"{count} x {stream} us"),
    )


def _modelled(
    index: int,
    node: KernelNode,
    scheduled: ScheduledGraph,
    cold: KernelCost,
    warm: KernelCost,
    origin: str,
    target: Target,
) -> KernelTerms:
    where = (cold.limiter, warm.limiter)
    times = (
        Term("SM", "us", cold.sm_us, warm.sm_us, f"{cold.tail_us:.3g} of it for the ragged last wave"),
        Term("L2", "us", cold.l2_us, warm.l2_us, _rate(cold, warm, target)),
        Term("DRAM", "us", cold.dram_us, warm.dram_us, _sustained(target)),
        Term(
            "wait for copies", "us", cold.serial_us, warm.serial_us, "with one stage, copying and computing take turns"
        ),
        Term("ramp", "us", cold.ramp_us, warm.ramp_us, "until memory is at full speed, and after"),
        Term("kernel", "us", cold.total_us, warm.total_us, "the longest of SM, L2, DRAM, and the wait and the ramp"),
    )
    if not isinstance(node, CustomNode) or cold.work is None:
        moved = (_bytes(cold, warm), Term.of("L2", "B", cold.l2_bytes, f"{cold.l2_sectors} sectors of 32 B"))
        return KernelTerms(f"kernel {index}: library operator {getattr(node, 'op', '')}", (*moved, *times), where)
    clocks = tuple(Term.of(name, "clocks", value, "of one block") for name, value in cold.work.pipes())
    terms = (
        *_held(node, scheduled, cold, origin, target),
        _bytes(cold, warm),
        Term.of("L2", "B", cold.l2_bytes, f"{cold.l2_sectors} sectors of 32 B"),
        Term(
            "L2 in use",
            "B",
            cold.l2_in_use,
            warm.l2_in_use,
            "different bytes at a time; more than half of L2 is slower",
        ),
        Term.of("in flight", "B", cold.in_flight_bytes, "on one SM"),
        *clocks,
        Term("latency chain", "clocks", cold.work.chain, _chain(warm), "of one block, loads and barriers"),
        *times,
    )
    return KernelTerms(f"kernel {index}: {_grid(node, scheduled)}", terms, where)


def _chain(kernel: KernelCost) -> float:
    assert kernel.work is not None
    return kernel.work.chain


def _grid(node: CustomNode, scheduled: ScheduledGraph) -> str:
    sizes, block = scheduled.schedule.size_of, node.block
    grid = " x ".join(f"{p}={sizes[p]}" for p in block.grid) or "one block"
    return f"grid {grid}" + (f", loop {block.loop}={sizes[block.loop]}" if block.loop is not None else "")


def _held(
    node: CustomNode, scheduled: ScheduledGraph, kernel: KernelCost, origin: str, target: Target
) -> tuple[Term, ...]:
    schedule = scheduled.schedule
    limits = residency_limits(kernel.shared_bytes, kernel.registers, schedule.warps * LANES, target)
    least = min(limits.values())
    by = ", ".join(name for name, value in limits.items() if value == least)
    last = (
        f"{kernel.last_wave} blocks on {target.sms} SMs in the last one" if kernel.last_wave else "the last one is full"
    )
    stages = schedule.stages if node.block.loop is not None else 1
    return (
        Term.of("blocks", "", kernel.blocks, f"of {schedule.warps} warps, {stages} stages"),
        Term.of("registers", "a thread", kernel.registers, origin),
        Term.of("shared memory", "B a block", kernel.shared_bytes, f"of {target.shared_per_block}"),
        Term.of("resident", "blocks an SM", kernel.resident, f"limited by {by}"),
        Term.of("full waves", "", kernel.full_waves, last),
    )


def residency_limits(shared: int, registers: int, threads: int, target: Target) -> dict[str, int]:
    """Blocks that one SM can hold, by each of its resources (CUDA programming guide, "occupancy").

    Example: 80 KiB and the system's 1 KiB fit twice into an A100's 164 KiB.
    """
    return {
        "shared memory": target.shared_per_sm // (shared + target.shared_reserved),
        "registers": target.registers // (registers * threads),
        "threads": target.threads_per_sm // threads,
        "blocks": target.blocks_per_sm,
    }


def _bytes(cold: KernelCost, warm: KernelCost) -> Term:
    return Term("DRAM", "B", cold.dram_bytes, warm.dram_bytes, f"{cold.reread_bytes} of them read before")


def _rate(cold: KernelCost, warm: KernelCost, target: Target) -> str:
    rates = [f"{target.l2_gbs_at(k.l2_in_use):.0f}" for k in (cold, warm)]
    return f"at {' or '.join(dict.fromkeys(rates))} GB/s, less on few SMs"


def _sustained(target: Target) -> str:
    return f"at {target.dram_sustained:.2f} of {target.dram_gbs:.0f} GB/s, less on few SMs"


def explain_counters(kernels: Sequence[CountedKernel], target: Target) -> Explanation:
    """Terms of the yardstick, from counts of emitted code. Raises :class:`~prism_mlir.graph.errors.CodegenError` for spills."""
    cold, warm = counted_time(kernels, target), counted_time(kernels, target, warm=True)
    found = tuple(
        _counted(k, kernel, a, b, target)
        for k, (kernel, a, b) in enumerate(zip(kernels, cold.kernels, warm.kernels, strict=True))
    )
    sums = (_kernels_us(cold), _kernels_us(warm))
    return Explanation("counters", found, _totals(len(kernels), sums, target.launch_us, target.graph_launch_us))


def _kernels_us(time: CountedTime) -> float:
    return time.total_us - time.launch_us


def _counted(index: int, kernel: CountedKernel, cold: KernelTime, warm: KernelTime, target: Target) -> KernelTerms:
    limits = residency_limits(kernel.shared_bytes, kernel.registers, kernel.threads, target)
    least = max(1, min(limits.values()))
    issued = sum(kernel.instructions.values())
    terms = (
        Term.of("blocks", "", kernel.blocks, f"of {kernel.threads} threads"),
        Term.of("registers", "a thread", kernel.registers),
        Term.of("shared memory", "B a block", kernel.shared_bytes, f"of {target.shared_per_block}"),
        Term.of(
            "resident", "blocks an SM", least, "limited by " + ", ".join(n for n, v in limits.items() if v == least)
        ),
        Term(
            "DRAM", "B", cold.dram_bytes, warm.dram_bytes, "each buffer once; warm: if no earlier kernel left it in L2"
        ),
        Term.of("L2", "B", cold.l2_bytes, f"{cold.l2_bytes / SECTOR_BYTES:.0f} sectors of 32 B"),
        Term.of("instructions", "of a warp", issued, "of all blocks"),
        *(Term.of(pipe, "clocks", n, "of one block") for pipe, n in pipe_clocks(kernel, target).items()),
        Term.of("barriers", "", kernel.barriers / kernel.blocks, "of one block"),
        Term("SM", "us", cold.sm_us, warm.sm_us),
        Term("L2", "us", cold.l2_us, warm.l2_us, f"at {target.l2_gbs:.0f} GB/s, less on few SMs"),
        Term("DRAM", "us", cold.dram_us, warm.dram_us, _sustained(target)),
        Term("kernel", "us", cold.total_us, warm.total_us, "the longest of SM, L2, DRAM"),
    )
    return KernelTerms(f"kernel {index}: counted on the PTX machine", terms, (cold.limiter, warm.limiter))


def explain_floor(floor: Roofline, total: tuple[float, float]) -> tuple[Term, ...]:
    """The roofline of the program, and how far a schedule of ``total`` microseconds, cold and warm, is above it."""
    cold, warm = total
    return (
        Term.of("roofline, DRAM", "us", floor.dram_us, f"{floor.bytes} B once"),
        Term.of("roofline, tensor", "us", floor.tensor_us, f"{floor.fma} multiply-adds at peak"),
        Term.of("roofline", "us", floor.total_us, "one launch, and the longer of both"),
        Term("over roofline", "", cold / floor.total_us, warm / floor.total_us, "inputs in DRAM; warm may be below 1"),
    )


def compare_row(number: int, scheduled: ScheduledGraph, cold: Cost, warm: Cost) -> Mapping[str, Value]:
    """One candidate beside others: the terms of its slowest kernel, and its totals in a stream."""
    slow = max(cold.kernels, key=lambda k: k.total_us)
    return {
        "graph": number,
        "schedule": schedule_text(scheduled.schedule),
        "cold us": cold.total_us,
        "warm us": warm.total_us,
        "limiter": cold.limiter,
        "SM us": slow.sm_us,
        "L2 us": slow.l2_us,
        "DRAM us": slow.dram_us,
        "blocks": slow.blocks,
        "resident": slow.resident,
        "registers": slow.registers,
        "shared B": slow.shared_bytes,
    }


def schedule_text(schedule: Schedule) -> str:
    """A schedule as the command line takes it: sizes, warps, stages, and what else is not the default.

    >>> schedule_text(Schedule.of({"x": 2, "i": 4}, 1, 3))
    'i=4,x=2,warps=1,stages=3'
    """
    choices = [f for f in fields(Schedule) if f.name != "sizes"]
    shown = [f.name for f in choices if f.name in ("warps", "stages") or getattr(schedule, f.name) != f.default]
    return ",".join(
        [*(f"{name}={size}" for name, size in schedule.sizes), *(f"{n}={getattr(schedule, n)}" for n in shown)]
    )
