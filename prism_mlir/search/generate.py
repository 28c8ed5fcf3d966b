"""Generation of symbolic graphs (paper, section 3.1).

Depth-first over operators, each graph once: a new node's key (largest operand, operands, operator) must exceed the last
node's. A partial graph is left as soon as a dim does not match (``dim_match``), an expression is no subexpression of the
program (``abstract``), or too few operators remain to bring every open tile to an output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, BlockOp, Load, Stage
from prism_mlir.graph.dims import DimClass, dim_classes
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.ops import MATMUL, Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.graph.symbols import GRID_NAMES, LOOP_NAME
from prism_mlir.search.abstract import AbstractTarget, abstract_target, label_of, sum_label
from prism_mlir.search.dim_match import match_dims
from prism_mlir.search.egraph import Label
from prism_mlir.search.limits import Funnel, SearchLimits

Dims = tuple[DimClass, ...]
Key = tuple[int, tuple[int, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Tile:
    """What the search knows about a node: expression, dims (as program dim classes) and stage."""

    expr: int
    dims: Dims
    stage: Stage


@dataclass(frozen=True, slots=True)
class Choice:
    """An operator that may be added, with what comparing and looking up need."""

    op: BlockOp
    label: Label
    sort_key: tuple[str, ...]
    commutative: bool = False

    @staticmethod
    def of(op: Op | Accum) -> Choice:
        if isinstance(op, Accum):
            return Choice(op, (), op.sort_key)
        return Choice(op, label_of(op), op.sort_key, op.spec.commutative)


Move = tuple[Choice, tuple[int, ...], Tile]


@dataclass(frozen=True, slots=True)
class Goal:
    """What an output must be: expression and dims of a program output."""

    expr: int
    dims: Dims


@dataclass
class _State:
    """The partial graph of the depth-first search, changed in place and undone on the way back."""

    nodes: list[BlockNode] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)

    def push(self, node: BlockNode, tile: Tile) -> None:
        for v in node.operands:
            self.uses[v] += 1
        self.nodes.append(node)
        self.tiles.append(tile)
        self.uses.append(0)

    def pop(self) -> None:
        node = self.nodes.pop()
        self.tiles.pop()
        self.uses.pop()
        for v in node.operands:
            self.uses[v] -= 1


class Generator:
    """Enumerates block graphs whose abstract expression is the program's.

    ``target`` decides what is a subexpression; another one than the program's own (which accepts everything, say) turns
    the generator into brute force.
    """

    def __init__(self, program: Program, limits: SearchLimits, funnel: Funnel, *, target: AbstractTarget | None = None):
        self.program, self.limits, self.funnel = program, limits, funnel
        self.target = target or abstract_target(program)
        classes = dim_classes(program)
        self.input_dims = classes.of[: len(program.inputs)]
        self.types = program_types(program)
        self.goals = tuple(
            Goal(root, classes.of[o.value]) for root, o in zip(self.target.roots, program.outputs, strict=True)
        )
        ops = sorted({n.op for n in program.nodes}, key=lambda op: op.sort_key)
        self.unaries = [Choice.of(op) for op in ops if op.kind is Kind.UNARY]
        self.binaries = [Choice.of(op) for op in self._binaries(ops)]
        self.transposes = [Choice.of(op) for op in ops if op.kind is Kind.TRANSPOSE]
        ranks = range(max(len(shape) for shape in program.shapes))
        names = sorted({op.name for op in ops if op.kind is Kind.REDUCE})
        self.reductions = [Choice.of(Op(name, dim=d)) for name in names for d in ranks]
        contracted = {classes.of[n.operands[0]][-1] for n in program.nodes if n.op.kind is Kind.MATMUL}
        self.matmul = Choice.of(MATMUL) if contracted else None
        self.has_outer_product = None in contracted  # otherwise mul says the same as a product over a dim of size 1
        self.accums = [Choice.of(Accum(m)) for m in ("sum", *(("max",) if "reduce_max" in names else ()))]
        self.grid = GRID_NAMES[: limits.grid_dims]

    def _binaries(self, ops: list[Op]) -> list[Op]:
        """Binary operators whose label occurs in the saturated expressions (a program with div may need mul)."""
        labels = {node.label[0] for node in self.target.graph.table}
        names = {op.name for op in ops if op.kind is Kind.BINARY} | (labels & {"add", "sub", "mul", "div"})
        return [Op(name) for name in sorted(names)]

    def run(self) -> Iterator[KernelGraph]:
        """All structures within the limits, in a fixed order."""
        for config in self._load_sets():
            state = _State()
            for load in config:
                state.push(BlockNode(load), self._load_tile(load))
            yield from self._extend(state, (-1, (), ()), self.limits.operators)
            if not self.funnel.complete:
                return

    def _load_sets(self) -> list[tuple[Load, ...]]:
        """Which inputs are loaded in the loop, before it, or both; every input the outputs depend on is loaded.

        First all loads in the loop, then none (a block without a loop); mixtures only with ``limits.invariant_loads``.
        """
        needed = [k for k in range(len(self.types)) if self.target.inputs[k] in self.target.distance]
        uniform = [tuple(Load(k) for k in needed), tuple(Load(k, True) for k in needed)]
        if not self.limits.invariant_loads:
            return uniform
        options = [[(Load(k),), (Load(k, True),), (Load(k), Load(k, True))] for k in needed]
        sets = [tuple(load for group in combo for load in group) for combo in product(*options)]
        mixed = [s for s in sets if s not in uniform]
        return uniform + sorted(
            mixed, key=lambda s: (sum(load.invariant for load in s), len(s), [load.sort_key for load in s])
        )

    def _load_tile(self, load: Load) -> Tile:
        stage = Stage.INVARIANT if load.invariant else Stage.BODY
        return Tile(self.target.inputs[load.source], self.input_dims[load.source], stage)

    def _extend(self, state: _State, last: Key, left: int) -> Iterator[KernelGraph]:
        if self.funnel.counts["states"] >= self.limits.states:
            self.funnel.stop(f"states limit of {self.limits.states}")
            return
        self.funnel.count("states")
        graph = self._finish(state)
        if graph is not None:
            yield graph
        if left == 0:
            return
        for key, node, tile in self._moves(state, last):
            state.push(node, tile)
            if self._can_finish(state, left - 1):
                yield from self._extend(state, key, left - 1)
            else:
                self.funnel.count("rejected: too few operators left")
            state.pop()
            if not self.funnel.complete:
                return

    def _moves(self, state: _State, last: Key) -> Iterator[tuple[Key, BlockNode, Tile]]:
        """Every node that may come next, by newest operand."""
        for newest in range(max(last[0], 0), len(state.nodes)):
            for choice, operands, tile in self._nodes_on(state, newest):
                key = (newest, operands, choice.sort_key)
                if key > last:
                    yield key, BlockNode(choice.op, operands), tile

    def _nodes_on(self, state: _State, newest: int) -> Iterator[Move]:
        """Nodes whose largest operand is ``newest``."""
        tile = state.tiles[newest]
        if tile.stage is Stage.BODY:
            for accum in self.accums:
                yield accum, (newest,), Tile(tile.expr, tile.dims, Stage.AFTER)
        yield from self._unary_nodes(tile, newest)
        for other in range(newest + 1):
            stage = _meet(tile.stage, state.tiles[other].stage)
            if stage is None:
                continue
            yield from self._binary_nodes(state, other, newest, stage)
            if other != newest:
                yield from self._binary_nodes(state, newest, other, stage)

    def _unary_nodes(self, tile: Tile, k: int) -> Iterator[Move]:
        results = self.target.on_one(tile.expr)
        for choice in self.unaries:
            if (expr := results.get(choice.label)) is not None:
                yield choice, (k,), Tile(expr, tile.dims, tile.stage)
        for choice in self.reductions:
            assert isinstance(choice.op, Op) and choice.op.dim is not None
            d = choice.op.dim
            dim_class = tile.dims[d] if d < len(tile.dims) else None
            if dim_class is not None and (expr := results.get(sum_label(choice.op.name, dim_class))) is not None:
                yield choice, (k,), Tile(expr, (*tile.dims[:d], None, *tile.dims[d + 1 :]), tile.stage)
        for choice in self.transposes:
            assert isinstance(choice.op, Op) and choice.op.perm is not None
            if len(choice.op.perm) == len(tile.dims):
                yield choice, (k,), Tile(tile.expr, tuple(tile.dims[p] for p in choice.op.perm), tile.stage)
        self.funnel.count("single operators tried", len(self.unaries) + len(self.reductions))

    def _binary_nodes(self, state: _State, a: int, b: int, stage: Stage) -> Iterator[Move]:
        left, right = state.tiles[a], state.tiles[b]
        results = self.target.on_two(left.expr, right.expr)
        if not results:
            self.funnel.count("rejected: not a subexpression")
            return
        yield from self._matmul_nodes(results, state, a, b, stage)
        dims = _broadcast_dims(left.dims, right.dims)
        if dims is None:
            self.funnel.count("rejected: dims do not match")
            return
        for choice in self.binaries:
            assert isinstance(choice.op, Op)
            if (expr := results.get(choice.op.name)) is not None and not (choice.commutative and a > b):
                yield choice, (a, b), Tile(expr, dims, stage)

    def _matmul_nodes(self, results: Mapping[str, int], state: _State, a: int, b: int, stage: Stage) -> Iterator[Move]:
        left, right = state.tiles[a], state.tiles[b]
        if self.matmul is None or (product := results.get("mul")) is None:
            return
        dims, contracted = _matmul_dims(left.dims, right.dims), left.dims[-1]
        if dims is None:
            self.funnel.count("rejected: dims do not match")
        elif contracted is not None:
            if (expr := self.target.on_one(product).get(sum_label("sum", contracted))) is not None:
                yield self.matmul, (a, b), Tile(expr, dims, stage)
        elif self.has_outer_product:
            yield self.matmul, (a, b), Tile(product, dims, stage)

    def _can_finish(self, state: _State, left: int) -> bool:
        """A lower bound on the operators still needed: joining open tiles, leaving the loop, reaching an output."""
        open_tiles = [k for k, n in enumerate(state.uses) if n == 0]
        joins = max(0, len(open_tiles) - len(self.goals))
        leave = any(state.tiles[k].stage is Stage.BODY for k in open_tiles)
        if joins + leave > left:
            return False
        reach = self.target.distance
        return all(reach[state.tiles[k].expr] + (state.tiles[k].stage is Stage.BODY) <= left for k in open_tiles)

    def _finish(self, state: _State) -> KernelGraph | None:
        """The finished graph, if every output of the program is there and nothing else is left open."""
        outputs = []
        for goal in self.goals:
            match = [
                k
                for k, t in enumerate(state.tiles)
                if t.expr == goal.expr and t.dims == goal.dims and t.stage is not Stage.BODY
            ]
            if not match:
                return None
            outputs.append(match[-1])
        if any(n == 0 and k not in outputs for k, n in enumerate(state.uses)):
            return None
        if _has_idle_invariant(state):
            self.funnel.count("rejected: same as a load inside the loop")
            return None
        if self.funnel.counts["structures"] >= self.limits.structures:
            self.funnel.stop(f"structures limit of {self.limits.structures}")
            return None
        return self._graph(state, tuple(outputs))

    def _graph(self, state: _State, outputs: tuple[int, ...]) -> KernelGraph:
        self.funnel.count("structures")
        loop = LOOP_NAME if any(t.stage is Stage.BODY for t in state.tiles) else None
        block = BlockGraph(self.grid, loop, self.types, tuple(state.nodes), outputs)
        matching = match_dims(block, self.input_dims)
        node = CustomNode(block, tuple(range(len(self.types))), None, matching.equalities)
        count = len(self.types)
        return KernelGraph(self.types, (node,), tuple(count + k for k in range(len(outputs))))


def _meet(a: Stage, b: Stage) -> Stage | None:
    """Stage of an operator on two tiles; ``None`` where body and after-loop tiles would mix."""
    if a is b or b is Stage.INVARIANT:
        return a
    return b if a is Stage.INVARIANT else None


def _matmul_dims(a: Dims, b: Dims) -> Dims | None:
    if len(a) != len(b) or len(a) < 2 or a[-1] != b[-2] or a[:-2] != b[:-2]:
        return None
    return (*a[:-1], b[-1])


def _broadcast_dims(a: Dims, b: Dims) -> Dims | None:
    if len(a) != len(b) or any(x != y and x is not None and y is not None for x, y in zip(a, b, strict=True)):
        return None
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def _has_idle_invariant(state: _State) -> bool:
    """Whether some invariant load is only ever used inside the loop, where a body load with no fmap does the same.

    What is new is an invariant tile that meets a tile from after the loop. (Code generation hoists what does not change in the
    loop, so computing something once instead of in every iteration is no reason for another graph.)
    """
    stages = [t.stage for t in state.tiles]
    if Stage.BODY not in stages:
        return False
    useful: set[int] = set()
    for k in reversed(range(len(state.nodes))):
        users = [u for u, n in enumerate(state.nodes) if k in n.operands]
        if stages[k] is Stage.INVARIANT and (not users or any(stages[u] is Stage.AFTER or u in useful for u in users)):
            useful.add(k)
    return any(isinstance(n.op, Load) and n.op.invariant and k not in useful for k, n in enumerate(state.nodes))


def generate(program: Program, limits: SearchLimits, funnel: Funnel) -> Iterator[KernelGraph]:
    """All block graphs with symbolic mappings that may compute the program, lazily and in a fixed order.

    Raises nothing for a program too large: limits end the search and are recorded in ``funnel``.
    """
    return Generator(program, limits, funnel).run()
