"""A program and graphs that claim to implement it, read from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from prism_mlir.dialects.sgraph.graph_ops import GraphOp
from prism_mlir.frontend.text_guard import decode
from prism_mlir.graph.errors import InputError, Location, PrismError, VerifyError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.passes.candidates import Work, work_of
from prism_mlir.passes.located import at, location_of, verify_module
from prism_mlir.passes.sgraph_import import SgraphImportPass
from prism_mlir.tools.files import unreadable
from prism_mlir.tools.module_reader import new_context, read_ir


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """A graph, its symbol name, and where it stands."""

    name: str
    graph: KernelGraph
    op: GraphOp


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be verified."""

    name: str
    program: Program
    graphs: tuple[NamedGraph, ...]


def read_problem(source: Path, more: Sequence[Path] = (), function: str | None = None) -> Problem:
    """The program of ``source`` (a linalg function or an ``sgraph.program``), and the ``sgraph.graph`` ops in it and in ``more``.

    Raises located :class:`~prism_mlir.graph.errors.PrismError` for files that cannot be read, unclear programs, and graphs
    whose mappings are still symbols.
    """
    module, context = _read(source)
    if not any(isinstance(op, FuncOp) for op in module.body.block.ops):  # graphs may implement a function: see below
        verify_module(module, str(source))
    if not any(isinstance(op, GraphOp) for op in module.body.block.ops) and not more:
        raise InputError(
            "the file holds no sgraph.graph to verify",
            Location(str(source), 1, 1),
            "add one, or name a file that has some with --graph",
        )
    _import(context, module, source)  # verifies what it leaves
    work = _choose(work_of(module), source, function)
    graphs = [NamedGraph(op.sym_name.data, g, op) for op, g in zip(work.ops, work.graphs, strict=True)]
    for path in more:
        graphs += read_graphs(path)
    for k, found in enumerate(graphs):
        if any(found.name == g.name for g in graphs[:k]):
            raise VerifyError(f"two graphs are called @{found.name}", location_of(found.op), "rename one")
        if not found.graph.is_concrete:
            raise VerifyError(
                f"mappings of @{found.name} are still symbols",
                location_of(found.op),
                "run sgraph-instantiate-maps first",
            )
    return Problem(work.op.sym_name.data, work.program, tuple(graphs))


def _read(path: Path) -> tuple[ModuleOp, Context]:
    """A module, and the context that knows its dialects and holds its resources."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    context = new_context()
    return read_ir(decode(data, str(path)), str(path), context), context


def _import(context: Context, module: ModuleOp, source: Path) -> None:
    """Functions become programs. An error names at least the file."""
    try:
        SgraphImportPass().apply(context, module)
    except PrismError as error:
        error.location = error.location or Location(str(source), 1, 1)
        raise


def _choose(work: Sequence[Work], source: Path, function: str | None) -> Work:
    names = {w.op.sym_name.data: w for w in work}
    known = ", ".join(f"@{n}" for n in names)
    if function is not None:
        if function not in names:
            raise InputError(f"no program or function @{function}", Location(str(source), 1, 1), f"there is: {known}")
        return names[function]
    with_graphs = [w for w in work if w.ops] or list(work)
    if len(with_graphs) != 1:
        raise InputError(
            f"the file holds {len(with_graphs)} programs",
            Location(str(source), 1, 1),
            f"choose one of {known} with --function",
        )
    return with_graphs[0]


def read_program(source: Path, function: str | None = None) -> Program:
    """The program of a file: a linalg function or an ``sgraph.program``. Raises located errors as :func:`read_problem`."""
    module, context = _read(source)
    _import(context, module, source)
    return _choose(work_of(module), source, function).program


def read_graphs(path: Path) -> list[NamedGraph]:
    """All ``sgraph.graph`` ops of a file, symbolic or concrete. Raises located errors; a file without graphs is one."""
    from prism_mlir.dialects.sgraph.bridge import ir_to_graph

    found: list[NamedGraph] = []
    module, _ = _read(path)
    verify_module(module, str(path))
    for op in module.body.block.ops:
        if isinstance(op, GraphOp):
            with at(op):
                found.append(NamedGraph(op.sym_name.data, ir_to_graph(op), op))
    if not found:
        raise InputError("the file holds no sgraph.graph", Location(str(path), 1, 1))
    return found
