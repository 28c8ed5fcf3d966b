"""Every operation by itself: one kernel applies a list of them to rows of values, and integers in Python say what comes out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import exact_floats as xf
import numpy as np
import numpy.typing as npt
from operations import FORMAT, INTEGERS, REGISTER, WIDTH, Operation
from ptx_harness import HEADER

from prism_mlir.runtime.ptx import Checks, Module

PLACES = "abck"
ROW = 8 * len(PLACES) * len(WIDTH)
SCRATCH = " ".join(f".reg {kind} %s{pool};" for pool, kind in REGISTER.items()) + " .reg .b32 %su;"


def offset(place: str, pool: str) -> int:
    """Where in a row the value of a source of some pool lies."""
    return 8 * (PLACES.index(place) * len(WIDTH) + list(WIDTH).index(pool))


def interesting(rng: random.Random, pool: str) -> int:
    """A value of a pool's type: corner cases half of the time."""
    bits, mask = WIDTH[pool], (1 << WIDTH[pool]) - 1
    if pool in "mn":
        half = {"m": "e", "n": "g"}[pool]
        return interesting(rng, half) << 16 | interesting(rng, half)
    kind = rng.randrange(4)
    if pool in INTEGERS or pool == "p":
        if kind == 0:
            return rng.choice((0, 1, 2, 3, -1, -2, 1 << (bits - 1), (1 << (bits - 1)) - 1, 127, 128, 255)) & mask
        if kind == 1:
            return ((1 << rng.randrange(bits)) + rng.randrange(-2, 3)) & mask
        return rng.getrandbits(bits) & mask if kind == 2 else rng.randrange(64) & mask
    form = FORMAT[pool]
    sign = form.top * rng.randrange(2)
    if kind == 0:
        size = rng.choice((0, 1, (1 << form.stored) - 1, 1 << form.stored, form.one, form.one - 1, form.one + 1,
                           form.infinity, form.infinity - 1, form.nan, form.infinity + 1))  # fmt: skip
        return sign | size
    if kind == 1:  # integers and halves, near the ends of the integer types
        x = xf.Number("finite", 0, max(0, (1 << rng.randrange(66)) + rng.randrange(-3, 4)), rng.randrange(-2, 1))
        return sign | xf.encode(x, form)
    if kind == 2:  # around 1, where sums cancel
        return sign | (form.one + rng.randrange(-(4 << form.stored), 4 << form.stored))
    return rng.getrandbits(bits)


def rows(rng: random.Random, count: int, pools: str = "".join(WIDTH), places: str = PLACES) -> npt.NDArray[np.uint64]:
    """(count, places and pools) values; those of other pools and places are 0."""
    table = np.zeros((count, ROW // 8), dtype=np.uint64)
    for place in places:
        for pool in pools:
            table[:, offset(place, pool) // 8] = [interesting(rng, pool) for _ in range(count)]
    return table


def kernel_text(operations: Sequence[Operation]) -> str:
    """A kernel ``k(rows, out)``: thread i applies every operation to row i and stores 8 bytes for each."""
    lines = [SCRATCH]
    wanted = sorted({(place, pool) for o in operations for place, pool in zip(PLACES, o.sources, strict=False)})
    for place, pool in wanted:
        lines.append(f".reg {REGISTER[pool]} %{pool}{place};")
        if pool == "p":
            lines.append(f"ld.global.u32 %sv, [%in+{offset(place, pool)}]; setp.ne.u32 %p{place}, %sv, 0;")
        else:
            lines.append(f"ld.global.b{WIDTH[pool]} %{pool}{place}, [%in+{offset(place, pool)}];")
    lines += [f".reg {kind} %{pool}x;" for pool, kind in REGISTER.items()]
    for i, o in enumerate(operations):
        names = {place: f"%{pool}{place}" for place, pool in zip(PLACES, o.sources, strict=False)}
        lines.append(o.text.format(d=f"%{o.result}x", **names))
        if o.result == "p":
            lines.append(f"selp.b32 %sv, 1, 0, %px; st.global.b32 [%out+{8 * i}], %sv;")
        else:
            lines.append(f"st.global.b{WIDTH[o.result]} [%out+{8 * i}], %{o.result}x;")
    body = "\n  ".join(lines)
    return f"""{HEADER}
.visible .entry k(.param .u64 rows, .param .u64 out)
{{
  .reg .b32 %i, %n, %t; .reg .b64 %in, %out;
  mov.u32 %n, %ctaid.x; mov.u32 %i, %ntid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %n, %i, %t;
  ld.param.u64 %in, [rows]; mad.wide.u32 %in, %i, {ROW}, %in;
  ld.param.u64 %out, [out]; mad.wide.u32 %out, %i, {8 * len(operations)}, %out;
  {body}
  ret;
}}
"""


def expected(operations: Sequence[Operation], table: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """What the kernel stores, by the operations' meaning."""
    values = [
        {(place, pool): int(row[offset(place, pool) // 8]) for place in PLACES for pool in WIDTH} for row in table
    ]
    for row in values:
        for place in PLACES:
            row[place, "p"] = int(row[place, "p"] & 0xFFFFFFFF != 0)
    out = np.zeros((len(table), len(operations)), dtype=np.uint64)
    for i, o in enumerate(operations):
        keys = list(zip(PLACES, o.sources, strict=False))
        for j, row in enumerate(values):
            out[j, i] = o.meaning(*[row[key] for key in keys])
    return out


def canonical(bits: npt.NDArray[np.uint64], pool: str) -> npt.NDArray[np.uint64]:
    """Values of a pool with every NaN made the same one."""
    if pool not in FORMAT:
        return bits
    form, mask = FORMAT[pool], np.uint64((1 << FORMAT[pool].bits) - 1)
    result = bits & ~np.uint64((1 << WIDTH[pool]) - 1)
    for shift in range(0, WIDTH[pool], form.bits):
        part = bits >> np.uint64(shift) & mask
        nan = part & np.uint64(form.top - 1) > np.uint64(form.infinity)
        result |= np.where(nan, np.uint64(form.nan), part) << np.uint64(shift)
    return result


def mistakes(operations: Sequence[Operation], table: npt.NDArray[np.uint64], engines: Sequence[str]) -> Iterator[str]:
    """Operations that do not compute what they mean on the rows of a table, a multiple of 32."""
    want = expected(operations, table)
    kernel = Module.load(kernel_text(operations)).kernel("k")
    for engine in engines:
        out = np.zeros((len(table), len(operations)), np.uint64)
        shape: dict[str, Any] = {"grid": (len(table) // 32,), "block": (32,), "checks": Checks.none()}
        result = kernel.run(**shape, args=[table, out], engine=engine)
        if engine == "fast" and all(o.compiled for o in operations) and result.engine != "fast":
            yield f"not compiled: {result.fallback_reason}"
        for j, o in enumerate(operations):
            wrong = np.flatnonzero(canonical(out[:, j], o.result) != canonical(want[:, j], o.result))
            if wrong.size:
                i = int(wrong[0])
                sources = [
                    hex(table[i, offset(place, pool) // 8]) for place, pool in zip(PLACES, o.sources, strict=False)
                ]
                yield f"{engine}: {o.text} of {sources} is {out[i, j]:#x}, not {want[i, j]:#x}"
