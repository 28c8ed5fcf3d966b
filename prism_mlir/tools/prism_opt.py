"""``prism-opt``: run passes on IR text. It reads what mlir-opt reads, and speaks mlir-opt's command line."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException
from xdsl.xdsl_opt_main import xDSLOptMain

from prism_mlir import __version__
from prism_mlir.frontend.text_guard import decode
from prism_mlir.graph.errors import InputError, Location, PrismError, UnsupportedError, one_line
from prism_mlir.passes import NAMES, PASSES
from prism_mlir.passes.located import location_of, verify_module
from prism_mlir.tools.crash import report_crash
from prism_mlir.tools.expected_diagnostics import find_expected, mismatches
from prism_mlir.tools.files import unreadable, write_atomically
from prism_mlir.tools.module_reader import read_ir
from prism_mlir.tools.opt_arguments import ALSO, Parser, strip_anchor, translate
from prism_mlir.tools.opt_instruments import DumpOptions, Instruments, module_text, read_reproducer, write_reproducer
from prism_mlir.tools.opt_pipeline import pass_help, read_pipeline, written_pipeline
from prism_mlir.tools.streams import output_error, prepare_streams
from prism_mlir.tools.usage import Exit

_CHUNK = re.compile(r"^// -----.*$", re.MULTILINE)


class PrismOptMain(xDSLOptMain):
    """xDSL's optimizer driver with upstream's reader, located errors and mlir-opt's spellings."""

    args: argparse.Namespace
    stdin: str | None = None

    def __init__(self, arguments: Sequence[str]) -> None:
        self.available_frontends, self.available_passes, self.available_targets = {}, {}, {}
        from xdsl.context import Context

        self.ctx = Context(allow_unregistered=True)
        self.register_all_dialects()
        self.register_all_passes()  # type: ignore[no-untyped-call]
        self.register_all_targets()  # type: ignore[no-untyped-call]
        parser = Parser(
            prog="prism-opt",
            usage="prism-opt [options] [--PASS | -p PASSES] [input]",
            description="Run passes on IR text. It reads what mlir-opt reads, and takes mlir-opt's command lines.",
            add_help=False,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.register_all_arguments(parser)
        parser.passes = self.available_passes
        self.args = parser.parse_args(translate(arguments, self.available_passes))
        self.written = written_pipeline(arguments)
        if self.args.help:
            parser.epilog = _passes_help()
            parser.print_help()
            raise SystemExit(0)
        if self.args.target not in self.available_targets:
            raise InputError(
                f"no target is called '{self.args.target}'", None, f"known: {', '.join(self.available_targets)}"
            )
        self.setup_pipeline()
        self.dumps = DumpOptions.of(self.args, self.available_passes)

    def register_all_dialects(self) -> None:
        """xDSL's and ours, but not xDSL's gpu dialect: it is partial, and refuses upstream's shared-memory arguments."""
        for name, dialect in Universe.get_multiverse().all_dialects.items():
            if name != "gpu":
                self.ctx.register_dialect(name, dialect)

    @property
    def filename(self) -> str:
        """The input's name as messages say it."""
        return "<stdin>" if self.args.input_file in (None, "-") else str(self.args.input_file)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        add = arg_parser.add_argument
        add("input_file", nargs="?", help="the input; '-' or nothing reads standard input")
        add("-o", "--output-file", metavar="FILE", help="where to write; '-' or nothing writes standard output")
        add(
            *("-p", "--passes", "--pass-pipeline"),
            metavar="PASSES",
            default="",
            help="passes to run, such as sgraph-import,sgraph-verify{seed=2}",
        )
        add("-t", "--target", metavar="FORMAT", default="mlir", help="output format: mlir, or another that xDSL writes")
        flags = {
            "--split-input-file": "process the pieces between '// -----' lines one by one",
            "--verify-diagnostics": "check the errors against '// expected-error {{...}}' comments",
            "--print-op-generic": "print operations in generic form",
            "--print-no-properties": "print properties as attributes",
            "--print-debuginfo": "print source locations",
            "--print-ir-after-all": "print the IR after each pass, on standard error",
            "--print-ir-before-all": "print the IR before each pass, on standard error",
            "--print-ir-after-change": "print it after a pass only if that changed anything",
            "--print-ir-after-failure": "print the IR after a pass that fails, and after no other",
            "--time-passes": "print how long each pass took, on standard error",
            "--pass-statistics": "print what each pass added and removed, on standard error",
            "--dump-pass-pipeline": "print the pipeline, pipelines inside it expanded, on standard error",
            "--list-passes": "print the names of all passes and exit",
            "--show-passes": "the same, with what our passes and their options do",
            "--show-dialects": "print the names of all dialects and exit",
            "--disable-verify": "do not verify between passes",
            "--print-stack-trace": "after an internal error, print where it happened",
            "--pass-pipeline-local-reproducer": "a reproducer begins right before the pass that failed",
            "--run-reproducer": "run the pipeline that the input, a reproducer, names",
        }
        for flag, text in flags.items():
            add(flag, *_also(flag), action="store_true", help=text)
        files = {
            "--print-ir-before": ("PASSES", "print the IR before these passes, on standard error"),
            "--print-ir-after": ("PASSES", "print the IR after these passes, on standard error"),
            "--pass-pipeline-crash-reproducer": (
                "FILE",
                "where a pipeline fails, write its input and passes to FILE, for --run-reproducer",
            ),
            "--reproducer": ("FILE", "where prism-opt itself fails, write what is needed to report that to FILE"),
        }
        for flag, (metavar, text) in files.items():
            add(flag, *_also(flag), metavar=metavar, help=text)
        add("-h", "--help", action="store_true", help="print this and exit")
        add("-v", "--version", action="version", version=_version())
        arg_parser.set_defaults(syntax_highlight=False, frontend=None)

    def setup_pipeline(self) -> None:
        """Read the pipeline; passes that are pipelines themselves are run pass by pass."""
        self.pipeline = PassPipeline(read_pipeline(self.args.passes, self.available_passes, self.written))

    def run_tool(self) -> int:
        """Do what the command line says; 0 if all went well. Errors of each piece are printed, output only if none."""
        if self.args.list_passes:
            print("\n".join(sorted(self.available_passes)))
            return 0
        if self.args.show_dialects:
            print("\n".join(sorted(self.ctx.registered_dialect_names)))
            return 0
        if self.args.show_passes:
            print(_passes_help())
            return 0
        if self.args.dump_pass_pipeline:
            count = len(self.pipeline.passes)
            passes = ",".join(str(p) for p in self.pipeline.passes)
            print(f"Pass Manager with {count} passes:\nbuiltin.module({passes})", file=sys.stderr)
        outputs: list[str] = []
        failures: list[str] = []
        instruments = Instruments(self.dumps, self.args.time_passes, self.args.pass_statistics)
        for text in self._pieces():
            errors: list[PrismError] = []
            try:
                outputs.append(self._process(text, instruments))
            except PrismError as error:
                errors.append(error)
            if self.args.verify_diagnostics:
                failures += mismatches(find_expected(text, self.filename), errors, self.filename)
            else:
                failures += [str(self._placed(error)) for error in errors]
        instruments.report()
        for failure in failures:
            print(failure, file=sys.stderr)
        if failures:
            return 1
        self._write("// -----\n".join(outputs))
        return 0

    def _pieces(self) -> Iterator[str]:
        """The input, split if asked for; each piece keeps its line numbers."""
        try:
            data = sys.stdin.buffer.read() if self.filename == "<stdin>" else Path(self.filename).read_bytes()
        except OSError as error:
            raise unreadable(Path(self.filename), error) from None
        text = decode(data, self.filename)
        self.stdin = text if self.filename == "<stdin>" else None
        if self.args.run_reproducer:
            text, pipeline = read_reproducer(text, self.filename)
            self.written = None
            self.args.passes = strip_anchor(pipeline)
            self.setup_pipeline()
        if not self.args.split_input_file:
            yield text
            return
        start = 0
        for marker in [*_CHUNK.finditer(text), None]:
            end = len(text) if marker is None else marker.start()
            piece = text[start:end]
            if piece.strip():
                yield "\n" * text.count("\n", 0, start) + piece
            start = end if marker is None else marker.end()

    def _process(self, text: str, instruments: Instruments) -> str:
        with instruments.step("Parser"):
            module = read_ir(text, self.filename, self.ctx)
            self._verify(module)
        start, target = "", self.args.pass_pipeline_crash_reproducer
        for number, p in enumerate(self.pipeline.passes):
            local = self.args.pass_pipeline_local_reproducer
            if target is not None and (local or number == 0):
                start, first = module_text(module), number
            try:
                with instruments.around(p, module):
                    self._run_pass(p, module)
            except Exception:
                if target is not None:
                    write_reproducer(Path(target), start, self.pipeline.passes[first:])
                    print(
                        f"note: a reproducer is in '{target}', run it with prism-opt --run-reproducer", file=sys.stderr
                    )
                raise
        with instruments.step("Output"):
            return self.output_resulting_program(module).rstrip("\n") + "\n"

    def _run_pass(self, p: ModulePass, module: ModuleOp) -> None:
        try:
            p.apply(self.ctx, module)
        except DiagnosticException as error:
            raise UnsupportedError(f"{p.name}: {one_line(str(error))[:500]}", location_of(module)) from None
        self._verify(module)

    def _verify(self, module: ModuleOp) -> None:
        if not self.args.disable_verify:
            verify_module(module, self.filename)

    def _placed(self, error: PrismError) -> PrismError:
        """Every error of an input names at least its file."""
        if error.location is None:
            error.location = Location(self.filename, 1, 1)
        return error

    def _write(self, text: str) -> None:
        target = self.args.output_file
        if target in (None, "-"):
            sys.stdout.write(text)
        else:
            write_atomically(Path(target), text)


def _also(flag: str) -> list[str]:
    """mlir-opt's name of a flag, where it is another."""
    name = ALSO.get(flag.removeprefix("--"))
    return [] if name is None else [f"--{name}"]


def _version() -> str:
    def of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "missing"

    return f"prism-opt {__version__} (xDSL {of('xdsl')}, MLIR {of('xtc-mlir-python-bindings')})"


def _passes_help() -> str:
    head = "passes (each is a flag, --NAME or --NAME='option=value ...'):"
    own = [pass_help(name, PASSES[name]()) for name in NAMES]
    return "\n\n".join([head, *own, "xDSL's own passes are there as well, see --list-passes"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code: one of :class:`~prism_mlir.tools.usage.Exit`, but for ``USAGE``.

    Errors are one line on standard error; only a bug in prism-opt has a second one, which says how to report it.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
    prepare_streams()
    tool: PrismOptMain | None = None
    try:
        tool = PrismOptMain(given)
        code = tool.run_tool()
        sys.stdout.flush()
        return code
    except PrismError as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(output_error(error), file=sys.stderr)
    except KeyboardInterrupt:
        print("error: interrupted; nothing was written", file=sys.stderr)
        return Exit.INTERRUPTED
    except Exception as error:
        shown, read = "--print-stack-trace" in given, None if tool is None else tool.stdin
        report_crash("prism-opt", given, error, _reproducer(given), show_traceback=shown, stdin=read)
        return Exit.BUG
    return Exit.FAILED


def _reproducer(arguments: Sequence[str]) -> Path | None:
    """The file of ``--reproducer``, which counts however early prism-opt fails."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name == "reproducer":
            return Path(value if equals else following)
    return None


if __name__ == "__main__":
    sys.exit(main())
