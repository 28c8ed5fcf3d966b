"""Choose the shape of every tensor of the program: which factors share a dim, and in which order.

Elementwise operations and reductions want all their tensors in one order of dims, a *frame*: a list of slots, each a
run of factors that always travel together, or empty (a dim of size 1). A contraction fixes the frames it touches:
batch dims, rows, columns. Where two contractions want the same tensors in different orders, the first decides, and a
transpose is written for the other; so it is where a tensor meets its own transpose. Function arguments have no layout
of their own: each use sees them as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from prism_mlir.frontend.contraction import roles_of
from prism_mlir.frontend.tensor_graph import Kind, TensorGraph, TensorNode, View

Slot = tuple[int, ...]
Slots = tuple[Slot, ...]

Axis = tuple[int, int]
"""An axis of a frame: a representative (node, axis) of all axes that are the same."""

Run = tuple[Axis, ...]
Alternatives = tuple[Run, ...]
Frame = tuple[tuple[Run, ...], ...]
"""For each slot the runs that may stand there; no tensor has axes of two of them."""

MIN_RANK = 2


@dataclass(frozen=True, slots=True)
class ContractSlots:
    """The slots of a contraction, in its iteration axes."""

    batch: Slots
    rows: Slot
    columns: Slot
    contracted: Slot

    @property
    def left(self) -> Slots:
        return (*self.batch, self.rows, self.contracted)

    @property
    def right(self) -> Slots:
        return (*self.batch, self.contracted, self.columns)

    @property
    def result(self) -> Slots:
        return (*self.batch, self.rows, self.columns)


class Layout:
    """Slots for every node. ``Mergeable(input, axes)`` says whether an input can show a run of axes as one dim."""

    def __init__(
        self,
        graph: TensorGraph,
        live: Sequence[int],
        together: set[tuple[int, int, int]],
        mergeable: Callable[[int, Slot], bool],
    ) -> None:
        self.graph = graph
        self.live = [index for index in live if graph.nodes[index].kind is not Kind.INPUT]
        self.together = together
        self.mergeable = mergeable
        self._parent: dict[Axis, Axis] = {}
        self._component: dict[int, int] = {index: index for index in self.live}
        self._apart: set[tuple[int, int]] = set()
        self._unite()
        self._tensors = self._tensors_of_components()
        self.contracts: dict[int, ContractSlots] = {}
        for k in self.live:
            if self._node(k).kind is Kind.CONTRACT:
                self.contracts[k] = self._in_known_order(k, self._contract_slots(k))
        self._frames = self._choose_frames()

    def slots(self, index: int) -> Slots:
        """Slots of a node's result, in its axes."""
        node = self._node(index)
        return self._express(index, range(node.rank))

    def iteration_slots(self, index: int) -> Slots:
        """Slots of an elementwise or reducing node's iteration space, in its iteration axes."""
        node = self._node(index)
        return self._express(index, range(node.rank + len(node.reduced)))

    def _express(self, index: int, axes: Iterable[int]) -> Slots:
        by_class = {self._class(index, axis): axis for axis in axes}
        frame = self._frames[self._component_of(index)]
        return tuple(tuple(by_class[c] for run in slot for c in run if c in by_class) for slot in frame)

    def _node(self, index: int) -> TensorNode:
        return self.graph.nodes[index]

    def _is_input(self, view: View) -> bool:
        return self._node(view.node).kind is Kind.INPUT

    # -- which axes are the same, which nodes share a frame

    def _unite(self) -> None:
        for index in self.live:
            for axis in range(self._extent(index)):
                self._parent[index, axis] = (index, axis)
        for index in self.live:
            for position, view in enumerate(self._elementwise_operands(index)):
                if not self._is_input(view) and not self._joined(index, view):
                    self._apart.add((index, position))
        self._unite_inputs()

    def _elementwise_operands(self, index: int) -> tuple[View, ...]:
        """Operands that want the frame of the node itself."""
        node = self._node(index)
        return () if node.kind is Kind.CONTRACT else node.operands

    def _joined(self, index: int, view: View) -> bool:
        """Identify an operand's axes with the node's; False, changing nothing, if two axes of a tensor would be one."""
        inside = self._component_of(view.node) == self._component_of(index)
        before = dict(self._parent) if inside else {}
        for inner, axis in enumerate(view.axes):
            self._parent[self._class(view.node, inner)] = self._class(index, axis)
        component = self._component_of(index)
        if inside and not all(self._distinct(k) for k in self.live if self._component_of(k) == component):
            self._parent = before  # a tensor with its own transpose: the operand moves before it is used
            return False
        self._component[self._component_of(view.node)] = component
        return True

    def _unite_inputs(self) -> None:
        """Several uses of one argument in one component see it alike, unless one sees it transposed."""
        uses: dict[tuple[int, int], list[tuple[int, View]]] = {}
        for index in self.live:
            for view in self._elementwise_operands(index):
                if self._is_input(view):
                    uses.setdefault((self._component_of(index), view.node), []).append((index, view))
        for (component, _), seen in uses.items():
            (first, reference), others = seen[0], seen[1:]
            for index, view in others:
                before = dict(self._parent)
                for left, right in zip(view.axes, reference.axes, strict=True):
                    self._parent[self._class(index, left)] = self._class(first, right)
                members = [k for k in self.live if self._component_of(k) == component]
                if not all(self._distinct(k) for k in members):
                    self._parent = before

    def _extent(self, index: int) -> int:
        node = self._node(index)
        return node.rank + (0 if node.kind is Kind.CONTRACT else len(node.reduced))

    def _distinct(self, index: int) -> bool:
        extent = self._extent(index)
        return len({self._class(index, axis) for axis in range(extent)}) == extent

    def _class(self, index: int, axis: int) -> Axis:
        current = (index, axis)
        while self._parent[current] != current:
            self._parent[current] = self._parent[self._parent[current]]
            current = self._parent[current]
        return current

    def _component_of(self, index: int) -> int:
        while self._component[index] != index:
            self._component[index] = self._component[self._component[index]]
            index = self._component[index]
        return index

    def _tensors_of_components(self) -> dict[int, list[Run]]:
        """For each component, the classes of the axes of every tensor in it, arguments as seen there included."""
        tensors: dict[int, list[Run]] = {}
        for index in self.live:
            node = self._node(index)
            mine = tensors.setdefault(self._component_of(index), [])
            mine.append(tuple(self._class(index, axis) for axis in range(node.rank)))
            for position, view in enumerate(self._elementwise_operands(index)):
                if self._is_input(view) or (index, position) in self._apart:
                    mine.append(tuple(self._class(index, axis) for axis in view.axes))
        return tensors

    # -- contractions

    def _contract_slots(self, index: int) -> ContractSlots:
        node = self._node(index)
        roles = roles_of(node)
        one = len(roles.batch) > 1 and self._travels_as_one(index, roles.batch)
        batch: Slots = (roles.batch,) if one else tuple((axis,) for axis in roles.batch)
        return ContractSlots(batch, roles.rows, roles.columns, roles.contracted)

    def _in_known_order(self, index: int, slots: ContractSlots) -> ContractSlots:
        """Several axes that make up the rows or the columns, in the order in which an earlier product made the operand's."""
        left, right = self._node(index).operands
        return replace(slots, rows=self._as_made(left, slots.rows), columns=self._as_made(right, slots.columns))

    def _as_made(self, view: View, axes: Slot) -> Slot:
        if self._is_input(view) or len(axes) < 2:
            return axes
        named = {self._class(view.node, view.axes.index(axis)): axis for axis in axes}
        for k, slots in self.contracts.items():
            if self._component_of(k) == self._component_of(view.node):
                for run in self._classes(k, slots.result):
                    if set(run) == set(named):
                        return tuple(named[c] for c in run)
        return axes

    def _travels_as_one(self, index: int, axes: Slot) -> bool:
        """Whether a run of iteration axes can be one dim of both operands and of the result."""
        for view in self._node(index).operands:
            inner = tuple(view.axes.index(axis) for axis in axes)
            if self._is_input(view):
                if not self.mergeable(view.node, inner):
                    return False
            elif not self._inseparable(view.node, inner):
                return False
        return self._inseparable(index, axes)

    def _inseparable(self, index: int, axes: Slot) -> bool:
        """Whether every tensor of the component has all of a node's ``axes``, or none."""
        classes = {self._class(index, axis) for axis in axes}
        return all(len(classes & set(t)) in (0, len(classes)) for t in self._tensors[self._component_of(index)])

    # -- frames

    def _choose_frames(self) -> dict[int, Frame]:
        wishes: dict[int, list[Alternatives]] = {component: [] for component in self._tensors}
        for index, slots in self.contracts.items():
            wishes[self._component_of(index)].append(self._classes(index, slots.result))
        for index, slots in self.contracts.items():
            for view, wanted in zip(self._node(index).operands, (slots.left, slots.right), strict=True):
                if not self._is_input(view):
                    inner = tuple(tuple(view.axes.index(axis) for axis in slot) for slot in wanted)
                    wishes[self._component_of(view.node)].append(self._classes(view.node, inner))
        return {component: self._frame(component, found) for component, found in wishes.items()}

    def _classes(self, index: int, slots: Slots) -> Alternatives:
        return tuple(tuple(self._class(index, axis) for axis in slot) for slot in slots)

    def _frame(self, component: int, wishes: list[Alternatives]) -> Frame:
        """The first wish, every later one that fits beside it, and room for all other axes."""
        tensors = self._tensors[component]
        frame: Frame = tuple((run,) for run in wishes[0]) if wishes else ()
        for wish in wishes[1:]:
            frame = _beside(frame, wish, tensors) or frame
        known = {c for slot in frame for run in slot for c in run}
        missing = list(dict.fromkeys(c for t in sorted(tensors, key=len, reverse=True) for c in t if c not in known))
        fresh: list[tuple[Run, ...]] = []
        for group in self._grouped(component, missing):
            place = next((k for k in reversed(range(len(frame))) if _may_share(frame[k], group, tensors)), None)
            if place is None:
                fresh.append((group,))
            else:
                frame = (*frame[:place], (*frame[place], group), *frame[place + 1 :])
        atoms = [part for slot in (*fresh, *frame) for part in _split(slot, tensors)]
        return tuple([((),)] * (MIN_RANK - len(atoms)) + atoms)

    def _grouped(self, component: int, classes: list[Axis]) -> list[Run]:
        """Neighbours that the source holds in one dim stay in one slot."""
        members = [k for k in self.live if self._component_of(k) == component]
        seen: dict[int, list[tuple[int, tuple[int, ...]]]] = {}  # node -> who sees it, and as which axes
        for index in members:
            node = self._node(index)
            seen.setdefault(index, []).append((index, tuple(range(node.rank))))
            for view in self._elementwise_operands(index):
                if self._is_input(view):
                    seen.setdefault(view.node, []).append((index, view.axes))
        pairs = {
            (self._class(viewer, axes[left]), self._class(viewer, axes[right]))
            for index, left, right in self.together
            for viewer, axes in seen.get(index, ())
        }
        groups: list[list[Axis]] = []
        for c in classes:
            if groups and (groups[-1][-1], c) in pairs:
                groups[-1].append(c)
            else:
                groups.append([c])
        return [tuple(group) for group in groups]


def _beside(frame: Frame, wish: Alternatives, tensors: list[Run]) -> Frame | None:
    """The frame with a wish's runs as alternatives in the same slots; None if they do not fit there."""
    if len(frame) != len(wish):
        return None
    known = {c for slot in frame for run in slot for c in run}
    result: list[tuple[Run, ...]] = []
    for slot, run in zip(frame, wish, strict=True):
        if not run or run in slot:
            result.append(slot)
        elif known.isdisjoint(run) and _may_share(slot, run, tensors):
            result.append((*slot, run))
        else:
            return None
    return tuple(result)


def _may_share(slot: tuple[Run, ...], run: Run, tensors: list[Run]) -> bool:
    """Whether a run can stand where ``slot`` does: no tensor has axes of both."""
    taken = {c for other in slot for c in other}
    return all(taken.isdisjoint(tensor) or set(run).isdisjoint(tensor) for tensor in tensors)


def _split(slot: tuple[Run, ...], tensors: list[Run]) -> list[tuple[Run, ...]]:
    """A slot as several, so that the members of each run are in exactly the same tensors."""
    parts = [_runs(run, tensors) for run in slot]
    count = max(map(len, parts), default=1)
    padded = [[()] * (count - len(runs)) + runs for runs in parts]
    return [tuple(runs[k] for runs in padded) for k in range(count)]


def _runs(run: Run, tensors: list[Run]) -> list[Run]:
    result: list[list[Axis]] = []
    for c in run:
        if result and all((c in tensor) == (result[-1][-1] in tensor) for tensor in tensors):
            result[-1].append(c)
        else:
            result.append([c])
    return [tuple(axes) for axes in result] or [()]
