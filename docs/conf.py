"""Configuration of the site, for Sphinx. `docs/build_site.py` runs it; nothing is loaded from elsewhere when a page is read."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from site_parts.docstrings import as_fields
from site_parts.lexers import MlirLexer
from sphinx.application import Sphinx

import prism_mlir

project = "Prism"
author = "the Prism authors"
copyright = "Apache-2.0 with LLVM exceptions"
version = release = prism_mlir.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["site_parts"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
highlight_language = "text"

html_theme = "furo"
html_title = "Prism"
html_copy_source = False
html_static_path = ["site_parts/static"]
html_css_files = ["site.css"]
html_show_sphinx = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("mlir", MlirLexer)
    app.connect("autodoc-process-docstring", as_fields)
