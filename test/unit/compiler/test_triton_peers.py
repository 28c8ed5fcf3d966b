"""Kernels in Triton as candidates of a bundle."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "runtime"))

from fake_gpu import FakeGpu

from prism_mlir.compiler import paper_rows, triton_peers
from prism_mlir.compiler.paper_rows import EXAMPLES, ROWS, paper_files, row_of, stem_of
from prism_mlir.compiler.triton_peers import triton_installed, triton_kernels
from prism_mlir.graph.errors import InputError, MissingToolError
from prism_mlir.runtime.bundle.gpu import Gpu
from prism_mlir.runtime.bundle.kernels import Kernels


def test_the_rows_are_those_of_figure_6() -> None:
    """Two sizes of each of the five workloads, and a file for each row."""
    names = [row.workload for row in ROWS]
    assert names == [w for w in ("RMSNorm", "RMSNorm-MLP", "SwiGLU", "Attention", "QK-Attention") for _ in range(2)]
    assert all(path.is_file() for path in paper_files())
    assert [row_of(path) for path in paper_files()] == list(ROWS)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_has_the_shapes_of_its_row(example: str) -> None:
    root = paper_rows.repository()
    heads = []
    for path in (root / "examples" / f"{example}.mlir", root / f"test/inputs/paper/{EXAMPLES[example]}.linalg.mlir"):
        heads.append(next(line for line in path.read_text().splitlines() if "func.func" in line))
    assert heads[0] == heads[1]


def test_other_files_are_no_rows() -> None:
    assert stem_of(Path("a/b.linalg.mlir")) == "b"
    assert row_of(Path("mine.mlir")) is None


def test_without_a_checkout_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paper_rows, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    with pytest.raises(InputError, match="are in the repository, not in the installed package"):
        paper_files()


def test_without_triton_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_peers, "triton_installed", lambda: False)
    with pytest.raises(MissingToolError, match="triton is not importable"):
        triton_kernels(ROWS[0])


def test_buffers_become_arguments_results_and_workspace() -> None:
    """Two launches that pass ``parts`` on: 2 x 8 x 4 numbers of f32 are 256 bytes."""
    compiled = SimpleNamespace(ptx="// one", entry="one", block=(64, 1, 1), shared_bytes=128, hidden=2)
    last = SimpleNamespace(ptx="// two", entry="two", block=(32, 1, 1), shared_bytes=0, hidden=0)
    x, w, v = ("x", (8, 16), "float16"), ("w", (16, 4), "float16"), ("v", (16, 4), "float16")
    parts, out = ("parts", (2, 8, 4), "float32"), ("out", (8, 4), "float16")
    launches = [
        SimpleNamespace(compiled=compiled, grid=(4, 2, 1), arguments=(x, w, v, parts, 1e-6)),
        SimpleNamespace(compiled=last, grid=(1, 1, 1), arguments=(parts, out)),
    ]
    made = triton_peers._candidate("two kernels", launches, triton_peers.INPUTS)
    assert made["files"] == {"0.ptx": "// one", "1.ptx": "// two"}
    assert made["launch"]["workspace"] == [256]
    first, second = made["launch"]["kernels"]
    places = [(a["role"], a.get("index")) for a in first["arguments"]]
    assert places == [
        ("input", 0),
        ("input", 1),
        ("input", 2),
        ("workspace", 0),
        ("number", None),
        ("null", None),
        ("null", None),
    ]
    assert [(a["role"], a["index"], a["strides"]) for a in second["arguments"]] == [
        ("workspace", 0, [32, 4, 1]),
        ("output", 0, [4, 1]),
    ]
    assert (first["grid"], first["block"], first["shared_bytes"]) == ([4, 2, 1], [64, 1, 1], 128)


@pytest.mark.extras
@pytest.mark.skipif(not triton_installed(), reason="needs triton")
def test_a_kernel_in_triton_runs_as_it_is_described(tmp_path: Path) -> None:
    """The gated RMSNorm of 8 rows: NumPy in f64 against what the PTX computes, with f16 results of the same size."""
    row = next(r for r in ROWS if r.file == "rms_norm_mlp_d1024_n8")
    made: dict[str, Any] = triton_kernels(row)[0]
    for name, text in made["files"].items():
        (tmp_path / name).write_text(text)
    launch = json.loads(json.dumps(made["launch"]))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 1024)).astype(np.float16)
    w, v = ((rng.normal(size=(1024, 1024)) / 32).astype(np.float16) for _ in range(2))
    fake = FakeGpu()
    with Gpu(fake, fake.seconds) as gpu, Kernels(gpu, launch, tmp_path, 1) as task:
        task.write([x, w, v])
        task.poison()
        gpu.run(lambda: task.enqueue(0), 10.0)
        (result,) = task.outputs(0)
    wide = x.astype(np.float64)
    normal = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)
    wanted = (normal @ w.astype(np.float64)) * (normal @ v.astype(np.float64))
    assert result.dtype == np.float16
    np.testing.assert_allclose(result.astype(np.float64), wanted, rtol=2e-3, atol=2e-3)
