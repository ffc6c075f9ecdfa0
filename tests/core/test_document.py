"""Editing a JSON document keeps all bytes that the edit does not concern."""

from __future__ import annotations

import copy
import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from narrowing import not_none
from zarrscope.errors import BadMetadata, NotFound, Refused, ZarrscopeError
from zarrscope.jsondoc import parse
from zarrscope.jsondoc.document import Document, same_json
from zarrscope.jsondoc.grammar import MAX_DEPTH
from zarrscope.jsondoc.parse import parse_json
from zarrscope.jsondoc.pointers import pointer_of, tokens_of
from zarrscope.jsondoc.spans import JsonSpan, outline, scan
from zarrscope.model.storage import Version

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> str:
    """`value` as a JSON writer or a person might spell it."""
    space = st.sampled_from(["", "", " ", "\n  ", "\t", "\r\n"])
    if isinstance(value, dict):
        members = [
            draw(space) + json.dumps(name, ensure_ascii=draw(st.booleans())) + draw(space) + ":" + draw(space)
            + draw(spelled(item)) + draw(space)
            for name, item in value.items()
        ]  # fmt: skip
        return "{" + (",".join(members) or draw(space)) + "}"
    if isinstance(value, list):
        return "[" + (",".join(draw(space) + draw(spelled(item)) + draw(space) for item in value) or draw(space)) + "]"
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    if isinstance(value, float) and "." in text and "e" not in text:
        text += "0" * draw(st.integers(0, 3))
    return text


INDENTS: list[int | str] = [2, 4, "\t"]


@st.composite
def documents(draw: st.DrawFn) -> tuple[Any, str]:
    value = draw(st.dictionaries(TEXT, VALUES, min_size=1, max_size=4))
    text = draw(
        st.one_of(
            spelled(value),
            st.just(json.dumps(value)),
            st.just(json.dumps(value, separators=(",", ":"))),
            st.sampled_from(INDENTS).map(lambda indent: json.dumps(value, indent=indent)),
        )
    )
    return value, draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n"]))


def places(value: Any, tokens: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [tokens]
    if isinstance(value, dict):
        for name, item in value.items():
            found += places(item, (*tokens, name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            found += places(item, (*tokens, str(i)))
    return found


def at(value: Any, tokens: tuple[str, ...]) -> Any:
    for token in tokens:
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value


def others_survive(old: Document, new: Document, edited: tuple[str, ...], moved: bool = False) -> None:
    """Checks that every value outside the edited place is spelled as before."""
    for place in places(old.value):
        inside = place[: len(edited)] == edited
        around = edited[: len(place)] == place
        shifted = moved and place[: len(edited) - 1] == edited[:-1]
        if not inside and not around and not shifted:
            assert new.text_at(pointer_of(place)) == old.text_at(pointer_of(place))


def spans(span: JsonSpan) -> Any:
    names = [(name.value, name.start, name.stop) for name in span.names]
    return span.kind, span.start, span.stop, repr(span.value), names, [spans(child) for child in span.children]


@given(documents())
def test_what_is_read(case: tuple[Any, str]) -> None:
    value, text = case
    document = Document(text.encode())
    assert same_json(document.value, value)
    assert spans(scan(document.text).root) == spans(outline(document.text, document.value)), (
        "two ways to the same places"
    )
    assert document.bytes == text.encode()
    for place in places(value):
        pointer = pointer_of(place)
        assert tuple(tokens_of(pointer)) == place
        assert same_json(document.get(pointer), at(value, place))
        assert same_json(json.loads(document.text_at(pointer)), at(value, place))


@given(documents(), VALUES, st.data())
def test_set_is_a_json_edit_that_keeps_all_else(case: tuple[Any, str], new: Any, data: st.DataObject) -> None:
    value, text = case
    place = data.draw(st.sampled_from(places(value)))
    document = Document(text.encode())
    edited = document.set(pointer_of(place), new)
    expected = copy.deepcopy(value)
    if place:
        parent = at(expected, place[:-1])
        parent[int(place[-1]) if isinstance(parent, list) else place[-1]] = new
    else:
        expected = new
    assert same_json(json.loads(edited.bytes.decode("utf-8-sig")), expected)
    others_survive(document, edited, place)
    span = not_none(document._find(pointer_of(place))).span
    begin, end = span.start, len(document.text) - span.stop
    assert edited.text[:begin] == document.text[:begin]
    assert edited.text[len(edited.text) - end :] == document.text[len(document.text) - end :]


@given(documents(), st.data())
def test_setting_what_is_there_changes_no_byte(case: tuple[Any, str], data: st.DataObject) -> None:
    value, text = case
    place = data.draw(st.sampled_from(places(value)))
    document = Document(text.encode())
    assert document.set(pointer_of(place), at(value, place)) is document
    assert document.set_text(pointer_of(place), document.text_at(pointer_of(place))) is document


@given(documents(), TEXT, VALUES, st.data())
def test_add_then_remove_is_nothing(case: tuple[Any, str], name: str, new: Any, data: st.DataObject) -> None:
    value, text = case
    inner = [place for place in places(value) if isinstance(at(value, place), dict | list)]
    place = data.draw(st.sampled_from(inner))
    container = at(value, place)
    document = Document(text.encode())
    expected = copy.deepcopy(value)
    if isinstance(container, dict):
        assume(name not in container)
        position = data.draw(st.none() | st.integers(0, 5))
        added = document.add(pointer_of((*place, name)), new, position)
        at(expected, place)[name] = new
        index = len(container) if position is None else min(position, len(container))
        assert list(added.get(pointer_of(place))).index(name) == index
        where = (*place, name)
    else:
        index = data.draw(st.integers(0, len(container)))
        where = (*place, str(index))
        added = document.add(pointer_of(where), new)
        at(expected, place).insert(index, new)
    assert same_json(added.value, expected)
    others_survive(document, added, where, moved=isinstance(container, list))
    removed = added.remove(pointer_of(where))
    assert same_json(removed.value, value)
    others_survive(document, removed, place)
    if container and index == len(container):
        assert removed.bytes == document.bytes


@given(documents(), st.data())
def test_remove_rename_and_move(case: tuple[Any, str], data: st.DataObject) -> None:
    value, text = case
    place = data.draw(st.sampled_from(places(value)[1:]))
    document = Document(text.encode())
    parent = at(value, place[:-1])

    expected = copy.deepcopy(value)
    holder = at(expected, place[:-1])
    del holder[int(place[-1]) if isinstance(holder, list) else place[-1]]
    removed = document.remove(pointer_of(place))
    assert same_json(removed.value, expected)
    others_survive(document, removed, place, moved=isinstance(parent, list))

    position = data.draw(st.integers(0, len(parent) - 1))
    moved = document.move(pointer_of(place), position)
    order = list(parent if isinstance(parent, dict) else range(len(parent)))
    item = order.pop(order.index(place[-1]) if isinstance(parent, dict) else int(place[-1]))
    order.insert(position, item)
    if isinstance(parent, dict):
        assert list(moved.get(pointer_of(place[:-1]))) == order
        assert same_json(moved.value, value)
    else:
        assert same_json(moved.get(pointer_of(place[:-1])), [parent[i] for i in order])
    assert sorted(moved.text) == sorted(document.text)

    if isinstance(parent, dict):
        name = data.draw(TEXT)
        if name in parent and name != place[-1]:
            with pytest.raises(Refused):
                document.rename(pointer_of(place), name)
        else:
            renamed = document.rename(pointer_of(place), name)
            old, new = document.get(pointer_of(place[:-1])), renamed.get(pointer_of(place[:-1]))
            assert list(new) == [name if each == place[-1] else each for each in old]
            assert renamed.text_at(pointer_of((*place[:-1], name))) == document.text_at(pointer_of(place))


@given(st.binary(max_size=60) | TEXT.map(str.encode) | documents().map(lambda case: case[1].encode()[:-3]))
def test_junk_is_a_value_or_bad_metadata(data: bytes) -> None:
    try:
        value = parse_json(data, key="a/zarr.json")
    except BadMetadata:
        with pytest.raises(BadMetadata, match=r"a/zarr\.json"):
            Document(data, "a/zarr.json")
    else:
        assert same_json(Document(data).value, value)


@given(st.text('{}[],:"\\ntrue-0.1e+NaIfinty \n', max_size=30))
def test_the_quick_parser_and_the_exact_one_agree(text: str) -> None:
    try:
        value = parse_json(text.encode())
    except BadMetadata:
        with pytest.raises(BadMetadata):
            scan(text)
    else:
        assert same_json(scan(text).root.value, value)


V3 = b"""{
  "zarr_format": 3,
  "attributes": {
    "scale": 1.50,
    "unit": "\\u00b5m",
    "axes": [{"name": "x", "type": "space"}, {"name": "y"}],
    "empty": {}
  },
  "shape": [
    1,
    2
  ]
}
"""


def test_new_members_look_like_their_neighbours() -> None:
    document = (
        Document(V3)
        .set("/attributes/new", {"a": {"b": 2}})
        .set("/attributes/axes/1/unit", "µm")
        .set("/attributes/empty/x", 1)
        .add("/shape/-", 3)
    )
    assert document.text == V3.decode().replace('{"name": "y"}', '{"name": "y", "unit": "\\u00b5m"}').replace(
        '"empty": {}\n',
        '"empty": {\n      "x": 1\n    },\n    "new": {\n      "a": {\n        "b": 2\n      }\n    }\n',
    ).replace("    2\n", "    2,\n    3\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1}', '{"a":1,"b":[1,{"c":"d"}]}'),
        ('{"a": 1}', '{"a": 1, "b": [1, {"c": "d"}]}'),
        ('{"x": {"a": 1, "z": 2}}', '{"x": {"a": 1, "z": 2}, "b": [1, {"c": "d"}]}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"b": [\n\t\t1,\n\t\t{\n\t\t\t"c": "d"\n\t\t}\n\t]\n}'),
        ('{\r\n "a" : 1\r\n}\r\n', '{\r\n "a" : 1,\r\n "b" : [\r\n  1,\r\n  {\r\n   "c" : "d"\r\n  }\r\n ]\r\n}\r\n'),
    ],
)
def test_styles(text: str, expected: str) -> None:
    assert Document(text).set("/b", [1, {"c": "d"}]).text == expected


def test_an_empty_document_gets_the_style_of_its_kind() -> None:
    assert Document("{}", "a/.zattrs").set("/b", 1).text == '{\n    "b": 1\n}'
    assert Document("{}", "a/zarr.json").set("/b", 1).text == '{\n  "b": 1\n}'


def test_spelling_survives_a_whole_new_value() -> None:
    document = Document('{"a": 1.50, "b": [1.0, 2.00, 3], "c": {"d": 1e3, "e": 5}}')
    edited = document.set("", {"a": 1.5, "b": [1.0, 7, 3, 4], "c": {"d": 1000.0, "f": 6}})
    assert edited.text == '{"a": 1.50, "b": [1.0, 7, 3, 4], "c": {"d": 1e3, "f": 6}}'


def test_what_the_standard_forbids_is_kept_and_noted() -> None:
    text = '\ufeff{"a": NaN, "b": [-Infinity], "b": [Infinity], "n": ' + "9" * 5000 + "}"
    document = Document(text.encode())
    assert math.isnan(document.get("/a"))
    assert document.get("/b") == [math.inf]
    assert document.get("/n") == math.inf
    assert len(document.notes) == 5
    assert any("/b" in note and "more than once" in note for note in document.notes)
    assert any("/a" in note and "NaN" in note for note in document.notes)
    edited = document.set("/c", 1)
    assert edited.text == text[:-1] + ', "c": 1}'
    assert document.set("", {**document.value, "d": 2}).get("/d") == 2
    assert document.remove("/b").value.keys() == {"a", "n"}


def test_half_characters_are_safe() -> None:
    document = Document(b'{"a": "\\ud800"}')
    assert document.value == {"a": "\ud800"}
    edited = document.set("/b", "x\udfff").rename("/a", "\ud801")
    assert edited.bytes == b'{"\\ud801": "\\ud800", "b": "x\\udfff"}'
    assert Document('{"\ud800": 1}').bytes == b'{"\\ud800": 1}'


def test_values_of_other_libraries() -> None:
    document = Document("{}").set("/a", np.float32(0.5)).set("/b", (np.int64(3), np.array([1, 2])))
    assert document.value == {"a": 0.5, "b": [3, [1, 2]]}
    assert Document("{}").set("/big", 10**4000).get("/big") == 10**4000


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (lambda d: d.set("/q/r", 1), NotFound),
        (lambda d: d.get("/q"), NotFound),
        (lambda d: d.text_at("/shape/2"), NotFound),
        (lambda d: d.remove("/q"), NotFound),
        (lambda d: d.set("shape", 1), Refused),
        (lambda d: d.set("/a~2", 1), Refused),
        (lambda d: d.set("/shape/5", 1), Refused),
        (lambda d: d.set("/shape/01", 1), Refused),
        (lambda d: d.set("/zarr_format/x", 1), Refused),
        (lambda d: d.add("/shape", 1), Refused),
        (lambda d: d.remove(""), Refused),
        (lambda d: d.rename("/shape/0", "x"), Refused),
        (lambda d: d.set("/x", math.nan), Refused),
        (lambda d: d.set("/x", {1: 2}), Refused),
        (lambda d: d.set("/x", b"bytes"), Refused),
        (lambda d: d.set("/x", 10**5000), Refused),
        (lambda d: d.set_text("/x", "{"), BadMetadata),
        (lambda d: d.set_text("/x", '1, "y": 2'), BadMetadata),
        (lambda d: d.set_text("/shape/0", ""), BadMetadata),
    ],
)
def test_edits_that_cannot_be_done(edit: Any, error: type[ZarrscopeError]) -> None:
    with pytest.raises(error):
        edit(Document(V3, "zarr.json"))


def test_text_is_put_in_as_it_is_spelled() -> None:
    document = Document(V3).set_text("/attributes/scale", " 2.500 ").set_text("/new", "[1,  2]")
    assert document.text_at("/attributes/scale") == "2.500"
    assert document.text_at("/new") == "[1,  2]"
    assert Document("1").set_text("", " {} ").text == "{}"


def test_version_and_key_go_with_the_document() -> None:
    document = Document(V3, "a/zarr.json", Version("1"))
    edited = document.set("/x", 1)
    assert (edited.key, edited.version) == ("a/zarr.json", Version("1"))
    assert edited.read_at(Version("2")).version == Version("2")
    assert document != edited
    assert document == Document(V3, "a/zarr.json", Version("1"))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b'{"a": 1,\n "b": [1, 2,]}', "Line 2, column 12: A comma with nothing after it .key 'zarr.json' at /b"),
        (b'{"a": 1,}', "comma with nothing"),
        (b"{'a': 1}", "double quotes"),
        (b'{"a": True}', "true, false and null"),
        (b'{"a": 1 // one\n}', "no comments"),
        (b'{"a": 01}', "number"),
        (b'{"a": 1 "b": 2}', "Expected a comma"),
        (b'{"a": "x\ny"}', "not closed on its line"),
        (b'{"a": "\\q"}', "escape"),
        (b'{"a": [1, 2', "too early"),
        (b'{"a": "x', "ends within this string"),
        (b'{"a": 1} {"b": 2}', "follows the end"),
        (b'{"a": "\xff"}', "Not UTF-8 text at line 1, byte 8"),
        ("{}".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"[" * 200_000, "512"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "512"),
        (b'{"a":' * 1000 + b"1" + b"}" * 1000, "512"),
        (b"[" + b" " * (17 << 20) + b"]", "at most"),
    ],
)
def test_faults_are_told_with_their_place(data: bytes, says: str) -> None:
    with pytest.raises(BadMetadata, match=says):
        parse_json(data, key="zarr.json")
    with pytest.raises(BadMetadata, match=says):
        Document(data, "zarr.json")


def test_depth_within_the_limit_is_read_and_brackets_in_strings_do_not_count() -> None:
    deep = b"[" * 400 + b"]" * 400
    assert Document(deep).set("/0", 1).value == [1]
    assert parse_json(b'["' + b"[" * 2000 + b'", "\\"' + b"{" * 2000 + b'"]')[0] == "[" * 2000


def test_equality_of_json_values() -> None:
    assert same_json({"a": [1, math.nan]}, {"a": [1, math.nan]})
    for a, b in [(1, 1.0), (1, True), (0, False), (0.0, -0.0), ([1], [1, 2]), ({"a": 1}, {"b": 1}), (None, False)]:
        assert not same_json(a, b)


def test_who_asks_while_another_thread_looks_for_the_parts_sees_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from zarrscope.jsondoc import spans

    text = '{"a": 1, "b": [2, 3]}'
    root = outline(text, json.loads(text))
    seen: list[int] = []
    real = spans._span_at

    def slow(text: str, at: int) -> JsonSpan:
        # Reads names and children while the first call still runs, as another thread might do. The real function comes
        # back first, so that this reading does not end up here again.
        monkeypatch.setattr(spans, "_span_at", real)
        seen.extend((len(root.names), len(root.children)))
        return real(text, at)

    monkeypatch.setattr(spans, "_span_at", slow)
    assert len(root.children) == 2
    assert seen == [2, 2]


@pytest.mark.parametrize(
    ("pointer", "advice"),
    [
        (
            "/attributes/multiscales/0/name",
            "The object at /attributes has no member 'multiscales', but its member 'ome' has one.",
        ),
        ("/attributes/nota", "The object at /attributes has no member 'nota'; there is 'note'."),
        ("/nothing", "The object at / has no member 'nothing'."),
        ("/attributes/ome/multiscales/7", None),
        ("/attributes/note/x", None),
    ],
)
def test_a_missing_value_names_the_object_that_lacks_it(pointer: str, advice: str | None) -> None:
    document = Document(b'{"attributes": {"ome": {"multiscales": [{"name": "a"}]}, "note": 1}}')
    with pytest.raises(NotFound) as caught:
        document.text_at(pointer)
    assert caught.value.pointer == pointer
    assert caught.value.advice == advice


@pytest.mark.parametrize(
    "text",
    ["", " ", " \t\n\r1\n ", "[1] 2", "1\x0c", "\xa01", "{}x", "nul", "[1,]", '{"a": "\n"}', '"\\ud800"', "-", "01"],
)
def test_the_quick_parser_accepts_what_the_json_package_accepts(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(BadMetadata):
            parse_json(text.encode())
    else:
        assert parse_json(text.encode()) == expected


def test_another_python_without_the_scanner_in_c_parses_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_json", None)
    scan = parse._scanner()
    monkeypatch.setattr(parse, "_scan", scan)
    assert parse_json(b' {"a": [1, 2.5, null]} ') == {"a": [1, 2.5, None]}
    with pytest.raises(BadMetadata):
        parse_json(b"[1] 2")
