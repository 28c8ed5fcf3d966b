"""Build the site.

    python docs/build_site.py [FOLDER]

Pages of this folder and pages made from the code are laid out in FOLDER/pages, and become HTML in FOLDER/html; FOLDER is
out/site. A warning of Sphinx (a link that leads nowhere, a page that no list names) is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from site_parts import stage
from site_parts.made import made_pages


def build(texts: Mapping[str, str], folder: Path, builder: str = "html") -> int:
    """Make HTML of pages (path -> text); by ``dummy`` they are read and links are resolved, and nothing is written.

    0, or 1 if anything is wrong; what it is is on standard error.
    """
    from sphinx.cmd.build import main as sphinx

    stage.write(texts, folder / "pages")
    options = ["-b", builder, "-a", "-c", str(stage.DOCS), "-W", "--keep-going", "-q"]
    return sphinx([*options, str(folder / "pages"), str(folder / "html")])


def main() -> int:
    """Build the whole site."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else stage.ROOT / "out" / "site"
    code = build(stage.staged(made_pages()), folder)
    if code == 0:
        print(folder / "html" / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
