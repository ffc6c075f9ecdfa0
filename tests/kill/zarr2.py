"""Makes and opens the hierarchies of the kill trials in the draft of 2020, with zarr-python 2.18
(ZARR_V3_EXPERIMENTAL_API=1); one line of JSON for each request and answer.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import zarr
from numcodecs import GZip

CHUNK, CHUNKS = 64, 16
ROWS, COLUMNS, BLOCK = 8, 256, 128


def make(path: str) -> dict[str, Any]:
    """Makes the hierarchy of writers.make with zarr-python 2.18."""
    root = zarr.open_group(zarr.DirectoryStoreV3(path), mode="w", zarr_version=3)
    settings = {"dtype": "<u4", "compressor": GZip(1), "fill_value": 0}
    root.create_group("notes").attrs.update({"all": 0} | {f"w{n}": 0 for n in range(8)})
    root.create_dataset("whole", shape=(CHUNK * CHUNKS,), chunks=(CHUNK,), **settings)
    root.create_dataset("parts", shape=(ROWS, COLUMNS), chunks=(ROWS, BLOCK), **settings)
    root.create_dataset("sized", shape=(40,), chunks=(32,), **settings)[...] = 7
    root.create_group("born").attrs["of"] = "all"
    root.create_group("own").attrs["of"] = "one"
    for n in range(4):
        made = root.create_dataset(f"own/w{n}-a", shape=(8,), chunks=(4,), **settings)
        made.attrs["n"] = n
        made[...] = n + 1
    return {}


def read(path: str) -> dict[str, Any]:
    """Target → value. A chunk or row that holds more than one value is an error."""
    root = zarr.open_group(zarr.DirectoryStoreV3(path), mode="r", zarr_version=3)
    found: dict[str, Any] = {f"notes {name}": value for name, value in root["notes"].attrs.items()}
    whole, parts, sized = (root[name] for name in ("whole", "parts", "sized"))
    blocks = whole[...].reshape(CHUNKS, CHUNK)
    found |= {f"whole {k}": _one(blocks[k]) for k in range(CHUNKS)}
    rows = parts[...].reshape(ROWS, -1, BLOCK)
    found |= {f"parts {row} {k}": _one(rows[row, k]) for row in range(ROWS) for k in range(rows.shape[1])}
    found["sized"] = sized.shape[0]
    assert np.isin(sized[...], (0, 7)).all()
    found |= {f"born {name}": None for name in ("x", "y")}
    for name, node in root["born"].arrays():
        found[f"born {name}"] = node.attrs["n"]
        node[...]
    for n in range(4):
        whole_at = [
            place
            for place in "ab"
            if f"own/w{n}-{place}" in root and (np.asarray(root[f"own/w{n}-{place}"]) == n + 1).all()
        ]
        found[f"own {n}"] = "".join(whole_at)
    return found


def _one(values: Any) -> int:
    assert (values == values.flat[0]).all(), f"{np.unique(values)}"
    return int(values.flat[0])


for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = {"make": make, "read": read}[question["act"]](question["path"])
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
