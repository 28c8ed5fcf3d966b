"""Mutation test of the verifier: graphs that differ from a proved one in a single place.

All proved graphs of each workload are changed in one place (see ``prism_mlir/verify/mutants.py``), mostly so that shapes,
stages and maps still fit. Exact arithmetic says which mutants are wrong; the prover, which does not see that, must prove none of
them. What it does prove is run once more by the checker of certificates, which has an evaluator of its own.

    python benchmarks/mutation.py [--inputs DIR] [--mutants N] [--seed S] [--kernels K] [--json FILE]

Exit code 1 if a wrong mutant was proved. A mutant that is neither refuted nor proved ("unknown") is listed in the file: it is
equal for reasons that neither side knows, such as exp doubled above and below the line.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = (
    "workload",
    "graphs",
    "mutants",
    "well-formed",
    "wrong",
    "equal",
    "proved",
    "unknown",
    "wrong and proved",
    "s",
)


def measure(path: Path, count: int, seed: int, kernels: int) -> dict[str, Any]:
    """One row: mutants of all proved graphs of the program in a file."""
    from prism_mlir.compiler.discover import discover
    from prism_mlir.frontend import import_file
    from prism_mlir.search.limits import SearchLimits
    from prism_mlir.verify.mutants import mutants
    from prism_mlir.verify.prove import prove
    from prism_mlir.verify.refute import Refuter

    started, program = perf_counter(), import_file(path)
    found_by_search = discover(program, SearchLimits(kernels=kernels))
    graphs, rng = found_by_search.proved, np.random.default_rng(seed)
    each = -(-count // max(1, len(graphs)))
    changed = {m.graph.fingerprint: m for g in graphs for m in mutants(g, rng, each)}
    found = list(changed.values())
    refuter = Refuter(program, seed=seed)
    wrong = [refuter.refute(m.graph) is not None for m in found]
    verdicts = prove(program, [m.graph for m in found])
    rejected = [
        m
        for m, w, v in zip(found, wrong, verdicts, strict=True)
        if v.proved and (w or not second_opinion(program, m.graph))
    ]
    kinds = Counter(m.kind for m, w in zip(found, wrong, strict=True) if w)
    return {
        "workload": path.name.removesuffix(".mlir").removesuffix(".linalg"),
        "graphs": len(graphs),
        "mutants": len(found),
        "well-formed": sum(m.well_formed for m in found),
        "wrong": sum(wrong),
        "equal": len(found) - sum(wrong),
        "proved": sum(v.proved for v in verdicts),
        "unknown": sum(not v.proved and not w for v, w in zip(verdicts, wrong, strict=True)),
        "wrong and proved": len(rejected),
        "s": perf_counter() - started,
        "wrong by kind": dict(sorted(kinds.items())),
        "unknown graphs": [
            f"{m.kind}: {m.graph}" for m, w, v in zip(found, wrong, verdicts, strict=True) if not w and not v.proved
        ],
        "proved wrongly": [f"{m.kind}: {m.graph}" for m in rejected],
    }


def second_opinion(program: Any, graph: Any) -> bool:
    """Whether the checker's own evaluator agrees that the graph computes the program."""
    from prism_mlir.certify.check import evidence_for
    from prism_mlir.certify.sizes import Refused
    from prism_mlir.verify.explain import graph_data, program_data

    try:
        evidence_for(program_data(program), graph_data(graph), trials=4, seed=11)
    except Refused:
        return False
    return True


def main(
    inputs: Annotated[Path, typer.Option(help="Folder of .mlir files.")] = ROOT / "examples",
    mutants: Annotated[int, typer.Option(min=1, help="Mutants for each workload, if there are as many.")] = 3000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    kernels: Annotated[int, typer.Option(min=1, max=2, help="Graph-defined kernels of a graph.")] = 1,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Print one row for each file, and how many wrong mutants of each kind there were."""
    console, rows = Console(width=150, highlight=False), []
    table = Table(*COLUMNS)
    for path in sorted(inputs.glob("*.mlir")):
        rows.append(measure(path, mutants, seed, kernels))
        table.add_row(*(f"{v:.1f}" if isinstance(v := rows[-1][c], float) else str(v) for c in COLUMNS))
    total = {c: sum(r[c] for r in rows) for c in COLUMNS[1:]}
    table.add_row("all", *(f"{v:.1f}" if isinstance(v, float) else str(v) for v in total.values()))
    console.print(table)
    kinds = sum((Counter(r["wrong by kind"]) for r in rows), Counter())
    console.print("wrong mutants by kind: " + ", ".join(f"{k} {n}" for k, n in sorted(kinds.items())))
    for line in (line for r in rows for line in r["proved wrongly"]):
        console.print(f"PROVED WRONGLY {line}", markup=False)
    if output is not None:
        output.write_text(json.dumps({"rows": rows, "total": total}, indent=2) + "\n")
    raise typer.Exit(1 if total["wrong and proved"] else 0)


if __name__ == "__main__":
    typer.run(main)
