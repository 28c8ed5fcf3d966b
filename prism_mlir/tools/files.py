"""Files of the command lines: read JSON, write all or nothing, and say where it failed."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from prism_mlir.graph.errors import InputError, LimitError, Location

MAX_JSON = 64 << 20
"""Largest JSON file taken, in bytes; as objects of Python it takes some ten times that."""


class _NotFinite(Exception):
    """Python reads and writes three numbers that JSON has not (RFC 8259, section 6)."""


def _refuse(name: str) -> Any:
    raise _NotFinite(name)


def json_text(value: Any, indent: int | None = 2) -> str:
    """JSON of a value. What is no finite number is one of the strings ``nan``, ``inf`` and ``-inf``, which ``float`` reads:
    JSON has no such numbers, and other programs refuse a file that has them.
    """
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises a located :class:`InputError` for a file that cannot be read or is none, and
    :class:`LimitError` for one of more than ``MAX_JSON`` bytes.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_JSON + 1)
        if len(data) > MAX_JSON:
            raise LimitError(
                f"the file has more than {MAX_JSON} bytes", Location(str(path), 1, 1), "is it the right one?"
            )
        return json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise unreadable(path, error) from None
    except (UnicodeDecodeError, RecursionError):
        raise InputError("the file is not JSON", Location(str(path), 1, 1)) from None
    except json.JSONDecodeError as error:
        raise InputError(f"the file is not JSON: {error.msg}", Location(str(path), error.lineno, error.colno)) from None
    except _NotFinite as error:
        raise InputError(
            f"the file is not JSON: it holds the number {error}", Location(str(path), 1, 1), "write it as a string"
        ) from None
    except ValueError:
        raise InputError("the file holds a number of thousands of digits", Location(str(path), 1, 1)) from None


def unreadable(path: Path, error: OSError) -> InputError:
    """That a file cannot be read."""
    return InputError(f"cannot read '{path}': {error.strerror or type(error).__name__}", None, "check the path")


def unwritable(path: Path, reason: str) -> InputError:
    """That a file cannot be written."""
    return InputError(f"cannot write '{path}': {reason}", None, "check the path")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write the whole file or nothing. Raises :class:`InputError` where it cannot be written."""
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():  # a device or a pipe takes the bytes as they come
            path.write_bytes(data)
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            mask = os.umask(0)
            os.umask(mask)
            Path(temporary).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(path, error.strerror or type(error).__name__) from None


def check_folder(folder: Path) -> None:
    """Before the work is done, say what would keep files from being written to a folder. Raises :class:`InputError`."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise InputError(f"cannot write to '{folder}': '{place}' is a file", None, "name another folder with -o")
    if not writable(place):
        raise InputError(f"cannot write to '{folder}': Permission denied", None, "name another folder with -o")


def writable(path: Path) -> bool:
    """Whether this process may write a file, or make files in a folder."""
    wanted = os.W_OK | os.X_OK if path.is_dir() else os.W_OK
    return os.access(path, wanted, effective_ids=os.access in os.supports_effective_ids)


def check_file(path: Path | None) -> None:
    """Before the work is done, say what would keep a file from being written. Raises :class:`InputError`."""
    if path is None:
        return
    if path.is_dir():
        reason = "Is a directory"
    elif not path.parent.is_dir():
        reason = "No such directory"
    elif not writable(path if path.exists() else path.parent):
        reason = "Permission denied"
    else:
        return
    raise unwritable(path, reason)
