"""Some kernels of the corpus as other compilers wrote them (by ``keep_ptx.py``), without these compilers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import iree_cases
import pytest
import triton_cases
from corpus.compiled import Compiled
from corpus_case import Loaded, run_on_both

DATA = Path(__file__).parents[1] / "data" / "corpus"
INFO = json.loads((DATA / "launch.json").read_text())
CASES = {**{f"iree-{name}": build for name, build in iree_cases.CASES.items()}, **triton_cases.CASES}
KEPT = ["functions", "dropout-f32", "layer_norm-f16", "recurrence-f32", "softmax_online-f32", "histogram-i32",
        "split_k-f16-f32", "iree-convolution"]  # fmt: skip


@cache
def kept(name: str) -> Loaded:
    return Loaded.of(name, Compiled((DATA / f"{name}.ptx").read_text(), **INFO[name]))


def test_all_kept_kernels_are_run() -> None:
    run = {launch.kernel for name in KEPT for launch in CASES[name]().launches}
    assert run == set(INFO) == {path.stem for path in DATA.glob("*.ptx")}


@pytest.mark.parametrize("name", KEPT)
def test_kernel(name: str) -> None:
    engines = run_on_both(CASES[name], {launch.kernel: kept(launch.kernel) for launch in CASES[name]().launches})
    assert name in triton_cases.LEFT_OUT or set(engines) == {"fast"}
