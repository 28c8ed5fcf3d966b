"""Random structured programs, laid out in random order, against a thread-by-thread interpreter in Python.

Every program ends with a barrier and a shuffle by the whole warp: lanes that have not met again by then would be reported.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from ptx_control_flow import VARIABLES, SmallProgram
from ptx_harness import kernel, launch


@pytest.mark.parametrize("seed", range(25))
def test_divergent_programs(seed: int) -> None:
    rng = random.Random(seed)
    program = SmallProgram(rng)
    interpret = program.body("START", "END", None, 3)
    code = program.text()
    values = ", ".join(f"%v{i}" for i in range(VARIABLES))
    start = " ".join(f"mad.lo.u32 %v{i}, %r2, {7 * i + 3}, {i}; and.b32 %v{i}, %v{i}, 255;" for i in range(VARIABLES))
    text = kernel(f""".reg .b32 {values}, %t; {" ".join(program.declarations)}
      mov.u32 %r3, %ctaid.x; mad.lo.u32 %r2, %r3, 64, %r1; {start} bra START;
      {code}
      END: bar.sync 0; shfl.sync.bfly.b32 %r4, %v1, 1, 31, -1;
      mad.wide.u32 %rd1, %r2, 20, %rd1; {" ".join(f"st.global.b32 [%rd1+{4 * i}], %v{i};" for i in range(VARIABLES))}
      st.global.b32 [%rd1+16], %r4; ret;""")
    expected = np.zeros((192, 5), dtype=np.uint32)
    for t in range(192):
        s = [(t * (7 * i + 3) + i) & 255 for i in range(VARIABLES)]
        interpret(s)
        expected[t, :4] = s
    expected[:, 4] = expected[np.arange(192) ^ 1, 1]
    for lanes in (64, 8192):
        out = np.zeros((192, 5), dtype=np.uint32)
        launch(text, [out], block=64, grid=3, outputs={0}, lanes_per_batch=lanes)
        assert (out == expected).all()
