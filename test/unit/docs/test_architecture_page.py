"""The page about the architecture names every folder of the package."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_every_folder_is_on_the_page() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    folders = [p.parent.name for p in (ROOT / "prism_mlir").glob("*/__init__.py")]
    assert [name for name in folders if f"`{name}`" not in page] == []
