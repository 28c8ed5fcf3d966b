"""``prism verify`` and ``prism certify``: verdicts for given graphs, and a second opinion on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from prism_mlir.graph.errors import InputError, Location
from prism_mlir.tools.files import read_json
from prism_mlir.tools.terminal import new_table, plain_console

if TYPE_CHECKING:
    from prism_mlir.compiler.certificate import Certified
    from prism_mlir.tools.problem import NamedGraph, Problem
    from prism_mlir.verify.prove import ProofLimits
    from prism_mlir.verify.verdict import Counterexample, Verdict

Source = Annotated[
    Path, typer.Argument(help="MLIR file with a linalg function or an sgraph.program, and sgraph.graph ops.")
]
Graphs = Annotated[list[Path] | None, typer.Option("--graph", help="More files with sgraph.graph ops.")]
Function = Annotated[str | None, typer.Option(help="Which program or function, where the file has several.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("verify")(verify_command)
    app.command("certify")(certify_command)


def verify_command(
    source: Source,
    graph: Graphs = None,
    function: Function = None,
    axioms: Annotated[
        str, typer.Option(help="Groups of axioms to add, such as exp,square,distributivity.", metavar="GROUP,...")
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the refuter's random inputs.")] = 0,
    iterations: Annotated[int, typer.Option(min=1, help="Rounds of rewriting before the prover gives up.")] = 30,
    nodes: Annotated[int, typer.Option(min=1, help="E-nodes before the prover gives up.")] = 300_000,
    seconds: Annotated[float, typer.Option(min=0, help="Seconds before the prover gives up.")] = 20.0,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the verdicts to this file.")] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Write a certificate for each proved graph to this file.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay", help="Evaluate the counterexamples of a file written with --json again, and nothing else."
        ),
    ] = None,
) -> None:
    """Give each graph a verdict: proved for all sizes, refuted with a counterexample, or unknown.

    Exit code 0 only if every graph is proved (with --replay: if every counterexample shows the same again).

    Example: prism verify graphs.mlir --json verdicts.json --certificate proof.json
    """
    from prism_mlir.tools.problem import read_problem

    problem = read_problem(source, graph or [], function)
    console = plain_console()
    if replay is not None:
        raise typer.Exit(_replay(console, problem, replay))
    from prism_mlir.verify.prove import ProofLimits

    groups = _groups(axioms)
    wants_chains = output is not None or certificate is not None
    judged = _judge(problem, groups, seed, ProofLimits(iterations, nodes, seconds), wants_chains)
    _print(console, problem, judged)
    if output is not None:
        _write(output, _report(problem, judged, groups, seed))
    if certificate is not None:
        from prism_mlir.compiler.certificate import certificate as whole

        _write(certificate, whole(problem.program, [j.certified for j in judged if j.certified], groups))
        console.print(_certificate_line(certificate, judged))
    raise typer.Exit(0 if all(j.verdict.proved for j in judged) else 1)


def certify_command(
    certificate: Annotated[Path, typer.Argument(help="File written by prism verify --certificate.")],
    source: Source,
    graph: Graphs = None,
    function: Function = None,
    trials: Annotated[int, typer.Option(min=1, max=12, help="Sizes to try in exact arithmetic, for each graph.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random inputs.")] = 1,
) -> None:
    """Check a certificate with a checker that shares no code with the prover.

    It follows the chain of rule applications step by step, and compares graph and program in exact arithmetic at many sizes.
    Exit code 0 only if every graph has a certificate, and every claim in it holds.

    Example: prism certify proof.json graphs.mlir
    """
    from prism_mlir.certify.check import check_certificate
    from prism_mlir.certify.sizes import Refused
    from prism_mlir.tools.problem import read_problem
    from prism_mlir.verify.explain import graph_data, program_data

    problem = read_problem(source, graph or [], function)
    data = read_json(certificate)
    graphs = {g.name: graph_data(g.graph) for g in problem.graphs}
    try:
        checked = check_certificate(data, program_data(problem.program), graphs, trials=trials, seed=seed)
    except Refused as error:
        raise InputError(error.message, Location(str(certificate), 1, 1), "the certificate does not hold") from None
    table = new_table("graph", "chain", "axioms used", "sizes tried", "error bound", "note")
    for c in checked:
        table.add_row(
            f"@{c.name}",
            "none" if c.chain is None else f"{c.chain} steps",
            str(len(c.rules)),
            str(0 if c.evidence is None else len(c.evidence.trials)),
            _bound(None if c.evidence is None else c.evidence.log10_bound),
            c.note,
        )
    console = plain_console()
    console.print(table)
    console.print(f"{len(checked)} of {len(problem.graphs)} graphs have a certificate, and every claim in it holds")
    raise typer.Exit(0 if len(checked) == len(problem.graphs) else 1)


@dataclass(frozen=True, slots=True)
class Judged:
    """A graph with its verdict. certified: chain and evidence of a proved graph, where they were asked for."""

    found: NamedGraph
    verdict: Verdict
    certified: Certified | None


def _judge(problem: Problem, groups: Sequence[str], seed: int, limits: ProofLimits, chains: bool) -> list[Judged]:
    from prism_mlir.compiler.certificate import certify
    from prism_mlir.verify.axioms import select
    from prism_mlir.verify.verify import verify

    graphs = [g.graph for g in problem.graphs]
    verdicts = verify(problem.program, graphs, seed=seed, limits=limits, axioms=select(groups))
    proved = {g.name: g.graph for g, v in zip(problem.graphs, verdicts, strict=True) if v.proved and chains}
    certified = {c.name: c for c in certify(problem.program, proved, groups, seed=seed)}
    return [Judged(g, v, certified.get(g.name)) for g, v in zip(problem.graphs, verdicts, strict=True)]


def _groups(text: str) -> tuple[str, ...]:
    """The default groups and those added by name. Raises :class:`InputError` for a name that does not exist."""
    from prism_mlir.verify.axioms import DEFAULT_GROUPS, select

    groups = tuple(dict.fromkeys((*DEFAULT_GROUPS, *(g.strip() for g in text.split(",") if g.strip()))))
    select(groups)
    return groups


def _print(console: Console, problem: Problem, judged: Sequence[Judged]) -> None:
    """A table of verdicts, and under it why graphs are not proved."""
    table = new_table("graph", "verdict", "iterations", "nodes", "rules used", "chain", "sizes tried")
    for j in judged:
        v, c = j.verdict, j.certified
        used = ("", "") if c is None else (str(len(c.rules)), "none" if c.chain is None else f"{c.chain} steps")
        table.add_row(
            f"@{j.found.name}", v.status.value, str(v.iterations), str(v.nodes), *used, str(len(v.sizes_tried))
        )
    console.print(table)
    for j in judged:
        if not j.verdict.proved:
            console.print(f"@{j.found.name}: {_why(j.verdict)}", markup=False)
    proved = sum(j.verdict.proved for j in judged)
    axioms = judged[0].verdict.axiom_hash
    console.print(
        f"@{problem.name}: {proved} of {len(judged)} graphs proved for all sizes, under axioms {axioms}", markup=False
    )


def _why(verdict: Verdict) -> str:
    from prism_mlir.passes.sgraph_verify import detail

    return detail(verdict)


def _report(problem: Problem, judged: Sequence[Judged], groups: Sequence[str], seed: int) -> dict[str, Any]:
    return {
        "program": problem.name,
        "program_fingerprint": problem.program.fingerprint,
        "axiom_groups": list(groups),
        "seed": seed,
        "graphs": [
            {
                "graph": j.found.name,
                "fingerprint": j.found.graph.fingerprint,
                **j.verdict.to_dict(),
                "rules_used": None if j.certified is None else list(j.certified.rules),
                "chain_steps": None if j.certified is None else j.certified.chain,
            }
            for j in judged
        ],
    }


def _certificate_line(path: Path, judged: Sequence[Judged]) -> str:
    parts = [j.certified for j in judged if j.certified is not None]
    chains = sum(p.chain is not None for p in parts)
    return f"{path}: {len(parts)} graphs, {chains} with a full chain of rule applications"


def _bound(log10: float | None) -> str:
    return "" if log10 is None else f"1e{round(log10)}"


def _replay(console: Console, problem: Problem, path: Path) -> int:
    """Evaluate recorded counterexamples again; 0 if each shows what it says."""
    from prism_mlir.verify.refute import Refuter

    refuter = Refuter(problem.program)
    table = new_table("graph", "sizes", "element", "expected", "got", "as recorded", "why")
    named, same = {g.name: g for g in problem.graphs}, True
    for name, recorded in _counterexamples(path):
        if name not in named:
            raise InputError(f"there is no graph @{name}", Location(str(path), 1, 1), f"known: {', '.join(named)}")
        found = refuter.replay(named[name].graph, recorded)
        agrees = found is not None and _values(found) == _values(recorded)
        same = same and agrees
        shown = found or recorded
        table.add_row(
            f"@{name}",
            " ".join(f"{p}={n}" for p, n in recorded.sizes),
            f"output {shown.output} at {list(shown.index)}",
            str(shown.expected) if shown.index else "",
            "the same" if found is None else "no value" if found.got is None else str(found.got),
            "yes" if agrees else "no",
            "program and graph agree" if found is None else found.reason,
        )
    console.print(table)
    return 0 if same else 1


def _values(c: Counterexample) -> tuple[Any, ...]:
    return c.output, c.index, c.expected, c.got, c.reason


def _counterexamples(path: Path) -> list[tuple[str, Counterexample]]:
    from prism_mlir.verify.verdict import Counterexample

    data = read_json(path)
    rows = data.get("graphs") if isinstance(data, dict) and "graphs" in data else [data]
    found: list[tuple[str, Counterexample]] = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or row.get("counterexample") is None:
            continue
        try:
            found.append((str(row.get("graph")), Counterexample.from_dict(row["counterexample"])))
        except InputError as error:
            raise InputError(error.message, Location(str(path), 1, 1)) from None
    if not found:
        raise InputError(
            "the file holds no counterexample", Location(str(path), 1, 1), "give a file that prism verify --json wrote"
        )
    return found


def _write(path: Path, data: dict[str, Any]) -> None:
    """Write JSON, one graph a line."""
    head = json.dumps({k: v for k, v in data.items() if k != "graphs"}, indent=1).removesuffix("\n}")
    rows = ",\n".join(json.dumps(row) for row in data["graphs"])
    try:
        path.write_text(f'{head},\n "graphs": [\n{rows}\n ]\n}}\n', encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror}", None, "name another file") from None
