"""The cost model against published timings of an A100: how far its times are off, and whether it orders problems rightly. No GPU.

For each row of the files a graph of the kernel is made (a product with a loop over the inner dim; normalise, add, activate
without a loop), up to ``--samples`` of its schedules are costed, and the best schedule's time is the prediction. What others'
kernels do inside is not modelled: a prediction says how long a good kernel takes. Published times are those of a kernel on the
device, so of a launch only what an empty kernel takes is added. Products find their weights in DRAM; elementwise kernels find
their inputs in L2 where these fit, since another kernel has just written them.

The baseline knows bytes alone: inputs and results once, at the sustained bandwidth, and the same fixed times. Constants of the
model may be adjusted to the training part; problems (all but the number of rows) are held out by a fixed hash.

Between schedules of one problem nothing is published. So ``--counted`` schedules of two small products, drawn at random, are
built and counted on the PTX machine: how well does the model order them against the yardstick (``tune/counted.py``), and by how
much is the best of its first k choices slower than the best of all (regret)?

    python benchmarks/cost_model.py --data FILE ... [--samples N] [--counted N] [--target NAME] [--json FILE]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from harness.published import Published, gemm, kendall, mape, read, regret
from harness.report import Row, show, write

from prism_mlir.codegen.compile import compile_graph
from prism_mlir.compiler.counting import counted_kernels
from prism_mlir.graph.errors import CodegenError, PrismError
from prism_mlir.graph.examples import build_program
from prism_mlir.graph.ops import MATMUL
from prism_mlir.tune.choose import choose
from prism_mlir.tune.cost import cost
from prism_mlir.tune.counted import counted_time
from prism_mlir.tune.targets import Target, find_target

Rule = Callable[[Published], bool]
GROUPS: tuple[tuple[str, Rule], ...] = (
    ("products, m <= 16", lambda r: r.kernel == "gemm" and r.size[0] <= 16),
    ("products", lambda r: r.kernel == "gemm"),
    ("rms norm", lambda r: r.kernel == "norm"),
    ("add", lambda r: r.kernel == "add"),
    ("silu and mul", lambda r: r.kernel == "act"),
    ("all", lambda r: True),
)
PARTS: tuple[tuple[str, Rule], ...] = (
    ("training", lambda r: not r.held_out),
    ("held out", lambda r: r.held_out),
    ("both", lambda r: True),
)
TARGETS = (("products, m <= 16", 0.08, 0.95), ("all", 0.15, None))
PROBLEMS = ((16, 1024, 1024), (128, 1024, 512))  # small enough to be counted in seconds
BEST = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Predicted:
    """A row with what the model, and bytes alone, say of it; ``whole_rows_us``: of schedules with one block a row."""

    row: Published
    us: float
    bytes_us: float
    schedule: str
    limiter: str
    whole_rows_us: float | None


def main(
    more: Annotated[list[Path] | None, typer.Argument(hidden=True)] = None,
    data: Annotated[list[Path] | None, typer.Option(help="Files of published timings: --data FILE ...")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Schedules of each row.")] = 1000,
    counted: Annotated[int, typer.Option(min=0, help="Schedules of each product to count on the PTX machine.")] = 24,
    target: Annotated[str, typer.Option(help="Chip of the timings.")] = "sm_80-80gb",
    output: Annotated[Path | None, typer.Option("--json", help="Also write the rows to this file.")] = None,
) -> None:
    """Predict, compare, and print the tables."""
    if not data:
        print("skipped: name files of published timings with --data", file=sys.stderr)
        return
    chip, started = find_target(target), perf_counter()
    try:
        rows = read([*data, *(more or [])])
        predicted = [predict(row, chip, samples) for row in rows]
    except PrismError as error:
        raise SystemExit(str(error)) from None
    seconds = perf_counter() - started
    write([as_row(p) for p in predicted], output)
    show("Products by rows", by_rows(predicted), ("m", "rows", "MAPE", "bias"))
    table = [*summaries(predicted), *whole_rows(predicted)]
    columns = ("rows of", "part", "rows", "MAPE", "Kendall", "bytes MAPE", "bytes Kendall")
    show(f"Published timings of {chip.description}", table, columns, f"{seconds:.0f} s")
    if counted:
        ordered = [orders(problem, counted, chip) for problem in PROBLEMS]
        show("Schedules of one product, by counts", ordered, ("product", "schedules", "Kendall", *map(top, BEST)))
    print("\n".join(verdict(table)))
    print(last_line(table))


def predict(row: Published, target: Target, samples: int) -> Predicted:
    """The best schedule's time of a row."""
    warm = row.kernel != "gemm"
    ranked = choose([row.graph], target, samples=samples).ranked
    costs = [(cost(r.scheduled, target, warm=True) if warm else r.cost, r.scheduled.schedule) for r in ranked]
    fixed = target.graph_launch_us  # of one kernel
    best, schedule = min(costs, key=lambda item: item[0].kernels_us)
    whole = [
        c.kernels_us + fixed for c, s in costs if row.kernel in ("norm", "act") and _one_block_a_row(s.size_of, row)
    ]
    moved = row.bytes / (target.dram_gbs * target.dram_sustained * 1e3)
    return Predicted(
        row,
        best.kernels_us + fixed,
        moved + target.ramp_us + fixed,
        str(schedule),
        best.kernels[0].limiter,
        min(whole, default=None),
    )


def _one_block_a_row(sizes: object, row: Published) -> bool:
    assert isinstance(sizes, dict)
    return sizes.get("x", 1) == row.size[0] and sizes.get("y", 1) == 1


def as_row(p: Predicted) -> Row:
    """What the file holds of a row."""
    part = "held out" if p.row.held_out else "training"
    size = "x".join(str(n) for n in p.row.size if n)
    return {
        "kernel": p.row.kernel,
        "size": size,
        "part": part,
        "measured us": p.row.measured_us,
        "model us": p.us,
        "bytes us": p.bytes_us,
        "one block a row us": p.whole_rows_us,
        "schedule": p.schedule,
        "limiter": p.limiter,
    }


def summaries(predicted: Sequence[Predicted]) -> list[Row]:
    """A line for each group and part that has rows."""
    found = []
    for name, rule in GROUPS:
        for part, inside in PARTS:
            rows = [p for p in predicted if rule(p.row) and inside(p.row)]
            if rows:
                found.append({"rows of": name, "part": part, **fit(rows)})
    return found


def whole_rows(predicted: Sequence[Predicted]) -> list[Row]:
    """The norm and activation rows with the grid of the kernels that were measured: one block a row."""
    rows = [replace(p, us=p.whole_rows_us) for p in predicted if p.whole_rows_us is not None]
    return [{"rows of": "norm and silu, one block a row", "part": "both", **fit(rows)}] if rows else []


def fit(rows: Sequence[Predicted]) -> Row:
    """Errors and orders of the model and of the baseline."""
    measured = [p.row.measured_us for p in rows]
    found: Row = {"rows": len(rows)}
    for name, guess in (("", [p.us for p in rows]), ("bytes ", [p.bytes_us for p in rows])):
        found |= {f"{name}MAPE": mape(measured, guess), f"{name}Kendall": kendall(measured, guess)}
    return found


def by_rows(predicted: Sequence[Predicted]) -> list[Row]:
    """MAPE and mean signed error of products for each m."""
    found = []
    for m in sorted({p.row.size[0] for p in predicted if p.row.kernel == "gemm"}):
        rows = [p for p in predicted if p.row.kernel == "gemm" and p.row.size[0] == m]
        errors = [p.us / p.row.measured_us - 1 for p in rows]
        mean = mape([p.row.measured_us for p in rows], [p.us for p in rows])
        found.append({"m": m, "rows": len(rows), "MAPE": mean, "bias": sum(errors) / len(errors)})
    return found


def orders(problem: tuple[int, int, int], count: int, target: Target) -> Row:
    """How well the model orders schedules of one product, drawn at random, against counts of the code that is made of them."""
    m, n, k = problem
    program = build_program("product", {"X": (m, k), "W": (k, n)}, [(MATMUL, (0, 1))])
    true, model = [], []
    for choice in choose([gemm(m, n, k)], target, program, samples=count).ranked:
        scheduled = choice.scheduled
        try:
            built = compile_graph(program, scheduled.graph, scheduled.schedule, target.arch)
            kernels = counted_kernels(built, target.arch, [k.registers for k in choice.cost.kernels])
            time = counted_time(kernels, target)
        except CodegenError:  # what spills is no choice, whatever its rank
            continue
        true.append(time.total_us)
        model.append(choice.cost.total_us)
    found: Row = {"product": f"{m}x{n}x{k}", "schedules": len(true), "Kendall": kendall(true, model)}
    return found | {top(k): regret(true, model, k) for k in BEST}


def top(k: int) -> str:
    """The column of the regret of the best k."""
    return f"regret, best {k}"


def line(table: Sequence[Row], name: str, part: str) -> Row | None:
    """A line of the summary."""
    return next((r for r in table if (r["rows of"], r["part"]) == (name, part)), None)


def verdict(table: Sequence[Row]) -> list[str]:
    """Which targets are met."""
    lines = []
    for name, error, order in TARGETS:
        row = line(table, name, "both")
        if row is None:
            continue
        ok = row["MAPE"] <= error and (order is None or (row["Kendall"] or 0.0) >= order)
        asked = f"MAPE <= {error:.0%}" + (f", Kendall >= {order}" if order is not None else "")
        has = quality(row)
        lines.append(f"{'met' if ok else 'missed'}: {name}: {asked}; {has}")
    return lines


def quality(row: Row) -> str:
    """Error and order of a line of the summary."""
    order = "-" if row["Kendall"] is None else f"{row['Kendall']:.3f}"
    return f"MAPE {row['MAPE']:.1%}, Kendall {order}"


def last_line(table: Sequence[Row]) -> str:
    """All rows, and the held-out part of them."""
    both, held = line(table, "all", "both"), line(table, "all", "held out")
    assert both is not None
    text = f"cost model: {both['rows']} rows, {quality(both)}"
    return text + (f"; held out: {held['rows']} rows, {quality(held)}" if held else "")


if __name__ == "__main__":
    typer.run(main)
