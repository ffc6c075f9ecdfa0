"""The demo volume: other implementations read it, and any number of threads writes the same bytes."""

import json
import threading
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from zarrscope.runtime import threads as background
from zarrscope.view.image import find_images
from zarrscope_resources import demo
from zarrscope_resources.scene import Scene, halved


@pytest.fixture(scope="module")
def volume(tmp_path_factory: Any) -> Any:
    return demo.make(tmp_path_factory.mktemp("demo") / "demo.zarr", "small")


ARRAYS = [f"{place}{level}" for place in ("", "labels/nuclei/") for level in range(3)]


@pytest.mark.parametrize("path", ARRAYS)
def test_zarr_python_reads_the_same_values(volume: Any, path: Any) -> None:
    zarr = pytest.importorskip("zarr")
    ours = as_array(zarrscope.open(str(volume))["/" + path])
    theirs = zarr.open_array(str(volume / path), mode="r")
    assert theirs.shape == ours.shape
    assert np.array_equal(theirs[...], ours[...])


@pytest.mark.parametrize("path", ARRAYS)
def test_tensorstore_reads_the_same_values(volume: Any, path: Any) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(volume / path)}}
    theirs = tensorstore.open(spec).result()
    assert np.array_equal(theirs.read().result(), as_array(zarrscope.open(str(volume))["/" + path])[...])


def test_it_is_valid_ome_zarr(volume: Any) -> None:
    models = pytest.importorskip("ome_zarr_models.v05")
    zarr = pytest.importorskip("zarr")
    image = models.Image.from_zarr(zarr.open_group(str(volume), mode="r"))
    assert len(image.ome_attributes.multiscales[0].datasets) == 3
    label = models.ImageLabel.from_zarr(zarr.open_group(str(volume / "labels" / "nuclei"), mode="r"))
    assert label.ome_attributes.image_label is not None


def test_it_says_what_it_is(volume: Any) -> None:
    image = find_images(zarrscope.open(str(volume)).root)[0]
    assert [(a.name, a.type, a.unit) for a in image.axes] == [
        ("t", "time", "second"),
        ("c", "channel", None),
        *((n, "space", "micrometer") for n in "zyx"),
    ]
    assert [c.label for c in image.channels] == ["nuclei", "membranes", "puncta"]
    assert all(c.window is not None for c in image.channels)
    assert image.labels == ("/labels/nuclei",)
    assert image.levels[0].array.shards is not None
    assert image.levels[0].array.dimension_names == ("t", "c", "z", "y", "x")
    assert image.warnings == ()


def test_each_channel_shows_its_structures(volume: Any) -> None:
    h = zarrscope.open(str(volume))
    values = as_array(h["/0"])[0].astype(float)
    labels: Any = as_array(h["/labels/nuclei/0"])[0, 0]
    nuclei = labels > 0
    assert 0.03 < nuclei.mean() < 0.4
    assert len(np.unique(labels)) > 50
    assert np.median(values[0][nuclei]) > 4 * np.median(values[0][~nuclei])
    assert np.percentile(values[1], 99) > 5 * np.median(values[1])
    bright = np.percentile(values[2], 99.9)
    assert bright > 3 * np.percentile(values[2], 50)
    # Shot noise: where it is dark, the spread is that of few photons, not none.
    assert 2 < values[2][:, 220:, :40].std() < 40


def test_levels_are_means_and_stated_colours_are_those_of_labels_that_exist(volume: Any) -> None:
    h = zarrscope.open(str(volume))
    fine, coarse = as_array(h["/0"])[1, 2], as_array(h["/1"])[1, 2]
    assert np.array_equal(coarse, halved(fine, (1, 2, 2)))
    blocks = fine.reshape(16, 128, 2, 128, 2).mean(axis=(2, 4))
    assert np.abs(blocks - coarse).max() <= 0.5
    colors = find_images(h["/labels/nuclei"])[0].label_colors
    assert set(np.unique(as_array(h["/labels/nuclei/0"])[...])) - {0} <= set(colors)


def test_the_second_moment_has_drifted_but_shows_the_same_cells(volume: Any) -> None:
    a = as_array(zarrscope.open(str(volume))["/0"])
    first, second = (a[t, 1, 8].astype(float) for t in (0, 1))
    spectrum = np.fft.fft2(first - first.mean()).conj() * np.fft.fft2(second - second.mean())
    peak = np.unravel_index(np.argmax(np.fft.ifft2(spectrum).real), first.shape)
    shift = [((p + 128) % 256 - 128) * 0.432 for p in peak]
    expected = Scene(1, (2.0, 0.432, 0.432), (16, 256, 256), demo.SEED).drift[1:]
    assert np.allclose(shift, expected, atol=0.5)


def test_a_second_call_finds_it(volume: Any) -> None:
    before = (volume / "zarr.json").stat().st_mtime_ns
    calls = []
    assert demo.make(volume, "small", lambda *a: calls.append(a)) == volume
    assert not calls
    assert (volume / "zarr.json").stat().st_mtime_ns == before


def test_the_number_of_threads_makes_no_difference(volume: Any, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(background, "shared", lambda: background.Background(decode_threads=5))
    other = demo.make(tmp_path / "b.zarr", "small")
    files = sorted(p.relative_to(volume) for p in volume.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(other) for p in other.rglob("*") if p.is_file())
    assert all((volume / f).read_bytes() == (other / f).read_bytes() for f in files)


def test_progress_comes_one_call_at_a_time_and_ends_at_all(tmp_path: Any) -> None:
    seen, inside = [], threading.Lock()

    def progress(done: Any, total: Any) -> None:
        assert inside.acquire(blocking=False)
        seen.append((done, total))
        inside.release()

    demo.make(tmp_path / "x.zarr", "small", progress)
    assert [done for done, _ in seen] == list(range(seen[-1][1] + 1))


def test_a_stopped_making_leaves_nothing(tmp_path: Any) -> None:
    def stop(done: Any, total: Any) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo.make(tmp_path / "x.zarr", "small", stop)
    assert list(tmp_path.iterdir()) == []


def test_other_peoples_folders_are_not_touched(tmp_path: Any) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
    with pytest.raises(zarrscope.Conflict):
        demo.make(mine, "small")
    assert len(list(mine.iterdir())) == 1
    empty = tmp_path / "empty"
    empty.mkdir()
    assert demo.is_demo(demo.make(empty, "small"), "small")
