"""Kernels by the digest of their source: found in this process's memory, in the user's tuning records, or made."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from prism_mlir.api import Result, optimize
from prism_mlir.graph.errors import PrismError
from prism_mlir.tune.records.store import Records

log = logging.getLogger("prism_mlir")

_MOST = 1024  # results kept in memory; the oldest go first

_lock = threading.Lock()
_known: dict[str, Result | PrismError] = {}


def kernels_of(text: str, target: str, options: Mapping[str, Any]) -> Result:
    """Kernels for the only function of a module; a module that was refused is refused again, without a search.

    What was proved, chosen and checked goes to the user's records (``PRISM_CACHE_DIR``), so that another process finds it.
    Several threads may call this; of two that ask for the same at once both do the work, and the first result is kept.

    Raises :class:`PrismError` as :func:`~prism_mlir.api.optimize` does, ``TypeError`` for an option that there is not.
    """
    key = _key(text, target, options)
    with _lock:
        found = _known.get(key)
    if found is None:
        found = _made(text, target, options)
        with _lock:
            found = _known.setdefault(key, found)
            while len(_known) > _MOST:
                del _known[next(iter(_known))]
    if isinstance(found, PrismError):
        raise found.with_traceback(None)
    return found


def forget() -> None:
    """Empty the table; records stay."""
    with _lock:
        _known.clear()


def _made(text: str, target: str, options: Mapping[str, Any]) -> Result | PrismError:
    given = dict(options)
    records = given.pop("records", None)
    try:
        with nullcontext(records) if records is not None else Records.open() as opened:
            made: Result = optimize(text, target=target, islands=False, records=opened, **given)
            return made
    except PrismError as error:
        return error
    except TypeError:
        raise  # an option that there is not
    except Exception as error:  # a bug, which must not take a program along that can run without kernels
        log.info("internal error", exc_info=True)
        return PrismError(f"of an internal error ({type(error).__name__}: {error})", None, "report it with the program")


def _key(text: str, target: str, options: Mapping[str, Any]) -> str:
    data = json.dumps([target, {k: str(v) for k, v in options.items()}], sort_keys=True)
    return hashlib.sha256(f"{data}\0{text}".encode()).hexdigest()
