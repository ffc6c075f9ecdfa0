"""Runs the command line: `python -m zarrscope_app` does the same as `zarrscope`."""

import os
import sys


def main() -> None:
    """Runs one command. Ctrl-C before or after it, such as while modules are imported, ends the process without a
    traceback."""
    try:
        if sys.argv[1:] in (["--version"], ["-V"]):  # needs neither click nor the verbs
            from zarrscope_app.presenters.installation import report

            try:
                print(report(), flush=True)
            except BrokenPipeError:  # as in cli/console.py: `zarrscope --version | head -1`
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        from zarrscope_app import cli

        cli.main()
    except KeyboardInterrupt as error:
        sys.stderr.write("zarrscope: Interrupted.\n")
        sys.stderr.flush()
        os._exit(128 + int(getattr(error, "signal", 2)))


if __name__ == "__main__":
    main()
