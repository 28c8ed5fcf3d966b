"""Limits of a search, and times, from text."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import typer

from prism_mlir.compiler.options import parse_duration
from prism_mlir.graph.errors import InputError
from prism_mlir.search.limits import SearchLimits


def duration(text: str) -> float:
    """:func:`~prism_mlir.compiler.options.parse_duration` for the command line. Raises :class:`typer.BadParameter`."""
    try:
        return parse_duration(text)
    except InputError as error:
        raise typer.BadParameter(error.message) from None


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


def with_advice(reason: str) -> str:
    """Why a search ended, and the option that lets it go on.

    >>> with_advice("states limit of 50"), with_advice("time limit of 2.0 s"), with_advice("interrupted")
    ('states limit of 50 (raise it with --max-states)', 'time limit of 2.0 s (raise it with --time-limit)', 'interrupted')
    """
    name, limit, _ = reason.partition(" limit of ")
    options = {"time": "--time-limit", **{name: f"--max-{name}" for name in ("states", "structures", "candidates")}}
    return f"{reason} (raise it with {options[name]})" if limit and name in options else reason
