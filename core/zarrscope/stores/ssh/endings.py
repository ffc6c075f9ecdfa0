"""Turns the last lines of the ssh program into an error that says why the connection ended, and what to do next.

OpenSSH writes its reasons in English, whatever the language of the system. A text that is not known is passed on.
https://man.openbsd.org/ssh#AUTHENTICATION
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from zarrscope.errors import Unreadable

_MOST_LETTERS = 400
"""The most letters of the other side's own text in a message."""


class ConnectionEnded(Unreadable):
    """The connection has ended, or was ended because the other side was silent."""


def why_ended(host: str, destination: Sequence[str], said: Sequence[str], printed: str) -> ConnectionEnded:
    """The error for a connection that ended by itself.

    Parameters
    ----------
    host
        The name of the host in messages.
    destination
        The arguments of ssh that name the host.
    said
        The lines that ssh wrote to its error output.
    printed
        The text that the host printed in place of zarrscope's answer.
    """
    trial = shlex.join(["ssh", *destination, "true"])
    text = " ".join(line for line in said if line)
    if "HOST IDENTIFICATION HAS CHANGED" in text:
        key, remove = re.search(r"(\S+) key sent by the remote host is\s+(\S+?)\.?\s", text), _command_in(said)
        return ConnectionEnded(
            f"The key of the host {host} has changed" + (f": it is {key[1]} {key[2]}" if key else ""),
            advice="The connection may be intercepted. If the owner of the host says that the key was changed, remove "
            f"the old one: {remove or trial + ' shows the command'}",
        )
    if "Host key verification failed" in text:
        return ConnectionEnded(
            f"The host {host} is not known to ssh, so its key could not be checked: {text.rstrip('.')}",
            advice="Compare the fingerprint that this command shows with the one that the owner of the host gives. If "
            f"they are equal, answer yes, then try again: {trial}",
        )
    reason = (text or " ".join(printed.split()))[:_MOST_LETTERS].rstrip(".")
    if "Permission denied (" in text or "Too many authentication failures" in text:
        keys = "It must need no password: use a key and an agent; ssh-copy-id installs a key there."
        advice = f"{keys} Try in a terminal: {trial}"
    else:
        advice = f"Check the address and the network. Try in a terminal: {trial}"
    return ConnectionEnded(f"The connection to {host} ended: {reason or 'ssh gives no reason'}", advice=advice)


def why_not_started(host: str, destination: Sequence[str], said: Sequence[str], printed: str) -> ConnectionEnded:
    """The error for a remote command that ended before it answered, although the login succeeded. Arguments as for
    `why_ended`."""
    lines = [line for line in said if line] or printed.split("\n")
    traceback = any(line.startswith("Traceback") for line in lines)
    reason = " ".join(" ".join(lines[-1:] if traceback else lines).split())[:_MOST_LETTERS].rstrip(".")
    trial = shlex.join(["ssh", *destination, "zarrscope", "--version"])
    return ConnectionEnded(
        f"zarrscope did not start on {host}: {reason or 'no reason was given'}",
        advice=f"Both sides need the same version. Try in a terminal: {trial}",
    )


def _command_in(said: Sequence[str]) -> str:
    """The command with which ssh proposes to remove the old key; "" if it proposes none."""
    return next((line for line in said if line.startswith("ssh-keygen -f ")), "")
