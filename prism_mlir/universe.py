"""The plug-in that stock xDSL tools find through the ``xdsl.universe`` entry point: our dialect and our passes.

Everything is behind a loader, so that finding the plug-in costs nothing.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.universe import Universe

from prism_mlir.passes import PASSES


def _sgraph() -> Dialect:
    from prism_mlir.dialects.sgraph import SGRAPH

    return SGRAPH


PRISM_UNIVERSE = Universe(all_dialects={"sgraph": _sgraph}, all_passes=PASSES)
