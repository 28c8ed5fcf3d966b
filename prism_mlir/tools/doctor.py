"""What works on this machine, what is missing, and what each missing part costs. Every part is tried, not only looked for."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Any

from prism_mlir import __version__
from prism_mlir.tools.files import writable

DISTRIBUTION = "prism-mlir"
OLDEST = (3, 11)


class State(StrEnum):
    """OK: works; MISSING: not there, and not needed; BROKEN: needed and not there, or there and does not work."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part. found: version, place, or what is wrong; cost: what does not work without it; advice: what to do."""

    group: str
    part: str
    state: State
    found: str
    cost: str = ""
    advice: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "state": self.state.value}


def examine() -> Iterator[Finding]:
    """All parts, one after the other, as they are tried."""
    yield _python()
    yield from _packages()
    for part, probe in _PROBES.items():
        yield _tried("works", part, probe)
    for name, cost in _PROGRAMS.items():
        yield _program("optional", name, cost)
    yield _gpu()
    for module, (extra, cost) in _MODULES.items():
        yield _module("optional", module, extra, cost)
    yield _records()
    yield _program("development", "mlir-opt", "tests that compare with it are skipped")
    for module, (extra, cost) in _DEVELOPMENT.items():
        yield _module("development", module, extra, cost)


def _python() -> Finding:
    have = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info[:2] >= OLDEST
    advice = "" if good else f"install Python {'.'.join(map(str, OLDEST))} or later"
    found = f"{have}, {os.cpu_count()} processors"
    return Finding("needed", "Python", State.OK if good else State.BROKEN, found, "" if good else "everything", advice)


def _packages() -> Iterator[Finding]:
    """The dependencies of the project, as its own metadata names them."""
    yield Finding("needed", DISTRIBUTION, State.OK, __version__)
    try:
        wanted = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        wanted = []
        advice = "install it: pip install -e ."
        yield Finding("needed", "metadata", State.BROKEN, "the package is not installed", "its entry points", advice)
    for line in wanted:
        requirement, _, marker = line.partition(";")
        name = re.split(r"[<>=!~\[ ]", requirement.strip(), maxsplit=1)[0]
        if "extra ==" in marker or not _applies(marker):
            continue
        try:
            yield Finding("needed", name, State.OK, version(name))
        except PackageNotFoundError:
            yield Finding("needed", name, State.BROKEN, "not installed", "everything", f'pip install "{requirement}"')


def _applies(marker: str) -> bool:
    """Whether a marker about the version of Python, the only kind there is, holds."""
    found = re.search(r'python_version\s*(<|>=)\s*"(\d+)\.(\d+)"', marker)
    if found is None:
        return True
    below = sys.version_info[:2] < (int(found[2]), int(found[3]))
    return below if found[1] == "<" else not below


def _mlir() -> str:
    from prism_mlir.frontend.upstream import read_module

    read_module("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }")
    return "parses and verifies"


def _ptx() -> str:
    from prism_mlir.codegen.ptx import gpu_module_to_ptx

    text = "module attributes {gpu.container_module} { gpu.module @m { gpu.func @k() kernel { gpu.return } } }"
    result = gpu_module_to_ptx(text)
    return f"PTX {'.'.join(map(str, result.ptx_version))} for {result.target}"


def _prover() -> str:
    from prism_mlir.compiler.discover import discover
    from prism_mlir.graph.examples import softmax_matmul

    found = discover(softmax_matmul(64, 64, 16))
    if not found.proved:
        raise RuntimeError("nothing was proved")
    return f"{len(found.proved)} graphs of softmax(X) . W proved"


def _machine() -> str:
    import numpy as np

    from prism_mlir.runtime.ptx import Module

    text = (
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 p) {\n"
        " .reg .b64 %r<3>; .reg .b32 %t<2>;\n"
        " ld.param.u64 %r0, [p]; mov.u32 %t0, %tid.x; mul.wide.u32 %r1, %t0, 4; add.s64 %r2, %r0, %r1;\n"
        " st.global.u32 [%r2], %t0; ret;\n}\n"
    )
    out = np.zeros(32, np.uint32)
    Module.load(text).kernel("k").run(grid=(1, 1, 1), block=(32, 1, 1), args=[out], outputs={0})
    if out.tolist() != list(range(32)):
        raise RuntimeError("a kernel of five instructions is wrong")
    return "runs a kernel, and checks it"


def _cpu_jit() -> str:
    import numpy as np

    from prism_mlir.runtime.cpu_jit import compile_module

    source = (
        "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %e = tensor.empty() : tensor<4xf32>\n"
        "  %r = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %r : tensor<4xf32>\n}\n"
    )
    from prism_mlir.frontend.upstream import read_module

    (got,) = compile_module(read_module(source).text, None)(np.zeros(4, np.float32))
    if not np.allclose(got, 1.0):
        raise RuntimeError("exp(0) is not 1")
    return "runs source programs"


_PROBES: dict[str, Callable[[], str]] = {
    "upstream MLIR": _mlir,
    "code generation": _ptx,
    "search and proof": _prover,
    "PTX machine": _machine,
    "upstream's JIT": _cpu_jit,
}

_PROGRAMS = {
    "ptxas": "registers are estimated, spills are not seen, and host modules hold PTX without machine code",
    "nvdisasm": "no listing of machine code",
}

_MODULES = {
    "torch": ("torch", 'no torch.compile(..., backend="prism"), no prism_mlir.torch, no PyTorch in prism bench'),
    "jax": ("jax", "no prism_mlir.jax, and StableHLO in custom syntax or bytecode is not read (generic form is)"),
    "triton": ("triton", "no Triton in prism bench and prism bundle (--peers triton)"),
    "distributed": ("distributed", "no --executor dask://HOST:PORT"),
}


_DEVELOPMENT = {
    "lit": ("test", "no make test"),
    "sphinx": ("docs", "no make docs"),
    "matplotlib": ("bench", "no plots of benchmarks"),
}


def _tried(group: str, part: str, probe: Callable[[], str]) -> Finding:
    try:
        return Finding(group, part, State.OK, probe())
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        return Finding(
            group, part, State.BROKEN, f"{type(error).__name__}: {text}", "everything", "see the versions above"
        )


def _program(group: str, name: str, cost: str) -> Finding:
    from prism_mlir.codegen.external import TOOLS, find_tool

    path = find_tool(name)
    if path is not None:
        return Finding(group, name, State.OK, str(path))
    return Finding(group, name, State.MISSING, "not found", cost, TOOLS[name])


def _gpu() -> Finding:
    from prism_mlir.graph.errors import PrismError
    from prism_mlir.runtime.cuda import call, load_driver

    try:
        driver = load_driver()
        count = call(driver, "cuDeviceGetCount")
        name = call(driver, "cuDeviceGetName", 128, call(driver, "cuDeviceGet", 0))
        text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
        return Finding("optional", "GPU", State.OK, f"{count} device(s), {text.strip(chr(0) + ' ')}")
    except PrismError as error:
        cost = "no prism bench, no --profile; kernels run on the PTX machine instead"
        return Finding("optional", "GPU", State.MISSING, error.message, cost, error.hint or "")


def _module(group: str, name: str, extra: str, cost: str) -> Finding:
    if find_spec(name) is None:
        return Finding(group, name, State.MISSING, "not installed", cost, f'pip install "{DISTRIBUTION}[{extra}]"')
    try:
        return Finding(group, name, State.OK, version(name))
    except PackageNotFoundError:
        return Finding(group, name, State.OK, "of unknown version")


def _records() -> Finding:
    from prism_mlir.tune.records.store import Records, default_folder

    folder, told = default_folder(), list[str]()
    if folder is None:
        return Finding(
            "optional", "records", State.MISSING, "switched off", "everything is searched again", "set PRISM_CACHE_DIR"
        )
    with Records.open(folder, told.append) as records:
        path = records.path
        if path is not None and not told:
            if writable(path) and writable(path.parent):
                return Finding("optional", "records", State.OK, str(path))
            cost = "what is found is searched again the next time"
            advice = "make file and folder writable, or set PRISM_CACHE_DIR to another folder"
            return Finding("optional", "records", State.BROKEN, f"{path} is read-only", cost, advice)
    reason = told[0] if told else "cannot be opened"
    return Finding(
        "optional", "records", State.BROKEN, reason, "everything is searched again", "see prism cache verify"
    )
