"""The roofline of a program: what no implementation can beat, whatever its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from prism_mlir.graph.ops import Kind
from prism_mlir.graph.program import Program
from prism_mlir.tune.targets import Target


@dataclass(frozen=True, slots=True)
class Roofline:
    """Lower bounds in microseconds: one launch, every argument and result moved once, every product computed once.

    bytes: arguments and constants read once, results written once; fma: multiply-adds of the program's products
    """

    bytes: int
    fma: int
    dram_us: float
    tensor_us: float
    launch_us: float

    @property
    def total_us(self) -> float:
        return self.launch_us + max(self.dram_us, self.tensor_us)


def roofline(program: Program, target: Target) -> Roofline:
    """The roofline of a program on a target.

    Example: 16x1024 by 1024x1024 in f16 moves 2 MiB of weights and 64 KiB of activations, and takes 16,777,216 multiply-adds.
    """
    read = {(i.arg, i.data): prod(i.arg_shape) * i.dtype.bytes for i in program.inputs}
    written = sum(prod(o.shape) * o.dtype.bytes for o in program.outputs)
    moved = sum(read.values()) + written
    fma = 0
    for k, node in enumerate(program.nodes):
        if node.op.kind is Kind.MATMUL:
            fma += prod(program.shapes[len(program.inputs) + k]) * program.shapes[node.operands[0]][-1]
    dram_us = moved / (target.dram_gbs * target.dram_sustained * 1e3)
    tensor_us = fma / (target.sms * target.tensor_fma * target.clock_ghz * 1e3)
    return Roofline(moved, fma, dram_us, tensor_us, target.launch_us)
