"""Keys of S3 in a file of profiles, and a server that lets them expire."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import servers

PROFILE = "[{}]\naws_access_key_id={}\naws_secret_access_key=s\n"
"""A section of the file of profiles: the name of the profile and its key are to be inserted."""


class ExpiringGate(servers.S3Gate):
    """Answers requests with ExpiredToken if they are signed with an expired key. `status`: of these answers; services
    differ in it."""

    def __init__(self, status: str) -> None:
        self.expired: set[str] = set()
        self._status = status

    def refusal(self, environ: Any) -> servers.S3Refusal | None:
        key = environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition("/")[0]
        if key not in self.expired:
            return None
        return servers.S3Refusal(self._status, "ExpiredToken", "The token has expired")


@contextmanager
def expiring_s3(status: str) -> Iterator[tuple[str, ExpiringGate]]:
    """A server of S3 with a bucket "expiring", and the gate before it."""
    gate = ExpiringGate(status)
    with servers.s3(gate) as url:
        servers.create_bucket(url, "expiring")
        yield url, gate


def forget_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the variables of AWS from the environment."""
    for name in [*os.environ]:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)


def profiles_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of profiles of a home folder, which is the present one: "lab" with OLDKEY, "other" with OTHERKEY."""
    forget_environment(monkeypatch)
    monkeypatch.setenv("HOME", str(home))
    found = home / ".aws" / "credentials"
    found.parent.mkdir()
    found.write_text(PROFILE.format("lab", "OLDKEY") + PROFILE.format("other", "OTHERKEY"))
    return found
