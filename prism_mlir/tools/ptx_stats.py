"""The counters of a launch as rows: in all, a block, a warp; and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from prism_mlir.runtime.ptx.counters import SECTOR, Counters
from prism_mlir.tools.ptx_launch import Launch

WARP = 32


@dataclass(frozen=True, slots=True)
class Size:
    """Blocks of a launch, and warps and threads of all blocks."""

    blocks: int
    warps: int
    threads: int

    @staticmethod
    def of(launch: Launch) -> Size:
        blocks, threads = prod(launch.grid), prod(launch.block)
        return Size(blocks, blocks * -(-threads // WARP), blocks * threads)


def count_rows(c: Counters) -> list[tuple[str, int]]:
    """Names and totals; instruction classes, most frequent first, are indented under their sum. What is 0 is left out."""
    classes = sorted(c.warp_instructions.items(), key=lambda item: (-item[1], item[0]))
    rows = [
        ("warp instructions", sum(c.warp_instructions.values())),
        *((f"  {name}", n) for name, n in classes),
        ("thread instructions", c.thread_instructions),
        ("global bytes loaded", c.global_load_bytes),
        ("global bytes stored", c.global_store_bytes),
        ("cp.async bytes", c.cp_async_bytes),
        ("global requests", c.global_requests),
        ("global sectors", c.global_sectors),
        ("shared bytes loaded", c.shared_load_bytes),
        ("shared bytes stored", c.shared_store_bytes),
        ("shared requests", c.shared_requests),
        ("shared wavefronts", c.shared_wavefronts),
        ("  of these ideal", c.shared_wavefronts_ideal),
        ("mma instructions", c.mma_count),
        ("mma flops", c.mma_flops),
        ("barriers, once a block", c.barriers),
        ("divergent branches", c.divergent_branches),
    ]
    return [(name, n) for name, n in rows if n]


@dataclass(frozen=True, slots=True)
class Derived:
    """Quotients of counters; None where the divisor is 0.

    threads_per_instruction: threads active an instruction of a warp; 32 where none is off
    sectors_per_request: 32-byte sectors a request of a warp touches; 4 is a coalesced access of 4 bytes a thread
    bytes_per_sector: bytes asked for (cp.async included) a sector moved; 32 where all of it is used, more where threads share it
    bank_conflicts: wavefronts over those that the shared-memory requests would take without bank conflicts
    bank_conflict_share: the same, as a part of all wavefronts
    divergent_share: divergent branches, of all branch instructions
    flops_per_byte: mma flops a byte of the sectors moved
    """

    threads_per_instruction: float | None
    sectors_per_request: float | None
    bytes_per_sector: float | None
    bank_conflicts: int
    bank_conflict_share: float | None
    divergent_share: float | None
    flops_per_byte: float | None

    @staticmethod
    def of(c: Counters) -> Derived:
        asked = c.global_load_bytes + c.global_store_bytes + c.cp_async_bytes
        excess = c.shared_wavefronts - c.shared_wavefronts_ideal
        return Derived(
            _ratio(c.thread_instructions, sum(c.warp_instructions.values())),
            _ratio(c.global_sectors, c.global_requests),
            _ratio(asked, c.global_sectors),
            excess,
            _ratio(excess, c.shared_wavefronts),
            _ratio(c.divergent_branches, c.warp_instructions.get("branch", 0)),
            _ratio(c.mma_flops, SECTOR * c.global_sectors),
        )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def derived_rows(d: Derived) -> list[tuple[str, str, str]]:
    """What, how much, and how to read it; without what does not occur."""
    rows = [
        ("threads active an instruction", d.threads_per_instruction, "{:.2f}", "32 where no thread is off"),
        (
            "sectors a global request",
            d.sectors_per_request,
            "{:.2f}",
            "4 for 4 bytes a thread side by side, 16 for 16 bytes",
        ),
        ("bytes used of a sector", d.bytes_per_sector, "{:.2f}", "32 where all that moves is used"),
        (
            "bank conflicts",
            d.bank_conflict_share,
            "{:.1%}",
            f"{d.bank_conflicts:,} of the shared wavefronts are replays",
        ),
        ("branches that diverge", d.divergent_share, "{:.1%}", "threads of a warp go different ways"),
        ("mma flops a byte moved", d.flops_per_byte or None, "{:.2f}", "of global memory, in sectors"),
    ]
    return [(name, form.format(value), note) for name, value, form, note in rows if value is not None]
