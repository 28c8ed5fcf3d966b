"""Makes the helpers of the reference engine's tests and the package ``corpus`` importable."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]
