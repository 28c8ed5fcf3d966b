"""Measure compiled candidates on the first GPU, each in a process that can be killed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prism_mlir.codegen.compile import CompiledKernel
from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.expected import recipes, within_bounds
from prism_mlir.compiler.input_sets import argument_types
from prism_mlir.graph.errors import ExecutionError, MissingToolError
from prism_mlir.graph.program import Program
from prism_mlir.runtime.bundle.check import save
from prism_mlir.runtime.bundle.command import CANDIDATE_S, worker_command
from prism_mlir.runtime.bundle.driver import NoDriver
from prism_mlir.runtime.bundle.inputs import draw
from prism_mlir.runtime.bundle.measure import Settings
from prism_mlir.runtime.bundle.worker import Child, Worker
from prism_mlir.tune.profile import Samples

MeasureKernel = Callable[[CompiledKernel, float | None], Samples]


@contextmanager
def gpu_profiler(
    worker: Worker | None = None, settings: Settings | None = None, *, check: bool = True
) -> Iterator[GpuProfiler]:
    """Measures on the first GPU for the time of a ``with`` block. Raises :class:`MissingToolError` where there is none.

    worker: what measures, where it is not to be a child process
    check:  first run each kernel on the PTX machine: a race may not show on the GPU, and would be found when it is chosen
    """
    measuring = Child(worker_command()) if worker is None else worker
    with tempfile.TemporaryDirectory(prefix="prism-profile-") as folder:
        try:
            try:
                measuring.device()
            except NoDriver as error:
                raise MissingToolError(error.message, None, error.hint) from None
            yield GpuProfiler(measuring, Path(folder), settings or Settings(), check)
        finally:
            measuring.close()


@dataclass(slots=True)
class GpuProfiler:
    """Called with a program, it prepares inputs and expected outputs, and returns what measures a kernel of that program.

    Kernels are checked against the f64 evaluation by the bound of f32 arithmetic before they are timed and after.
    """

    worker: Worker
    folder: Path
    settings: Settings
    check: bool
    programs: int = field(default=0)

    def __call__(self, program: Program, tf32: bool = False) -> MeasureKernel:
        self.programs += 1
        place = self.folder / str(self.programs)
        place.mkdir()
        inputs = recipes(argument_types(program), 0)
        arguments = [draw(r) for r in inputs]
        expected = within_bounds(program, arguments, tf32=tf32)
        save(place / "expected.npz", list(expected))
        row = {
            "name": str(place),
            "inputs": list(inputs),
            "outputs": [{"dtype": e.dtype, "shape": list(e.shape)} for e in expected],
            "values": "expected.npz",
        }

        def measured(kernel: CompiledKernel, best: float | None) -> Samples:
            if self.check:
                Emulator(kernel.launch, {kernel.launch.kernels[0].ptx: kernel.ptx})(arguments)
            return self._measure(place, row, kernel, best)

        return measured

    def _measure(self, place: Path, row: dict[str, Any], kernel: CompiledKernel, best: float | None) -> Samples:
        (place / kernel.launch.kernels[0].ptx).write_text(kernel.ptx, encoding="utf-8")
        (place / "launch.json").write_text(json.dumps(kernel.launch.to_dict()), encoding="utf-8")
        candidate = {"peer": "prism", "label": "", "launch": "launch.json"}
        request = {"folder": str(place), "row": row, "candidate": candidate, "settings": self.settings.to_dict()}
        reply = self.worker.ask({**request, "best_us": best}, CANDIDATE_S)
        if reply["status"] != "ok":
            raise ExecutionError(reply["reason"])
        return Samples(tuple(reply["cold"]["samples"]), tuple(reply["warm"]["samples"]))
