"""The site builds without a warning, needs nothing from elsewhere, and does not build with a link that leads nowhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*MystReferenceResolver")  # myst-parser's, not ours

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module", autouse=True)
def site_code() -> Iterator[None]:
    """The build is code of the documentation and not of the package."""
    sys.path.insert(0, str(DOCS))
    yield
    sys.path.remove(str(DOCS))


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    from build_site import build
    from site_parts.made import made_pages
    from site_parts.stage import staged

    assert build(staged(made_pages()), tmp_path, "dummy") == 0, "standard error says what is wrong with which page"


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from build_site import build
    from site_parts.made import made_pages
    from site_parts.stage import staged

    folder = tmp_path_factory.mktemp("site")
    assert build(staged(made_pages()), folder) == 0
    return folder / "html"


@pytest.mark.extras
def test_every_page_is_in_the_list_at_the_side(html: Path) -> None:
    index = (html / "index.html").read_text()
    wanted = [p.relative_to(DOCS).with_suffix(".html") for p in DOCS.rglob("*.md")]
    assert [str(page) for page in wanted if f'href="{page}"' not in index and str(page) != "index.html"] == []


@pytest.mark.extras
def test_nothing_is_loaded_from_elsewhere(html: Path) -> None:
    loads = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"'](?:https?:)?//|url\([\"']?(?:https?:)?//")
    hits = [str(p) for p in html.rglob("*") if p.suffix in (".html", ".css") and loads.search(p.read_text())]
    assert hits == []


@pytest.mark.extras
def test_a_link_to_a_file_of_the_repository_shows_the_file(html: Path) -> None:
    page = (html / "reference" / "passes" / "sgraph-verify.html").read_text()
    assert 'href="../../source/prism_mlir/passes/sgraph_verify.py.html"' in page
    assert "SgraphVerifyPass" in (html / "source" / "prism_mlir" / "passes" / "sgraph_verify.py.html").read_text()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("[a](gone.md)", "gone.md"),
        ("[a](../prism_mlir/gone.py)", "gone.py"),
        ("[a](index.md#no-such-part)", "no-such-part"),
        ("```{eval-rst}\n.. autofunction:: prism_mlir.gone\n```", "gone"),
    ],
)
def test_what_leads_nowhere_does_not_build(
    line: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from build_site import build
    from site_parts.stage import linked

    assert build({"index.md": linked("index.md", f"# Title\n\n{line}\n", set())}, tmp_path, "dummy") == 1
    assert complaint in capsys.readouterr().err


def test_a_new_page_is_taken_up_by_the_list() -> None:
    from site_parts.stage import staged

    lists = staged({"how-to/brand-new.md": "# New\n"})["index.md"].splitlines()
    assert lists.count("how-to/brand-new") == 1 and lists.count("how-to/compile-a-program") == 1
    assert not [line for line in lists if line.endswith("/*")]


def test_a_page_that_no_list_names_does_not_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from build_site import build

    assert build({"index.md": "# Title\n", "lost.md": "# Lost\n"}, tmp_path, "dummy") == 1
    assert "lost.md" in capsys.readouterr().err
