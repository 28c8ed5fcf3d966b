"""Nothing that a user gives is ever run as code: no eval, no shell, no pickle from a file, read from the text of every module.

Pickles go between the project's own processes only, in the files named here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted(p for folder in ("prism_mlir", "examples", ".ci") for p in (ROOT / folder).rglob("*.py"))

# Both send values to a process that the project itself started (a forked child; a worker of a pool or a cluster), and read
# what comes back from it. Neither reads a file.
PICKLES = frozenset({"prism_mlir/codegen/isolate.py", "prism_mlir/compiler/tasks.py"})

CODE = frozenset({"eval", "exec", "compile", "__import__"})
DESERIALIZERS = frozenset(
    {"pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle", "yaml"}
)
SHELL = frozenset({"system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell"})
# These run text, or pickles: sympify and what is built on it call eval.
CALLS = frozenset({"sympify", "parse_expr", "sympy.S", "torch.load", "numexpr.evaluate", "pandas.eval"})


def offences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and reason of everything forbidden in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            roots = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from ((node.lineno, r.split(".")[0]) for r in roots if r.split(".")[0] in DESERIALIZERS)
            names = {a.name for a in node.names} if isinstance(node, ast.ImportFrom) else set()
            yield from ((node.lineno, name) for name in sorted(names & (SHELL | CODE | CALLS)))
        elif isinstance(node, ast.Name) and node.id in CODE:  # also where it is only passed on
            yield node.lineno, node.id
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, reason) for reason in _call(node))


def _call(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    last = name.rsplit(".", 1)[-1]
    if isinstance(node.func, ast.Attribute) and last in SHELL:
        yield last
    if (name in CALLS or last in CALLS) and not any(k.arg == "strict" for k in node.keywords):  # strict takes no text
        yield name
    for keyword in node.keywords:
        off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if keyword.arg in ("shell", "allow_pickle") and not off:
            yield f"{keyword.arg}=..."


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_module_runs_data(path: Path) -> None:
    allowed = {"pickle"} if path.relative_to(ROOT).as_posix() in PICKLES else set()
    found = [(line, what) for line, what in offences(ast.parse(path.read_text())) if what not in allowed]
    assert found == []


def test_the_exceptions_are_needed() -> None:
    """A file that stops using pickle leaves the list."""
    for name in PICKLES:
        assert {what for _, what in offences(ast.parse((ROOT / name).read_text()))} == {"pickle"}


@pytest.mark.parametrize(
    "code",
    [
        "eval(text)",
        "f = exec",
        "compile(text, '', 'eval')",
        "__import__(name)",
        "import pickle",
        "from pickle import loads",
        "import os.path, marshal",
        "import yaml",
        "from os import system",
        "os.system(line)",
        "subprocess.getoutput(line)",
        "subprocess.run(line, shell=True)",
        "subprocess.run(line, shell=flag)",
        "numpy.load(path, allow_pickle=True)",
        "sympy.sympify(text)",
        "from sympy.parsing.sympy_parser import parse_expr",
        "torch.load(path)",
    ],
)
def test_the_scan_finds(code: str) -> None:
    assert len(list(offences(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code", ["re.compile(p)", "np.load(path, allow_pickle=False)", "subprocess.run([a], shell=False)", "x.eval(y)"]
)
def test_the_scan_leaves_alone(code: str) -> None:
    assert list(offences(ast.parse(code))) == []
