"""The check of emitted code: errors of each output on each set of inputs, what is allowed, and the source's own error."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.words import number, percent

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Row:
    """width: of the bar of what is used of the bound, of ``WIDTH``"""

    inputs: str
    output: str
    error: str
    source: str
    scale: str
    used: str
    width: float
    special: str
    ok: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Accuracy:
    rows: tuple[Row, ...]
    before: bool
    left_out: tuple[tuple[str, str], ...]


def view(contents: Contents) -> Accuracy:
    """What ``report.json`` says of the check; no rows where it was not asked for."""
    report = contents.report
    return Accuracy(
        tuple(map(_row, report["accuracy"].list())),
        report["checked before"].flag(),
        tuple((g["graph"].text(), g["reason"].text()) for g in report["left out"].list()),
    )


def _row(data: Data) -> Row:
    used = data["used"].any_number()
    reason = data.get("reason")
    return Row(
        data["inputs"].text(),
        data["output"].text(),
        f"{data['error'].any_number():.3g}",
        f"{data['source_error'].any_number():.3g}",
        f"{data['scale'].any_number():.3g}",
        percent(used),
        round(min(max(used, 0.0), 1.0) * WIDTH, 1) if isfinite(used) else WIDTH,
        number(data["special"].count()),
        data["ok"].flag(),
        "" if reason is None else reason.text(),
    )
