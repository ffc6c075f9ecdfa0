"""`image`: shows the metadata of images, and corrects them in several images at once: all are saved, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope_app.cli.attributes import DRY
from zarrscope_app.cli.color import show_changes
from zarrscope_app.cli.console import Failed, acting, opened, place, say, show, show_json

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.nodes.save_together import DocumentEdit
    from zarrscope_app.presenters.form.mending import Asked
    from zarrscope_app.presenters.form.sections.model import NodeFacts
    from zarrscope_app.presenters.form.view_models import FormSection


@click.command("image")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--pixel-size", metavar="AXIS=SIZE,...", help="The size at the finest level; others keep their factors.")
@click.option("--unit", metavar="UNIT", help="The unit of all spatial axes, or AXIS=UNIT,...; um, nm and s are known.")
@click.option("--name", metavar="TEXT", help="The name of the image.")
@click.option(
    "--axis", multiple=True, metavar="AXIS:MEMBER=...", help="name, type or unit of one axis; may be repeated."
)
@click.option(
    "--channel",
    multiple=True,
    metavar="N:MEMBER=...",
    help="name, color, window, active of one channel; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the metadata of the images as sorted JSON.")
@DRY
@acting
def image(
    urls: tuple[str, ...],
    pixel_size: str | None,
    unit: str | None,
    name: str | None,
    axis: tuple[str, ...],
    channel: tuple[str, ...],
    as_json: bool,
    dry_run: bool,
) -> None:
    """Shows or changes the metadata of images: pixel size, units, axes, channels, name.

    URL leads to the group of an OME-Zarr image, 0.1 to 0.6. A new pixel size changes the scale and the translation of
    every level. Prints the change to each document; with several URLs all are saved, or none.

    \b
    Examples:
      zarrscope image cells.zarr
      zarrscope image cells.zarr --pixel-size z=0.5,y=0.108,x=0.108 --unit um --dry-run
      zarrscope image a.zarr b.zarr --channel 0:name=DAPI,color=00f,window=100:4000
      zarrscope image old.zarr --axis 2:name=z,type=space
    """
    from zarrscope.jsondoc.parse import parsed_once

    asked = _asked(pixel_size, unit, name, axis, channel)
    with parsed_once():
        if not asked:
            _show(urls, as_json)
        elif as_json:
            raise click.UsageError("--json shows the metadata of images; it does not go with a change.")
        else:
            _change(urls, asked, dry_run)


def _asked(
    pixel_size: str | None, unit: str | None, name: str | None, axis: Sequence[str], channel: Sequence[str]
) -> list[Asked]:
    """The changes that the options ask for. Pixel sizes come first, because they add axes to images without axes."""
    from zarrscope.errors import Refused
    from zarrscope_app.presenters.form import mending

    def single(make: Callable[[str], Asked], value: str | None) -> list[Asked]:
        return [] if value is None else [make(value)]

    try:
        return [
            *single(mending.pixel_size_change, pixel_size),
            *(mending.axis_change(each) for each in axis),
            *single(mending.unit_change, unit),
            *single(mending.name_change, name),
            *(mending.channel_change(each) for each in channel),
        ]
    except Refused as mistake:
        raise click.UsageError(f"{mistake.message}.") from None


def _opened(url: str, urls: Sequence[str], write: bool = False) -> tuple[Hierarchy, Group | Array]:
    """Opens one of `urls`. Raises UsageError if it is a node of the first one, as other verbs take it."""
    from zarrscope.errors import NotFound, ZarrscopeError

    try:
        return opened(url, write=write, descend=True)
    except NotFound:
        if url == urls[0]:
            raise
        with suppress(ZarrscopeError), opened(urls[0])[0] as hierarchy:
            if place(hierarchy, url) in hierarchy:
                joined = f"{urls[0].rstrip('/')}/{url.strip('/')}"
                raise click.UsageError(f"image takes URLs only. To name a node, write one address: {joined}") from None
        raise


# ---------------------------------------------------------------------- showing
def _show(urls: Sequence[str], as_json: bool) -> None:
    from zarrscope_app.presenters import strings
    from zarrscope_app.presenters.form.mending import verdict, version_of
    from zarrscope_app.presenters.form.sections.model import Subject, node_facts
    from zarrscope_app.presenters.form.sections.table import sections_of

    told = []
    for url in urls:
        hierarchy, node = _opened(url, urls)
        with hierarchy:
            names = node.dimension_names if node.kind == "array" else None
            subject = Subject(node.attributes, node_facts(hierarchy, node), names=None if names is None else [*names])
            sections = sections_of(subject)
            if not any(field.text for section in sections for row in section.rows for field in row.fields):
                raise Failed(f"{url} {node.path} is no image: name the group of an image.")
            judged = verdict(node.attributes, version_of(node.attributes))
        if as_json:
            told.append({"url": url, "path": node.path, "sections": [_form(each) for each in sections]})
            continue
        show("\n".join([strings.clean(f"{url} {node.path}"), *_lines(sections), judged.sentence]))
    if as_json:
        show_json(told)


def _form(section: FormSection) -> dict[str, Any]:
    fields = {field.pointer: field.text for row in section.rows for field in row.fields}
    return {"id": section.id, "fields": fields, "notes": list(section.notes)}


def _lines(sections: Sequence[FormSection]) -> list[str]:
    lines = []
    for section in sections:
        lines.append(section.title)
        for row in section.rows:
            if not row.label:  # the check box of the form that links pixel sizes
                continue
            values = "  ".join(field.summary or "–" for field in row.fields)
            lines.append("  " + "  ".join(part for part in (f"{row.label:<2}", values, row.note) if part.strip()))
        lines += [f"  {note}" for note in section.notes]
    return lines


# ---------------------------------------------------------------------- changing
@dataclass(frozen=True)
class _Mended:
    """One image: its document before and after the change, the shapes of its arrays, and the JSON pointer to its
    attributes in the document."""

    url: str
    edit: DocumentEdit
    facts: NodeFacts
    prefix: str


def _change(urls: Sequence[str], asked: Sequence[Asked], dry_run: bool) -> None:
    with ExitStack() as stack:
        mended = [_mended(url, urls, asked, stack) for url in urls]
        changed = [each for each in mended if each.edit.after.bytes != each.edit.before.bytes]
        for each in changed:
            _tell(each)
        if not changed:
            say("Nothing changes.")
        elif dry_run:
            _show_dry_run(changed)
        else:
            _save(changed)


def _mended(url: str, urls: Sequence[str], asked: Sequence[Asked], stack: ExitStack) -> _Mended:
    from zarrscope.nodes.save_together import DocumentEdit
    from zarrscope_app.presenters.form.mending import mended, need_validity
    from zarrscope_app.presenters.form.sections.model import node_facts

    hierarchy, node = _opened(url, urls, write=True)
    stack.enter_context(hierarchy)
    document, prefix = hierarchy.document(node.path), attributes_pointer(hierarchy, node.path)
    facts = node_facts(hierarchy, node)
    try:
        after = mended(document, prefix, facts, asked)
        need_validity(document.get(prefix, {}), after.get(prefix, {}))
    except Exception as error:
        from zarrscope.errors import ZarrscopeError

        if isinstance(error, ZarrscopeError):
            raise error.located(store=hierarchy.url, key=document.key) from None
        raise
    return _Mended(url, DocumentEdit(hierarchy, node.path, document, after), facts, prefix)


def _tell(each: _Mended) -> None:
    from zarrscope_app.presenters.form.line_diff import changed_lines
    from zarrscope_app.presenters.form.mending import followers, verdict, version_of
    from zarrscope_app.presenters.form.sections.shown_channels import added_windows

    before, after = each.edit.before, each.edit.after
    name = f"{each.url.rstrip('/')}/{before.key}" if before.key not in each.url else each.url
    show_changes("\n".join(changed_lines(before.text, after.text, f"{name} (stored)", f"{name} (new)")))
    attributes = after.get(each.prefix, {})
    added = added_windows(before.get(each.prefix, {}), attributes, each.facts.read_channels)
    for sentence in (added, *followers(attributes, each.facts), verdict(attributes, version_of(attributes)).sentence):
        if sentence:
            say(sentence)


def _show_dry_run(changed: Sequence[_Mended]) -> None:
    from zarrscope.nodes.save_together import dry_run_together
    from zarrscope_app.presenters.nodes import operation_text

    for hierarchy, log in dry_run_together([each.edit for each in changed]):
        for operation in log:
            say(operation_text.line(operation, hierarchy.url))
    say("Nothing was written (--dry-run).")


def _save(changed: Sequence[_Mended]) -> None:
    from zarrscope.errors import Conflict
    from zarrscope.nodes.save_together import save_together

    known = {warning for each in changed for warning in each.edit.hierarchy.warnings}
    try:
        save_together([each.edit for each in changed])
    except Conflict as conflict:
        raise Failed(f"{conflict} Nothing was written; run the command again.") from None
    for each in changed:
        for warning in each.edit.hierarchy.warnings:
            if warning not in known:
                known.add(warning)
                say(f"Warning: {warning}")
