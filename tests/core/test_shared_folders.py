"""Folders shared by a group of users: saving keeps a file's group, mode and access control list (acl(5)).

Ids are made up, so nobody else of the machine is among them. Changing to them takes root; the lists take Linux and a
file system that has them.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import stat
import struct
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import servers
import zarrscope
from contracts.places import COMMAND, NEAR, Services

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="access control lists are those of Linux")

OWNER, MEMBER, GUEST, GROUP = 61001, 61002, 61003, 61100
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
_USER_OBJ, _USER, _GROUP_OBJ, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x10, 0x20
_NOBODY = 0xFFFFFFFF
as_root = pytest.mark.skipif(getattr(os, "getuid", lambda: 1)() != 0, reason="changing to another user takes root")


def acl(guest: int, group: int = 6, mask: int = 6) -> bytes:
    """An access control list that also gives rights to a guest: 4 to read, 2 to write."""
    entries = [
        (_USER_OBJ, 6, _NOBODY), (_USER, guest, GUEST), (_GROUP_OBJ, group, _NOBODY), (_MASK, mask, _NOBODY),
        (_OTHER, 0, _NOBODY),
    ]  # fmt: skip
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def give(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            pytest.skip(f"the file system of {path} has no access control lists")
        raise


def lists(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if name in (ACCESS, DEFAULT)}


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """Makes a hierarchy in a shared folder."""
    path = tmp_path / "share"
    with zarrscope.open(path, "w-") as h:
        h.create_array("/a", shape=(4,), dtype="u1", chunks=(2,), attributes={"edited": False})[...] = 1
    return path


def rights(path: Path) -> tuple[dict[str, bytes], int, int, int]:
    """The lists, mode, owner and group of a file."""
    found = path.stat()
    return lists(path), found.st_mode, found.st_uid, found.st_gid


def files(path: Path) -> list[Path]:
    return [each for each in sorted(path.rglob("*")) if each.is_file()]


def as_member(work: Callable[[], object]) -> str:
    """The error of `work`, done by another member of the group in a fork of this process; "" if there is none."""
    here, there = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(here)
            os.setgroups([GROUP])
            os.setgid(MEMBER)
            os.setuid(MEMBER)
            os.umask(0o002)
            work()
        except BaseException:
            os.write(there, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.close(there)
    with os.fdopen(here) as said:
        error = said.read()
    os.waitpid(child, 0)
    return error


def edit(
    share: Path | str, value: str = "once", *, make: bool = False, options: Mapping[str, Any] | None = None
) -> None:
    with zarrscope.open(share, "r+", storage_options=options) as h:
        if make:
            h.create_array("/made", shape=(2,), dtype="u1")[...] = 1
        h["/a"].attrs["edited"] = value
        array = h["/a"]
        assert isinstance(array, zarrscope.Array)
        array[...] = 7


@pytest.fixture(params=["here", "ssh", "sshd"])
def way(request: pytest.FixtureRequest, services: Services) -> tuple[str, Mapping[str, Any] | None]:
    """Written before a path, and the options: this process, a far side without a network, and one behind sshd."""
    if request.param == "here":
        return "", None
    if request.param == "ssh":
        return "ssh://127.0.0.1", {"ssh": NEAR, "command": COMMAND}
    if (why := servers.missing("sshd")) is not None:
        pytest.skip(why)
    return "ssh://127.0.0.1", {"ssh": services.sshd, "command": COMMAND}


Way = tuple[str, Mapping[str, Any] | None]


def test_a_list_stays_with_a_file_that_is_replaced(share: Path, way: Way) -> None:
    before = {}
    for i, path in enumerate(files(share)):
        give(path, ACCESS, acl(guest=4 + 2 * (i % 2)))
        before[path] = (lists(path), stat.S_IMODE(path.stat().st_mode))
    edit(f"{way[0]}{share}", options=way[1])
    assert json.loads((share / "a" / "zarr.json").read_text())["attributes"] == {"edited": "once"}
    assert {path: (lists(path), stat.S_IMODE(path.stat().st_mode)) for path in files(share)} == before


def test_a_list_for_new_files_gives_no_rights_to_old_ones(share: Path, way: Way) -> None:
    """A file that replaces an old one is new in the folder, and would get the folder's default list."""
    for folder in (share, *(each for each in share.rglob("*") if each.is_dir())):
        give(folder, DEFAULT, acl(guest=6))
    before: dict[Path, tuple[dict[str, bytes], int]] = {}
    for path in files(share):
        path.chmod(0o640)
        before[path] = ({}, 0o640)
    edit(f"{way[0]}{share}", options=way[1])
    assert {path: (lists(path), stat.S_IMODE(path.stat().st_mode)) for path in files(share)} == before


@as_root
@pytest.mark.parametrize("scheme", ["ssh", "sftp"])
def test_group_and_mode_stay_when_a_server_writes(share: Path, scheme: str, services: Services) -> None:
    """The remote side of ssh also keeps access control lists, which SFTP cannot (resources/docs/remote.md)."""
    if (why := servers.missing("sshd")) is not None:
        pytest.skip(why)
    program = services.sshd
    address, options = f"ssh://127.0.0.1{share}", {"ssh": program, "command": COMMAND}
    if scheme == "sftp":
        pytest.importorskip("paramiko")
        address, options = f"sftp://127.0.0.1:{servers.port_of(program)}{share}", servers.sftp_options(program)
    for path in (share, *share.rglob("*")):
        os.chown(path, OWNER, GROUP)
        path.chmod(0o2770 if path.is_dir() else 0o640)
    document = share / "a" / "zarr.json"
    os.chown(document, MEMBER, GROUP + 1)  # not the group of its folder, which a new file there gets
    before = {path: path.stat() for path in files(share)}
    edit(address, options=options, make=True)
    assert json.loads(document.read_text())["attributes"] == {"edited": "once"}
    for path, old in before.items():
        new = path.stat()
        assert (new.st_uid, new.st_gid, new.st_mode) == (old.st_uid, old.st_gid, old.st_mode), path
    assert {path.stat().st_gid for path in files(share / "made")} == {GROUP}, "of new files, as the folder says"


@as_root
def test_group_mode_and_list_stay_together(share: Path, way: Way) -> None:
    """Folders that give their group and a list to new files, and files of another group with lists of their own."""
    for path in (share, *share.rglob("*")):
        os.chown(path, OWNER, GROUP)
        if path.is_dir():
            path.chmod(0o2770)
            give(path, DEFAULT, acl(guest=6))
        else:
            os.chown(path, MEMBER, GROUP + 1)
            give(path, ACCESS, acl(guest=4, group=4, mask=4))
    before = {path: rights(path) for path in files(share)}
    edit(f"{way[0]}{share}", make=True, options=way[1])
    assert json.loads((share / "a" / "zarr.json").read_text())["attributes"] == {"edited": "once"}
    assert {path: rights(path) for path in before} == before
    for path in files(share / "made"):
        assert path.stat().st_gid == GROUP
        assert lists(path) == {ACCESS: acl(guest=6)}


def test_a_new_file_gets_the_list_of_its_folder(share: Path, way: Way) -> None:
    give(share, DEFAULT, acl(guest=6))
    with zarrscope.open(f"{way[0]}{share}", "r+", storage_options=way[1]) as h:
        h.create_array("/made", shape=(2,), dtype="u1")[...] = 1
    made = files(share / "made")
    assert len(made) == 2
    assert {path.name: lists(path) for path in made} == {path.name: {ACCESS: acl(guest=6)} for path in made}
    assert lists(share / "made")[DEFAULT] == acl(guest=6)


TOLD = "The file a/zarr.json could not keep its group: set it again, or ask an administrator"


def save_twice(address: str, options: Mapping[str, Any] | None = None) -> None:
    """Saves a document that cannot keep its group; the second time it has a group that it can keep."""
    with zarrscope.open(address, "r+", storage_options=options) as h:
        for value in ("twice", "thrice"):
            h["/a"].attrs["edited"] = value
            assert h.warnings == (TOLD,)


@as_root
def test_a_group_that_cannot_be_kept_is_told(share: Path) -> None:
    """The member owns the file, but is not in its group, and so may not give a new file to that group."""
    edit(share)  # imports modules that the other user may not read
    for path in (share, *share.rglob("*")):
        os.chown(path, MEMBER, GROUP)
        path.chmod(0o2770 if path.is_dir() else 0o660)
    document = share / "a" / "zarr.json"
    os.chown(document, MEMBER, GROUP + 1)
    for above in share.parents:
        if above.stat().st_uid == 0 and not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)
    assert as_member(lambda: save_twice(str(share))) == ""
    assert json.loads(document.read_text())["attributes"] == {"edited": "thrice"}
    assert document.stat().st_gid == GROUP


DENYING = """
import os, runpy, sys
def denied(*given, **named):
    raise PermissionError(1, "Operation not permitted")
os.chown = denied
sys.argv = ["zarrscope", "serve", "--stdio"]
runpy.run_module("zarrscope_app", run_name="__main__")
"""


@as_root
def test_a_group_that_the_far_side_cannot_keep_is_told(share: Path) -> None:
    document = share / "a" / "zarr.json"
    os.chown(document, -1, GROUP)
    command = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(DENYING)}"
    save_twice(f"ssh://127.0.0.1{share}", {"ssh": NEAR, "command": command})
    assert json.loads(document.read_text())["attributes"] == {"edited": "thrice"}


@as_root
@pytest.mark.parametrize("listed", [False, True])
def test_a_member_of_the_group_saves_and_the_group_keeps_its_rights(share: Path, listed: bool) -> None:
    edit(share)  # imports modules that the other user may not read
    for path in (share, *share.rglob("*")):
        os.chown(path, OWNER, GROUP)
        path.chmod(0o2770 if path.is_dir() else 0o660)
        if listed and path.is_file():
            give(path, ACCESS, acl(guest=4))
    for above in share.parents:
        if above.stat().st_uid == 0 and not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)
    before = {path: (lists(path), stat.S_IMODE(path.stat().st_mode)) for path in files(share)}
    assert as_member(lambda: edit(share, "twice", make=True)) == ""
    assert json.loads((share / "a" / "zarr.json").read_text())["attributes"] == {"edited": "twice"}
    after = {path: (lists(path), stat.S_IMODE(path.stat().st_mode)) for path in before}
    assert after == before
    assert {path.stat().st_gid for path in files(share)} == {GROUP}, "also of the new files, as the folder says"
    assert all(path.stat().st_mode & 0o060 == 0o060 for path in files(share))
