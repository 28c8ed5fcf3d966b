"""``prism_mlir.jax.jit``: a function whose calls run as kernels, one program for every set of shapes and types."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from prism_mlir.api import Result
from prism_mlir.compiler.execute import Emulator
from prism_mlir.frameworks.fallback import Fallback, check_emulated, warn_fallback
from prism_mlir.frameworks.kernels import kernels_of
from prism_mlir.graph.errors import PrismError
from prism_mlir.jax.lower import Lowered, lower, staged
from prism_mlir.tune.targets import DEFAULT_TARGET


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    target: str = DEFAULT_TARGET,
    **options: Any,
) -> Any:
    """A function whose calls run as kernels; also a decorator, with and without options.

    static_argnums, static_argnames: as of ``jax.jit``;  options: those of :func:`prism_mlir.optimize`

    Arrays on the CPU run on the PTX machine where ``PRISM_EMULATE=1`` is set. What cannot be compiled, and every call inside
    another transformation of JAX, runs as ``jax.jit(function)``, with one :class:`PrismWarning` for each set of shapes.
    """
    if function is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames, target=target, **options
        )
    statics = _Statics.of(function, static_argnums, static_argnames)
    jitted = _Jitted(function, statics, target, options)
    return functools.update_wrapper(jitted, function, updated=())


@dataclass(frozen=True, slots=True)
class _Statics:
    """Which arguments are not arrays, by place and by name."""

    numbers: frozenset[int]
    names: frozenset[str]

    @staticmethod
    def of(
        function: Callable[..., Any], numbers: int | Sequence[int] | None, names: str | Sequence[str] | None
    ) -> _Statics:
        """One follows from the other where only one is given, as in JAX."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        positional = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        places = {n % len(positional) if n < 0 and positional else n for n in _listed(numbers)}
        named = set(_listed(names))
        if names is None:
            named |= {positional[n] for n in places if n < len(positional)}
        if numbers is None:
            places |= {n for n, name in enumerate(positional) if name in named}
        return _Statics(frozenset(places), frozenset(named))

    def split(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, Any]:
        """What is static, and the rest."""
        static = {n: v for n, v in enumerate(arguments) if n in self.numbers}
        static_named = {k: v for k, v in named.items() if k in self.names}
        rest = tuple(v for n, v in enumerate(arguments) if n not in self.numbers)
        rest_named = {k: v for k, v in named.items() if k not in self.names}
        return (tuple(static.items()), tuple(sorted(static_named.items()))), (rest, rest_named)


def _listed(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    return (given,) if isinstance(given, int | str) else tuple(given)


class _Jitted:
    """A function with a table of its programs."""

    def __init__(
        self, function: Callable[..., Any], statics: _Statics, target: str, options: Mapping[str, Any]
    ) -> None:
        self._statics, self._target, self._options = statics, target, dict(options)
        self._name = getattr(function, "__name__", type(function).__name__)
        self._plain = staged(
            function,
            static_argnums=tuple(sorted(statics.numbers)) or None,
            static_argnames=tuple(sorted(statics.names)) or None,
        )
        self._table: dict[Any, _Program | None] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        static, dynamic = self._statics.split(arguments, named)
        leaves, structure = jax.tree_util.tree_flatten(dynamic)
        key = (static, structure, tuple(jax.typeof(leaf) for leaf in leaves), _places(leaves))
        with self._lock:
            if key not in self._table:
                self._table[key] = self._program(leaves, arguments, named)
            program = self._table[key]
        return self._plain(*arguments, **named) if program is None else program(leaves)

    @property
    def programs(self) -> int:
        """How many sets of shapes, types and static arguments there have been."""
        return len(self._table)

    def _program(self, leaves: Sequence[Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> _Program | None:
        try:
            _check_leaves(leaves)
            lowered = lower(self._plain, arguments, named)
            try:
                return _Program(kernels_of(lowered.text, self._target, self._options), lowered)
            except PrismError as error:
                raise Fallback.of(error) from None
        except Fallback as fallback:
            warn_fallback(f"{self._name}() of prism_mlir.jax.jit", "as jax.jit has it", fallback)
            return None


def _places(leaves: Sequence[Any]) -> tuple[bool, frozenset[str]]:
    """What a program depends on beside shapes and types: whether leaves are traced, and where they are."""
    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
    return traced, frozenset() if traced else _platforms(leaves)


def _platforms(leaves: Sequence[Any]) -> frozenset[str]:
    return frozenset(device.platform for leaf in leaves if isinstance(leaf, jax.Array) for device in leaf.devices())


def _check_leaves(leaves: Sequence[Any]) -> None:
    """Raises :class:`Fallback` for what does not run as kernels."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise Fallback("it is called inside another transformation of JAX", "call it outside of grad, vmap and jit")
    others = sorted(_platforms(leaves) - {"cpu"})
    if others:
        raise Fallback(
            f"its arrays are on {others[0]}, where kernels are not launched from JAX",
            "use prism_mlir.jax.compile, and launch its PTX or its MLIR",
        )
    check_emulated("arrays", "")


@dataclass(eq=False)
class _Program:
    """Kernels as a function of leaves."""

    result: Result
    lowered: Lowered
    emulator: Emulator = field(init=False)
    lock: Any = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.emulator = Emulator(self.result.launch, self.result.ptx)

    def __call__(self, leaves: Sequence[Any]) -> Any:
        with self.lock:
            made = self.emulator([_stored(leaf) for leaf in leaves])
        shown = [jax.numpy.asarray(_shown(a, r)) for a, r in zip(made, self.lowered.results, strict=True)]
        return jax.tree_util.tree_unflatten(self.lowered.structure, shown)


def _stored(leaf: Any) -> Any:
    """As kernels hold it: bf16 as its bits. Numbers have the type that JAX gives them."""
    array = np.asarray(jax.numpy.asarray(leaf))
    return array.view(np.uint16) if array.dtype == jax.numpy.bfloat16 else array


def _shown(array: Any, spec: Any) -> Any:
    return array.view(jax.numpy.bfloat16) if spec.dtype == jax.numpy.bfloat16 else array
