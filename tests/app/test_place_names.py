"""The name of a hierarchy is the last part of its address, whatever node the address names."""

from __future__ import annotations

from pathlib import Path

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.session.last_part import last_part


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/data/cells.zarr", "cells.zarr"),
        ("/data/cells.zarr::images/0", "cells.zarr"),
        ("cells.zarr::0", "cells.zarr"),
        ("https://host/cells.zarr?token=1", "cells.zarr"),
        ("https://host/cells.zarr::images/0", "cells.zarr"),
        ("s3://bucket/cells.zarr::0", "cells.zarr"),
        ("zip://inner::https://host/cells.zip", "cells.zip"),
        ("zip://::/data/cells.zip", "cells.zip"),
        ("icechunk://@tag.v1::s3://bucket/cells?region=eu::images/0", "cells @tag.v1"),
        ("s3://bucket/cells|icechunk:@branch.dev/images/0", "cells @branch.dev"),
        ("s3://bucket/cells|icechunk://@ABC|zarr3:images", "cells @ABC"),
        ("", ""),
    ],
)
def test_the_name_of_an_address(address: str, name: str) -> None:
    assert last_part(address) == name


def test_a_folder_with_colons_in_its_name_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "a::b").mkdir()
    assert last_part(str(tmp_path / "a::b")) == "a::b"


def test_the_root_has_its_own_name_if_the_address_names_a_node(tmp_path: Path, mailbox: Mailbox) -> None:
    with zarrscope.open(tmp_path / "cells.zarr", "w-") as h:
        h.create_array("/g/a", shape=(2,), dtype="u1")
    session = Session(f"{tmp_path / 'cells.zarr'}::g/a", mailbox)
    try:
        mailbox.run_until(lambda: session.node is not None and session.state.path == "/g/a")
        assert session.tree.label(0) == "cells.zarr"
    finally:
        session.close()
