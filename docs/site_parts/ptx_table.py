"""The reference of the PTX machine's instructions, from its table and from what it says of thousands of forms."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from site_parts.markdown import code, first_sentence, table

ROOT = Path(__file__).resolve().parents[2]
SM, VERSION = 90, "8.1"
TYPE = re.compile(r"[usb]\d+(x2)?|b?f\d+(x2)?|tf32|pred")
INTRO = f"""# PTX instructions

What [the PTX machine](../../prism_mlir/runtime/ptx/README.md) executes. Types and modifiers are those of the forms that it takes
in a module for sm_{SM} and PTX {VERSION}, out of the {{tried:,}} that its tests compare with ptxas
(`test/unit/ptx/ptx_forms.py`). Not all combinations exist, and earlier targets and versions have fewer. A form that is not there
is an error with its place when a module is loaded.
"""


def page() -> str:
    """Opcodes with their types and modifiers, families, and notes on how some are executed."""
    importlib.import_module("prism_mlir.runtime.ptx.machine")
    from prism_mlir.runtime.ptx.table import TABLE

    tried, words = _words()
    rows = []
    families: dict[str, list[str]] = defaultdict(list)
    notes = []
    for opcode, decoder in sorted(TABLE.items()):
        families[decoder.__module__].append(opcode)
        known = sorted(words.get(opcode, ()))
        types, others = [w for w in known if TYPE.fullmatch(w)], [w for w in known if not TYPE.fullmatch(w)]
        rows.append((code(opcode), " ".join(types), " ".join(others)))
        if note := first_sentence(decoder.__doc__ or ""):
            notes.append((code(opcode), note))
    about = [
        (", ".join(map(code, opcodes)), first_sentence(importlib.import_module(module).__doc__ or ""))
        for module, opcodes in sorted(families.items())
    ]
    return "\n".join(
        (
            INTRO.format(tried=tried),
            table(("opcode", "types", "modifiers"), rows),
            f"## Families\n\n{table(('opcodes', 'what they are'), about)}",
            f"## Notes\n\n{table(('opcode', 'how it is executed'), notes)}",
        )
    )


def _words() -> tuple[int, dict[str, set[str]]]:
    """How many forms were tried, and for each opcode the words of those that the machine takes."""
    forms = _forms()
    tried, words = 0, defaultdict[str, set[str]](set)
    for family in forms.FAMILIES:
        lines = list(dict.fromkeys(family()))
        tried += len(lines)
        for line in _taken(lines, forms.DECLARE):
            opcode, *rest = line.split()[0].rstrip(";").split(".")
            words[opcode].update(rest)
    return tried, words


def _taken(lines: list[str], declare: str) -> Iterator[str]:
    from prism_mlir.runtime.ptx import PtxSyntaxError
    from prism_mlir.runtime.ptx.decode import _step
    from prism_mlir.runtime.ptx.parser import parse
    from prism_mlir.runtime.ptx.table import Context, Layout

    head = f".version {VERSION}\n.target sm_{SM}\n.address_size 64\n.visible .entry k() {{\n{declare}\n"
    program = parse(head + "\n".join(lines) + "\nret; }\n", "forms.ptx")
    kernel = program.kernels["k"]
    context = Context(program, kernel, Layout())
    for line, instruction in zip(lines, kernel.body, strict=False):
        try:
            _step(context, 0, instruction)
        except PtxSyntaxError:
            continue
        yield line


def _forms() -> ModuleType:
    """The forms that the tests try."""
    place = ROOT / "test" / "unit" / "ptx" / "ptx_forms.py"
    spec = importlib.util.spec_from_file_location("ptx_forms_of_the_site", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
