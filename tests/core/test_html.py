"""Hierarchies, groups and arrays as HTML for notebooks: bounded, without requests, and safe with any file."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

import zarrscope
from narrowing import not_none
from zarrscope.nodes.html import LIMIT, of_array, of_group
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import Counting

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e&amp;\x00"


def drawing(html: str) -> str:
    """The drawing of the chunk grid as SVG; "" if there is none."""
    found = re.search(r"data:image/svg\+xml;base64,([\w+/=]+)", html)
    return "" if found is None else base64.b64decode(found[1]).decode()


class Tags(HTMLParser):
    """Every tag with its attributes, and the text between."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(thing: Any) -> Tags:
    html = thing._repr_html_()
    assert len(html.encode()) <= LIMIT == 26_000
    found = Tags(html)
    assert set(found.tags) <= {"div", "b", "table", "tr", "td", "details", "summary", "pre"}
    assert found.names <= {"class", "style", "open", "role", "aria-label"}
    if drawn := drawing(html):
        ElementTree.fromstring(drawn)
    assert "color:#" not in html.replace("inherit", "")
    return found


@pytest.mark.parametrize(
    ("dtype", "fill", "text"),
    [("float32", 0, "0.0"), ("uint16", 7, "7"), ("bool", True, "True"), ("complex64", 1j, "1j"), ("<U3", "no", "'no'"),
     ("string", "no", "'no'")],
)  # fmt: skip
def test_a_fill_value_is_written_without_its_type(dtype: str, fill: object, text: str) -> None:
    array = zarrscope.open(MemoryStore(), "a").create_array("/a", shape=(4,), dtype=dtype, chunks=(2,), fill_value=fill)
    assert not_none(re.search(r"Fill value(.*?)Codecs", shown(array).text, re.S))[1].strip() == text


def test_labels_stand_beside_their_values_whatever_the_page_does_with_tables() -> None:
    """nbconvert and JupyterLab pad the cells of tables, and centre their text vertically."""
    html = zarrscope.open(MemoryStore(), "a").create_array("/a", shape=(4,), dtype="u1", chunks=(2,))._repr_html_()
    styles = [dict(part.split(":") for part in style.split(";")) for style in re.findall(r'<td style="([^"]+)"', html)]
    assert len(styles) >= 12
    assert {style["vertical-align"] for style in styles} == {"top"}
    assert {style["padding"].split()[0] for style in styles} == {"0"}
    assert html.count("<tr") == html.count("</tr>")


def test_a_page_that_allows_few_tags_leaves_the_drawing_out() -> None:
    """Its elements, and the texts in it, would be printed as text."""
    array = zarrscope.open(MemoryStore(), "a").create_array("/a", shape=(8, 512, 300), dtype="u1", chunks=(8, 256, 300))
    assert "300" in drawing(array._repr_html_())
    assert "8 × 512 × 300" in shown(array).text
    assert "300 512 8" not in shown(array).text


def test_without_folding_parts_there_are_only_tags_that_nearly_every_page_allows() -> None:
    """Those of nbconvert with sanitize_html."""
    hierarchy = zarrscope.open(MemoryStore(), "a")
    array = hierarchy.create_array("/g/a", shape=(8, 5), dtype="u1", chunks=(8, 5), attributes={"unit": "µm"})
    hierarchy.consolidate()
    group = zarrscope.open(hierarchy.store)["/g"]
    assert isinstance(group, zarrscope.Group)
    for html in (of_array(array, folded=False), of_group(group, folded=False)):
        assert {*Tags(html).tags} <= {"div", "span", "b", "pre"}
        assert "Dialect: Zarr v3" in Tags(html).text
    assert '"unit": "µm"' in Tags(of_array(array, folded=False)).text
    assert "Nodes" in Tags(of_group(group, folded=False)).text


def test_it_says_what_a_person_asks_first() -> None:
    hierarchy = zarrscope.open(MemoryStore(), "a")
    hierarchy.create_group("/g", {"name": "cells", "list": [1, {"a": None}], "empty": {}})
    array = hierarchy.create_array(
        "/g/a", shape=(10, 2000), dtype="uint16", chunks=(2, 100), shards=(10, 1000), fill_value=7,
        dimension_names=["z", "x"], attributes={"unit": "µm"},
    )  # fmt: skip
    text = shown(array).text
    for part in ("Array /g/a", "10 × 2,000", "(z, x)", "uint16", "2 × 100", "10 × 1,000", "sharding_indexed", "7",
                 "39.1 KiB", "1 attribute", '"unit": "µm"', hierarchy.dialect.title, hierarchy.url):  # fmt: skip
        assert part in text, part
    group = shown(hierarchy["/g"])
    assert "Group /g" in group.text
    assert "3 attributes" in group.text
    assert '"name": "cells"' in group.text
    assert "details" in group.tags
    assert hierarchy.url in shown(hierarchy).text


def test_it_makes_no_request() -> None:
    inner = MemoryStore()
    zarrscope.open(inner, "a").create_array("/a", shape=(8,), dtype="int8", chunks=(4,))
    store = Counting(inner)
    hierarchy = zarrscope.open(store)
    array, root = hierarchy["/a"], hierarchy.root
    assert sum(store.requests.values()) > 0
    store.reset()
    for thing in (hierarchy, root, array):
        shown(thing)
    assert sum(store.requests.values()) == 0


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_what_a_file_says_is_text_never_markup(dialect: str) -> None:
    hierarchy = zarrscope.open(MemoryStore(), "a", dialect=dialect)
    attributes = {HOSTILE: HOSTILE, "</pre></details><script>": [HOSTILE, {HOSTILE: HOSTILE}]}
    path = "/<b onclick=x>'\""
    hierarchy.create_group(path, attributes)
    hierarchy.create_array(path + "/a", shape=(2,), dtype="int8", chunks=(2,), attributes=attributes)
    for thing in (hierarchy[path], hierarchy[path + "/a"], hierarchy):
        found = shown(thing)
        assert "\u202e" not in found.text
        assert "\x00" not in found.text
    assert "<script>alert(1)</script>" in shown(hierarchy[path]).text


@pytest.mark.parametrize(
    "attributes",
    [
        {str(i): i for i in range(200_000)},
        {"text": "<&>\"'" * 300_000},
        {"<" * 50_000: "🧫" * 50_000},
        {"deep": json.loads("[" * 300 + "]" * 300)},
        {"wide": [[["&" * 190] * 100] * 100] * 100},
    ],
    ids=["many", "long", "names", "deep", "wide"],
)
def test_its_size_is_bounded_whatever_the_attributes(attributes: dict[str, Any]) -> None:
    from zarrscope.model.metadata import GroupMetadata
    from zarrscope.nodes.hierarchy import Group

    hierarchy = zarrscope.open(MemoryStore(), "a")
    names = tuple("w" * 5000 for _ in range(100))
    found = shown(Group(hierarchy, "/" + "&" * 9000, GroupMetadata("v3"), attributes, names))
    assert "…" in found.text


def test_an_array_that_cannot_be_decoded_says_why() -> None:
    store = MemoryStore()
    zarrscope.open(store, "a").create_array("/a", shape=(8,), dtype="int8", chunks=(4,))
    document = json.loads(store.get("a/zarr.json") or b"")
    document["codecs"] = [{"name": "example_unknown_codec", "configuration": {}}]
    store.set("a/zarr.json", json.dumps(document).encode())
    text = shown(zarrscope.open(store)["/a"]).text
    assert "⚠" in text
    assert "example_unknown_codec" in text


def _lines(thing: Any) -> list[int]:
    """The number of lines in each path of a drawing."""
    return [d.count("M") for d in re.findall(r'<path d="([^"]*)"', drawing(thing._repr_html_()))]


def test_chunks_and_shards_are_drawn() -> None:
    hierarchy = zarrscope.open(MemoryStore(), "a")
    plain = hierarchy.create_array("/plain", shape=(40, 60), dtype="uint8", chunks=(10, 20))
    sharded = hierarchy.create_array("/sharded", shape=(40, 60), dtype="uint8", chunks=(10, 10), shards=(20, 30))
    # outline, lines between chunks, lines between shards, frame
    assert _lines(plain) == [1, 3 + 2, 0, 1]
    assert _lines(sharded) == [1, 2 + 4, 1 + 1, 1]
    deep = hierarchy.create_array("/deep", shape=(5, 8, 40, 60), dtype="uint8", chunks=(1, 4, 10, 20))
    assert _lines(deep) == [1, 1 + 3 + 2, 0, 3]
    assert "5 × this" in shown(deep).text
    for odd in ((), (0, 4), (7,)):
        array = hierarchy.create_array(f"/odd{len(odd)}{odd[:1]}", shape=odd, dtype="uint8", chunks=(1,) * len(odd))
        assert bool(drawing(array._repr_html_())) == (odd == (7,))


def test_a_drawing_of_very_many_chunks_stays_small() -> None:
    hierarchy = zarrscope.open(MemoryStore(), "a")
    many = hierarchy.create_array("/many", shape=(10**6,) * 3, dtype="uint8", chunks=(1, 1, 1))
    assert max(_lines(many)) <= 3 * 24
    assert len(many._repr_html_()) < 8_000


def test_a_group_shows_the_nodes_that_consolidated_metadata_tell() -> None:
    store = MemoryStore()
    hierarchy = zarrscope.open(store, "a")
    hierarchy.create_group("/a")
    for i in range(60):
        hierarchy.create_array(f"/a/n{i:02}", shape=(2,), dtype="int8", chunks=(2,))
    assert "Nodes" not in shown(hierarchy.root).text, "to look for them would be a request"
    hierarchy.consolidate()
    counted = Counting(store)
    root = zarrscope.open(counted).root
    counted.reset()
    text = shown(root).text
    assert "a\n  n00\n  n01" in text
    assert "… and 37 more" in text
    assert sum(counted.requests.values()) == 0
