"""The pages that are made from the code when the site is built: all of the reference but what is written by hand."""

from __future__ import annotations

from functools import cache

from site_parts import command_line, dialect, ptx_table, tables

PYTHON = """# Python

```{eval-rst}
.. autofunction:: prism_mlir.api.optimize

.. autoclass:: prism_mlir.api.Result
   :members:
   :special-members: __call__

.. autoclass:: prism_mlir.api.Device
   :members:
   :undoc-members:
```

## Options

Fields of these two classes are keyword arguments of `optimize`, except for `profile`, `limits` and `exclude`.

```{eval-rst}
.. autoclass:: prism_mlir.compiler.options.CompileOptions

.. autoclass:: prism_mlir.search.limits.SearchLimits
```

## Launches

```{eval-rst}
.. autoclass:: prism_mlir.graph.launch_info.LaunchInfo
   :members:

.. autoclass:: prism_mlir.graph.launch_info.KernelLaunch
```

## Records

```{eval-rst}
.. autoclass:: prism_mlir.tune.records.store.Records
   :members: open
```

## The PTX machine

```{eval-rst}
.. autoclass:: prism_mlir.runtime.ptx.Module
   :members: load, kernel

.. autoclass:: prism_mlir.runtime.ptx.KernelHandle
   :members: run

.. autoclass:: prism_mlir.runtime.ptx.Checks
```

Errors have [a page of their own](errors.md).
"""


@cache
def made_pages() -> dict[str, str]:
    """Path in the site -> text."""
    pages = {
        "command-line": command_line.page(),
        "python": PYTHON,
        "dialect": dialect.page(),
        "operators": tables.operators(),
        "axioms": tables.axioms(),
        "targets": tables.targets(),
        "ptx-instructions": ptx_table.page(),
        "errors": tables.errors(),
        "modules": tables.modules(),
    }
    return {f"reference/{name}.md": text for name, text in pages.items()}
