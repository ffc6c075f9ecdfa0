"""Google Cloud Storage by gcsfs over fake-gcs-server, which has only the JSON interface; both must be installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest

import servers
import zarrscope
from narrowing import as_array, as_group
from zarrscope.errors import NotFound
from zarrscope.stores.memory import MemoryStore

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # otherwise every call waits for a minute
    pytest.importorskip("gcsfs")
    with servers.gcs() as url:
        yield url


def _upload(server: str, bucket: str, values: MemoryStore) -> None:
    import gcsfs

    with urlopen(Request(f"{server}/storage/v1/b?project=p", json.dumps({"name": bucket}).encode(), JSON)):
        pass
    files = gcsfs.GCSFileSystem(token="anon", endpoint_url=server, project="p", skip_instance_cache=True)
    for key in values.list():
        files.pipe_file(f"{bucket}/x.zarr/{key}", values.get(key))


@pytest.mark.needs("gcs")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # gcsfs leaves its session open
def test_a_bucket_is_read_by_gcsfs(server: str) -> None:
    values = MemoryStore()
    with zarrscope.open(values, "w-") as h:
        h.create_array("/g/a", shape=(4,), dtype="u2", chunks=(2,))[...] = [1, 2, 3, 4]
    _upload(server, "bucket", values)
    options = f"?anon=1&endpoint={server}&backend=fsspec"
    with zarrscope.open(f"gs://bucket/x.zarr{options}") as h:
        assert as_array(h["/g/a"])[...].tolist() == [1, 2, 3, 4]
        assert [child.name for child in as_group(h["/"]).children()] == ["g"]
        assert h.store.get("nothing") is None
    with pytest.raises(NotFound, match="no bucket 'other'"):
        zarrscope.open(f"gs://other/x.zarr{options}")
