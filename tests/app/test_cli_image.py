"""`zarrscope image` changes pixel sizes, units, axes, channels and names of many images; other readers check the
result.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope_app.cli import run
from zarrscope_resources import demo

FIELDS = ("--pixel-size", "z=0.5,y=0.108,x=0.108", "--unit", "um", "--channel", "0:name=DAPI,color=00f,window=100:4000")


def zs(capsys: pytest.CaptureFixture[str], *arguments: Any) -> tuple[int, str, str]:
    code = run([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(demo.make(tmp_path_factory.mktemp("image") / "demo.zarr", "small"))


@pytest.fixture
def copies(made: Path, tmp_path: Path) -> list[Path]:
    """Three volumes that consist of documents only: no chunk is read."""
    places = [tmp_path / f"{name}.ome.zarr" for name in "abc"]
    for place in places:
        for document in made.rglob("zarr.json"):
            target = place / document.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(document.read_bytes())
    return places


def tree(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def scales(place: Path) -> list[list[float]]:
    ome = json.loads((place / "zarr.json").read_text())["attributes"]["ome"]
    return [dataset["coordinateTransformations"][0]["scale"] for dataset in ome["multiscales"][0]["datasets"]]


def test_it_is_shown_before_anything_is_written(capsys: Any, copies: list[Path]) -> None:
    before = tree(copies[0])
    code, out, _ = zs(capsys, "image", copies[0])
    assert code == 0
    assert "Pixel size" in out
    assert "Channels" in out
    assert "Levels 1 and 2 follow" in out
    assert "OME-Zarr 0.5: valid" in out
    code, out, err = zs(capsys, "image", copies[0], *FIELDS, "--dry-run")
    assert code == 0
    assert "+" in out
    assert "0.108" in out
    assert "Nothing was written" in err
    assert "set    zarr.json" in err
    assert tree(copies[0]) == before


def test_three_images_are_mended_in_one_go_and_only_where_asked(capsys: Any, copies: list[Path]) -> None:
    before = [tree(place) for place in copies]
    factors = [[n / m for n, m in zip(level, scales(copies[0])[0], strict=True)] for level in scales(copies[0])]
    code, out, err = zs(capsys, "image", *copies, *FIELDS)
    assert code == 0, err
    assert [f"{place}/zarr.json (new)" in out for place in copies] == [True] * 3
    for place, old in zip(copies, before, strict=True):
        new = tree(place)
        assert [name for name in new if new[name] != old[name]] == ["zarr.json"]
        found = scales(place)
        assert found[0][2:] == [0.5, 0.108, 0.108]
        assert [[n / m for n, m in zip(level, found[0], strict=True)] for level in found] == [
            pytest.approx(each) for each in factors
        ]
        channel = zarrscope.open(place).root.attributes["ome"]["omero"]["channels"][0]
        assert (channel["label"], channel["color"]) == ("DAPI", "0000FF")
        assert (channel["window"]["start"], channel["window"]["end"]) == (100, 4000)
    assert zs(capsys, "image", *copies, *FIELDS)[2].endswith("Nothing changes.\n")


def test_one_that_cannot_be_mended_stops_all(capsys: Any, copies: list[Path], tmp_path: Path) -> None:
    zarrscope.open(tmp_path / "none.zarr", "w-")
    before = [tree(place) for place in copies]
    for asked in (("--pixel-size", "z=0.5"), ("--channel", "0:name=x")):
        code, _, err = zs(capsys, "image", *copies, tmp_path / "none.zarr", *asked)
        assert code == 1
        assert "none.zarr" in err
        assert "multiscales" in err
    code, _, err = zs(capsys, "image", *copies, "--channel", "9:name=x")
    assert code == 1
    assert "no channel 9" in err
    code, _, err = zs(capsys, "image", *copies, "--pixel-size", "q=1")
    assert code == 1
    assert 'no axis "q"' in err
    assert "z, y, x" in err
    assert [tree(place) for place in copies] == before


def test_what_would_break_the_image_is_refused(capsys: Any, copies: list[Path]) -> None:
    before = tree(copies[0])
    code, _, err = zs(capsys, "image", copies[0], "--axis", "x:type=time")
    assert code == 1
    assert "would break" in err
    assert "/ome/multiscales/0/axes" in err
    assert tree(copies[0]) == before


@pytest.mark.parametrize(
    "asked",
    [
        ("--pixel-size", "0.5"), ("--pixel-size", "z="), ("--pixel-size", "z=1,z=2"), ("--channel", "name=x"),
        ("--channel", "0:gain=3"), ("--channel", "0:window=3"), ("--channel", "0:active=maybe"), ("--axis", "z:size=3"),
        ("--unit", "z=,x=um"), ("--name", "x", "--json"),
    ],
)  # fmt: skip
def test_a_slip_is_told_as_usage(capsys: Any, copies: list[Path], asked: tuple[str, ...]) -> None:
    code, _, err = zs(capsys, "image", copies[0], *asked)
    assert code == 2
    assert "is not understood. Write it like" in err or "--json" in err


@pytest.mark.parametrize("change", [(), ("--name", "x")])
def test_a_node_that_is_typed_as_other_verbs_take_it_is_named(
    capsys: Any, copies: list[Path], change: tuple[str, ...]
) -> None:
    before = tree(copies[0])
    code, _, err = zs(capsys, "image", copies[0], "labels/nuclei", *change)
    assert code == 2
    assert f"write one address: {copies[0]}/labels/nuclei" in err
    assert zs(capsys, "image", copies[0], "labels/none", *change)[0] == 3
    assert tree(copies[0]) == before


def test_names_may_hold_commas_and_equals_signs(capsys: Any, copies: list[Path]) -> None:
    assert zs(capsys, "image", copies[0], "--channel", "0:name=a, b=c,color=0f8,active=no", "--name", "x,y")[0] == 0
    ome = zarrscope.open(copies[0]).root.attributes["ome"]
    assert ome["omero"]["channels"][0]["label"] == "a, b=c"
    assert ome["omero"]["channels"][0]["active"] is False
    assert ome["multiscales"][0]["name"] == "x,y"


def test_json_is_for_machines(capsys: Any, copies: list[Path]) -> None:
    code, out, _ = zs(capsys, "image", copies[0], copies[1], "--json")
    assert code == 0
    told = json.loads(out)
    assert [each["path"] for each in told] == ["/", "/"]
    sections = {section["id"]: section["fields"] for section in told[0]["sections"]}
    assert set(sections) == {"pixels", "channels", "time", "image", "axes"}
    assert sections["pixels"]["unit/4"] == "micrometer"


_SCALES = """
import json, sys
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
found = []
for place in sys.argv[1:]:
    node = list(Reader(parse_url(place))())[0]
    found.append([node.metadata["coordinateTransformations"], node.metadata["axes"]])
print(json.dumps(found))
"""


@pytest.mark.needs("ome", "cases")
@pytest.mark.timeout(240)
def test_others_find_it_valid_and_read_the_same_sizes(capsys: Any, ome: Path, unpacked: Path, tmp_path: Path) -> None:
    """Images of real writers, versions 0.1 to 0.6: ome-zarr-models accepts them, and ome-zarr-py reads the same
    scales."""
    import shutil

    from ome_zarr_models.v04.image import ImageAttrs as Attributes04
    from ome_zarr_models.v05.image import ImageAttrs as Attributes05

    names = (
        "generated/ome-zarr-py-0.10/img_0.1.ome.zarr", "generated/ome-zarr-py-0.10/img_0.3.ome.zarr",
        "generated/ome-zarr-py-0.10/img_0.4.ome.zarr", "generated/ngff-zarr/img_0.5.ome.zarr",
        "real/ome-zarr-fiji/td/pyramid_testing/pyramid_v4.zarr",
        "real/ome-zarr-fiji/td/pyramid_testing/pyramid_v5.zarr",
    )  # fmt: skip
    places = [tmp_path / str(i) for i in range(len(names))]
    for name, place in zip(names, places, strict=True):
        shutil.copytree(unpacked / name, place)
    code, _, err = zs(
        capsys, "image", *places, "--pixel-size", "y=0.25,x=0.125", "--unit", "nm", "--channel", "0:name=A"
    )
    assert code == 0, err
    done = subprocess.run(
        [str(ome), "-W", "ignore", "-c", _SCALES, *map(str, places)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for place, (steps, axes) in zip(places, json.loads(done.stdout.strip().splitlines()[-1]), strict=True):
        attributes = zarrscope.open(place).root.attributes
        own = attributes.get("ome", attributes)
        (Attributes05 if "ome" in attributes else Attributes04).model_validate(dict(own))
        levels = zarrscope.view.image.find_images(zarrscope.open(place).root)[0].levels
        assert [step[0]["scale"] for step in steps] == [list(level.scale) for level in levels]
        assert steps[0][0]["scale"][-2:] == [0.25, 0.125]
        assert [axis.get("unit") for axis in axes][-2:] == ["nanometer"] * 2
