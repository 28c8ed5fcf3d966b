"""The command line of ``prism-opt``: mlir-opt's spellings brought to xDSL's."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import NoReturn

from prism_mlir.graph.errors import InputError

_SPELLINGS: Mapping[str, str] = {
    "mlir-print-op-generic": "print-op-generic",
    "mlir-print-ir-after-all": "print-ir-after-all",
    "mlir-print-ir-before-all": "print-ir-before-all",
    "print-between-passes": "print-ir-after-all",
    "mlir-print-debuginfo": "print-debuginfo",
    "mlir-print-ir-after-change": "print-ir-after-change",
    "mlir-print-ir-after-failure": "print-ir-after-failure",
    "mlir-print-ir-before": "print-ir-before",
    "mlir-print-ir-after": "print-ir-after",
    "mlir-timing": "time-passes",
    "mlir-pass-statistics": "pass-statistics",
    "mlir-pass-pipeline-crash-reproducer": "pass-pipeline-crash-reproducer",
    "mlir-pass-pipeline-local-reproducer": "pass-pipeline-local-reproducer",
}
"""mlir-opt's (or xdsl-opt's) name of an option -> ours."""

ALSO: Mapping[str, str] = {ours: theirs for theirs, ours in _SPELLINGS.items() if theirs.startswith("mlir-")}
"""Our name of an option -> mlir-opt's."""

_NO_EFFECT = frozenset(
    {
        "allow-unregistered-dialect",
        "mlir-print-local-scope",
        "mlir-print-ir-module-scope",
        "mlir-disable-threading",
        "mlir-timing-display",
        "mlir-pass-statistics-display",
        "verify-each",
    }
)
"""Options that name what always happens here."""

_PIPELINE = re.compile(r"\s*(?:builtin\.module|any)\s*\((?P<passes>.*)\)\s*", re.DOTALL)
_FLAGS = ("o", "p", "t", "h", "v")


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours: one line, exit code 1. passes: whose names are flags as well."""

    passes: Collection[str] = ()

    def error(self, message: str) -> NoReturn:
        unknown = re.fullmatch(r"unrecognized arguments: (-\S+).*", message)
        if unknown is None:
            raise InputError(message, None, "see prism-opt --help")
        flags = [*self._option_string_actions, *(f"--{name}" for name in self.passes)]
        near = get_close_matches(unknown[1].partition("=")[0], flags, 1)
        hint = f"did you mean {near[0]}" if near else "see prism-opt --help"
        raise InputError(f"no option is called '{unknown[1]}'", None, hint)


def translate(arguments: Sequence[str], passes: Collection[str]) -> list[str]:
    """The same command line in xDSL's spelling: all passes, in order, in one ``-p``.

    ``--sgraph-verify="seeds=3"`` becomes ``sgraph-verify{seeds=3}``, ``--pass-pipeline=builtin.module(a,b)`` becomes ``a,b``.

    >>> translate(["a.mlir", "--cse", "-mlir-print-op-generic"], ["cse"])
    ['a.mlir', '--print-op-generic', '-p', 'cse']
    """
    kept: list[str] = []
    pipeline: str | None = None
    flags: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        name, has_value, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or argument in ("-", "--") or _is_short(argument):
            kept.append(argument)
            if argument in ("-o", "-t", "--target") and rest:
                kept.append(rest.pop(0))
            elif argument == "-p":
                pipeline = _once(pipeline, _value(argument, rest))
                kept.pop()
        elif name in ("pass-pipeline", "passes"):
            pipeline = _once(pipeline, value if has_value else _value(argument, rest))
        elif name in passes:
            flags.append(f"{name}{{{value}}}" if value else name)
        elif name not in _NO_EFFECT:
            kept.append(f"--{_SPELLINGS.get(name, name)}{has_value}{value}")
    if pipeline is not None and flags:
        raise InputError(
            "a pass pipeline and single passes cannot be given together", None, "put all in --pass-pipeline"
        )
    chosen = strip_anchor(pipeline) if pipeline is not None else ",".join(flags)
    return [*kept, "-p", chosen] if chosen else kept


def _is_short(argument: str) -> bool:
    return not argument.startswith("--") and argument[1:2] in _FLAGS and (len(argument) == 2 or argument[1] == "o")


def _value(option: str, rest: list[str]) -> str:
    if not rest:
        raise InputError(f"{option} needs a pipeline", None, "write a,b{option=value}, or builtin.module(a,b)")
    return rest.pop(0)


def _once(before: str | None, pipeline: str) -> str:
    if before is not None:
        raise InputError("two pass pipelines are given", None, "put all passes in one")
    return pipeline


def strip_anchor(pipeline: str) -> str:
    """``a,b`` from ``builtin.module(a,b)``. Raises :class:`InputError` where a pipeline is nested inside."""
    if pipeline.count("(") > pipeline.count(")"):
        raise InputError("pass pipeline: a parenthesis is not closed", None, "write builtin.module(a,b)")
    found = _PIPELINE.fullmatch(pipeline)
    inner = pipeline.strip() if found is None else found.group("passes")
    nested = re.search(r"[\w.]+\(", inner)
    if nested is not None:
        raise InputError(
            f"pass pipeline: {nested.group()}...) nests a pipeline", None, "passes here run on builtin.module alone"
        )
    return re.sub(r"\s*,\s*(?![^{]*\})", ",", inner.strip())
