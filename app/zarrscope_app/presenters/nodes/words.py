"""The words of actions on nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from zarrscope_app.presenters import strings

BUTTONS = {
    "rename": "Rename",
    "move": "Move",
    "copy": "Copy",
    "remove": "Delete",
    "restore": "Restore",
    "empty-trash": "Erase",
    "create-group": "Create",
    "create-array": "Create",
    "add-labels": "Add",
    "build-levels": "Build",
    "consolidate": "Consolidate",
    "convert": "Convert",
}
_TITLES = {
    "create-group": "New group",
    "create-array": "New array",
    "add-labels": "New label image",
    "build-levels": "Build pyramid levels of",
    "consolidate": "Consolidate metadata",
    "restore": "Restore from the trash",
    "empty-trash": "Empty the trash",
    "convert": "Convert",
}
_DONE = {
    "rename": "renaming",
    "move": "moving",
    "copy": "copying",
    "remove": "deleting",
    "create-group": "creating",
    "create-array": "creating",
    "add-labels": "adding",
    "build-levels": "the new levels of",
    "consolidate": "consolidating",
    "restore": "restoring",
}

PLACE = "Place"
NEW_PLACE = "New place"
NEW_NAME = "New name"
NAME = "Name"
SHAPE = "Shape"
DTYPE = "Data type"
CHUNKS = "Chunks"
SHARDS = "Shards"
COMPRESSION = "Compression"
FILL = "Fill value"
AXES = "Axes"
LEVELS = "Levels"
FACTOR = "Factor"
METHOD = "Made by"
FORMAT = "Format"
TARGET = "To"
TRASH = "Move to the trash"
ENTRY = "What"
ALL_ENTRIES = "everything in the trash"
EMPTY_TRASH = "The trash is empty."
WHERE_IT_WAS = "Empty: the former path."
NO_LENGTHS = "Type whole numbers with commas between: 64, 512, 512."
UNDO = "Can be undone."
NO_NAME = "Type a name."
OTHER_NAME = "Type another name."
NAME_WITH_SLASH = "A name contains no slash. Move gives a node another place."
FINAL_ERASE = "This cannot be undone: the data are erased for good."
FINAL_COPY = "This cannot be undone here, where there is no trash: delete the copy instead."
FINAL_LEVELS = "This cannot be undone here, where there is no trash: the former levels are erased."
FINAL_CONVERT = "Nothing here is changed. To undo it, delete the new hierarchy."
UNDO_REMOVE = "Can be undone: it is kept in the trash beside the folder until that is emptied."
NO_TRASH = "There is no trash here: only folders on this computer beside which you may write have one."
TRASH_HINT = "Moved into the trash beside the folder. It takes as much space there as before."
NOT_COPIED = "The values copied so far were removed again."
UNFINISHED_LEVELS = (
    "Unfinished new levels are kept beside the former ones. To go on, build levels again with the same settings."
)
NOT_CONSOLIDATED = "Nothing was written."
GOES_ON = "An unfinished conversion is there: it goes on."
CHANGED_SINCE = "This cannot be undone any more: the node was changed since"
HOLDS_DATA = "It contains data now, and there is no trash here: delete it yourself"
GROUP_HINT = "A group holds arrays and other groups, as a folder does."
ARRAY_HINT = "An array of numbers. Nothing is stored but its description until values are written."
CONSOLIDATE = "A copy of all metadata at the root: remote readers need one request instead of one for each node."
CONSOLIDATED = "The present copy is replaced."
SAME_LEVELS = "The number of levels, including the finest. Empty: until height and width are at most 256."
NO_LEVELS = "The finest level is at most 256 in height and width, so it needs no other. Type how many there should be."
FACTOR_HINT = "The factor between levels: 2 for all axes in space, or z=1, y=2, x=2."
FILL_HINT = "The value of elements that were never written."
AXES_HINT = "Names with commas between: z, y, x. They may be left out."
METHODS = (
    ("", "automatic: mean, for labels nearest"),
    ("mean", "mean of each block"),
    ("nearest", "its first value"),
    ("mode", "its most frequent value"),
)
COMPRESSIONS = (
    ("zstd:3", "zstd: small and quick"),
    ("blosc", "blosc: zstd over sorted bytes"),
    ("gzip:5", "gzip: every reader has it"),
    ("none", "none"),
)
DTYPES = (
    "uint8",
    "uint16",
    "uint32",
    "int16",
    "int32",
    "float32",
    "float64",
    "bool",
    "uint64",
    "int8",
    "int64",
    "complex64",
    "complex128",
    "string",
)
SMALL_CHUNK = 64 << 10
LARGE_CHUNK = 256 << 20


def title(act: str, name: str) -> str:
    """The title of the dialog and of the job: "Move nuclei"; the root has no name."""
    if act in ("create-group", "create-array", "add-labels", "consolidate", "restore", "empty-trash"):
        return _TITLES[act]
    told = _TITLES.get(act, BUTTONS.get(act, ""))
    return f"{told} {strings.clean(name, 60)}" if name else told.removesuffix(" of")


def see_field(label: str) -> str:
    """The sentence about a form in which one field is not valid: 'Correct the field "Shape".'."""
    return f'Correct the field "{label}".'


def entry(path: str, when: datetime) -> str:
    """A node in the trash with the local time of its removal: "/labels/old · 2026-11-22 10:15"."""
    return strings.joined(strings.clean(path, 80), f"{when.astimezone():%Y-%m-%d %H:%M}")


def undoing(act: str, name: str) -> str:
    """("remove", "nuclei") → "deleting nuclei": the action that would be undone."""
    return f"{_DONE[act]} {strings.clean(name, 40)}".rstrip()


def undo_title(what: str) -> str:
    return f"Undo {what}"


def undone(what: str) -> str:
    return f"Undone: {what}."


def thrown(name: str) -> str:
    return f"{strings.clean(name, 60)} is in the trash."


def carried(doing: str, done: int) -> str:
    """The progress of a move or a copy: "copying: 1,536 values"."""
    return f"{doing}: {strings.counted(done, 'value')}"


def of_chunks(doing: str, done: int, total: int) -> str:
    """The progress of a conversion or a rebuild: "building: 12 of 40 chunks"."""
    return f"{doing}: {strings.count(done)} of {strings.counted(total, 'chunk')}"


def shape_hint(shape: Sequence[int], nbytes: int | None) -> str:
    """The hint of a typed shape: "64 × 512 × 512 values, 32.0 MiB before compression."."""
    values = strings.shape(shape)
    return f"{values} values." if nbytes is None else f"{values} values, {strings.size(nbytes)} before compression."


def chunks_hint(grid: int, chunk: Sequence[int], nbytes: int | None, guessed: bool) -> str:
    """The hint of typed chunks: "The smallest piece that is read or written: 16 chunks of 2.0 MiB."."""
    size = "" if nbytes is None else f" of {strings.size(nbytes)}"
    lengths = f" ({strings.shape(chunk)}, chosen for you)" if guessed else ""
    said = f"The smallest piece that is read or written: {strings.counted(grid, 'chunk')}{size}{lengths}."
    if nbytes is not None and nbytes < SMALL_CHUNK and grid > 1000:
        said += " They are small: a picture will need many of them."
    if nbytes is not None and nbytes > LARGE_CHUNK:
        said += " They are large: a picture will wait for data that it does not show."
    return said


def shards_hint(files: int, inside: int, nbytes: int | None) -> str:
    """The hint of typed shards: how many files they would make, and how many chunks each would contain."""
    if inside == 1:
        many = " Shards would make them fewer." if files > 10_000 else ""
        return f"Empty: each chunk is a file of its own, {strings.counted(files, 'file')}.{many}"
    size = "" if nbytes is None else f" of at most {strings.size(nbytes)}"
    many = f"{strings.counted(files, 'file')}{size}, {strings.count(inside)} chunks in each"
    return f"A file that holds several chunks: {many}."


def labels_hint(levels: Sequence[Sequence[int]], nbytes: int) -> str:
    finest = strings.shape(levels[0])
    many = f"{strings.counted(len(levels), 'level')} as the image has, the finest {finest}"
    return f"{many}. No values are stored until labels are drawn; at most {strings.size(nbytes)} when all is drawn."


def dtype_hint(dtype: str) -> str:
    """The hint of a data type for labels: the largest label that the type can hold."""
    bits = int("".join(letter for letter in dtype if letter.isdigit()) or 0)
    most = 2 ** (bits if dtype.startswith("u") else bits - 1) - 1
    return f"Labels 1 to {strings.count(most)}; 0 is the background."


def level_line(path: str, shape: Sequence[int], chunks: int, nbytes: int) -> str:
    told = f"{strings.shape(shape)}, {strings.counted(chunks, 'chunk')}, {strings.size(nbytes)}"
    return f"build  {strings.clean(path)}  ({told})"


def group_line(path: str) -> str:
    return f"make   {strings.clean(path)}"


def gone_line(path: str, trash: bool) -> str:
    return f"{'trash' if trash else 'erase'}  {strings.clean(path)}"


def node_line(how: str, path: str, shape: Sequence[int] | None, nbytes: int) -> str:
    if shape is None:
        return f"group    {strings.clean(path)}"
    return f"{how:<8} {strings.clean(path)}  ({strings.shape(shape)}, {strings.size(nbytes)})"


def levels_sentence(levels: int, chunks: int, nbytes: int, former: int, trash: bool) -> str:
    verb = "is" if levels == 1 else "are"
    built = f"{strings.counted(levels, 'level')} {verb} built in {strings.counted(chunks, 'chunk')}"
    built += f" ({strings.size(nbytes)})"
    if not former:
        return f"{built}."
    gone = {
        (True, True): "goes to the trash",
        (True, False): "is erased",
        (False, True): "go to the trash",
        (False, False): "are erased",
    }[former == 1, trash]
    return f"{built}; {strings.counted(former, 'former level')} {gone} at the end. The finest level is not touched."


def converting(title: str, nodes: int, chunks: int, nbytes: int) -> str:
    return (
        f"{strings.counted(nodes, 'node')} as {title}: {strings.counted(chunks, 'chunk')}, "
        f"{strings.size(nbytes)} of values, all compared at the end."
    )


def lost(count: int) -> str:
    return f"{strings.counted(count, 'part')} would be lost, so it cannot be converted to this format:"


def written(place: str) -> str:
    return f"Written: {strings.clean(place, 200)}."


def unfinished(place: str) -> str:
    """The remains of a cancelled conversion, and how to resume it or to remove them."""
    shown = strings.clean(place, 200)
    return f"Unfinished: {shown}. To go on, convert to the same place again; to remove it, delete it."


def not_moved(name: str) -> str:
    return f"{strings.clean(name, 60)} is where it was. {NOT_COPIED}"


def copies_remain(path: str) -> str:
    return f"Copied values could not be removed again: delete {strings.clean(path, 80)}."


def emptied(gone: int, of: int) -> str:
    """How much a cancelled erasing of the trash has erased: "2 of 5 entries were erased, the others are kept."."""
    return f"{gone} of {strings.counted(of, 'entry', 'entries')} were erased, the others are kept."


def copy_name(name: str) -> str:
    """The name that is proposed for a copy of a node in the same group: "cells-copy.ome.zarr", "0-copy"."""
    stem, ending = split_ending(name)
    return f"{stem}-copy{ending}"


def split_ending(name: str) -> tuple[str, str]:
    """A name and the ending by which programs recognise it: ("cells", ".ome.zarr"), ("0", "")."""
    found = re.search(r"(\.ome)?\.(zarr|zr3|n5)$", name, re.IGNORECASE)
    at = found.start() if found is not None and found.start() > 0 else len(name)
    return name[:at], name[at:]
