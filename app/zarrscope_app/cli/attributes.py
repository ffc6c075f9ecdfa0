"""`attrs`: shows attributes, sets one, removes one, edits all as text. Only the changed part of the document is written
anew; all other bytes stay. The text of a faulty document is shown and corrected as a whole."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import click

from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope_app.cli.color import show_changes
from zarrscope_app.cli.console import DefaultGroup, Failed, acting, opened, place, say, show, show_json

if TYPE_CHECKING:
    from zarrscope.errors import Conflict
    from zarrscope.jsondoc.document import Document
    from zarrscope.model.json_value import JSON
    from zarrscope.nodes.hierarchy import Hierarchy

DRY = click.option("--dry-run", is_flag=True, help="Show the change and the operations on the store, write nothing.")


@click.group(cls=DefaultGroup, default="get")
def attrs() -> None:
    """Shows or changes the attributes of a node.

    FIELD is a JSON pointer (/ome/multiscales/0/name) or a dotted name (ome.multiscales.0.name).

    \b
    Examples:
      zarrscope attrs cells.zarr
      zarrscope attrs get cells.zarr / /ome/omero/channels/0/label
      zarrscope attrs set cells.zarr / ome.multiscales.0.name '"x"' --dry-run
      zarrscope attrs unset cells.zarr labels/nuclei note
      zarrscope attrs edit cells.zarr labels/nuclei
    """


@attrs.command("get")
@click.argument("url")
@click.argument("node", required=False)
@click.argument("field", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print sorted ASCII JSON instead of the text as it is stored.")
@click.option("--raw", is_flag=True, help="Print a whole document as it is stored, even if it is not JSON.")
@click.option("--document", metavar="KEY", help="With --raw: the document to print, if the node has several.")
def get(url: str, node: str | None, field: str | None, as_json: bool, raw: bool, document: str | None) -> None:
    """Prints all attributes of NODE, or one FIELD, as JSON.

    \b
    Examples:
      zarrscope attrs get cells.zarr
      zarrscope attrs get cells.zarr 0 --json
      zarrscope attrs get cells.zarr / ome.version
      zarrscope attrs get cells.zarr labels --raw
    """
    from zarrscope.errors import NotFound

    try:
        hierarchy, found = opened(url, node)
    except NotFound as error:
        if node is not None and field is None:
            _check_field(url, node)
            if "/" not in node:
                advice = f"An attribute follows its node: attrs get {url} / {node}"
                error.advice = f"{error.advice} {advice}" if error.advice else advice
        raise
    if raw:
        from zarrscope.nodes.mending import whole_document

        _show_raw(whole_document(hierarchy, found.path, document or ""))
        return
    if document is not None:
        raise click.UsageError("--document needs --raw.")
    if as_json or field is None:
        value = found.attributes if field is None else _field(found.attributes, pointer(field))
        if as_json:
            show_json(value)
            return
        import json

        show(json.dumps(value, indent=2, ensure_ascii=False, default=dict))
        return
    base = attributes_pointer(hierarchy, found.path)
    show(_outdented(hierarchy.document(found.path).text_at(base + pointer(field))))


def _check_field(url: str, word: str) -> None:
    """Raises UsageError if a word in the place of NODE is an attribute of the node that the address names."""
    from zarrscope.errors import ZarrscopeError

    with suppress(ZarrscopeError):
        _field(opened(url)[1].attributes, pointer(word))
        raise click.UsageError(f"{word} is an attribute, not a node. Name its node first: attrs get {url} / {word}")


def _show_raw(document: Document) -> None:
    """Prints the text of a document on stdout; if it is not JSON, also a message about the fault on stderr."""
    from zarrscope.jsondoc.unparsed import UnparsedDocument
    from zarrscope_app.presenters.form import json_text, words

    show(document.text)
    if isinstance(document, UnparsedDocument):
        say(words.is_not_json(document.key, json_text.fault_of(document.fault).sentence))


def _outdented(text: str) -> str:
    """Removes the indentation that a value has because of its place in a document."""
    first, *rest = text.split("\n")
    indent = len(rest[-1]) - len(rest[-1].lstrip()) if rest else 0
    return "\n".join([first, *(line[min(indent, len(line) - len(line.lstrip())) :] for line in rest)])


def _field(attributes: JSON, where: str) -> JSON:
    from zarrscope.errors import NotFound
    from zarrscope.jsondoc.pointers import tokens_of

    value = attributes
    for token in tokens_of(where):
        try:
            value = value[int(token)] if isinstance(value, list | tuple) else value[token]
        except (KeyError, IndexError, ValueError, TypeError):
            raise NotFound("There is no such attribute", pointer=where) from None
    return value


@attrs.command("set")
@click.argument("url")
@click.argument("node")
@click.argument("field")
@click.argument("value")
@click.option("--allow-nan", is_flag=True, help="Allow what JSON forbids: NaN, Infinity, 1e400, or a name twice.")
@DRY
@acting
def set_(url: str, node: str, field: str, value: str, allow_nan: bool, dry_run: bool) -> None:
    """Sets one FIELD to VALUE, which is JSON: 0.108, '"text"', '[1, 2]'. The objects that contain FIELD must exist.

    With - as VALUE it is read from stdin, in UTF-8. An empty FIELD ('') stands for all attributes.

    Prints the change. Changes that others made meanwhile are not overwritten.

    \b
    Examples:
      zarrscope attrs set cells.zarr / /ome/multiscales/0/name '"x"' --dry-run
      zarrscope attrs set cells.zarr / note '"seen on Monday"'
      zarrscope attrs get cells.zarr / ome --json | zarrscope attrs set copy.zarr / ome -
    """
    import json
    import sys

    stdin = value == "-"
    try:
        if stdin:
            value = sys.stdin.buffer.read().decode("utf-8").strip()
        json.loads(value)
    except ValueError as error:
        if stdin:
            raise click.UsageError(f"stdin is not JSON in UTF-8: {error}. Nothing was written.") from None
        raise click.UsageError(
            f"The value {value!r} is not JSON. Text needs its own quotation marks: '\"{value}\"'."
        ) from None
    _change(url, node, dry_run, lambda document, base: _set(document, base, field, value), allow_nan)


def _place_of(field: str, document: Document, base: str) -> str:
    """The JSON pointer of a field to be set. Raises UsageError for a new name with a slash, which is more likely a
    pointer without its first slash than a name."""
    where = pointer(field)
    if "/" in field and not field.startswith("/") and not document.has(base + where):
        raise click.UsageError(f"{field!r} names no attribute. Write /{field} for a path, or {where} for a new name.")
    return where


def _set(document: Document, base: str, field: str, value: str) -> Document:
    """Sets the value. The object that holds the attributes may be missing or null in a node without attributes."""
    where = _place_of(field, document, base)
    from zarrscope.errors import NotFound

    try:
        return (document.with_object(base) if base and where else document).set_text(base + where, value)
    except NotFound as missing:
        held = where.rpartition("/")[0]
        if held and not document.has(base + held):
            first = next(place for place in _outer(held) if not document.has(base + place))
            missing.advice = f"Set {first} to '{{}}' first" + (
                "." if field.startswith("/") else f", or write /{field} for an attribute of this name."
            )
        raise


def _outer(where: str) -> list[str]:
    """The pointer and those to the objects around its value, the outermost first."""
    parts = where.split("/")
    return ["/".join(parts[: n + 1]) for n in range(1, len(parts))]


@attrs.command("unset")
@click.argument("url")
@click.argument("node")
@click.argument("field")
@DRY
@acting
def unset(url: str, node: str, field: str, dry_run: bool) -> None:
    """Removes one FIELD.

    \b
    Examples:
      zarrscope attrs unset cells.zarr / note
    """
    _change(url, node, dry_run, lambda document, base: document.remove(base + pointer(field)))


@attrs.command("edit")
@click.argument("url")
@click.argument("node", required=False)
@click.option("--document", metavar="KEY", help="Edit this whole document instead of the attributes.")
@click.option("--from", "source", type=click.File(encoding="utf-8"), help="Read the new text from a file; - is stdin.")
@click.option("--allow-nan", is_flag=True, help="Allow what JSON forbids: NaN, Infinity, 1e400, or a name twice.")
@DRY
@acting
def edit(
    url: str, node: str | None, document: str | None, source: IO[str] | None, allow_nan: bool, dry_run: bool
) -> None:
    """Opens the attributes of NODE as JSON in $EDITOR; without a terminal, give the new text by --from.

    If the document is not JSON, its whole text is edited as it is stored. A text that is not JSON is refused with its
    line and column, and nothing is written. Prints the change, and warns if the node would not be valid.

    \b
    Examples:
      zarrscope attrs edit cells.zarr labels/nuclei
      zarrscope attrs edit cells.zarr 0 --document 0/.zarray --from corrected.json --dry-run
    """
    from zarrscope_app.presenters.form import json_text, whole_text, words

    hierarchy, found = opened(url, node, write=True)
    draft = whole_text.read_draft(hierarchy, found.path, found.kind, document or "")
    before, fault = json_text.shown(draft)
    if fault is not None:
        say(json_text.told_of(draft, fault))
    text = source.read() if source is not None else _edited(before)
    while (fault := json_text.fault_in(text, draft)) is not None:
        told = json_text.told_of(draft, fault)
        if source is not None or not click.confirm(f"{told}\nEdit again?", default=True, err=True):
            raise Failed(f"{told} Nothing was written.")
        text = _edited(text)
    edited = json_text.edited(draft, text)
    from zarrscope.nodes.mending import consequence

    if draft.whole and (reason := consequence(hierarchy, found.path, edited)):
        say(f"Warning: {words.still_faulty(edited.key, reason)}")
    _store(hierarchy, found.path, draft.base, edited, dry_run, allow_nan)


def _edited(text: str) -> str:
    """Returns `text` as a person has edited it in $EDITOR. Raises UsageError without a terminal."""
    import sys

    if not sys.stdin.isatty():
        raise click.UsageError("There is no terminal for an editor: give the new text with --from FILE, or --from -.")
    after = click.edit(text, extension=".json", require_save=False)
    if after is None:
        raise Failed("The editor gave no text. Nothing was written.")
    return after if text.endswith("\n") else after.removesuffix("\n")  # click adds a line end


def pointer(field: str) -> str:
    """The JSON pointer of a field: "a.b.0" becomes "/a/b/0", and "/a/b/0" stays as it is."""
    if field == "" or field.startswith("/"):
        return field
    return pointer_of(field.split("."))


def _change(
    url: str, node: str, dry_run: bool, edit: Callable[[Document, str], Document], allow_nan: bool = False
) -> None:
    from zarrscope.jsondoc.parse import parsed_once

    with parsed_once():
        _changed(url, node, dry_run, edit, allow_nan)


def _changed(url: str, node: str, dry_run: bool, edit: Callable[[Document, str], Document], allow_nan: bool) -> None:
    from zarrscope.errors import ZarrscopeError
    from zarrscope.nodes.attributes import need_object

    hierarchy, _ = opened(url, node, write=True)
    path = place(hierarchy, node)
    document = hierarchy.document(path)
    base = attributes_pointer(hierarchy, path)
    try:
        edited = edit(document, base)
    except ZarrscopeError as error:
        need_object(document, base, path, hierarchy.url)
        raise error.located(store=hierarchy.url) from None
    _store(hierarchy, path, document, edited, dry_run, allow_nan)


def _store(
    hierarchy: Hierarchy, path: str, document: Document, edited: Document, dry_run: bool, allow_nan: bool
) -> None:
    """Shows the change and saves it."""
    from zarrscope.errors import Conflict

    if edited.bytes == document.bytes:
        say("Nothing changes.")
        return
    change = _diff(document, edited)
    if dry_run:
        show_changes(change)
        if hierarchy.writable:
            from zarrscope_app.presenters.nodes import operation_text

            log: list[Any] = []
            tried = hierarchy.dry_run(log)
            tried.save(path, edited, allow_nan=allow_nan)
            for operation in log:
                say(operation_text.line(operation, hierarchy.url))
            _tell_new(tried, hierarchy.warnings)
        say("Nothing was written (--dry-run).")
        return
    before = hierarchy.warnings
    try:
        hierarchy.save(path, edited, allow_nan=allow_nan)
    except Conflict as conflict:
        _tell_conflict(conflict, edited)
        conflict.advice = "Nothing was written. Run the command again to change the version that is stored now."
        raise Failed(str(conflict)) from None
    show_changes(change)
    _tell_new(hierarchy, before)


MOST_LINES = 40
"""The most lines of the difference that a conflict shows."""


def _tell_conflict(conflict: Conflict, edited: Document) -> None:
    """Prints to stderr how the version that is stored now differs from the one that was to be written."""
    from zarrscope.errors.visible import visible_lines
    from zarrscope_app.presenters.form.line_diff import changed_lines

    if conflict.theirs is None:
        say(f"{edited.key} is not stored any more.")
        return
    theirs = conflict.theirs.decode("utf-8", "replace")
    lines = list(changed_lines(theirs, edited.text, f"{edited.key} (stored now)", f"{edited.key} (not written)"))
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"… {len(lines) - MOST_LINES:,} more lines"]
    click.echo(visible_lines("\n".join(lines)), err=True)


def _tell_new(hierarchy: Hierarchy, before: tuple[str, ...]) -> None:
    for warning in hierarchy.warnings:
        if warning not in before:
            say(f"Warning: {warning}")


def _diff(before: Document, after: Document) -> str:
    from zarrscope_app.presenters.form.line_diff import changed_lines

    return "\n".join(changed_lines(before.text, after.text, f"{before.key} (stored)", f"{after.key} (new)"))
