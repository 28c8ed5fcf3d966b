"""How good the cost model's choice of a schedule is, against counts of the code that is made of it. No GPU.

Of each program a uniform sample of the schedules of all proved graphs is drawn, with their orientations and residencies. Each is
built and counted on the PTX machine; what the yardstick (``prism_mlir.tune.counted``) makes of the counts is taken for the truth.
What cannot be built, or spills, is no candidate.

rank: of the model's first choice by truth, 1 the best. regret k: by how much the best of the model's first k is slower than the
best of the sample. random k: the same of k built at random, on average over all draws of k, exactly. Kendall: the model's order
against the true one.

The second table is about the compiler's own choice, from all it ranks: its true time against the best of the sample, then the
best by truth of its first ``--first``, without and with the variants of these (other orientations, resident blocks asked for),
and the seconds it takes to build and count them.

    python benchmarks/schedule_choice.py [--points N] [--first N] [--only WORD ...] [--plain] [--seed N] [--json FILE]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb, fsum
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from harness.report import Row, show, write
from scipy.stats import kendalltau

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.compiler.counting import counted_kernels
from prism_mlir.compiler.discover import discover
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.upstream import read_module, read_text
from prism_mlir.graph.code_graph import code_graphs
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.kernel import CustomNode, KernelGraph
from prism_mlir.graph.program import Program
from prism_mlir.graph.schedule import ScheduledGraph
from prism_mlir.tune.choose import Choice, choose, rank
from prism_mlir.tune.cost import cost
from prism_mlir.tune.counted import counted_time
from prism_mlir.tune.parameters import parameter_space, variants
from prism_mlir.tune.sampling import sample
from prism_mlir.tune.targets import Target, find_target

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = {
    "RMSNorm 16x1024x1024": "rms_norm.mlir",
    "SwiGLU 8x2048": "swiglu.mlir",
    "GQA attention": "attention.mlir",
}
FIRST = (1, 5, 10)


def main(
    points: Annotated[int, typer.Option(min=2, help="Schedules to draw of each program.")] = 60,
    first: Annotated[int, typer.Option(min=1, help="The model's best to rank again by counts.")] = 8,
    only: Annotated[list[str] | None, typer.Option(help="Only programs whose name holds this word.")] = None,
    plain: Annotated[bool, typer.Option(help="Without orientations and residencies.")] = False,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 0,
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Draw, build, count, and print the tables."""
    rows: list[Row] = []
    for name, file in PROGRAMS.items():
        if not only or any(word in name for word in only):
            rows.append({"program": name, **row_of(Work.of(EXAMPLES / file), points, first, seed, plain)})
            write(rows, output)  # what is there already, should the run be stopped
    columns = [f"{kind} {k}" for k in FIRST for kind in ("regret", "random")]
    show("The model's order of a sample", rows, ("program", "built", "rank", *columns, "Kendall", "seconds"))
    again = ("chosen us", "/best", f"best of {first}", "with variants", "plain seconds", "variants seconds")
    show("The compiler's choice", rows, ("program", "sampled best us", *again))
    print("\n".join(f"{row['program']}: {row['space']}" for row in rows))


@dataclass(frozen=True, slots=True)
class Work:
    """A program and its proved graphs, as code is made of them."""

    program: Program
    graphs: tuple[KernelGraph, ...]
    target: Target

    @staticmethod
    def of(path: Path) -> Work:
        """What the compiler finds for a file."""
        options = CompileOptions()
        program = import_module(read_module(read_text(path), str(path)), None)
        proved = discover(program, options.limits, seed=options.seed).proved
        buildable = [g for g in proved if all(isinstance(n, CustomNode) for n in g.nodes)]
        return Work(program, tuple(code_graphs(program, buildable)[0]), find_target(options.target))

    def chosen(self) -> Choice:
        """What the compiler ranks."""
        options = CompileOptions()
        return choose(self.graphs, self.target, self.program, samples=options.samples, seed=options.seed)

    def true_us(self, scheduled: ScheduledGraph) -> float | None:
        """Microseconds by counts of the code; ``None`` where there is none, or registers spill."""
        estimated = [k.registers for k in cost(scheduled, self.target, self.program).kernels]
        try:
            compiled = compile_graph(self.program, scheduled.graph, scheduled.schedule, self.target.arch)
            return counted_time(counted_kernels(compiled, self.target.arch, estimated), self.target).total_us
        except PrismError as error:
            print(f"left out: {scheduled.schedule.text}: {error.message}", file=sys.stderr)
            return None

    def variants(self, scheduled: ScheduledGraph) -> Iterator[ScheduledGraph]:
        """The same sizes, warps and stages, turned, or with resident blocks asked for."""
        space = parameter_space(scheduled.graph, self.program)
        for point in variants(space, scheduled.schedule, self.target):
            yield ScheduledGraph(scheduled.graph, point)


def row_of(work: Work, points: int, first: int, seed: int, plain: bool) -> Row:
    """All columns of one program."""
    started = perf_counter()
    drawn = sample(work.graphs, work.target, points, seed, work.program, plain=plain)
    ranked = rank(drawn.points, work.target, work.program)
    known = [(r, us) for r in ranked if (us := work.true_us(r.scheduled)) is not None]
    true = [us for _, us in known]
    row: Row = {"space": str(drawn), "built": len(true), "seconds": perf_counter() - started}
    row |= {"rank": 1 + sum(us < true[0] for us in true), "sampled best us": min(true)}
    row["Kendall"] = float(kendalltau([r.cost.total_us for r, _ in known], true).statistic)
    for k in FIRST:
        row[f"regret {k}"] = min(true[:k]) / min(true) - 1
        row[f"random {k}"] = expected_best(true, min(k, len(true))) / min(true) - 1
    row["schedules"] = [[r.scheduled.schedule.text, r.cost.total_us, us] for r, us in known]
    return row | again(work, first, min(true))


def expected_best(times: Sequence[float], k: int) -> float:
    """The mean, over all choices of ``k`` different ones, of the least time: ``sum t_i C(n-i, k-1) / C(n, k)``, t ascending.

    >>> expected_best([3.0, 1.0, 2.0], 2)  # 1, 1 and 2
    1.3333333333333333
    """
    n = len(times)
    return fsum(t * comb(n - i, k - 1) for i, t in enumerate(sorted(times), 1)) / comb(n, k)


def again(work: Work, first: int, best: float) -> Row:
    """The compiler's choice by truth, and what ranking its best again by counts would give."""
    candidates = [r.scheduled for r in work.chosen().ranked[:first]]
    started = perf_counter()
    plain = [us for us in map(work.true_us, candidates) if us is not None]
    middle = perf_counter()
    turned = [us for c in candidates for v in work.variants(c) if (us := work.true_us(v)) is not None]
    return {
        "chosen us": plain[0],
        "/best": plain[0] / best,
        f"best of {first}": min(plain),
        "with variants": min(plain + turned),
        "variants": len(turned),
        "plain seconds": middle - started,
        "variants seconds": perf_counter() - middle,
        "first": plain,
    }


if __name__ == "__main__":
    typer.run(main)
