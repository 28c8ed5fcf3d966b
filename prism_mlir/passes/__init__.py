"""The passes. A pass has one name everywhere: ``sgraph-foo-bar`` is class ``SgraphFooBarPass`` in ``sgraph_foo_bar.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from xdsl.passes import ModulePass

NAMES = (
    "sgraph-import",
    "sgraph-generate",
    "sgraph-match-dims",
    "sgraph-prune",
    "sgraph-instantiate-maps",
    "sgraph-verify",
    "sgraph-instantiate-parameters",
    "sgraph-fuse-threads",
    "sgraph-to-gpu",
    "gpu-to-ptx",
    "prism-superoptimize",
)
"""Every pass, in the order in which ``prism-superoptimize`` runs them."""


def load_pass(name: str) -> type[ModulePass]:
    """The class of a pass, imported when asked for."""
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    loaded: type[ModulePass] = getattr(module, class_name(name))
    return loaded


def class_name(name: str) -> str:
    """``sgraph-to-gpu`` -> ``SgraphToGpuPass``."""
    return "".join(word.capitalize() for word in name.split("-")) + "Pass"


PASSES: dict[str, Callable[[], type[ModulePass]]] = {name: partial(load_pass, name) for name in NAMES}
"""Name of a pass -> loader of its class."""
