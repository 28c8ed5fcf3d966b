"""The pipeline of ``prism-opt``: names and options of passes as text; errors say where, what is known, and what is near."""

from __future__ import annotations

import re
import textwrap
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from difflib import get_close_matches
from typing import Any, NoReturn

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from prism_mlir.graph.errors import InputError, Location, PrismError, one_line
from prism_mlir.passes.base import PrismPass

Passes = Mapping[str, Callable[[], type[ModulePass]]]
FILE = "pass pipeline"  # what errors call it, as in "pass pipeline:1:5"
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def read_pipeline(text: str, known: Passes, written: str | None = None) -> tuple[ModulePass, ...]:
    """The passes of ``a,b{option=value}``; those that are pipelines themselves are run pass by pass.

    written: the text as the user gave it, for places in errors

    Raises :class:`InputError`: for text that is no pipeline, passes and options that do not exist, and values that are none.
    """
    try:
        specs = tuple(parse_pipeline(text))
    except ArgSpecParseError as error:
        what, column = _syntax(error)
        raise InputError(f"{what} in '{text}'", _shifted(text, written, column), "write a,b{option=value}") from None
    found: list[ModulePass] = []
    at = 0
    for spec in specs:
        at = max(at, (written or "").find(spec.name, at))
        made = _made(spec, known, _Place(written, at))
        found += made.expand() if isinstance(made, PrismPass) else (made,)
        at += len(spec.name)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a pass stands in the text that the user gave, if there is one."""

    written: str | None
    at: int

    def of(self, word: str = "") -> Location | None:
        if self.written is None:
            return None
        found = self.written.find(word, self.at)
        return _location(self.written, self.at if found < 0 else found)


def _location(text: str, position: int) -> Location:
    line = text.count("\n", 0, position) + 1
    return Location(FILE, line, position - (text.rfind("\n", 0, position) + 1) + 1)


def _syntax(error: ArgSpecParseError) -> tuple[str, int]:
    """What is wrong, and the column, from 0, as xDSL's message says it."""
    column = re.search(r"^pass-pipeline:\d+:(\d+)$", str(error), re.MULTILINE)
    what = str(error).strip().splitlines()[-1].strip()
    return what[:1].lower() + what[1:].removesuffix(" here"), int(column[1]) - 1 if column else 0


def _shifted(text: str, written: str | None, column: int) -> Location | None:
    """A column of the pipeline as a place in the text around it."""
    start = -1 if written is None else written.find(text)
    return None if written is None else _location(written, column + max(start, 0))


def _made(spec: ArgSpec, known: Passes, place: _Place) -> ModulePass:
    if spec.name not in known:
        raise unknown_pass(spec.name, known, place.of())
    kind = known[spec.name]()
    options = {f.name: f for f in fields(kind) if f.name != "name"}
    for name, values in spec.parameters.items():
        option = options.get(name.replace("-", "_"))
        if option is None:
            _no_such_option(spec.name, name, options, place)
        wanted = _kind_of(kind, option)
        if not _fits(values, wanted):
            given = ",".join(map(str, values))
            what = f"{spec.name}: {name} is '{given}'" if given else f"{spec.name}: {name} has no value"
            raise InputError(what, place.of(name), f"it must be {_said(wanted)}")
    for name, option in options.items():
        missing = option.default is MISSING and option.default_factory is MISSING
        if missing and not {name, name.replace("_", "-")} & set(spec.parameters):
            shown = name.replace("_", "-")
            raise InputError(f"{spec.name} needs {shown}", place.of(), f"write {spec.name}{{{shown}=...}}")
    try:
        return kind.from_spec(spec)
    except PrismError as error:
        raise InputError(error.message, error.location or place.of(), error.hint) from None
    except Exception as error:  # passes of xDSL check what they are given with exceptions of their own
        raise InputError(f"{spec.name}: {one_line(str(error))[:300]}", place.of()) from None


def _no_such_option(name: str, option: str, options: Collection[str], place: _Place) -> NoReturn:
    shown = [o.replace("_", "-") for o in options]
    near = get_close_matches(option.replace("_", "-"), shown, 1)
    there = f"it has {', '.join(shown)}" if shown else "it has none"
    hint = f"did you mean {near[0]}? {there}" if near else there
    raise InputError(f"{name} has no option '{option}'", place.of(option), hint)


def _kind_of(kind: type[ModulePass], option: Field[Any]) -> Any:
    return typing.get_type_hints(kind).get(option.name, Any)


def _fits(values: Sequence[Any], wanted: Any) -> bool:
    """Whether a value has one of the simple types; of others xDSL decides."""
    kinds = _plain(wanted)
    if not kinds or not set(kinds) <= set(_KINDS):
        return True
    return len(values) == 1 and (type(values[0]) in kinds or (float in kinds and type(values[0]) is int))


def _plain(wanted: Any) -> list[Any]:
    union = typing.get_origin(wanted) in (typing.Union, types.UnionType)
    return [k for k in (typing.get_args(wanted) if union else [wanted]) if k is not type(None)]


def _said(wanted: Any) -> str:
    return " or ".join(_KINDS[k] for k in _plain(wanted))


def written_pipeline(arguments: Sequence[str]) -> str | None:
    """What the user gave as ``-p``, ``--passes`` or ``--pass-pipeline``; None where passes are flags."""
    for k, argument in enumerate(arguments):
        name, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name in ("p", "passes", "pass-pipeline"):
            return value if equals else arguments[k + 1] if k + 1 < len(arguments) else None
    return None


def unknown_pass(name: str, known: Collection[str], place: Location | None = None) -> InputError:
    """The error for a pass that does not exist, with the nearest name that does."""
    near = get_close_matches(name, list(known), 1)
    hint = f"did you mean {near[0]}" if near else "--list-passes lists them"
    return InputError(f"no pass is called '{name}'", place, hint)


# -- help -----------------------------------------------------------------------------------------------------------


def pass_help(name: str, kind: type[ModulePass]) -> str:
    """A pass as ``--help`` shows it: its name, its first sentence, and its options as its documentation lists them."""
    text = re.sub(r"``(.*?)``", r"\1", kind.__doc__ or "")
    summary = text.strip().split("\n\n")[0]
    listed = re.search(r"^ *Options:\n\n((?: *-? .*\n)+)", text, re.MULTILINE)
    rows = [] if listed is None else re.findall(r"- (.*?): ((?:.|\n(?! *- ))*)", listed[1])
    defaults = {f.name.replace("_", "-"): f.default for f in fields(kind)}
    lines = [f"  --{name}", *_filled(one_line(summary), 6)]
    for names, meaning in rows:
        lines += [f"      {names}", *_filled(_with_default(names, one_line(meaning), defaults), 10)]
    return "\n".join(lines)


def _with_default(names: str, meaning: str, defaults: Mapping[str, Any]) -> str:
    known = [str(defaults[n]) for n in names.split(", ") if n in defaults and defaults[n] not in (None, False, "")]
    return meaning if not known or "default" in meaning else f"{meaning} (default {', '.join(known)})"


def _filled(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, 79, initial_indent=" " * indent, subsequent_indent=" " * indent)
