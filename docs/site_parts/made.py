"""The pages that are made from the code when the site is built."""

from __future__ import annotations


def made_pages() -> dict[str, str]:
    """Path in the site -> text."""
    return {}
