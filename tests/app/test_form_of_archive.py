"""Every metadata document of the conformance archive, edited through the form: bytes outside the edited values stay.

The places of the values are found by a tokenizer of the tests (json_tokens), not by zarrscope's own.
"""

from __future__ import annotations

import csv
import re
import shutil
import zipfile
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest

from json_tokens import is_insertion, leaves_of, masked, only_adds, places_of
from one_form import OneForm
from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters.form.view_models import Field

pytestmark = [pytest.mark.needs("cases"), pytest.mark.timeout(900)]

LEVELS = re.compile(r".*/multiscales/0/(datasets/\d+/)?coordinateTransformations/(.+/)?(scale|translation)/\d+")
"""The pointers that an edit of one pixel size may change."""
TYPE = re.compile(r".*/coordinateTransformations/(.+/)?type")
CONSOLIDATED = (".zmetadata", "zarr.json")
FAMILIES = {"v2": (1, 290), "v3": (1, 650), "draft": (4, 380), "n5": (1, 55), "broken": (1, 80), "ome-json": (1, 170)}
"""The dialects of the manifest by their beginning → (every how many-th document is edited, how many that are at least).
Of the 1,706 documents of the drafts, most are written from the texts of the specifications and much alike."""
PIXEL_SIZES = {"v2": 15, "v3": 20, "ome-json": 50}
"""The least number of images of a family that get another pixel size."""
READ_ONLY = ("demands the", "open for reading only")
"""Words of the reasons why a document is not written: an extension that is unknown here, a broken root."""


def stores_of(unpacked: Path, family: str) -> list[Path]:
    csv.field_size_limit(10**8)
    with (unpacked / "MANIFEST.tsv").open(newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return [unpacked / path for path in sorted({row["path"] for row in rows if row["dialect"].startswith(family)})]


def copied(source: Path, to: Path, family: str) -> Path:
    """A copy of a store without its chunks. A document of OME-Zarr becomes the attributes of a group."""
    if family == "ome-json":
        to.mkdir()
        (to / ".zgroup").write_text('{"zarr_format": 2}')
        shutil.copy(source, to / ".zattrs")
    elif source.is_dir():
        shutil.copytree(source, to, symlinks=True, ignore=_chunks)
    else:
        to = to.with_suffix(source.suffix)
        shutil.copy(source, to)
    return to


def _chunks(folder: str, names: list[str]) -> list[str]:
    """The files of a folder that are no JSON documents."""
    files = [name for name in names if (path := Path(folder, name)).is_file() and not path.is_symlink()]
    return [name for name in files if _head(Path(folder, name)) != b"{"]


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


def read(place: Path, key: str) -> str | None:
    """A document of a store, or of one in a zip file; None if there is none. Bytes that are not UTF-8 stay distinct."""
    if place.is_dir():
        return _text((place / key).read_bytes()) if (place / key).is_file() else None
    with zipfile.ZipFile(place) as archive:
        return _text(archive.read(key)) if key in archive.namelist() else None


def files_of(place: Path) -> dict[str, object]:
    """The content of all files of a store, by their keys; in a zip file the checksums."""
    if place.is_dir():
        return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    with zipfile.ZipFile(place) as archive:
        return {entry.filename: (entry.CRC, entry.file_size) for entry in archive.infolist()}


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def other(field: Field) -> str:
    """Another value for a field."""
    if field.kind == "bool":
        return "false" if field.text == "true" else "true"
    if field.kind == "number":
        return "7" if field.text == "5" else "5"
    return "ABCDEF" if field.editor == "colour" else f"{field.text}q"


def why_touched(before: str, after: str, pointer: str) -> str:
    """The reason why more than the value at `pointer` of the attributes differs; "" if it does not."""
    if before == after:
        return "nothing was written"
    if masked(before, lambda each: each.endswith(pointer)) != masked(after, lambda each: each.endswith(pointer)):
        return f"bytes outside {pointer}"
    old, new = places_of(before), places_of(after)
    changed = [each for each in leaves_of(old) if before[slice(*old[each])] != after[slice(*new[each])]]
    return "" if len(changed) == 1 else f"several values: {changed}"


def why_touched_more(before: str, after: str) -> str:
    """The reason why an edit by meaning touched more than one value, or the sizes of all levels; "" if it did not."""
    old, new = places_of(before), places_of(after)
    if set(old) - set(new) or (before != after and set(new) - set(old)):
        # The identity becomes a scale of the size: its type is edited, too.
        one, other = (masked(text, lambda each: bool(TYPE.fullmatch(each))) for text in (before, after))
        return "" if only_adds(before, after) or only_adds(one, other) else "bytes outside the added members"
    changed = {each for each in leaves_of(old) if before[slice(*old[each])] != after[slice(*new[each])]}
    changed_values = {each for each in changed if not each.endswith("/omero/rdefs/model")}  # greyscale becomes colour
    if len(changed_values) > 1 and not all(map(LEVELS.fullmatch, changed)) and not _is_one_colour(changed):
        return f"several values: {sorted(changed)}"
    return "" if masked(before, changed.__contains__) == masked(after, changed.__contains__) else "bytes outside values"


def _in_place_of_null(before: str, after: str) -> bool:
    """Whether the attributes were null, and are an object now."""
    return any(
        before[slice(*places_of(before)[each])] == "null"
        and before[: places_of(before)[each][0]] == after[: places_of(after)[each][0]]
        and before[places_of(before)[each][1] :] == after[places_of(after)[each][1] :]
        for each in places_of(before)
        if each.endswith("attributes")
    )


def _is_one_colour(pointers: set[str]) -> bool:
    holders = {pointer.rpartition("/")[0] for pointer in pointers}
    return len(holders) == 1 and next(iter(holders)).endswith("/rgba")


def why_other_files(before: dict[str, object], after: dict[str, object], edited: set[str]) -> str:
    """The reason why other files than the edited documents and their consolidated copies differ; "" if none does."""
    if before.keys() != after.keys():
        return f"files came or went: {before.keys() ^ after.keys()}"
    differing = {key for key in before if before[key] != after[key]} - edited
    return f"also written: {differing}" if {key for key in differing if Path(key).name not in CONSOLIDATED} else ""


class Archive:
    """The edits of the documents of one family of stores: their counts, and sentences about faults."""

    def __init__(self, unpacked: Path, tmp_path: Path, mailbox: Mailbox, family: str) -> None:
        self.unpacked, self.tmp_path, self.mailbox, self.family = unpacked, tmp_path, mailbox, family
        self.every, self.least = FAMILIES[family]
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.seen: set[Path] = set()
        """The documents of the archive that were edited; stores of the manifest lie within others."""
        self.refusals: list[str] = []
        """Texts that a section did not accept."""
        self._where = ""

    def edit_all(self) -> None:
        for number, source in enumerate(stores_of(self.unpacked, self.family)):
            place = copied(source, self.tmp_path / str(number), self.family)
            try:
                form = OneForm(place, self.mailbox)
            except (ZarrscopeError, OSError):
                self.counts["stores that do not open"] += 1
                continue
            before, edited = files_of(place), set[str]()
            for path in form.nodes():
                if crc32(f"{source.name} {path}".encode()) % self.every:
                    continue
                if not form.show(path, "fields"):
                    self.counts["nodes without a form of attributes"] += 1
                    continue
                key = form.edit.state.key
                if (source / key) in self.seen or read(place, key) is None:
                    continue
                self.seen.add(source / key)
                edited.add(key)
                self._where = f"{source.relative_to(self.unpacked)} {path}"
                if self._edit_field(form, place, path):
                    self._edit_sections(form, place)
            form.close()
            if why := why_other_files(before, files_of(place), edited):
                self.wrong.append(f"{source.relative_to(self.unpacked)}: {why}")
            shutil.rmtree(place, ignore_errors=True)

    def _edit_field(self, form: OneForm, place: Path, path: str) -> bool:
        """Edits one value of the displayed document; of a document without one, adds a member. Returns whether the
        document may be written."""
        edit, key = form.edit, form.edit.state.key
        before = read(place, key)
        assert before is not None
        fields = [each for each in edit.state.fields if each.kind in ("text", "number", "bool")]
        chosen = fields[crc32(f"{key} {path}".encode()) % len(fields)] if fields else None
        if chosen is not None:
            edit.edit(chosen.pointer, other(chosen))
        else:
            edit.add("", "added", "1")
        if not form.save():
            self.counts["read-only"] += 1
            if not any(words in edit.state.sentence for words in READ_ONLY):
                self.wrong.append(f"{self._where}: {edit.state.sentence}")
            form.drop()
            return False
        self.counts["edited" if chosen is not None else "added to"] += 1
        after = read(place, key) or ""
        if chosen is not None:
            self._judge(why_touched(before, after, chosen.pointer))
        elif not is_insertion(before, after) and not _in_place_of_null(before, after):
            self._judge("bytes outside the added member")
        self._undo(form, place, before)
        return True

    def _edit_sections(self, form: OneForm, place: Path) -> None:
        """Edits the first field of each section of the view Image."""
        edit, key = form.edit, form.edit.state.key
        edit.show_way("image")
        for section in edit.state.sections if edit.state.way == "image" else ():
            fields = [f for row in section.rows for f in row.fields if f.kind in ("text", "number") and f.text]
            if not fields:
                continue
            before = read(place, key) or ""
            edit.edit(fields[0].pointer, other(fields[0]))
            if not form.save():
                self.refusals.append(f"{self._where} {fields[0].pointer}: {edit.state.sentence}")
                form.drop()
                continue
            self.counts[f"section {section.id}"] += 1
            self._judge(why_touched_more(before, read(place, key) or ""))
            self._undo(form, place, before)

    def _undo(self, form: OneForm, place: Path, before: str) -> None:
        form.edit.undo()
        saved = form.save() or form.save()  # a number that other readers may refuse is confirmed
        if not saved or read(place, form.edit.state.key) != before:
            self._judge("undone and saved, the document is not as before")

    def _judge(self, why: str) -> None:
        if why:
            self.wrong.append(f"{self._where}: {why}")


@pytest.mark.parametrize("family", FAMILIES)
def test_bytes_outside_the_edited_values_stay(
    family: str, unpacked: Path, tmp_path: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda file: None)  # the bytes are judged, not whether a crash keeps them
    archive = Archive(unpacked, tmp_path, mailbox, family)
    archive.edit_all()
    counts = archive.counts
    assert not archive.wrong, archive.wrong[:10]
    assert counts["edited"] + counts["added to"] + counts["read-only"] == len(archive.seen)
    assert len(archive.seen) >= archive.least, counts
    assert counts["section pixels"] >= PIXEL_SIZES.get(family, 0), counts
    assert len(archive.refusals) <= 2, archive.refusals  # dates of plates that are negative numbers


@pytest.mark.parametrize(
    ("after", "wrong"),
    [
        ('{"b": 1.50, "a": [2,  9]}', ""),
        ('{"b": 1.5, "a": [2,  9]}', "bytes outside"),
        ('{"b": 1.50, "a": [2, 9]}', "bytes outside"),
        ('{"b": 1.50, "a": [2,  3]}', "nothing"),
        ('{"b": 1.50, "a": [2,  9]}\n', "bytes outside"),
    ],
)
def test_a_byte_too_many_is_found(after: str, wrong: str) -> None:
    assert why_touched('{"b": 1.50, "a": [2,  3]}', after, "/a/1").startswith(wrong)
    assert bool(why_touched('{"b": 1.50, "a": [2,  3]}', after, "/a/1")) == bool(wrong)
