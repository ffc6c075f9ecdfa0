"""`serve`: answers the requests of ssh:// addresses from another machine."""

from __future__ import annotations

import sys

import click


@click.command("serve", short_help="Answers another zarrscope that connected by ssh.")
@click.option("--stdio", is_flag=True, required=True, help="Use standard input and output, until the input ends.")
def serve(stdio: bool) -> None:
    """Answers the requests of another zarrscope that connected by ssh. Addresses ssh://host/path run it on that host.

    \b
    Examples:
      zarrscope tree ssh://cluster/data/cells.zarr    on your own computer; it runs serve on cluster
    """
    from zarrscope import __version__
    from zarrscope.stores.ssh.serving import serve as answer

    answer(sys.stdin.buffer, sys.stdout.buffer, __version__)
