"""Linalg programs compiled by IREE for sm_80, here and now: right values under all checks, and the same from the fast engine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from corpus_case import Loaded, run_on_both
from iree_cases import CASES

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("name", CASES)
def test_program(name: str) -> None:
    if not (Path(sys.executable).parent / "iree-compile").exists():  # its Python modules cannot load beside upstream's
        pytest.skip("the wheel iree-base-compiler is not installed")
    from corpus.iree.compile import compile_program

    assert run_on_both(CASES[name], {f"iree-{name}": Loaded.of(name, compile_program(name))}) == ["fast"]
