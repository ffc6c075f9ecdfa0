"""One package for each table, written as another project would: one file, one entry point, one example.

Each package of tests/plugged is copied into a folder of its own with the metadata of an installed distribution, and
used there through the public API by another process. The recipe is in resources/docs/contributing.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import machine

TESTS = machine.ROOT / "tests"
PLUGGED = TESTS / "plugged"
PACKAGES = ("core", "app", "resources")  # of this checkout, not of the one that is installed


def install(folder: Path, name: str, points: str, text: str | None = None, version: str = "1.0") -> None:
    """A distribution of one module, with the text `text` or from tests/plugged, and its entry points."""
    module = folder / f"{name.replace('-', '_')}.py"
    if text is None:
        shutil.copy(PLUGGED / module.name, module)
    else:
        module.write_text(dedent(text))
    info = folder / f"{module.stem}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(dedent(points).lstrip())


def run(folder: Path, *arguments: str, timeout: int = 110) -> subprocess.CompletedProcess[str]:
    """Runs another process that finds the distributions installed in the folder, and the contract suites."""
    environ = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "PYTHONPATH": os.pathsep.join(map(str, [folder, TESTS, *(machine.ROOT / name for name in PACKAGES)])),
    }
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=timeout, env=environ, cwd=folder
    )


def script(folder: Path, text: str) -> str:
    done = run(folder, "-c", dedent(text))
    assert done.returncode == 0, done.stderr
    return done.stdout


def contract(folder: Path, text: str, only: str = "") -> str:
    """The last line of pytest for a test module of the package."""
    (folder / "test_mine.py").write_text(dedent(text))
    options = ["-q", "-x", "-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider", "-k", only]
    done = run(folder, "-m", "pytest", *options, "test_mine.py")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1]


# ---------------------------------------------------------------------------------------------- a codec
CODEC = """
    [zarrscope.codecs]
    example.add = example_codec:Add
    example.flip = example_codec:Flip
    flip = example_codec:Flip
"""


def test_a_codec_in_every_dialect_that_can_name_it(tmp_path: Path) -> None:
    install(tmp_path, "example-codec", CODEC)
    said = script(
        tmp_path,
        """
        import json
        import numpy as np
        import zarrscope
        from zarrscope.stores.memory import MemoryStore

        values = np.arange(12, dtype="u2").reshape(3, 4)
        for dialect in ("v3", "v2"):
            for codecs in (["example.add"], ["example.flip"], ["example.add", "example.flip", "gzip"],
                           [{"name": "example.add", "configuration": {"value": 7}}, "zstd", "example.flip"]):
                store = MemoryStore()
                made = zarrscope.open(store, "w-", dialect=dialect).create_array(
                    "/a", shape=(3, 4), chunks=(2, 4), dtype="u2", codecs=codecs)
                made[...] = values
                again = zarrscope.open(store)["/a"]
                assert again.problem is None and again.metadata == made.metadata
                np.testing.assert_array_equal(again[...], values)
                document = json.loads(store.get("a/.zarray" if dialect == "v2" else "a/zarr.json"))
                plain = values[:2].tobytes()
                if dialect == "v2":
                    print(document["filters"], document["compressor"])
                else:
                    print([codec["name"] for codec in document["codecs"]])
                if codecs == ["example.add"]:
                    assert store.get("a/0.0" if dialect == "v2" else "a/c/0/0") == (values[:2] + 1).tobytes()
        """,
    )
    assert said.splitlines() == [
        "['example.add', 'bytes']",
        "['bytes', 'example.flip']",
        "['example.add', 'bytes', 'example.flip', 'gzip']",
        "['example.add', 'bytes', 'zstd', 'example.flip']",
        "[{'id': 'example.add', 'value': 1}] None",
        "None {'id': 'flip'}",
        "[{'id': 'example.add', 'value': 1}, {'id': 'flip'}] {'id': 'gzip', 'level': 5}",
        "[{'id': 'example.add', 'value': 7}, {'id': 'zstd', 'level': 3}] {'id': 'flip'}",
    ]


def test_a_codec_in_the_drafts_and_n5(tmp_path: Path) -> None:
    install(tmp_path, "example-codec", CODEC)
    said = script(
        tmp_path,
        """
        import json
        import numpy as np
        import zarrscope
        from zarrscope.stores.memory import MemoryStore

        values = np.arange(12, dtype="u2").reshape(3, 4)
        for dialect in ("draft-2019-05", "draft-2019-06", "draft-2020", "draft-2022-05", "n5"):
            store = MemoryStore()
            made = zarrscope.open(store, "w-", dialect=dialect).create_array(
                "/a", shape=(3, 4), chunks=(3, 4), dtype="u2", codecs=["example.flip"])
            made[...] = values
            again = zarrscope.open(store)["/a"]
            assert again.problem is None and again.hierarchy.dialect.name == dialect
            np.testing.assert_array_equal(again[...], values)
            documents = [json.loads(store.get(str(key))) for key in store.list() if not str(key).startswith("data")
                         and "/0/" not in str(key)]
            document = next(each for each in documents if "blockSize" in each or "shape" in each)
            print(document.get("chunk_codecs") or document.get("codecs") or document.get("compressor")
                  or document["compression"])
        """,
    )
    assert said.splitlines() == [
        "[{'codec': 'http://purl.org/zarr/spec/codec/flip'}]",
        "{'codec': 'http://purl.org/zarr/spec/codec/flip', 'configuration': {}}",
        "{'codec': 'https://purl.org/zarr/spec/codec/flip/1.0', 'configuration': {}}",
        "[{'type': 'https://purl.org/zarr/spec/codecs/flip/1.0', 'configuration': {}}]",
        "{'type': 'flip'}",
    ]


def test_a_codec_registered_in_a_script_needs_no_entry_point(tmp_path: Path) -> None:
    shutil.copy(PLUGGED / "example_codec.py", tmp_path)
    said = script(
        tmp_path,
        """
        import example_codec
        import zarrscope
        from zarrscope.stores.memory import MemoryStore

        for dialect in ("v3", "v2"):
            store = MemoryStore()
            made = zarrscope.open(store, "w-", dialect=dialect).create_array(
                "/a", shape=(4,), dtype="u2", codecs=["example.add", "example.flip"])
            made[...] = 5
            print(zarrscope.open(store)["/a"][...].tolist())
        """,
    )
    assert said == "[5, 5, 5, 5]\n" * 2


def test_a_codec_keeps_the_promises_of_codecs(tmp_path: Path) -> None:
    install(tmp_path, "example-codec", CODEC)
    told = contract(
        tmp_path,
        """
        import example_codec
        from contracts.codec import LITTLE, U2, CodecContract, Example, compressed


        class TestMine(CodecContract):
            examples = {
                "example.add": [Example([("example.add", {"value": 3}), LITTLE], "u2", U2)],
                "example.flip": compressed("example.flip"),
            }
        """,
    )
    assert "16 passed" in told


def test_a_setting_that_the_codec_does_not_have_is_refused_before_it_is_written(tmp_path: Path) -> None:
    install(tmp_path, "example-codec", CODEC)
    said = script(
        tmp_path,
        """
        import zarrscope
        from zarrscope.stores.memory import MemoryStore

        try:
            zarrscope.open(MemoryStore(), "w-").create_array(
                "/a", shape=(4,), dtype="u2", codecs=[{"name": "example.flip", "configuration": {"level": 3}}])
        except zarrscope.ZarrscopeError as error:
            print(error.message)
        """,
    )
    assert said == "Other readers would refuse the document: /codecs/1/configuration/level is not an allowed member\n"


# ---------------------------------------------------------------------------------------------- a dialect
DIALECT = """
    [zarrscope.dialects]
    example-renamed = example_dialect:Renamed
"""


def test_a_dialect_is_created_detected_listed_and_read(tmp_path: Path) -> None:
    install(tmp_path, "example-dialect", DIALECT)
    said = script(
        tmp_path,
        """
        import numpy as np
        import zarrscope

        h = zarrscope.open("x.zarr", "w-", dialect="example-renamed")
        h.create_group("/g", attributes={"a": 1})
        h.create_array("/g/b", shape=(3,), dtype="u2", codecs=["zstd"])[...] = [1, 2, 3]
        again = zarrscope.open("x.zarr")
        print(again.dialect.name, [child.name for child in again["/g"].children()])
        print(again["/g"].attributes["a"], again["/g/b"][...].tolist(), sorted(again.store.list()))
        """,
    )
    assert said.splitlines() == [
        "example-renamed ['b']",
        "1 [1, 2, 3] ['g/b/c/0', 'g/b/node.json', 'g/node.json', 'node.json']",
    ]
    done = run(tmp_path, "-m", "zarrscope_app", "ls", "x.zarr/g")
    assert (done.returncode, done.stderr) == (0, "")
    assert "b" in done.stdout
    done = run(tmp_path, "-m", "zarrscope_app", "create", "y.zarr", "g", "--dialect", "example-renamed")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "y.zarr" / "g" / "node.json").exists()


def test_a_dialect_keeps_the_promises_of_dialects(tmp_path: Path) -> None:
    install(tmp_path, "example-dialect", DIALECT)
    told = contract(
        tmp_path,
        """
        from contracts.dialect import TEMPLATES, Template
        from contracts.dialect import *

        renamed = {key.replace("zarr.json", "node.json"): value for key, value in TEMPLATES["v3"].items()}
        TEMPLATES["example-renamed"] = Template(TEMPLATES["v3"].chunk_key, renamed)
        """,
        "example-renamed or template",
    )
    assert int(told.split()[0]) > 40


# ---------------------------------------------------------------------------------------------- a store
STORE = """
    [zarrscope.stores]
    example = example_store:STORE
"""


def test_a_store_opens_by_its_scheme(tmp_path: Path) -> None:
    install(tmp_path, "example-store", STORE)
    said = script(
        tmp_path,
        """
        import zarrscope
        from zarrscope.stores.registry import every_store

        h = zarrscope.open("example://wine", "w-")
        h.create_array("/g/a", shape=(3,), dtype="u2")[...] = [1, 2, 3]
        array = zarrscope.open_array("example://wine/g/a")
        print(array.path, array[...].tolist(), zarrscope.open("example://wine").store.writable)
        try:
            zarrscope.open("example://beer")
        except zarrscope.NotFound as error:
            print(error.message)
        print("example" in every_store(), every_store()["example"].opens)
        """,
    )
    assert said.splitlines() == [
        "/g/a [1, 2, 3] False",
        "There is no Zarr hierarchy: none of zarr.json, .zgroup, .zarray, .zmetadata, .zattrs is there",
        "True a dict in this process",
    ]
    done = run(tmp_path, "-m", "zarrscope_app", "create", "example://wine", "g")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_store_keeps_the_promises_of_stores(tmp_path: Path) -> None:
    install(tmp_path, "example-store", STORE)
    told = contract(
        tmp_path,
        """
        from itertools import count

        from contracts.store import Writing, machine
        from zarrscope.stores.address import open_store

        numbers = count()


        def empty():
            return open_store(f"example://{next(numbers)}", "w-")


        class TestMine(Writing):
            def empty(self):
                return empty()


        TestMachine = machine(empty)
        """,
    )
    assert int(told.split()[0]) > 100


# ---------------------------------------------------------------------------------------------- a data type
TYPE = """
    [zarrscope.data_types]
    example.cents = example_type:cents
"""


def test_a_data_type_is_created_written_and_read(tmp_path: Path) -> None:
    install(tmp_path, "example-type", TYPE)
    said = script(
        tmp_path,
        """
        import json
        import zarrscope
        from zarrscope.stores.memory import MemoryStore

        store = MemoryStore()
        made = zarrscope.open(store, "w-").create_array("/a", shape=(3,), dtype="example.cents", fill_value=7)
        made[:2] = [100, 250]
        again = zarrscope.open(store)["/a"]
        print(json.loads(store.get("a/zarr.json"))["data_type"], again.problem, again[...].tolist(), again.dtype)
        print([(report.point, report.name, report.outcome.value) for report in again.extensions])
        try:
            zarrscope.open(MemoryStore(), "w-", dialect="v2").create_array("/a", shape=(3,), dtype="example.cents")
        except zarrscope.Unsupported as error:
            print(error.message)
        """,
    )
    assert said.splitlines() == [
        "example.cents None [100, 250, 7] int64",
        "[('data type', 'example.cents', 'used')]",
        "Zarr v2 has no data type example.cents",
    ]


# ---------------------------------------------------------------------------------------------- packages that fail
BROKEN = """
    [zarrscope.codecs]
    broken = example_broken:Codec
    gzip = example_broken:Codec

    [zarrscope.data_types]
    broken = example_broken:kind

    [zarrscope.dialects]
    broken = example_broken:Dialect

    [zarrscope.stores]
    broken = example_broken:STORE
    wrong = json:dumps
    late = example_late:STORE
"""
LATE = """
    from zarrscope.stores.registry import StoreKind

    def opener(url, mode, options):
        raise RuntimeError("the cellar is under water")

    STORE = StoreKind("late", "a cellar", opener)
"""
WORKS = """
    import numpy as np
    import zarrscope

    for dialect in ("v3", "v2", "n5"):
        path = dialect + ".zarr"
        h = zarrscope.open(path, "w-", dialect=dialect)
        h.create_array("/a", shape=(3,), dtype="u2", codecs=["gzip"])[...] = [1, 2, 3]
        assert zarrscope.open(path)["/a"][...].tolist() == [1, 2, 3]
    import json, pathlib
    pathlib.Path("v1.zarr").mkdir()
    pathlib.Path("v1.zarr/meta").write_text(json.dumps({
        "zarr_format": 1, "shape": [2], "chunks": [2], "dtype": "|u1", "compression": None, "compression_opts": None,
        "fill_value": 5, "order": "C"}))
    assert zarrscope.open("v1.zarr")["/"][...].tolist() == [5, 5]
"""


def refusals(folder: Path) -> list[str]:
    """The error of each table for the name "broken", one per line."""
    return script(
        folder,
        """
        import zarrscope
        from zarrscope.stores.memory import MemoryStore
        from zarrscope.stores.registry import every_store

        asked = (
            lambda: zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(3,), dtype="u2", codecs=["broken"]),
            lambda: zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(3,), dtype="broken"),
            lambda: zarrscope.open(MemoryStore(), "w-", dialect="broken"),
            lambda: zarrscope.open("broken://x"),
        )
        for ask in asked:
            try:
                ask()
            except zarrscope.Unsupported as error:
                print(error.message)
        assert "memory" in every_store() and "broken" not in every_store()
        """,
    ).splitlines()


@pytest.mark.parametrize("error", ["ImportError", "SystemExit"])
def test_a_package_that_does_not_load_is_named_and_all_else_works(tmp_path: Path, error: str) -> None:
    install(tmp_path, "example-broken", BROKEN, f"raise {error}('no such thing')")
    (tmp_path / "example_late.py").write_text(dedent(LATE))
    says = f"The package that adds 'broken' (example-broken 1.0) does not load: {error}: no such thing"
    assert refusals(tmp_path) == [says] * 4
    script(tmp_path, WORKS)
    for url, sentence in (
        ("broken://x", says),
        ("wrong://x", "The package that adds stores for wrong:// provides no StoreKind"),
        ("late://x", "The package that adds 'late' fails: RuntimeError: the cellar is under water"),
        ("gopher://x", "Addresses that begin with gopher:// cannot be opened"),
    ):
        done = run(tmp_path, "-m", "zarrscope_app", "ls", url)
        assert done.returncode == 1
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    done = run(tmp_path, "-m", "zarrscope_app", "ls", "v3.zarr")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "nothing").mkdir()
    done = run(tmp_path, "-m", "zarrscope_app", "ls", "nothing")
    assert done.returncode == 3
    assert says in done.stderr, "a dialect that could not be looked for is told where nothing was found"


def test_two_packages_that_add_one_name_are_both_named_and_all_else_works(tmp_path: Path) -> None:
    for name in ("example-one", "example-two"):
        points = BROKEN.replace("example_broken", name.replace("-", "_"))
        install(tmp_path, name, points, "Codec = Dialect = STORE = kind = None")
    assert refusals(tmp_path) == ["Several packages add 'broken': example-one 1.0, example-two 1.0"] * 4
    script(tmp_path, WORKS)
    done = run(tmp_path, "-m", "zarrscope_app", "ls", "broken://x")
    assert done.returncode == 1
    assert "Several packages add 'broken'" in done.stderr


def test_a_codec_does_not_take_the_name_of_one_of_ours(tmp_path: Path) -> None:
    text = """
        from zarrscope.codecs import BytesToBytes, codec

        @codec("gzip")
        class Mine(BytesToBytes):
            pass
    """
    install(tmp_path, "example-thief", "[zarrscope.codecs]\nthief = example_thief:Mine\n", text)
    said = script(
        tmp_path,
        """
        import zarrscope
        from zarrscope.stores.memory import MemoryStore

        h = zarrscope.open(MemoryStore(), "w-")
        try:
            h.create_array("/a", shape=(3,), dtype="u2", codecs=["thief"])
        except zarrscope.Unsupported as error:
            print(error.message)
        h.create_array("/b", shape=(3,), dtype="u2", codecs=["gzip"])[...] = 4
        print(h["/b"][...].tolist())
        """,
    )
    assert said.splitlines() == [
        "The package that adds 'thief' (example-thief 1.0) does not load: TypeError: The name 'gzip' is that of a "
        "codec of zarrscope itself: bytes→bytes in zarrscope.codecs.compress",
        "[4, 4, 4]",
    ]
