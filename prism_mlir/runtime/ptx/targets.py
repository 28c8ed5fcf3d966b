"""Which GPU and which PTX version an instruction needs: a kernel that ptxas would refuse must not pass here.

Rows hold for the forms that the machine knows; what is not listed exists on every target from sm_70 and since PTX 6.5. Source:
the "Target ISA Notes" and "PTX ISA Notes" of the PTX ISA, tried with ptxas 13.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prism_mlir.runtime.ptx.program import Instruction

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Requirement:
    """``applies`` to an instruction's modifiers: it then needs ``sm`` and ``version``."""

    opcodes: frozenset[str]
    applies: Callable[[tuple[str, ...]], bool]
    sm: int
    version: Version


def _row(opcodes: str, mods: str, sm: int, version: Version) -> Requirement:
    """``mods``: alternatives separated by ``|``, each a conjunction separated by blanks; empty for every form."""
    ways = [frozenset(way.split()) for way in mods.split("|")]
    return Requirement(
        frozenset(opcodes.split()), lambda mods: any(way <= frozenset(mods) for way in ways), sm, version
    )


def _new_brain_cvt(mods: tuple[str, ...]) -> bool:
    """Conversions of bf16 but for those from f32, and the plain one to f32."""
    types = mods[-2:]
    return "bf16" in types and ("f32" not in types or (types == ("f32", "bf16") and "ftz" in mods))


REQUIREMENTS: tuple[Requirement, ...] = (
    _row("cp", "async", 80, (7, 0)),
    _row("createpolicy", "", 80, (7, 4)),
    _row("ldmatrix", "", 75, (6, 5)),
    _row("stmatrix", "", 90, (7, 8)),
    _row("movmatrix", "", 75, (7, 8)),
    _row("mma", "m16n8k8", 75, (6, 5)),
    _row("mma", "m16n8k16|m16n8k4|m16n8k32|m8n8k4|bf16|tf32", 80, (7, 0)),
    _row("redux mbarrier", "", 80, (7, 0)),
    _row("mbarrier", "try_wait", 90, (7, 8)),
    _row("mbarrier cp", "shared::cta mbarrier|shared::cta b64", 80, (7, 8)),
    _row("mbarrier", "release cta|acquire cta", 80, (8, 0)),
    _row("mbarrier", "release cluster|acquire cluster", 90, (8, 0)),
    _row("wmma", "s8|u8|s32", 72, (6, 3)),
    _row("wmma", "bf16|tf32|f64|m16n16k8", 80, (7, 0)),
    _row("elect", "", 90, (8, 0)),
    _row("fma abs neg cvt ex2 tanh", "bf16|bf16x2|tf32", 80, (7, 0)),
    _row("min max", "bf16|bf16x2|f16|f16x2|NaN|xorsign", 80, (7, 0)),
    _row("min max", "xorsign", 86, (7, 2)),
    _row("min max", "relu", 90, (8, 0)),
    _row("add min max", "u16x2|s16x2", 90, (8, 0)),
    _row("add sub mul setp set", "bf16|bf16x2", 90, (7, 8)),
    _row("ex2", "bf16|bf16x2", 90, (7, 8)),
    _row("tanh", "bf16|bf16x2", 90, (7, 8)),
    _row("tanh", "", 75, (7, 0)),
    _row("ex2", "f16|f16x2", 75, (7, 0)),
    _row("fma", "relu", 80, (7, 0)),
    _row("cvt", "relu|f16x2|bf16x2|rna", 80, (7, 0)),
    _row("cvt", "satfinite f16|satfinite f16x2|satfinite bf16|satfinite bf16x2|satfinite tf32", 80, (8, 1)),
    _row("cvt", "rn tf32|rz tf32", 90, (7, 8)),
    _row("cvt", "satfinite rn tf32|satfinite rz tf32", 100, (8, 6)),
    Requirement(frozenset({"cvt"}), _new_brain_cvt, 90, (7, 8)),
    _row("cvt", "pack", 72, (6, 5)),
    _row("cvt", "pack u2|pack s2|pack u4|pack s4", 75, (6, 5)),
    _row("atom red", "bf16|bf16x2", 90, (7, 8)),
    _row("ld st", "L1::evict_last|L1::evict_first|L1::no_allocate|L1::evict_normal|L1::evict_unchanged", 70, (7, 4)),
    _row("ld", "L2::64B|L2::128B|L2::256B", 75, (7, 4)),
    _row("ld st atom red ldmatrix stmatrix", "shared::cta", 70, (7, 8)),
    _row("ld st atom red", "cluster|shared::cluster", 90, (7, 8)),
    _row("ld st atom red cp", "L2::cache_hint", 80, (7, 4)),
    _row("cp", "L2::64B|L2::128B|L2::256B", 80, (7, 4)),
    _row("ld st", "mmio", 70, (8, 2)),
    _row("ld", "param::entry", 70, (8, 3)),
    _row("match activemask", "", 70, (6, 2)),
    _row("bar barrier", "cta", 70, (7, 8)),
    _row("bmsk szext", "", 70, (7, 6)),
    _row("cvta isspacep", "shared::cta", 70, (7, 8)),
    _row("cvta isspacep fence", "shared::cluster|cluster", 90, (7, 8)),
    _row("cvta isspacep", "param", 70, (7, 7)),
    _row("fence membar", "proxy alias", 70, (7, 5)),
    _row("fence", "proxy async", 90, (8, 0)),
    _row("griddepcontrol", "", 90, (7, 8)),
    _row("prefetch applypriority", "L2::evict_last|L2::evict_normal", 80, (7, 4)),
)


def shortfall(instruction: Instruction, target: int, version: Version) -> str:
    """What the module's ``.target`` or ``.version`` lacks for an instruction; "" when nothing."""
    for row in REQUIREMENTS:
        if instruction.opcode not in row.opcodes or not row.applies(instruction.mods):
            continue
        if target < row.sm:
            return f".target sm_{row.sm} or higher; the module is for sm_{target}"
        if version < row.version:
            return f".version {row.version[0]}.{row.version[1]} or later; the module says {version[0]}.{version[1]}"
    return ""
