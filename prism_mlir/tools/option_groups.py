"""Options that several commands have are fields of dataclasses; a command takes the dataclass, Typer sees the fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses are replaced by their fields, as Typer understands them.

    The fields have the types that Typer wants, such as ``Annotated[int, typer.Option(...)]``, and defaults. In the help they come
    after the options that only this command has, in the order of the groups.

    Raises :class:`TypeError` where a name occurs twice.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[type, list[str]]] = {}
    parameters: dict[str, inspect.Parameter] = {}
    given = inspect.signature(command).parameters
    own = [name for name in given if not (isinstance(hints[name], type) and is_dataclass(hints[name]))]
    for name in own:
        _add(parameters, name, hints[name], given[name].default)
    for name in (n for n in given if n not in own):
        group = hints[name]
        types = get_type_hints(group, include_extras=True)
        groups[name] = (group, [f.name for f in fields(group)])
        for f in fields(group):
            _add(parameters, f.name, types[f.name], inspect.Parameter.empty if f.default is MISSING else f.default)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        made = {name: group(**{n: given.pop(n) for n in names}) for name, (group, names) in groups.items()}
        command(**given, **made)

    del run.__wrapped__  # Typer would read the types there
    run.__annotations__ = {name: p.annotation for name, p in parameters.items()}
    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    return run


def _add(parameters: dict[str, inspect.Parameter], name: str, annotation: Any, default: Any) -> None:
    if name in parameters:
        raise TypeError(f"the option {name} is there twice")
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters[name] = inspect.Parameter(name, kind, default=default, annotation=annotation)
