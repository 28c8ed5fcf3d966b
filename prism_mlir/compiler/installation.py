"""What an installation of this project is, as far as results depend on it.

Tasks may run on other machines. What comes back is only what this machine would have computed where both run the same source
with the same libraries.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache

from prism_mlir import __version__
from prism_mlir.compiler.source_digest import CODE_AREAS, CODE_LIBRARIES, source_digest


@dataclass(frozen=True)
class Installation:
    """prism: the version; python: major.minor; axioms: hash of the prover's; source: of the project's text and of the versions
    of the libraries that results are made with."""

    prism: str
    python: str
    axioms: str
    source: str

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits that name it."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    def differences(self, other: Installation) -> str:
        """What differs, mine first: ``source 1a2b there, 3c4d here``."""
        theirs = asdict(other)
        return "; ".join(f"{n} {v} there, {theirs[n]} here" for n, v in asdict(self).items() if v != theirs[n])


@lru_cache(maxsize=1)  # as it was when first asked: modules that are loaded do not change with their files
def this_installation() -> Installation:
    """The installation that this process runs."""
    from prism_mlir.verify.axioms import DEFAULT, axiom_hash

    major, minor = sys.version_info[:2]
    source = source_digest(CODE_AREAS, CODE_LIBRARIES)
    return Installation(__version__, f"{major}.{minor}", axiom_hash(DEFAULT), source)
