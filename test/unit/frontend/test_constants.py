"""Constants as MLIR spells them: numbers, splats, arrays, resources."""

from __future__ import annotations

import numpy as np
import pytest

from prism_mlir.frontend import import_file
from prism_mlir.frontend.constants import read_resources
from prism_mlir.graph.errors import UnsupportedError

PROGRAM = """func.func @f(%a: tensor<2xf16>) -> tensor<2xf16> {{
  %c = arith.constant {value} : tensor<2xf16>
  %0 = arith.addf %a, %c : tensor<2xf16>
  return %0 : tensor<2xf16>
}}
{{-# dialect_resources: {{ builtin: {{ blob: "{blob}" }} }} #-}}
"""


def test_resources_lose_their_alignment() -> None:
    blobs = '      a.b_1: "0x04000000FF00",\n      "q r": "0x0100000001"\n'
    text = "{-#\n  dialect_resources: {\n    builtin: {\n" + blobs + "    }\n  }\n#-}"
    assert read_resources("module {}\n" + text) == {"a.b_1": b"\xff\x00", "q r": b"\x01"}
    assert read_resources("module {}") == {}


@pytest.mark.parametrize("value", ["dense<[1.5, -2.0]>", "dense_resource<blob>"])
def test_arrays_and_resources_hold_the_same(value: str) -> None:
    # 1.5 is 0x3E00 and -2 is 0xC000, little-endian after four bytes of alignment
    program = import_file(PROGRAM.format(value=value, blob="0x02000000003E00C0"))
    (out,) = program.run([np.array([1, 1], np.float16)])
    np.testing.assert_array_equal(out, [2.5, -1.0])


@pytest.mark.parametrize(
    ("value", "blob", "message"),
    [
        ("dense_resource<other>", "0x0200000000", "resource other is not in the file"),
        ("dense_resource<blob>", "0x02000000003E", "resource blob has 2 bytes where 4 are needed"),
        ("dense<[0x7E00, 1.0]>", "0x0200000000", None),
    ],
)
def test_broken_resources(value: str, blob: str, message: str | None) -> None:
    text = PROGRAM.format(value=value, blob=blob)
    if message is None:  # a NaN inside an array is data like any other
        (out,) = import_file(text).run([np.array([1, 1], np.float16)])
        assert np.isnan(out[0])
        assert out[1] == 2
        return
    with pytest.raises(UnsupportedError) as caught:
        import_file(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("<input>:2:8: error: ")


def test_splats_fold_into_functions_in_their_own_precision() -> None:
    program = import_file(PROGRAM.format(value="dense<0.1>", blob="0x0200000000"))
    assert [str(n.op) for n in program.nodes] == [f"unary[x + {float(np.float16(0.1))!r}]"]
