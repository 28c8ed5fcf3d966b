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
SHELL = frozenset({"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"})
SHELL |= {"asyncio.create_subprocess_shell"}
# These run text, or pickles: sympify and what is built on it call eval.
CALLS = frozenset({"sympify", "parse_expr", "sympy.S", "torch.load", "numexpr.evaluate", "pandas.eval"})


def offences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and reason of everything forbidden in a module."""
    nodes = list(ast.walk(tree))
    own = {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
    own |= {a.asname or a.name for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names}
    for node in nodes:
        if isinstance(node, ast.Import):
            roots = {alias.name.split(".")[0] for alias in node.names}
            yield from ((node.lineno, root) for root in sorted(roots & DESERIALIZERS))
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, what) for what in _from(node))
        elif isinstance(node, ast.Name) and node.id in CODE - own:  # also where it is only passed on
            yield node.lineno, node.id
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, what) for what in _call(node))


def _from(node: ast.ImportFrom) -> Iterator[str]:
    root = (node.module or "").split(".")[0]
    if root in DESERIALIZERS:
        yield root
    for alias in node.names:
        if f"{root}.{alias.name}" in SHELL or alias.name in CALLS or (root == "builtins" and alias.name in CODE):
            yield alias.name


def _call(node: ast.Call) -> Iterator[str]:
    name = ast.unparse(node.func)
    last = name.rsplit(".", 1)[-1]
    strict = any(keyword.arg == "strict" for keyword in node.keywords)  # sympify takes no text then
    if name in SHELL or name.startswith("os.exec") or ((name in CALLS or last in CALLS) and not strict):
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
        "from builtins import exec",
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
    "code",
    [
        "re.compile(p)",
        "np.load(path, allow_pickle=False)",
        "subprocess.run([a], shell=False)",
        "x.eval(y)",
        "platform.system()",
        "from a import compile\ncompile(b)",
    ],
)
def test_the_scan_leaves_alone(code: str) -> None:
    assert list(offences(ast.parse(code))) == []
