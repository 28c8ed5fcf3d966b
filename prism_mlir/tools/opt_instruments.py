"""What ``prism-opt`` tells about a pipeline while it runs, as mlir-opt does: IR dumps, times, statistics, reproducers."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from prism_mlir.dialects.sgraph.attributes import VerdictAttr
from prism_mlir.graph.errors import InputError, Location
from prism_mlir.tools.files import write_atomically
from prism_mlir.tools.opt_pipeline import unknown_pass

_RULE = "===-------------------------------------------------------------------------==="
_REPRODUCER = re.compile(r'\{-#.*?\bmlir_reproducer\b.*?\bpipeline\s*:\s*"((?:[^"\\]|\\.)*)".*?#-\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """When to print the IR on standard error.

    before, after: names of passes; changed: after a pass only if that changed anything; failure: only after one that fails
    """

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    changed: bool = False
    failure: bool = False

    @staticmethod
    def of(args: Any, passes: Collection[str]) -> DumpOptions:
        """From the command line. Raises :class:`InputError` for a pass that does not exist."""
        return DumpOptions(
            _names(args.print_ir_before, passes),
            _names(args.print_ir_after, passes),
            args.print_ir_before_all,
            args.print_ir_after_all,
            args.print_ir_after_change,
            args.print_ir_after_failure,
        )


def _names(text: str | None, passes: Collection[str]) -> frozenset[str]:
    names = frozenset(name for name in (text or "").replace(" ", "").split(",") if name)
    for name in sorted(names - set(passes)):
        raise unknown_pass(name, passes)
    return names


@dataclass
class Instruments:
    """Watches one run of a pipeline."""

    dumps: DumpOptions
    timing: bool = False
    statistics: bool = False
    _seconds: list[tuple[str, float]] = field(default_factory=list)
    _counts: list[tuple[str, Counter[str]]] = field(default_factory=list)
    _started: float = field(default_factory=time.perf_counter)

    @contextmanager
    def around(self, p: ModulePass, module: ModuleOp) -> Iterator[None]:
        """To be entered for each pass, and left with its error if it fails."""
        dumps, name = self.dumps, f"{type(p).__name__} ({p.name})"
        if dumps.before_all or p.name in dumps.before:
            dump(f"IR Dump Before {name}", module)
        watched = dumps.changed and (dumps.after_all or not dumps.after or p.name in dumps.after)
        before = module_text(module) if watched else ""
        counts = census(module) if self.statistics else Counter[str]()
        try:
            with self.step(p.name):
                yield
        except Exception:
            if dumps.failure or dumps.after_all or p.name in dumps.after:
                dump(f"IR Dump After {type(p).__name__} Failed ({p.name})", module)
            raise
        if self.statistics:
            self._counts.append((p.name, difference(counts, census(module))))
        if dumps.changed:
            if watched and module_text(module) != before:
                dump(f"IR Dump After {name}", module)
        elif not dumps.failure and (dumps.after_all or p.name in dumps.after):
            dump(f"IR Dump After {name}", module)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Times something by name."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds.append((name, time.perf_counter() - start))

    def report(self) -> None:
        """Print what was asked for, on standard error."""
        if self.timing:
            print(time_report(self._seconds, time.perf_counter() - self._started), file=sys.stderr)
        if self.statistics:
            print(statistics_report(self._counts), file=sys.stderr)


def time_report(steps: Sequence[tuple[str, float]], total: float) -> str:
    """mlir-opt's table of wall clock; what no step took is the rest."""
    rows = [*steps, ("Rest", max(0.0, total - sum(s for _, s in steps))), ("Total", total)]
    lines = [f"{s:9.4f} ({100 * s / total if total else 0:5.1f}%)  {name}" for name, s in rows]
    title = "... Execution time report ...".center(len(_RULE)).rstrip()
    head = [
        _RULE,
        title,
        _RULE,
        f"  Total Execution Time: {total:.4f} seconds",
        "",
        "  ----Wall Time----  ----Name----",
    ]
    return "\n".join([*head, *lines])


def statistics_report(counts: Sequence[tuple[str, Counter[str]]]) -> str:
    """For each pass, which operations it added and removed, and verdicts and schedules it gave."""
    title = "... Pass statistics report ...".center(len(_RULE)).rstrip()
    lines = [_RULE, title, _RULE]
    for name, changes in counts:
        lines.append(name)
        for what, number in sorted(changes.items()):
            lines.append(f"  (S) {abs(number):6} {what} - {'added' if number > 0 else 'removed'}")
    return "\n".join(lines)


def census(module: ModuleOp) -> Counter[str]:
    """Operations by name; graphs also by their verdict and by whether they have a schedule."""
    found: Counter[str] = Counter()
    for op in module.walk():
        found[op.name] += 1
        verdict = op.properties.get("verdict")
        if isinstance(verdict, VerdictAttr):
            found[f"{op.name} {verdict.data.status}"] += 1
        if op.properties.get("schedule") is not None:
            found[f"{op.name} scheduled"] += 1
    return found


def difference(before: Counter[str], after: Counter[str]) -> Counter[str]:
    """How many more of each there are; only what changed."""
    return Counter({k: after[k] - before[k] for k in before | after if after[k] != before[k]})


def module_text(module: ModuleOp) -> str:
    """A module as text."""
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()


def dump(title: str, module: ModuleOp) -> None:
    """Print a module on standard error, as mlir-opt does."""
    print(f"// -----// {title} //----- //\n{module_text(module)}\n", file=sys.stderr)


def write_reproducer(path: Path, text: str, passes: Sequence[ModulePass]) -> None:
    """A file that runs some passes on some IR again, with ``prism-opt --run-reproducer``; mlir-opt's format."""
    pipeline = f"builtin.module({','.join(map(str, passes))})".replace("\\", "\\\\").replace('"', '\\"')
    section = f'{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n      pipeline: "{pipeline}",\n'
    section += "      disable_threading: true,\n      verify_each: true\n    }\n  }\n#-}\n"
    write_atomically(path, text.rstrip("\n") + "\n\n" + section)


def read_reproducer(text: str, filename: str) -> tuple[str, str]:
    """The IR of a reproducer, and its pipeline. Raises :class:`InputError` where the file is none."""
    found = _REPRODUCER.search(text)
    if found is None:
        raise InputError(
            "the file is no reproducer", Location(filename, 1, 1), "it has no mlir_reproducer section with a pipeline"
        )
    pipeline = found[1].replace('\\"', '"').replace("\\\\", "\\")
    return text[: found.start()] + "\n" * found[0].count("\n") + text[found.end() :], pipeline
