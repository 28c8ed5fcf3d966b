"""What all commands of ``prism`` have in common: options that mean the same everywhere, help whose examples are right,
exit codes, JSON that says what it is, completion."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from prism_mlir.tools import start
from prism_mlir.tools.option_groups import flat
from prism_mlir.tools.prism import app, main
from prism_mlir.tools.terminal import Terminal
from prism_mlir.tools.usage import Exit, Interrupted

ROOT = Path(__file__).resolve().parents[3]


def commands(command: Any = None, name: str = "prism") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its full name."""
    command = command or typer.main.get_command(app)
    inner = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for each in inner.values():
        yield from commands(each, f"{name} {each.name}")


COMMANDS = dict(commands())


def test_these_are_the_commands() -> None:
    assert {"prism compile", "prism explain", "prism ptx run", "prism cache verify", "prism doctor"} <= set(COMMANDS)


# -- options --------------------------------------------------------------------------------------------------------

OWN_MEANING = {
    "--time-limit": "what ends when it is over",
    "--output": "what is written",
    "--graph": "in `cost` the number of a graph, in `verify` a file of graphs",
    "--seed": "`certify` tries other inputs than `verify` by default",
    "--certificate": "in `verify` it is written, in `report` read",
    "--counters": "what is counted, and whether that is the default",
}


def test_an_option_is_the_same_wherever_it_is() -> None:
    seen: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for command in COMMANDS.values():
        for p in command.params:
            if p.param_type_name == "option":
                name = max(p.opts, key=len)
                seen[name].add((*p.opts, *p.secondary_opts, p.help, str(p.default), p.metavar))
    different = {name for name, kinds in seen.items() if len(kinds) > 1}
    assert different <= set(OWN_MEANING)
    for name in different:  # the short form is the same even there
        assert len({tuple(o for o in kind[:-3] if len(o) == 2) for kind in seen[name]}) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_these(name: str) -> None:
    options = {o for p in COMMANDS[name].params for o in p.opts}
    if name != "prism report":  # writes a page
        assert {"--json", "-q", "--quiet", "-v", "--verbose", "--reproducer"} <= options
    if "--jobs" in options:
        assert {"-j", "--executor"} <= options
    assert all(p.help for p in COMMANDS[name].params), "an option without help"


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_understood(name: str) -> None:
    """The command line of each example is parsed, and it is one of the command that shows it."""
    epilog = COMMANDS[name].epilog
    assert epilog is not None and epilog.startswith(f"Example: {name}")
    words = shlex.split(epilog.removeprefix("Example: "))[len(name.split()) :]
    COMMANDS[name].make_context(name, words)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*name.split()[1:], "-h"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(f"Usage: {name} ")


def test_groups_become_options_of_their_own() -> None:
    seen: list[Any] = []

    def command(x: int, *, terminal: Terminal) -> None:
        seen.append((x, terminal))

    flat(command)(x=3, quiet=True, verbose=False, as_json=False, reproducer=None)
    assert seen == [(3, Terminal(quiet=True))]

    def twice(quiet: bool, *, terminal: Terminal) -> None: ...

    with pytest.raises(TypeError, match="the option quiet is there twice"):
        flat(twice)


# -- exit codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["doctor", "-q", "-v"], "error: -q prints nothing, and -v prints more, give one of the two\n"),
        (["cache", "list", "-v", "-q"], "error: -q prints nothing, and -v prints more, give one of the two\n"),
        (["compil"], "error: No such command 'compil'. Did you mean 'compile'? (see prism --help)\n"),
        (
            ["cost", "--sed", "1"],
            "error: No such option: --sed (Possible options: --schedule, --seed) (see prism cost --help)\n",
        ),
        (["cost", "x", "--seed", "-1"], "error: --seed: Input should be greater than or equal to 0"),
        (["cost", "x", "--seed", "many"], "error: --seed: "),
        (["cost", "x", "--time-limit", "soon"], "error: --time-limit: 'soon' is no time; write 10s, 2min, 500ms"),
        (["cost", ""], "error: IN.mlir: an empty name"),
        (["cache", "list", "--cache", ""], "error: --cache: an empty name; name a file, or write . for this folder"),
        (["cache", "prune", "--older-than", "soon"], "error: 'soon' is no length of time, write a number and"),
        (
            ["doctor", "--reproducer", "no/file"],
            "error: --reproducer: cannot write 'no/file': No such directory, check the path",
        ),
    ],
)
def test_a_wrong_command_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == Exit.USAGE == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(message) and err.count("\n") == 1


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (KeyboardInterrupt(), "error: interrupted; nothing was written\n"),
        (Interrupted("3 things are kept"), "error: interrupted; 3 things are kept\n"),
    ],
)
def test_ctrl_c(
    raised: BaseException, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any) -> Any:
        raise raised

    monkeypatch.setattr("prism_mlir.tools.doctor.examine", interrupted)
    assert main(["doctor"]) == Exit.INTERRUPTED == 130
    assert capsys.readouterr() == ("", said)


PRISM, PRISM_OPT = "prism_mlir.tools.prism", "prism_mlir.tools.prism_opt"
SOURCE = str(Path(__file__).parents[3] / "examples" / "rms_norm.mlir")
OUTPUTS = {
    "help": (PRISM, ["compile", "--help"]),
    "table": (PRISM, ["doctor"]),
    "json": (PRISM, ["doctor", "--json"]),
    "opt": (PRISM_OPT, ["-p", "sgraph-import", SOURCE]),
}


def started(module: str, arguments: list[str], prelude: str = "", **streams: Any) -> subprocess.Popen[bytes]:
    code = f"{prelude}\nimport sys\nfrom {module} import main\nsys.exit(main({arguments!r}))"
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, **streams)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_reader_that_has_enough_is_no_error(kind: str) -> None:
    """As with ``prism --help | head -1``: the command ends as it would have."""
    process = started(*OUTPUTS[kind], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (err, process.returncode) == (b"", 0)


def test_the_answer_is_the_exit_code_although_nobody_reads_it() -> None:
    process = started(PRISM, ["cost", "nothing.mlir"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.communicate(timeout=60)[1].startswith(b"error: cannot read 'nothing.mlir'")
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_full_disk_is_one_line(kind: str) -> None:
    with open("/dev/full", "wb") as full:
        process = started(*OUTPUTS[kind], stdout=full)
        _, err = process.communicate(timeout=60)
    assert (err, process.returncode) == (b"error: cannot write the output: No space left on device\n", 1)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_standard_output_may_be_closed(kind: str) -> None:
    """``>&-``: a daemon has none. What is opened instead has its number, so that no file is written to by mistake."""
    process = started(*OUTPUTS[kind], prelude="import os, sys; os.close(1); sys.stdout = None")
    _, err = process.communicate(timeout=60)
    assert (err, process.returncode) == (b"", 0)


def test_standard_input_may_be_closed() -> None:
    process = started(PRISM_OPT, [], prelude="import os, sys; os.close(0); sys.stdin = None", stdout=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == (b"", 1)
    assert err == b"<stdin>:1:1: error: the input is empty, give an MLIR module\n"


# -- what is printed ------------------------------------------------------------------------------------------------


def rows_at(columns: int, rows: int = 2) -> str:
    """A table of the model's terms of two schedules, at some width of the terminal."""
    from io import StringIO

    from rich.console import Console

    from prism_mlir.tools.prism_cost import _print_rows

    row = {"graph": 12, "schedule": "i=2,x=2,y=32,warps=2,stages=2", "cold us": 8.55, "limiter": "launch"}
    row |= {"SM us": 2.0, "blocks": 64, "registers": 44, "shared B": 98432}
    stream = StringIO()
    _print_rows(Console(file=stream, width=columns), [row] * rows)
    return stream.getvalue()


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 300])
def test_tables_are_whole_at_any_width(columns: int) -> None:
    text = rows_at(columns)
    assert max(map(len, text.splitlines())) <= columns
    words = text.split()
    for word, times in {"i=2,x=2,y=32,warps=2,stages=2": 2, "98,432": 2, "launch": 2, "8.55": 2, "64": 2}.items():
        assert words.count(word) == times, (word, text)
    assert "…" not in text


def test_columns_that_do_not_fit_go_below_with_the_first_one() -> None:
    first, second = rows_at(80).split("\n\n")
    assert first.split("\n")[0].split() == ["rank", "graph", "schedule", "cold", "us", "limiter", "SM", "us"]
    head, _, *rows = second.splitlines()
    assert head.split() == ["rank", "blocks", "registers", "shared", "B"]
    assert [row.split() for row in rows] == [["1", "64", "44", "98,432"], ["2", "64", "44", "98,432"]]
    assert "\n\n" not in rows_at(300)


def test_without_a_terminal_nothing_is_coloured_and_no_progress_is_shown(tmp_path: Path) -> None:
    """Neither is with NO_COLOR where there is one; with -v progress is lines."""
    environment = {**os.environ, "FORCE_COLOR": "", "NO_COLOR": "1", "PRISM_CACHE_DIR": str(tmp_path)}
    prism = [sys.executable, "-m", "prism_mlir.tools.prism", "cache", "list"]
    quiet = subprocess.run(prism, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert quiet.stderr == "" and "\x1b" not in quiet.stdout
    loud = subprocess.run([*prism, "-v"], env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert loud.stderr == "reading records\n" and loud.stdout == quiet.stdout


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        (["cache", "path"], "prism.cache.path"),
        (["cache", "list"], "prism.cache.list"),
        (["cache", "verify"], "prism.cache.verify"),
        (["cost", str(ROOT / "test/tools/cost.mlir"), "--max-operators", "4", "--compare", "2"], "prism.cost.compare"),
        (["explain", str(ROOT / "test/tools/cost.mlir"), "--max-operators", "2"], "prism.explain"),
        (["bench", "--read", str(ROOT / "test/tools/Inputs/results.json")], "prism.bench"),
    ],
)
def test_json_and_nothing_else(
    arguments: list[str],
    schema: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PRISM_CACHE_DIR", str(tmp_path))
    assert main([*arguments, "--json", "-q"]) == 0  # -q silences what is for people
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert (data["schema"], data["schema_version"], err) == (schema, 1, "")
    assert set(data) == documented(schema)
    assert main([*arguments, "-q"]) == 0
    assert capsys.readouterr() == ("", "")


PRODUCT = """func.func @product(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>) -> tensor<16x32xf16> {
  %z = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<16x32xf16>
  %f = linalg.fill ins(%z : f16) outs(%e : tensor<16x32xf16>) -> tensor<16x32xf16>
  %r = linalg.matmul ins(%x, %w : tensor<16x64xf16>, tensor<64x32xf16>) outs(%f : tensor<16x32xf16>) -> tensor<16x32xf16>
  return %r : tensor<16x32xf16>
}
"""


def test_from_a_program_to_its_counters_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What one command writes, the next one reads; each prints what the page for scripts says."""
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(PRODUCT)

    def data(*arguments: str) -> dict[str, Any]:
        assert main([*arguments, "--json"]) == 0
        out, err = capsys.readouterr()
        found = json.loads(out)
        assert err == "" and set(found) == documented(found["schema"])
        return dict(found)

    compiled = data("compile", "in.mlir", "-o", "out", "--max-operators", "2", "--samples", "20", "--no-check")
    assert sorted(compiled["files"]) == sorted(p.name for p in Path("out").iterdir())
    assert compiled["report"] == json.loads(Path("out/report.json").read_text())
    verified = data("verify", "out/product.mlir", "-o", "verdicts.json", "--certificate", "proof.json")
    assert [g["status"] for g in verified["graphs"]] == ["proved"]
    assert json.loads(Path("verdicts.json").read_text()) == verified
    certified = data("certify", "proof.json", "out/product.mlir")
    assert certified["given"] == len(certified["graphs"]) == 1
    assert data("cost", "in.mlir", "--max-operators", "2")["program"] == "product"
    launch = ["out/product.ptx", "--launch", "out/launch.json"]
    assert data("ptx", "stats", *launch)["counters"]["global_store_bytes"] == 2 * 16 * 32
    ones = [f"--arg={k}=ones" for k in range(2)]
    assert data("ptx", "run", *launch, *ones)["outputs"][0]["max"] == 64  # sums of 64 ones
    assert data("ptx", "check", *launch, "--seeds", "1")["findings"] == []


def documented(schema: str) -> set[str]:
    """The fields that the page for scripts names."""
    page = (ROOT / "docs/how-to/script-prism.md").read_text()
    (row,) = re.findall(rf"^\| `{re.escape(schema)}` \|[^|]*\|(.*)\|$", page, re.MULTILINE)
    return {"schema", "schema_version", *re.findall(r"`(\w+)`", row)}


# -- completion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("prism comp", ["compile"]),
        ("prism cost x --target sm_9", ["sm_90"]),
        ("prism compile x --host ", ["tensor", "memref"]),
        ("prism explain x --limit st", ["states=", "structures="]),
        ("prism bench --peers torch,tr", ["torch,triton"]),
        ("prism ptx check x --checks all,-ra", ["all,-race"]),
        ("prism ptx run x --engine r", ["reference"]),
        ("prism cost x --samp", ["--samples"]),
        ("prism cost x --executor d", ["dask://"]),
    ],
)
def test_completion(words: str, expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What Bash is told, in this process; the script that asks for it comes from Typer."""
    environment = {"_PRISM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        for name, value in environment.items():
            patch.setenv(name, value)
        main([])
    assert stop.value.code == 0
    assert capsys.readouterr().out.split() == expected


@pytest.mark.parametrize("tool", ["prism", "prism_opt"])
def test_ctrl_c_while_it_imports(
    tool: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting:
        def find_spec(self, name: str, *_: Any) -> None:
            if name == f"prism_mlir.tools.{tool}":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, f"prism_mlir.tools.{tool}", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert getattr(start, tool)() == 130
    assert capsys.readouterr() == ("", "error: interrupted; nothing was written\n")


def test_the_commands_start_there() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"prism": "prism_mlir.tools.start:prism", "prism-opt": "prism_mlir.tools.start:prism_opt"}
