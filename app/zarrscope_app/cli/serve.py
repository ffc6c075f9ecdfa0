"""The verb that answers the other side of ssh:// addresses."""

from __future__ import annotations

import sys

import click


@click.command("serve", short_help="Answers another zarrscope that came by ssh.")
@click.option("--stdio", is_flag=True, required=True, help="On standard input and output, until the input ends.")
def serve(stdio: bool) -> None:
    """Answers another zarrscope that came by ssh; addresses ssh://host/path run it on the far side.

    \b
    Examples:
      zarrscope tree ssh://cluster/data/cells.zarr    on the near side
    """
    from zarrscope import __version__
    from zarrscope.stores.ssh.serving import serve as answer

    answer(sys.stdin.buffer, sys.stdout.buffer, __version__)


COMMANDS = (serve,)
