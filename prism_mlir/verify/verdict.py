"""What the verifier says about a candidate: proved, refuted with a counterexample, or unknown with what ran out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from prism_mlir.graph.errors import InputError, PrismError


class Status(StrEnum):
    """The three possible answers. Only ``PROVED`` graphs may be emitted by default."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class SoundnessError(PrismError):
    """A bug in the verifier itself: an axiom united two tensors of different shape. Nothing it proved can be trusted."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Where a candidate differs from the program, in exact arithmetic on tiny tensors.

    sizes:    number of parts along each parallel dim, as (name, size) pairs
    dims:     the shrunken size of every dim class of the program (see ``graph.dims.shrink``); empty where nothing was run
    seed:     inputs are drawn by ``numpy.random.default_rng(seed)``, in the program's order
    attempt:  how often they were drawn again because the program divided by zero (then by ``default_rng((seed, attempt))``)
    output, index: which element of which output differs first
    expected, got: the element of the program and of the candidate; ``got`` is ``None`` where the candidate has no value
    reason:   what is wrong, in words
    """

    sizes: tuple[tuple[str, int], ...]
    dims: tuple[int, ...]
    seed: int
    output: int
    index: tuple[int, ...]
    expected: int
    got: int | None
    reason: str
    attempt: int = 0

    @staticmethod
    def from_dict(data: Any) -> Counterexample:
        """The inverse of :meth:`to_dict`. Raises :class:`InputError` where ``data`` is no counterexample."""
        try:
            sizes = tuple((str(p), int(n)) for p, n in data["sizes"].items())
            got = None if data["got"] is None else int(data["got"])
            dims, index = tuple(map(int, data["dims"])), tuple(map(int, data["index"]))
            numbers = (int(data["seed"]), int(data["output"]), int(data["expected"]), int(data.get("attempt", 0)))
            reason = str(data["reason"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not a counterexample: {type(error).__name__} {error}") from None
        if any(n < 1 for _, n in sizes) or any(n < 1 for n in dims) or min(numbers) < 0:
            raise InputError("not a counterexample: sizes are positive, and no number is negative")
        seed, output, expected, attempt = numbers
        return Counterexample(sizes, dims, seed, output, index, expected, got, reason, attempt)

    def to_dict(self) -> dict[str, Any]:
        """The counterexample as JSON-able data."""
        return {**asdict(self), "sizes": dict(self.sizes), "dims": list(self.dims), "index": list(self.index)}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one candidate, with everything needed to ask the same question again.

    axiom_hash:   names the axiom set (``axioms.axiom_hash``)
    rules_fired:  axioms that matched in the e-graph which decided, sorted. The e-graph is shared by ``together`` candidates, so
                  this is what all of them needed; ``explain.explain`` says what one of them needs
    together:     candidates in the e-graph that decided
    iterations:   rounds of rewriting until this candidate was decided
    nodes:        e-nodes and facts in the e-graph at the end
    seeds:        seeds of the random inputs that were tried
    sizes_tried:  parallel sizes at which program and candidate were compared
    reason:       why the status is not ``proved``; empty otherwise
    """

    status: Status
    axiom_hash: str = ""
    rules_fired: tuple[str, ...] = ()
    together: int = 0
    iterations: int = 0
    nodes: int = 0
    seeds: tuple[int, ...] = ()
    sizes_tried: tuple[tuple[tuple[str, int], ...], ...] = ()
    counterexample: Counterexample | None = None
    reason: str = ""

    @property
    def proved(self) -> bool:
        return self.status is Status.PROVED

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-able data, keys in a fixed order."""
        return {
            "status": self.status.value,
            "reason": self.reason,
            "axiom_hash": self.axiom_hash,
            "rules_fired": list(self.rules_fired),
            "together": self.together,
            "iterations": self.iterations,
            "nodes": self.nodes,
            "seeds": list(self.seeds),
            "sizes_tried": [dict(s) for s in self.sizes_tried],
            "counterexample": None if self.counterexample is None else self.counterexample.to_dict(),
        }

    @staticmethod
    def from_dict(data: Any) -> Verdict:
        """The inverse of :meth:`to_dict`. Raises :class:`InputError` where ``data`` is no verdict."""
        try:
            found = data["counterexample"]
            return Verdict(
                Status(data["status"]),
                str(data["axiom_hash"]),
                tuple(map(str, data["rules_fired"])),
                together=int(data["together"]),
                iterations=int(data["iterations"]),
                nodes=int(data["nodes"]),
                seeds=tuple(map(int, data["seeds"])),
                sizes_tried=tuple(tuple((str(p), int(n)) for p, n in sizes.items()) for sizes in data["sizes_tried"]),
                counterexample=None if found is None else Counterexample.from_dict(found),
                reason=str(data["reason"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"not a verdict: {type(error).__name__} {error}") from None
