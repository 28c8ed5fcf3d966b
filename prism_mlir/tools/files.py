"""Files of the command lines: read JSON, write all or nothing, and say where it failed."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from prism_mlir.graph.errors import InputError, Location


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises a located :class:`InputError` for a file that cannot be read or is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror}", Location(str(path)), "check the path") from None
    except (UnicodeDecodeError, RecursionError):
        raise InputError("the file is not JSON", Location(str(path), 1, 1)) from None
    except json.JSONDecodeError as error:
        raise InputError(f"the file is not JSON: {error.msg}", Location(str(path), error.lineno, error.colno)) from None


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
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot write the file: {reason}", Location(str(path)), "check the path") from None
