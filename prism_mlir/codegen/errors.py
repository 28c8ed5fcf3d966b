"""Errors of code generation. The one about sizes lives in ``graph``, where choosing sizes can see it too."""

from prism_mlir.graph.footprint import ScheduleError

__all__ = ["ScheduleError"]
