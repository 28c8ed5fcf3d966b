"""A bundle of one small program: out = 2 x, 64 numbers of f32, in two blocks. What it should give is computed by NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from prism_mlir.runtime.bundle.check import Expected, save
from prism_mlir.runtime.bundle.inputs import draw, recipe

PTX = """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry {entry}(.param .u64 x, .param .u64 out)
{{
  .reg .b64 %rd<6>;
  .reg .b32 %r<6>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd0, [x];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mad.lo.u32 %r2, %r0, 32, %r1;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd0, %rd2;
  add.u64 %rd4, %rd1, %rd2;
  ld.global.f32 %f0, [%rd3];
  add.f32 %f1, %f0, %f0;
  st.global.f32 [%rd4], %f1;
  ret;
}}
"""
COUNT = 64


def launch(entry: str) -> dict[str, Any]:
    tensor = {"index": 0, "dtype": "f32", "shape": [COUNT], "strides": [1], "alignment": 16}
    arguments = [{"role": "input", "name": "x", **tensor}, {"role": "output", "name": "out", **tensor}]
    kernel = {"entry": entry, "ptx": f"{entry}.ptx", "grid": [2, 1, 1], "block": [32, 1, 1], "shared_bytes": 0}
    return {"kernels": [{**kernel, "arguments": arguments}], "workspace": []}


def expected() -> list[Expected]:
    x = draw(recipe("f32", (COUNT,), 7)).astype(np.float64)
    everything = np.empty(0, np.int64)
    return [Expected("f32", (COUNT,), 2 * x, np.full(COUNT, 1e-6), everything, 0.0)]


def write_bundle(folder: Path, entries: tuple[str, ...], peer: str = "prism") -> dict[str, Any]:
    """A bundle with one row, and a candidate for each entry."""
    candidates = []
    for entry in entries:
        (folder / f"{entry}.ptx").write_text(PTX.format(entry=entry))
        (folder / f"{entry}.json").write_text(json.dumps(launch(entry)))
        candidates.append({"peer": peer, "label": entry, "launch": f"{entry}.json"})
    save(folder / "double.npz", expected())
    row = {
        "name": "double",
        "workload": "Double",
        "size": "64",
        "paper": None,
        "inputs": [recipe("f32", (COUNT,), 7)],
        "outputs": [{"dtype": "f32", "shape": [COUNT]}],
        "values": "double.npz",
        "candidates": candidates,
    }
    manifest = {"format": 1, "made_by": "a test", "target": "sm_80", "rows": [row]}
    (folder / "bundle.json").write_text(json.dumps(manifest))
    return manifest
