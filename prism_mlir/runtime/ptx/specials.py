"""Special registers (PTX ISA, "Special Registers") whose value does not change while a batch runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from prism_mlir.runtime.ptx.state import WARP, State
from prism_mlir.runtime.ptx.types import SCALARS, Array, Scalar


@dataclass(frozen=True, slots=True)
class Special:
    """``value`` gives an array of shape (lanes,) or (1,)."""

    scalar: Scalar
    value: Callable[[State], Array]


def _u32(x: Array) -> Array:
    return x.astype(np.uint32)


def _one(x: int) -> Array:
    return np.array([x], dtype=np.uint32)


def _tid(axis: int) -> Callable[[State], Array]:
    def value(st: State) -> Array:
        if st.block[axis] == 1:
            return _one(0)
        below = int(np.prod(st.block[:axis]))
        return _u32(st.lane_thread // below % st.block[axis])

    return value


def _ctaid(axis: int) -> Callable[[State], Array]:
    def value(st: State) -> Array:
        below = int(np.prod(st.grid[:axis]))
        index = (st.lane_block + st.first) // below % st.grid[axis]
        return _one(int(index[0])) if st.blocks == 1 or st.grid[axis] == 1 else _u32(index)

    return value


def _extent(of_grid: bool, axis: int) -> Callable[[State], Array]:
    return lambda st: _one((st.grid if of_grid else st.block)[axis])


def _lane_mask(select: Callable[[Array], Array]) -> Callable[[State], Array]:
    def value(st: State) -> Array:
        lane = st.lane_thread % WARP
        return _u32(select(np.int64(1) << lane) & 0xFFFFFFFF)

    return value


_U32 = SCALARS["u32"]
SPECIALS: dict[str, Special] = {
    **{f"%tid.{a}": Special(_U32, _tid(i)) for i, a in enumerate("xyz")},
    **{f"%ctaid.{a}": Special(_U32, _ctaid(i)) for i, a in enumerate("xyz")},
    **{f"%ntid.{a}": Special(_U32, _extent(False, i)) for i, a in enumerate("xyz")},
    **{f"%nctaid.{a}": Special(_U32, _extent(True, i)) for i, a in enumerate("xyz")},
    "%laneid": Special(_U32, lambda st: _u32(st.lane_thread % WARP)),
    "%warpid": Special(_U32, lambda st: _u32(st.lane_warp)),
    "%nwarpid": Special(_U32, lambda st: _one(st.warps_per_block)),
    "WARP_SZ": Special(_U32, lambda st: _one(WARP)),
    "%lanemask_eq": Special(_U32, _lane_mask(lambda bit: bit)),
    "%lanemask_lt": Special(_U32, _lane_mask(lambda bit: bit - 1)),
    "%lanemask_le": Special(_U32, _lane_mask(lambda bit: 2 * bit - 1)),
    "%lanemask_gt": Special(_U32, _lane_mask(lambda bit: ~(2 * bit - 1))),
    "%lanemask_ge": Special(_U32, _lane_mask(lambda bit: ~(bit - 1))),
    "%smid": Special(_U32, lambda st: _one(0)),
    "%nsmid": Special(_U32, lambda st: _one(1)),
    "%gridid": Special(SCALARS["u64"], lambda st: np.zeros(1, dtype=np.uint64)),
    "%dynamic_smem_size": Special(_U32, lambda st: _one(st.dynamic_shared)),
    "%total_smem_size": Special(_U32, lambda st: _one(st.static_shared + st.dynamic_shared)),
}
# Registers whose value changes while a kernel runs: mov reads them from the step counter.
CLOCKS: dict[str, int] = {"%clock": 32, "%clock_hi": 32, "%clock64": 64, "%globaltimer": 64, "%globaltimer_lo": 32}
