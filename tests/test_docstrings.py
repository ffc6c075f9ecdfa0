"""Public definitions are documented in the form of numpydoc (https://numpydoc.readthedocs.io), and their examples
run.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import machine
import zarrscope
from zarrscope import stores
from zarrscope.errors import Denied, NotStandard, OutsideLink, TooLarge
from zarrscope.nodes.attributes import Attributes
from zarrscope.nodes.changing import ChangingHierarchy
from zarrscope.nodes.indexers import BlockIndexer, OrthogonalIndexer, PointIndexer
from zarrscope.stores.bulk import BulkOperations
from zarrscope.stores.files import FileOperations
from zarrscope.stores.readable import ReadableStore
from zarrscope.stores.store import Store

SECTIONS = ["Parameters", "Attributes", "Returns", "Yields", "Raises", "Examples"]
"""In this order."""
STORES = [Store, ReadableStore, BulkOperations, FileOperations]
THINGS = [
    *(getattr(zarrscope, name) for name in zarrscope.__all__),
    *(Attributes, ChangingHierarchy, BlockIndexer, OrthogonalIndexer, PointIndexer, *STORES),
]
MODULES = sorted({thing.__module__ for thing in THINGS})
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
RAISE_NOTHING = {
    "Array.edges",
    "BulkOperations.filter_existing",
    "BulkOperations.reader",
    "Hierarchy.close",
    "ChangingHierarchy.dry_run",
    "Store.close",
    "ZarrscopeError.beneath",
    "ZarrscopeError.located",
}


def definitions() -> Iterator[tuple[str, Any]]:
    """Every public function, class, method and property."""
    for thing in THINGS:
        yield thing.__name__, thing
        if isinstance(thing, type):
            for name, member in vars(thing).items():
                public = not name.startswith("_")
                if public and (inspect.isfunction(member) or isinstance(member, property)):
                    yield f"{thing.__name__}.{name}", member


def with_examples() -> list[str]:
    """Every module whose docstrings contain an example."""
    return [
        ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        for folder in (machine.ROOT / "core", machine.ROOT / "app")
        for file in sorted(folder.rglob("*.py"))
        if EXAMPLE.search(file.read_text(encoding="utf-8"))
    ]


def sections(text: str) -> dict[str, str]:
    """The text of each section of a docstring; "" is the text before the first section."""
    parts = re.split(r"^(\w+)\n-{3,}\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def named(section: str) -> set[str]:
    """The names at the left edge of a section; "shape, dtype" are two names."""
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip().lstrip("*") for line in lines for name in line.split(":")[0].split(",")}


def parameters(definition: Any) -> set[str]:
    return set(inspect.signature(definition).parameters) - {"self"}


def faults(name: str, definition: Any) -> Iterator[str]:
    text = inspect.getdoc(definition) if not isinstance(definition, type) else definition.__doc__
    if not text:
        yield "has no docstring"
        return
    found = sections(text)
    summary = found[""].strip().splitlines()[0]
    if not summary[0].isupper() and not summary.startswith(("`", '"')):
        yield f"begins in lower case: {summary}"
    if not found[""].strip().endswith((".", ":", '"""')):
        yield f"ends without a full stop: {summary}"
    if unknown := found.keys() - {"", *SECTIONS}:
        yield f"has sections that numpydoc does not know: {unknown}"
    order = [section for section in found if section]
    if order != sorted(order, key=SECTIONS.index):
        yield f"has its sections in another order: {order}"
    if isinstance(definition, property):
        return
    if "Examples" not in found or ">>> " not in found["Examples"]:
        yield "has no example"
    if isinstance(definition, type):
        own = definition.__dict__.get("__init__")
        if own is not None and (lost := parameters(own) - named(found.get("Parameters", "")) - {"place"}):
            yield f"does not say what these are: {sorted(lost)}"
        return
    wanted = parameters(definition)
    told = named(found.get("Parameters", ""))
    if wanted != told:
        yield f"tells of the parameters {sorted(told)}, and has {sorted(wanted)}"
    returned = inspect.signature(definition).return_annotation
    given = "Yields" if str(returned).startswith("Iterator") else "Returns"
    if (returned != "None") != (given in found):
        yield f"gives {returned}, and has {'a' if given in found else 'no'} section {given}"
    if (name in RAISE_NOTHING) == ("Raises" in found):
        yield "does not say what it raises, or raises nothing and says so"


@pytest.mark.parametrize(("name", "definition"), [pytest.param(*each, id=each[0]) for each in definitions()])
def test_each_public_definition_is_documented(name: str, definition: Any) -> None:
    assert not [f"{name} {fault}" for fault in faults(name, definition)]


def test_the_lists_here_name_what_there_is() -> None:
    assert {name for name, _ in definitions()} >= RAISE_NOTHING
    assert len(list(definitions())) > 110


@pytest.mark.parametrize("error", [Denied, TooLarge, OutsideLink, NotStandard], ids=lambda error: error.__name__)
def test_errors_of_a_kind_say_what_they_are(error: type[Exception]) -> None:
    assert error.__doc__
    assert error.__doc__ != error.__mro__[1].__doc__


RUN = """
import contextlib, doctest, importlib, io, json, sys
results = {}
for name in sys.argv[1:]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        failed, tried = doctest.testmod(importlib.import_module(name))
    results[name] = failed, tried, output.getvalue()
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[int, int, str]]:
    """For each module, the numbers of its failed and run examples, and the output. They run in another process, because
    the example of `codec` registers one."""
    command = [sys.executable, "-c", RUN, *with_examples()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[int, int, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", with_examples())
def test_the_examples_of_a_module_run(name: str, results: dict[str, tuple[int, int, str]]) -> None:
    failed, tried, output = results[name]
    assert tried >= (3 if name in MODULES else 1)
    assert not failed, output


def test_the_modules_of_the_public_definitions_have_examples() -> None:
    assert set(MODULES) <= set(with_examples())


def test_a_fault_is_found() -> None:
    def undocumented(a: int) -> int:
        """something"""
        return a

    found = list(faults("undocumented", undocumented))
    assert len(found) == 6, found


def public(thing: type) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_public_names_of_a_store_are_few() -> None:
    verbs = {name for name in public(Store) if callable(getattr(Store, name))}
    assert verbs == {
        *("get", "get_partial_values", "get_many", "get_versioned", "list", "list_prefix", "list_dir"),
        *("set", "set_partial_values", "erase", "erase_values", "erase_prefix", "lock", "close"),
    }
    assert public(Store) - verbs == {
        *("url", "listable", "writable", "remote", "document_limit", "allow_outside", "remark"),
        *("tells_absence", "missing_is_fill", "taken_as_missing", "bulk", "files"),
    }
    assert public(BulkOperations) == {
        *("filter_existing", "reader", "scan_children", "scans_children", "put", "puts", "size_of", "copy_many"),
        *("list_sizes", "flush", "compare_many", "get_views", "get_growing", "reads_ahead", "gathers_puts"),
    }
    assert public(FileOperations) == {
        *(
            "ignores_spelling",
            "spelled",
            "links",
            "lost_rights",
            "list_with_folders",
            "stale_temporaries",
            "can_move_prefix",
        ),
        "move_prefix",
    }


PART_OF = {"before", "after", "store"}
"""The public names of every wrapper."""
DISTANT = {"network", "width", "size", "read_end"}
"""The public names of every store whose values are read by requests."""
IN_BUCKETS = {*DISTANT, "config_in_use", "keys_in_use"}
SHOWN = {
    "BucketListings": IN_BUCKETS,
    "BucketRequests": IN_BUCKETS,
    "Counting": {*PART_OF, "keys", "read", "requests", "reset", "written"},
    "DbmStore": {"mapping"},
    "Faults": {*PART_OF, "faults"},
    "FileSystemStore": DISTANT,
    "FsspecStore": DISTANT,
    "Gate": {*PART_OF, "arrived", "hold", "holds", "release", "waiting"},
    "ObstoreStore": IN_BUCKETS,
    "HTTPStore": DISTANT,
    "LMDBStore": set(),
    "Latency": {*PART_OF, "seconds"},
    "LocalStore": {"root", "sync"},
    "MappingStore": {"mapping"},
    "MemoryStore": {"named"},
    "ObjectStore": IN_BUCKETS,
    "OtherStore": DISTANT,
    "PrefixStore": {*PART_OF, "prefix"},
    "ReadOnlyStore": PART_OF,
    "DryRunStore": {*PART_OF, "log", "operations"},
    "IcechunkSession": DISTANT,
    "IcechunkStore": DISTANT,
    "RedisStore": set(),
    "ReferenceStore": DISTANT,
    "RemoteStore": DISTANT,
    "SQLiteStore": set(),
    "SFTPStore": DISTANT,
    "SSHStore": set(),
    "Wrapper": PART_OF,
    "ZarrPythonStore": DISTANT,
    "ZipStore": {"comment", "duplicates", "limit", "refused", "sync"},
}
"""For each store, its public names beyond those of Store."""


def kinds_of_store(kind: type[Store] = Store) -> Iterator[type[Store]]:
    for module in pkgutil.walk_packages(stores.__path__, "zarrscope.stores."):
        importlib.import_module(module.name)
    for each in kind.__subclasses__():
        if each.__module__.startswith("zarrscope."):
            yield each
            yield from kinds_of_store(each)


def given_to_itself(kind: type) -> set[str]:
    """The public attributes that the methods of a class set."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    assigned = (each for each in ast.walk(tree) if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store))
    return {
        each.attr
        for each in assigned
        if isinstance(each.value, ast.Name) and each.value.id == "self" and not each.attr.startswith("_")
    }


class Undocumented:
    pass


def test_a_store_shows_the_verbs_of_a_store_and_what_its_class_documents() -> None:
    found: dict[str, set[str]] = {}
    silent: list[str] = []
    for kind in kinds_of_store():
        own = [each for each in kind.__mro__ if issubclass(each, Store) and each is not Store]
        names = {name for each in own for name in {*public(each), *given_to_itself(each)}} - public(Store)
        found[kind.__name__] = names
        texts = " ".join(each.__doc__ or "" for each in own)
        undocumented = {name for name in names if not inspect.getdoc(getattr(kind, name, Undocumented))}
        silent += [f"{kind.__name__}.{name}" for name in undocumented if f"`{name}" not in texts]
    assert found == SHOWN
    assert not silent
