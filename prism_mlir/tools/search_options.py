"""Options of the commands that search: limits, and which processes on which machines."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Annotated, Any

import typer

from prism_mlir.compiler.executors import SPECS
from prism_mlir.compiler.options import parse_duration
from prism_mlir.graph.errors import InputError
from prism_mlir.search.limits import SearchLimits


def _most(what: str) -> Any:
    return typer.Option(min=0, help=f"Limit: {what}.", show_default=False)


Limit = Annotated[
    list[str] | None,
    typer.Option(
        help="Limit of the search, NAME=VALUE, may be given several times: "
        + ", ".join(f.name for f in fields(SearchLimits))
        + "."
    ),
]


def duration(text: str) -> float:
    """:func:`~prism_mlir.compiler.options.parse_duration` for the command line. Raises :class:`typer.BadParameter`."""
    try:
        return parse_duration(text)
    except InputError as error:
        raise typer.BadParameter(error.message) from None


def _time_limit(what: str) -> Any:
    return typer.Option(parser=duration, metavar="TIME", help=what, show_default=False)


SearchTimeLimit = Annotated[
    float | None, _time_limit("Time for the search, 10s or 2min; what was found by then is judged.")
]
TimeLimit = Annotated[
    float | None, _time_limit("Time for everything, 10s or 2min; the best checked result by then is written.")
]
MaxOperators = Annotated[int | None, _most("operators of a kernel")]
MaxSecondOperators = Annotated[int | None, _most("operators of the second kernel")]
MaxKernels = Annotated[int | None, _most("kernels of a graph, 1 or 2")]
MaxGridDims = Annotated[int | None, _most("grid dims of a kernel, 0 to 3")]
MaxStates = Annotated[int | None, _most("partial graphs visited")]
MaxStructures = Annotated[int | None, _most("graphs with symbolic mappings")]
MaxCandidates = Annotated[int | None, _most("graphs with concrete mappings")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Processes; results are the same for any number.")]
Executor = Annotated[
    str,
    typer.Option(
        "--executor", help=f"Where what is slow runs: {SPECS}; results are the same for any.", metavar="EXECUTOR"
    ),
]


def search_limits(pairs: list[str] | None, **most: float | None) -> SearchLimits:
    """Limits from ``["operators=9"]`` and from options of their own (``None`` where not given), which win.

    Raises :class:`InputError` for a name that does not exist (with those that do) and for values out of range.
    """
    limits, known = SearchLimits(), [f.name for f in fields(SearchLimits)]
    given = [_parse(pair, known) for pair in pairs or []] + [(n, v) for n, v in most.items() if v is not None]
    for name, value in given:
        if (
            not math.isfinite(value)
            or value < 0
            or value > _HIGHEST.get(name, math.inf)
            or value < _LOWEST.get(name, 0)
        ):
            raise InputError(
                f"limit {name}={value:g} is out of range",
                None,
                "grid_dims is 0 to 3, kernels is 1 or 2, the others are not negative",
            )
        kind: Any = {"invariant_loads": bool, "seconds": float}.get(name, int)
        limits = replace(limits, **{name: kind(value)})
    return limits


_HIGHEST = {"grid_dims": 3, "kernels": 2}
_LOWEST = {"kernels": 1}


def _parse(pair: str, known: list[str]) -> tuple[str, float]:
    name, _, text = pair.partition("=")
    if name not in known:
        raise InputError(f"no limit is called '{name}'", None, f"known: {', '.join(known)}")
    try:
        return name, float(text) if name == "seconds" else int(text)
    except ValueError:
        raise InputError(f"limit {name} needs a number, got '{text}'") from None
