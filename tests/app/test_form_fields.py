"""The table of form fields: where each row applies, its editor in every host, and a row of another package."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
import zarrscope_app
from contracts.journeys import SECONDS
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import KINDS, EditPresenter, EditStatus, Session
from zarrscope_app.presenters.form.field_editors import BUILT_IN, DOMAIN, EDITORS, JSON

Install = Callable[..., None]
POINT = "[zarrscope.form_fields]\nlicence = example_field:LICENCE\n"
ATTRIBUTES = {
    "license": "CC0-1.0",
    "text": "a",
    "number": 1,
    "bool": True,
    "null": None,
    "list": [[]],
    "object": {"type": "space", "unit": "meter", "color": "red", "scale": [-1]},
    "ome": {
        "version": "0.5",
        "multiscales": [
            {
                "axes": [{"name": "y", "type": "space", "unit": "meter"}, {"name": "t", "type": "time", "unit": "day"}],
                "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 1]}]}],
            }
        ],
        "omero": {"channels": [{"color": "00FF00"}]},
        "plate": {"acquisitions": [{"starttime": 1343731272000}]},
    },
}
AXES = "/ome/multiscales/0/axes"
SCALE = "/ome/multiscales/0/datasets/0/coordinateTransformations/0/scale/0"
TIME = "/ome/plate/acquisitions/0/starttime"
COLOUR = "/ome/omero/channels/0/color"
PLACES = {
    f"{AXES}/0/unit": "unit",
    f"{AXES}/0/type": "axis-type",
    SCALE: "pixel-size",
    COLOUR: "colour",
    TIME: "date",
    "/text": "text",
    "/number": "number",
    "/bool": "bool",
    "/null": "null",
    "/list": "list",
    "/object": "object",
}


@pytest.fixture
def place(tmp_path: Path) -> str:
    zarrscope.open(str(tmp_path / "x.zarr"), "w-").create_group("/g", attributes=ATTRIBUTES)
    return str(tmp_path / "x.zarr")


@pytest.fixture
def session(place: str, mailbox: Mailbox) -> Iterator[Callable[[], Session]]:
    made: list[Session] = []

    def session() -> Session:
        made.append(Session(place, mailbox, writable=True, path="/g"))
        mailbox.run_until(lambda: bool(made[-1].edit.state.fields), SECONDS)
        made[-1].edit.show_way("fields")
        return made[-1]

    yield session
    for each in made:
        each.close()


def test_every_row_has_a_place_here() -> None:
    assert set(PLACES.values()) == set(BUILT_IN)
    assert {row.id for row in JSON} == set(KINDS)
    assert {row.editor for row in (*DOMAIN, *JSON)} == set(EDITORS)


@pytest.mark.parametrize("pointer", PLACES)
def test_the_row_at_its_place(session: Callable[[], Session], pointer: str) -> None:
    field = session().edit.field(pointer)
    assert field is not None
    assert (field.row, field.editor) == (PLACES[pointer], BUILT_IN[PLACES[pointer]].editor)


def test_names_alone_make_no_field_of_ome_zarr(session: Callable[[], Session]) -> None:
    edit = session().edit
    fields = [edit.field(f"/object/{name}") for name in ("type", "unit", "color", "scale/0")]
    assert [field.row for field in fields if field is not None] == ["text", "text", "text", "number"]


def test_units_are_those_of_the_axis(session: Callable[[], Session]) -> None:
    edit = session().edit
    space, time = (edit.field(f"{AXES}/{i}/unit") for i in range(2))
    assert space is not None
    assert time is not None
    assert [name in space.choices for name in ("micrometer", "second")] == [True, False]
    assert [name in time.choices for name in ("micrometer", "second")] == [False, True]


@pytest.mark.parametrize(
    ("pointer", "wrong", "said", "right"),
    [
        (SCALE, "0", "The size of a pixel is greater than zero.", "0.108"),
        (SCALE, "-1", "The size of a pixel is greater than zero.", "1e-3"),
        (SCALE, "a", "This is not a number. Use a point, no separators: 0.108 or 1e-3.", "2"),
        (COLOUR, "green", "This is not a colour. Use six hexadecimal digits: 00FF7F.", "00ff7F"),
        (COLOUR, "#00FF00", "This is not a colour. Use six hexadecimal digits: 00FF7F.", "0000FF"),
    ],
)
def test_what_is_refused_stays_as_typed_with_a_sentence(
    session: Callable[[], Session], pointer: str, wrong: str, said: str, right: str
) -> None:
    edit = session().edit
    edit.edit(pointer, wrong)
    assert (edit.state.status, _field(edit, pointer).error, _field(edit, pointer).text) == (
        EditStatus.INVALID,
        said,
        wrong,
    )
    edit.edit(pointer, right)
    assert (edit.state.status, _field(edit, pointer).text) == (EditStatus.DIRTY, right)


def _field(edit: EditPresenter, pointer: str) -> Any:
    return edit.field(pointer)


def _faults(session: Session) -> list[Any]:
    """All problems except that of the node, whose image has no levels."""
    return [problem for problem in session.problems.items if problem.path != "/g"]


# ---------------------------------------------------------------------- a row of another package
def test_it_is_a_row_like_the_others(install: Install, session: Callable[[], Session]) -> None:
    install("example-field", POINT, "example_field")
    edit = session().edit
    field = _field(edit, "/license")
    assert (field.row, field.title, field.choices) == ("licence", "licence", ("CC0-1.0", "CC-BY-4.0"))
    edit.edit("/license", "MIT")
    assert (edit.state.status, edit.state.sentence) == (EditStatus.INVALID, "Only Creative Commons here.")
    edit.edit("/license", "CC-BY-4.0")
    assert edit.state.status is EditStatus.DIRTY


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0", "does not load: ZeroDivisionError"),
        ("BAD = 3", "it is no FieldEditor"),
        ("from example_field import *\nBAD = FieldEditor('x', 'x', lambda place: True, 'wheel')", "known editor"),
        (
            "from example_field import *\nBAD = FieldEditor('x', 'x', lambda place: place.none, 'line')",
            "fails: Attribu",
        ),
        (
            "from example_field import *\n"
            "BAD = FieldEditor('x', 'x', lambda p: p.value == 'a', 'line', choices=lambda p: 5)",
            "fails: TypeError",
        ),
    ],
)
def test_a_broken_one_is_one_sentence_and_the_form_works(
    install: Install, session: Callable[[], Session], mailbox: Mailbox, text: str, said: str
) -> None:
    install("example-field", POINT, "example_field")
    install("broken-field", "[zarrscope.form_fields]\nbad = broken_field:BAD\n", broken_field=text)
    opened = session()
    assert opened.edit.state.fields, "the fields are made while the form is displayed"
    mailbox.run_until(lambda: bool(_faults(opened)), SECONDS)
    [problem] = _faults(opened)
    assert said in problem.headline
    opened.edit.edit("/text", "b")
    assert opened.edit.state.status is EditStatus.DIRTY
    assert _field(opened.edit, "/license").row == "licence"


def test_a_date_of_another_package_is_typed_as_a_date(
    install: Install, session: Callable[[], Session], place: str
) -> None:
    install("example-field", "[zarrscope.form_fields]\nembargo = example_field:EMBARGO\n", "example_field")
    zarrscope.open(place, "r+")["/g"].attrs.update({"embargo": 1343731272000})
    edit = session().edit
    field = _field(edit, "/embargo")
    assert (field.row, field.title, field.editor) == ("embargo", "end of the embargo", "date")
    assert field.summary == "1343731272000 · 2012-07-31T10:41:12Z"
    edit.edit("/embargo", "2026-11-22 10:15")
    assert edit.state.status is EditStatus.DIRTY
    field = _field(edit, "/embargo")
    assert (field.error, field.text) == ("", "1795342500000")
    assert field.summary == "1795342500000 · 2026-11-22T10:15:00Z"


def test_two_of_one_name_are_told(install: Install, session: Callable[[], Session]) -> None:
    install("example-field", POINT, "example_field")
    install("other-field", POINT)
    install("third-field", "[zarrscope.form_fields]\nlicence = example_field:FieldEditor\n")
    opened = session()
    [problem] = _faults(opened)
    assert problem.headline.startswith("Several packages add 'licence': ")
    assert _field(opened.edit, "/license").row == "text"


# ---------------------------------------------------------------------- hosts
@pytest.mark.needs("qt")
def test_every_host_has_every_editor() -> None:
    from zarrscope_app.qt import editors as window
    from zarrscope_app.tui import editors as terminal

    assert set(window.EDITORS) == set(terminal.EDITORS) == set(EDITORS)
    script = (Path(zarrscope_app.__file__).parent / "jupyter" / "static" / "form.js").read_text()
    table = script.partition("const EDITORS = {")[2].partition("};")[0]
    # in this host null is shown as a line
    assert set(re.findall(r"^ +(\w+): \(f\)", table, re.M)) == set(EDITORS) - {"none"}


@pytest.mark.needs("qt")
@pytest.mark.parametrize("host", ["window", "dock"])
def test_in_windows(install: Install, place: str, qtbot: Any, request: Any, host: str) -> None:
    from qtpy.QtCore import QModelIndex
    from qtpy.QtWidgets import QComboBox, QLineEdit, QStyleOptionViewItem, QWidget

    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.qt.editors import Colour
    from zarrscope_app.qt.window import Window

    install("example-field", POINT, "example_field")
    window: Any  # a Window or an Explorer
    if host == "window":
        window = Window(MemorySettings())
        window.open(place, True)
        session = window.workspace.current
    else:
        from zarrscope_app.napari.dock import Explorer

        window = Explorer(request.getfixturevalue("make_napari_viewer")(), settings=MemorySettings())
        window.open(place)
        session = window.session
        qtbot.waitUntil(lambda: session.state.status.value == "ready", timeout=SECONDS * 1000)
        session.set_writable(True)
    qtbot.addWidget(window, before_close_func=lambda _: session.close())
    qtbot.waitUntil(lambda: session.hierarchy is not None and session.hierarchy.writable, timeout=SECONDS * 1000)
    session.edit.show_way("fields")
    session.set_tab("attributes")
    window.show()
    session.select("/g")
    qtbot.waitUntil(lambda: session.edit.field("/license") is not None, timeout=SECONDS * 1000)
    qtbot.waitUntil(lambda: window.form.model.place_of("/license") is not None, timeout=SECONDS * 1000)
    form, parent = window.form, QWidget()
    qtbot.addWidget(parent)

    def editor(pointer: str) -> tuple[Any, QModelIndex]:
        index = form.model.at(form.model.place_of(pointer), 1)
        delegate = form.view.itemDelegate()
        made = delegate.createEditor(parent, QStyleOptionViewItem(), index)
        delegate.setEditorData(made, index)
        return made, index

    box, index = editor("/license")
    assert isinstance(box, QComboBox)
    assert ([box.itemText(i) for i in range(box.count())], box.currentText()) == (["CC0-1.0", "CC-BY-4.0"], "CC0-1.0")
    box.setEditText("CC-BY-4.0")
    form.view.itemDelegate().setModelData(box, form.model, index)
    assert session.edit.field("/license").text == "CC-BY-4.0"
    units, _ = editor(f"{AXES}/0/unit")
    units.setEditText("")
    qtbot.keyClicks(units, "m")
    assert units.currentText() == "m"  # the typed text is not completed without a request
    assert isinstance(editor(COLOUR)[0], Colour)
    assert editor(COLOUR)[0].text() == "00FF00"
    assert type(editor(SCALE)[0]).__name__ != "ChoiceBox"
    assert isinstance(editor(SCALE)[0], QLineEdit)
    units, _ = editor(f"{AXES}/0/unit")
    assert units.currentText() == "meter"
    assert units.findText("micrometer") >= 0
    session.edit.revert()
    if host == "dock":
        window.stop()


def test_in_the_terminal(install: Install, place: str) -> None:
    from zarrscope_app.tui.app import Explorer
    from zarrscope_app.tui.form_lines import FormLines

    install("example-field", POINT, "example_field")
    app = Explorer(f"{place}/g", writable=True)

    def cursor_on(pointer: str) -> None:
        form = app.query_one("#attributes", FormLines)
        app.keyboard.focus(form)
        form.move([field.pointer for field in app.session.edit.state.fields].index(pointer))

    async def until(pilot: Any, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not happened():
                await pilot.pause(0.01)

    async def edit() -> None:
        async with app.run_test(size=(120, 60)) as pilot:
            s = app.session
            await until(pilot, lambda: s.edit.field("/license") is not None)
            s.edit.show_way("fields")
            s.set_tab("attributes")
            await until(pilot, lambda: app._panes.current == "attributes")
            cursor_on("/license")
            await pilot.press("enter", "2")  # of the sheet
            assert _field(s.edit, "/license").text == "CC-BY-4.0"
            cursor_on("/license")
            await pilot.press("enter", "0", *(["backspace"] * 9), "M", "I", "T", "enter")
            assert _field(s.edit, "/license").error == "Only Creative Commons here."
            cursor_on("/bool")
            await pilot.press("enter")
            assert _field(s.edit, "/bool").text == "false"
            cursor_on(COLOUR)
            await pilot.press("enter", "end", "backspace", "1", "enter")
            assert _field(s.edit, COLOUR).text == "00FF01"
            s.edit.revert()

    asyncio.run(edit())


def test_in_the_notebook(install: Install, place: str, mailbox: Mailbox) -> None:
    from zarrscope_app.jupyter import Explorer

    install("example-field", POINT, "example_field")
    widget = Explorer(place, path="/g", post=mailbox, editable=True)
    try:
        widget._receive(widget, {"do": "session.set_tab", "args": ["attributes"]})
        mailbox.run_until(lambda: bool(widget.view["panel"].get("edit", {}).get("sections")), SECONDS)
        widget.session.edit.show_way("fields")
        mailbox.run_until(lambda: widget.view["panel"]["edit"]["way"] == "fields", SECONDS)
        sent = {field["pointer"]: field for field in widget.view["panel"]["edit"]["fields"]}
        assert (sent["/license"]["editor"], sent["/license"]["choices"]) == ("choice", ["CC0-1.0", "CC-BY-4.0"])
        assert (sent[COLOUR]["editor"], sent["/bool"]["editor"]) == ("colour", "check")
        widget._receive(widget, {"do": "edit.edit", "args": ["/license", "MIT"]})
        mailbox.run_until(lambda: widget.view["panel"]["edit"]["sentence"] == "Only Creative Commons here.", SECONDS)
    finally:
        widget.session.edit.revert()
        widget.close()


@pytest.mark.needs("qt")
def test_a_white_colour_has_an_edge_on_a_white_field(qtbot: Any) -> None:
    from qtpy.QtWidgets import QWidget

    from zarrscope_app.qt.editors import Colour

    holder = QWidget()
    qtbot.addWidget(holder)
    line = Colour(holder)
    line.setText("FFFFFF")
    (shown,) = (action.icon().pixmap(16, 16).toImage() for action in line.actions())
    edge, inside = shown.pixelColor(0, 0).lightness(), shown.pixelColor(shown.width() // 2, shown.height() // 2)
    assert edge < 200
    assert inside.lightness() == 255
