"""Exports, read by tifffile, numpy, csv and zarr-python: a cancelled or failed export leaves no file and overwrites
none.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from zarrscope.convert import export
from zarrscope.errors import Conflict, NotFound, Refused
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope_app import cli
from zarrscope_app.presenters import JobState, Session, SessionStatus, Workspace

tifffile = pytest.importorskip("tifffile")
SHAPE = (2, 3, 5, 64, 96)
SCALE = [2.0, 1.0, 1.5, 0.25, 0.125]


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


def values(dtype: str = "u2") -> np.ndarray[Any, Any]:
    return (np.arange(np.prod(SHAPE)) % 60_000).reshape(SHAPE).astype(dtype)


def image(store: Any, dtype: str = "u2") -> Any:
    """A t c z y x image of two levels; its pixel is 1.5 × 0.25 × 0.125 µm, its frames are 2 s apart."""
    types = {"t": "time", "c": "channel"}
    units = {"t": "second", "c": None}
    axes = [
        {"name": n, "type": types.get(n, "space"), **({"unit": u} if (u := units.get(n, "micrometer")) else {})}
        for n in "tczyx"
    ]
    datasets = [
        {"path": str(k), "coordinateTransformations": [
            {"type": "scale", "scale": [*SCALE[:3], SCALE[3] * 2**k, SCALE[4] * 2**k]},
        ]}
        for k in (0, 1)
    ]  # fmt: skip
    channels = [
        {"label": label, "color": color} for label, color in (("dna", "0000FF"), ("rna", "00FF00"), ("é<", "FF0000"))
    ]
    h = zarrscope.open(store, "w-")
    h["/"].attrs["ome"] = {
        "version": "0.5",
        "multiscales": [{"name": "cells", "axes": axes, "datasets": datasets}],
        "omero": {"channels": channels},
    }
    h.create_array("/0", shape=SHAPE, dtype=dtype, chunks=(1, 1, 2, 32, 32), dimension_names=tuple("tczyx"))[...] = (
        values(dtype)
    )
    half = values(dtype)[..., ::2, ::2]
    h.create_array("/1", shape=half.shape, dtype=dtype, chunks=(1, 1, 2, 32, 32))[...] = half
    return h


@pytest.fixture
def place(tmp_path: Path) -> str:
    image(str(tmp_path / "cells.zarr"))
    return str(tmp_path / "cells.zarr")


def made(source: export.ExportSource, target: Path, **how: Any) -> Path:
    plan = export.plan(source, str(target))
    assert export.run(plan, **how)
    assert [found.name for found in target.parent.iterdir() if found.name.startswith(f".{target.name}")] == []
    if plan.exact:
        assert 0 <= os.path.getsize(target) - plan.file_nbytes < 20_000
    return target


# ---------------------------------------------------------------------- TIFF
def test_ome_tiff_is_read_back_with_pixel_sizes_channels_and_times(tmp_path: Path) -> None:
    h = image(MemoryStore())
    file = made(export.ExportSource.of(h["/"]), tmp_path / "a.ome.tif")
    with tifffile.TiffFile(file) as found:
        assert found.is_ome
        assert found.series[0].axes == "TCZYX"
        assert np.array_equal(found.asarray(), values())
        told = tifffile.xml2dict(found.ome_metadata)["OME"]["Image"]["Pixels"]
    assert (told["PhysicalSizeX"], told["PhysicalSizeY"], told["PhysicalSizeZ"]) == (0.125, 0.25, 1.5)
    assert (told["PhysicalSizeXUnit"], told["TimeIncrement"], told["TimeIncrementUnit"]) == ("µm", 2.0, "s")
    assert [channel["Name"] for channel in told["Channel"]] == ["dna", "rna", "é<"]
    assert [channel["Color"] for channel in told["Channel"]] == [0xFF00 | 0xFF, 0xFF0000 | 0xFF, 0xFF0000FF - (1 << 32)]


def test_tiff_is_a_hyperstack_of_imagej_with_its_pixel_size(tmp_path: Path) -> None:
    h = image(MemoryStore())
    file = made(export.ExportSource.of(h["/"]), tmp_path / "a.tif")
    with tifffile.TiffFile(file) as found:
        assert found.is_imagej
        assert found.series[0].axes == "TZCYX"
        assert np.array_equal(found.asarray(), values().transpose(0, 2, 1, 3, 4))
        told = found.imagej_metadata
        across, down = (found.pages[0].tags[name].value for name in ("XResolution", "YResolution"))
    assert (told["channels"], told["slices"], told["frames"]) == (3, 5, 2)
    assert (told["spacing"], told["unit"], told["finterval"]) == (1.5, "micron", 2.0)
    assert (across[1] / across[0], down[1] / down[0]) == pytest.approx((0.125, 0.25))
    assert told["Labels"][:4] == ["dna", "rna", "é<", "dna"]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", ">u2", "u4", "i4", "f4", "f8", "c8", "c16", "?", "f2"])
@pytest.mark.parametrize("ending", [".tif", ".ome.tif"])
def test_tiffs_of_every_type_hold_the_values(tmp_path: Path, dtype: str, ending: str) -> None:
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(3, 20, 30), dtype=dtype, chunks=(1, 8, 8))
    array[...] = (np.arange(1800) % 251 - 100).reshape(3, 20, 30).astype(dtype)
    found = tifffile.imread(made(export.ExportSource.of(array), tmp_path / f"a{ending}"))
    assert np.array_equal(found, np.asarray(array[...]).astype(found.dtype))


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_what_ome_tiff_cannot_hold_is_refused_and_tiff_can(tmp_path: Path, dtype: str) -> None:
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(4, 4), dtype=dtype, chunks=(4, 4))
    array[...] = np.iinfo(dtype).max
    with pytest.raises(Refused, match="no type"):
        export.plan(export.ExportSource.of(array), "a.ome.tif")
    assert np.array_equal(tifffile.imread(made(export.ExportSource.of(array), tmp_path / "a.tif")), array[...])


@pytest.mark.parametrize("ending", [".tif", ".ome.tif"])
def test_large_planes_are_written_in_tiles(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.convert.export.tiff.EXPORTED_PLANE_BYTES", 1000)
    monkeypatch.setattr("zarrscope.convert.export.tiff.TILE", 16)
    h = image(MemoryStore())
    source = export.ExportSource.of(h["/"], 0, (1, slice(None), 2))
    plan = export.plan(source, str(tmp_path / f"a{ending}"))
    assert export.run(plan)
    with tifffile.TiffFile(plan.target) as found:
        assert found.pages[0].is_tiled
        assert np.array_equal(found.asarray(), values()[1, :, 2])


def test_axes_that_a_tiff_does_not_have_are_told_or_refused(tmp_path: Path) -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    odd = h.create_array("/a", shape=(4, 20, 30), dtype="u1", chunks=(1, 20, 30), dimension_names=("angle", "y", "x"))
    plan = export.plan(export.ExportSource.of(odd), str(tmp_path / "a.ome.tif"))
    assert (plan.letters, plan.notes) == ("ZYX", ("The axis angle is written as Z.",))
    many = h.create_array("/m", shape=(2,) * 6, dtype="u1", chunks=(1,) * 6)
    with pytest.raises(Refused, match="five axes"):
        export.plan(export.ExportSource.of(many), "a.tif")
    line = h.create_array("/l", shape=(9,), dtype="u1", chunks=(9,))
    with pytest.raises(Refused, match="two axes"):
        export.plan(export.ExportSource.of(line), "a.tif")
    last = h.create_array("/c", shape=(20, 30, 3), dtype="u1", chunks=(20, 30, 3), dimension_names=("y", "x", "c"))
    last[...] = np.arange(1800).reshape(20, 30, 3) % 255
    found = tifffile.imread(made(export.ExportSource.of(last), tmp_path / "c.ome.tif"))
    assert np.array_equal(found, np.moveaxis(np.asarray(last[...]), -1, 0))


# ---------------------------------------------------------------------- npy, CSV, Zarr
@pytest.mark.parametrize("dtype", ["?", "i8", "f4", ">f8", "c8", "M8[s]", "U5", [("a", "i4"), ("b", "f8")]])
def test_npy_is_what_numpy_loads(tmp_path: Path, dtype: Any) -> None:
    source = np.zeros((3, 4), dtype) if isinstance(dtype, list) else np.arange(12).reshape(3, 4).astype(dtype)
    store = MemoryStore()
    array = zarrscope.open(store, "w-").create_array("/a", shape=(3, 4), dtype=source.dtype, chunks=(2, 3))
    array[...] = source
    found = np.load(made(export.ExportSource.of(array), tmp_path / "a.npy"))
    assert found.dtype == array.dtype
    assert np.array_equal(found, source)


def test_npy_in_blocks_of_a_region_of_a_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.convert.export.source.EXPORTED_BYTES", 3000)
    h = image(MemoryStore())
    told: list[tuple[int, int]] = []
    source = export.ExportSource.of(h["/"], 1, (1, slice(0, 2), slice(None), slice(8, 40), slice(10, 90, 2)))
    file = made(source, tmp_path / "a.npy", progress=lambda done, total: told.append((done, total)))
    expected = np.asarray(h["/1"][1, 0:2, :, 4:20, 5:45:2])
    assert np.array_equal(np.load(file), expected)
    assert len(told) > 3
    assert told[-1] == (expected.nbytes, expected.nbytes)
    assert source.scale == (1.0, 1.5, 0.5, 0.5)
    assert source.translation == (0.0, 0.0, 2.0, 1.25)


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL, None])
def test_npy_where_the_file_system_cannot_reserve(
    number: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None: the system has no such function, as macOS and Windows."""

    def cannot(*_: object) -> None:
        assert number is not None
        raise OSError(number, os.strerror(number))

    if number is None:
        monkeypatch.delattr("os.posix_fallocate", raising=False)
    else:
        monkeypatch.setattr("os.posix_fallocate", cannot, raising=False)
    array = zarrscope.open(tmp_path / "x.zarr", "w-").create_array("/a", shape=(700, 1000), dtype="u2")
    array[...] = np.arange(700_000, dtype="u2").reshape(700, 1000)
    assert np.array_equal(np.load(made(export.ExportSource.of(array), tmp_path / "a.npy")), array[...])


def test_npy_without_elements_and_of_one_value(tmp_path: Path) -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    empty = h.create_array("/e", shape=(0, 4), dtype="f4", chunks=(1, 4))
    assert np.load(made(export.ExportSource.of(empty), tmp_path / "e.npy")).shape == (0, 4)
    one = h.create_array("/o", shape=(), dtype="f4", chunks=())
    one[...] = 2.5
    assert np.load(made(export.ExportSource.of(one), tmp_path / "o.npy")) == 2.5


def test_csv_reads_back_the_same(tmp_path: Path) -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    floats = h.create_array("/f", shape=(2, 3), dtype="f4", chunks=(1, 2))
    floats[...] = np.array([[0.1, np.nan, np.inf], [-0.0, 1e-30, 3]], "f4")
    file = made(export.ExportSource.of(floats), tmp_path / "f.csv")
    assert np.array_equal(np.loadtxt(file, delimiter=",", dtype="f4"), floats[...], equal_nan=True)
    large = h.create_array("/i", shape=(2,), dtype="u8", chunks=(2,))
    large[...] = [2**64 - 1, 0]
    assert made(export.ExportSource.of(large), tmp_path / "i.csv").read_text() == "18446744073709551615\n0\n"
    cube = h.create_array("/c", shape=(1, 2, 2), dtype="i2", chunks=(1, 1, 2), dimension_names=("z", "y", "x"))
    cube[...] = [[[1, 2], [3, 4]]]
    rows = list(csv.reader(made(export.ExportSource.of(cube), tmp_path / "c.csv").read_text().splitlines()))
    assert rows == [
        ["z", "y", "x", "value"],
        ["0", "0", "0", "1"],
        ["0", "0", "1", "2"],
        ["0", "1", "0", "3"],
        ["0", "1", "1", "4"],
    ]
    fields = h.create_array("/s", shape=(2,), dtype=[("a", "i4"), ("b", "f8")], chunks=(2,))
    fields[...] = np.array([(1, 0.5), (2, 0.25)], fields.dtype)
    rows = list(csv.reader(made(export.ExportSource.of(fields), tmp_path / "s.csv").read_text().splitlines()))
    assert rows == [["x", "a", "b"], ["0", "1", "0.5"], ["1", "2", "0.25"]]
    huge = h.create_array("/h", shape=(10**5, 10**5), dtype="u1", chunks=(100, 100))
    with pytest.raises(Refused, match="would be too large to use"):
        export.plan(export.ExportSource.of(huge), "h.csv")


def test_zarr_is_an_image_that_zarr_python_opens_at_its_place(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    h = image(MemoryStore())
    source = export.ExportSource.of(h["/"], 0, (slice(None), slice(1, 3), 2, slice(10, 50), slice(20, 60)))
    file = made(source, tmp_path / "crop.zarr")
    group = zarr.open_group(str(file), mode="r")
    assert np.array_equal(group["0"][...], values()[:, 1:3, 2, 10:50, 20:60])
    assert group["0"].metadata.dimension_names == ("t", "c", "y", "x")
    ome: Any = group.attrs["ome"]
    assert [axis["name"] for axis in ome["multiscales"][0]["axes"]] == ["t", "c", "y", "x"]
    (scale, shift) = ome["multiscales"][0]["datasets"][0]["coordinateTransformations"]
    assert scale["scale"] == [2.0, 1.0, 0.25, 0.125]
    assert shift["translation"] == [0.0, 0.0, 2.5, 2.5]
    assert [channel["label"] for channel in ome["omero"]["channels"]] == ["rna", "é<"]
    again = export.ExportSource.of(zarrscope.open(str(file))["/"])
    assert (again.translation, again.scale) == ((0.0, 0.0, 2.5, 2.5), (2.0, 1.0, 0.25, 0.125))


# ---------------------------------------------------------------------- whole or not at all
@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif", "a.npy", "a.csv", "a.zarr"])
def test_cancelled_or_failing_nothing_is_left(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.convert.export.source.EXPORTED_BYTES", 3000)
    store = MemoryStore()
    h = image(store)
    folder = tmp_path / "out"
    folder.mkdir()
    plan = export.plan(export.ExportSource.of(h["/"]), str(folder / name))
    asked = iter([False] * 3 + [True] * 100_000)
    assert not export.run(plan, cancelled=lambda: next(asked))
    assert list(folder.iterdir()) == []
    store.set("0/c/1/2/1/1/2", b"broken")
    with pytest.raises(zarrscope.ZarrscopeError):
        export.run(export.plan(export.ExportSource.of(zarrscope.open(store)["/"]), str(folder / name)))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["a.tif", "a.npy", "a.csv", "a.zarr"])
def test_what_is_there_stays_unless_asked(tmp_path: Path, name: str) -> None:
    h = image(MemoryStore())
    target = tmp_path / name
    plan = export.plan(export.ExportSource.of(h["/"], 0, (0, 0, 0)), str(target))
    if name.endswith(".zarr"):
        target.mkdir()
        (target / "mine").write_text("mine")
    else:
        target.write_text("mine")
    with pytest.raises(Conflict, match="exists already"):
        export.run(plan)
    if name.endswith(".zarr"):
        with pytest.raises(Conflict, match="exists already"):
            export.run(plan, overwrite=True)
        assert (target / "mine").read_text() == "mine"
    else:
        assert target.read_text() == "mine"
        assert export.run(plan, overwrite=True)
        assert target.stat().st_size > 4
    assert [found.name for found in tmp_path.iterdir()] == [name]
    with pytest.raises(NotFound, match="no folder"):
        export.run(export.plan(export.ExportSource.of(h["/"]), str(tmp_path / "nowhere" / "a.npy")))


def test_what_comes_meanwhile_stays(tmp_path: Path) -> None:
    h = image(MemoryStore())
    target = tmp_path / "a.npy"
    with pytest.raises(Conflict):
        export.run(
            export.plan(export.ExportSource.of(h["/"]), str(target)),
            progress=lambda done, total: target.write_text("mine"),
        )
    assert target.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [target]


def test_selections_that_do_not_fit_are_refused() -> None:
    h = image(MemoryStore())
    for selection in ((9,), (slice(None, None, -1),), (0,) * 6, ("a",)):
        with pytest.raises(Refused):
            export.ExportSource.of(h["/"], 0, selection)
    with pytest.raises(Refused, match="no level 7"):
        export.ExportSource.of(h["/"], 7)
    h.create_group("/plain")
    h.create_array("/nothing", shape=(0, 4), dtype="f4")
    for name in ("a.tif", "a.ome.tif"):
        with pytest.raises(Refused, match="at least one pixel"):
            export.plan(export.ExportSource.of(h["/nothing"]), name)
    with pytest.raises(Refused, match="holds no values"):
        export.ExportSource.of(h["/plain"])
    assert export.estimate(export.plan(export.ExportSource.of(h["/"]), "a.npy")) > 0


# ---------------------------------------------------------------------- the command line
def run(*words: str) -> int:
    return cli.run(["export", *words])


def test_the_command_line_says_size_first_and_writes_whole(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plane.npy"
    assert run(place, "0", str(out), "--select", "0,1,2", "--dry-run") == 0
    assert "64 × 96 uint16 · 12.0 KiB · less than a second" in capsys.readouterr().err
    assert not out.exists()
    assert run(place, "0", str(out), "--select", "0,1,2") == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert np.array_equal(np.load(out), values()[0, 1, 2])
    assert run(place, "0", str(out), "--select", "0,1,3") == 1
    assert "exists already" in capsys.readouterr().err
    assert np.array_equal(np.load(out), values()[0, 1, 2])
    assert run(place, "0", str(out), "--select", "0,1,3", "--overwrite", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "what": "region", "format": "npy", "target": str(out), "notes": [], "shape": [64, 96], "dtype": "uint16",
        "nbytes": 12288, "written": True,
    }  # fmt: skip
    assert np.array_equal(np.load(out), values()[0, 1, 3])
    assert run(place, str(tmp_path / "half.ome.tif"), "--level", "1") == 0
    assert tifffile.imread(tmp_path / "half.ome.tif").shape == (2, 3, 5, 32, 48)
    assert run(place, "0", "--select", "0,1,4", "-o", str(tmp_path / "option.npy")) == 0
    assert np.array_equal(np.load(tmp_path / "option.npy"), values()[0, 1, 4])
    assert run(place, str(tmp_path / "a.doc")) == 2
    assert run(place) == 2
    zarrscope.open(place, "r+").create_group("/plain")
    assert [run(place, node, str(tmp_path / "none.npy")) for node in ("plain", "none")] == [1, 3]
    assert capsys.readouterr().err.count("/plain holds no values") == 1


def test_an_export_tells_of_chunks_that_are_not_stored(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "gap.zarr")
    with zarrscope.open(place, "w-") as h:
        h.create_array("/plain", shape=(4, 4), dtype="u1", chunks=(2, 2), fill_value=7)[:2] = 1
        shards = h.create_array("/shards", shape=(8, 4), dtype="u1", chunks=(2, 2), shards=(4, 4))
        shards[:2] = 1
    for node, told in (("plain", "2 of the 4 chunks"), ("shards", "6 of the 8 chunks")):
        assert run(place, node, str(tmp_path / f"{node}.npy")) == 0
        fill = 7 if node == "plain" else 0
        assert f"{told} that were read are not stored: the fill value {fill} stands there." in capsys.readouterr().err
    assert run(place, "plain", str(tmp_path / "full.npy"), "--select", "0") == 0
    assert "not stored" not in capsys.readouterr().err
    session = workspace.open(f"{place}::plain")
    mailbox.run_until(settled(session))
    session.export.prepare("node", "npy", str(tmp_path / "again.npy"))
    mailbox.run_until(lambda: session.export.state.ready)
    session.export.run()
    mailbox.run_until(ended(session))
    assert session.jobs.items[-1].sentence.endswith("not stored: the fill value 7 stands there.")


def test_a_view_and_a_node(place: str, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    picture = tmp_path / "view.tif"
    assert run(place, str(picture), "--what", "view", "--size", "96") == 0
    assert tifffile.imread(picture).shape[2] == 3
    assert run(place, str(tmp_path / "view.png"), "--size", "64") == 0
    assert (tmp_path / "view.png").read_bytes().startswith(b"\x89PNG")
    assert run(place, "/", str(tmp_path / "copy.zarr")) == 0
    group = zarr.open_group(str(tmp_path / "copy.zarr"), mode="r")
    assert np.array_equal(group["1"][...], values()[..., ::2, ::2])
    assert dict(group.attrs) == dict(zarr.open_group(place, mode="r").attrs)
    assert run(place, "/", str(tmp_path / "copy.zarr")) == 1


# ---------------------------------------------------------------------- presenter and window
def ended(session: Session) -> Callable[[], bool]:
    return lambda: bool(session.jobs.items) and session.jobs.items[-1].state is not JobState.RUNNING


def test_the_presenter_says_size_first_and_runs_a_job(
    place: str, tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = workspace.open(place)
    mailbox.run_until(settled(session))
    session.slice.set_index("z", 3)
    session.slice.viewport((16.0, 32.0, 48.0, 64.0), (64, 64))
    mailbox.run_until(lambda: bool(session.slice.frame.tiles) and not session.slice.frame.loading)
    exporter = session.export
    exporter.folder = str(tmp_path)
    exporter.begin()
    mailbox.run_until(lambda: exporter.state.ready)
    assert exporter.state.target == str(tmp_path / "cells.png")
    assert exporter.state.sentence.startswith("64 × 64 pixels")
    exporter.run()
    mailbox.run_until(ended(session))
    assert session.jobs.items[-1].sentence.startswith(f"Written: {tmp_path / 'cells.png'} (")
    exporter.choose("region", "npy")
    mailbox.run_until(lambda: exporter.state.ready)
    assert exporter.state.sentence.startswith("3 × 32 × 32 uint16 · 6.0 KiB")
    exporter.run()
    mailbox.run_until(lambda: len(session.jobs.items) == 2 and ended(session)())
    assert np.array_equal(np.load(tmp_path / "cells.npy"), values()[0, :, 3, 16:48, 32:64])
    exporter.prepare("region", "npy", str(tmp_path / "cells.npy"))
    mailbox.run_until(lambda: exporter.state.ready)
    assert exporter.state.taken
    assert exporter.run() is None
    assert "is there already" in exporter.state.sentence
    exporter.choose("region", "npy")
    mailbox.run_until(lambda: exporter.state.ready)
    assert exporter.state.target == str(tmp_path / "cells-2.npy"), "a name that is free"
    exporter.prepare("region", "npy", str(tmp_path / "cells.tif"))
    assert exporter.state.sentence == "npy (numpy) is chosen, whose names end in .npy."
    exporter.choose("node", "zarr")
    mailbox.run_until(lambda: exporter.state.ready)
    assert re.match(r"at most 450 KiB · (less than a second|about .*) · 144 chunks · Zarr v3", exporter.state.sentence)
    exporter.run()
    mailbox.run_until(lambda: len(session.jobs.items) == 3 and ended(session)())
    assert as_array(zarrscope.open(exporter.state.target)["/1"]).shape == (2, 3, 5, 32, 48)


def test_a_view_of_few_pixels_is_painted_again_in_all_that_the_data_have(
    place: str, tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    """A terminal of 80 × 24 wrote its 54 × 34 cells."""
    session = workspace.open(place)
    mailbox.run_until(settled(session))
    exporter, picture = session.export, session.slice
    picture.set_index("z", 3)
    picture.set_visible(0, False)

    def written(name: str, rect: tuple[float, float, float, float], pixels: tuple[int, int]) -> Any:
        picture.viewport(rect, pixels)
        mailbox.run_until(lambda: bool(picture.frame.tiles) and not picture.frame.loading)
        exporter.prepare("view", "tiff", str(tmp_path / name))
        assert not exporter.state.ready, "its size comes first"
        mailbox.run_until(lambda: exporter.state.ready)
        exporter.run()
        mailbox.run_until(ended(session))
        return tifffile.imread(tmp_path / name)

    small = written("small.tif", (0.0, -16.0, 64.0, 112.0), (34, 68))
    height = round(64 * picture.frame.aspect)
    assert picture.painted_pixels == (34, 68), "the screen stays as it is"
    assert small.shape == (height, 96, 3), "the plane in its own pixels, without the room beside it"
    large = written("large.tif", (0.0, 0.0, 64.0, 96.0), (height, 96))
    assert np.array_equal(small, large), "with the index, the contrast and the channels of the screen"
    part = written("part.tif", (16.0, 32.0, 48.0, 64.0), (8, 8))
    assert part.shape[1] == 32


def test_a_view_is_not_painted_again_if_that_takes_too_much_or_is_left(
    place: str, tmp_path: Path, workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zarrscope_app.presenters.image import planning

    session = workspace.open(place)
    mailbox.run_until(settled(session))
    exporter, picture = session.export, session.slice
    picture.fit((10, 10))
    mailbox.run_until(lambda: bool(picture.frame.tiles) and not picture.frame.loading)
    exporter.prepare("view", "png", str(tmp_path / "a.png"))
    exporter.prepare("node", "npy", str(tmp_path / "a.npy"))
    mailbox.run_until(lambda: exporter.state.ready)
    assert exporter.state.sentence.startswith("2 × 3 × 5 × 64 × 96"), "the later choice, not the former picture"
    monkeypatch.setattr(planning, "MAX_CHUNKS", 1)
    exporter.prepare("view", "png", str(tmp_path / "a.png"))
    mailbox.run_until(lambda: exporter.state.ready)
    assert exporter.state.sentence.startswith("10 × 10 pixels")
    assert exporter.state.notes[0].startswith("These are the pixels of the screen: more would take 18 chunks")


def test_the_drawn_region_is_exported_where_its_statistics_are(
    place: str, tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = workspace.open(place)
    mailbox.run_until(settled(session))
    exporter, picture = session.export, session.slice
    exporter.folder = str(tmp_path)
    assert "drawn" not in dict(exporter.whats())
    picture.set_index("z", 3)
    picture.measure_region(40.4, 60.6, 10.5, 20.4)  # from the lower right corner to the upper left one
    mailbox.run_until(lambda: bool(picture.state.measurement.rows))
    assert picture.state.measurement.title == "Region of 30 × 41 from y 10 x 20"
    exporter.begin()
    assert exporter.state.what == "drawn"
    exporter.choose("drawn", "npy")
    mailbox.run_until(lambda: exporter.state.ready)
    assert exporter.state.sentence.startswith("3 × 30 × 41 uint16")
    exporter.run()
    mailbox.run_until(ended(session))
    assert np.array_equal(np.load(tmp_path / "cells.npy"), values()[0, :, 3, 10:40, 20:61])
    picture.forget_measurement()
    exporter.choose("drawn", "npy")
    assert exporter.state.sentence.startswith("No region is drawn")


def test_the_ending_of_a_typed_name_chooses_the_format(
    place: str, tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = workspace.open(place)
    mailbox.run_until(settled(session))
    exporter = session.export
    exporter.folder = str(tmp_path)
    exporter.choose("node", "npy")
    for typed, format, target in (
        ("a.csv", "csv", "a.csv"),
        ("a.ome.tif", "ome-tiff", "a.ome.tif"),
        ("a.TIFF", "tiff", "a.TIFF"),
        ("plate-1.5", "tiff", "plate-1.5.tif"),
        ("cells", "tiff", "cells.tif"),
        ("a.ome.zarr", "zarr", "a.ome.zarr"),
    ):
        exporter.name(str(tmp_path / typed))
        assert (exporter.state.format, exporter.state.target) == (format, str(tmp_path / target))
        mailbox.run_until(lambda: exporter.state.ready)
    exporter.choose("node", "ome-tiff")
    assert exporter.state.target == str(tmp_path / "a.ome.tif"), "the typed name stays when the format changes"
    for typed in ("a.png", "a.jpg"):  # no values; unknown
        exporter.name(str(tmp_path / typed))
        assert exporter.state.sentence == "OME-TIFF is chosen, whose names end in .ome.tif."
        assert not exporter.state.ready


def test_a_format_that_nobody_chose_does_not_stay(
    place: str, tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    """Past the table, which is CSV, the whole image was to be exported as CSV, too."""
    session = workspace.open(place)
    mailbox.run_until(settled(session))
    exporter = session.export
    exporter.folder = str(tmp_path)
    exporter.begin()
    for what, format in (("view", "png"), ("region", "ome-tiff"), ("table", "csv"), ("node", "ome-tiff")):
        exporter.choose(what)
        assert exporter.state.format == format
    exporter.choose("node", "npy")
    for what, format in (("table", "npy"), ("view", "png"), ("region", "npy")):
        exporter.choose(what)
        assert exporter.state.format == format, "what was chosen stays where it fits"
    exporter.begin()
    exporter.choose("node")
    assert exporter.state.format == "ome-tiff"
    mailbox.run_until(lambda: exporter.state.ready)


def test_structured_values_are_proposed_as_a_table(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    with zarrscope.open(str(tmp_path / "t.zarr"), "w-") as h:
        h.create_array("/t", shape=(3,), dtype=np.dtype([("a", "u1"), ("b", "f8")]), chunks=(3,))
    session = workspace.open(str(tmp_path / "t.zarr"))
    session.select("/t")
    mailbox.run_until(settled(session))
    exporter = session.export
    exporter.folder = str(tmp_path)
    exporter.choose("node")
    mailbox.run_until(lambda: exporter.state.ready)
    assert exporter.state.format == "csv"
    assert exporter.state.sentence.startswith("3 struct · "), "not the code of the data type"


def test_a_cancelled_job_leaves_nothing(
    place: str, tmp_path: Path, workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = workspace.open(place)
    mailbox.run_until(settled(session))
    exporter, folder = session.export, tmp_path / "out"
    folder.mkdir()
    exporter.folder = str(folder)
    exporter.choose("node", "ome-tiff")
    mailbox.run_until(lambda: exporter.state.ready)
    began, gate, read = threading.Event(), threading.Event(), export.ExportSource.read

    def held(self: export.ExportSource, region: Any, counted: Any = None) -> Any:
        began.set()
        assert gate.wait(60)
        return read(self, region, counted)

    monkeypatch.setattr(export.ExportSource, "read", held)
    number = exporter.run()
    assert number is not None
    assert began.wait(60)
    assert [file.name.startswith(".cells.ome.tif-") for file in folder.iterdir()] == [True]
    session.jobs.cancel(number)
    gate.set()
    end = time.monotonic() + 60
    while list(folder.iterdir()) and time.monotonic() < end:
        mailbox.run()
        time.sleep(0.01)
    assert list(folder.iterdir()) == []
    assert session.jobs.items[-1].state is JobState.CANCELLED


@pytest.mark.needs("qt", "display")
def test_the_window_exports(place: str, tmp_path: Path, qtbot: Any) -> None:
    from qt_robot import window_on
    from zarrscope_app.qt.export_dialog import ExportDialog

    window, session = window_on(qtbot, place)
    frame = session.slice
    qtbot.waitUntil(lambda: settled(session)() and bool(frame.frame.tiles) and not frame.frame.loading, timeout=20_000)
    session.export.folder = str(tmp_path)
    window.run("export")
    (dialog,) = window.findChildren(ExportDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=20_000)
    assert not dialog.isModal()
    dialog.target.setText(str(tmp_path / "picture.tif"))
    dialog.target.setModified(True)
    dialog.target.editingFinished.emit()
    qtbot.waitUntil(lambda: dialog.go.isEnabled() and dialog.format.currentData() == "tiff", timeout=20_000)
    dialog.target.setText(str(tmp_path / "cells"))
    dialog.target.setModified(True)
    dialog.target.editingFinished.emit()
    qtbot.waitUntil(lambda: dialog.go.isEnabled() and dialog.target.text().endswith("cells.tif"), timeout=20_000)
    dialog.what.setCurrentIndex(dialog.what.findData("node"))
    dialog.what.activated.emit(dialog.what.currentIndex())
    qtbot.waitUntil(lambda: dialog.go.isEnabled() and dialog.format.findData("ome-tiff") >= 0, timeout=20_000)
    dialog.format.setCurrentIndex(dialog.format.findData("ome-tiff"))
    dialog.format.activated.emit(dialog.format.currentIndex())
    qtbot.waitUntil(lambda: dialog.go.isEnabled() and dialog.target.text().endswith(".ome.tif"), timeout=20_000)
    assert "2 × 3 × 5 × 64 × 96 uint16" in dialog.sentence.text()
    dialog.go.click()
    qtbot.waitUntil(ended(session), timeout=20_000)
    assert np.array_equal(tifffile.imread(tmp_path / "cells.ome.tif"), values())
