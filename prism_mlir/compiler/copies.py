"""Results that are arguments, unchanged or moved: a kernel copies them."""

from __future__ import annotations

from dataclasses import replace

from prism_mlir.graph.ops import unary
from prism_mlir.graph.program import Program, ProgramNode

IDENTITY = unary("x")


def with_copies(program: Program) -> Program:
    """The program with an identity for every argument that it returns; the program itself where it returns none.

    Where an element of the result lies is the output's business, as for any other value.
    """
    first = len(program.inputs)
    copied = sorted({o.value for o in program.outputs if o.value < first})
    if not copied:
        return program
    place = {v: first + len(program.nodes) + k for k, v in enumerate(copied)}
    nodes = (ProgramNode(IDENTITY, (v,), program.inputs[v].dtype) for v in copied)
    outputs = tuple(replace(o, value=place.get(o.value, o.value)) for o in program.outputs)
    return replace(program, nodes=(*program.nodes, *nodes), outputs=outputs)
