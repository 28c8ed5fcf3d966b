"""Checks on record: the same code was run on the same inputs and compared with the same source before.

A check depends on the source text, the code and its launches, the seed of the inputs, and the code of this project; where all
of that is the same, running it again would give the same numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping

from prism_mlir.compiler.accuracy import Accuracy
from prism_mlir.compiler.options import CompileOptions
from prism_mlir.compiler.source_digest import CODE_AREAS, CODE_LIBRARIES, hash_of, source_digest
from prism_mlir.frontend.upstream import UpstreamModule
from prism_mlir.graph.errors import InaccurateError, InputError
from prism_mlir.graph.launch_info import LaunchInfo
from prism_mlir.tune.records.store import Records

FORMAT = 1


def check_key(
    upstream: UpstreamModule,
    launch: LaunchInfo,
    ptx: Mapping[str, str],
    options: CompileOptions,
    stored: Collection[int],
) -> str:
    """What the result of a check depends on, as a hash."""
    return hash_of(
        {
            "format": FORMAT,
            "check of": upstream.text,
            "function": options.function,
            "launch": launch.to_dict(),
            "ptx": dict(ptx),
            "options": [options.seed, options.allow_tf32, sorted(stored)],
            "code": source_digest(CODE_AREAS, CODE_LIBRARIES),
        }
    )


def recorded_check(
    records: Records, key: str, run: Callable[[], tuple[Accuracy, ...]]
) -> tuple[tuple[Accuracy, ...], bool]:
    """The result of a check, and whether it is on record; else it is run, and recorded if it passes, or is not accurate enough.

    Raises what ``run`` raises.
    """
    known = _read(records.choice(key))
    if known is not None:
        return known, True
    try:
        found = run()
    except InaccurateError as error:
        records.add_choice(key, "", json.dumps({"inaccurate": error.message}), {"check": False})
        raise
    records.add_choice(key, "", json.dumps([a.to_dict() for a in found]), {"check": True})
    return found, False


def _read(payload: str | None) -> tuple[Accuracy, ...] | None:
    """Results that all passed; ``None`` for what is none. Raises :class:`InaccurateError` where that is on record."""
    if payload is None:
        return None
    try:
        data = json.loads(payload)
        if isinstance(data, dict) and isinstance(data.get("inaccurate"), str):
            raise InaccurateError(data["inaccurate"])
        found = tuple(Accuracy.from_dict(a) for a in data)
    except (InputError, TypeError, ValueError):
        return None
    return found if found and all(a.ok for a in found) else None
