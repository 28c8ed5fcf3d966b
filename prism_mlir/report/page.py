"""The page: its sections in order, each with what its template shows, or with what is missing for it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from prism_mlir.graph.errors import InputError
from prism_mlir.report import words
from prism_mlir.report.contents import Contents
from prism_mlir.report.sections import (
    accuracy,
    comparison,
    evidence,
    files,
    funnel,
    graphs,
    memory,
    pipeline,
    program,
    ptx,
    roofline,
    schedules,
    summary,
    variants,
)

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page. view: what ``template`` shows; ``None`` where ``missing`` says why there is none."""

    id: str
    title: str
    template: str
    view: Any
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Sections under one heading: those of the whole program (no title), or of one part."""

    id: str
    title: str
    sections: tuple[Section, ...]


def render(contents: Contents) -> str:
    """The page. The same contents give the same text.

    Raises :class:`InputError` where ``report.json`` is not what ``prism compile`` writes: then there is nothing to show.
    """
    dynamic = variants.is_dynamic(contents)
    head = variants.summary(contents) if dynamic else summary.view(contents)
    script, style = asset("report.js"), asset("report.css")
    return (
        _environment()
        .get_template("page.html")
        .render(
            head=head,
            groups=list(_dynamic_groups(contents) if dynamic else _groups(contents)),
            style=Markup(style),
            script=Markup(script),
            policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:",
        )
    )


def _groups(contents: Contents) -> Iterator[Group]:
    """One program, then its part or parts, then what is about the whole again."""
    count = len(contents.parts)
    yield Group("", "", (_section("program", "Program", partial(program.view, contents)),))
    for k in range(count):
        title = f"Part {k + 1}: {contents.parts[k]['name'].text()}" if count > 1 else ""
        yield Group(f"part-{k + 1}" if count > 1 else "", title, tuple(_of_part(contents, k, count)))
    whole = (
        _section("roofline", "Roofline", partial(roofline.view, contents)),
        _section("comparison", "Against the unfused program", partial(comparison.view, contents)),
        _section("accuracy", "Accuracy", partial(accuracy.view, contents)),
        _section("files", "Files and versions", partial(files.view, contents)),
    )
    yield Group("whole" if count > 1 else "", "All parts together" if count > 1 else "", whole)


def _dynamic_groups(contents: Contents) -> Iterator[Group]:
    """Variants instead of parts; what is about one size of a program has no place."""
    yield Group("", "", (_section("variants", "Variants", partial(variants.view, contents)),))
    names = list(contents.ptx)
    listings = (_section("ptx", name, partial(ptx.view, contents, k), f"code-{k + 1}-") for k, name in enumerate(names))
    if names:
        yield Group("code", "PTX with counters", tuple(listings))
    files_ = _section("files", "Files and versions", partial(files.view, contents))
    yield Group("rest" if names else "", "Files" if names else "", (files_,))


def _of_part(contents: Contents, k: int, count: int) -> Iterator[Section]:
    before = f"part-{k + 1}-" if count > 1 else ""
    yield _section("funnel", "Search funnel", partial(funnel.view, contents, k), before)
    yield _section("graphs", "Proved graphs", partial(graphs.view, contents, k), before)
    yield _section("evidence", "Verdict and evidence", partial(evidence.view, contents, k), before)
    yield _section("schedules", "Schedules", partial(schedules.view, contents, k), before)
    yield _section("memory", "Shared memory", partial(memory.view, contents, k), before)
    yield _section("pipeline", "Software pipeline", partial(pipeline.view, contents, k), before)
    yield _section("ptx", "PTX with counters", partial(ptx.view, contents, k), before)


def _section(name: str, title: str, view: Callable[[], Any], before: str = "") -> Section:
    """A section of a template's name; one that lacks its data says so."""
    try:
        return Section(before + name, title, name, view())
    except InputError as error:
        return Section(before + name, title, name, None, error.message)


@cache
def asset(name: str) -> str:
    """A style sheet or script of the page."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    named = (
        words.size,
        words.time,
        words.number,
        words.percent,
        words.times,
        words.rate,
        words.plural,
        words.shortened,
    )
    made.filters.update({f.__name__: f for f in named})
    return made


def _hash(text: str) -> str:
    """What a content security policy calls an inline script or style sheet."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
