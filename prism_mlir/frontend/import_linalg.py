"""Import: from a module of linalg operations to a tensor program.

In six steps, each a file of its own: raise the function into operations on factors (``raise_function``; slices become
views there, ``pieces`` and ``restrict``), write quotients as such (``quotients``), drop softmax shifts that cancel
(``softmax_shift``), carry concatenations into sums and results (``concat``), fuse scalar chains (``scalar_fusion``), choose
layouts and write the program (``layout``, ``emit_program``).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from prism_mlir.frontend.bounds import check_bounds
from prism_mlir.frontend.concat import Distributor, has_concat, result_parts
from prism_mlir.frontend.emit_program import emit_program
from prism_mlir.frontend.quotients import as_quotients
from prism_mlir.frontend.raise_function import RaisedFunction, raise_function
from prism_mlir.frontend.scalar_fusion import fuse_scalars
from prism_mlir.frontend.softmax_shift import drop_shifts
from prism_mlir.frontend.tensor_graph import TensorGraph, TensorNode, rewritten
from prism_mlir.frontend.upstream import UpstreamModule, choose_function, read_source
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.program import Program


def import_file(source: str | Path, function: str | None = None) -> Program:
    """Import one function of an ``.mlir`` file, or of MLIR text (a ``str`` with a line break or a brace).

    ``function`` defaults to the only public one, or ``main``. Raises :class:`InputError` for text that is not valid
    MLIR or has no such function, :class:`UnsupportedError` (located, naming the operation) for what a tensor program
    cannot express.

    >>> from prism_mlir.frontend import import_file
    >>> [str(node.op) for node in import_file("examples/attention.mlir").nodes]
    ['matmul', 'unary[exp(x)]', 'sum[2]', 'div', 'matmul']
    """
    return import_module(read_source(source), function)


def import_module(upstream: UpstreamModule, function: str | None = None) -> Program:
    """Import one function of a module that :mod:`prism_mlir.frontend.upstream` read and normalised.

    Raises as :func:`import_file`, and :class:`LimitError` for what :mod:`prism_mlir.frontend.bounds` refuses.
    """
    chosen, name = choose_function(upstream, function)
    check_bounds(chosen, upstream)
    raised = raise_function(chosen, name, upstream)
    if not raised.results:
        raise UnsupportedError(f"@{name} returns nothing", upstream.locate(chosen), "return a tensor")
    return emit_program(_fused(_without_concats(_without_shifts(_in_quotients(raised)))))


def _without_concats(raised: RaisedFunction) -> RaisedFunction:
    """Every result that is still joined from parts as one result a part."""
    if not has_concat(raised.graph, _roots(raised)):
        return raised
    done = Distributor(raised.graph, _roots(raised))
    parts = tuple(part for result in raised.results for part in result_parts(done, result))
    return replace(raised, graph=done.new, results=parts)


def _in_quotients(raised: RaisedFunction) -> RaisedFunction:
    return _changed(raised, as_quotients(raised.graph, _roots(raised)))


def _without_shifts(raised: RaisedFunction) -> RaisedFunction:
    return _changed(raised, drop_shifts(raised.graph, _roots(raised)))


def _fused(raised: RaisedFunction) -> RaisedFunction:
    """Fuse until nothing changes: a fused node may make the value it read single-use."""
    while True:
        changes = fuse_scalars(raised.graph, _roots(raised))
        if not changes:
            return raised
        raised = _changed(raised, changes)


def _roots(raised: RaisedFunction) -> list[int]:
    return [result.view.node for result in raised.results]


def _changed(raised: RaisedFunction, changes: dict[int, TensorNode]) -> RaisedFunction:
    """The function with some nodes replaced and dead ones gone."""
    graph: TensorGraph
    graph, place = rewritten(raised.graph, _roots(raised), changes)
    return replace(
        raised,
        graph=graph,
        results=tuple(replace(r, view=replace(r.view, node=place[r.view.node])) for r in raised.results),
    )
