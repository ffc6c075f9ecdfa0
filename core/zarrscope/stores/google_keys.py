"""The variables of the environment that name keys of Google Cloud Storage.

obstore reads the variables of service accounts for every client, even for unsigned requests and for other credentials,
and makes no client if one of them is stale. Settings of the same meaning go before the variables. So a client for
unsigned requests gets the key of no account in their place.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

FILES = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "SERVICE_ACCOUNT")
"""The variables that contain the path of a service account's key, the most specific first."""
KEY = "GOOGLE_SERVICE_ACCOUNT_KEY"
"""The variable that contains such a key itself."""
DEFAULT = "GOOGLE_APPLICATION_CREDENTIALS"
"""The variable that contains the path of any credentials. obstore leaves it aside where it gets a provider."""
_NO_ACCOUNT = json.dumps(dict.fromkeys(("client_email", "private_key", "private_key_id"), "") | {"disable_oauth": True})


def set_accounts() -> tuple[str, ...]:
    """The variables of service accounts that are set, which obstore therefore reads."""
    return tuple(name for name in (*FILES, KEY) if name in os.environ)


def fault_of(variable: str) -> str:
    """Why the credentials that a variable names cannot be used, such as "a file that is gone"; "" if they may be."""
    text = os.environ[variable]
    if variable != KEY:
        try:
            text = Path(text).read_text(encoding="utf-8")
        except FileNotFoundError:
            return "a file that is gone"
        except (OSError, ValueError):
            return "a file that cannot be read"
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    needed = {"type"} if variable == DEFAULT else {"client_email", "private_key"}
    return "" if isinstance(found, dict) and needed <= found.keys() else "not the key of an account"


@contextmanager
def no_account(*, needed: bool) -> Iterator[dict[str, str]]:
    """Settings for obstore that go before the variables of service accounts; none unless `needed`. They are needed
    while the client is made."""
    accounts = set_accounts() if needed else ()
    found = {"service_account_key": _NO_ACCOUNT} if KEY in accounts else {}
    if accounts in ((), (KEY,)):
        yield found
        return
    handle, path = tempfile.mkstemp(suffix=".json")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(_NO_ACCOUNT)
        yield {**found, "service_account": path}
    finally:
        with suppress(OSError):
            os.unlink(path)


def hides(config: Mapping[str, object]) -> str:
    """A clause about the variables of service accounts, for a login of which obstore made no client although the login
    is none of these accounts; "" if no variable is set."""
    accounts = set_accounts()
    if not accounts or not {"service_account", "service_account_key"}.isdisjoint(config):
        return ""
    return f"hidden by {' and '.join(accounts)} (unset {'it' if len(accounts) == 1 else 'them'})"


def advice() -> str:
    """The remedy if obstore can make no client and a variable may be the reason; "" if none is set."""
    accounts = set_accounts()
    if not accounts:
        return ""
    them = "it" if len(accounts) == 1 else "them"
    reads = f"obstore reads {' and '.join(accounts)} in any case: correct or unset {them}"
    return f"{reads}; it takes only one of them." if KEY in accounts and len(accounts) > 1 else f"{reads}."
