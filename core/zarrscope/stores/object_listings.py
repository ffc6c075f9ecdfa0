"""Listings of buckets through obstore: one level, or all keys beneath a prefix."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from operator import lt
from typing import TYPE_CHECKING, Any, TypeVar

from zarrscope.errors import NotFound, Unreadable, ZarrscopeError
from zarrscope.model.storage import Entry
from zarrscope.runtime.tuning import LONG_LISTING_SECONDS
from zarrscope.stores.object_requests import BucketRequests
from zarrscope.stores.service_answers import NO_BUCKET

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

T = TypeVar("T")


class BucketListings(BucketRequests):
    """A bucket that can be listed."""

    listable = True

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        """Yields the names of one level. obstore returns a level as a whole, after one request per thousand names. If
        that takes long, the folders that the first page of all keys contains are yielded meanwhile."""

        place = self._place_in_bucket(prefix)

        async def listed(client: Client) -> Any:
            level = asyncio.ensure_future(self._obstore.list_with_delimiter_async(client, place))
            done, _ = await asyncio.wait({level}, timeout=LONG_LISTING_SECONDS)
            return level.result() if done else level

        found, told = self._listed(listed, prefix), set[str]()
        if isinstance(found, asyncio.Future):
            level = found
            try:
                for name in self._first_folders(prefix):
                    told.add(name)
                    yield Entry(name, True)
                found = self._listed(lambda client: level, prefix)
            finally:
                level.get_loop().call_soon_threadsafe(level.cancel)
        folders = (folder.rstrip("/").rpartition("/")[2] for folder in found["common_prefixes"])
        yield from (Entry(name, True) for name in folders if name not in told)
        for each in found["objects"]:
            if each["path"].strip("/") != place:  # some tools store an empty object for a folder
                yield Entry(each["path"].rpartition("/")[2], False, each["size"])
        if not found["objects"] and not found["common_prefixes"]:
            self._need_bucket()

    def _first_folders(self, prefix: str) -> Iterator[str]:
        """The folders directly beneath a prefix that the first page of its keys contains."""

        place, begin = self._place_in_bucket(prefix), self._prefix + prefix

        async def page(client: Client) -> Any:
            return await anext(aiter(self._obstore.list(client, place, chunk_size=1000)), ())

        keys = (each["path"] for each in self._listed(page, prefix))
        parts = (key[len(begin) :].partition("/") for key in keys if key.startswith(begin))
        return iter(dict.fromkeys(name for name, slash, _ in parts if name and slash))

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key, _ in self._list_sizes(prefix))

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        """Yields the keys beneath a prefix, page by page. A listing that broke off goes on behind the last key."""
        stream: Any = None
        last, ordered = "", True
        place, begin, cut = self._place_in_bucket(prefix), self._prefix + prefix, len(self._prefix)

        async def following(client: Client) -> Any:
            nonlocal stream
            if stream is None:
                if not ordered:  # directory buckets and folders: nobody knows which keys come after the last one
                    raise Unreadable("The listing broke off", store=self.url, advice="Try again.")
                stream = aiter(self._obstore.list(client, place, offset=last or None, chunk_size=1000))
            try:
                return await anext(stream, None)
            except BaseException:
                stream = None
                raise

        batch = self._listed(following, prefix)
        if batch is None:
            self._need_bucket()
        while batch:
            yield from ((each["path"][cut:], each["size"]) for each in batch if each["path"].startswith(begin))
            paths = [last, *(each["path"] for each in batch)]
            last, ordered = paths[-1], ordered and all(map(lt, paths, paths[1:]))
            batch = self._listed(following, prefix)

    def _place_in_bucket(self, prefix: str) -> str | None:
        """The folder of the bucket that a prefix of this store names, as obstore takes it; None: the whole bucket."""
        return (self._prefix + prefix).strip("/") or None

    def _listed(self, act: Callable[[Client], Awaitable[T]], prefix: str) -> T | Any:
        try:
            return self._named(prefix, lambda: self._wait(self._asked(act, prefix, lists=True)))
        except FileNotFoundError as error:
            raise self._no_bucket() from error
        except Unreadable as failed:
            if any(code in str(failed.__cause__ or failed) for code in NO_BUCKET):
                raise self._no_bucket() from failed.__cause__
            raise

    def _need_bucket(self) -> None:
        """Checks an empty listing with a request for a value that is certainly absent. Raises NotFound if there is no
        such bucket, which only Google does not report itself, and Unreadable if the value is there: a network that asks
        for a login answers every request with a page, which obstore takes for an empty listing of S3 or Google."""
        if self._bucket_seen or self._service.name == "azure":
            return
        try:
            paged = self.size(".zarrscope-bucket") is not None
        except NotFound:
            raise
        except ZarrscopeError as error:
            paged = "missing from response" in str(error)  # Google's client misses headers that a page lacks
            if not paged:
                return
        if paged:
            raise Unreadable(
                "The service sent a web page in place of the listing",
                store=self.url,
                advice="The network may ask for a login: open any web page in a browser.",
            )
        self._bucket_seen = True
