"""Enumeration of concrete mappings (paper, section 3.4).

Not every mapping variable is enumerated, only those of the *merged* dims: dims that must be cut alike share one variable. A
parallel dim's choice is the set of merged dims it cuts, at most one dim of each tensor (constraint 1); grid dims cut disjoint
sets (constraint 2); of choices that differ by a permutation of grid dims only the lexicographically smallest is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from prism_mlir.graph.block import BlockGraph, Load
from prism_mlir.graph.errors import InputError
from prism_mlir.graph.mapping import Mapping
from prism_mlir.search.dim_match import Matching

Cut = tuple[int, ...]  # sorted groups of merged dims that one parallel dim cuts


@dataclass(frozen=True)
class MappedTensor:
    """A tensor with mapping variables.

    groups: merged dim of each data dim (``None``: never cut)
    loop:   whether the loop may cut it (outputs and invariant loads have no fmap)
    """

    name: str
    groups: tuple[int | None, ...]
    loop: bool = True


@dataclass(frozen=True)
class MappingSpace:
    """The mapping variables of a graph after dimension matching.

    whole: groups the loop must not cut (dims of tiles that outlive the loop and are saved)
    """

    tensors: tuple[MappedTensor, ...]
    grid: tuple[str, ...]
    loop: str | None
    whole: frozenset[int] = frozenset()

    @property
    def groups(self) -> tuple[int, ...]:
        return tuple(sorted({g for t in self.tensors for g in t.groups if g is not None}))

    def cuts(self, *, loop: bool) -> list[Cut]:
        """All choices for one grid dim, or for the loop, in lexicographic order; the empty one (replicate) first."""
        tensors = [t for t in self.tensors if t.loop] if loop else list(self.tensors)
        fixed = {g for t in self.tensors if loop and not t.loop for g in t.groups} | (
            self.whole if loop else frozenset()
        )
        free = [g for g in self.groups if g not in fixed and any(g in t.groups for t in tensors)]
        found: list[Cut] = []
        for size in range(len(free) + 1):
            for cut in combinations(free, size):
                if all(sum(g in cut for g in t.groups if g is not None) <= 1 for t in tensors):
                    found.append(cut)
        return sorted(found)


def mapping_space(block: BlockGraph, matching: Matching) -> MappingSpace:
    """The mapping variables of a block graph: its loads and its saved tiles."""
    tensors = []
    for k in block.loads:
        op = block.nodes[k].op
        assert isinstance(op, Load)
        tensors.append(MappedTensor(f"t{k}", matching.group[k], loop=not op.invariant))
    saved = frozenset(g for o in block.outputs for g in matching.group[o] if g is not None)
    tensors += [MappedTensor(f"out{k}", matching.group[o], loop=False) for k, o in enumerate(block.outputs)]
    return MappingSpace(tuple(tensors), block.grid, block.loop, saved)


def combine(
    grid_cuts: Sequence[Cut], loop_cuts: Sequence[Cut], grid_dims: int
) -> Iterator[tuple[tuple[Cut, ...], Cut]]:
    """Assignments of cuts to grid dims and loop: grid cuts are disjoint and in ascending order (one of each permutation)."""

    def extend(chosen: tuple[Cut, ...], start: int) -> Iterator[tuple[Cut, ...]]:
        if len(chosen) == grid_dims:
            yield chosen
            return
        for k in range(start, len(grid_cuts)):
            if all(not set(grid_cuts[k]) & set(c) for c in chosen):
                yield from extend((*chosen, grid_cuts[k]), k)

    for grid in extend((), 0):
        for loop in loop_cuts:
            yield grid, loop


def to_mapping(space: MappingSpace, grid: Sequence[Cut], loop: Cut) -> Mapping:
    """The imap, fmap and omap that a choice of cuts stands for."""

    def cut_dim(tensor: MappedTensor, cut: Cut) -> int:
        return next((d for d, g in enumerate(tensor.groups) if g is not None and g in cut), -1)

    loads = [t for t in space.tensors if t.name.startswith("t")]
    outputs = [t for t in space.tensors if not t.name.startswith("t")]
    imap = tuple(tuple(cut_dim(t, c) for c in grid) for t in loads)
    fmap = tuple(cut_dim(t, loop) if t.loop else -1 for t in loads)
    omap = tuple(tuple(cut_dim(t, c) for c in grid) for t in outputs)
    return Mapping(imap, fmap, omap)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Maps that are chosen before instantiation; ``None`` where they are still symbols (see ``concrete``).

    Rows list every grid dim that the search may use, also those that cut nothing.
    """

    imap: tuple[tuple[int, ...], ...] | None = None
    fmap: tuple[int, ...] | None = None
    omap: tuple[tuple[int, ...], ...] | None = None

    def fits(self, mapping: Mapping) -> bool:
        """Whether a mapping of all grid dims is the chosen one."""
        chosen, have = (self.imap, self.fmap, self.omap), (mapping.imap, mapping.fmap, mapping.omap)
        return all(a is None or a == b for a, b in zip(chosen, have, strict=True))

    def fits_column(self, mapping: Mapping) -> bool:
        """Whether a mapping of one grid dim is the chosen one of some grid dim."""
        count = max((len(row) for row in (*(self.imap or ()), *(self.omap or ()))), default=0)
        if self.imap is None and self.omap is None:
            return True
        column = [row[0] for row in (*(mapping.imap if self.imap else ()), *(mapping.omap if self.omap else ()))]
        rows = (*(self.imap or ()), *(self.omap or ()))
        return any([row[k] for row in rows] == column for k in range(count))


@dataclass(frozen=True, slots=True)
class SpaceCounts:
    """Sizes of a mapping space stage by stage (paper, section 3; the blog's worked example)."""

    raw: int
    well_formed: int
    matched: int
    canonical: int


def count_space(
    tensors: Sequence[tuple[str, int, bool]],
    grid: Sequence[str],
    loop: str,
    equal: Sequence[tuple[tuple[str, int], tuple[str, int]]],
) -> SpaceCounts:
    """Count assignments: all Booleans, after constraints (1) and (2), after matching, after grid symmetry.

    tensors: (name, rank, whether the loop cuts it); equal: pairs of (name, dim) that must be cut alike
    """
    variables = sum(rank * (len(grid) + has_loop) for _, rank, has_loop in tensors)
    separate = _numbered(tensors, ())
    merged = _numbered(tensors, equal)

    def size(space: Sequence[MappedTensor], ordered: bool) -> int:
        whole = MappingSpace(tuple(space), tuple(grid), loop)
        grid_cuts, loop_cuts = whole.cuts(loop=False), whole.cuts(loop=True)
        if ordered:
            return sum(1 for _ in combine(grid_cuts, loop_cuts, len(grid)))
        return _ordered_choices(grid_cuts, len(grid)) * len(loop_cuts)

    return SpaceCounts(2**variables, size(separate, False), size(merged, False), size(merged, True))


def _ordered_choices(cuts: Sequence[Cut], count: int, used: frozenset[int] = frozenset()) -> int:
    if count == 0:
        return 1
    return sum(_ordered_choices(cuts, count - 1, used | set(c)) for c in cuts if not used & set(c))


def _numbered(
    tensors: Sequence[tuple[str, int, bool]], equal: Sequence[tuple[tuple[str, int], tuple[str, int]]]
) -> list[MappedTensor]:
    number = {(name, d): k for k, (name, d) in enumerate((n, d) for n, rank, _ in tensors for d in range(rank))}
    for a, b in equal:
        if a not in number or b not in number:
            raise InputError(f"an equality names {a} or {b}, which no tensor has")
        low, high = sorted((number[a], number[b]))
        number = {dim: low if k == high else k for dim, k in number.items()}
    return [MappedTensor(name, tuple(number[(name, d)] for d in range(rank)), has) for name, rank, has in tensors]
