"""Makes a store of zarrscope of a store object of obstore, which keeps its own credentials, prefix and settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrscope.stores.credentials import SERVICES, BucketLogin
from zarrscope.stores.network import network
from zarrscope.stores.object_store import ObjectStore
from zarrscope.stores.process_addresses import object_address, open_object_address
from zarrscope.stores.remote import RemoteStore

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client


class ObstoreStore(ObjectStore):
    """The values of a store object of obstore: in memory, in a bucket, or on a web server, which is read-only."""

    def __init__(self, client: Client) -> None:
        import obstore

        RemoteStore.__init__(self, network())
        kind = type(client).__name__
        self.listable = self.writable = kind != "HTTPStore"
        self.remote = kind != "MemoryStore"
        self._obstore = obstore
        self._scheme = self._place = self._bucket = self._prefix = ""
        self._service = replace(SERVICES["s3"], name="", title=f"the {kind}")
        self._bucket_seen = self._settled = self._region_asked = True
        self._no_suffixes = self._no_ranges = False
        self._logins = [BucketLogin(f"the settings of the {kind}")]
        self._login = 0
        self._told, self._e_tags = {}, {}
        self._config = {}
        self._clients = {(0, False): client, (0, True): client}
        self.url = object_address(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return open_object_address, (self.url,)

    def _looked_up(self) -> list[BucketLogin]:
        return []
