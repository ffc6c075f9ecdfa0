"""The command line. Verbs: open (the default), ls, tree, info, attrs, image, read, render, create, resize, remove,
move, copy, consolidate, check, diff, convert, demo, tui, serve.

Guarantees: values and listings go to stdout, messages to stderr; `--json` is deterministic (sorted, no times) and plain
ASCII; text from files cannot control the terminal; when `| head` closes the pipe, verbs that only print end, and verbs
that change data continue; a user's mistake is reported in one line, without a traceback. Exit codes, which never
change: 0 done · 1 failed, or findings · 2 wrong usage · 3 not found, or not Zarr · 130 interrupted (INT), 143 (TERM),
129 (HUP).

This module imports only click; a verb's module is imported when the verb is used (verbs.py). So help appears at once.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import click

from zarrscope.runtime.interrupts import install
from zarrscope_app.cli.color import CHOICES, take_color
from zarrscope_app.cli.console import Failed, say
from zarrscope_app.cli.ending import end_process, finish_process, outlast_signals, take_timeout, timed_out
from zarrscope_app.cli.hints import hinted
from zarrscope_app.cli.plain import take_plain
from zarrscope_app.cli.streams import make_inert
from zarrscope_app.cli.verbs import LazyGroup
from zarrscope_app.process import own_process

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_NOT_FOUND = 0, 1, 2, 3
_HOSTS = {"zarrscope_app.tui.app", "zarrscope_app.qt.window"}
"""Modules that are loaded only by the verbs `open` and `tui`, when they start an application."""


def _print_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from zarrscope_app.presenters.installation import report

    click.echo(report())
    context.exit()


@click.group(
    cls=LazyGroup,
    default="open",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--color",
    type=click.Choice(CHOICES),
    expose_value=False,
    callback=take_color,
    help="Colour in the output; auto: on a terminal, unless NO_COLOR is set. truecolor, 256 and 16 are for pictures. "
    "May also follow the verb.",
)
@click.option(
    "--plain",
    is_flag=True,
    expose_value=False,
    callback=take_plain,
    help="For scripts: no colour, drawing or progress; lists have columns separated by tabs. May also follow the verb.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.001),
    metavar="SECONDS",
    expose_value=False,
    callback=take_timeout,
    help="End with exit code 1 if the verb has not ended after this time. May also follow the verb.",
)
@click.option(
    "--version",
    "-V",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and the details for a bug report.",
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Opens, shows, checks and changes Zarr hierarchies of any version, on disk or remote.

    URL is a folder, a .zip or .ozx file, or an address such as https://…; NODE is a path in it ("/", "labels/nuclei").

    \b
    Examples:
      zarrscope cells.zarr                    open the window
      zarrscope tree cells.zarr               list its groups and arrays
      zarrscope info cells.zarr 0             describe one array
      zarrscope check cells.zarr              find its faults
      zarrscope show cells.zarr               draw a picture on the terminal
      zarrscope render cells.zarr -o a.png    draw a picture into a file, without a display
      zarrscope attrs set cells.zarr / /ome/multiscales/0/name '"cells"' --dry-run
      zarrscope image cells.zarr --pixel-size z=0.5,y=0.108,x=0.108 --unit um --dry-run
      zarrscope move cells.zarr labels/0 labels/nuclei --dry-run
      zarrscope convert old.zarr new.zarr --to v3 --dry-run
      zarrscope demo                          make a demo volume

    Exit codes: 0 done, 1 failed or findings, 2 wrong usage, 3 not found or not Zarr, 130 interrupted,
    143 terminated, 129 hung up.
    """
    if context.invoked_subcommand is None:
        open_ = cli.get_command(context, "open")
        assert open_ is not None
        context.invoke(open_)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and ends the process with its exit code."""
    own_process()
    make_inert()
    # A signal raises Interrupted, so the command cleans up and exits with that signal's code.
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
    install(*signals)
    code = run(arguments)
    outlast_signals([signal.SIGINT, *signals])
    if code > 128 or _HOSTS & sys.modules.keys():  # a person waits, after an interrupt or at the end of an application
        end_process(code)
    finish_process(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns the exit code."""
    if "_ZARRSCOPE_COMPLETE" in os.environ:
        import_module("zarrscope_app.cli.fish")
    try:
        result: object = cli.main(
            args=None if arguments is None else list(arguments), prog_name="zarrscope", standalone_mode=False
        )
        sys.stdout.flush()
        return result if isinstance(result, int) else EXIT_OK
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.UsageError as mistake:
        hinted(mistake).show()
        if isinstance(mistake, click.NoSuchOption) and re.fullmatch(r"-\.?\d.*", mistake.option_name):
            say(f"{mistake.option_name} was taken for an option. Write -- before a negative number: … -- -5")
        elif isinstance(mistake, click.NoSuchOption):
            for word in sys.argv[1:] if arguments is None else arguments:
                if word.startswith("-") and os.path.exists(word):
                    say(f"{word} was taken for options. Write ./{word} to name the file or folder.")
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt) as error:
        return interrupted(error)
    except Failed as failure:
        say(failure.format_message())
        return failure.exit_code
    except Exception as error:
        return _explain(error)


def interrupted(error: BaseException) -> int:
    """Reports the interruption on stderr, in one line. Returns 128 plus the number of the signal, or 1 after
    --timeout."""
    source = error if isinstance(error, KeyboardInterrupt) else error.__cause__
    notes = getattr(source, "__notes__", ())
    sentence = timed_out()
    with suppress(OSError):  # the terminal may be gone
        say(" ".join([sentence or "Interrupted.", *notes]))
    return EXIT_FAILED if sentence else 128 + int(getattr(source, "signal", signal.SIGINT))


def _explain(error: Exception) -> int:
    from zarrscope.errors import NotFound, ReadOnly, Unsupported, ZarrscopeError

    if os.environ.get("ZARRSCOPE_DEBUG"):
        import traceback

        traceback.print_exc()
    if isinstance(error, ZarrscopeError):
        if isinstance(error, ReadOnly) and "mode='r+'" in (error.advice or ""):  # every verb that writes asks for it
            error.advice = "A place of this kind can only be read: make the change in a copy on a disk or in a bucket."
        say(str(error))
        other_file = isinstance(error, Unsupported) and error.feature == "file"  # neither a folder nor an archive
        return EXIT_NOT_FOUND if other_file or isinstance(error, NotFound) else EXIT_FAILED
    if isinstance(error, MemoryError):
        say("There is not enough memory for this. Select less, or use a coarser level.")
        return EXIT_FAILED
    if isinstance(error, OSError) and error.strerror:
        say(f"{error.filename or 'The output'}: {error.strerror}.")
        return EXIT_FAILED
    say(f"Something went wrong inside zarrscope ({type(error).__name__}: {error}). Set ZARRSCOPE_DEBUG=1 for details.")
    return EXIT_FAILED
