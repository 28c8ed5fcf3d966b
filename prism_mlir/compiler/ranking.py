"""What the model says of the best schedules of a ranking: what a page about a compilation shows, and records keep."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.graph.data import schedule_from_data, schedule_to_data
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.schedule import Schedule
from prism_mlir.tune.choose import Ranked

MOST = 2000  # schedules that are kept, best first
_MOST_BYTES = 1 << 24  # of a record that is unpacked

COLUMNS = ("graph", "schedule", "us", "dram_bytes", "shared_bytes", "registers", "blocks", "resident", "limiter")


@dataclass(frozen=True, slots=True)
class Point:
    """One schedule of a graph (named by its fingerprint) and its modelled cost.

    us, dram_bytes: of all its kernels
    shared_bytes, registers, blocks: of the kernel that has most of each
    resident: blocks an SM of the kernel that has fewest
    """

    graph: str
    schedule: Schedule
    us: float
    dram_bytes: int
    shared_bytes: int
    registers: int
    blocks: int
    resident: int
    limiter: str

    @staticmethod
    def of(ranked: Ranked) -> Point:
        cost, scheduled = ranked.cost, ranked.scheduled
        return Point(
            scheduled.graph.fingerprint,
            scheduled.schedule,
            cost.total_us,
            cost.dram_bytes,
            max(k.shared_bytes for k in cost.kernels),
            max(k.registers for k in cost.kernels),
            max(k.blocks for k in cost.kernels),
            min(k.resident for k in cost.kernels),
            cost.limiter,
        )

    def to_row(self) -> list[Any]:
        """The values of ``COLUMNS``."""
        values = (self.us, self.dram_bytes, self.shared_bytes, self.registers, self.blocks, self.resident)
        return [self.graph, schedule_to_data(self.schedule), *values, self.limiter]

    @staticmethod
    def from_row(row: Any) -> Point:
        """The inverse of :meth:`to_row`. Raises :class:`InputError` where it is none."""
        try:
            graph, schedule, us, *counts, limiter = row
            dram, shared, registers, blocks, resident = map(int, counts)
            return Point(
                str(graph),
                schedule_from_data(schedule),
                float(us),
                dram,
                shared,
                registers,
                blocks,
                resident,
                str(limiter),
            )
        except (TypeError, ValueError) as error:
            raise InputError(f"not a ranked schedule: {type(error).__name__} {error}") from None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best schedules, best first; ``ranked``: how many there were."""

    ranked: int
    points: tuple[Point, ...]

    @staticmethod
    def of(ranked: Sequence[Ranked]) -> Ranking:
        return Ranking(len(ranked), tuple(Point.of(r) for r in ranked[:MOST]))

    def to_dict(self) -> dict[str, Any]:
        return {"ranked": self.ranked, "columns": list(COLUMNS), "rows": [p.to_row() for p in self.points]}

    def to_bytes(self) -> bytes:
        """Packed, for records."""
        return zlib.compress(json.dumps(self.to_dict(), separators=(",", ":")).encode())

    @staticmethod
    def from_bytes(packed: bytes) -> Ranking:
        """The inverse of :meth:`to_bytes`. Raises :class:`InputError` where it is none."""
        try:
            data = json.loads(zlib.decompressobj().decompress(packed, _MOST_BYTES))
            return Ranking(int(data["ranked"]), tuple(Point.from_row(row) for row in data["rows"][:MOST]))
        except (zlib.error, KeyError, TypeError, ValueError) as error:
            raise InputError(f"not a ranking: {type(error).__name__} {error}") from None
