"""Everything that a compilation says, times apart."""

from __future__ import annotations

from typing import Any

from prism_mlir.compiler.pipeline import Compilation


def outcome(done: Compilation) -> dict[str, Any]:
    parts = done.built.parts
    return {
        "candidates": [[repr(g.sort_key) for g in p.discovery.candidates] for p in parts],
        "verdicts": [[v.to_dict() for v in p.discovery.verdicts] for p in parts],
        "counts": [p.discovery.to_dict() for p in parts],
        "chosen": [(repr(p.selection.graph.sort_key), repr(p.selection.ranked.scheduled)) for p in parts],
        "refused": [p.selection.refused for p in parts],
        "ptx": done.built.ptx,
        "launch": done.launch.to_dict(),
        "host": done.host,
        "accuracy": [a.to_dict() for a in done.accuracy],
    }
