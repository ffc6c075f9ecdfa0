"""The cursor of the form while keys remove its field and undo that, whichever of these steps were painted."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from textual import events

import zarrscope
from contracts.slides import image
from terminal_hand import Screen, explore
from zarrscope_app.tui.form_lines import FormLines


@pytest.mark.parametrize("painted", [*product((False, True), repeat=2)], ids=lambda when: f"{when[0]}-{when[1]}")
def test_keys_act_on_the_field_that_an_undo_brought_back(tmp_path: Path, painted: tuple[bool, bool]) -> None:
    """`painted`: whether the form is painted after the removal, and after the undo."""
    with zarrscope.open(tmp_path / "a.zarr", "w-") as h:
        h.create_array("/plane", shape=(8, 8), dtype="u1", chunks=(8, 8)).attrs["note"] = "before"

    async def steps(screen: Screen) -> None:
        edit = screen.session.edit
        await screen.press("e")
        await screen.until(lambda: len(edit.state.fields) == 2, "the form")
        form = screen.app.part("attributes", FormLines)
        await screen.press("down")

        def key(name: str) -> None:  # handled before anything is painted
            screen.app.keyboard.key(events.Key(name, name if len(name) == 1 else None))

        for _ in range(3):
            for name, shown in zip("xu", painted, strict=True):
                key(name)
                if shown:
                    form.show()
        assert len(edit.state.fields) == 2
        key("x")
        assert len(edit.state.fields) == 1
        if painted[0]:
            form.show()
        key("u")
        key("enter")
        key("z")
        key("enter")
        field = next(field for field in edit.state.fields if field.label == "note")
        assert field.summary == "z"
        assert form.cursor == 1

    explore(f"{tmp_path / 'a.zarr'}/plane", steps, writable=True)


def test_the_key_for_attributes_leads_to_the_first_pixel_size(tmp_path: Path) -> None:
    """It led to the title of the section, where a number that is typed does nothing. Where the cursor was, it stays."""
    image(tmp_path / "a.zarr", ("DAPI",))

    async def steps(screen: Screen) -> None:
        edit, form = screen.session.edit, screen.app.part("attributes", FormLines)
        await screen.press("e")
        await screen.until(lambda: form.cursor > 0, "the cursor on a field")
        await screen.press("0", ".", "7", "down")
        await screen.until(lambda: edit.state.can_save, "the edit")
        assert edit.state.fields[form.cursor - 1].summary.startswith("0.7"), edit.state.fields
        at = form.cursor
        await screen.press("escape", "e")
        assert form.cursor == at > 1

    explore(str(tmp_path / "a.zarr"), steps, writable=True)
