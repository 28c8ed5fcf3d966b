"""The same program gives the same PTX, byte for byte: in every process, whatever its hash seed and its number of workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from hashlib import sha256
from random import Random

from random_programs import draw_program

from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.parts import build_program
from prism_mlir.graph.errors import Location
from prism_mlir.search.limits import SearchLimits

if __name__ == "__main__":
    limits = SearchLimits(operators=7, kernels=2, second_operators=4, states=1500, candidates=40)
    for seed, kind in ((3, "gated"), (5, "softmax")):
        program = draw_program(Random(seed), kind)
        options = CompileOptions(samples=100, limits=limits, jobs=int(sys.argv[1]))
        built = build_program(program, options, Location("random"), None, lambda _: None)
        for name, ptx in built.ptx.items():
            print(name, len(ptx), sha256(ptx.encode()).hexdigest())
        print([p.selection.kernel.launch.to_dict() for p in built.parts])
"""


def test_hash_seeds_processes_and_jobs_change_nothing(tmp_path: Path) -> None:
    script = tmp_path / "build.py"
    script.write_text(PROGRAM)
    told = [_run(script, hash_seed, jobs) for hash_seed, jobs in (("0", 1), ("4242", 2))]
    assert told[0].count(".ptx ") >= 2
    assert told[0] == told[1]


def _run(script: Path, hash_seed: str, jobs: int) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [sys.executable, str(script), str(jobs)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
