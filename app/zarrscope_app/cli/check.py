"""`check`: reports the faults of a hierarchy, one line per finding; exit code 1 if one of them is an error."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from zarrscope.errors.confidential import without_numbers
from zarrscope_app.cli.color import show_pieces
from zarrscope_app.cli.console import (
    MISSING_IS_FILL,
    clustered,
    follow_links,
    hierarchy_at,
    place,
    say,
    show_json,
    storage_options,
)
from zarrscope_app.cli.plain import plain, show_columns
from zarrscope_app.cli.streams import outlive_reader, steer

if TYPE_CHECKING:
    from zarrscope.check.coverage import Coverage
    from zarrscope.check.finding import Finding
    from zarrscope.check.hierarchy import CheckProgress

FIRST_NAMED = 5
"""The most findings of severity "information" of one kind that are printed for one node; the rest are counted.

Also the most arrays without a checksum that are named."""


@click.command("check")
@click.argument("url")
@click.argument("node", required=False)
@click.option(
    "--verify/--no-chunks", default=True, help="Read and decode every stored chunk (the default), or documents only."
)
@click.option(
    "--all", "every", is_flag=True, help="Print every finding; by default information that repeats is only counted."
)
@click.option("--expect-all", is_flag=True, help="A chunk that is not stored is an error, not information.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable: sorted JSON.")
@click.option(
    "--resume",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep the state of the check in FILE, and go on from there after an interruption.",
)
@MISSING_IS_FILL
@clustered
def check(
    url: str,
    node: str | None,
    verify: bool,
    every: bool,
    expect_all: bool,
    as_json: bool,
    resume: str | None,
    scheduler: str | Path | None,
    missing_is_fill: bool,
) -> int:
    """Checks documents, consistency and every stored chunk of NODE and everything beneath it. Changes nothing.

    A finding is an error, a warning or information. A chunk that is not stored is information: it reads as the fill
    value. Exit code 1 when there is an error, else 0. The last lines state the amount of data that was read, and name
    the arrays without a checksum, in which changed bytes are not noticed if they can still be decoded.

    The columns of --plain: severity, code, path, key, pointer, message, advice.

    \b
    Examples:
      zarrscope check cells.zarr
      zarrscope check cells.zarr 0 --expect-all
      zarrscope check cells.zarr --no-chunks --json
      zarrscope check https://example.org/cells.zarr --resume cells.check
    """
    from zarrscope.check import hierarchy as whole
    from zarrscope.check.coverage import Coverage

    links = follow_links()
    hierarchy = hierarchy_at(url, storage_options=storage_options(missing_is_fill), follow_links=links)
    path = place(hierarchy, node)
    journal = _Journal(resume, _identity(url, path, verify, expect_all, links))
    if resume is not None:
        outlive_reader()
    counts = {"error": 0, "warning": 0, "information": 0}
    listed: list[dict[str, Any]] = []
    coverage, lines = Coverage(), _Lines(every)
    with journal, _shown_progress() as (progress, clear):

        def findings() -> Iterator[Finding]:
            yield from journal.findings
            yield from whole.check(
                hierarchy,
                path,
                chunks=verify,
                expect_all=expect_all,
                progress=progress,
                resume=journal,
                scheduler=scheduler,
                coverage=coverage,
            )

        for finding in findings():
            counts[finding.severity] += 1
            if as_json:
                listed.append(_as_json(finding))
            else:
                clear()
                lines.show(finding)
        lines.end()
    if as_json:
        show_json({"findings": listed, "summary": counts, "read": _as_json(coverage)})
    else:
        say(summary(counts))
        for sentence in read_of(coverage, verify, resume is not None):
            say(sentence)
    return 1 if counts["error"] else 0


def line(finding: Finding) -> str:
    """One finding as one line of text, safe for the terminal: "error  chunk-truncated  /0  Chunk (1, 2) has …". The
    advice is at its end."""
    from zarrscope_app.presenters import strings

    where = f"key {finding.key!r}" if finding.key is not None else ""
    if finding.pointer:
        where += f" at {finding.pointer}"
    text = f"{finding.severity}  {finding.code}  {finding.path}  {finding.message}"
    told = f"{text} ({where.strip()})" if where else text
    return strings.clean(f"{told}{'' if told.endswith('.') else '.'} {finding.advice}" if finding.advice else told)


class _Lines:
    """Prints findings as they come. If a node has many of one kind and of severity "information", the first are printed
    and the others are counted."""

    def __init__(self, every: bool) -> None:
        self.every = every or plain()
        self._path: str | None = None
        self._seen: Counter[str] = Counter()

    def show(self, finding: Finding) -> None:
        if finding.path != self._path:
            self.end()
            self._path = finding.path
        if finding.severity == "information" and not self.every:
            self._seen[finding.code] += 1
            if self._seen[finding.code] > FIRST_NAMED:
                return
        if plain():
            at = (finding.path, finding.key, finding.pointer)
            show_columns(finding.severity, finding.code, *at, finding.message, finding.advice)
            return
        severity, _, rest = line(finding).partition("  ")
        show_pieces([(severity, finding.severity), (f"  {rest}", "")])

    def end(self) -> None:
        """Prints how many findings of the previous node were not printed."""
        from zarrscope_app.presenters import strings

        for code, count in self._seen.items():
            if count > FIRST_NAMED:
                rest = f"{count - FIRST_NAMED:,} more of this kind (--all names them)"
                show_pieces([("information", "information"), (strings.clean(f"  {code}  {self._path}  {rest}"), "")])
        self._seen.clear()


def summary(counts: dict[str, int]) -> str:
    """The counts of findings, by severity, as a sentence."""
    from zarrscope_app.presenters import strings

    if not any(counts.values()):
        return "Nothing was found: all is as it should be."
    parts = [
        strings.counted(counts["error"], "error", "errors"),
        strings.counted(counts["warning"], "warning", "warnings"),
    ]
    if counts["information"]:
        parts.append(f"{strings.counted(counts['information'], 'piece', 'pieces')} of information")
    return ", ".join(parts) + "."


def read_of(coverage: Coverage, verify: bool, resumed: bool) -> list[str]:
    """Sentences about the data that a check has read, and about the faults that it cannot notice."""
    from zarrscope_app.presenters import strings

    nodes = strings.counted(coverage.nodes, "node")
    if not verify:
        return [f"The documents of {nodes} were read, and no chunk (--no-chunks)."]
    chunks = strings.counted(coverage.chunks, "chunk")
    size = "" if coverage.nbytes is None else f", {strings.size(coverage.nbytes)}"
    now = " in this run" if resumed else ""
    told = [f"The documents of {nodes} were read{now}, and {chunks}{size}."]
    if bare := coverage.without_checksum:
        named = ", ".join(bare[:FIRST_NAMED]) + (", …" if len(bare) > FIRST_NAMED else "")
        arrays = strings.counted(len(bare), "array")
        told.append(f"{arrays} without a checksum ({named}): changed bytes that still decode are not seen there.")
    return told


def _as_json(shown: Finding | Coverage) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(shown)


@contextmanager
def _shown_progress() -> Iterator[tuple[Any, Any]]:
    """Progress on one line of stderr, rewritten in place, if stderr is a terminal. Yields two functions: one shows the
    progress, the other clears the line."""
    if not sys.stderr.isatty() or plain():
        yield (lambda progress: None), (lambda: None)
        return
    from zarrscope_app.presenters import strings

    def clear() -> None:
        steer("\r\x1b[K")
        sys.stderr.flush()

    def progress(state: CheckProgress) -> None:
        done = f"  {state.done:,} of {state.total:,} chunks" if state.total else ""
        clear()
        sys.stderr.write(strings.clean(f"{state.path}{done}")[:100])
        sys.stderr.flush()

    try:
        yield progress, clear
    finally:
        clear()


def _identity(url: str, path: str, chunks: bool, expect_all: bool, links: bool) -> dict[str, Any]:
    """The arguments of a check. A journal can be resumed only with the arguments that it was started with."""
    told = {"url": without_numbers(url), "path": path, "chunks": chunks, "all": expect_all}
    return {**told, "follow_links": True} if links else told


class _Journal:
    """The state of a check in a file, as lines of JSON. The first line holds the arguments of the check; each further
    line holds the findings of one step.

    Each step is appended in one write before its findings are shown. If a kill cut the last line short, that line is
    ignored and its step is repeated.
    """

    def __init__(self, name: str | None, what: dict[str, Any]) -> None:
        self.path = Path(name) if name is not None else None
        self.findings: list[Finding] = []
        self._what = what
        self._reached: dict[str, int] = {}
        self._file: IO[str] | None = None

    def __enter__(self) -> _Journal:
        if self.path is None:
            return self
        kept = self._read()
        self._file = self.path.open("r+" if kept else "w", encoding="ascii")
        if kept:
            self._file.truncate(kept)
            self._file.seek(kept)
        else:
            self._write(self._what)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def _read(self) -> int:
        """Loads the steps of an earlier check. Returns the length of its complete lines in bytes."""
        from zarrscope.check.finding import Finding

        assert self.path is not None
        try:
            lines = self.path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return 0
        kept = 0
        for number, text in enumerate(lines):
            if not text.endswith(b"\n"):
                break
            same = True
            try:
                entry = json.loads(text)
                if number == 0:
                    same = entry == self._what
                else:
                    self._reached[entry["path"]] = entry["chunks"]
                    self.findings += [Finding(**form) for form in entry["findings"]]
            except (ValueError, TypeError, KeyError):
                same = False
            if not same:
                raise click.UsageError(f"{self.path} is not the state of this check. Name another file, or remove it.")
            kept += len(text)
        if not kept and lines:
            raise click.UsageError(f"{self.path} is not the state of a check. Name another file, or remove it.")
        return kept

    def _write(self, entry: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(entry, ensure_ascii=True) + "\n")
        self._file.flush()

    def reached(self, path: str) -> int | None:
        return self._reached.get(path)

    def reach(self, path: str, chunks: int, findings: list[Finding]) -> None:
        if self._file is not None:
            self._write({"path": path, "chunks": chunks, "findings": [_as_json(each) for each in findings]})
