"""Quality of kernels from counts: what a launch moves and issues, beside what its work needs.

How a launch is counted: ``prism_mlir.compiler.counting``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prism_mlir.compiler.counting import Counted, Launch, Resources, counted_kernel
from prism_mlir.graph.errors import CodegenError
from prism_mlir.tune.counted import CountedKernel, counted_time
from prism_mlir.tune.occupancy import LANES, resident_blocks
from prism_mlir.tune.roofline import Roofline
from prism_mlir.tune.targets import Target

# Targets; a row that misses one says so.
BYTES_TARGET = 1.05  # bytes of DRAM over compulsory ones, for a single kernel
BYTES_TARGET_OF_SEVERAL = 1.10  # the same for several, which pass tensors on
PADDING_TARGET = 1.1  # operations of tensor cores over those of the program's products
CONFLICT_TARGET = 0.02  # bank-conflict wavefronts of all shared wavefronts
WIDE = 16  # bytes of a global access of a thread, where alignment permits

SCHEDULERS = 4  # of an SM, each of which issues one instruction of a warp a clock
GROUPS = {
    "mma": ("mma",),
    "ld/st shared": ("ld.shared", "st.shared", "ldmatrix", "stmatrix"),
    "ld/st global": ("ld.global", "st.global"),
    "cp.async": ("cp.async",),
}
_GLOBAL_ACCESS = re.compile(r"^\s*(?:@!?%\w+\s+)?(ld|st|cp\.async)(\.[\w.:]*)\s+(.*);", re.MULTILINE)


def groups(instructions: Mapping[str, float]) -> dict[str, float]:
    """Warp instructions by the classes of the table; what is in none of them is ``other``."""
    found = {name: sum(instructions.get(c, 0) for c in classes) for name, classes in GROUPS.items()}
    return {**found, "other": sum(instructions.values()) - sum(found.values())}


def narrow_accesses(ptx: str) -> list[tuple[str, int]]:
    """Global accesses of the text that move fewer than 16 bytes a thread: ``ld``, ``st`` or ``cp.async``, and the width of each.

    >>> narrow_accesses("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1]; st.global.b16 [%rd2], %rs1;".replace("; ", ";\\n"))
    [('st', 2)]
    """
    found: list[tuple[str, int]] = []
    for opcode, modifiers, operands in _GLOBAL_ACCESS.findall(ptx):
        if "global" not in modifiers:
            continue
        if opcode == "cp.async":
            width = int(operands.rsplit("]", 1)[1].split(",")[1], 0) if "bulk" not in modifiers else WIDE
        else:
            bits = re.search(r"\.[bufs]+(\d+)$", modifiers)
            vector = re.search(r"\.v(\d)", modifiers)
            assert bits is not None, modifiers
            width = int(bits[1]) // 8 * (int(vector[1]) if vector else 1)
        if width < WIDE:
            found.append((opcode, width))
    return found


def narrow_text(accesses: Iterable[tuple[str, int]]) -> str:
    """``2 st×2`` for two stores of two bytes."""
    return ", ".join(f"{n} {kind}×{width}" for (kind, width), n in sorted(Counter(accesses).items()))


def occupancy(resources: Resources, target: Target) -> float:
    """Resident warps of an SM over the most it can hold."""
    warps = -(-resources.threads // LANES)
    blocks = resident_blocks(resources.shared, resources.registers, warps, target)
    return blocks * warps * LANES / target.threads_per_sm


def busiest_sm_us(total: float, blocks: int, per_clock: float, target: Target) -> float:
    """Microseconds that the busiest SM needs for its part of ``total`` (of all blocks) at ``per_clock``: a lower bound."""
    return total / blocks * -(-blocks // target.sms) / per_clock / (target.clock_ghz * 1e3)


def issue_us(counted: Counted, resources: Resources, target: Target) -> float:
    """Microseconds to issue the instructions of the busiest SM, whose warps give one a clock each, and four together at most."""
    warps = -(-resources.threads // LANES)
    blocks = resident_blocks(resources.shared, resources.registers, warps, target)
    together = min(blocks, -(-counted.blocks // target.sms)) * warps
    total = sum(counted.instructions.values())
    return busiest_sm_us(total, counted.blocks, min(SCHEDULERS, together), target)


def misses(row: Mapping[str, Any]) -> list[str]:
    """The targets that a row of the table misses, by name."""
    found = []
    if row["dram/min"] is not None and row["dram/min"] > (
        BYTES_TARGET if row["kernels"] == 1 else BYTES_TARGET_OF_SEVERAL
    ):
        found.append("bytes")
    if row["spills"]:
        found.append("spills")
    if (row["conflicts"] or 0.0) > CONFLICT_TARGET:
        found.append("banks")
    if (row["flops/needed"] or 0.0) > PADDING_TARGET:
        found.append("padding")
    if row["narrow"]:
        found.append("narrow")
    return found


TARGETS = {
    "bytes": f"DRAM bytes <= {BYTES_TARGET} x compulsory ({BYTES_TARGET_OF_SEVERAL} for several kernels)",
    "spills": "no spills",
    "banks": f"bank conflicts <= {CONFLICT_TARGET:.0%}",
    "padding": f"flops <= {PADDING_TARGET} x needed",
    "narrow": f"global accesses of {WIDE} bytes a thread",
}


def summary(
    launches: Sequence[Launch],
    counted: Sequence[Counted],
    resources: Sequence[Resources],
    floor: Roofline,
    target: Target,
) -> dict[str, Any]:
    """The columns that follow from the kernels of one implementation: launches, counts, holdings, one a kernel."""
    instructions: Counter[str] = Counter()
    for c in counted:
        instructions.update(c.instructions)
    wavefronts, ideal = sum(c.shared_wavefronts for c in counted), sum(c.shared_wavefronts_ideal for c in counted)
    spills = [r.spills for r in resources if r.spills is not None]
    flops = 2 * floor.fma
    row: dict[str, Any] = {
        "kernels": len(counted),
        "global/min": sum(c.global_bytes for c in counted) / floor.bytes,
        "sectors/request": sum(c.global_sectors for c in counted) / max(1.0, sum(c.global_requests for c in counted)),
        "conflicts": (wavefronts - ideal) / wavefronts if wavefronts else None,
        **groups(instructions),
        "flops/needed": sum(c.mma_flops for c in counted) / flops if flops else None,
        "registers": max(r.registers for r in resources),
        "shared": max(r.shared for r in resources),
        "spills": sum(spills) if spills else None,
        "occupancy": min(occupancy(r, target) for r in resources),
        "issue us": sum(issue_us(c, r, target) for c, r in zip(counted, resources, strict=True)),
        "shared us": sum(busiest_sm_us(c.shared_wavefronts, c.blocks, 1, target) for c in counted),
        "narrow": narrow_text(
            access for text in unique(launch.ptx for launch in launches) for access in narrow_accesses(text)
        ),
        "even": all(c.heaviest == 1.0 for c in counted),
        "grids": [launch.grid for launch in launches],
    }
    kernels = [counted_kernel(c, r, one.buffers) for one, c, r in zip(launches, counted, resources, strict=True)]
    row |= times(kernels, floor, target)
    return {**row, "misses": misses(row)}


def times(kernels: Sequence[CountedKernel], floor: Roofline, target: Target) -> dict[str, Any]:
    """The columns of the yardstick; all empty for code that spills, which it rejects.

    dram/min: with what earlier kernels left in L2, as kernels do run
    """
    try:
        cold, warm = counted_time(kernels, target), counted_time(kernels, target, warm=True)
    except CodegenError:
        return dict.fromkeys(("cold us", "warm us", "/floor", "limiter", "dram/min", "terms"))
    return {
        "cold us": cold.total_us,
        "warm us": warm.total_us,
        "/floor": cold.total_us / floor.total_us,
        # one launch is what everybody pays; of several it can be what limits
        "limiter": cold.limiter if len(kernels) > 1 else cold.kernels[0].limiter,
        "dram/min": warm.dram_bytes / floor.bytes,
        "terms": [[k.sm_us, k.l2_us, k.dram_us, k.limiter] for k in cold.kernels],
    }


def unique(texts: Iterable[str]) -> list[str]:
    """Each once: kernels may share a text."""
    return list(dict.fromkeys(texts))


def compare(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one program, with ``ratio`` and ``warm ratio`` in ours: time over the best other row's, and whose."""
    found = []
    for row in rows:
        found.append(dict(row))
        if row["by"] != "ours":
            continue
        for column, ratio in (("cold us", "ratio"), ("warm us", "warm ratio")):
            others = [r for r in rows if r["by"] != "ours" and r[column] is not None]
            best = min(others, key=lambda r: r[column], default=None)
            if best is not None and row[column] is not None:
                found[-1] |= {ratio: row[column] / best[column], "best other": best["by"]}
    return found


def verdict(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines that say in how many programs our kernels are not slower than the best other, and how many meet each target."""
    ours, lines = [row for row in rows if row["by"] == "ours"], []
    for ratio, kind in (("ratio", "cold"), ("warm ratio", "warm")):
        known = [row[ratio] for row in ours if row.get(ratio) is not None]
        within = ", ".join(f"{sum(round(r, 3) <= bound for r in known)} <= {bound}" for bound in RATIOS)
        lines.append(f"time over the best other row, {kind}: of {len(known)} programs {within}")
    within = sum("bytes" not in misses({**row, "dram/min": row["global/min"]}) for row in ours)
    lines.append(f"bytes through L2 within what is asked of DRAM: {within} of {len(ours)}")
    for name, meaning in TARGETS.items():
        lines.append(f"{name}: {sum(name not in row['misses'] for row in ours)} of {len(ours)} ({meaning})")
    return lines


RATIOS = (1.0, 0.8)
