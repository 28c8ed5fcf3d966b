"""What LLVM calls to round f64 to 16 bits, where a CPU cannot: functions of compiler-rt that not every process has.

A 16-bit float is returned in the low bits of a vector register, on x86-64 as on AArch64, and so is an f32. So a callback returns
the f32 whose low bits are the result and whose other bits are zero (a denormal number, which every conversion on the way keeps).
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_Callback = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_double)


def f16_bits(x: float) -> int:
    """Bits of the f16 that is nearest to ``x``, ties to even."""
    with np.errstate(over="ignore"):
        return int(np.float64(x).astype(np.float16).view(np.uint16))


def bf16_bits(x: float) -> int:
    """Bits of the bf16 that is nearest to ``x``, ties to even; rounded once, as if there were no f32 on the way."""
    with np.errstate(over="ignore"):
        near = np.float64(x).astype(np.float32)
    bits = int(near.view(np.uint32))
    if np.isnan(near):
        return bits >> 16 | 0x40
    if float(near) != x and np.isfinite(x):  # round to odd: away from a tie that is none
        bits = (bits - 1 if abs(float(near)) > abs(x) else bits) | 1
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _as_f32(bits: int) -> float:
    return float(np.uint32(bits).view(np.float32))


_FUNCTIONS = {
    "__truncdfhf2": _Callback(lambda x: _as_f32(f16_bits(x))),
    "__truncdfbf2": _Callback(lambda x: _as_f32(bf16_bits(x))),
}


def register(engine: Any) -> None:
    """Let code of an upstream ``ExecutionEngine`` find the functions. Has to come before anything in it is looked up."""
    for name, callback in _FUNCTIONS.items():
        engine.raw_register_runtime(name, ctypes.cast(callback, ctypes.c_void_p))
