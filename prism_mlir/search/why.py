"""Would the search reach a given graph, and if not, which rule rejects it, and where?

The graph is brought into the search's order (``normal_form``) and built up node by node in a generator, which is asked at every
step what it would ask itself. No rule is written here a second time; what is here are the words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from prism_mlir.graph.block import BlockGraph, BlockNode, Load, Stage
from prism_mlir.graph.errors import PrismError
from prism_mlir.graph.kernel import CustomNode, KernelGraph, LibraryNode, program_types
from prism_mlir.graph.mapping import Mapping
from prism_mlir.graph.ops import Kind, Op
from prism_mlir.graph.program import Program
from prism_mlir.search.abstract import AbstractTarget, abstract_target
from prism_mlir.search.dim_match import match_dims
from prism_mlir.search.generate import Found, Generator, Tile, _State
from prism_mlir.search.instantiate import Accept, instantiate, is_loaded_alike, loaded_twice, with_cuts
from prism_mlir.search.kernel_generate import FirstKernel, PairStructures, Saved, SecondKernel
from prism_mlir.search.kernel_instantiate import PairInstantiator
from prism_mlir.search.library import fold
from prism_mlir.search.limits import Funnel, SearchLimits
from prism_mlir.search.mappings import Cut, MappingSpace, mapping_space, to_mapping
from prism_mlir.search.normal_form import Form, Ordered, normal_form, ordered, reordered

Refute = Callable[[KernelGraph, str], str | None]
"""What is wrong with a graph when only the named parallel dim has a size above 1; ``None`` where nothing is."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The first rule that rejects a graph. rule: one of :data:`RULES`; where: what it rejects, in words."""

    rule: str
    where: str

    def __str__(self) -> str:
        return self.where


@dataclass(frozen=True, slots=True)
class Reached:
    """The search reaches the graph, if no limit ends it before.

    form:  the graph's normal form, which the candidate or the structure that the search finds has as well
    notes: in what the search's graph is written differently
    late:  a load outside the loop, which is looked for only where nothing else is found; empty otherwise
    """

    form: Form
    notes: tuple[str, ...] = ()
    late: str = ""


RULES = {
    "interface": "tensors are the program's",
    "library": "library operators allowed, and where",
    "kernels": "graph-defined operators allowed",
    "loads": "which tensors are loaded, and where",
    "repeated": "no node twice",
    "operators": "operators allowed",
    "vocabulary": "operators that the program suggests",
    "subexpression": "every tile is part of the program's expression",
    "stages": "nothing is both inside and after the loop",
    "dims": "dims match",
    "unfinished": "every tile leads to an output",
    "outputs": "outputs are the program's",
    "idle load": "a load outside the loop is used after it",
    "grid dims": "grid dims allowed",
    "mapping": "matched dims are cut alike, at most one dim of a tensor by each parallel dim",
    "idle loop": "the loop cuts something",
    "refuted alone": "right where only one parallel dim counts",
    "maximal": "of two kernels' grid cuts only maximal sets are kept",
}


class _Reject(Exception):
    def __init__(self, rule: str, where: str) -> None:
        super().__init__(where)
        self.rejected = Rejected(rule, where)


def explain(
    program: Program,
    graph: KernelGraph,
    limits: SearchLimits,
    refute: Refute,
    target: AbstractTarget | None = None,
) -> Reached | Rejected:
    """Follow the search to a graph. Its mappings may be symbols; then only its structure is looked for."""
    try:
        return _Follower(program, graph, limits, refute, target or abstract_target(program)).run()
    except _Reject as reject:
        return reject.rejected


class _Follower:
    def __init__(
        self, program: Program, graph: KernelGraph, limits: SearchLimits, refute: Refute, target: AbstractTarget
    ) -> None:
        self.program, self.graph, self.limits, self.refute, self.target = program, graph, limits, refute, target
        self.late, self.notes = "", list[str]()
        self.given = graph  # with library operators, which are followed as the kernel that they are the parts of

    def run(self) -> Reached:
        self._check_interface()
        customs = list(self.graph.custom)
        if len(customs) == 1:
            block, form = self._follow_one(customs[0])
        else:
            block, form = None, self._follow_two(customs[0], customs[1])
        if block is not None and customs[0].mapping is not None:
            self._follow_mapping(customs[0], block)
        elif block is not None:
            self._follow_structure(block)
        return Reached(form, tuple(dict.fromkeys(self.notes)), self.late)

    def _check_interface(self) -> None:
        graph, wanted = self.graph, program_types(self.program)
        try:
            graph.check()
        except PrismError as error:
            raise _Reject(_rule_of(error.message), error.message) from None
        if [t.shape for t in graph.inputs] != [t.shape for t in wanted]:
            raise _Reject("interface", "the graph's inputs are not the program's")
        results = [self.program.shapes[o.value] for o in self.program.outputs]
        if [graph.shapes[v] for v in graph.outputs] != results:
            raise _Reject("interface", "the graph's outputs do not have the shapes of the program's")
        if any(isinstance(node, LibraryNode) for node in graph.nodes):
            self._fold()
            return
        if not graph.nodes:
            raise _Reject("kernels", "the graph has no kernel")
        if len(graph.nodes) > self.limits.kernels:
            more = "; searched only with kernels=2" if len(graph.nodes) == 2 else ""
            raise _Reject("kernels", f"{len(graph.nodes)} kernels, the limit is {self.limits.kernels}{more}")
        if len({n.mapping is None for n in graph.custom}) > 1:
            raise _Reject("mapping", "some mappings are symbols and some are not")

    def _fold(self) -> None:
        """Library operators are followed as the plain kernel that the search takes apart."""
        count = sum(isinstance(node, LibraryNode) for node in self.graph.nodes)
        if count > self.limits.library:
            raise _Reject("library", f"{count} library operators, the limit is {self.limits.library}")
        folded = fold(self.graph)
        if folded is None:
            raise _Reject("library", "library operators are searched before or after one graph-defined operator")
        self.graph = folded[0]

    # one kernel

    def _follow_one(self, node: CustomNode) -> tuple[BlockGraph, Form]:
        found = ordered(node.block, node.operands)
        stage = replace(self.limits, invariant_loads=True)
        generator = Generator(self.program, stage, Funnel(), target=self.target)
        early = Generator(self.program, self.limits, Funnel(), target=self.target)._load_sets()
        loads = tuple(n.op for n in found.nodes if isinstance(n.op, Load))
        if loads in generator._load_sets() and loads not in early:
            outside = [self.program.inputs[op.source].name for op in loads if op.invariant]
            when = "searched only when few graphs, or none with a loop, are found"
            self.late = f"loads {', '.join(outside)} outside the loop: {when}"
        expected = tuple(found.outputs[v - len(self.graph.inputs)] for v in self.graph.outputs)
        (custom,) = self._follow_block(generator, found, "", expected).custom
        _check_outputs(custom.block, expected, found, "")
        return custom.block, normal_form(self.given)

    def _follow_block(
        self, generator: Generator, found: Ordered, what: str, expected: Sequence[int] | None = None
    ) -> KernelGraph:
        """Build the nodes up in a generator. Returns the graph that the search makes of them.

        expected: the tile that each output of the program is, if one kernel saves them all
        """
        state = self._load(generator, found, what)
        count = sum(not isinstance(n.op, Load) for n in found.nodes)
        limit = generator.limits.operators
        if count > limit:
            raise _Reject("operators", f"{what}more operators ({count}) than the limit of {limit}")
        last: BlockNode | None = None
        for k in range(len(state.nodes), len(found.nodes)):
            node = found.nodes[k]
            if node == last:
                raise _Reject("repeated", f"{what}{_name(found, k)} repeats node {found.was[k - 1]}")
            last = node
            state.push(node, self._result(generator, state, found, k, what))
            left = limit - (k + 1 - len(found.nodes) + count)
            if not generator._can_finish(state, left):
                rest = f"too few operators are left ({left}) to bring every open tile to an output"
                raise _Reject("unfinished", f"{what}after {_name(found, k)} {rest}")
        return self._finish(generator, state, found, what, expected)

    def _load(self, generator: Generator, found: Ordered, what: str) -> _State:
        loads = tuple(n.op for n in found.nodes if isinstance(n.op, Load))
        if len(set(loads)) < len(loads):
            twice = next(op for op in loads if loads.count(op) > 1)
            raise _Reject("loads", f"{what}{self._tensor(twice.source)} is loaded twice in the same place")
        if loads not in generator._load_sets():
            raise _Reject("loads", f"{what}{self._wrong_loads(generator, loads)}")
        state = _State()
        for op in loads:
            state.push(BlockNode(op), generator._load_tile(op, generator.input_dims[op.source]))
        return state

    def _wrong_loads(self, generator: Generator, loads: Sequence[Load]) -> str:
        sets = [{op.source for op in s} for s in generator._load_sets()]
        have = {op.source for op in loads}
        if have in sets:
            text = ", ".join(f"{self._tensor(op.source)}{' outside the loop' if op.invariant else ''}" for op in loads)
            return f"loads {text}: no such mixture is searched"
        missing = sorted(set.intersection(*sets) - have) if sets else []
        if missing:
            return f"{self._tensor(missing[0])} is not loaded, and the outputs depend on it"
        return f"loads {', '.join(self._tensor(v) for v in sorted(have))}: the outputs do not depend on all of them"

    def _tensor(self, value: int) -> str:
        inputs = self.program.inputs
        return inputs[value].name if value < len(inputs) else f"saved result {value - len(inputs)}"

    def _result(self, generator: Generator, state: _State, found: Ordered, k: int, what: str) -> Tile:
        """The tile of node ``k``, as the generator finds it."""
        node, name = found.nodes[k], f"{what}{_name(found, k)}"
        tiles = [state.tiles[v] for v in node.operands]
        rejected: list[str] = []
        for choice, tile in self._results(generator, tiles, rejected):
            if choice.op == node.op:
                return tile
        known = [c.op for c in (*generator.unaries, *generator.binaries, *generator.reductions, *generator.transposes)]
        known += [c.op for c in generator.accums] + ([generator.matmul.op] if generator.matmul else [])
        if node.op not in known:
            raise _Reject("vocabulary", f"{name} is no operator that the program suggests")
        if "rejected: inside and after the loop" in rejected:
            raise _Reject("stages", f"{name} mixes a tile of the loop body with one that exists after the loop")
        if "rejected: dims do not match" in rejected and self._is_pair(generator, node.op, tiles):
            raise _Reject("dims", f"dims of {name} do not match")
        raise _Reject("subexpression", f"{name} is no subexpression of the program")

    def _results(self, generator: Generator, tiles: Sequence[Tile], rejected: list[str]) -> Sequence[Found]:
        match tiles:
            case [one]:
                return generator._on_one(one)
            case [left, right]:
                return list(generator._binary_results(left, right, rejected))
            case _:
                return ()

    def _is_pair(self, generator: Generator, op: object, tiles: Sequence[Tile]) -> bool:
        """Whether an operator on two tiles is a subexpression, if their dims are left out of account."""
        label = "mul" if isinstance(op, Op) and op.kind is Kind.MATMUL else getattr(op, "name", "")
        return label in generator.target.on_two(tiles[0].expr, tiles[1].expr)

    def _finish(
        self, generator: Generator, state: _State, found: Ordered, what: str, expected: Sequence[int] | None
    ) -> KernelGraph:
        before = generator.funnel.counts["rejected: same as a load inside the loop"]
        made = generator._finish(state)
        if made:
            return next((g for g in made if next(g.custom).block.outputs == expected), made[0])
        if generator.funnel.counts["rejected: same as a load inside the loop"] > before:
            raise _Reject(
                "idle load", f"{what}a load outside the loop is used inside only: same as a load inside the loop"
            )
        unused = [k for k, n in enumerate(state.uses) if n == 0]
        inside = [k for k in unused if state.tiles[k].stage is Stage.BODY]
        if inside:
            raise _Reject("unfinished", f"{what}{_name(found, inside[0])} never leaves the loop")
        loose = [k for k in unused if k not in found.outputs]
        if loose:
            raise _Reject("unfinished", f"{what}{_name(found, loose[0])} is used by nothing")
        raise _Reject("outputs", f"{what}what is saved is not what the program, or a kernel of two, may save")

    def _follow_mapping(self, node: CustomNode, block: BlockGraph) -> None:
        """The mapping of one kernel, cut by cut."""
        assert node.mapping is not None
        found = ordered(node.block, node.operands)
        mapping = reordered(node.block, node.mapping, found, _output_order(found, block))
        dims = Generator(self.program, self.limits, Funnel(), target=self.target).input_dims
        space = mapping_space(block, match_dims(block, dims))
        whole = _kernel(block)
        (custom,) = whole.custom
        cuts = [self._grid_cut(node.block.grid[g], mapping, g, space) for g in range(len(node.block.grid))]
        used = [(p, c) for p, c in zip(node.block.grid, cuts, strict=True) if c]
        if is_loaded_alike(loaded_twice(block), mapping):
            raise _Reject("idle load", "a tensor is loaded inside the loop and outside, alike: the same as loaded once")
        if len(used) > self.limits.grid_dims:
            raise _Reject("grid dims", f"{len(used)} grid dims, the limit is {self.limits.grid_dims}")
        loop = self._loop_cut(mapping, space)
        if block.loop is not None and not loop:
            raise _Reject("idle loop", "the loop cuts nothing: every iteration would do the same")
        if loop:
            self._alone(with_cuts(whole, custom, space, [], loop), str(block.loop), f"loop {node.block.loop}", loop)
        else:
            self._alone(with_cuts(whole, custom, space, [()], ()), "x", "no parallel dim", ())
        for p, cut in used:
            self._alone(with_cuts(whole, custom, space, [cut], ()), "x", f"grid dim {p}", cut)
        if len(used) < len(cuts):
            self.notes.append("grid dims that cut nothing are left out")
        if [c for _, c in used] != sorted(c for _, c in used):
            self.notes.append("grid dims are permuted")

    def _follow_structure(self, block: BlockGraph) -> None:
        """A kernel whose mapping is symbols: is there a mapping?"""
        refuted: list[str] = []
        dims = Generator(self.program, self.limits, Funnel(), target=self.target).input_dims
        if not any(True for _ in instantiate(_kernel(block), self._collecting(refuted), Funnel(), dims)):
            raise _Reject(
                "refuted alone", f"the structure is reached, but no mapping of it is right{_example(refuted)}"
            )

    def _collecting(self, refuted: list[str]) -> Accept:
        """Accept what is not refuted, and collect what is."""

        def accept(graph: KernelGraph, dim: str) -> bool:
            reason = self.refute(graph, dim)
            if reason is not None:
                refuted.append(f"the cut of {dim}, {_show(graph, dim)}: {reason}" if dim else reason)
            return reason is None

        return accept

    def _grid_cut(self, name: str, mapping: Mapping, g: int, space: MappingSpace) -> Cut:
        rows = (*mapping.imap, *mapping.omap)
        cut = _groups(space, [row[g] for row in rows])
        if cut not in space.cuts(loop=False):
            raise _Reject("mapping", f"grid dim {name} cuts two dims of one tensor")
        made = to_mapping(space, [cut], ())
        if [row[0] for row in (*made.imap, *made.omap)] != [row[g] for row in rows]:
            raise _Reject("mapping", f"grid dim {name} does not cut alike what the operators match")
        return cut

    def _loop_cut(self, mapping: Mapping, space: MappingSpace) -> Cut:
        cut = _groups(space, [*mapping.fmap, *[-1 for _ in mapping.omap]])
        if cut not in space.cuts(loop=True):
            raise _Reject("mapping", "the loop cuts two dims of one tensor, or one that is saved")
        if to_mapping(space, [], cut).fmap != mapping.fmap:
            raise _Reject("mapping", "the loop does not cut alike what the operators match")
        return cut

    def _alone(self, graph: KernelGraph, dim: str, name: str, cut: Cut) -> None:
        reason = self.refute(graph, dim)
        if reason is not None:
            raise _Reject("refuted alone", f"the cut of {name}, {_show(graph, dim)}, is refuted alone: {reason}")

    # two kernels

    def _follow_two(self, first: CustomNode, second: CustomNode) -> Form:
        left = ordered(first.block, first.operands)
        one = FirstKernel(self.program, self.limits, Funnel(), target=self.target)
        made = one.structure_of(self._follow_block(one, left, "first kernel: "))
        if sorted(left.outputs) != sorted(made.block.outputs):
            saved = ", ".join(_name(left, k) for k in made.block.outputs)
            raise _Reject("outputs", f"first kernel: the search saves what the kernel itself does not use, {saved}")
        order = _output_order(left, made.block)
        count = len(self.graph.inputs)
        number = {count + o: count + k for k, o in enumerate(order)} | {v: v for v in range(count)}
        if any(v not in number for v in second.operands):
            raise _Reject("loads", "second kernel: reads what neither the program nor the first kernel gives")
        right = ordered(second.block, [number[v] for v in second.operands])
        two = SecondKernel(self.program, self.limits, Funnel(), self.target, made.saved)
        results = count + len(left.outputs)
        expected = tuple(right.outputs[v - results] for v in self.graph.outputs if v >= results)
        (custom,) = self._follow_block(two, right, "second kernel: ", expected).custom
        _check_outputs(custom.block, expected, right, "second kernel: ")
        form = normal_form(self.given)
        self._follow_mappings(made.block, custom.block, made.saved, None if first.mapping is None else form)
        return form

    def _follow_mappings(
        self, first: BlockGraph, second: BlockGraph, saved: tuple[Saved, ...], form: Form | None
    ) -> None:
        """Mappings of two kernels: is the one with this form among those that the search gives the pair? (``None``: any)"""
        refuted: list[str] = []
        pairs = PairStructures(saved, (first,), (second,))
        accept = self._collecting(refuted)
        found = PairInstantiator(self.program, pairs, accept, self.limits, Funnel()).run()
        forms = [normal_form(g) for g in found]
        if not forms:
            raise _Reject("refuted alone", f"no mapping of this pair of kernels is right{_example(refuted)}")
        if form is None or form in forms:
            return
        mapped = [(n.mapping, n.block) for n in self.graph.custom if n.mapping]
        if any(block.loop is not None and max(mapping.fmap, default=-1) < 0 for mapping, block in mapped):
            raise _Reject("idle loop", "a loop cuts nothing: every iteration would do the same")
        bad = next((r for n in self.graph.custom for p in n.block.parallel_dims if (r := self._bad_dim(p))), None)
        if bad is not None:
            raise _Reject("refuted alone", bad)
        raise _Reject(
            "maximal", f"each cut is right, but of two kernels' grid cuts only maximal sets are kept ({len(forms)})"
        )

    def _bad_dim(self, dim: str) -> str | None:
        reason = self.refute(self.graph, dim)
        return None if reason is None else f"the cut of {dim}, {_show(self.graph, dim)}, is refuted alone: {reason}"


def _kernel(block: BlockGraph) -> KernelGraph:
    count = len(block.inputs)
    node = CustomNode(block, tuple(range(count)))
    return KernelGraph(block.inputs, (node,), tuple(count + k for k in range(len(block.outputs))))


def _example(refuted: Sequence[str]) -> str:
    return f": {len(refuted)} cuts are refuted alone, such as {refuted[0]}" if refuted else ""


def _rule_of(message: str) -> str:
    """Which rule an ill-formed graph breaks, by what is said of it."""
    if "loop" in message and ("mixes" in message or "inside" in message or "accumulates" in message):
        return "stages"
    if any(word in message for word in ("omap", "imap", "fmap", "mapping", "cut", "partition", "parts")):
        return "mapping"
    return "dims"


def _name(found: Ordered, k: int) -> str:
    return f"node {found.was[k]} ({found.nodes[k].op})"


def _check_outputs(made: BlockGraph, expected: Sequence[int], found: Ordered, what: str) -> None:
    if sorted(found.outputs) != sorted(made.outputs) and len(found.outputs) != len(made.outputs):
        raise _Reject("outputs", f"{what}{len(found.outputs)} tiles are saved, {len(made.outputs)} are outputs")
    for k, (a, b) in enumerate(zip(made.outputs, expected, strict=True)):
        if a != b:
            saved = f"output {k} is {_name(found, b)}, the search saves {_name(found, a)}"
            raise _Reject("outputs", what + saved)


def _output_order(found: Ordered, made: BlockGraph) -> list[int]:
    """For each output of the block that the search made, which output of the given graph it is."""
    return [found.outputs.index(o) for o in made.outputs]


def _groups(space: MappingSpace, dims: Sequence[int]) -> Cut:
    pairs = zip(space.tensors, dims, strict=True)
    return tuple(sorted({g for t, d in pairs if d >= 0 and (g := t.groups[d]) is not None}))


def _show(graph: KernelGraph, dim: str) -> str:
    """What a parallel dim cuts: ``{load 0: dim 1, load 1: dim 0}``."""
    cut: list[str] = []
    for node in graph.custom:
        assert node.mapping is not None
        for k, imap, fmap in zip(node.block.loads, node.mapping.imap, node.mapping.fmap, strict=True):
            d = fmap if dim == node.block.loop else imap[node.block.grid.index(dim)] if dim in node.block.grid else -1
            op = node.block.nodes[k].op
            if d >= 0 and isinstance(op, Load):
                cut.append(f"input {node.operands[op.source]}: dim {d}")
    return "{" + ", ".join(cut) + "}"


__all__ = ["RULES", "Reached", "Rejected", "explain"]
