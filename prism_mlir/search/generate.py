"""Generation of symbolic graphs (paper, section 3.1).

Depth-first over operators, each graph once: a new node's key (largest operand, operands, operator) must exceed the last
node's. A partial graph is left as soon as a dim does not match (``dim_match``), an expression is no subexpression of the
program (``abstract``), open tiles hold something more often than the program can (``occurrences``), or too few operators remain
to bring every open tile to an output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from prism_mlir.graph.block import Accum, BlockGraph, BlockNode, BlockOp, Load, Stage
from prism_mlir.graph.dims import DimClass, dim_classes
from prism_mlir.graph.kernel import CustomNode, KernelGraph, program_types
from prism_mlir.graph.ops import MATMUL, MONOIDS, OPS, Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.graph.symbols import GRID_NAMES, LOOP_NAME
from prism_mlir.search.abstract import AbstractTarget, abstract_target, label_of, sum_label
from prism_mlir.search.dim_match import match_dims
from prism_mlir.search.egraph import Label
from prism_mlir.search.limits import Funnel, SearchLimits

Dims = tuple[DimClass, ...]
Key = tuple[int, tuple[int, ...], tuple[str, ...]]


_NEVER = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """What the search knows about a node: expression, dims (as program dim classes) and stage.

    The generator makes each tile once (``_tile``), so that comparing and hashing cost nothing.
    """

    expr: int
    dims: Dims
    stage: Stage
    needs: int  # operators that lead from here to an output, at least
    single: int  # those of one operand among them, accumulators included, at least


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


Found = tuple[Choice, Tile]
"""An operator that may be applied to given tiles, and its result."""

Pair = tuple[tuple[Found, ...], tuple[Found, ...], tuple[str, ...]]
"""What an older and a newer tile can be given to, in this order and in the other; why not to what else."""

Move = tuple[Key, BlockNode, Tile]
"""A node that may come next."""


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
    the generator into brute force. ``outside`` restricts it to structures that load some tensors inside the loop and exactly so
    many outside (see :func:`load_stages`).
    """

    def __init__(
        self,
        program: Program,
        limits: SearchLimits,
        funnel: Funnel,
        *,
        target: AbstractTarget | None = None,
        outside: int | None = None,
    ):
        self.program, self.limits, self.funnel, self.outside = program, limits, funnel, outside
        self.target = target or abstract_target(program)
        classes = dim_classes(program)
        self.input_dims = classes.of[: len(program.inputs)]
        self.input_exprs = self.target.inputs
        self.types = program_types(program)
        self.goals = tuple(
            Goal(root, classes.of[o.value]) for root, o in zip(self.target.roots, program.outputs, strict=True)
        )
        ops = sorted({n.op for n in program.nodes}, key=lambda op: op.sort_key)
        self.unaries = [Choice.of(op) for op in ops if op.kind is Kind.UNARY]
        self.binaries = [Choice.of(op) for op in self._binaries(ops)]
        self.transposes = [Choice.of(op) for op in ops if op.kind is Kind.TRANSPOSE]
        ranks = range(max((len(shape) for shape in program.shapes), default=0))
        names = sorted({op.name for op in ops if op.kind is Kind.REDUCE})
        self.reductions = [Choice.of(Op(name, dim=d)) for name in names for d in ranks]
        contracted = {classes.of[n.operands[0]][-1] for n in program.nodes if n.op.kind is Kind.MATMUL}
        self.matmul = Choice.of(MATMUL) if contracted else None
        self.has_outer_product = None in contracted  # otherwise mul says the same as a product over a dim of size 1
        monoids = {"sum", *(monoid for name in names if (monoid := OPS[name].monoid) is not None)}
        self.accums = [Choice.of(Accum(m)) for m in MONOIDS if m in monoids]
        self.grid = GRID_NAMES[: limits.grid_dims]
        self._tiles: dict[tuple[int, Dims, Stage], Tile] = {}
        self._one: dict[Tile, tuple[Found, ...]] = {}
        self._two: dict[Tile, dict[Tile, Pair]] = {}

    def _binaries(self, ops: list[Op]) -> list[Op]:
        """Binary operators whose label occurs in the saturated expressions (a program with div may need mul)."""
        labels = {node.label[0] for node in self.target.graph.table}
        found = {op for op in ops if op.kind is Kind.BINARY} | {
            Op(name) for name in labels & {"add", "sub", "mul", "div"}
        }
        return sorted(found, key=lambda op: op.sort_key)

    def run(self) -> Iterator[KernelGraph]:
        """All structures within the limits, in a fixed order."""
        for config in self._load_sets():
            for tiles in self._load_tiles(config):
                state = _State()
                for load, tile in zip(config, tiles, strict=True):
                    state.push(BlockNode(load), tile)
                moves = [move for k in range(len(tiles)) for move in self._moves_on(state, k)]
                yield from self._extend(state, moves, self.limits.operators)
                if not self.funnel.complete:
                    return

    def _load_sets(self) -> list[tuple[Load, ...]]:
        """Which inputs are loaded in the loop, before it, or both; every input the outputs depend on is loaded.

        First all loads in the loop, then none (a block without a loop); mixtures only with ``limits.invariant_loads``.
        """
        needed = [k for k in range(len(self.types)) if self.input_exprs[k] in self.target.distance]
        uniform = [tuple(Load(k) for k in needed), tuple(Load(k, True) for k in needed)]
        if not self.limits.invariant_loads:
            return uniform
        options = [[(Load(k),), (Load(k, True),), (Load(k), Load(k, True))] for k in needed]
        sets = [tuple(load for group in combo for load in group) for combo in product(*options)]
        sets = [s for s in sets if self.target.occurs.admit([self.input_exprs[load.source] for load in s])]
        mixed = sorted((s for s in sets if s not in uniform), key=_load_set_key)
        if self.outside is None:
            return uniform + mixed
        return [s for s in mixed if sum(load.invariant for load in s) == self.outside]

    def _load_tiles(self, loads: Sequence[Load]) -> Iterator[tuple[Tile, ...]]:
        """The tiles that loads bring in; more than one choice only where mappings are chosen this early (``concrete``)."""
        yield tuple(self._load_tile(load, self.input_dims[load.source]) for load in loads)

    def _load_tile(self, load: Load, dims: Dims) -> Tile:
        return self._tile(self.input_exprs[load.source], dims, Stage.INVARIANT if load.invariant else Stage.BODY)

    def _tile(self, expr: int, dims: Dims, stage: Stage) -> Tile:
        key = (expr, dims, stage)
        tile = self._tiles.get(key)
        if tile is None:
            leave = stage is Stage.BODY  # an accumulator
            needs, single = self.target.distance.get(expr, _NEVER) + leave, self.target.single.get(expr, 0) + leave
            tile = self._tiles[key] = Tile(expr, dims, stage, needs, single)
        return tile

    def _class_of(self, dim: DimClass) -> DimClass:
        """The program dim class of a tile's dim."""
        return dim

    def _extend(self, state: _State, moves: Sequence[Move], left: int) -> Iterator[KernelGraph]:
        """The partial graph, if it is finished, and all graphs that go on from it by ``moves``."""
        if self.funnel.counts["states"] >= self.limits.states:
            self.funnel.stop(f"states limit of {self.limits.states}")
            return
        self.funnel.count("states")
        yield from self._finish(state)
        if left == 0:
            return
        for key, node, tile in moves:
            state.push(node, tile)
            if not self._can_finish(state, left - 1):
                self.funnel.count("rejected: too few operators left")
            elif not self._can_use_all(state):
                self.funnel.count("rejected: would occur too often")
            else:
                later = [] if left == 1 else self._later(state, moves, key)
                yield from self._extend(state, later, left - 1)
            state.pop()
            if not self.funnel.complete:
                return

    def _later(self, state: _State, moves: Sequence[Move], last: Key) -> list[Move]:
        """What may follow the newest node: what could have been added instead of it and has a larger key, and what uses it."""
        later = [move for move in moves if move[0] > last]
        later += self._moves_on(state, len(state.nodes) - 1)
        return later

    def _moves_on(self, state: _State, newest: int) -> list[Move]:
        """Every node whose largest operand is ``newest``."""
        tile = state.tiles[newest]
        pairs = self._two.setdefault(tile, {})
        moves: list[Move] = []
        rejected: list[str] = []

        def move(operands: tuple[int, ...], choice: Choice, result: Tile) -> None:
            moves.append(((newest, operands, choice.sort_key), BlockNode(choice.op, operands), result))

        for choice, result in self._on_one(tile):
            move((newest,), choice, result)
        for other in range(newest + 1):
            older = state.tiles[other]
            pair = pairs.get(older)
            if pair is None:
                pair = pairs[older] = self._on_two(older, tile)
            forward, backward, reasons = pair
            for choice, result in forward:
                move((other, newest), choice, result)
            if other != newest:
                for choice, result in backward:
                    move((newest, other), choice, result)
            rejected += reasons
        self.funnel.counts.update(rejected)
        return moves

    def _on_one(self, tile: Tile) -> Sequence[Found]:
        """What one tile can be given to."""
        found = self._one.get(tile)
        if found is None:
            found = self._one[tile] = tuple(self._unary_results(tile))
        return found

    def _on_two(self, older: Tile, newer: Tile) -> Pair:
        """What two tiles can be given to."""
        rejected: list[str] = []
        forward = tuple(self._binary_results(older, newer, rejected))
        backward = self._binary_results(newer, older, rejected)
        return forward, tuple(f for f in backward if not f[0].commutative), tuple(rejected)

    def _unary_results(self, tile: Tile) -> Iterator[Found]:
        if tile.stage is Stage.BODY:
            for accum in self.accums:
                yield accum, self._tile(tile.expr, tile.dims, Stage.AFTER)
        results = self.target.on_one(tile.expr)
        for choice in self.unaries:
            if (expr := results.get(choice.label)) is not None:
                yield choice, self._tile(expr, tile.dims, tile.stage)
        for choice in self.reductions:
            assert isinstance(choice.op, Op) and choice.op.dim is not None
            d = choice.op.dim
            dim_class = self._class_of(tile.dims[d]) if d < len(tile.dims) else None
            if dim_class is not None and (expr := results.get(sum_label(choice.op.name, dim_class))) is not None:
                yield choice, self._tile(expr, (*tile.dims[:d], None, *tile.dims[d + 1 :]), tile.stage)
        for choice in self.transposes:
            assert isinstance(choice.op, Op) and choice.op.perm is not None
            if len(choice.op.perm) == len(tile.dims):
                yield choice, self._tile(tile.expr, tuple(tile.dims[p] for p in choice.op.perm), tile.stage)

    def _binary_results(self, left: Tile, right: Tile, rejected: list[str]) -> Iterator[Found]:
        stage = _meet(left.stage, right.stage)
        results = self.target.on_two(left.expr, right.expr)
        if stage is None or not results:
            rejected.append("rejected: not a subexpression" if stage else "rejected: inside and after the loop")
            return
        yield from self._matmul_results(results, left, right, stage, rejected)
        dims = _broadcast_dims(left.dims, right.dims)
        if dims is None:
            rejected.append("rejected: dims do not match")
            return
        for choice in self.binaries:
            assert isinstance(choice.op, Op)
            if (expr := results.get(choice.label[0])) is not None:
                yield choice, self._tile(expr, dims, stage)

    def _matmul_results(
        self, results: Mapping[str, int], left: Tile, right: Tile, stage: Stage, rejected: list[str]
    ) -> Iterator[Found]:
        if self.matmul is None or (product := results.get("mul")) is None:
            return
        dims, contracted = _matmul_dims(left.dims, right.dims), left.dims[-1]
        if dims is None:
            rejected.append("rejected: dims do not match")
        elif (dim_class := self._class_of(contracted)) is not None:
            if (expr := self.target.on_one(product).get(sum_label("sum", dim_class))) is not None:
                yield self.matmul, self._tile(expr, dims, stage)
        elif self.has_outer_product:
            yield self.matmul, self._tile(product, dims, stage)

    def _can_finish(self, state: _State, left: int) -> bool:
        """A lower bound on the operators still needed: of two operands to join open tiles, of one on the way to an output."""
        open_tiles = [tile for tile, uses in zip(state.tiles, state.uses, strict=True) if not uses]
        if not open_tiles:
            return True
        joins = max(0, len(open_tiles) - len(self.goals))
        return (
            joins + max([tile.single for tile in open_tiles]) <= left
            and max([tile.needs for tile in open_tiles]) <= left
        )

    def _can_use_all(self, state: _State) -> bool:
        """Whether the outputs can have all open tiles in them, as far as numbers of occurrences tell."""
        return self.target.occurs.admit(
            [tile.expr for tile, uses in zip(state.tiles, state.uses, strict=True) if not uses]
        )

    def _finish(self, state: _State) -> Sequence[KernelGraph]:
        """The finished graphs, if every output of the program is there and nothing else is left open.

        Tiles of one expression need not be equal (a tile and its accumulator, say), so each that can be saved is tried; results
        that are the same goal take the same one.
        """
        matches = []
        distinct = list(dict.fromkeys(self.goals))
        for goal in distinct:
            match = [
                k
                for k, t in enumerate(state.tiles)
                if t.expr == goal.expr and t.stage is not Stage.BODY and self._dims_reach(t.dims, goal)
            ]
            if not match:
                return ()
            matches.append(match)
        open_tiles = {k for k, n in enumerate(state.uses) if n == 0}
        graphs = []
        for chosen in product(*matches):
            tile_of = dict(zip(distinct, chosen, strict=True))
            outputs = tuple(tile_of[goal] for goal in self.goals)
            if not open_tiles.issubset(outputs):
                continue
            if _has_idle_invariant(state, outputs):
                self.funnel.count("rejected: same as a load inside the loop")
            elif self.funnel.counts["structures"] >= self.limits.structures:
                self.funnel.stop(f"structures limit of {self.limits.structures}")
            else:
                graphs.append(self._graph(state, outputs))
        return graphs

    def _dims_reach(self, dims: Dims, goal: Goal) -> bool:
        return dims == goal.dims

    def _graph(self, state: _State, outputs: tuple[int, ...]) -> KernelGraph:
        self.funnel.count("structures")
        loop = LOOP_NAME if any(t.stage is Stage.BODY for t in state.tiles) else None
        block = BlockGraph(self.grid, loop, self.types, tuple(state.nodes), outputs)
        matching = match_dims(block, self.input_dims)
        node = CustomNode(block, tuple(range(len(self.types))), None, matching.equalities)
        count = len(self.types)
        return KernelGraph(self.types, (node,), tuple(count + k for k in range(len(outputs))))


def _load_set_key(loads: tuple[Load, ...]) -> tuple[int, int, list[tuple[str, ...]]]:
    return sum(load.invariant for load in loads), len(loads), [load.sort_key for load in loads]


def load_stages(limits: SearchLimits, inputs: int) -> Iterator[tuple[SearchLimits, int | None]]:
    """The stages of a search, as limits and ``outside`` of a generator; it ends as soon as ``limits.suffice``.

    Graphs that load everything inside the loop, or have no loop; then one load outside the loop beside those inside, two, and
    so on. With ``limits.invariant_loads`` all of this is one stage.
    """
    yield limits, None
    if not limits.invariant_loads:
        for outside in range(1, inputs + 1):
            yield replace(limits, invariant_loads=True), outside


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


def _has_idle_invariant(state: _State, outputs: Sequence[int]) -> bool:
    """Whether some invariant load is only ever used inside the loop, where a body load with no fmap does the same.

    A tensor that is loaded inside the loop as well is another matter: its tile there may be cut, so there is no second load
    that could do the same (see ``instantiate``).
    """
    stages = [t.stage for t in state.tiles]
    if Stage.BODY not in stages:
        return False
    inside = {n.op.source for n in state.nodes if isinstance(n.op, Load) and not n.op.invariant}
    idle = [state.nodes[k].op for k in idle_loads(state.nodes, stages, outputs)]
    return any(isinstance(op, Load) and op.source not in inside for op in idle)


def idle_loads(nodes: Sequence[BlockNode], stages: Sequence[Stage], outputs: Sequence[int]) -> list[int]:
    """Loads outside the loop that are only ever used inside it.

    What is new is an invariant tile that is saved or meets a tile from after the loop. (Code generation hoists what does not
    change in the loop, so computing something once instead of in every iteration is no reason for another graph.)
    """
    useful: set[int] = set()
    for k in reversed(range(len(nodes))):
        users = [u for u, n in enumerate(nodes) if k in n.operands]
        if stages[k] is Stage.INVARIANT and (
            k in outputs or any(stages[u] is Stage.AFTER or u in useful for u in users)
        ):
            useful.add(k)
    return [k for k, n in enumerate(nodes) if isinstance(n.op, Load) and n.op.invariant and k not in useful]


def generate(program: Program, limits: SearchLimits, funnel: Funnel) -> Iterator[KernelGraph]:
    """All block graphs with symbolic mappings that may compute the program, lazily and in a fixed order.

    Raises nothing for a program too large: limits end the search and are recorded in ``funnel``.
    """
    return Generator(program, limits, funnel).run()
