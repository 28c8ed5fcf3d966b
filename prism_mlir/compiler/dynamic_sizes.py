"""The dynamic sizes of a function: which ``?`` of its arguments are one size, and the program at any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import networkx as nx

from prism_mlir.compiler.copies import with_copies
from prism_mlir.frontend.import_linalg import import_module
from prism_mlir.frontend.specialise import Dim, DynamicSource
from prism_mlir.frontend.upstream import UpstreamModule
from prism_mlir.graph.dims import DimClasses, dim_classes
from prism_mlir.graph.dynamic import OTHER_PRIMES, PRIMES, DynamicProgram
from prism_mlir.graph.errors import LimitError, PrismError, UnsupportedError
from prism_mlir.graph.program import Program, row_major


@dataclass(frozen=True)
class SizedFunction:
    """A function with dynamic sizes.

    groups:  for each size, the ``?`` that have it
    program: the tensor program, with everything that depends on the sizes
    """

    source: DynamicSource
    groups: tuple[tuple[Dim, ...], ...]
    program: DynamicProgram

    @property
    def names(self) -> tuple[str, ...]:
        return self.program.names

    def module(self, sizes: Sequence[int]) -> UpstreamModule:
        """The source at some sizes. Raises as ``frontend.specialise``."""
        given = {dim: size for dims, size in zip(self.groups, sizes, strict=True) for dim in dims}
        unused = {dim: sizes[0] for dim in self.source.dims if dim not in given}
        return self.source.specialised(given | unused)

    def at(self, sizes: Sequence[int]) -> Program:
        """The program at some sizes.

        Raises :class:`UnsupportedError` where it is not the same program there: it computes with a size, or an array constant
        depends on one. At size 1 dims vanish, and nothing is compared.
        """
        program = _imported(self.module(sizes))
        if 1 not in sizes:
            self.check(program, sizes)
        return program

    def check(self, program: Program, sizes: Sequence[int]) -> None:
        """Raises :class:`UnsupportedError`, located, where a program at some sizes is not this one."""
        try:
            self.program.check(program, sizes)
        except UnsupportedError as error:
            raise UnsupportedError(
                error.message,
                self.source.location,
                "use the size for shapes only, not as a number (a mean over it, a mask)",
            ) from None


def sized_function(source: DynamicSource) -> SizedFunction:
    """Find out which ``?`` are one size.

    Those that operators make equal are; whether the others are independent is confirmed by giving each a size of its own.

    Raises :class:`UnsupportedError` (located) for what cannot be imported, or where that confirmation fails.
    """
    if not source.dims:
        raise UnsupportedError(f"@{source.function} has no `?` in its arguments", source.location)
    program = _imported(source.specialised(dict.fromkeys(source.dims, PRIMES[0])))
    groups = _groups(program, source.dims)
    if not groups:
        raise UnsupportedError("nothing depends on the dynamic sizes", source.location, "give them numbers")
    if len(groups) > len(PRIMES):
        raise LimitError(f"{len(groups)} dynamic sizes, at most {len(PRIMES)} are supported", source.location)
    names = tuple(f"{source.names[dims[0][0]]}[{dims[0][1]}]" for dims in groups)
    made = SizedFunction(source, groups, DynamicProgram(names, PRIMES[: len(groups)], program))
    try:
        twin = _imported(made.module(PRIMES[: len(groups)]))
        made = replace(made, program=replace(made.program, twin=twin))
        other = OTHER_PRIMES[: len(groups)]
        made.check(_imported(made.module(other)), other)
    except PrismError as error:
        place = error.location or source.location
        raise UnsupportedError(
            f"cannot tell which `?` agree; with {', '.join(names)} apart: {error.message}", place, error.hint
        ) from None
    return made


def _imported(module: UpstreamModule) -> Program:
    return with_copies(import_module(module))


def _groups(program: Program, dims: Sequence[Dim]) -> tuple[tuple[Dim, ...], ...]:
    """The dims of arguments by dim class; those that the program does not read are in none."""
    classes, found = dim_classes(program), nx.utils.UnionFind()
    used: set[Dim] = set()
    for dim in dims:
        for c in _classes_of(program, classes, dim):
            found.union(("dim", dim), ("class", c))
            used.add(dim)
    groups: dict[object, list[Dim]] = {}
    for dim in dims:
        if dim in used:
            groups.setdefault(found["dim", dim], []).append(dim)
    return tuple(tuple(g) for g in groups.values())


def _classes_of(program: Program, classes: DimClasses, dim: Dim) -> set[int]:
    """The free classes of dynamic size that a dim of an argument is, in all views of it."""
    found: set[int] = set()
    for k, spec in enumerate(program.inputs):
        if spec.arg != dim[0]:
            continue
        step = row_major(spec.arg_shape)[dim[1]]
        for size, stride, c in zip(spec.shape, spec.strides, classes.of[k], strict=True):
            if c is not None and stride <= step < stride * size:
                found |= {f for f in _factors(classes, c) if classes.sizes[f] % PRIMES[0] == 0}
    return found


def _factors(classes: DimClasses, c: int) -> set[int]:
    inner = classes.factors[c]
    return {f for i in inner for f in _factors(classes, i)} if inner else {c}
