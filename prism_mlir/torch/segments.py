"""Where a graph is cut into programs: a kernel is searched for one segment of a model at a time.

A whole decoder is one connected group of operators, and far more than one kernel. It is cut where its kernels would be: attention
is a segment of its own, what joins halves of its queries (a rotary embedding) is left between segments, a sum that is used more
than once (the residual stream) ends one, and so do long rows that another product reads. Segments never fall along an edge, so
none depends on another in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from prism_mlir.frontend.torch import attention, products
from prism_mlir.frontend.torch.convert import is_reducing, operator_name

Node = Any  # a torch.fx.Node
WIDEST = 512  # elements of a row that a kernel passes from one product to the next


def segments(nodes: Sequence[Node], fine: Callable[[Node], bool]) -> dict[Node, int]:
    """The segment of every node of a graph, in order. fine: nodes after whose every product there is a cut"""
    starts = {n: set(_behind([n])) for n in _attentions(nodes)}
    prologue = {n for behind in starts.values() for n in behind if not _reduces(n)}
    joined = {n for n, behind in starts.items() if any(_named(m, "aten.cat") for m in behind if not _reduces(m))}
    found: dict[Node, int] = {}
    summed: dict[Node, bool] = {}  # whether a product is behind a node, in its segment
    for node in nodes:
        before = list(node.all_input_nodes)
        start = max((found[n] + _ends(n, summed[n], fine(n)) for n in before), default=0)
        late = [n for n in before if summed[n] and n not in prologue] if node in prologue or node in starts else []
        late += [n for n in before if summed[n] and _is_wide(n)] if _is_product(node) and not _weighs(node) else []
        start = max([start, *(found[n] + 1 for n in late), *(found[n] + 1 for n in before if node in joined)])
        found[node] = start
        summed[node] = _is_product(node) or any(summed[n] for n in before if found[n] == start)
    _sink(found, summed)
    return found


def _is_wide(node: Node) -> bool:
    """Whether rows of a node are too long for a kernel to hold until the next product reads them."""
    shape: Any = getattr(node.meta.get("val"), "shape", ())
    return len(shape) > 0 and int(shape[-1]) > WIDEST


def _attentions(nodes: Sequence[Node]) -> Iterator[Node]:
    """Nodes that attention begins with: its operator, or a product of queries and keys, which both are made of products."""
    made = set[Node]()  # with a product behind them
    for node in nodes:
        before = list(node.all_input_nodes)
        if _is_attention(node) or (_is_product(node) and sum(n in made for n in before) > 1 and not _weighs(node)):
            yield node
        if _is_product(node) or any(n in made for n in before):
            made.add(node)


def _weighs(node: Node) -> bool:
    """Whether a node is a product with the result of a softmax."""
    return any("softmax" in operator_name(n.target) for n in _behind([node]) if _reduces(n))


def _behind(nodes: Sequence[Node]) -> Iterator[Node]:
    """What nodes are made of, back to the operators that sum."""
    pending, seen = [m for n in nodes for m in n.all_input_nodes], set[Node]()
    while pending:
        node = pending.pop()
        if node in seen or node.op != "call_function":
            continue
        seen.add(node)
        yield node
        if not _reduces(node):
            pending.extend(node.all_input_nodes)


def _ends(node: Node, summed: bool, fine: bool) -> bool:
    """Whether what uses a node is in another segment."""
    if _is_attention(node) or (_is_product(node) and (fine or _weighs(node))):
        return True
    return summed and len(node.users) > 1 and _named(node, "aten.add")


def _sink(found: dict[Node, int], summed: dict[Node, bool]) -> None:
    """What needs no product goes to the first of its users: a transposed weight, a mask."""
    free = {n for n in found if n.op == "call_function" and not summed[n]}
    for node in found:
        if node in free and any(n.op == "call_function" and n not in free for n in node.all_input_nodes):
            free.discard(node)
    for node in reversed(list(found)):
        if node in free:
            found[node] = min((found[user] for user in node.users if user.op == "call_function"), default=found[node])


def _reduces(node: Node) -> bool:
    return node.op == "call_function" and is_reducing(node.target)


def _is_product(node: Node) -> bool:
    return _named(node, *products.RULES, *attention.RULES)


def _is_attention(node: Node) -> bool:
    return _named(node, *attention.RULES)


def _named(node: Node, *names: str) -> bool:
    if node.op != "call_function":
        return False
    name = operator_name(node.target)
    return name in names or name.rpartition(".")[0] in names
