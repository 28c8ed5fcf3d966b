"""What holds for every file of the repository, whatever it is about."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Spelt in pieces, so that this file does not name what it forbids.
REGISTRY_HOSTS = [
    "pypi." + "org",
    "python" + "hosted",
    "download.py" + "torch",
    "deb.deb" + "ian.org",
    "npm" + "js.org",
]
MACHINE_PATHS = ["/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "/Us" + "ers/", "/opt/" + "wheels", "../sha" + "red"]
FORBIDDEN = re.compile("|".join(re.escape(word) for word in REGISTRY_HOSTS + MACHINE_PATHS))


def tracked_files() -> list[Path]:
    """Files that belong to the project: what git tracks, or everything outside ignored folders in an export."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        names = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        names = [p for p in ROOT.rglob("*") if not {".venv", "__pycache__"} & set(p.parts)]
    return [p for p in names if p.is_file() and not p.is_symlink()]


def test_no_file_names_a_registry_or_a_path_of_one_machine() -> None:
    hits = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", "replace")
        found = FORBIDDEN.search(text)
        if found is not None:
            line = text.count("\n", 0, found.start()) + 1
            hits.append(f"{path.relative_to(ROOT)}:{line}: {found.group()}")
    assert hits == []


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", ".ci/run"])
def test_the_files_a_newcomer_looks_for_exist(name: str) -> None:
    assert (ROOT / name).stat().st_size > 0


def test_the_licence_is_the_one_the_metadata_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0 WITH LLVM-exception"
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "LLVM Exceptions to the Apache 2.0 License" in text


def test_every_dependency_names_versions_that_were_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    unpinned = [r for r in project["dependencies"] if not re.search(r"[=<>~]=?\s*\d", r)]
    assert unpinned == []


def test_local_links_in_the_documentation_lead_somewhere() -> None:
    broken = []
    for page in ROOT.glob("*.md"):  # the strict build of the site looks at those of docs
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose):
            if not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []
