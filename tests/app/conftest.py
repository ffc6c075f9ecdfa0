"""What the tests of presenters share: a queue of their own, and a workspace that remembers nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from zarrscope.background import Mailbox
from zarrscope_app.presenters import Forgetful, Workspace


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def workspace(mailbox: Mailbox) -> Iterator[Workspace]:
    workspace = Workspace(mailbox, Forgetful())
    yield workspace
    workspace.close_all()
