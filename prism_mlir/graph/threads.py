"""Thread graphs by fusion rules (paper, section 2): which elementwise operators of a block graph stay in registers together.

Two elementwise operators of one stage fuse when the first is used by the second alone and is not saved: then no other thread
ever needs what lies between them.
"""

from __future__ import annotations

from prism_mlir.graph.block import BlockGraph
from prism_mlir.graph.ops import Kind, Op

ELEMENTWISE = frozenset({Kind.UNARY, Kind.BINARY})


def thread_groups(block: BlockGraph) -> tuple[tuple[int, ...], ...]:
    """Groups of two or more operators that fuse, each in order, ordered by their last member.

    Example: ``mul(accum, rsqrt(sum))`` fuses ``rsqrt`` and ``mul`` when nothing else uses the ``rsqrt``.
    """
    users: dict[int, set[int]] = {k: set() for k in range(len(block.nodes))}
    for k, node in enumerate(block.nodes):
        for v in node.operands:
            users[v].add(k)
    leader = {k: k for k in range(len(block.nodes)) if _elementwise(block, k)}
    for k in sorted(leader, reverse=True):  # users come later, so their leader is known
        if k in block.outputs or len(users[k]) != 1:
            continue
        (user,) = users[k]
        if user in leader and block.stages[user] is block.stages[k]:
            leader[k] = leader[user]
    groups: dict[int, list[int]] = {}
    for k in sorted(leader):
        groups.setdefault(leader[k], []).append(k)
    return tuple(tuple(group) for last, group in sorted(groups.items()) if len(group) > 1)


def _elementwise(block: BlockGraph, k: int) -> bool:
    op = block.nodes[k].op
    return isinstance(op, Op) and op.kind in ELEMENTWISE
