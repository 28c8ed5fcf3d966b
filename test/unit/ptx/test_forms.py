"""Which instructions exist: the machine and ptxas must agree, form by form.

A kernel that ptxas would refuse must not pass here, and what ptxas takes should run. Needs ptxas; all forms of a family go
through it at once, again and again until it finds no more errors.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ptx_forms import DECLARE, FAMILIES

from prism_mlir.codegen.external import find_tool
from prism_mlir.runtime.ptx import PtxSyntaxError
from prism_mlir.runtime.ptx.decode import _step
from prism_mlir.runtime.ptx.parser import parse
from prism_mlir.runtime.ptx.table import Context, Layout

PTXAS = find_tool("ptxas")
# What ptxas 13.0 takes and the machine does not, with the reason.
UNKNOWN = {
    r"(addc|subc|madc)\S*\.[us]16 ": "not in the PTX ISA",
    r"madc.hi.sat.s32 ": "not in the PTX ISA",
    r"fma\.r[zmp]\.bf16": "not in the PTX ISA",
    r"rcp\.r[nm]\.ftz\.f64 ": "not in the PTX ISA",
    r"mbarrier\.arrive\S*\.shared::cluster": "clusters of blocks are not known",
    r"prefetch\.L2::": "the PTX ISA asks for .global",
    r"cvt\.(f16|bf16)\.(f16|bf16) ": "the PTX ISA asks for a rounding mode",
}


def module(lines: list[str], sm: int, version: str) -> str:
    """A kernel of which instruction ``i`` is on line ``i + 6``."""
    head = f".version {version}\n.target sm_{sm}\n.address_size 64\n.visible .entry k() {{\n{DECLARE}\n"
    return head + "\n".join(lines) + "\nret; }\n"


def ptxas_takes(lines: list[str], sm: int, version: str, folder: Path) -> set[str]:
    left = list(lines)
    while True:
        (folder / "forms.ptx").write_text(module(left, sm, version))
        command = [str(PTXAS), f"-arch=sm_{sm}", "forms.ptx", "-o", "forms.cubin"]
        log = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False).stderr
        bad = {int(n) - 6 for n in re.findall(r"line (\d+)", log)}
        if not bad:
            assert "error" not in log and "fatal" not in log, log
            return set(left)
        assert all(0 <= i < len(left) for i in bad), log
        left = [line for i, line in enumerate(left) if i not in bad]


def machine_takes(lines: list[str], sm: int, version: str) -> set[str]:
    program = parse(module(lines, sm, version), "forms.ptx")
    kernel = program.kernels["k"]
    context = Context(program, kernel, Layout())
    taken = set()
    for line, instruction in zip(lines, kernel.body, strict=False):
        try:
            _step(context, 0, instruction)
            taken.add(line)
        except PtxSyntaxError as error:
            assert error.location is not None
    return taken


@pytest.mark.skipif(PTXAS is None, reason="ptxas not found (install the cuda extra)")
@pytest.mark.parametrize(("sm", "version"), [(90, "8.1"), (80, "7.1")])
@pytest.mark.parametrize("family", FAMILIES)
def test_forms(family: Callable[[], Iterator[str]], sm: int, version: str, tmp_path: Path) -> None:
    lines = list(dict.fromkeys(family()))
    ours, theirs = machine_takes(lines, sm, version), ptxas_takes(lines, sm, version, tmp_path)
    assert theirs, "ptxas refuses everything"
    assert not sorted(ours - theirs)
    known = re.compile("|".join(UNKNOWN))
    assert not [line for line in sorted(theirs - ours) if not known.match(line)]
