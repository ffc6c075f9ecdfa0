"""The serving side of ssh://: reads requests as frames from standard input, and answers on standard output, until the
input ends.

`zarrscope serve --stdio` runs it. Several requests are handled in parallel. Each names its folder or archive (`root`),
whose store is opened once. Writes go through the stores of this machine, so they are atomic, compared and locked like
local writes. Each lock is held by a thread of its own until the client releases it or the connection ends. Requests of
the client's thread that holds a lock run in that thread, so they can take the lock again.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, BinaryIO

from zarrscope.errors import Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.storage import ScannedChild, Version
from zarrscope.runtime.tuning import SSH_AT_ONCE, SSH_PAGE
from zarrscope.stores.address import METADATA_FILES, open_store
from zarrscope.stores.file_address import open_database
from zarrscope.stores.keys import check_key, check_prefix
from zarrscope.stores.registry import Mode
from zarrscope.stores.ssh.ahead import read_ahead
from zarrscope.stores.ssh.frames import MAGIC, PROTOCOL, MessageFrame, described, range_read, read_frame, write_frame
from zarrscope.stores.ssh.shares import read_shares
from zarrscope.stores.store import Store

AnswerFrames = Iterator[MessageFrame]


def serve(source: BinaryIO, sink: BinaryIO, version: str) -> None:
    """Answers requests from `source` on `sink`, until `source` ends."""
    _Serving(sink).run(source, version)


class _Serving:
    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._writing = threading.Lock()
        self._opening = threading.Lock()
        self._stores: dict[tuple[str, bool, bool], Store] = {}
        self._cancelled: set[int] = set()
        self._locks: dict[int, queue.SimpleQueue[tuple[int, MessageFrame] | None]] = {}
        """The queue of requests for each lock that is held or waited for, by the id of the request for the lock. None
        in the queue releases the lock."""

    def run(self, source: BinaryIO, version: str) -> None:
        with self._writing:
            self._sink.write(MAGIC)
            write_frame(self._sink, {"protocol": PROTOCOL, "version": version})
            self._sink.flush()
        with ThreadPoolExecutor(SSH_AT_ONCE, "zarrscope-serve") as pool:
            try:
                while (frame := read_frame(source)) is not None:
                    number, op = int(frame.head["id"]), frame.head["op"]
                    if op == "cancel":
                        self._cancelled.add(number)
                        continue
                    if op == "life":  # answered at once, even while other requests are running
                        self._send({"id": number, "last": True})
                        continue
                    if op == "unlock":
                        if (todo := self._locks.pop(int(frame.head["lock"]), None)) is not None:
                            todo.put(None)
                        continue
                    if op == "lock":
                        self._locks[number] = queue.SimpleQueue()
                    under = self._locks.get(frame.head.get("under", 0))
                    if under is not None:
                        under.put((number, frame))
                    elif op == "lock":  # waiting for a lock may take long
                        threading.Thread(target=self._answer, args=(number, frame), daemon=True).start()
                    else:
                        pool.submit(self._answer, number, frame)
            finally:
                for todo in [*self._locks.values()]:
                    todo.put(None)
        for store in self._stores.values():
            store.close()

    def _answer(self, number: int, frame: MessageFrame) -> None:
        try:
            for head, body in self._operation(frame)(frame, number):
                self._send({**head, "id": number}, body)
                if number in self._cancelled:
                    break
            self._send({"id": number, "last": True})
        except ZarrscopeError as error:
            head, body = described(error)
            self._send({**head, "id": number, "last": True}, body)
        except Exception as error:
            head, body = described(Unreadable(f"zarrscope on the other machine failed: {error!r}"))
            self._send({**head, "id": number, "last": True}, body)
        finally:
            self._cancelled.discard(number)

    def _send(self, head: dict[str, Any], body: bytes = b"") -> None:
        try:
            with self._writing:
                write_frame(self._sink, head, body)
                self._sink.flush()
        except OSError:  # the client has disconnected, so the input ends too
            pass

    def _operation(self, frame: MessageFrame) -> Callable[[MessageFrame, int], AnswerFrames]:
        found: Callable[[MessageFrame, int], AnswerFrames] | None = getattr(self, f"_op_{frame.head['op']}", None)
        if found is None:
            raise Unsupported(
                f"zarrscope on the other machine does not know the operation {frame.head['op']!r}",
                feature="ssh",
                advice="Install the same version of zarrscope on both sides.",
            )
        return found

    def _store(self, frame: MessageFrame, *, anew: bool = False) -> Store:
        head = frame.head
        root, writable, follow = str(head["root"]), bool(head["writable"]), bool(head.get("follow_links"))
        with self._opening:
            found = self._stores.get((root, writable, follow))
            if found is None or anew:
                place = os.path.expanduser(root[1:] if root.startswith("/~") else root)
                found = _opened(place, head.get("mode", "r"), follow)
                self._stores[root, writable, follow] = found
        return found

    # ------------------------------------------------------------------ operations
    def _op_open(self, frame: MessageFrame, number: int) -> AnswerFrames:
        store = self._store(frame, anew=frame.head["mode"] == "w-")
        yield MessageFrame({"listable": store.listable, "writable": store.writable, "scans": store.bulk.scans_children})

    def _op_get(self, frame: MessageFrame, number: int) -> AnswerFrames:
        store, key = self._store(frame), frame.head["key"]
        value = store.get(key, range_read(frame.head["part"]), frame.head["limit"])
        yield _value(store, key, value)

    def _op_get_many(self, frame: MessageFrame, number: int) -> AnswerFrames:
        requests = [(key, range_read(part)) for key, part in frame.head["requests"]]
        store = self._store(frame)
        if (share := frame.head.get("share")) is not None:
            yield from read_shares(store, [key for key, _ in requests], frame.head["limit"], *share)
            return
        limit, ahead = frame.head["limit"], frame.head.get("ahead") or ()
        wanted = [
            (i, key, part, ahead[i])
            for i, (key, part) in enumerate(requests)
            if ahead and part is not None and ahead[i] is not None
        ]
        if wanted:
            yield from read_ahead(store, wanted, limit)
        apart = {i for i, *_ in wanted}
        plain = [i for i in range(len(requests)) if i not in apart]
        for at, answer in store.get_many([requests[i] for i in plain], lambda: number in self._cancelled, limit):
            i = plain[at]
            if isinstance(answer, ZarrscopeError):
                head, body = described(answer)
                yield MessageFrame({**head, "i": i}, body)
            else:
                found = _value(store, requests[i][0], answer)
                yield MessageFrame({"i": i, **found.head}, found.body)

    def _op_get_versioned(self, frame: MessageFrame, number: int) -> AnswerFrames:
        found = self._store(frame).get_versioned(frame.head["key"], frame.head["limit"])
        yield MessageFrame({"version": None if found is None else found[1].token}, b"" if found is None else found[0])

    def _op_list_dir(self, frame: MessageFrame, number: int) -> AnswerFrames:
        rest = self._store(frame).list_dir(frame.head["prefix"])
        while some := list(islice(rest, SSH_PAGE)):
            yield MessageFrame({"entries": some})

    def _op_list_prefix(self, frame: MessageFrame, number: int) -> AnswerFrames:
        rest = self._store(frame).list_prefix(frame.head["prefix"])
        while some := list(islice(rest, SSH_PAGE)):
            yield MessageFrame({"keys": some})

    def _op_scan_children(self, frame: MessageFrame, number: int) -> AnswerFrames:
        head = frame.head
        for found in self._store(frame).bulk.scan_children(
            head["prefix"], head["names"], read=head["read"], limit=head["limit"]
        ):
            yield _found(found)

    def _op_set(self, frame: MessageFrame, number: int) -> AnswerFrames:
        expect = frame.head["expect"]
        store, key = self._store(frame), frame.head["key"]
        version = store.set(key, frame.body, None if expect is None else Version(expect))
        yield MessageFrame({"version": version.token, "lost": [*store.files.lost_rights(key)]})

    def _op_put(self, frame: MessageFrame, number: int) -> AnswerFrames:
        self._store(frame).bulk.put(frame.head["key"], frame.body)
        yield MessageFrame({})

    def _op_flush(self, frame: MessageFrame, number: int) -> AnswerFrames:
        self._store(frame).bulk.flush()
        yield MessageFrame({})

    def _op_erase(self, frame: MessageFrame, number: int) -> AnswerFrames:
        self._store(frame).erase_values(frame.head["keys"])
        yield MessageFrame({})

    def _op_erase_prefix(self, frame: MessageFrame, number: int) -> AnswerFrames:
        self._store(frame).erase_prefix(frame.head["prefix"])
        yield MessageFrame({})

    def _op_rename_within(self, frame: MessageFrame, number: int) -> AnswerFrames:
        store = self._store(frame)
        store._need_writing("")
        keys = [(check_key(old), check_key(new)) for old, new in frame.head["keys"]]
        prefixes = [(check_prefix(old), check_prefix(new)) for old, new in frame.head["prefixes"]]
        yield MessageFrame({"done": store._rename_within(keys, prefixes)})

    def _op_size_of(self, frame: MessageFrame, number: int) -> AnswerFrames:
        yield MessageFrame({"size": self._store(frame).bulk.size_of(frame.head["key"])})

    def _op_lock(self, frame: MessageFrame, number: int) -> AnswerFrames:
        todo = self._locks.get(number)
        if todo is None:  # the client released the lock before this thread began
            return
        with self._store(frame).lock(frame.head["key"]):
            yield MessageFrame({"held": True})
            while (asked := todo.get()) is not None:
                self._answer(*asked)


def _opened(place: str, mode: Mode, follow_links: bool) -> Store:
    """The store at a path, also of an LMDB environment: as here, its folder is opened as one if it has no documents."""
    found = open_store(place, mode, follow_links=follow_links)
    names = () if mode == "w-" or not os.path.isfile(os.path.join(place, "data.mdb")) else os.listdir(place)
    if names and METADATA_FILES.isdisjoint(names) and (database := open_database(place, mode, None)) is not None:
        found.close()
        return database
    return found


def _value(store: Store, key: str, value: bytes | None) -> MessageFrame:
    """The answer to a request for a value; it states whether a folder is in the place of an absent one."""
    if value is None:
        return MessageFrame({"absent": True, "folder": store._is_folder(key)})
    return MessageFrame({"absent": False}, value)


def _found(found: ScannedChild) -> MessageFrame:
    if isinstance(found.value, ZarrscopeError):
        head, body = described(found.value)
        return MessageFrame({**head, "name": found.name, "holds": found.document}, body)
    return MessageFrame(
        {"name": found.name, "holds": found.document, "absent": found.value is None}, found.value or b""
    )
