"""Write the reference: one page a pass, from its docstring and its options, into docs/reference/passes.

    python docs/generate_reference.py [FOLDER]

The pages are part of the repository; a test fails when they no longer match the passes.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

from xdsl.passes import ModulePass

import prism_mlir.passes

PAGES = Path(__file__).resolve().parent / "reference" / "passes"
NOTICE = "<!-- Written by docs/generate_reference.py from the pass itself; `make docs` writes it again. -->\n"


def passes() -> list[type[ModulePass]]:
    """Every pass class defined below ``prism_mlir.passes``, by pass name."""
    found: dict[str, type[ModulePass]] = {}
    for module in pkgutil.iter_modules(prism_mlir.passes.__path__, "prism_mlir.passes."):
        for value in vars(importlib.import_module(module.name)).values():
            own = inspect.isclass(value) and issubclass(value, ModulePass) and value.__module__ == module.name
            if own and not inspect.isabstract(value):
                found[value.name] = value
    return [found[name] for name in sorted(found)]


def split_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """A pass's description, and what its list of options says, by option name.

    The list is the paragraph after ``Options:``, with entries such as ``- ``states``, ``structures``: at most so many``.
    """
    head, found, rest = doc.partition("\nOptions:\n")
    if not found:
        return doc, {}
    lines = rest.strip("\n").splitlines()
    end = next((k for k, line in enumerate(lines) if line and not line.startswith(("- ", "  "))), len(lines))
    entries = re.split(r"^- ", "\n".join(lines[:end]), flags=re.MULTILINE)[1:]
    notes: dict[str, str] = {}
    for entry in entries:
        names, _, meaning = entry.partition(": ")
        notes |= dict.fromkeys(re.findall(r"``([^`]+)``", names), " ".join(meaning.split()))
    return "\n\n".join(part for part in (head.strip(), "\n".join(lines[end:]).strip()) if part), notes


def default_of(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return "none" if field.default is None else f"`{field.default}`"
    if field.default_factory is not dataclasses.MISSING:
        return f"`{field.default_factory()}`"
    return "required"


def options_table(cls: type[Any], notes: dict[str, str]) -> str:
    """Markdown table of a pass's options; they are written ``pass-name{option=value}``."""
    fields = [f for f in dataclasses.fields(cls) if f.name != "name"]
    if not fields:
        return "This pass takes no options.\n"
    rows = ["| option | type | default | meaning |", "|---|---|---|---|"]
    for field in fields:
        name = field.name.replace("_", "-")
        kind, meaning = (text.replace("|", "\\|") for text in (str(field.type), notes.get(name, "")))
        rows.append(f"| `{name}` | {kind} | {default_of(field)} | {meaning} |")
    return "\n".join(rows) + "\n"


def page(cls: type[ModulePass]) -> str:
    """The whole page of one pass."""
    text, notes = split_docstring(inspect.cleandoc(cls.__doc__ or ""))
    where = cls.__module__.replace(".", "/") + ".py"
    return (
        f"{NOTICE}\n# `{cls.name}`\n\n{text}\n\n## Options\n\n{options_table(cls, notes)}\n"
        f"Source: [`{where}`](../../../{where})\n"
    )


def index(classes: list[type[ModulePass]]) -> str:
    """The list of all passes with the first line of each."""
    rows = []
    for cls in classes:
        doc = inspect.cleandoc(cls.__doc__ or "")
        rows.append(f"- [`{cls.name}`]({cls.name}.md): {doc.splitlines()[0] if doc else ''}")
    return f"{NOTICE}\n# Passes\n\n" + "\n".join(rows) + "\n"


def pages() -> dict[str, str]:
    """File name -> content of every reference page."""
    classes = passes()
    return {"README.md": index(classes), **{f"{cls.name}.md": page(cls) for cls in classes}}


def main() -> None:
    """Write the pages and remove those of passes that are gone."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for stale in set(folder.glob("*.md")) - {folder / name for name in wanted}:
        stale.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text)
    print(f"{len(wanted)} pages in {folder}")


if __name__ == "__main__":
    main()
