"""The stock xdsl-opt finds our dialect and passes from any folder, with nothing in its environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """sgraph.program @p(%X: tensor<8x16xf16>) {
  %0 = sgraph.sum %X dim 1 : tensor<8x16xf16> -> tensor<8x1xf16>
  sgraph.return %0 as "o" : tensor<8x1xf16>
}
"""


def test_xdsl_opt(tmp_path: Path) -> None:
    tool = Path(sys.executable).with_name("xdsl-opt")
    if not tool.exists():
        pytest.skip("xdsl-opt is not beside this Python")
    (tmp_path / "p.mlir").write_text(PROGRAM)
    command = [str(tool), "p.mlir", "-p", "sgraph-generate{operators=2 grid-dims=1},sgraph-prune"]
    outcome = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert "sgraph.program @p(%X: tensor<8x16xf16>)" in outcome.stdout
    assert "sgraph.graph @" in outcome.stdout and "implements @p" in outcome.stdout
