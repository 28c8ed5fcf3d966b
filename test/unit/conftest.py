"""What all unit tests have in common."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_tuning_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or leaves tuning records in the user's cache; those about records open a folder of their own."""
    monkeypatch.setenv("PRISM_CACHE_DIR", "")
