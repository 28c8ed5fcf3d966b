"""Makes the mutation test of the PTX machine (``benchmarks/harness``) and the helpers of its other tests importable."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__)
sys.path += [str(HERE.parents[4] / "benchmarks"), str(HERE.parents[1])]
