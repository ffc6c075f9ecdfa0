"""The code that runs on the workers of a Dask cluster: a question to each worker, whose answer decides whether it may
take part, and the tasks.

A worker imports this module from its own zarrscope. That may be another version, or missing, so the question is sent as
text.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import zarrscope
from zarrscope import __version__
from zarrscope.runtime.memo import memoized
from zarrscope.runtime.threads import keep_to_worker

ANSWER_SECONDS = 6.0
"""A worker that has not answered a question after this time is blocked or overloaded."""
HALT_SECONDS = 60.0
"""The most seconds to wait for a piece that has started."""
_KEPT_JOBS = 64
_guard = threading.Lock()
_at_work: dict[str, int] = {}
"""Job → the number of its tasks that run in this process."""
_halted: dict[str, None] = {}


class Build(NamedTuple):
    """The build of zarrscope that a process runs: its version, and a digest of its source."""

    version: str
    digest: str


@memoized(1)
def identity() -> Build:
    """The version and the source digest of zarrscope in this process."""
    root, found = Path(zarrscope.__file__).parent, sha256()
    for file in sorted(root.rglob("*.py")):
        found.update(file.relative_to(root).as_posix().encode())
        found.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return Build(__version__, found.hexdigest()[:16])


# The question to a worker. It is text, because a worker with another zarrscope, or none,
# could not unpickle one of our functions.
_QUESTION = """
def answer(url, key, how):
    import socket, sys
    told = {"host": socket.gethostname(), "python": sys.version.split()[0]}
    try:
        import zarrscope
    except ImportError as error:
        return {**told, "missing": str(error)}
    told["version"] = getattr(zarrscope, "__version__", None)
    if told["version"] is None:
        try:
            from importlib.metadata import version
            told["version"] = version("zarrscope")
        except Exception:
            told["version"] = "unknown"
    try:
        from zarrscope.executors.cluster_worker import identity
        told["version"], told["digest"] = identity()
    except Exception as error:
        return {**told, "other": type(error).__name__ + ": " + str(error)}
    if url is None:
        return told
    try:
        from hashlib import sha256
        from zarrscope.stores.address import open_store
        found = open_store(url, "r", **how).get(key)
        told["found"] = None if found is None else sha256(found).hexdigest()
    except Exception as error:
        told["failed"] = type(error).__name__ + ": " + str(error)
    return told
"""
_ASK = "(lambda space: (exec({question!r}, space), space['answer']({url!r}, {key!r}, {how!r}))[1])({{}})"


class ProbedKey(NamedTuple):
    """A value that every worker must find: its address, its key, and a digest of its bytes."""

    url: str
    key: str
    digest: str
    follow_links: bool = False


def question(place: ProbedKey | None) -> str:
    """The question as a Python expression: a worker evaluates it, and its value is the worker's answer."""
    url, key = (place.url, place.key) if place is not None else (None, None)
    how = {"follow_links": True} if place is not None and place.follow_links else {}
    return _ASK.format(question=_QUESTION, url=url, key=key, how=how)


def reason_against(answer: object, place: ProbedKey | None) -> str | None:
    """The reason why a worker that gave this answer may not take part; None if it may."""
    own = identity()
    if isinstance(answer, TimeoutError):
        return f"did not answer within {ANSWER_SECONDS:g} seconds"
    if not isinstance(answer, dict):
        return f"could not be asked ({type(answer).__name__}: {answer})"
    if "missing" in answer:
        return f"cannot import zarrscope ({answer['missing']})"
    if answer.get("version") != own.version:
        return f"runs zarrscope {answer.get('version')}, but this process runs {own.version}"
    if "other" in answer:
        return f"runs another zarrscope ({answer['other']})"
    if answer.get("digest") != own.digest:
        return f"runs zarrscope {own.version} with other code than here"
    if place is None:
        return None
    if "failed" in answer:
        return f"cannot read this store ({answer['failed']})"
    if answer.get("found") is None:
        return f"does not see this store: {place.key} is not there on {answer.get('host')}"
    if answer["found"] != place.digest:
        return f"sees another store under this address: {place.key} differs on {answer.get('host')}"
    return None


@memoized(16)
def _loaded(payload: bytes) -> Callable[[Any], Any]:
    """The unpickled work; each process unpickles it once."""
    found: Callable[[Any], Any] = pickle.loads(payload)
    return found


def do_batch(payload: bytes, job: str, batch: list[Any]) -> list[Any]:
    """Runs the pieces of one task; stops before the next piece once the job is halted."""
    keep_to_worker()
    results = []
    with _guard:
        _at_work[job] = _at_work.get(job, 0) + 1
    try:
        call = _loaded(payload)
        for piece in batch:
            if job in _halted:
                break
            results.append(call(piece))
    finally:
        with _guard:
            _at_work[job] -= 1
            if not _at_work[job]:
                del _at_work[job]
    return results


async def halt(job: str) -> None:
    """Halts the job in this process; returns when none of its pieces runs here any more."""
    with _guard:
        _halted[job] = None
        while len(_halted) > _KEPT_JOBS:
            del _halted[next(iter(_halted))]
    while job in _at_work:
        await asyncio.sleep(0.02)
