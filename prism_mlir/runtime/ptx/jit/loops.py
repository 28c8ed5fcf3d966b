"""Loops over the lanes of a warp.

Instructions that follow one another and treat each lane by itself share one loop, which takes as many lanes at a time as
fill a vector register. Inside it registers are LLVM values; those that live on are stored at its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from prism_mlir.runtime.ptx.jit.arith import Builder
from prism_mlir.runtime.ptx.jit.build import I1, I8, I32, I64, i64
from prism_mlir.runtime.ptx.jit.target import chunk_lanes
from prism_mlir.runtime.ptx.jit.values import LANES, Value, element_type, splat


class Loop:
    """A loop being written. ``entry`` is where scalar code still goes."""

    def __init__(self, entry: Builder) -> None:
        self.entry = entry
        self.step = chunk_lanes()
        self.body = entry.function.append_basic_block("lanes")
        self.builder = Builder(self.body, in_loop=True)
        self.first = self.builder.phi(I64)
        self.values: dict[int, Value] = {}
        self.written: set[int] = set()
        self.masks: dict[ir.Value, ir.Value] = {}
        self.eighth: ir.Value | None = None

    def _at(self, base: ir.Value, size: int) -> ir.Value:
        """The elements of ``size`` bytes that this turn is at."""
        return self.builder.gep(base, [self.first], source_etype=ir.IntType(8 * size))

    def _bits_at(self, base: ir.Value) -> ir.Value:
        if self.eighth is None:
            self.eighth = self.builder.lshr(self.first, i64(3))
        return self.builder.gep(base, [self.eighth], source_etype=I8)

    @property
    def _word(self) -> ir.IntType:
        """Predicates of the lanes of one turn."""
        return ir.IntType(self.step)

    def load(self, base: ir.Value, dtype: np.dtype[Any]) -> Value:
        """The elements of an array of 32 elements, predicates as one word."""
        b = self.builder
        vector = ir.VectorType(element_type(dtype), self.step)
        if dtype.kind == "b":
            word = b.load(self._bits_at(base), typ=self._word, align=1)
            return Value(b, dtype, [b.bitcast(word, vector)])
        return Value(b, dtype, [b.load(self._at(base, dtype.itemsize), typ=vector, align=self._align(dtype))])

    def store(self, value: ir.Value, base: ir.Value, dtype: np.dtype[Any], lanes: ir.Value | None = None) -> None:
        """Store in the lanes of a word (None: in all)."""
        b = self.builder
        vector = self.spread(value)
        if dtype.kind == "b":
            place = self._bits_at(base)
            word = b.bitcast(vector, self._word)
            if lanes is not None:
                mine = self._part(lanes)
                word = b.or_(b.and_(word, mine), b.and_(b.load(place, typ=self._word, align=1), b.not_(mine)))
            b.store(word, place, align=1)
            return
        place = self._at(base, dtype.itemsize)
        align = self._align(dtype)
        if (
            lanes is not None
        ):  # without a selection, of which LLVM would make a masked store, which some CPUs take long for
            old = b.load(place, typ=vector.type, align=align)
            vector = b.xor(old, b.and_(b.xor(old, vector), b.sext(self.mask(lanes), vector.type)))
        b.store(vector, place, align=align)

    def _align(self, dtype: np.dtype[Any]) -> int:
        return min(64, self.step * dtype.itemsize)

    def spread(self, x: ir.Value) -> ir.Value:
        """A scalar in every lane."""
        return splat(self.builder, x, self.step)

    def _part(self, lanes: ir.Value) -> ir.Value:
        """The bits of this turn's lanes in a word of 32."""
        b = self.builder
        shifted = b.lshr(lanes, b.trunc(self.first, I32))
        return b.trunc(shifted, self._word)

    def mask(self, lanes: ir.Value) -> ir.Value:
        """A word of lanes as predicates."""
        if lanes not in self.masks:
            vector = ir.VectorType(I1, self.step)
            self.masks[lanes] = self.builder.bitcast(self._part(lanes), vector)
        return self.masks[lanes]

    def finish(self) -> None:
        """Close the loop; code goes on behind it."""
        b = self.builder
        after = b.function.append_basic_block("on")
        following = b.add(self.first, i64(self.step))
        self.first.add_incoming(i64(0), self.entry.block)
        self.first.add_incoming(following, b.block)
        self.entry.branch(self.body)
        b.cbranch(b.icmp_unsigned("<", following, i64(LANES)), self.body, after)
        self.entry.position_at_end(after)
