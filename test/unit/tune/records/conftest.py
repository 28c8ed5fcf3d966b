"""Makes the hammer (``benchmarks/cache_hammer.py``) and the helpers of these tests importable."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[4] / "benchmarks"), str(HERE.parent)]
