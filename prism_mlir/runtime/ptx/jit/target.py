"""The CPU that compiled code runs on: its vector width, and LLVM's machine for it."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import llvmlite.binding as llvm

LOCK = threading.Lock()  # LLVM's global state


@cache
def _features() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_features()


@cache
def chunk_lanes() -> int:
    """Lanes of a warp that an elementwise loop takes at once: what fills one vector register with 32-bit numbers, but no fewer
    than a byte of predicates holds."""
    return 16 if _features().get("avx512f") else 8


def lacks() -> str:
    """What compiled code needs and this CPU does not have; "" when it can run."""
    features = _features()
    return "instructions that convert halves" if "f16c" in features and not features["f16c"] else ""


def machine(effort: int) -> Any:
    """A target machine for this CPU; the engine that it is given to owns it. ``effort`` is LLVM's -O of code generation."""
    features = _features()
    flags = features.flatten() + (",-prefer-256-bit" if features.get("avx512f") else "")
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=flags, opt=effort)
