"""The contract of absence over Google Cloud Storage and Azure, accessed by obstore: each has its own error codes.

Which answers a service can give differs; `CANNOT` has those that it cannot, with the reason.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

import gcs_xml
import zarrscope
from contracts.absence import CHUNK, VALUES, Absence
from contracts.hostile_http import Ask, hostile
from narrowing import as_array
from zarrscope.errors import NotFound
from zarrscope.stores.object_store import ObjectStore
from zarrscope.stores.store import Store

CANNOT = {
    ("azure", "no listing"): "Azure answers 404 BlobNotFound to everybody who may read, also without the right to list "
    "(Put/Get Blob, 'Authorization'); who may not read gets 403 for what is there as well",
}
"""For each service and answer, the reason why the service never gives it."""


class OfService(Absence):
    name: ClassVar[str]
    codes: ClassVar[dict[str, tuple[str, str]]]
    """For each answer, its HTTP status and the service's error code."""
    nothing: ClassVar[bytes]
    """An empty listing."""
    beneath: ClassVar[str]
    """The text before the name of a bucket in the path of a request."""

    def store(self, url: str, bucket: str, **settings: Any) -> ObjectStore:
        raise NotImplementedError

    async def tell(self, ask: Ask, what: str) -> None:
        status, code = self.codes[what]
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        await ask.answer(status, body, "Content-Type: application/xml")

    @contextmanager
    def serving(self, answer: str, **settings: Any) -> Iterator[Store]:
        root = f"{self.beneath}bucket/x.zarr/"

        async def act(ask: Ask) -> None:
            listing = not ask.key.startswith(root)
            denied = {"denied chunk": ask.key == root + CHUNK, "no listing": listing or ask.value is None}
            if answer == "expired":
                await self.tell(ask, "expired")
            elif denied.get(answer, False):
                await self.tell(ask, "denied")
            elif listing:
                await ask.answer("200 OK", self.nothing, "Content-Type: application/xml")
            elif ask.value is None:
                await self.tell(ask, "absent")
            else:
                await ask.answer("200 OK", ask.value, 'ETag: "1"', "Last-Modified: Mon, 23 Nov 2026 10:00:00 GMT")

        with hostile(act, {root + key: value for key, value in VALUES.items()}) as server:
            yield self.store(server.url, "bucket", **settings)

    @contextmanager
    def without_bucket(self) -> Iterator[Store]:
        with hostile(lambda ask: self.tell(ask, "no bucket"), {}) as server:
            yield self.store(server.url, "no-such-bucket")

    def test_what_nobody_can_tell_is_said(self) -> None:
        if (self.name, "no listing") not in CANNOT:
            super().test_what_nobody_can_tell_is_said()
            return
        with self.serving("honest") as store:  # the service distinguishes absent values, so nothing must be assumed
            assert store.tells_absence
            assert as_array(zarrscope.open(store)["sparse"])[...].tolist() == [7, 7, 0, 0]

    def test_a_web_page_for_every_path_is_no_hierarchy(self) -> None:
        async def page(ask: Ask) -> None:
            await ask.answer("200 OK", b"<html><body>Sign in</body></html>", "Content-Type: text/html", 'ETag: "1"')

        with hostile(page, {}) as server, pytest.raises(zarrscope.ZarrscopeError) as caught:
            zarrscope.open(self.store(server.url, "bucket"))
        assert not isinstance(caught.value, NotFound)


class TestGCS(OfService):
    name = "gcs"
    beneath = ""
    nothing = b"<?xml version='1.0'?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
    codes: ClassVar = {
        "absent": ("404 Not Found", "NoSuchKey"),
        "denied": ("403 Forbidden", "AccessDenied"),
        "expired": ("401 Unauthorized", "AuthenticationRequired"),
        "no bucket": ("404 Not Found", "NoSuchBucket"),
    }

    def store(self, url: str, bucket: str, **settings: Any) -> ObjectStore:
        return ObjectStore(f"gs://{bucket}/x.zarr", attempts=1, **gcs_xml.options(url), **settings)


class TestAzure(OfService):
    name = "azure"
    beneath = "account/"
    nothing = b"<?xml version='1.0'?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>"
    codes: ClassVar = {
        "absent": ("404 Not Found", "BlobNotFound"),
        "denied": ("403 Forbidden", "AuthorizationPermissionMismatch"),
        "expired": ("403 Forbidden", "AuthenticationFailed"),
        "no bucket": ("404 Not Found", "ContainerNotFound"),
    }

    def store(self, url: str, bucket: str, **settings: Any) -> ObjectStore:
        key = base64.b64encode(b"key").decode()
        told: dict[str, Any] = {"account_name": "account", "account_key": key, "endpoint": f"{url}/account"}
        return ObjectStore(f"az://{bucket}/x.zarr", attempts=1, **told, **settings)
