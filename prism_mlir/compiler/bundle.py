"""A bundle: everything that a GPU machine needs to measure kernels, where neither Prism nor a network is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from prism_mlir import __version__
from prism_mlir.compiler.measured_row import MeasuredRow
from prism_mlir.graph.errors import InputError
from prism_mlir.runtime import bundle
from prism_mlir.runtime.bundle.command import FORMAT, MANIFEST
from prism_mlir.runtime.bundle.run import HOME

README = """\
Kernels that Prism made, to be measured on a machine with an NVIDIA GPU. Needed are Python 3.9 or later, NumPy and cuda-python;
torch is measured too where it is installed. No network is needed, and nothing outside of this folder is read.

    python run.py --minutes 5 --output results.json

Every kernel is checked before it is timed and after. results.json holds what was measured so far, whenever it is looked at.
Where Prism is installed, GPU or not, `prism bench --read results.json` shows the table.
"""


def bundle_files(rows: Sequence[MeasuredRow], target: str) -> dict[str, bytes]:
    """Path in the bundle -> content; the same rows give the same bytes. Raises :class:`InputError` for rows of one name."""
    names = [row.name for row in rows]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise InputError(f"two programs are called '{name}'", None, "rename one of the files")
    files, listed = program_files(), []
    for row in rows:
        entry, own = row.files()
        listed.append(entry)
        files |= own
    manifest = {"format": FORMAT, "made_by": f"prism {__version__}", "target": target, "rows": listed}
    return {**files, "README.txt": README.encode(), MANIFEST: (json.dumps(manifest, indent=1) + "\n").encode()}


def program_files() -> dict[str, bytes]:
    """The program that measures: ``run.py``, and the rest of it in a folder of its own."""
    folder = Path(bundle.__file__).parent
    found = {path.name: path.read_bytes() for path in sorted(folder.glob("*.py"))}
    return {"run.py": found.pop("run.py"), **{f"{HOME}/{name}": text for name, text in found.items()}}
