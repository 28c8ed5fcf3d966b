"""The import arrow of the project, read from the source text of every module.

    tools -> passes -> {frontend, search, verify, tune, codegen, runtime, report} -> graph;  passes -> dialects

`compiler` (the line from a file to checked code) sits between tools and passes on one side and the areas on the other.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "prism_mlir"

AREAS = frozenset({"frontend", "search", "verify", "certify", "tune", "codegen", "runtime", "report"})
MIDDLE = AREAS | {"graph", "dialects"}

MAY_IMPORT: dict[str, frozenset[str]] = {
    "graph": frozenset(),
    "dialects": frozenset({"graph"}),
    **{area: frozenset({"graph"}) for area in AREAS},
    "compiler": MIDDLE,
    "passes": MIDDLE | {"compiler"},
    "universe": frozenset({"dialects", "passes"}),
    "tools": MIDDLE | {"compiler", "passes", "universe"},
    "api": MIDDLE | {"compiler", "tools"},
    "frameworks": MIDDLE | {"compiler", "api"},
    "torch": MIDDLE | {"compiler", "api", "frameworks"},
    "jax": MIDDLE | {"compiler", "api", "frameworks"},
}

# Text enters upstream MLIR in one place, so those who execute a program or lower a module with it go through that place.
UPSTREAM_DOOR = "frontend.upstream"
THROUGH_THE_DOOR = frozenset({"runtime.cpu_jit", "codegen.ptx"})

# What measures on a GPU is a program of its own, which runs on machines that have not much beside a driver.
BUNDLE = "runtime.bundle"

# Where IR and graph objects meet: one bridge below, and everything from the passes up.
IR_MEETS_GRAPH = "dialects.sgraph.bridge"


def modules() -> list[str]:
    """Names below ``prism_mlir``, such as ``graph.ops``; ``""`` is the package itself."""
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


def source_of(name: str) -> Path:
    path = PACKAGE.joinpath(*name.split(".")) if name else PACKAGE
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imported(name: str) -> set[str]:
    """Absolute names of everything a module imports anywhere in its text, type-checking blocks included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source_of(name).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level == 1 and name.startswith(BUNDLE):  # copied out of the package, it has another full name there
                found.add(f"prism_mlir.{BUNDLE}.{node.module}")
                continue
            assert node.level == 0, f"{name}: relative import; the project spells names in full"
            assert node.module is not None
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def area_of(name: str) -> str:
    return name.split(".")[0]


def project_imports(name: str) -> Iterator[str]:
    """What a module imports from the project, as names below ``prism_mlir``."""
    for target in imported(name):
        if target.startswith("prism_mlir."):
            yield target.removeprefix("prism_mlir.")


@pytest.mark.parametrize("name", modules())
def test_imports_point_downward(name: str) -> None:
    area = area_of(name)
    for target in project_imports(name):
        if not area or area_of(target) in {area, "__version__"}:
            continue
        if name in THROUGH_THE_DOOR and f"{target}.".startswith(f"{UPSTREAM_DOOR}."):
            continue
        assert area in MAY_IMPORT, f"{name}: no place in the architecture for '{area}'"
        assert area_of(target) in MAY_IMPORT[area], f"{name} imports {target}, against the arrow"


def test_the_package_itself_imports_nothing_but_its_api_when_that_is_asked_for() -> None:
    names = {
        target.removeprefix("prism_mlir.")
        for target in imported("")
        if target.split(".")[0] not in sys.stdlib_module_names
    }
    assert names <= {"prism_mlir", "api", "api.PartialResult", "api.PrismError", "api.Result", "api.optimize"}


@pytest.mark.parametrize("name", [m for m in modules() if area_of(m) in {"graph", "search", "verify", "tune"}])
def test_the_model_knows_no_ir(name: str) -> None:
    assert not {t for t in imported(name) if t.split(".")[0] in {"xdsl", "mlir"}}


@pytest.mark.parametrize("name", [m for m in modules() if m.startswith("runtime.ptx")])
def test_the_ptx_machine_stands_alone(name: str) -> None:
    assert all(t.startswith("runtime.ptx") for t in project_imports(name) if t != "runtime")


@pytest.mark.parametrize("name", [m for m in modules() if m.startswith(BUNDLE)])
def test_what_measures_on_a_gpu_stands_alone(name: str) -> None:
    """The standard library and NumPy, in the Python of 3.9; cuda-python and torch are looked up by name when it runs."""
    allowed = {*sys.stdlib_module_names, "numpy"}
    assert {t for t in imported(name) if t.split(".")[0] not in {*allowed, "prism_mlir"}} == set()
    assert all(t.startswith(BUNDLE) for t in project_imports(name))
    ast.parse(source_of(name).read_text(), feature_version=(3, 9))


@pytest.mark.parametrize("name", [m for m in modules() if area_of(m) == "certify"])
def test_the_checker_of_certificates_shares_nothing_with_what_it_checks(name: str) -> None:
    assert all(t.startswith(("certify", "graph.errors")) for t in project_imports(name))
    assert not {t for t in imported(name) if t.split(".")[0] in {"egglog", "networkx", "sympy"}}


@pytest.mark.parametrize("name", [m for m in modules() if area_of(m) in MIDDLE and not m.startswith(IR_MEETS_GRAPH)])
def test_ir_and_graph_meet_in_the_bridge_only(name: str) -> None:
    """Error types and locations are no graph objects; everybody may raise them."""
    uses_xdsl = any(t.split(".")[0] == "xdsl" for t in imported(name))
    objects = [t for t in project_imports(name) if t.startswith("graph.") and not t.startswith("graph.errors")]
    assert not (uses_xdsl and objects), f"{name} mixes xDSL with {objects}"


@pytest.mark.parametrize("name", [m for m in modules() if area_of(m) != "tools"])
def test_the_terminal_belongs_to_tools(name: str) -> None:
    assert not {t for t in imported(name) if t.split(".")[0] in {"typer", "rich", "click"}}


@pytest.mark.parametrize("door", ["dialects", "passes", "tools"])
def test_doors_at_the_root_lead_into_the_package(door: str) -> None:
    assert (ROOT / door).is_symlink()
    assert (ROOT / door).resolve() == PACKAGE / door


def test_every_pass_is_one_name_everywhere() -> None:
    for path in sorted((PACKAGE / "passes").glob("sgraph_*.py")):
        pass_name = path.stem.replace("_", "-")
        class_name = "".join(word.capitalize() for word in path.stem.split("_")) + "Pass"
        classes = {n.name for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ClassDef)}
        assert class_name in classes, f"{path.name} defines no {class_name}"
        assert (ROOT / "test/passes" / f"{pass_name}.mlir").exists(), f"no lit test for {pass_name}"


IMPORT_ALONE = """
import sys, time
start = time.perf_counter()
import prism_mlir
seconds = time.perf_counter() - start
heavy = {"numpy", "sympy", "xdsl", "egglog", "networkx", "llvmlite", "cuda", "mlir", "typer", "rich", "subprocess"}
print(seconds, *sorted(heavy & set(sys.modules)))
"""


def test_importing_the_package_is_light() -> None:
    """Under half a second, no GPU, no process, nothing heavy."""
    outcome = subprocess.run([sys.executable, "-c", IMPORT_ALONE], capture_output=True, text=True, check=True)
    seconds, *heavy = outcome.stdout.split()
    assert heavy == []
    assert float(seconds) < 0.5
