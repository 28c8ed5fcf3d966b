"""The sgraph dialect: tensor programs, and multi-level symbolic graphs that implement them (paper, section 2)."""

from __future__ import annotations

from xdsl.ir import Dialect

from prism_mlir.dialects.sgraph.attributes import (
    DimsAttr,
    EqualitiesAttr,
    InputAttr,
    MapAttr,
    OutputAttr,
    ScheduleAttr,
    VerdictAttr,
)
from prism_mlir.dialects.sgraph.block_ops import AccumOp, LoadOp, SaveOp, ThreadOp
from prism_mlir.dialects.sgraph.graph_ops import CustomOp, GraphOp, YieldOp
from prism_mlir.dialects.sgraph.operator_ops import OPERATOR_OPS
from prism_mlir.dialects.sgraph.program_ops import ProgramOp, ReturnOp
from prism_mlir.dialects.sgraph.types import TileDimAttr, TileType

SGRAPH = Dialect(
    "sgraph",
    [ProgramOp, ReturnOp, GraphOp, CustomOp, YieldOp, LoadOp, AccumOp, SaveOp, ThreadOp, *OPERATOR_OPS],
    [
        TileType,
        TileDimAttr,
        MapAttr,
        DimsAttr,
        EqualitiesAttr,
        InputAttr,
        OutputAttr,
        VerdictAttr,
        ScheduleAttr,
    ],
)

__all__ = ["SGRAPH"]
