"""The kernels in Triton of ``benchmarks/peers``, as PTX and launch descriptions, so that who measures them needs no Triton.

They are compiled in a process of their own, since Triton brings another LLVM than upstream MLIR's Python bindings do, and both in
one process end it. What runs there imports none of the latter.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from typing import Any

from prism_mlir.compiler.paper_rows import PaperRow, repository
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import ExecutionError, MissingToolError
from prism_mlir.graph.program import row_major

INPUTS = {"x": 0, "w": 1, "v": 2}  # buffers of these kernels that are arguments of the program
ATTENTION_INPUTS = {"q": 0, "k": 1, "v": 2}
DTYPES = {"float16": DType.F16, "float32": DType.F32}


def triton_installed() -> bool:
    return importlib.util.find_spec("triton") is not None


def triton_kernels(row: PaperRow) -> list[dict[str, Any]]:
    """All configurations of the kernels for a row of the figure: ``label``, ``launch`` as in ``launch.json``, and ``files``.

    Raises :class:`MissingToolError` without Triton, :class:`InputError` without a checkout, :class:`ExecutionError` where
    Triton ends its process.
    """
    if not triton_installed():
        raise MissingToolError("triton is not importable", None, "install it, or leave triton out of --peers")
    repository()
    command = [sys.executable, "-m", "prism_mlir.compiler.triton_peers", row.file, row.torch]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        said = " ".join(outcome.stderr.split())[-300:]
        raise ExecutionError(f"Triton could not compile the peers of '{row.file}': {said}")
    return list(json.loads(outcome.stdout.splitlines()[-1]))


def compiled_kernels(file: str, workload: str) -> list[dict[str, Any]]:
    """What :func:`triton_kernels` returns, compiled in this process."""
    folder = str(repository() / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    table = importlib.import_module("peers.table")
    inputs = ATTENTION_INPUTS if "attention" in workload else INPUTS
    return [_candidate(label, launches, inputs) for label, launches in table.peers_of(file)]


def _candidate(label: str, launches: Any, inputs: dict[str, int]) -> dict[str, Any]:
    workspace: dict[str, tuple[int, int]] = {}  # name -> index, bytes
    kernels, files = [], {}
    for k, one in enumerate(launches):
        files[f"{k}.ptx"] = one.compiled.ptx
        kernels.append(
            {
                "entry": one.compiled.entry,
                "ptx": f"{k}.ptx",
                "grid": list(one.grid),
                "block": list(one.compiled.block),
                "shared_bytes": one.compiled.shared_bytes,
                "arguments": [_argument(a, inputs, workspace) for a in one.arguments]
                + [{"role": "null"}] * one.compiled.hidden,
            }
        )
    launch = {"kernels": kernels, "workspace": [size for _, size in workspace.values()]}
    return {"label": label, "launch": launch, "files": files}


def _argument(given: Any, inputs: dict[str, int], workspace: dict[str, tuple[int, int]]) -> dict[str, Any]:
    if not isinstance(given, tuple):
        return {"role": "number", "dtype": "f32", "value": float(given)}
    name, shape, numpy_type = given
    dtype = DTYPES[numpy_type]
    if name in inputs:
        place = {"role": "input", "index": inputs[name]}
    elif name == "out":
        place = {"role": "output", "index": 0}
    else:
        size = dtype.bytes
        for extent in shape:
            size *= extent
        place = {"role": "workspace", "index": workspace.setdefault(name, (len(workspace), size))[0]}
    layout = {"shape": list(shape), "strides": list(row_major(tuple(shape))), "alignment": 16}
    return {**place, "name": name, "dtype": dtype.value, **layout}


if __name__ == "__main__":
    print(json.dumps(compiled_kernels(*sys.argv[1:])))
