"""Lays out the pages that Sphinx reads: those of this folder, those made from the code, and those of source files.

A link that leaves ``docs`` for a file of the repository (``../../prism_mlir/graph/ops.py``) becomes a link to a page
that shows the file, so the site is whole by itself. A link to what is not there stays as it is, and the strict build
refuses it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PASSES = "reference/passes/README.md"
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".toml": "toml", ".mlir": "mlir", ".ptx": "ptx", ".jsonl": "json"}


def pages() -> dict[str, str]:
    """Path -> text of the pages that are written by hand or committed."""
    return {str(p.relative_to(DOCS)): p.read_text() for p in sorted(DOCS.rglob("*.md"))}


def outside(page: str, target: str) -> str | None:
    """The path in the repository that a link of a page leads to, if it leaves ``docs`` for what exists."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    leaves = not path.startswith(("docs/", ".."))
    return path if leaves and (ROOT / path).exists() else None


def source_page(path: str) -> str:
    """Where the site shows a file or folder of the repository."""
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def show(path: str) -> str:
    """The page of a file or folder of the repository."""
    place = ROOT / path
    if place.is_dir():
        names = sorted(p.name + "/" * p.is_dir() for p in place.iterdir() if p.name[0] not in "._")
        body = "".join(f"- `{name}`\n" for name in names if name != "__pycache__/")
        return f"---\norphan: true\n---\n\n# {path}/\n\n{body}"
    text = place.read_text()
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`{3,}", text)), default=0))
    body = f"{fence}{LANGUAGES.get(place.suffix, 'text')}\n{text}\n{fence}\n"
    return f"---\norphan: true\n---\n\n# {path}\n\n{body}"


def linked(page: str, text: str, found: set[str]) -> str:
    """The text of a page with links that leave ``docs`` led to the pages of their targets, which are added to ``found``."""

    def rewritten(match: re.Match[str]) -> str:
        path = outside(page, match[2])
        if path is None:
            return match[0]
        found.add(path)
        return match[1] + posixpath.relpath(source_page(path), posixpath.dirname(page) or ".") + match[3]

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(rewritten, part) for part in parts)


def staged(made: Mapping[str, str]) -> dict[str, str]:
    """Path -> text of everything that Sphinx reads. ``made``: the pages made from the code."""
    found: set[str] = set()
    texts = {path: linked(path, text, found) for path, text in {**pages(), **made}.items()}
    texts["index.md"] = expanded(texts["index.md"], texts)
    texts[PASSES] += listed(p for p in texts if p.startswith("reference/passes/") and p != PASSES)
    return {**texts, **{source_page(path): show(path) for path in sorted(found)}}


def expanded(index: str, paths: Iterable[str]) -> str:
    """The list of pages with ``folder/*`` replaced by the pages of that folder that it does not name."""
    named = set(re.findall(r"^[\w/-]+$", index, re.MULTILINE))
    pages = sorted(path.removesuffix(".md") for path in paths)

    def rest(match: re.Match[str]) -> str:
        return "\n".join(p for p in pages if posixpath.dirname(p) == match[1] and p not in named)

    return re.sub(r"^([\w/-]+)/\*$", rest, index, flags=re.MULTILINE)


def listed(paths: Iterable[str]) -> str:
    """Pages that lie below another one in the list at the side."""
    names = "\n".join(posixpath.basename(path).removesuffix(".md") for path in sorted(paths))
    return f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def write(texts: Mapping[str, str], folder: Path) -> None:
    """Write pages into a folder, leaving those that have not changed, and remove others."""
    for path, text in texts.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text() != text:
            place.write_text(text)
    for place in folder.rglob("*.md"):
        if str(place.relative_to(folder)) not in texts:
            place.unlink()
