"""The paper's workloads, and what others report for them.

Published numbers are of other machines: the paper's search ran on 96 threads; the open C++ implementation was measured on two
cores like those of a laptop, one workload at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

INPUTS = Path(__file__).resolve().parents[2] / "test" / "inputs" / "paper"


@dataclass(frozen=True, slots=True)
class Published:
    """Search seconds and unique graphs. ``None``: not reported, or still running at the one-hour limit.

    prism:          the paper's Tables 2 and 3, "Prism (shared)"
    mirage:         the same tables, for two input configurations each
    implementation: the open C++ implementation of the paper, seconds, graphs and (where reported) peak memory in MB
    """

    prism_seconds: float
    prism_graphs: int
    mirage_seconds: tuple[float | None, float | None]
    mirage_graphs: tuple[int, int]
    implementation_seconds: float
    implementation_graphs: int
    implementation_mb: float | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """name: as in the paper; file: its first configuration; target: seconds for search and proof that this project aims at."""

    name: str
    file: str
    target: float
    published: Published

    @property
    def path(self) -> Path:
        return INPUTS / f"{self.file}.linalg.mlir"


WORKLOADS = (
    Workload("RMSNorm", "rms_norm_d4096_n8", 0.05, Published(0.3, 9, (11.6, 13.0), (1, 8), 0.34, 9)),
    Workload("RMSNorm-MLP", "rms_norm_mlp_d1024_n8", 3.0, Published(871, 23, (None, None), (12, 14), 1320, 22)),
    Workload("SwiGLU", "swiglu_d2048_n8", 0.08, Published(1.0, 12, (45.6, 27.0), (1, 1), 1.16, 12)),
    Workload("Attention", "attention_b2_g8_h1024_d128", 0.4, Published(41, 14, (42.4, 10.0), (4, 3), 7.6, 14, 5100)),
    Workload("QK-Attention", "qk_attention_b2_g8_h1024_d128", 0.5, Published(42, 14, (154.5, 10.1), (4, 4), 11.2, 14)),
)
