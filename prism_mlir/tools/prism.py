"""``prism``: the command line. ``prism compile IN.mlir -o DIR`` turns a tensor program into checked GPU code."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from prism_mlir import __version__
from prism_mlir.graph.errors import PrismError, one_line
from prism_mlir.tools import (
    prism_bench,
    prism_bundle,
    prism_cache,
    prism_certify,
    prism_compile,
    prism_cost,
    prism_doctor,
    prism_explain,
    prism_ptx,
    prism_report,
    prism_verify,
)
from prism_mlir.tools.crash import Session, report_crash
from prism_mlir.tools.streams import output_error, prepare_streams
from prism_mlir.tools.usage import Exit, Interrupted, UsageError

app = typer.Typer(
    name="prism",
    help="Find, prove, emit and check GPU kernels for tensor programs.",
    epilog="Exit codes: 0 done, 1 something is wrong with an input or a result, 2 with the command line, "
    "70 a bug in prism, 130 Ctrl-C.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


# Typer brings a click of its own, or uses the one installed; this is its root of errors about the command line.
_CommandLineError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _version(show: bool) -> None:
    if show:
        print(f"prism {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find, prove, emit and check GPU kernels for tensor programs."""


for commands in (
    prism_compile,
    prism_explain,
    prism_verify,
    prism_certify,
    prism_cost,
    prism_report,
    prism_bench,
    prism_bundle,
    prism_ptx,
    prism_cache,
    prism_doctor,
):
    commands.register(app)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return its exit code: one of :class:`~prism_mlir.tools.usage.Exit`.

    Errors are one line on standard error; only a bug in Prism has a second one, which says how to report it.
    """
    given = sys.argv[1:] if arguments is None else arguments
    session = Session()
    prepare_streams()
    try:
        code = app(args=given or ["--help"], prog_name="prism", standalone_mode=False, obj=session)
        sys.stdout.flush()
    except UsageError as error:
        return _fail(str(error), Exit.USAGE)
    except Interrupted as error:
        return _fail(str(error), Exit.INTERRUPTED)
    except PrismError as error:
        return _fail(str(error), Exit.FAILED)
    except _CommandLineError as error:
        return _fail(_usage_text(error), Exit.USAGE)
    except OSError as error:
        return _fail(output_error(error), Exit.FAILED)
    except (typer.Abort, KeyboardInterrupt):
        code = Exit.INTERRUPTED
    except typer.Exit as leave:
        code = leave.exit_code
    except Exception as error:
        report_crash("prism", given, error, session.reproducer)
        return Exit.BUG
    if code == Exit.INTERRUPTED:  # what Typer makes of a KeyboardInterrupt
        return _fail("error: interrupted; nothing was written", Exit.INTERRUPTED)
    return code if isinstance(code, int) else Exit.OK


def _usage_text(error: Any) -> str:
    context, option = getattr(error, "ctx", None), getattr(error, "param", None)
    command = "prism" if context is None else context.command_path
    text = error.format_message()
    if isinstance(error, typer.BadParameter) and option is not None and text.startswith("Invalid value for"):
        name = option.opts[-1] if option.opts[-1].startswith("-") else option.metavar or option.name
        text = f"{name}: {error.message.removeprefix('Value error, ')}"
    return f"error: {one_line(text).removesuffix('.')} (see {command} --help)"


def _fail(message: str, code: Exit) -> int:
    print(message, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
