"""Writes the PTX of some kernels, and what their launches need, to ``test/unit/ptx/data/corpus``; for tests without the
compilers.

.venv/bin/python test/corpus/keep.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3]))

from corpus.compiled import Compiled
from corpus.iree.compile import compile_program
from corpus.triton.catalogue import SPECS
from corpus.triton.compile import compile_spec

DATA = Path(__file__).parents[1] / "data" / "corpus"
TRITON = [
    "functions", "dropout-f32", "layer_norm-f16", "recurrence-f32", "softmax_online-f32", "histogram-i32", "split_k-f16-f32",
]  # fmt: skip
IREE = ["convolution"]


def main() -> None:
    kept = {name: compile_spec(SPECS[name], line_info=False) for name in TRITON}
    kept |= {f"iree-{name}": compile_program(name) for name in IREE}
    DATA.mkdir(exist_ok=True)
    for name, compiled in kept.items():
        (DATA / f"{name}.ptx").write_text(compiled.ptx)
    table = {name: _launch(compiled) for name, compiled in kept.items()}
    (DATA / "launch.json").write_text(json.dumps(table, indent=2) + "\n")


def _launch(compiled: Compiled) -> dict[str, Any]:
    """All fields but the PTX."""
    return {name: value for name, value in vars(compiled).items() if name != "ptx"}


if __name__ == "__main__":
    main()
