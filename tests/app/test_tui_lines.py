"""Panes of lines in the terminal: a cut line ends in an ellipsis, and every problem can be read in full."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from textual.widgets import Static

import zarrscope
from terminal_hand import Screen, explore
from zarrscope_app.presenters import strings
from zarrscope_app.tui import lines
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.line_layout import apart, path_line
from zarrscope_app.tui.lines import LINES_AT_ONCE, InfoLines, Lines, ProblemLines, TextLines, fold
from zarrscope_app.tui.sheet import Sheet
from zarrscope_app.tui.table import TableLines
from zarrscope_app.tui.tabs import Controls


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A group with an array of a long name, an array with a broken document, and many attributes."""
    url = str(tmp_path / "a-name-of-some-length.zarr")
    with zarrscope.open(url, mode="w-") as h:
        h["/"].attrs.update({f"member{number:02}": "x" * 200 for number in range(40)})
        h.create_array("/an-array-with-a-long-name", shape=(4, 4), dtype="uint8", chunks=(2, 2))[...] = 1
        h.create_array("/broken", shape=(4, 4), dtype="uint8", chunks=(2, 2))
    document = tmp_path / "a-name-of-some-length.zarr" / "broken" / "zarr.json"
    document.write_text(document.read_text().replace('"uint8"', '"int33"'))
    return url


def painted(lines: Lines) -> list[str]:
    """The lines of a pane, without the column of the scrollbar."""
    shown = lines.scrollable_content_region
    return [lines.render_line(y).crop(0, shown.width).text for y in range(shown.height)]


@pytest.mark.parametrize("fields", [0, 1, 3, 1234])
def test_the_number_of_changes_is_in_sight_beside_every_conflict(fields: int) -> None:
    line = apart(f" {strings.conflict(fields)}", "✎ 3 changes", 80)
    assert line.rstrip().endswith("✎ 3 changes")
    assert cell_len(line) < 80
    assert f" {strings.conflict(fields)}  " in line, "the whole sentence"


def test_a_long_note_leaves_room_for_the_right_end_of_its_line() -> None:
    line = apart(" " + "名" * 60, "✎ 3 changes", 80)
    assert (cell_len(line) < 80, line[-11:]) == (True, "✎ 3 changes")
    assert "名…  " in line
    assert apart("short", "r" * 100, 40).startswith("short"), (
        "a long right part cuts nothing that fits in half the line"
    )


def test_the_first_line_names_the_node_and_leaves_out_the_first_groups() -> None:
    names = ["store", *(f"group-{number}" for number in range(9)), "nuclei"]
    line = path_line(names, "v3 · writable", 60)
    assert line.startswith(" … ▸ group-")
    assert " ▸ nuclei " in line
    assert line.endswith("v3 · writable")
    assert path_line(names[:2], "v3", 60).startswith(" store ▸ group-0 ")


def test_the_scrollbar_covers_no_text(place: str) -> None:
    async def steps(screen: Screen) -> None:
        info = screen.app.query_one("#info", InfoLines)
        await screen.until(lambda: info.count() > info.size.height and info.show_vertical_scrollbar, "it scrolls")

        def found() -> bool:
            if any("['/']" in line for line in painted(info)):
                return True
            info.scroll_relative(y=3, animate=False)  # how many lines the path above takes depends on its length
            return False

        await screen.until(found, "the end of a long line is drawn")
        screen.session.set_tab("attributes")
        form = screen.app.query_one("#attributes", FormLines)
        await screen.until(lambda: form.count() > 40 and form.show_vertical_scrollbar, "the form scrolls")
        await screen.pilot.pause()
        assert painted(form)[0].endswith("object")
        assert painted(form)[1].endswith("…   text")

    explore(place, steps)


def test_a_long_name_in_the_tree_loses_its_middle(place: str) -> None:
    async def steps(screen: Screen) -> None:
        tree = screen.app.tree_lines
        await screen.until(lambda: tree.count() == 3, "the rows are there")
        await screen.pilot.pause()
        rows = painted(tree)
        assert rows[0].rstrip() == "▾ a-name-of-s…length.zarr"
        assert rows[1].rstrip() == "    an-array-w…-long-name"
        assert rows[2].rstrip() == "    broken ! 2-D int33"

    explore(place, steps)


def test_the_problem_under_the_cursor_is_read_whole(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("ctrl+k")
        problems = screen.app.query_one("#problems", ProblemLines)
        await screen.until(lambda: screen.session.problems.items and not screen.session.problems.checking, "checked")
        screen.session.set_tab("problems")
        await screen.until(lambda: problems.size.width, "it is shown")
        screen.app.keyboard.focus(problems)
        (item,) = (item for item in screen.session.problems.items if item.path == "/broken")
        screen.session.report(zarrscope.Unreadable("Another problem, so that the cursor can be elsewhere."))
        await screen.until(lambda: len(screen.session.problems.items) == 2, "there are two")
        await screen.pilot.pause()
        assert problems.item() == screen.session.problems.items[0], "the cursor is on no line of the text above"
        await screen.press("end")
        while problems.item() != item:
            await screen.press("up")
        await screen.pilot.pause()
        whole = " ".join(" ".join(painted(problems)).split())
        assert f"{item.path} {item.headline}" in whole or item.headline in whole
        for key in ("up", "down"):
            if problems.item() == item:
                await screen.press(key)
        await screen.pilot.pause()
        (line,) = (line for line in painted(problems) if "/broken" in line and line.startswith("! "))
        assert line.rstrip().endswith("…"), "one line while the cursor is elsewhere"
        await screen.press("home")
        await screen.pilot.pause()
        assert problems.session.problems.sentence.split()[0] in painted(problems)[0], "the text above is in sight"

    explore(place, steps)


def test_a_shape_is_not_broken_and_wide_characters_are_counted_twice() -> None:
    told = [text for text, _ in fold("  Level 0  1 × 2 × 3 × 32 × 48 · 1 × 2 × 3 × 16 × 24", 40)]
    assert told == ["  Level 0  1 × 2 × 3 × 32 × 48", "    · 1 × 2 × 3 × 16 × 24"]
    wide = "漢" * 50
    folded = [text for text, _ in fold(wide, 20)]
    assert max(map(cell_len, folded)) <= 20
    assert "".join(part.strip() for part in folded) == wide


def test_a_long_path_is_broken_at_a_slash() -> None:
    def folded(text: str, columns: int) -> list[str]:
        return [line for line, _ in fold(text, columns)]

    opening = "node = zarrscope.open('/data/of/somebody/experiment.zarr')['/labels/nuclei']"
    assert folded(opening, 54) == [
        "node =",
        "  zarrscope.open('/data/of/somebody/experiment.zarr')",
        "  ['/labels/nuclei']",
    ]
    assert folded(opening, 40)[1:] == ["  zarrscope.open('/data/of/somebody/", "  experiment.zarr')['/labels/nuclei']"]
    assert folded("open('/data/of/somebody/long.zarr')['/']", 38) == ["open('/data/of/somebody/long.zarr')", "  ['/']"]
    assert folded("file:///" + "x" * 30, 20) == ["file:///", "  " + "x" * 18, "  " + "x" * 12]


def test_values_wait_read_only_and_other_edits_ask_to_open_for_writing(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("e")
        form = screen.app.query_one("#attributes", FormLines)
        await screen.until(lambda: form.count() > 40, "the form is there")
        assert "⏎" in str(screen.app.query_one("#status", Static).content)
        await screen.press("down", "enter", "z", "enter")
        await screen.until(lambda: screen.session.edit.state.waits, "the value waits")
        assert not isinstance(screen.top, Sheet)
        assert not screen.session.state.writable
        await screen.press("x")
        await screen.until(lambda: isinstance(screen.top, Sheet), "it asks")
        await screen.press("enter")
        await screen.until(lambda: screen.session.state.writable, "it is open for writing")

    explore(place, steps)


@pytest.mark.parametrize(
    ("dtype", "shape", "across", "told"),
    [
        ("uint8", (2, 3, 40), 9, "y down, x across · columns 0–8 of 40 · dim_0 0"),
        ("int64", (3, 2), 2, "y down, x across"),
        ("int32", (3, 40), 7, "y down, x across · columns 0–6 of 40"),
        ("float64", (3, 2), 2, "y down, x across"),
        ("string", (3,), 1, "x down"),
    ],
)
def test_the_table_uses_the_room_and_says_which_columns_it_shows(
    tmp_path: Path, dtype: str, shape: tuple[int, ...], across: int, told: str
) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), mode="w-") as h:
        a = h.create_array("/a", shape=shape, dtype=dtype, chunks=shape)
        a[...] = "a name of thirty characters ..." if dtype == "string" else 1 / 3 if dtype == "float64" else 123

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.ready()
        screen.session.set_tab("values")
        table = screen.app.query_one("#values", TableLines)
        await screen.until(lambda: table.size.width, "it is shown")
        await screen.until(lambda: "…" not in painted(table)[1], "the values are there, and none is cut")
        assert len(painted(table)[1].split('"' if dtype == "string" else None)) - 1 == across + (dtype == "string")
        await screen.until(lambda: told in str(screen.app.query_one("#status", Static).content), "the part is named")

    explore(str(tmp_path / "a.zarr"), steps)


def test_columns_of_short_texts_are_as_wide_as_these(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), mode="w-") as h:
        h.create_array("/a", shape=(3, 40), dtype="string", chunks=(3, 40))[...] = "ab"

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.ready()
        screen.session.set_tab("values")
        table = screen.app.query_one("#values", TableLines)
        await screen.until(lambda: table.size.width, "it is shown")
        await screen.until(lambda: painted(table)[1].count('"ab"') == (table.columns - 8) // 6, "six cells each")

    explore(str(tmp_path / "a.zarr"), steps)


def test_columns_stand_beneath_each_other_after_wide_characters(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), mode="w-") as h:
        a = h.create_array("/a", shape=(3, 3), dtype="string", chunks=(3, 3))
        a[...] = np.array([["a", "b", "end"], ["😀", "細胞", "end"], ["細胞" * 40, "b", "end"]], object)

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.ready()
        screen.session.set_tab("values")
        table = screen.app.query_one("#values", TableLines)
        await screen.until(lambda: '"😀"' in painted(table)[2], "the values are there")
        await screen.press("tab", "right")
        await screen.until(lambda: "細胞" in painted(table)[2] and '"end"' in painted(table)[1], "the next columns")
        assert len({cell_len(line.partition('"end"')[0]) for line in painted(table)[1:4]}) == 1
        await screen.press("left")
        await screen.until(lambda: "😀" in painted(table)[2], "the first column")
        assert cell_len(painted(table)[3].rstrip()) <= table.columns, "a long text is cut by its cells"
        assert painted(table)[3].rstrip().endswith("…")

    explore(str(tmp_path / "a.zarr"), steps)


def test_the_heading_of_the_table_stays_and_the_cursor_is_on_values(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), mode="w-") as h:
        h.create_array("/a", shape=(300, 4), dtype="int32", chunks=(300, 4))[...] = np.arange(1200).reshape(300, 4)

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.ready()
        screen.session.set_tab("values")
        table = screen.app.query_one("#values", TableLines)
        await screen.until(lambda: table.size.width, "it is shown")
        await screen.until(lambda: "1199" in screen.session.values.cells(299, 3, 1, 1)[0], "the values are there")
        head = painted(table)[0]
        assert head.split() == ["0", "1", "2", "3"]
        assert table.cursor == 1, "the first value"
        table.focus()
        for key, row in (("pagedown", None), ("end", 299), ("up", 298), ("home", 0), ("up", 0)):
            await screen.press(key)
            await screen.pilot.pause()
            lines = painted(table)
            assert lines[0] == head
            shown = [int(line.split()[0]) for line in lines[1:]]
            assert shown == [*range(shown[0], shown[0] + len(shown))], "no row is left out"
            assert table.cursor - 1 in shown, "nor is that of the cursor"
            assert row is None or table.cursor - 1 == row
        for _ in range(40):
            await screen.press("down")
        await screen.press("end")
        for _ in range(40):
            await screen.press("up")
        assert table.cursor - 1 == 259
        assert 259 in [int(line.split()[0]) for line in painted(table)[1:]]
        await screen.pilot.click("#values", offset=(3, 0))
        assert table.cursor - 1 == 259, "the heading is not chosen"
        await screen.pilot.click("#values", offset=(3, 2))
        await screen.until(lambda: table.cursor == table.scroll_offset.y + 2, "the row that was clicked")

    explore(str(tmp_path / "a.zarr"), steps)


def test_each_field_has_its_own_width_and_every_field_is_reached(tmp_path: Path) -> None:
    fields = [("id", "<u4"), ("flag", "?"), ("name", "S24"), ("x", "<f8"), ("note", "<U40")]
    rows = [(i, i % 2, b"cell number %d" % i, i / 8, "n" * (2 if i < 20 else 30)) for i in range(40)]
    with zarrscope.open(str(tmp_path / "a.zarr"), mode="w-") as h:
        h.create_array("/a", shape=(40,), dtype=np.dtype(fields), chunks=(10,))[...] = np.array(rows, fields)

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.ready()
        screen.session.set_tab("values")
        table = screen.app.query_one("#values", TableLines)
        status = screen.app.query_one("#status", Static)
        await screen.until(lambda: table.size.width, "it is shown")
        whole = ["3", "3", "true", "b'cell", "number", "3'", "0.375", '"nn"']
        await screen.until(lambda: painted(table)[4].split() == whole, "all five have room")
        lines = painted(table)[1:5]
        assert len({line.index("b'") for line in lines}) == 1, "text begins in one column"
        assert len({line.index('"nn"') for line in lines}) == 1
        screen.app.keyboard.focus(table)
        await screen.press("end")
        await screen.until(lambda: "columns 0–3 of 5" in str(status.content), "the last one has become too long")
        await screen.press("right")
        await screen.until(lambda: "column 4 of 5" in str(status.content), "it is shown alone")
        await screen.until(lambda: '"' + "n" * 30 + '"' in painted(table)[-1], "it is whole")
        await screen.press("left")
        await screen.until(lambda: "columns 0–3 of 5" in str(status.content), "those before it are back")
        await screen.press("home")
        await screen.until(lambda: painted(table)[4].split() == whole[:-1], "the widths are kept")

    explore(str(tmp_path / "a.zarr"), steps)


def test_the_reason_of_cells_without_a_value_is_told(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), mode="w-") as h:
        h.create_array("/a", shape=(4, 4), dtype="u2", chunks=(4, 4))[...] = 7
    (tmp_path / "a.zarr" / "a" / "c" / "0" / "0").write_bytes(b"damaged")

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.ready()
        screen.session.set_tab("values")
        status = screen.app.query_one("#status", Static)
        await screen.until(lambda: str(status.content).strip().startswith("Chunk (0, 0)"), "the reason is told")

    explore(str(tmp_path / "a.zarr"), steps)


def test_of_many_channels_those_that_are_shown_stay_and_few_layouts_are_tried() -> None:
    """The labels are laid out at every step of a slider, so they must not be tried with each number of channels."""
    shown = {0, 1999}
    channels = [SimpleNamespace(visible=number in shown) for number in range(2000)]
    controls: Any = SimpleNamespace(_width=80, session=SimpleNamespace(slice=SimpleNamespace(state=None)))
    controls.session.slice.state = SimpleNamespace(channels=channels)
    tried: list[int] = []

    def lines(widths: list[int], left: set[int]) -> int:
        tried.append(len(left))
        return Controls._lines(controls, widths, left)

    controls._lines = lines
    left = Controls._left_out(controls, [10] * 2000, 6)
    assert not left & shown
    assert lines([10] * 2000, left) == 6
    assert lines([10] * 2000, left - {min(left)}) == 7, "no more than necessary is left out"
    assert len(tried) < 20


def test_a_document_of_one_long_line_is_folded_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = str(tmp_path / "x.zarr")
    zarrscope.open(url, mode="w-").close()
    document = tmp_path / "x.zarr" / "zarr.json"
    numbers = ", ".join(map(str, range(100_000, 200_000)))
    document.write_text(
        f'{{"zarr_format": 3, "node_type": "group", "attributes": {{"numbers": [{numbers}], "last": 1}}}}'
    )
    monkeypatch.setattr(lines, "FOLD_SECONDS", 0.0)
    turns: list[int] = []
    fold_on = TextLines._fold_on

    def counted(pane: TextLines) -> None:
        before = len(pane._folded)
        fold_on(pane)
        turns.append(len(pane._folded) - before)

    monkeypatch.setattr(TextLines, "_fold_on", counted)

    async def steps(screen: Screen) -> None:
        screen.session.set_tab("info")
        info = screen.app.query_one("#info", InfoLines)
        await screen.until(lambda: any('"last": 1' in text for text, _ in info._folded), "the end of the document")
        assert len(info._folded) > 10_000
        assert max(turns) <= LINES_AT_ONCE, "no turn folds all of it"
        text = "".join(text.strip(" ") for text, _ in info._folded)
        assert numbers.replace(" ", "") in text.replace(" ", "")

    explore(url, steps)


def test_a_long_remark_on_a_section_is_folded_beneath_it(tmp_path: Path) -> None:
    from zarrscope_resources.demo import make

    place = str(make(tmp_path / "demo.ome.zarr", "small"))

    async def steps(screen: Screen) -> None:
        screen.session.set_tab("attributes")
        form = screen.app.query_one("#attributes", FormLines)
        await screen.until(lambda: form.size.width and form.session.edit.state.fields, "the form is there")
        await screen.pilot.pause()
        screen.app.keyboard.focus(form)
        await screen.until(lambda: form.show_vertical_scrollbar, "it scrolls")
        await screen.pilot.pause()
        remark = form.session.edit.state.fields[0].summary
        told = painted(form)
        lines = next(count for count in range(1, 5) if " ".join(" ".join(told[1 : 1 + count]).split()) == remark)
        assert told[0].split() == ["▾", "Pixel", "size"]
        for line in range(1 + lines):
            assert form.marked(line), "the remark belongs to the field"
        await screen.press("down")
        assert form.field() is form.session.edit.state.fields[1]
        assert form.marked(1 + lines)
        assert not form.marked(lines)
        last = len(form.session.edit.state.fields) - 1
        await screen.press("G")
        assert (form.cursor, form.marked(form.count() - 1)) == (last, True)
        await screen.pilot.click(form, offset=(4, form.size.height - 1))
        assert form.cursor == last
        assert form.field() is form.session.edit.state.fields[last]

    explore(place, steps)


def test_more_rows_need_no_layout(place: str) -> None:
    async def steps(screen: Screen) -> None:
        tree: Any = screen.app.tree_lines
        asked: list[bool] = []
        await screen.until(lambda: tree.count() == 3 and tree.size.height, "the rows are there")
        tree.count = lambda: 500  # as if rows had arrived
        tree.show()
        await screen.until(lambda: tree.show_vertical_scrollbar, "the scrollbar has come")
        await screen.pilot.pause()
        refresh = tree.refresh

        def spy(*regions: Any, layout: bool = False, **how: Any) -> Any:
            asked.append(layout)
            return refresh(*regions, layout=layout, **how)

        tree.refresh = spy
        tree.count = lambda: 90_000
        tree.show()
        assert tree.virtual_size.height == tree.vertical_scrollbar.window_virtual_size == 90_000
        assert True not in asked
        tree.scroll_to(y=80_000, animate=False)
        tree.count = lambda: 600
        tree.show()
        assert tree.scroll_y <= 600 - tree.size.height
        del tree.count, tree.refresh

    explore(place, steps)


def test_a_note_of_a_dialog_is_folded_beneath_its_first_line(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.command("create-array")
        await screen.until(lambda: "Nothing is stored" in screen.sheet(), "the form is shown")
        lines = screen.sheet().splitlines()
        at = next(number for number, line in enumerate(lines) if "Nothing is stored" in line)
        assert lines[at].startswith("    An array")
        assert lines[at + 1].startswith("      "), lines[at : at + 2]
        assert max(map(cell_len, lines)) <= 70

    explore(place, steps, writable=True)


def test_without_problems_no_line_is_marked(tmp_path: Path) -> None:
    zarrscope.open(str(tmp_path / "x.zarr"), "w-").create_group("/g")

    async def steps(screen: Screen) -> None:
        problems = screen.app.query_one("#problems", ProblemLines)
        screen.session.set_tab("problems")
        await screen.until(lambda: problems.size.width, "it is shown")
        assert problems.count()
        assert not any(problems.marked(line) for line in range(problems.count()))

    explore(str(tmp_path / "x.zarr"), steps)


def test_the_reason_why_there_are_no_values_is_folded(place: str) -> None:
    async def steps(screen: Screen) -> None:
        table = screen.app.query_one("#values", TableLines)
        screen.session.set_tab("values")
        await screen.until(lambda: table.size.width and table.count() > 1, "the reason has several lines")
        await screen.pilot.pause()
        told = [line.strip() for line in painted(table)]
        assert all(line.startswith(" ") for line in painted(table)), "no text touches the line to the left"
        assert " ".join(filter(None, told)) == table.session.values.state.sentence
        assert not any(table.marked(line) for line in range(table.count()))

    explore(f"{place}::broken", steps)


def test_an_error_on_the_line_of_the_cursor_has_its_colour(place: str) -> None:
    async def steps(screen: Screen) -> None:
        screen.session.set_tab("problems")
        problems = screen.app.query_one("#problems", ProblemLines)
        screen.session.report(zarrscope.Unreadable("A problem."))
        await screen.until(lambda: problems.size.width and screen.session.problems.items, "it is shown")
        screen.app.keyboard.focus(problems)
        await screen.until(lambda: problems.has_focus, "it has the focus")
        line = next(line for line in range(problems.count()) if problems.marked(line))
        mark = next(iter(problems.render_line(line)))
        assert mark.text.startswith("×")
        assert mark.style is not None
        assert (mark.style.color, mark.style.bold) == (problems.rich_style.color, True)

    explore(place, steps)


def test_no_fraction_of_a_wide_table_is_cut(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(20, 40)) * 1e-7
    h = zarrscope.open(str(tmp_path / "x.zarr"), mode="w-")
    h.create_array("/a", shape=values.shape, dtype="float64", chunks=values.shape)[...] = values

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.ready()
        screen.session.set_tab("values")
        table = screen.app.query_one("#values", TableLines)
        await screen.until(lambda: table.size.width and "…" not in painted(table)[1], "the values are there")
        await screen.pilot.pause()
        first = painted(table)[1:18]
        assert len({line.rstrip().rindex(line.split()[-1]) + len(line.split()[-1]) for line in first}) == 1
        for row, line in enumerate(first):
            shown = line.split()[1:]
            assert shown
            assert [float(text) for text in shown] == [*values[row, : len(shown)]]

    explore(str(tmp_path / "x.zarr"), steps)


def test_complex_values_are_not_cut(tmp_path: Path) -> None:
    url = str(tmp_path / "x.zarr")
    values = np.array([[1 / 3 - 2j / 3, -1 / 7 + 1e-9j, 4], [0, 1, 2]], "complex128")
    zarrscope.open(url, "w-").create_array("/a", shape=(2, 3), dtype="complex128", chunks=(2, 3))[...] = values

    async def steps(screen: Screen) -> None:
        screen.session.select("/a")
        await screen.until(
            lambda: screen.session.state.path == "/a" and not screen.session.state.selecting, "it is there"
        )
        screen.session.set_tab("values")
        table = screen.app.query_one("#values", TableLines)
        await screen.until(lambda: any("0.3333333333333333" in line for line in painted(table)), "the values")
        _, real, imaginary, second, zeros, *_ = painted(table)
        assert real.split() == ["0", "0.3333333333333333", "-0.14285714285714285"], "two columns have room"
        assert imaginary.split() == ["-0.6666666666666666i", "+0.000000001i"]
        assert second.split() == ["1", "0.0", "1.0"]
        assert zeros.split() == ["+0.0i", "+0.0i"]
        await screen.press("tab", "j")
        await screen.until(
            lambda: [table.marked(line) for line in range(6)] == [False] * 3 + [True] * 2 + [False], "row 1"
        )
        await screen.press("j", "k")
        await screen.until(lambda: table.marked(1) and table.marked(2), "row 0, of which both lines are marked")
        await screen.press("right")
        await screen.until(lambda: painted(table)[1].split() == ["0", "4.0"], "the next column")

    explore(url, steps)
