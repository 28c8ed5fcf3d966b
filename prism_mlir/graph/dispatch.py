"""How to launch code for dynamic sizes: the content of its ``launch.json``.

    {"sizes": [{"name": "x[0]", "dims": [[0, 0], [2, 0]]}],
     "variants": [{"from": [1], "to": [1], "kernels": [...], "workspace": []},
                  {"from": [2], "to": [64], "kernels": [...], "workspace": []}]}

``dims`` are the dims of arguments, as (argument, dim), that have the size. A variant serves sizes ``from .. to``, and one that
serves a single size is as any other ``launch.json`` describes code (``graph.launch_info``). In the others a kernel ends with an
argument ``{"role": "size", "index": 0, "name": "x[0]"}`` for each size, passed as ``i32``; numbers of the grid, of shapes and of
strides may be ``{"times": 2048, "sizes": ["x[0]"], "over": 16}``: 2048 times the size, over 16, rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prism_mlir.graph.errors import InputError
from prism_mlir.graph.launch_info import Fields, LaunchInfo


@dataclass(frozen=True, slots=True)
class DynamicSize:
    """A size that is known at launch. dims: (argument, dim) pairs that have it, the first to be read."""

    name: str
    dims: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class LaunchVariant:
    """Code for sizes ``low .. high``, one of each a dynamic size."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    launch: LaunchInfo

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def serves(self, sizes: Sequence[int]) -> bool:
        return all(a <= n <= b for a, n, b in zip(self.low, sizes, self.high, strict=True))


@dataclass(frozen=True, slots=True)
class Dispatch:
    """All code of a function with dynamic sizes. Of several variants that serve some sizes, the first one does."""

    sizes: tuple[DynamicSize, ...]
    variants: tuple[LaunchVariant, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(s.name for s in self.sizes)

    @property
    def largest(self) -> tuple[int, ...]:
        """The largest of each size."""
        return tuple(max(v.high[k] for v in self.variants) for k in range(len(self.sizes)))

    def variant(self, sizes: Sequence[int]) -> LaunchVariant:
        """Which variant serves some sizes. Raises :class:`InputError` where none does."""
        for name, size, largest in zip(self.names, sizes, self.largest, strict=True):
            if not 1 <= size <= largest:
                raise InputError(f"{name} is {size}", None, f"the code serves 1 to {largest}")
        found = next((v for v in self.variants if v.serves(sizes)), None)
        larger = (v for v in self.variants if not v.exact and all(n <= b for n, b in zip(sizes, v.high, strict=True)))
        found = found or next(larger, None)  # code for larger sizes is right, if not as fast
        if found is None:
            raise InputError(f"no code for {', '.join(f'{a} = {n}' for a, n in zip(self.names, sizes, strict=True))}")
        return found

    def at(self, sizes: Sequence[int]) -> LaunchInfo:
        """The launches at some sizes. Raises :class:`InputError` where no code serves them."""
        return self.variant(sizes).launch.at(sizes)

    def of_shapes(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The sizes that arguments of these shapes have.

        Raises :class:`InputError` where an argument is missing, or dims that have one size differ.
        """
        found: list[int] = []
        for size in self.sizes:
            if any(a >= len(shapes) or d >= len(shapes[a]) for a, d in size.dims):
                raise InputError(
                    f"the arguments do not have {size.name}", None, "give all of them, with all their dims"
                )
            values = {shapes[a][d] for a, d in size.dims}
            if len(values) != 1:
                places = ", ".join(f"dim {d} of argument {a} is {shapes[a][d]}" for a, d in size.dims)
                raise InputError(f"{size.name} is one size, but {places}")
            found += values
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, in the order in which ``launch.json`` shows it."""
        return {
            "sizes": [{"name": s.name, "dims": [list(d) for d in s.dims]} for s in self.sizes],
            "variants": [
                {"from": list(v.low), "to": list(v.high), **v.launch.to_dynamic_dict(self.names)} for v in self.variants
            ],
        }

    @staticmethod
    def from_dict(data: Any) -> Dispatch:
        """Read plain data. Raises :class:`InputError` that names the field that is missing or malformed."""
        fields = Fields(data, "")
        sizes = tuple(_read_size(Fields(s, f"sizes[{k}]")) for k, s in enumerate(fields.list("sizes")))
        names = tuple(s.name for s in sizes)
        if not sizes or len(set(names)) != len(names):
            raise InputError("launch info: sizes need one name each")
        rows = [Fields(v, f"variants[{k}]") for k, v in enumerate(fields.list("variants"))]
        if not rows:
            raise InputError("launch info: variants are missing")
        return Dispatch(sizes, tuple(_read_variant(r, names) for r in rows))


def is_dispatch(data: Any) -> bool:
    """Whether the content of a ``launch.json`` is for dynamic sizes."""
    return isinstance(data, dict) and "variants" in data


def _read_size(fields: Fields) -> DynamicSize:
    dims = [tuple(Fields({"dim": d}, fields.where("dims")).numbers("dim")) for d in fields.list("dims")]
    pairs = tuple((d[0], d[1]) for d in dims if len(d) == 2)
    if len(pairs) != len(dims) or not pairs:
        raise InputError(f"launch info: {fields.where('dims')} needs pairs of an argument and a dim")
    return DynamicSize(fields.text("name"), pairs)


def _read_variant(fields: Fields, names: tuple[str, ...]) -> LaunchVariant:
    low, high = tuple(fields.numbers("from")), tuple(fields.numbers("to"))
    if not len(low) == len(high) == len(names) or any(not 1 <= a <= b for a, b in zip(low, high, strict=True)):
        raise InputError(f"launch info: {fields.where('from')} and 'to' need a range for each size")
    return LaunchVariant(low, high, LaunchInfo.from_fields(fields, () if low == high else names))
