"""zarr-python 2.18 in an environment of its own: a child process reads stores with it and returns the values."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

_READ = """
import json, sys, types, zarr
# zarr 2.18 looks for a class of its own tests, which need pytest, wherever an array has a storage transformer
stand_in = types.ModuleType("zarr.tests.test_storage_v3")
stand_in.DummyStorageTransfomer = type("DummyStorageTransfomer", (), {"extension_uri": "none"})
sys.modules.setdefault(stand_in.__name__, stand_in)
place, dialect = sys.argv[1:]
if dialect == "n5":
    group = zarr.open_group(zarr.N5Store(place), mode="r")
elif dialect == "v2":
    group = zarr.open_group(place, mode="r")
else:
    from zarr._storage.v3 import DirectoryStoreV3
    group = zarr.open_group(DirectoryStoreV3(place), mode="r", zarr_version=3)
found = {}
def look(name, node):
    if isinstance(node, zarr.Array):
        found[name] = [node[...].tolist(), dict(node.attrs)]
    else:
        found[name] = [None, dict(node.attrs)]
def walk(group, prefix):
    for name, node in group.arrays():
        look(prefix + name, node)
    for name, node in group.groups():
        look(prefix + name, node)
        walk(node, prefix + name + "/")
walk(group, "")
print(json.dumps(found))
"""


def told(python: Path, code: str, *arguments: str | Path, stdin: str = "") -> Any:
    """The JSON that `code` prints in a process with zarr-python 2.18, with its support for drafts and their shards
    switched on."""
    done = subprocess.run(
        [str(python), "-W", "ignore", "-c", code, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "ZARR_V3_EXPERIMENTAL_API": "1", "ZARR_V3_SHARDING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def read(python: Path, place: Path, dialect: str) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The values (None for a group) and attributes of every node beneath the root, by path."""
    return {path: (values, attributes) for path, (values, attributes) in told(python, _READ, place, dialect).items()}
