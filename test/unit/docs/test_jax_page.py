"""The code of the page about JAX runs, without a fallback, and its result is that of NumPy in f64."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.extras

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "use-from-jax.md").read_text()


def test_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_mlir.jax import PrismWarning

    monkeypatch.setenv("PRISM_EMULATE", "1")
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrismWarning)
        for code in re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
            exec(compile(code, "use-from-jax.md", "exec"), names)
    x = np.float64(jax.random.normal(names["keys"][2], (16, 32)))
    gate, up = (x @ np.float64(names["weights"][k]) for k in ("gate", "up"))
    np.testing.assert_allclose(np.asarray(names["y"]), gate / (1 + np.exp(-gate)) * up, rtol=0, atol=1e-3)
    assert "stablehlo.dot_general" in names["text"]
