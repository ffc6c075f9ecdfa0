"""Sentences about requests to stores that have not been answered."""

from __future__ import annotations

import time

from zarrscope.errors import Unreadable
from zarrscope.runtime.waits import LockHolder, NextAttempt, PendingRequest, next_attempt
from zarrscope_app.presenters.advice import capitalised
from zarrscope_app.presenters.request_names import host_of, requested, shortened
from zarrscope_app.presenters.strings import clean


def waiting(url: str, key: str, seconds: float, ends: str = "Esc") -> str:
    """The sentence about a request without an answer: "Waiting 3 s for zarr.json from 10.0.0.1:8000 · Esc stops".
    `ends` is the key that stops it; "" if there is none."""
    return f"Waiting {seconds:.0f} s for {requested(url, key)}{_stops(ends)}"


def asked_to_wait(url: str, key: str, seconds: float, left: float, ends: str = "Esc") -> str:
    """The sentence about a request that is sent again after a pause for which the server has asked: "10.0.0.1:8000 asks
    to wait 30 s, 27 s left: zarr.json · Esc stops"."""
    what = f": {shortened(key)}" if key else ""
    return f"{host_of(url)} asks to wait {seconds:.0f} s, {max(1.0, left):.0f} s left{what}{_stops(ends)}"


def tried_again(url: str, attempt: NextAttempt, now: float, ends: str = "Esc") -> str:
    """The sentence about a request that failed and is sent again: "10.0.0.1:8000 answered 503; trying again in 2 s (3
    of 5) · Esc stops". `now`: the present time, as `attempt` states it."""
    why = failed(url, attempt)
    why = why if why.startswith(host_of(url)) else capitalised(why)
    left = attempt.until - now
    when = f" in {max(1.0, left):.0f} s" if left > 0 else f" for {-left:.0f} s" if left <= -1 else ""
    return f"{why}; trying again{when} ({attempt.number} of {attempt.attempts}){_stops(ends)}"


def failed(url: str, attempt: NextAttempt) -> str:
    """The failure of a request that is sent again, as the end of a sentence: "10.0.0.1:8000 answered 503"."""
    why = attempt.reason.removeprefix("The server")
    return clean(f"{host_of(url)}{why}" if why != attempt.reason else why, 80)


def waiting_for(wait: PendingRequest, url: str, seconds: float, ends: str = "Esc") -> str:
    """The sentence about a request without an answer, or that failed and is sent again; or about a lock: "Waiting 4 s
    to write a/zarr.json: process 4711 (python3), which is stopped, has locked the folder · Esc stops". `url`: of the
    hierarchy."""
    if wait.holder is None:
        place, now = wait.place or url, time.monotonic()
        attempt = next_attempt(place, wait.key)
        if attempt is None:
            return waiting(place, wait.key, seconds, ends)
        if attempt.asked and now < attempt.until:
            return asked_to_wait(place, wait.key, attempt.seconds, attempt.until - now, ends)
        return tried_again(place, attempt, now, ends)
    written = f"to write {shortened(wait.key)}" if wait.key else "to write"
    return f"Waiting {seconds:.0f} s {written}: {holds(wait.holder)} has locked {host_of(wait.place)}{_stops(ends)}"


def _stops(key: str) -> str:
    return f" · {key} stops" if key else ""


def holds(holder: LockHolder) -> str:
    """The name of the process that holds a lock."""
    if not holder.process:
        return "another program"
    program = f" ({clean(holder.program, 30)})" if holder.program else ""
    return f"process {holder.process}{program}{', which is stopped,' if holder.stopped else ''}"


def stopped_before_writing(wait: PendingRequest, seconds: float) -> Unreadable:
    """The error of a change that waited for a lock for which a person did not want to wait any longer."""
    holder = wait.holder or LockHolder()
    return Unreadable(
        f"Stopped after {seconds:.0f} s, because {holds(holder)} has locked {host_of(wait.place)}",
        key=wait.key or None,
        advice="Nothing was written. Wait until that program is done, or close it, then save again.",
    )


def stopped(url: str, key: str, seconds: float) -> Unreadable:
    """The error in place of an answer for which a person did not want to wait any longer."""
    return Unreadable(
        f"Stopped after {seconds:.0f} s without an answer from {host_of(url)}",
        store=url,
        key=key or None,
    )


def asked_anew(seconds: float) -> str:
    """The sentence after a refresh has cancelled requests that were not answered."""
    return f"Cancelled after {seconds:.0f} s, asking again"
