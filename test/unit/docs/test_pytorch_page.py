"""The code of the page about PyTorch runs, without a fallback, and its results are those of eager PyTorch."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.extras

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "use-from-pytorch.md").read_text()
SOURCES = sorted((Path(__file__).resolve().parents[3] / "prism_mlir" / "torch").glob("*.py"))


def test_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from prism_mlir.torch import PrismWarning

    monkeypatch.setenv("PRISM_EMULATE", "1")
    torch._dynamo.reset()
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrismWarning)
        for code in re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
            exec(compile(code, "use-from-pytorch.md", "exec"), names)
            if "y" in names:
                wanted = names["model"](names["x"]).detach().numpy()
                np.testing.assert_allclose(np.asarray(names["y"]), wanted, rtol=0, atol=1e-5)
    assert "linalg.generic" in names["text"]


QUOTED = (
    "its results need gradients",
    "it has no operator that sums or contracts",
    "a dim of an argument is marked dynamic",
)


@pytest.mark.parametrize("reason", QUOTED)
def test_the_page_quotes_what_is_said(reason: str) -> None:
    assert reason in PAGE and any(reason in path.read_text() for path in SOURCES)
