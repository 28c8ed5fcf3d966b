"""The reference of the command lines, from the parsers themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from site_parts.markdown import code, plain, table


def page() -> str:
    """Every command of ``prism`` with its arguments and options, and those of ``prism-opt``."""
    import typer

    from prism_mlir.tools.prism import app

    root = typer.main.get_command(app)
    intro = "Made from the commands themselves, whose `--help` says the same."
    parts = [f"# Command line\n\n{intro}\n", *_sections(root, "prism", None), _prism_opt()]
    return "\n".join(parts)


def _sections(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = _context(command, name, parent)
    records = [p.get_help_record(context) for p in command.params]
    arguments = [(p, r) for p, r in zip(command.params, records, strict=True) if p.param_type_name == "argument"]
    options = [r for p, r in zip(command.params, records, strict=True) if p.param_type_name != "argument" and r]
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    text = [f"## `{context.command_path}`", _help(command), f"```text\n{usage}\n```"]
    text.append(table(("argument", "what it is"), [(code(r[0]), _prose(r[1])) for _, r in arguments if r]))
    text.append(table(("option", "what it does"), [(code(r[0]), _prose(r[1])) for r in options]))
    if command.epilog:
        text.append(_prose(command.epilog))
    yield "\n\n".join(t for t in text if t) + "\n"
    for inner in getattr(command, "commands", {}).values():
        yield from _sections(inner, inner.name, context)


def _context(command: Any, name: str, parent: Any) -> Any:
    return command.context_class(command, info_name=name, parent=parent)


def _help(command: Any) -> str:
    """A command's help: lines that are indented are examples."""
    paragraphs = (command.help or "").replace("\b", "").strip().split("\n\n")
    return "\n\n".join(_prose(" ".join(p.split())) for p in paragraphs)


def _prose(text: str) -> str:
    """Text of a help as Markdown; options in it are code."""
    return re.sub(r"(?<![\w`-])(--[\w-]*\w)", r"`\1`", plain(text)).replace("<", "&lt;").replace("[", "\\[")


def _prism_opt() -> str:
    import argparse

    from prism_mlir.tools.prism_opt import PrismOptMain

    parser = argparse.ArgumentParser(add_help=False)
    PrismOptMain.register_all_arguments(PrismOptMain.__new__(PrismOptMain), parser)
    rows = [
        (
            code(", ".join(a.option_strings) or a.dest) + (f" {code(a.metavar)}" if a.metavar else ""),
            _prose(a.help or ""),
        )
        for a in parser._actions
        if a.help is not argparse.SUPPRESS
    ]
    intro = (
        "Runs [passes](passes/README.md) on IR text. Spellings of mlir-opt are understood as well: `--mlir-print-ir-after-all`, "
        "`--pass-pipeline`, `--sgraph-verify`."
    )
    return f"## `prism-opt`\n\n{intro}\n\n{table(('option', 'what it does'), rows)}"
