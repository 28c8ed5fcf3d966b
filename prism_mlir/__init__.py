"""Prism: symbolic superoptimization of tensor programs, on MLIR."""

__version__ = "0.1.0"
