"""Masks of truth values: tensors of i1 as arguments, a byte an element."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prism_mlir.compiler.execute import Emulator
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.pipeline import compile_file

PROGRAMS = Path(__file__).parents[2] / "inputs" / "programs"
SELECT = """
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<ROWSxCOLUMNSxTYPE>, %m: tensor<ROWSxCOLUMNSxi1>) -> tensor<ROWSxCOLUMNSxTYPE> {
  %e = tensor.empty() : tensor<ROWSxCOLUMNSxTYPE>
  %r = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<ROWSxCOLUMNSxTYPE>, tensor<ROWSxCOLUMNSxi1>) outs(%e : tensor<ROWSxCOLUMNSxTYPE>) {
  ^bb0(%a: TYPE, %b: i1, %o: TYPE):
    %z = arith.constant -2.0 : TYPE
    %s = arith.select %b, %a, %z : TYPE
    linalg.yield %s : TYPE
  } -> tensor<ROWSxCOLUMNSxTYPE>
  return %r : tensor<ROWSxCOLUMNSxTYPE>
}
"""


@pytest.mark.parametrize(("rows", "columns", "kind"), [(8, 64, "f16"), (5, 77, "f32"), (3, 36, "f16"), (1, 1, "f32")])
def test_where(tmp_path: Path, rows: int, columns: int, kind: str) -> None:
    """Rows of 64, 77, 36 and 1 bytes are copied by 16, by single ones, by 4, by one."""
    path = tmp_path / "where.mlir"
    path.write_text(SELECT.replace("ROWS", str(rows)).replace("COLUMNS", str(columns)).replace("TYPE", kind))
    done = compile_file(path, CompileOptions(samples=100))
    assert all(a.ok and a.error == 0 for a in done.accuracy)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, columns)).astype({"f16": np.float16, "f32": np.float32}[kind])
    mask = rng.random((rows, columns)) < 0.5
    (got,) = Emulator(done.launch, done.built.ptx)([x, mask])
    assert (got == np.where(mask, x, -2)).all()


def test_attention() -> None:
    """softmax of the scores where the mask is true, on every input set; and rows of which nothing is true, which are NaN."""
    done = compile_file(PROGRAMS / "attention_bool_mask.mlir", CompileOptions(samples=300))
    assert all(a.ok for a in done.accuracy) and "steep" in {a.input_set for a in done.accuracy}
    assert "mma.sync.aligned.m16n8k16" in next(iter(done.built.ptx.values()))
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal(s).astype(np.float16) for s in ((4, 32, 64), (4, 96, 64), (4, 96, 64)))
    mask = rng.random((32, 96)) < 0.3
    mask[5] = False
    (got,) = Emulator(done.launch, done.built.ptx)([q, k, v, mask])
    with np.errstate(invalid="ignore"):
        s = np.where(mask, q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 8, -np.inf)
        p = np.exp(s - s.max(axis=2, keepdims=True))
        exact = p / p.sum(axis=2, keepdims=True) @ v.astype(np.float64)
    assert np.isnan(got[:, 5]).all()
    rest = np.delete(np.arange(32), 5)
    assert (np.abs(got[:, rest] - exact[:, rest]) <= 2.0**-9 * np.abs(v).max()).all()
