"""The differences that the notebook's widget sends in place of whole parts."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("anywidget")

from zarrscope.runtime.threads import Mailbox
from zarrscope_app.jupyter import Explorer
from zarrscope_app.jupyter.differences import difference, is_small
from zarrscope_app.presenters import Forgetful

VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]) | st.just(1.0)
CONTENTS = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner)
)


def patched(old: Any, change: Any) -> Any:
    """The content that the browser makes: the same as `patched` of elements.js."""
    if change is None:
        return old
    if isinstance(change, list):
        return change[0]
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


def test_a_page_that_opens_later_gets_the_present_content(tmp_path: Any) -> None:
    """The traits are the whole state: one page after another makes the same content from them."""
    import zarrscope

    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.root.attrs.put({f"note {i}": f"text {i}" for i in range(30)})
    mailbox = Mailbox()
    widget = Explorer(str(tmp_path / "a.zarr"), editable=True, settings=Forgetful(), post=mailbox)
    try:
        widget.wait()
        widget._receive(widget, {"do": "session.set_tab", "args": ["attributes"]})
        mailbox.run_until(lambda: len(widget.view["panel"].get("edit", {}).get("fields", ())) == 31)
        whole = widget.panel
        for number in (3, 4, 3):
            text = f"new {number} {widget.session.edit.state.changes}"
            widget._receive(widget, {"do": "edit.edit", "args": [f"/note {number}", text]})
            mailbox.run_until(
                partial(lambda told: told in json.dumps(widget.view["panel"]) and not widget._dirty, text)
            )
            held = json.loads(json.dumps(widget.get_state(["panel", "changes", "diff"])))
            assert held["panel"] == json.loads(json.dumps(whole)), "the whole form is not sent again"
            assert len(json.dumps(held["changes"])) < 1500
            assert patched(held["panel"], held["changes"]["panel"]) == json.loads(json.dumps(widget.view["panel"]))
        mailbox.run_until(lambda: text in widget.diff)
        widget._receive(widget, {"do": "session.set_tab", "args": ["info"]})
        mailbox.run_until(lambda: "info" in widget.view["panel"])
        assert widget.diff == ""
        assert "panel" not in widget.changes or widget.panel.get("tab") == "info"
    finally:
        widget.session.edit.revert()
        widget.close()
