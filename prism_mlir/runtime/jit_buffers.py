"""What passes between NumPy and code of upstream's JIT: memref descriptors, in both directions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
External = Callable[..., Sequence[Array]]
"""Takes an array an argument and gives one a result."""

ELEMENTS: dict[str, str] = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "uint16",
    "i1": "bool",  # a byte, 0 or 1
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "index": "int64",
}
"""MLIR element type -> NumPy type."""


@dataclass(frozen=True, slots=True)
class TensorSignature:
    """Shape and MLIR element type of one argument or result."""

    shape: tuple[int, ...]
    element: str

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy type that carries ``element``: ``uint16`` for ``bf16``, the namesake otherwise."""
        return np.dtype(ELEMENTS[self.element])

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.element])


@dataclass(frozen=True, slots=True)
class Outside:
    """A function that compiled code calls and that somebody else computes."""

    arguments: tuple[TensorSignature, ...]
    results: tuple[TensorSignature, ...]
    call: External


@dataclass
class Externals:
    """Functions that compiled code finds by name.

    They return their results: memory that the caller frees, descriptors one after the other at the first address that they are
    given. An exception cannot pass through compiled code: the first one is kept, later calls do nothing, and
    :meth:`raise_failure` raises it.
    """

    functions: Mapping[str, Outside]
    _callbacks: list[Any] = field(default_factory=list)  # compiled code has their addresses
    _failures: list[BaseException] = field(default_factory=list)

    @property
    def symbols(self) -> frozenset[str]:
        """What compiled code calls them."""
        return frozenset(f"_mlir_ciface_{name}" for name in self.functions)

    def register(self, engine: Any) -> None:
        """Make the functions known to an ``ExecutionEngine``."""
        for name, function in self.functions.items():
            pointers = [ctypes.c_void_p] * (len(function.arguments) + bool(function.results))
            callback = ctypes.CFUNCTYPE(None, *pointers)(self._entry(function))
            self._callbacks.append(callback)
            engine.register_runtime(name, callback)

    def raise_failure(self) -> None:
        """Raise what a function raised, once."""
        if self._failures:
            failure = self._failures[0]
            self._failures.clear()
            raise failure

    def _entry(self, function: Outside) -> Callable[..., None]:
        def entry(*addresses: int) -> None:
            first = 1 if function.results else 0
            results = [np.zeros(r.shape, r.numpy_dtype) for r in function.results]
            try:
                if not self._failures:
                    given = zip(addresses[first:], function.arguments, strict=True)
                    made = function.call(*(buffer_at(address, s).copy() for address, s in given))
                    for out, value in zip(results, made, strict=True):
                        if value.shape != out.shape:
                            raise ValueError(f"a result of shape {value.shape}, not {out.shape}")
                        out[...] = value
            except BaseException as error:  # Ctrl-C as well: compiled code could not pass it on
                self._failures.append(error)
            place = addresses[0] if first else 0
            for result in results:
                copy = owned_copy(result)
                ctypes.memmove(place, ctypes.addressof(copy), ctypes.sizeof(copy))
                place += ctypes.sizeof(copy)

        return entry


def descriptor(array: Array) -> ctypes.Structure:
    """A memref descriptor: allocated and aligned pointer, offset, sizes, strides (in elements)."""
    rank = array.ndim

    class Descriptor(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            *([("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)] if rank else []),
        ]

    address = array.ctypes.data
    if not rank:
        return Descriptor(address, address, 0)
    sizes = (ctypes.c_int64 * rank)(*array.shape)
    strides = (ctypes.c_int64 * rank)(*(stride // array.itemsize for stride in array.strides))
    return Descriptor(address, address, 0, sizes, strides)


def buffer_at(address: int, signature: TensorSignature) -> Array:
    """The memory that a descriptor at ``address`` speaks of, contiguous; not a copy."""
    aligned = ctypes.c_void_p.from_address(address + ctypes.sizeof(ctypes.c_void_p)).value
    count = int(np.prod(signature.shape))
    memory = (ctypes.c_byte * (count * signature.numpy_dtype.itemsize)).from_address(aligned or 0)
    return np.ndarray(signature.shape, signature.numpy_dtype, memoryview(memory))


def owned_copy(array: Array) -> ctypes.Structure:
    """A descriptor of a copy that compiled code frees."""
    copy = descriptor(array)
    allocate = ctypes.CDLL(None).malloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    address = allocate(max(array.nbytes, 1))
    if not address:
        raise MemoryError
    ctypes.memmove(address, array.ctypes.data, array.nbytes)
    copy.allocated = copy.aligned = address
    return copy
