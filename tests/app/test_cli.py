"""The command line, called in this process or, where signals, streams or exit codes matter, in another."""

import json
import os
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array, not_none
from zarrscope_app.cli import run
from zarrscope_app.cli.attributes import pointer
from zarrscope_app.cli.selection import NamedParts, parse_selection
from zarrscope_resources import demo

VERBS = ["open", "ls", "tree", "info", "attrs", "read", "render", "check", "diff", "demo", "tui"]


@pytest.fixture(scope="module")
def volume(tmp_path_factory: Any) -> Any:
    return demo.make(tmp_path_factory.mktemp("cli") / "demo.zarr", "small")


@pytest.fixture
def notes(tmp_path: Any) -> Any:
    """A hierarchy whose names and attributes contain control sequences of terminals."""
    h = zarrscope.open(str(tmp_path / "n.zarr"), "w-")
    attributes = {"title": "a\x1b[2Jb", "turn": "x\u202egnp", "number": "NaN", "z": 1, "a": [1, 2]}
    h.create_group("/g", attributes=attributes)
    h.create_array("/g/b10", shape=(4, 6), dtype="float32", chunks=(2, 3), fill_value=float("nan"))
    h.create_array("/g/b2", shape=(3,), dtype="int8")[:] = [1, 2, 3]
    # Not valid JSON, but it occurs in files; zarrscope's engine does not write it.
    document = tmp_path / "n.zarr" / "g" / "zarr.json"
    document.write_text(document.read_text().replace('"NaN"', "NaN"))
    return tmp_path / "n.zarr"


def zs(capsys: Any, *arguments: Any) -> Any:
    """(exit code, stdout, stderr)."""
    code = run([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def process(*arguments: Any, **options: Any) -> Any:
    environ = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    return subprocess.run(
        [sys.executable, "-m", "zarrscope_app", *map(str, arguments)],
        capture_output=True, text=True, timeout=60, env=environ, stdin=subprocess.DEVNULL, **options,
    )  # fmt: skip


# ---------------------------------------------------------------------- help
@pytest.mark.parametrize("verb", [*([v] for v in VERBS), ["attrs", "get"], ["attrs", "set"], ["attrs", "unset"], []])
def test_help_has_examples(capsys: Any, verb: Any) -> None:
    code, out, _ = zs(capsys, *verb, "--help")
    assert code == 0
    assert "Examples:" in out


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    probe = (
        "import sys\n"
        "from zarrscope_app.cli import run\n"
        "code = run(['--help'])\n"
        "heavy = {'numpy', 'fsspec', 'aiohttp', 'numcodecs', 'rich', 'qtpy', 'PyQt6', 'textual', 'napari', 'zarr'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    # Compared with the time of click alone, measured in between because other processes may be busy. It was 1.5 times
    # that when this test was written.
    bare, ours = [], []
    for _ in range(5):
        bare.append(_seconds("import click"))
        ours.append(_seconds(probe, says="[]"))
    assert min(ours) < 4 * min(bare)


def _seconds(code: str, says: str = "") -> float:
    start = time.perf_counter()
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stderr.strip() == says
    return time.perf_counter() - start


def test_version(capsys: Any) -> None:
    code, out, _ = zs(capsys, "--version")
    assert code == 0
    assert out.startswith(f"zarrscope {zarrscope.__version__}\n")


# ---------------------------------------------------------------------- looking
def test_ls_sorts_as_people_do(capsys: Any, notes: Any) -> None:
    code, out, _ = zs(capsys, "ls", notes, "g")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["b2", "b10"]
    assert "2-D float32" in out
    code, out, _ = zs(capsys, "ls", notes, "g", "--json")
    assert [child["name"] for child in json.loads(out)] == ["b2", "b10"]


def test_tree(capsys: Any, volume: Any) -> None:
    code, out, _ = zs(capsys, "tree", volume)
    assert code == 0
    assert "└── nuclei/  labels, OME-Zarr 0.5" in out
    assert zs(capsys, "tree", volume, "--depth", 1)[1].count("\n") == 5
    assert "3 more children" in zs(capsys, "tree", volume, "--most", 1)[1]
    code, out, _ = zs(capsys, "tree", volume, "--json")
    assert {c["name"] for c in json.loads(out)["children"]} == {"0", "1", "2", "labels"}


def test_info_says_what_chunks_are(capsys: Any, volume: Any) -> None:
    code, out, _ = zs(capsys, "info", volume, "0")
    assert code == 0
    assert "Stored in 48 pieces (chunks) of 1 × 1 × 8 × 128 × 128, packed into 6 files (shards)." in out
    assert "Takes up" in out
    code, out, _ = zs(capsys, "info", volume, "--json")
    facts = json.loads(out)
    assert [c["label"] for c in facts["image"]["channels"]] == ["nuclei", "membranes", "puncta"]
    assert facts["image"]["labels"] == ["/labels/nuclei"]


def test_an_array_that_cannot_be_decoded_says_what_is_missing(capsys: Any, notes: Any) -> None:
    document = notes / "g" / "b2" / "zarr.json"
    metadata = json.loads(document.read_bytes())
    metadata["codecs"].append({"name": "martian", "configuration": {}})
    document.write_text(json.dumps(metadata))
    code, out, _ = zs(capsys, "info", notes, "g/b2")
    assert code == 0
    assert "martian" in out
    assert "martian" in json.loads(zs(capsys, "info", notes, "g/b2", "--json")[1])["problem"]
    code, _, err = zs(capsys, "read", notes, "g/b2")
    assert code == 1
    assert "martian" in err


@pytest.mark.parametrize("arguments", [["attrs", "{}", "g"], ["attrs", "get", "{}", "g", "title"], ["tree", "{}"]])
def test_nothing_from_a_file_steers_the_terminal(capsys: Any, notes: Any, arguments: Any) -> None:
    _, out, err = zs(capsys, *(a.format(notes) for a in arguments))
    assert not any(c in out + err for c in "\x1b\u202e\x07\x9b")


def test_json_is_strict_sorted_and_repeats(capsys: Any, notes: Any) -> None:
    first = zs(capsys, "attrs", notes, "g", "--json")[1]
    assert first == zs(capsys, "attrs", "get", notes, "g", "--json")[1]
    values = json.loads(first, parse_constant=lambda token: pytest.fail(token))
    assert list(values) == sorted(values)
    assert values["number"] == "NaN"
    assert first.isascii()
    fill = json.loads(zs(capsys, "info", notes, "g/b10", "--json")[1])["fill_value"]
    assert fill == "NaN"


# ---------------------------------------------------------------------- mistakes
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["ls", "{}/nope"], 3),
        (["ls", "{}", "nope"], 3),
        (["attrs", "get", "{}", "/", "nope"], 3),
        (["read", "{}", "labels"], 1),
        (["read", "{}", "0", "--select", "0,9"], 2),
        (["read", "{}", "0", "--select", "zero"], 2),
        (["read", "{}", "0", "--select", "::0"], 2),
        (["read", "{}", "0"], 1),
        (["read", "{}", "0", "-o", "x.txt"], 2),
        (["read", "{}", "0", "--select", "0,0,0", "-o", "/nowhere/x.npy"], 1),
        (["render", "{}"], 2),
        (["render", "{}", "-o", "x.jpg"], 2),
        (["render", "{}", "--select", "0,:,99", "-o", "x.png"], 2),
        (["render", "{}", "--level", "7", "-o", "x.png"], 2),
        (["attrs", "set", "{}", "/", "x", "no json"], 2),
        (["lss", "{}"], 2),
        (["ls"], 2),
        (["ls", "--what"], 2),
    ],
)
def test_a_mistake_is_told_on_stderr_with_its_exit_code(capsys: Any, volume: Any, arguments: Any, code: Any) -> None:
    found, out, err = zs(capsys, *(a.format(volume) for a in arguments))
    assert found == code
    assert out == ""
    assert err
    assert "Traceback" not in err
    assert "went wrong inside" not in err


def test_a_group_without_a_picture_says_so(capsys: Any, notes: Any, tmp_path: Any) -> None:
    code, _, err = zs(capsys, "render", notes, "g", "-o", tmp_path / "x.png")
    assert code == 1
    assert "no picture" in err
    assert not (tmp_path / "x.png").exists()


def test_something_that_is_no_zarr(capsys: Any, tmp_path: Any) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert zs(capsys, "info", tmp_path)[0] == 3
    (tmp_path / "zarr.json").write_text("{")
    code, _, err = zs(capsys, "info", tmp_path)
    assert code == 1
    assert "zarr.json" in err


def test_our_own_faults_are_one_line_unless_asked(capsys: Any, volume: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(zarrscope, "open", lambda *a, **k: 1 / 0)
    code, _, err = zs(capsys, "ls", volume)
    assert code == 1
    assert err.count("\n") == 1
    assert "ZARRSCOPE_DEBUG" in err
    monkeypatch.setenv("ZARRSCOPE_DEBUG", "1")
    assert "ZeroDivisionError" in zs(capsys, "ls", volume)[2]


def test_interrupted(capsys: Any, volume: Any, monkeypatch: Any) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(zarrscope, "open", interrupt)
    assert zs(capsys, "ls", volume)[0] == 130


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break differently on Windows")
def test_a_reader_that_leaves_early_is_no_failure(volume: Any) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "zarrscope_app", "tree", str(volume), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        not_none(running.stdout).close()
        err = not_none(running.stderr).read()
        assert running.wait(60) == 0
    assert err == b""


def test_without_display_and_terminal_it_says_what_to_do(volume: Any) -> None:
    found = process(volume)
    assert found.returncode == 1
    assert "zarrscope render" in found.stderr
    assert process(volume / "nope").returncode == 3
    assert process().returncode == 0


# ---------------------------------------------------------------------- attributes
@pytest.mark.parametrize("field", ["/a/0", "a.0"])
def test_set_changes_one_value_and_no_other_byte(capsys: Any, notes: Any, field: Any) -> None:
    document = notes / "g" / "zarr.json"
    before = document.read_text()
    code, out, _ = zs(capsys, "attrs", "set", notes, "g", field, "1.50", "--dry-run")
    assert code == 0
    assert "1.50" in out
    assert document.read_text() == before
    assert zs(capsys, "attrs", "set", notes, "g", field, "1.50")[1] == out
    after = document.read_text()
    assert len(after) == len(before) + 3
    assert zs(capsys, "attrs", "get", notes, "g", field)[1] == "1.50\n"
    assert zs(capsys, "attrs", "set", notes, "g", field, "1")[0] == 0
    assert document.read_text() == before


@pytest.mark.parametrize("field", ["number", "a.0", "/new", ""])
def test_set_reads_the_value_from_standard_input(field: str, notes: Path) -> None:
    """As it is spelled there, without the blanks around it; a minus is no JSON, so no value is mistaken."""
    given = '{\n  "length": 1.50,\n  "unit": "µm"\n}'
    whole = [sys.executable, "-m", "zarrscope_app", "attrs", "set", str(notes), "g", field, "-"]
    done = subprocess.run(whole, input=f" {given}\n\n".encode(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert given in (notes / "g" / "zarr.json").read_text("utf-8")


@pytest.mark.parametrize("given", [b"", b"seen on Monday", b"\xff", b"{"])
def test_standard_input_that_is_no_json_is_refused(given: bytes, notes: Path) -> None:
    document = notes / "g" / "zarr.json"
    before = document.read_bytes()
    whole = [sys.executable, "-m", "zarrscope_app", "attrs", "set", str(notes), "g", "z", "-"]
    done = subprocess.run(whole, input=given, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert b"stdin is not JSON" in done.stderr
    assert document.read_bytes() == before


def test_a_path_without_its_first_slash_makes_no_attribute(capsys: Any, notes: Any) -> None:
    document = notes / "g" / "zarr.json"
    before = document.read_text()
    code, _, err = zs(capsys, "attrs", "set", notes, "g", "a/0", "2")
    assert code == 2
    assert "Write /a/0 for a path, or /a~10 for a new name" in err
    assert document.read_text() == before
    assert zs(capsys, "attrs", "set", notes, "g", "/a~10", "2")[0] == 0
    assert zs(capsys, "attrs", "set", notes, "g", "a/0", "3")[0] == 0
    assert zs(capsys, "attrs", "get", notes, "g", "a/0")[1] == "3\n"


@pytest.mark.parametrize(
    ("field", "advice"),
    [
        ("new.x.y", "Set /new to '{}' first, or write /new.x.y for an attribute of this name."),
        ("/new/x/y", "Set /new to '{}' first."),
        ("a.0.x", None),
    ],
)
def test_a_missing_object_around_a_field_is_named_with_the_next_step(
    capsys: Any, notes: Any, field: str, advice: str | None
) -> None:
    code, _, err = zs(capsys, "attrs", "set", notes, "g", field, "2")
    assert code == 3 or advice is None
    assert f"in file://{notes})" in err
    assert advice is None or advice in err
    if advice is not None:
        assert zs(capsys, "attrs", "set", notes, "g", "/new.x.y", "2")[0] == 0
        assert zs(capsys, "attrs", "set", notes, "g", "/new", "{}")[0] == 0
        assert "Set /new/x to" in zs(capsys, "attrs", "set", notes, "g", "/new/x/y", "2")[2]


def test_a_root_of_which_only_a_cut_document_is_left_has_a_next_step(capsys: Any, tmp_path: Any) -> None:
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3,')
    code, _, err = zs(capsys, "info", tmp_path)
    assert code == 1
    assert "Correct the text of zarr.json, or restore that document from a copy." in err


def test_strings_have_no_picture_and_the_verb_for_values_is_named(capsys: Any, tmp_path: Any) -> None:
    h = zarrscope.open(str(tmp_path / "s"), "w-", dialect="v3")
    h.create_array("/s", shape=(2, 2), dtype="string", chunks=(2, 2))[...] = np.array([["a", "b"], ["c", "d"]], object)
    for verb in (["show"], ["render", "-o", tmp_path / "x.png"]):
        code, _, err = zs(capsys, *verb, tmp_path / "s", "s")
        assert code == 1
        assert "zarrscope read" in err


def test_one_axis_is_not_called_axes(capsys: Any, notes: Any) -> None:
    assert "has 1 axis: 2 lengths do not fit" in zs(capsys, "resize", notes, "g/b2", "3,3", "--dry-run")[2]
    assert "has 1 axis, but 2 were" in zs(capsys, "read", notes, "g/b2", "--select", "0,0")[2]


def test_unset(capsys: Any, notes: Any) -> None:
    assert zs(capsys, "attrs", "unset", notes, "g", "z")[0] == 0
    assert "z" not in zarrscope.open(str(notes))["/g"].attributes
    assert zs(capsys, "attrs", "unset", notes, "g", "z")[0] == 3


def test_a_change_made_meanwhile_is_not_overwritten(capsys: Any, notes: Any, monkeypatch: Any) -> None:
    document = notes / "g" / "zarr.json"
    theirs = document.read_text().replace("x\\u202egnp", "theirs").replace("x\u202egnp", "theirs")
    save = zarrscope.Hierarchy.save

    def late(self: Any, path: Any, edited: Any, **options: Any) -> Any:
        document.write_text(theirs)
        return save(self, path, edited, **options)

    monkeypatch.setattr(zarrscope.Hierarchy, "save", late)
    code, _, err = zs(capsys, "attrs", "set", notes, "g", "z", "2")
    assert code == 1
    assert "Nothing was written" in err
    assert document.read_text() == theirs


def test_pointers() -> None:
    assert pointer("/a/b~1c") == "/a/b~1c"
    assert pointer("a.0.b/c~") == "/a/0/b~1c~0"


# ---------------------------------------------------------------------- values and pictures
@pytest.mark.parametrize("select", ["0,:,10:12", "...,5", "1,0,::-3,2,100:90:-1", "-1,-1,-1,-1,-1", ""])
def test_read_is_numpy_indexing(capsys: Any, volume: Any, tmp_path: Any, select: Any) -> None:
    whole = as_array(zarrscope.open(str(volume))["/1"])[...]
    target = tmp_path / "out.npy"
    assert zs(capsys, "read", volume, "1", "--select", select, "-o", target)[0] == 0
    parts = parse_selection(select)
    assert not isinstance(parts, NamedParts)
    assert np.array_equal(np.load(target), whole[parts])
    assert [p.name for p in tmp_path.iterdir()] == ["out.npy"]


def test_axes_are_selected_by_their_names_in_every_verb(capsys: Any, volume: Any, tmp_path: Any) -> None:
    def written(verb: str, node: str, select: str, name: str) -> bytes:
        output = [] if verb == "show" else ["-o", str(tmp_path / name)]
        how = ["--image", "ascii"] if verb == "show" else []
        code, out, err = zs(capsys, verb, volume, node, "--select", select, *output, *how)
        assert code == 0, err
        return out.encode() if verb == "show" else Path(tmp_path / name).read_bytes()

    for verb, node, name in (
        ("read", "1", "r.npy"),
        ("render", "/", "p.png"),
        ("show", "0", ""),
        ("export", "0", "e.npy"),
    ):
        by_order = written(verb, node, "1,:,4,20:60", name)
        if name:
            (tmp_path / name).unlink()
        assert written(verb, node, "z = 4,y=20:60,t=1", name) == by_order


def test_a_folder_in_the_place_of_a_file_is_named_as_it_was_typed(capsys: Any, volume: Any, tmp_path: Any) -> None:
    target = tmp_path / "out.npy"
    target.mkdir()
    code, _, err = zs(capsys, "read", volume, "1", "--select", "0,0,0", "-o", target)
    assert code == 1
    assert err == f"zarrscope: {target} is a folder. Choose another name.\n"


def test_read_prints(capsys: Any, notes: Any) -> None:
    assert zs(capsys, "read", notes, "g/b2")[1] == "[1 2 3]\n"
    assert json.loads(zs(capsys, "read", notes, "g/b2", "--json")[1]) == [1, 2, 3]
    assert zs(capsys, "read", notes, "g/b2", "--select", "-1")[1] == "3\n"
    assert json.loads(zs(capsys, "read", notes, "g/b10", "--select", "0,0", "--json")[1]) == "NaN"


def pixels(path: Any) -> Any:
    """Decodes a PNG of unfiltered RGB rows, and compares its checksums."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    parts, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(name + body)
        parts[name], at = body, at + 12 + length
    width, height = struct.unpack_from(">II", parts[b"IHDR"])
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_render_needs_no_display_and_shows_all_channels(volume: Any, tmp_path: Any) -> None:
    target = tmp_path / "a.png"
    found = process("render", volume, "-o", target)
    assert found.returncode == 0, found.stderr
    picture = pixels(target)
    assert picture.shape == (256, 256, 3)
    assert all(picture[..., i].max() > 200 for i in range(3))
    assert picture[210:, :40].max() < 80


@pytest.mark.parametrize(("size", "expected"), [(1024, 256), (256, 256), (128, 128), (100, 64), (60, 32)])
def test_render_takes_the_level_that_fits(capsys: Any, volume: Any, tmp_path: Any, size: Any, expected: Any) -> None:
    target = tmp_path / "a.png"
    assert zs(capsys, "render", volume, "-o", target, "--size", size)[0] == 0
    assert pixels(target).shape == (expected, expected, 3)


def test_render_crops_and_chooses_channels(capsys: Any, volume: Any, tmp_path: Any) -> None:
    whole, crop = tmp_path / "a.png", tmp_path / "b.png"
    zs(capsys, "render", volume, "-o", whole, "--select", "1,:,4")
    assert zs(capsys, "render", volume, "-o", crop, "--select", "1,:,4,20:120,200:40:-1")[0] == 0
    assert np.array_equal(pixels(crop), pixels(whole)[20:120, 200:40:-1])
    zs(capsys, "render", volume, "-o", crop, "--select", "1,1,4")
    grey = pixels(crop)
    assert np.array_equal(grey[..., 0], grey[..., 2])


def test_render_labels_arrays_and_overlay(capsys: Any, volume: Any, tmp_path: Any) -> None:
    target = tmp_path / "a.png"
    assert zs(capsys, "render", volume, "labels/nuclei", "-o", target)[0] == 0
    labels: Any = as_array(zarrscope.open(str(volume))["/labels/nuclei/0"])[0, 0, 8]
    assert np.array_equal(pixels(target).any(axis=2), labels > 0)
    assert zs(capsys, "render", volume, "0", "-o", target)[0] == 0
    plain = pixels(target).copy()
    assert plain.any()
    zs(capsys, "render", volume, "-o", target)
    without = pixels(target).copy()
    assert zs(capsys, "render", volume, "-o", target, "--labels")[0] == 0
    changed = (pixels(target) != without).any(axis=2)
    assert 0 < changed.mean() < 0.3


def test_render_gives_nan_a_colour_of_its_own(tmp_path: Any) -> None:
    from PIL import Image

    from zarrscope.view.render import NOT_A_NUMBER

    array = zarrscope.open(str(tmp_path / "n.zarr"), mode="w-").create_array(
        "/a", shape=(1, 4), dtype="float32", chunks=(1, 4)
    )
    array[...] = [[np.nan, -np.inf, 0, 1]]
    assert run(["render", str(tmp_path / "n.zarr"), "a", "-o", str(tmp_path / "n.png")]) == 0
    picture = np.asarray(Image.open(tmp_path / "n.png").convert("RGB"))
    width = picture.shape[1] // 4
    colours = [tuple(int(v) for v in picture[0, i * width]) for i in range(4)]
    assert colours[0] == NOT_A_NUMBER
    assert NOT_A_NUMBER not in colours[1:]
