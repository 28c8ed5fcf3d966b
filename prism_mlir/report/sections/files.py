"""Where the page comes from: files, versions, limits, and the seconds of each step."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from prism_mlir.report.contents import Contents
from prism_mlir.report.data import Data
from prism_mlir.report.words import number, size


@dataclass(frozen=True, slots=True)
class Files:
    files: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str], ...]
    seconds: tuple[tuple[str, str], ...]
    absent: tuple[str, ...]


def view(contents: Contents) -> Files:
    report = contents.report
    return Files(
        tuple((name, size(count)) for name, count in contents.files if name != "report.html"),
        tuple((name, v.text()) for name, v in report["versions"].items()),
        (*((name, _value(v)) for name, v in report["limits"].items()), ("seed", str(report["seed"].count()))),
        tuple((name, f"{v.number():.2f} s") for name, v in report["seconds"].items()),
        tuple(contents.absent.values()),
    )


def _value(data: Data) -> str:
    value = data.value
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) and isfinite(value) else str(value)
