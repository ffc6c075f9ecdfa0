"""`check`: what is wrong with a hierarchy, one line per finding; exit code 1 when one of them is an error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zarrscope.errors.confidential import without_numbers
from zarrscope_app.cli.console import (
    MISSING_IS_FILL,
    clustered,
    follow_links,
    place,
    say,
    show,
    show_json,
    storage_options,
)
from zarrscope_app.cli.streams import outlive_reader, steer

if TYPE_CHECKING:
    from zarrscope.check.finding import Finding
    from zarrscope.check.hierarchy import CheckProgress


@click.command("check")
@click.argument("url")
@click.argument("node", required=False)
@click.option("--no-chunks", is_flag=True, help="Check documents only; read no chunk.")
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
    no_chunks: bool,
    expect_all: bool,
    as_json: bool,
    resume: str | None,
    scheduler: str | Path | None,
    missing_is_fill: bool,
) -> int:
    """Checks documents, consistency and every stored chunk of NODE and all beneath it. Changes nothing.

    A finding is an error, a warning or information. A chunk that is not stored is information: it reads as the fill
    value. Exit code 1 when there is an error, else 0.

    \b
    Examples:
      zarrscope check cells.zarr
      zarrscope check cells.zarr 0 --expect-all
      zarrscope check cells.zarr --no-chunks --json
      zarrscope check https://example.org/cells.zarr --resume cells.check
    """
    import zarrscope
    from zarrscope.check import hierarchy as verify

    links = follow_links()
    hierarchy = zarrscope.open(url, storage_options=storage_options(missing_is_fill), follow_links=links)
    path = place(hierarchy, node)
    journal = _Journal(resume, _identity(url, path, not no_chunks, expect_all, links))
    if resume is not None:
        outlive_reader()
    counts = {"error": 0, "warning": 0, "information": 0}
    listed: list[dict[str, Any]] = []
    with journal, _shown_progress() as (progress, clear):

        def findings() -> Iterator[Finding]:
            yield from journal.findings
            yield from verify.check(
                hierarchy,
                path,
                chunks=not no_chunks,
                expect_all=expect_all,
                progress=progress,
                resume=journal,
                scheduler=scheduler,
            )

        for finding in findings():
            counts[finding.severity] += 1
            if as_json:
                listed.append(_form(finding))
            else:
                clear()
                show(line(finding))
    if as_json:
        show_json({"findings": listed, "summary": counts})
    else:
        say(summary(counts))
    return 1 if counts["error"] else 0


def line(finding: Finding) -> str:
    """One finding as a line of text, whatever the file says: "error  chunk-truncated  /0  Chunk (1, 2) has …"."""
    from zarrscope_app.presenters import strings

    where = f"key {finding.key!r}" if finding.key is not None else ""
    if finding.pointer:
        where += f" at {finding.pointer}"
    text = f"{finding.severity}  {finding.code}  {finding.path}  {finding.message}"
    return strings.clean(f"{text} ({where.strip()})" if where else text)


def summary(counts: dict[str, int]) -> str:
    from zarrscope_app.presenters import strings

    if not any(counts.values()):
        return "Nothing was found: all is as it should be."
    parts = [
        strings.counted(counts["error"], "error", "errors"),
        strings.counted(counts["warning"], "warning", "warnings"),
        f"{strings.counted(counts['information'], 'piece', 'pieces')} of information",
    ]
    return ", ".join(parts) + "."


def _form(finding: Finding) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(finding)


@contextmanager
def _shown_progress() -> Iterator[tuple[Any, Any]]:
    """Progress on one line of stderr, rewritten in place, if stderr is a terminal. Returns (show progress, clear the
    line)."""
    if not sys.stderr.isatty():
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
    """The arguments that must be equal for a journal to be resumed."""
    told = {"url": without_numbers(url), "path": path, "chunks": chunks, "all": expect_all}
    return {**told, "follow_links": True} if links else told


class _Journal:
    """The state of a check in a file: a line of JSON tells what is checked, then one per step with its findings.

    A step is appended in one write before its findings are shown. If a kill cut the last line short, it is ignored and
    its step is repeated.
    """

    def __init__(self, name: str | None, what: dict[str, Any]) -> None:
        self.path = Path(name) if name is not None else None
        self.findings: list[Finding] = []
        self._what = what
        self._reached: dict[str, int] = {}
        self._file: Any = None

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
                raise click.UsageError(
                    f"{self.path} belongs to another check, or to none. Name another file, or remove it."
                )
            kept += len(text)
        if not kept and lines:
            raise click.UsageError(f"{self.path} is no state of a check. Name another file, or remove it.")
        return kept

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry, ensure_ascii=True) + "\n")
        self._file.flush()

    def reached(self, path: str) -> int | None:
        return self._reached.get(path)

    def reach(self, path: str, chunks: int, findings: list[Finding]) -> None:
        if self._file is not None:
            self._write({"path": path, "chunks": chunks, "findings": [_form(each) for each in findings]})


COMMANDS = (check,)
