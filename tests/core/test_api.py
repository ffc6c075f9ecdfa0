"""The manners of the public API, compared with zarr-python 3 where both have the same call."""

from __future__ import annotations

import errno
import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array, as_group
from zarrscope.stores.memory import MemoryStore

zarr = pytest.importorskip("zarr", minversion="3")


@pytest.fixture(params=[2, 3])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, zarrscope.Group]:
    """The same group as zarr-python and as zarrscope open it, in each format."""
    made = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=request.param)
    made.create_array("a", shape=(4, 5), chunks=(2, 2), dtype="i4")[...] = np.arange(20).reshape(4, 5)
    made.create_array("b", shape=(3,), dtype="f4")
    made.create_group("g").create_array("deep", shape=(2,), dtype="u1")
    made.attrs["made by"] = "zarr"
    return zarr.open_group(tmp_path / "x.zarr", mode="r+"), zarrscope.open_group(tmp_path / "x.zarr", mode="r+")


def test_a_group_is_a_mapping_of_names_to_nodes(both: tuple[Any, zarrscope.Group]) -> None:
    theirs, ours = both
    assert sorted(ours) == sorted(theirs) == ["a", "b", "g"]
    assert sorted(ours.keys()) == sorted(theirs.keys())
    assert len(ours) == len(theirs) == 3
    assert {name: type(node).__name__ for name, node in ours.items()} == {"a": "Array", "b": "Array", "g": "Group"}
    assert sorted(name for name, _ in ours.arrays()) == sorted(name for name, _ in theirs.arrays()) == ["a", "b"]
    assert [(name, node.path) for name, node in ours.groups()] == [("g", "/g")]
    assert [name for name, _ in theirs.groups()] == ["g"]
    for name, node in ours.arrays():
        np.testing.assert_array_equal(node[...], theirs[name][...])


@pytest.mark.parametrize("path", ["a", "g", "g/deep", "none", "g/none", "a/none"])
def test_membership_is_as_in_zarr_python(both: tuple[Any, zarrscope.Group], path: str) -> None:
    theirs, ours = both
    assert (path in ours) == (path in theirs)


def test_no_group_holds_what_cannot_be_a_path(both: tuple[Any, zarrscope.Group]) -> None:
    assert ".." not in both[1]
    assert "g/../a" not in both[1]
    assert 7 not in both[1]


def test_a_group_without_children_is_empty_and_true(tmp_path: Path) -> None:
    group = zarrscope.open(tmp_path / "x.zarr", "w-").create_group("/g")
    assert (list(group), len(group), list(group.items()), bool(group)) == ([], 0, [], True)


class Counting(MemoryStore):
    """Counts the listings and values that are requested."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def _list_dir(self, prefix: str) -> Any:
        self.seen["list"] += 1
        return super()._list_dir(prefix)

    def _get(self, key: str, *rest: Any) -> bytes | None:
        self.seen[key] += 1
        return super()._get(key, *rest)


def test_going_through_a_group_costs_one_listing() -> None:
    store = Counting()
    made = zarrscope.open(store, "w-")
    for name in "abc":
        made.create_array(f"/{name}", shape=(2,), dtype="u1")
    made.create_group("/g")
    group = zarrscope.open_group(store)

    def asked(of: Any) -> Counter[str]:
        store.seen.clear()
        assert bool(group)
        assert list(of())
        return Counter(store.seen)

    assert asked(group.keys)["list"] == 1
    assert asked(group.items)["list"] == 1
    assert asked(group.groups)["list"] == 1
    assert max(asked(group.keys).values()) == 1, "a document was asked for twice"
    assert max(asked(group.items).values()) <= 2, "a document was asked for more than by listing and opening"
    store.seen.clear()
    assert group
    assert "a" in group
    assert not store.seen["list"]


def test_a_child_that_is_broken_is_named_and_found(tmp_path: Path) -> None:
    group = zarrscope.open(tmp_path / "x.zarr", "w-").create_group("/g")
    (tmp_path / "x.zarr/g/bad").mkdir()
    (tmp_path / "x.zarr/g/bad/zarr.json").write_text("{")
    assert list(group) == ["bad"]
    assert "bad" in group
    (broken,) = dict(group.items()).values()
    assert broken.problem is not None
    with pytest.raises(zarrscope.BadMetadata):
        len(broken.attributes)
    assert not dict(group.arrays())


def test_leaving_the_block_closes_the_store_that_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[object] = []
    with zarrscope.open(tmp_path / "x.zarr", "w-") as h:
        array = h.create_array("/a", shape=(2,), dtype="u1")
        array[...] = 7
        monkeypatch.setattr(type(h.store), "close", lambda store: closed.append(store))
    assert closed == [h.store]
    assert array[0] == 7, "a closed store opens again"

    store = MemoryStore()
    monkeypatch.setattr(MemoryStore, "close", lambda store: closed.append(store))
    with pytest.raises(ZeroDivisionError), zarrscope.open(store, "w-"):
        _ = 1 / 0
    assert store not in closed, "it was handed in: whoever made it closes it"


def test_open_array_and_open_group_open_one_node(both: tuple[Any, zarrscope.Group]) -> None:
    theirs, ours = both
    url = ours.hierarchy.url
    found = zarr.open_array(theirs.store, path="g/deep", mode="r")
    array = zarrscope.open_array(url, "g/deep")
    assert (array.path, array.shape, array.dtype) == ("/g/deep", found.shape, found.dtype)
    assert not array.writable
    assert zarrscope.open_array(url, path="/a", mode="r+").writable
    assert zarrscope.open_group(url).path == "/"
    assert zarrscope.open_group(url, path="/g").path == "/g"
    with pytest.raises(zarrscope.NotFound, match="is a group"):
        zarrscope.open_array(url, "g")
    with pytest.raises(zarrscope.NotFound, match="is an array"):
        zarrscope.open_group(url, "a")
    with pytest.raises(zarrscope.NotFound, match="no node"):
        zarrscope.open_array(url, "none")


@pytest.mark.parametrize("path", ["/", "/a", "/g"])
def test_attributes_are_saved_as_zarr_python_saves_them(both: tuple[Any, zarrscope.Group], path: str) -> None:
    theirs, ours = both
    node = ours.hierarchy.open_node(path)
    node.attrs["x"] = [1, 2.5, {"a/b~c": None}]
    node.attrs.update({"y": 1, "a/b~c": "odd"}, z=np.int16(3))
    del node.attrs["y"]
    found = zarr.open(theirs.store, mode="r", path=path.strip("/"))
    added = {"x": [1, 2.5, {"a/b~c": None}], "a/b~c": "odd", "z": 3}
    kept = {"made by": "zarr"} if path == "/" else {}
    assert dict(found.attrs) == dict(node.attrs) == dict(node.attributes) == {**kept, **added}
    assert dict(ours.hierarchy.open_node(path).attributes) == {**kept, **added}
    assert node.attrs.pop("z") == 3
    node.attrs.put({"only": True})
    assert dict(zarr.open(theirs.store, mode="r", path=path.strip("/")).attrs) == {"only": True}
    node.attrs.clear()
    assert len(node.attrs) == len(ours.hierarchy.open_node(path).attributes) == 0
    with pytest.raises(KeyError):
        del node.attrs["only"]
    with pytest.raises(TypeError, match="text"):
        node.attrs[1] = 2


def test_attributes_of_what_is_open_for_reading_cannot_be_changed(both: tuple[Any, zarrscope.Group]) -> None:
    group = zarrscope.open_group(both[1].hierarchy.url)
    for change in (
        lambda: group.attrs.update(x=1),
        lambda: group.attrs.pop("made by"),
        lambda: zarrscope.open_array(group.hierarchy.url, "a").attrs.update(x=1),
    ):
        with pytest.raises(zarrscope.ReadOnly):
            change()
    assert dict(group.attrs) == {"made by": "zarr"}


def test_an_attribute_that_others_changed_is_not_overwritten(both: tuple[Any, zarrscope.Group]) -> None:
    theirs, ours = both
    theirs.attrs["made by"] = "somebody else"
    theirs.attrs["new"] = 1
    for change in ({"made by": "me"}, {"new": 2}):
        with pytest.raises(zarrscope.Conflict, match="changed since it was read"):
            ours.attrs.update(change)
    ours.attrs["mine"] = True
    assert dict(ours.attrs) == {"made by": "somebody else", "new": 1, "mine": True}
    theirs.attrs.update({"mine": False})
    ours.attrs.refresh()
    ours.attrs["mine"] = 7
    assert dict(zarr.open_group(theirs.store, mode="r").attrs)["mine"] == 7


def test_a_document_that_changes_while_it_is_saved_is_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = zarrscope.open(tmp_path / "x.zarr", "w-").root
    other = zarrscope.open(tmp_path / "x.zarr", "r+").root
    from zarrscope.nodes import attributes, edit

    def slow(*arguments: Any) -> Any:
        monkeypatch.undo()
        other.attrs["theirs"] = 1
        return edit.save(*arguments)

    monkeypatch.setattr(attributes, "save", slow)
    with pytest.raises(zarrscope.Conflict):
        group.attrs["mine"] = 1
    assert dict(zarrscope.open(tmp_path / "x.zarr").root.attributes) == {"theirs": 1}


def test_saving_attributes_leaves_all_else_as_it_was_spelled(tmp_path: Path) -> None:
    text = '{"node_type":"group","attributes":{"e":1.50e3,  "b":{"z":1,"a":2}},"zarr_format":3}'
    (tmp_path / "zarr.json").write_text(text)
    group = zarrscope.open_group(tmp_path, mode="r+")
    group.attrs["b"] = group.attrs["b"] | {"a": 3}
    assert (tmp_path / "zarr.json").read_text() == text.replace('"a":2', '"a":3')
    for bad in (float("nan"), object(), {1: 2}):
        with pytest.raises(zarrscope.Refused):
            group.attrs["bad"] = bad
    assert "bad" not in json.loads((tmp_path / "zarr.json").read_text())["attributes"]


def test_a_changed_copy_of_a_value_changes_nothing_until_it_is_assigned(both: tuple[Any, zarrscope.Group]) -> None:
    ours = both[1]
    ours.attrs["list"] = [1]
    value = ours.attrs["list"]
    value.append(2)
    assert ours.attrs["list"] == ours.attributes["list"] == [1]
    ours.attrs["list"] = value
    assert ours.attrs["list"] == [1, 2]


def test_an_array_from_a_pickle_saves_its_attributes(both: tuple[Any, zarrscope.Group]) -> None:
    array = pickle.loads(pickle.dumps(both[1]["a"]))
    array.attrs["x"] = 1
    assert both[1]["a"].attributes == {"x": 1}


def test_what_the_format_itself_uses_is_no_attribute(tmp_path: Path) -> None:
    made = zarrscope.open(tmp_path / "x.n5", "w-", dialect="n5")
    array = made.create_array("/a", shape=(4,), dtype="u1")
    array.attrs["resolution"] = [1, 2]
    before = (tmp_path / "x.n5/a/attributes.json").read_bytes()
    with pytest.raises(zarrscope.Refused, match="itself uses it"):
        array.attrs["dimensions"] = [5]
    assert (tmp_path / "x.n5/a/attributes.json").read_bytes() == before
    array.attrs.clear()
    assert zarrscope.open(tmp_path / "x.n5").open_node("/a").attributes == {}


def test_each_change_of_attributes_is_one_write() -> None:
    store = MemoryStore()
    group = zarrscope.open(store, "w-").root
    written = []

    def counted(key: str, *rest: Any) -> Any:
        written.append(key)
        return MemoryStore._set(store, key, *rest)

    store._set = counted  # type: ignore[assignment, method-assign]  # counts the calls
    group.attrs.update(a=1, b=2, c=3)
    assert written == ["zarr.json"]
    group.attrs.clear()
    assert written == ["zarr.json"] * 2


def test_numpy_gets_no_array_without_a_copy(both: tuple[Any, zarrscope.Group]) -> None:
    theirs, ours = both[0]["a"], both[1]["a"]
    assert isinstance(ours, zarrscope.Array)
    for array in (theirs, ours):
        with pytest.raises(ValueError, match="copy"):
            array.__array__(copy=False)
        np.testing.assert_array_equal(array.__array__(copy=True), np.arange(20).reshape(4, 5))
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_what_is_not_there_is_a_key_error_that_reads_as_before(both: tuple[Any, zarrscope.Group]) -> None:
    theirs, ours = both
    for group in (theirs, ours):
        with pytest.raises(KeyError):
            group["none"]
    with pytest.raises(zarrscope.NotFound) as raised:
        ours["none"]
    text = str(raised.value)
    assert text.startswith("There is no node /none (key ")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (type(again), str(again), again.place) == (zarrscope.NotFound, text, raised.value.place)
    assert ours.hierarchy.url in text


ROWS = np.array([True, False, True, True])


@pytest.mark.parametrize(
    "index",
    [
        ([0, 3], [1, 4]),
        ([3, 0, 3], slice(None)),
        (ROWS, [4, 0]),
        (slice(1, 4, 2), [2, 2, 1]),
        (2, [-1, 0]),
        ([], [1]),
        ([1, 2],),
        (..., [0, 4]),
        (1, 2),
    ],
)
def test_orthogonal_reading_is_as_in_zarr_python(both: tuple[Any, zarrscope.Group], index: Any) -> None:
    theirs, ours = both[0]["a"], both[1]["a"]
    assert isinstance(ours, zarrscope.Array)
    rows, columns = index if len(index) == 2 else (*index, slice(None))
    first = slice(None) if rows is ... else np.asarray(rows, int) if isinstance(rows, list) else rows
    second = np.asarray(columns, int) if isinstance(columns, list) else columns
    expected = np.arange(20).reshape(4, 5)[first][..., second]
    np.testing.assert_array_equal(ours.oindex[index], expected)
    if not (isinstance(rows, list) and not rows):  # zarr-python refuses an empty list
        np.testing.assert_array_equal(theirs.oindex[index], expected)


@pytest.mark.parametrize("index", [([0, 3, 3], [1, 4, 0]), ([[0], [2]], [1, -1]), (np.eye(4, 5, dtype=bool),), (1, 2)])
def test_reading_points_is_as_in_zarr_python(both: tuple[Any, zarrscope.Group], index: Any) -> None:
    theirs, ours = both[0]["a"], both[1]["a"]
    assert isinstance(ours, zarrscope.Array)
    np.testing.assert_array_equal(ours.vindex[index], np.arange(20).reshape(4, 5)[index])
    np.testing.assert_array_equal(ours.vindex[index], theirs.vindex[index])


def test_lists_that_do_not_fit_are_index_errors(both: tuple[Any, zarrscope.Group]) -> None:
    ours = both[1]["a"]
    assert isinstance(ours, zarrscope.Array)
    for index in (([4],), ([True],), (1, 2, 3), ("x",), ([0.5],)):
        with pytest.raises(IndexError):
            ours.oindex[index]
    wrong: list[Any] = [([0],), ([0], slice(None)), ([0, 1], [0, 1, 2]), ([0], [5]), (np.ones((2, 2), bool),)]
    for index in wrong:
        with pytest.raises(IndexError):
            ours.vindex[index]


def test_a_codec_without_a_name_is_refused_in_words() -> None:
    h = zarrscope.open(MemoryStore(), "w-", dialect="v2")
    with pytest.raises(zarrscope.Refused, match="needs a name; this one has 'id'"):
        h.create_array("/a", shape=(4,), dtype="u1", codecs=[{"id": "blosc"}])


# ---------------------------------------------------------------------------------------------- equal nodes, codecs
def test_nodes_are_equal_if_they_have_the_same_place_and_were_read_alike() -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    first = h.create_array("/a", shape=(4, 6), dtype="u1", chunks=(2, 2), attributes={"n": float("1e3")})
    h.create_array("/b", shape=(4, 6), dtype="u1", chunks=(2, 2))
    assert h["/a"] == first
    assert hash(h["/a"]) == hash(first)
    assert h["/a"] in {first}
    assert h["/a"] != h["/b"]
    assert h["/"] == h.root
    assert h["/"] != h["/a"]
    assert zarrscope.open(h.store)["/a"] == first
    other = zarrscope.open(MemoryStore(), "w-")
    assert other.create_array("/a", shape=(4, 6), dtype="u1", chunks=(2, 2), attributes={"n": 1e3}) != first
    before = h["/a"]
    first.attrs["n"] = 2
    assert h["/a"] != before, "its attributes were changed since it was read"
    assert h["/a"] == first
    first.resize((5, 6))
    assert h["/a"] != before
    assert not np.any(first == np.ones((5, 6)))  # numpy compares values


def test_a_broken_node_equals_itself(tmp_path: Path) -> None:
    store = MemoryStore({"zarr.json": b'{"zarr_format": 3, "node_type": "group"}', "g/zarr.json": b"{"})
    h = zarrscope.open(store)
    assert h["/g"] == h["/g"]
    assert h["/g"] != h["/"]


@pytest.mark.parametrize("dialect", ["v3", "v2"])
def test_the_codecs_of_an_array_are_told_by_their_kind(dialect: str) -> None:
    h = zarrscope.open(MemoryStore(), "w-", dialect=dialect)
    codecs: list[Any] = [{"name": "transpose", "configuration": {"order": [1, 0]}}, "bytes", {"name": "gzip"}]
    array = h.create_array("/f", shape=(4, 6), dtype="u1", chunks=(2, 2), codecs=codecs)
    assert [codec.name for codec in array.filters] == ["transpose"]
    assert [codec.name for codec in array.compressors] == ["gzip"]
    assert (array.order, array.nchunks) == ("F", 6)
    plain = h.create_array("/c", shape=(4, 6), dtype="u1", chunks=(3, 6), codecs=["bytes"])
    assert (plain.filters, plain.compressors, plain.order, plain.nchunks) == ((), (), "C", 2)
    scalar = h.create_array("/s", shape=(), dtype="u1")
    assert (scalar.order, scalar.nchunks) == ("C", 1)


def test_the_codecs_of_shards_are_those_of_inner_chunks() -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    array = h.create_array("/a", shape=(8, 8), dtype="u1", chunks=(2, 2), shards=(4, 4), codecs=["bytes", "zstd"])
    assert [codec.name for codec in array.compressors] == ["zstd"]
    assert array.nchunks == 16


def test_the_codecs_of_an_array_that_cannot_be_decoded_are_told() -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    h.create_array("/a", shape=(4,), dtype="u1", codecs=["bytes", "gzip"])
    document = h.document("/a")
    unknown = [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}, {"name": "no_such_codec"}]
    h.store.set("a/zarr.json", document.set("/codecs", unknown).bytes)
    array = as_array(zarrscope.open(h.store)["/a"])
    assert array.problem is not None
    assert [codec.name for codec in array.compressors] == ["gzip"]


def test_get_and_del_of_groups() -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    h.create_array("/g/deep/a", shape=(4,), dtype="u1")[...] = 1
    group = as_group(h["/g"])
    assert group.get("deep/a") == h["/g/deep/a"]
    assert group.get("none") is None
    assert group.get("none", 7) == 7
    with pytest.raises(TypeError, match="is text"):
        group.get(3)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(TypeError, match="is text"):
        del group[3]  # type: ignore[arg-type]  # on purpose
    with pytest.raises(KeyError):
        del group["none"]
    with pytest.raises(PermissionError):
        del as_group(zarrscope.open(h.store)["/g"])["deep"]
    del group["deep"]
    assert "deep" not in group
    assert sorted(h.store.list()) == ["g/zarr.json", "zarr.json"]


def test_a_broken_node_is_no_missing_one() -> None:
    h = zarrscope.open(MemoryStore({"zarr.json": b'{"zarr_format": 3, "node_type": "group"}', "g/zarr.json": b"{"}))
    broken = as_group(h.root).get("g")
    assert broken is not None
    assert broken.problem is not None


def test_a_dict_of_attributes_is_a_copy() -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    h.root.attrs["axes"] = ["y", "x"]
    taken = h.root.attrs.asdict()
    taken["axes"].append("z")
    taken["more"] = 1
    assert type(taken) is dict
    assert h.root.attrs.asdict() == {"axes": ["y", "x"]}


def test_a_new_hierarchy_where_something_lies_is_a_file_exists_error(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path / "x.zarr", "w-")
    h.create_group("/g")
    full = tmp_path / "full"
    full.mkdir()
    (full / "note.txt").write_text("mine")
    for make in (
        lambda: zarrscope.open(tmp_path / "x.zarr", "w-"),
        lambda: zarrscope.open(full, "w-"),
        lambda: zarrscope.open(h.store, "w-"),
        lambda: h.create_group("/g"),
        lambda: h.create_array("/g", shape=(1,), dtype="u1"),
    ):
        with pytest.raises(FileExistsError) as caught:
            make()
        assert isinstance(caught.value, zarrscope.Conflict | zarrscope.Refused)
        assert caught.value.errno == errno.EEXIST
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), type(caught.value))


@pytest.mark.filterwarnings("ignore")  # zarr-python warns of types without a specification for v3
@pytest.mark.parametrize(
    "dtype", ["M8[ns]", "m8[s]", "f4", "bool", "U3", "S3", "str", "i2", [("x", "i2"), ("t", "f4")]]
)
@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_elements_of_a_new_array_have_the_default_of_zarr_python(dialect: str, dtype: Any) -> None:
    array = zarrscope.open(MemoryStore(), "w-", dialect=dialect).create_array("/a", shape=(2,), dtype=dtype)
    theirs = zarr.create_array({}, shape=(2,), dtype=dtype, zarr_format=int(dialect[1]))
    assert repr(array[...].tolist()) == repr(theirs[...].tolist())
    assert np.isnat(np.asarray(array)).all() if array.dtype.kind in "mM" else True


def test_a_zero_that_is_stated_is_kept_for_times() -> None:
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(2,), dtype="M8[s]", fill_value=0)
    assert array[0] == np.datetime64(0, "s")


@pytest.mark.parametrize("values", [[1, 2, 3], np.zeros((9, 1)), np.zeros((2, 3, 4)), [[1, 2], [3, 4]]])
def test_values_that_do_not_fit_are_refused_with_both_shapes(values: Any) -> None:
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(4, 9), chunks=(2, 2), dtype="f8")
    with pytest.raises(ValueError, match=r"values of shape \(.+\) cannot be broadcast to the selection's shape \(9,\)"):
        array[0] = values
    assert not array[...].any()


def test_an_array_is_true_whatever_its_shape() -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    assert h.create_array("/none", shape=(0, 2), dtype="u1")
    assert h.create_array("/scalar", shape=(), dtype="u1")
