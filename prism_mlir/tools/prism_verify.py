"""``prism verify``: verdicts for given graphs, and counterexamples evaluated again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from prism_mlir.graph.errors import InputError, Location
from prism_mlir.tools import options as opt
from prism_mlir.tools.files import check_file, json_text, read_json, write_atomically
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.terminal import Terminal, document, new_table, print_table
from prism_mlir.tools.usage import Exit, UsageError

if TYPE_CHECKING:
    from prism_mlir.compiler.certificate import Certified
    from prism_mlir.tools.problem import NamedGraph, Problem
    from prism_mlir.verify.verdict import Counterexample, Verdict


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", epilog="Example: prism verify graphs.mlir -o verdicts.json --certificate proof.json")(
        flat(verify_command)
    )


def axiom_groups(incomplete: str) -> list[str]:
    """Completes the groups of ``--axioms``."""
    from prism_mlir.verify.axioms import ALL_RULES, DEFAULT_GROUPS

    return opt.words(*sorted({r.group for r in ALL_RULES} - set(DEFAULT_GROUPS)))(incomplete)


def verify_command(
    source: opt.SourceWithGraphs,
    *,
    terminal: Terminal,
    graph: opt.Graphs = None,
    function: opt.Function = None,
    axioms: Annotated[
        str,
        typer.Option(
            help="Groups of axioms to add, such as exp,square,distributivity.",
            metavar="GROUP,...",
            autocompletion=axiom_groups,
        ),
    ] = "",
    time_limit: Annotated[float | None, opt.time_limit("Time before the prover gives up, 20s if not given")] = None,
    iterations: Annotated[int, typer.Option(min=1, metavar="N", help="Rounds of rewriting, at most.")] = 30,
    nodes: Annotated[int, typer.Option(min=1, metavar="N", help="E-nodes, at most.")] = 300_000,
    seed: opt.Seed = 0,
    output: opt.JsonFile = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="Write a certificate for each proved graph.", parser=opt.path
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            help="Only evaluate the counterexamples again that a file of -o holds.",
            parser=opt.path,
        ),
    ] = None,
) -> None:
    """Give each graph a verdict: proved for all sizes, refuted with a counterexample, or unknown.

    Exit code 0 only if every graph is proved (with --replay: if every counterexample shows the same again).
    """
    opt.check_source(source)
    if replay is not None and (output is not None or certificate is not None):
        raise UsageError("--replay proves nothing", None, "leave -o and --certificate out")
    check_file(output)
    check_file(certificate)
    with terminal.working("loading") as show:
        from prism_mlir.tools.problem import read_problem

        problem = read_problem(source, graph or [], function)
        if replay is not None:
            show("evaluating counterexamples")
            replayed = _replay(problem, replay)
        else:
            show(f"proving {len(problem.graphs)} graphs")
            groups = _groups(axioms)
            judged = _judge(
                problem, groups, seed, (iterations, nodes, time_limit), output or certificate or terminal.as_json
            )
    if replay is not None:
        _print_replayed(terminal.console, replayed)
        terminal.result("verify.replay", {"program": problem.name, "counterexamples": [r.to_dict() for r in replayed]})
        raise typer.Exit(Exit.OK if all(r.agrees for r in replayed) else Exit.FAILED)
    _print(terminal.console, problem, judged)
    _write_all(terminal, problem, judged, groups, seed, output, certificate)
    raise typer.Exit(Exit.OK if all(j.verdict.proved for j in judged) else Exit.FAILED)


def _write_all(
    terminal: Terminal,
    problem: Problem,
    judged: Sequence[Judged],
    groups: Sequence[str],
    seed: int,
    output: Path | None,
    certificate: Path | None,
) -> None:
    report = _report(problem, judged, groups, seed) if output is not None or terminal.as_json else {}
    if output is not None:
        _write(output, document("verify", report))
    if certificate is not None:
        from prism_mlir.compiler.certificate import certificate as whole

        _write(certificate, whole(problem.program, [j.certified for j in judged if j.certified], groups))
        terminal.console.print(_certificate_line(certificate, judged), markup=False)
    terminal.result("verify", report)


@dataclass(frozen=True, slots=True)
class Judged:
    """A graph with its verdict. certified: chain and evidence of a proved graph, where they were asked for."""

    found: NamedGraph
    verdict: Verdict
    certified: Certified | None


def _judge(
    problem: Problem, groups: Sequence[str], seed: int, most: tuple[int, int, float | None], chains: object
) -> list[Judged]:
    """most: rounds, nodes, and seconds (those of the prover if not given). chains: whether to look for certificates."""
    from prism_mlir.compiler.certificate import certify
    from prism_mlir.verify.axioms import select
    from prism_mlir.verify.prove import ProofLimits
    from prism_mlir.verify.verify import verify

    iterations, nodes, seconds = most
    limits = ProofLimits(iterations, nodes) if seconds is None else ProofLimits(iterations, nodes, seconds)
    graphs = [g.graph for g in problem.graphs]
    verdicts = verify(problem.program, graphs, seed=seed, limits=limits, axioms=select(groups))
    proved = {g.name: g.graph for g, v in zip(problem.graphs, verdicts, strict=True) if v.proved and chains}
    certified = {c.name: c for c in certify(problem.program, proved, groups, seed=seed)}
    return [Judged(g, v, certified.get(g.name)) for g, v in zip(problem.graphs, verdicts, strict=True)]


def _groups(text: str) -> tuple[str, ...]:
    """The default groups and those added by name. Raises :class:`UsageError` for a name that does not exist."""
    from prism_mlir.verify.axioms import DEFAULT_GROUPS, select

    groups = tuple(dict.fromkeys((*DEFAULT_GROUPS, *(g.strip() for g in text.split(",") if g.strip()))))
    try:
        select(groups)
    except InputError as error:
        raise UsageError(f"--axioms: {error.message}", None, error.hint) from None
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
    print_table(console, table)
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
    return f"{path}: {len(parts)} graph{'s' * (len(parts) != 1)}, {chains} with a full chain of rule applications"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A counterexample as it was recorded, and what came of it now; ``None`` where program and graph agree."""

    graph: str
    recorded: Counterexample
    found: Counterexample | None

    @property
    def agrees(self) -> bool:
        return self.found is not None and _values(self.found) == _values(self.recorded)

    def to_dict(self) -> dict[str, Any]:
        found = None if self.found is None else self.found.to_dict()
        return {"graph": self.graph, "as_recorded": self.agrees, "recorded": self.recorded.to_dict(), "found": found}


def _replay(problem: Problem, path: Path) -> list[Replayed]:
    """Evaluate recorded counterexamples again."""
    from prism_mlir.verify.refute import Refuter

    refuter, named = Refuter(problem.program), {g.name: g for g in problem.graphs}
    rows = []
    for name, recorded in _counterexamples(path):
        if name not in named:
            raise InputError(f"there is no graph @{name}", Location(str(path), 1, 1), f"known: {', '.join(named)}")
        rows.append(Replayed(name, recorded, refuter.replay(named[name].graph, recorded)))
    return rows


def _print_replayed(console: Console, rows: Sequence[Replayed]) -> None:
    table = new_table("graph", "sizes", "element", "expected", "got", "as recorded", "why", wrap="why")
    for row in rows:
        found, shown = row.found, row.found or row.recorded
        table.add_row(
            f"@{row.graph}",
            " ".join(f"{p}={n}" for p, n in row.recorded.sizes),
            f"output {shown.output} at {list(shown.index)}",
            str(shown.expected) if shown.index else "",
            "the same" if found is None else "no value" if found.got is None else str(found.got),
            "yes" if row.agrees else "no",
            "program and graph agree" if found is None else found.reason,
        )
    print_table(console, table)


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
            "the file holds no counterexample", Location(str(path), 1, 1), "give a file that prism verify -o wrote"
        )
    return found


def _write(path: Path, data: dict[str, Any]) -> None:
    """Write JSON, one graph a line."""
    head = json_text({k: v for k, v in data.items() if k != "graphs"}, indent=1).removesuffix("\n}")
    rows = ",\n".join(json_text(row, indent=None) for row in data["graphs"])
    write_atomically(path, f'{head},\n "graphs": [\n{rows}\n ]\n}}\n')
