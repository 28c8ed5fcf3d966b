"""The paper's ten configurations in f16 and bf16: the best graph of one kernel and of two, run with every check.

Expected values are the program's in f64 within its running error bound, on random, large and (attention) steep inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codegen_graphs import with_dtype
from kernel_trials import build, check

from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.input_sets import input_sets
from prism_mlir.frontend import import_file
from prism_mlir.graph.block import TensorType
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.dtypes import DType
from prism_mlir.graph.errors import UnsupportedError
from prism_mlir.graph.footprint import ScheduleError
from prism_mlir.graph.kernel import KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.search.limits import SearchLimits
from prism_mlir.tune.choose import choose
from prism_mlir.tune.targets import find_target

PAPER = Path(__file__).parents[2] / "inputs" / "paper"
INPUTS = ("random", "large", "steep")
COLUMNS = ("workload", "type", "kernels", "graphs", "inputs", "result")
RIGHT, NO_GRAPH = "right", "no such graph"
GOOD = (RIGHT, NO_GRAPH)
BUILDS = 16


def rows(only: str, progress: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """One row for each file (with ``only`` in its name), type and number of kernels."""
    for path in sorted(PAPER.glob("*.linalg.mlir")):
        name = path.name.removesuffix(".linalg.mlir")
        if only not in name:
            continue
        source = import_file(path)
        stored = source.inputs[0].dtype
        # one search for both: the type changes neither graphs nor proofs
        one = discover(source, SearchLimits()).proved
        two = discover(source, SearchLimits(operators=7, kernels=2, second_operators=4, candidates=400)).proved
        for dtype in (DType.F16, DType.BF16):
            for count, graphs in ((1, one), (2, [g for g in two if len(g.nodes) == 2])):
                row = {"workload": name, "type": str(dtype), "kernels": count}
                row |= _checked(with_dtype(source, dtype), [_with_dtype(g, stored, dtype) for g in graphs])
                progress(", ".join(str(v) for v in row.values()))
                yield row


def _with_dtype(graph: KernelGraph, source: DType, dtype: DType) -> KernelGraph:
    """The same graph with tensors of ``dtype`` where there were some of ``source``."""

    def changed(types: Sequence[TensorType]) -> tuple[TensorType, ...]:
        return tuple(replace(t, dtype=dtype) if t.dtype is source else t for t in types)

    nodes = [replace(n, block=replace(n.block, inputs=changed(n.block.inputs))) for n in graph.custom]
    return replace(graph, inputs=changed(graph.inputs), nodes=tuple(nodes))


def _checked(program: Program, graphs: Sequence[KernelGraph]) -> dict[str, Any]:
    """The best graph that can be built, and what its runs say."""
    made, refused = code_graphs(program, graphs)
    row: dict[str, Any] = {"graphs": len(made), "inputs": "", "result": refused[0][1] if refused else NO_GRAPH}
    ranked = choose(list(made), find_target("sm_80"), program, samples=600).ranked if made else ()
    for point in ranked[:BUILDS]:
        graph, schedule = point.scheduled.graph, point.scheduled.schedule
        try:
            run = build(program, graph, schedule)
        except (ScheduleError, UnsupportedError) as error:
            row["result"] = error.message
            continue
        row |= {"schedule": str(schedule), "result": RIGHT}
        for inputs in input_sets(program):
            if inputs.name not in INPUTS:
                continue
            try:
                reason, overflowed = check(program, run, inputs.arguments)
            except Exception as error:
                reason, overflowed = f"{type(error).__name__}: {error}", False
            row["inputs"] += f"{inputs.name}{' (overflows)' * overflowed} "
            if reason:
                return row | {"result": f"{inputs.name}: {reason}", "graph": str(graph)}
        return row
    return row
