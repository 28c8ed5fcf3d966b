"""Arrays that are not there yet: LLVM values that answer to NumPy's protocols.

The closures of the instruction table compute on NumPy arrays. Called with :class:`Value` instead, the same closures write
LLVM instructions, so that both engines share one statement of what an instruction means. A value is one LLVM vector with an
element a lane of the chunk of a warp that an elementwise loop is at, or one LLVM scalar where all lanes are known to agree.
Packed pairs seen as halves have two parts.

Scalar code stands before the loop, vector code in it. Each has its builder; whatever takes an operand from the loop is written
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.lib.mixins import NDArrayOperatorsMixin

from prism_mlir.runtime.ptx.jit.arith import EMIT, Builder, cast, constant_vector

LANES = 32
Term = Any  # a Value, an array of constants, or a Python number


class CannotCompile(Exception):
    """The closure does something that has no LLVM form here; the kernel is left to the reference engine."""


def element_type(dtype: np.dtype[Any]) -> ir.Type:
    """The LLVM type of one element."""
    if dtype.kind == "b":
        return ir.IntType(1)
    if dtype.kind in "ui":
        return ir.IntType(dtype.itemsize * 8)
    return {2: ir.HalfType(), 4: ir.FloatType(), 8: ir.DoubleType()}[dtype.itemsize]


def constant(value: Any, dtype: np.dtype[Any]) -> ir.Constant:
    """A scalar constant with exactly the bits of ``value``."""
    x = np.asarray(value).astype(dtype)
    if dtype.kind == "b":
        return ir.Constant(ir.IntType(1), int(x))
    if dtype.kind == "f":
        bits = int(x.view(f"u{dtype.itemsize}"))
        if dtype.itemsize == 2:
            return ir.FormattedConstant(ir.HalfType(), f"0xH{bits:04X}")
        return ir.Constant(element_type(dtype), float(x))
    return ir.Constant(ir.IntType(dtype.itemsize * 8), int(x))


def is_vector(x: ir.Value) -> bool:
    return isinstance(x.type, ir.VectorType)


def splat(builder: ir.IRBuilder, x: ir.Value, lanes: int) -> ir.Value:
    """A scalar in every lane."""
    if is_vector(x):
        return x
    if isinstance(x, ir.Constant):
        return constant_vector(x, lanes)
    vector = ir.VectorType(x.type, lanes)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), x, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)


@cache
def _resolve(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    return tuple(ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout)))


class Value(NDArrayOperatorsMixin):
    """``parts`` hold one column each; ``columns`` tells whether they count as a second axis, or lie side by side."""

    __slots__ = ("builder", "columns", "dtype", "parts")

    def __init__(self, builder: Builder, dtype: Any, parts: Sequence[ir.Value], columns: bool = False) -> None:
        self.builder = builder
        self.dtype = np.dtype(dtype)
        self.parts = tuple(parts)
        self.columns = columns

    # -- what closures ask of an array ----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, len(self.parts)) if self.columns else (1,)

    @property
    def ndim(self) -> int:
        return 2 if self.columns else 1

    @property
    def uniform(self) -> bool:
        return not any(is_vector(p) for p in self.parts)

    def __bool__(self) -> bool:
        raise CannotCompile("depends on data in a way that is not compiled")

    def any(self) -> bool:
        """Whether a rare case has to be handled: always, since nothing is known yet."""
        return True

    def copy(self) -> Value:
        return self

    def view(self, kind: Any) -> Value:
        to = np.dtype(kind)
        if to.itemsize == self.dtype.itemsize:
            return Value(self.builder, to, [self._retype(p, self.dtype, to) for p in self.parts], self.columns)
        if to.itemsize < self.dtype.itemsize:
            return self._split(to)
        return self._join(to)

    def _retype(self, part: ir.Value, have: np.dtype[Any], to: np.dtype[Any]) -> ir.Value:
        if (have.kind == "f") == (to.kind == "f"):
            return part
        return self.builder.bitcast(part, _like(part, element_type(to)))

    def _split(self, to: np.dtype[Any]) -> Value:
        bits, wide = to.itemsize * 8, self._integers()
        narrow = np.dtype(f"u{to.itemsize}")
        pieces: list[ir.Value] = []
        for part in wide.parts:
            for i in range(self.dtype.itemsize // to.itemsize):
                shifted = part if i == 0 else self.builder.lshr(part, _number(part, i * bits))
                pieces.append(self.builder.trunc(shifted, _like(part, ir.IntType(bits))))
        return Value(self.builder, narrow, pieces).view(to)

    def _join(self, to: np.dtype[Any]) -> Value:
        have, count = self._integers(), to.itemsize // self.dtype.itemsize
        wide = ir.IntType(to.itemsize * 8)
        joined: list[ir.Value] = []
        for first in range(0, len(have.parts), count):
            total = None
            for i, part in enumerate(have.parts[first : first + count]):
                piece = self.builder.zext(part, _like(part, wide))
                piece = piece if i == 0 else self.builder.shl(piece, _number(piece, i * self.dtype.itemsize * 8))
                total = piece if total is None else self.builder.or_(*level(self.builder, [total, piece]))
            joined.append(total)
        return Value(self.builder, np.dtype(f"u{to.itemsize}"), joined).view(to)

    def _integers(self) -> Value:
        return self if self.dtype.kind in "ui" else self.view(f"u{self.dtype.itemsize}")

    def reshape(self, *shape: int) -> Value:
        if shape == (-1,):
            return Value(self.builder, self.dtype, self.parts)
        if shape == (-1, len(self.parts)):
            return Value(self.builder, self.dtype, self.parts, True)
        raise CannotCompile(f"reshapes to {shape}")

    def __getitem__(self, key: Any) -> Value:
        if isinstance(key, tuple) and len(key) == 2 and key[0] == slice(None):
            if key[1] is None and not self.columns:
                return Value(self.builder, self.dtype, self.parts, True)
            if isinstance(key[1], int) and self.columns:
                return Value(self.builder, self.dtype, [self.parts[key[1]]])
        raise CannotCompile("picks elements in a way that is not compiled")

    def astype(self, kind: Any, copy: bool = True) -> Value:
        to = np.dtype(kind)
        if to == self.dtype:
            return self
        if self.dtype == np.float64 and to == np.float16:
            from prism_mlir.runtime.ptx.numerics import odd64_to_f32

            odd: Any = odd64_to_f32(self)  # type: ignore[arg-type]
            return Value.astype(odd, to)
        parts = [cast(self.builder, p, self.dtype, to, _like(p, element_type(to))) for p in self.parts]
        return Value(self.builder, to, parts, self.columns)

    def byteswap(self) -> Value:
        return Value(self.builder, self.dtype, [call(self.builder, "llvm.bswap", p) for p in self.parts], self.columns)

    def fused(self, a: Term, b: Term, c: Term) -> Value:
        """``a * b + c`` rounded once."""
        kind = next(x.dtype for x in (a, b, c) if isinstance(x, Value))
        return self.elementwise(kind, lambda b, xs: call(b, "llvm.fma", *xs), [(x, kind) for x in (a, b, c)])

    # -- NumPy's protocols ----------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Term, **options: Any) -> Value:
        out = options.get("out")
        in_place = out is not None and len(out) == 1 and out[0] is inputs[0]  # a |= b, which binds a anew
        if method != "__call__" or ufunc.nout != 1 or not (out is None or in_place):
            raise CannotCompile(f"uses numpy.{ufunc.__name__}.{method}")
        emit = EMIT.get(ufunc.__name__)
        if emit is None:
            raise CannotCompile(f"uses numpy.{ufunc.__name__}")
        *kinds, result = _resolve(ufunc, tuple(x.dtype if hasattr(x, "dtype") else type(x) for x in inputs))
        return self.elementwise(result, lambda b, xs: emit(b, kinds[0], xs), list(zip(inputs, kinds, strict=True)))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        name = function.__name__
        if name == "where" and len(args) == 3:
            return self._where(*args)
        if name == "clip":
            return np.minimum(np.maximum(args[0], args[1]), args[2])
        if name == "broadcast_arrays":
            return args
        if name == "broadcast_to":
            return args[0]
        if name == "zeros_like":
            return Value(self.builder, self.dtype, [constant(0, self.dtype)])
        raise CannotCompile(f"uses numpy.{name}")

    def _where(self, choice: Term, yes: Term, no: Term) -> Value:
        kind = np.result_type(*[x.dtype if hasattr(x, "dtype") else x for x in (yes, no)])
        return self.elementwise(
            kind, lambda b, xs: b.select(*xs), [(choice, np.dtype(np.bool_)), (yes, kind), (no, kind)]
        )

    def look_up(self, table: np.ndarray[Any, Any]) -> Value:
        """Elements of a table of constants; the index is known to lie inside."""
        b, kind = self.builder, element_type(table.dtype)
        content = ir.Constant(ir.ArrayType(kind, len(table)), [int(x) for x in table])
        name = f"table{hash(table.tobytes()) & 0xFFFFFFFFFFFFFFFF:x}"
        data = b.module.globals.get(name) or ir.GlobalVariable(b.module, content.type, name)
        data.initializer, data.global_constant, data.linkage = content, True, "private"
        zero = ir.Constant(ir.IntType(32), 0)

        def at(i: ir.Value) -> ir.Value:
            return b.load(b.gep(data, [zero, i], inbounds=True))

        (where,) = self.astype(np.uint32).parts
        if not is_vector(where):
            return Value(b, table.dtype, [at(where)])
        total = ir.Constant(ir.VectorType(kind, where.type.count), ir.Undefined)
        for lane in range(where.type.count):
            number = ir.Constant(ir.IntType(32), lane)
            total = b.insert_element(total, at(b.extract_element(where, number)), number)
        return Value(b, table.dtype, [total])

    def elementwise(
        self,
        out: Any,
        emit: Callable[[Builder, list[ir.Value]], ir.Value],
        terms: Sequence[tuple[Term, np.dtype[Any]]],
    ) -> Value:
        """Apply ``emit`` part by part to the terms, each cast to its type first."""
        lifted = [self.lift(x, kind) for x, kind in terms]
        builder = next((x.builder for x in lifted if x.builder.in_loop), self.builder)
        count = max(len(x.parts) for x in lifted)
        parts = []
        for i in range(count):
            xs = [x.parts[i if len(x.parts) > 1 else 0] for x in lifted]
            parts.append(emit(builder, level(builder, xs)))
        return Value(builder, out, parts, any(x.columns for x in lifted))

    def lift(self, x: Term, kind: np.dtype[Any]) -> Value:
        """A term as a value of type ``kind``."""
        if isinstance(x, Value):
            return x.astype(kind)
        array = np.asarray(x)
        if array.ndim > 2 or (array.ndim == 2 and array.shape[0] != 1) or (array.ndim == 1 and array.shape[0] != 1):
            raise CannotCompile("uses a table of constants")
        return Value(self.builder, kind, [constant(v, kind) for v in array.reshape(-1)], array.ndim == 2)


def level(builder: ir.IRBuilder, xs: list[ir.Value]) -> list[ir.Value]:
    """All scalars, or all vectors."""
    lanes = next((x.type.count for x in xs if is_vector(x)), 0)
    return [splat(builder, x, lanes) for x in xs] if lanes else xs


def _like(x: ir.Value, element: ir.Type) -> ir.Type:
    return ir.VectorType(element, x.type.count) if is_vector(x) else element


def _number(x: ir.Value, value: int) -> ir.Constant:
    element = x.type.element if is_vector(x) else x.type
    one = ir.Constant(element, value)
    return constant_vector(one, x.type.count) if is_vector(x) else one


def call(builder: ir.IRBuilder, name: str, *xs: ir.Value, result: ir.Type | None = None) -> ir.Value:
    """Call an intrinsic that is overloaded on the type of its first operand."""
    from prism_mlir.runtime.ptx.jit.arith import intrinsic

    return intrinsic(builder, name, list(xs), result)
