"""Number of unique proved graphs, beside the paper's Table 3.

As in the paper two graphs differ where their sequence of operators or their mappings do; parallel sizes do not count. Wiring
counts only in the last column, where two graphs with the same operators in the same order may be different graphs.

    python benchmarks/table3_graph_diversity.py [--kernels 2] [--operators N] [--time-limit S] [--json FILE]
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from harness.measure import isolated
from harness.report import Row, show, write
from harness.workloads import WORKLOADS

COLUMNS = (
    "workload",
    "unique",
    "paper",
    "Mirage",
    "C++",
    "operator sequences",
    "by grid dims 0/1/2/3",
    "without loop",
    "with wiring",
    "stopped by",
)


def measure(path: str, kernels: int, operators: int, seconds: float) -> Row:
    """Counts of the proved graphs of the program in a file."""
    from prism_mlir.compiler.discover import discover
    from prism_mlir.frontend import import_file
    from prism_mlir.graph.kernel import CustomNode, KernelGraph
    from prism_mlir.search.limits import SearchLimits

    def sequence(graph: KernelGraph) -> tuple[object, ...]:
        return tuple(
            tuple(n.op.sort_key for n in node.block.nodes) if isinstance(node, CustomNode) else node.op.sort_key
            for node in graph.nodes
        )

    def mappings(graph: KernelGraph) -> tuple[object, ...]:
        return tuple(node.mapping for node in graph.custom)

    limits = SearchLimits(operators=operators, kernels=kernels, seconds=seconds)
    found = discover(import_file(path), limits)
    proved = found.proved
    unique = {(sequence(g), mappings(g)): g for g in proved}
    dims = Counter(max((len(n.block.grid) for n in g.custom), default=0) for g in unique.values())
    return {
        "unique": len(unique),
        "operator sequences": len({s for s, _ in unique}),
        "by grid dims 0/1/2/3": "/".join(str(dims[k]) for k in range(4)),
        "without loop": sum(all(n.block.loop is None for n in g.custom) for g in unique.values()),
        "with wiring": len(set(proved)),
        "stopped by": "; ".join(found.funnel.stopped_by) or None,
    }


def main(
    kernels: Annotated[int, typer.Option(help="Graph-defined operators of a graph: 1 is the paper's space.")] = 1,
    operators: Annotated[int, typer.Option(help="Block operators allowed.")] = 11,
    time_limit: Annotated[float, typer.Option(help="Seconds that one search may take.")] = 60,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print one row for each workload."""
    rows: list[Row] = []
    for workload in WORKLOADS:
        row = isolated(measure, str(workload.path), kernels, operators, time_limit)
        published = workload.published
        beside = {
            "paper": published.prism_graphs,
            "Mirage": " / ".join(map(str, published.mirage_graphs)),
            "C++": published.implementation_graphs,
        }
        rows.append({"workload": workload.name, "kernels": kernels, "operators": operators, **row, **beside})
    note = "Only proved graphs count. paper: one symbolic search. Mirage: two configurations. C++: the open implementation."
    show(f"Table 3: unique graphs, {kernels} graph-defined operator(s)", rows, COLUMNS, note)
    write(rows, output)


if __name__ == "__main__":
    typer.run(main)
