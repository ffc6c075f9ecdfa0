"""The differences that the notebook's widget sends in place of whole parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("anywidget")

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.jupyter import Explorer, differences
from zarrscope_app.jupyter.differences import LONG, checksum, difference, is_small, with_text_edits
from zarrscope_app.presenters import MemorySettings

VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]) | st.just(1.0)
CONTENTS = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner)
)


def patched(old: Any, change: Any) -> Any:
    """The content that the browser makes: the same as `patched` of elements.js."""
    if change is None:
        return old
    if isinstance(change, list):
        return change[0] if len(change) == 1 else with_text_edits(old, change)
    named = dict(enumerate(old)) if isinstance(old, list) else dict(old)
    for name, each in change.items():
        key = int(name) if isinstance(old, list) else name
        named[key] = patched(named[key], each)
    return list(named.values()) if isinstance(old, list) else named


@given(CONTENTS, CONTENTS)
def test_a_difference_makes_the_new_content_from_the_old(old: Any, new: Any) -> None:
    found = difference(old, new)
    assert json.dumps(patched(old, json.loads(json.dumps(found))), sort_keys=True) == json.dumps(new, sort_keys=True)
    assert (found is None) == (json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True))


def test_only_the_changed_member_is_in_it() -> None:
    old = {"rows": [{"text": "0.2", "unit": "µm"}, {"text": "1", "unit": "µm"}], "sizes": [1, 2, 3]}
    new = {"rows": [{"text": "0.2", "unit": "µm"}, {"text": "2", "unit": "µm"}], "sizes": [1, 2, 4]}
    assert difference(old, new) == {"rows": {"1": {"text": ["2"]}}, "sizes": [[1, 2, 4]]}
    assert not is_small({"a": ["0123456789"]}, {"a": "0123456789"})


PIECES = st.lists(st.sampled_from(["a", "b", "\n", "µ", "𝄞", "𝄟", "é" * 30, "x" * 90]), max_size=12).map("".join)


@given(PIECES, PIECES, PIECES, PIECES, PIECES)
def test_changes_of_a_long_text_are_sent_as_edits(before: str, first: str, kept: str, last: str, after: str) -> None:
    old, new = before + kept + after, before + first + kept + last + after
    for a, b in ((old, new), (new, old)):
        found = difference({"text": a}, {"text": b})
        assert patched({"text": a}, json.loads(json.dumps(found))) == {"text": b}
        if found is not None and len(b) < LONG:
            assert found == {"text": [b]}


def test_a_small_edit_of_a_long_text_takes_few_bytes() -> None:
    old = "\n".join(f'"channel {i}": "𝄞 {i * 7919}",' for i in range(2000))
    new = old.replace('"channel 1000": "𝄞 7919000"', '"channel 1000": "nuclei"')
    (found,) = difference({"text": old}, {"text": new}).values()
    assert old.encode("utf-16-le")[2 * found[0] : 2 * found[1]].decode("utf-16-le") == "𝄞 7919000"
    assert found[2] == "nuclei"
    assert with_text_edits(old, found) == new
    both = new.replace('"channel 990"', '"channel of old"').replace('"channel 1500": "𝄞 11878500",\n', "")
    found = difference(old, both)
    assert with_text_edits(old, found) == both
    assert len(found) == 9
    assert len(json.dumps(found)) < 100
    assert checksum("a𝄞") == checksum("a" + chr(0xD834) + chr(0xDD1E)), "browsers send a character in two halves"


def test_equal_plain_members_are_compared_without_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a long list has hundreds of fields with a dozen members each."""
    made = Mock(wraps=differences.difference)
    monkeypatch.setattr(differences, "difference", made)
    old = {"fields": [{"pointer": f"/{i}", "text": "a", "folded": False, "kinds": ["text"]} for i in range(400)]}
    new = json.loads(json.dumps(old))
    new["fields"][7]["text"] = "b"
    assert differences.difference(old, new) == {"fields": {"7": {"text": ["b"]}}}
    assert made.call_count <= 2 * 400 + 10, "for each field and its list"


def test_the_length_of_a_long_text_is_not_counted_by_writing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Mock(wraps=json.dumps)
    monkeypatch.setattr(json, "dumps", written)
    text = "x" * 1_000_000
    assert is_small({"edit": {"text": [5, 5, "y"]}}, {"tab": "attributes", "edit": {"text": text, "way": "json"}})
    assert not is_small({"edit": {"text": [text]}}, {"tab": "attributes", "edit": {"text": text}})
    assert max(len(str(call.args[0])) for call in written.call_args_list) < 1000


@pytest.fixture
def explorer(tmp_path: Path) -> Iterator[tuple[Explorer, Mailbox]]:
    """The widget on the attributes of a group that has thirty of them."""
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.root.attrs.put({f"note {i}": f"text {i}" for i in range(30)})
    mailbox = Mailbox()
    widget = Explorer(str(tmp_path / "a.zarr"), editable=True, settings=MemorySettings(), post=mailbox)
    widget.wait()
    widget._receive(widget, {"do": "session.set_tab", "args": ["attributes"]})
    yield widget, mailbox
    widget.session.edit.revert()
    widget.close()


def test_a_form_that_is_one_text_is_sent_without_its_lines(explorer: tuple[Explorer, Mailbox]) -> None:
    widget, mailbox = explorer
    widget._receive(widget, {"do": "edit.show_way", "args": ["json"]})
    mailbox.run_until(lambda: "note 29" in widget.view["panel"].get("edit", {}).get("text", ""))
    assert "fields" not in widget.view["panel"]["edit"]


def test_a_page_that_opens_later_gets_the_present_content(explorer: tuple[Explorer, Mailbox]) -> None:
    """The traits are the whole state: one page after another makes the same content from them."""
    widget, mailbox = explorer
    mailbox.run_until(lambda: len(widget.view["panel"].get("edit", {}).get("fields", ())) == 31)
    whole = widget.panel
    for number in (3, 4, 3):
        text = f"new {number} {widget.session.edit.state.changes}"
        widget._receive(widget, {"do": "edit.edit", "args": [f"/note {number}", text]})
        mailbox.run_until(partial(lambda told: told in json.dumps(widget.view["panel"]) and not widget._dirty, text))
        held = json.loads(json.dumps(widget.get_state(["panel", "changes", "diff"])))
        assert held["panel"] == json.loads(json.dumps(whole)), "the whole form is not sent again"
        assert len(json.dumps(held["changes"])) < 1500
        assert patched(held["panel"], held["changes"]["panel"]) == json.loads(json.dumps(widget.view["panel"]))
    mailbox.run_until(lambda: text in widget.view["diff"])
    widget._receive(widget, {"do": "session.set_tab", "args": ["info"]})
    mailbox.run_until(lambda: "info" in widget.view["panel"])
    assert widget.view["diff"] == ""
    assert "panel" not in widget.changes or widget.panel.get("tab") == "info"
