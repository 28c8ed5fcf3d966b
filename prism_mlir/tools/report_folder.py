"""Read a folder that ``prism compile`` wrote, for the page about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prism_mlir.graph.errors import InputError, Location
from prism_mlir.report.contents import Contents, launch_kernels
from prism_mlir.report.data import Data
from prism_mlir.tools.files import read_json
from prism_mlir.tools.report_counts import count_lines

DETAILS, CERTIFICATE = "prism details 1", "prism certificate 1"
MOST_BYTES = 64 << 20  # of one file


def read_folder(
    folder: Path,
    certificate: Path | None = None,
    *,
    count: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Contents:
    """The files of a folder. Only ``report.json`` must be there; what else is missing or cannot be used is noted.

    certificate: a file to use instead of the folder's own; it must be one
    count:       run blocks of the kernels, to count what each line of their PTX does

    Raises a located :class:`InputError` where there is no such folder, or its ``report.json`` is not that of a compilation.
    """
    _check_folder(folder)
    absent: dict[str, str] = {}
    report = _report(folder)
    dynamic = report.get("variants") is not None  # compilations for dynamic sizes have no details
    details = None if dynamic else _optional(folder / "details.json", DETAILS, absent)
    launch = _optional(folder / "launch.json", None, absent)
    proof: Data | None = None
    if certificate is not None:
        proof = _of_format(certificate, read_json(certificate), CERTIFICATE)
    elif (folder / "certificate.json").exists():
        proof = _optional(folder / "certificate.json", CERTIFICATE, absent)
    ptx = _ptx(folder, launch, absent)
    progress("counting what the kernels do")
    return Contents(
        name=folder.resolve().name,
        files=tuple(sorted((p.name, p.stat().st_size) for p in folder.iterdir() if p.is_file())),
        written=_written(folder / "report.json"),
        report=report,
        details=details,
        launch=launch,
        certificate=proof,
        ptx=ptx,
        counted=count_lines(launch.value, ptx) if count and launch is not None else {},
        absent=absent,
    )


def _check_folder(folder: Path) -> None:
    hint = "name a folder that prism compile -o wrote"
    if not folder.exists():
        raise InputError("there is no such folder", Location(str(folder)), hint)
    if not folder.is_dir():
        raise InputError("this is no folder", Location(str(folder)), hint)
    if not (folder / "report.json").is_file():
        raise InputError("the folder has no report.json", Location(str(folder)), hint)


def _report(folder: Path) -> Data:
    path = folder / "report.json"
    _check_size(path)
    value = read_json(path)
    if not isinstance(value, dict) or "versions" not in value:
        raise InputError("this is not the report of a compilation", Location(str(path), 1, 1), "compile again")
    if "islands" in value:
        own = sorted(str(p.parent) for p in folder.glob("*/report.json"))
        hint = f"name one of {', '.join(own)}" if own else "compile the function again"
        raise InputError(
            "this is of a function in islands, each with a page of its own", Location(str(path), 1, 1), hint
        )
    return Data(value, "report.json: ")


def _optional(path: Path, form: str | None, absent: dict[str, str]) -> Data | None:
    """A file that need not be there; why it cannot be used is noted."""
    if not path.is_file():
        absent[path.name] = f"the folder has no {path.name}"
        return None
    try:
        _check_size(path)
        return _of_format(path, read_json(path), form)
    except InputError as error:
        absent[path.name] = f"{path.name} cannot be used: {error.message}"
        return None


def _of_format(path: Path, value: Any, form: str | None) -> Data:
    found = value.get("format") if isinstance(value, dict) else None
    if not isinstance(value, dict) or (form is not None and found != form):
        named = f", it says {str(found)[:60]!r}" if found is not None else ""
        raise InputError(
            f"the file is not of the form '{form or 'launch description'}'{named}", Location(str(path), 1, 1)
        )
    return Data(value, f"{path.name}: ")


def _check_size(path: Path) -> None:
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"the file is larger than {MOST_BYTES >> 20} MiB", Location(str(path), 1, 1))


def _ptx(folder: Path, launch: Data | None, absent: dict[str, str]) -> dict[str, str]:
    """The PTX files that the launch description names, by name. A name that leads elsewhere is none."""
    found: dict[str, str] = {}
    try:
        names = [] if launch is None else [k["ptx"].text() for k in launch_kernels(launch)]
    except InputError as error:
        absent["launch.json"] = error.message
        return found
    for name in dict.fromkeys(names):
        path = folder / name
        try:
            if Path(name).name != name or path.is_symlink():
                raise InputError("this is no file of the folder", Location(name))
            _check_size(path)
            found[name] = path.read_bytes().decode("utf-8")
        except (OSError, ValueError, InputError) as error:
            reason = (
                error.message if isinstance(error, InputError) else getattr(error, "strerror", None) or "it is not text"
            )
            absent[name] = f"{name} cannot be read: {reason}"
    return found


def _written(path: Path) -> str:
    return f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%d %H:%M} UTC"
