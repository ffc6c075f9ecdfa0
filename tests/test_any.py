"""No parameter, result or variable of the package has the type Any, but those listed here with the reason.

With Any a type checker stops checking, and a reader learns nothing. A value parsed from JSON is a `JSON`
(model/json_value.py), a decoded element an `Element` (model/dtype.py), an imported module a `ModuleType`, a value that
is only passed on an `object`. Any inside of another type, as in `dict[str, Any]`, and the Any of `*args` and `**kwargs`
do not count: those are passed on to a function that checks them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import machine

ROOTS = ("core/zarrscope", "app/zarrscope_app")

REASONS: dict[str, tuple[str, ...]] = {
    "Numpy's own functions take and return anything: scalars, arrays, lists, dask's arrays.": (
        "core/zarrscope/view/lazy*.py",
        "core/zarrscope/view/editable.py",
        "core/zarrscope/nodes/array.py: __getitem__",
    ),
    "Attributes that are found by name, as Python declares `__getattr__` and descriptors.": (
        "*: __getattr__",
        "core/zarrscope/model/frozen.py",
    ),
    "The two names of what only its user can tell apart.": (
        "core/zarrscope/model/json_value.py: JSON",
        "core/zarrscope/model/dtype.py: Element",
    ),
    "napari declares no types for these, and their classes are private or differ from version to version.": (
        "app/zarrscope_app/napari/*.py",
    ),
    "Objects of other libraries, which are not imported here: told apart by the names of their classes.": (
        "core/zarrscope/stores/objects.py",
        "core/zarrscope/stores/icechunk.py: session_of.value",
        "core/zarrscope/stores/file_system.py: unwrapped.files",
        "core/zarrscope/stores/zarr_python.py: __init__.store",
        "core/zarrscope/stores/zarr_python_adapter.py",
        "app/zarrscope_app/presenters/session/opening.py: target_of.value",
    ),
    "Libraries without types: distributed, redis, fsspec, ftplib by way of fsspec.": (
        "core/zarrscope/executors/cluster.py",
        "core/zarrscope/stores/redis.py",
        "core/zarrscope/stores/references.py",
        "core/zarrscope/stores/other_schemes.py: _connection",
    ),
    "obstore types its functions for each kind of client, and for dictionaries, so that one call fits several.": (
        "core/zarrscope/stores/object_store.py",
        "core/zarrscope/stores/object_listings.py",
        "core/zarrscope/stores/object_values.py: range_option",
        "core/zarrscope/stores/object_requests.py: client",
    ),
    "Each service describes its answer for an absent value in a type of its own.": ("core/zarrscope/stores/remote.py",),
    "Typeshed is too wide or too narrow here.": (
        "core/zarrscope/stores/dbm.py: _database",
        "core/zarrscope/codecs/native.py: pointer",
        "core/zarrscope/codecs/native.py: pointer.data",
        "core/zarrscope/nodes/stored_array.py: base",
        "core/zarrscope/view/cache.py: owner",
    ),
    "A method that stands for several others, or a call that chooses between the codecs of a pipeline.": (
        "core/zarrscope/dialects/defects.py: _refuse",
        "core/zarrscope/check/chunk_trace.py: made",
    ),
    "A plug-in registers what it likes; the caller checks it.": ("core/zarrscope/model/plugins.py: loaded",),
    "Slices of a selection that covers its chunk, and so has no coordinates.": (
        "core/zarrscope/chunkio/write.py: source",
    ),
    "A protocol beneath Group and Array cannot name them.": ("core/zarrscope/nodes/hierarchy_like.py",),
    "The default may be anything, as in dict.get.": ("core/zarrscope/nodes/group.py: get",),
    "Array-like data of a layer, and data types that numpy checks.": (
        "app/zarrscope_app/presenters/layers/layer_writing.py: data",
        "app/zarrscope_app/presenters/form/sections/model.py: _limits.dtype",
    ),
    "The bindings of Qt declare different types, or two methods under one name.": (
        "app/zarrscope_app/qt/form_model.py: parent",
        "app/zarrscope_app/qt/tree_model.py: parent",
        "app/zarrscope_app/qt/panes.py: selection",
        "app/zarrscope_app/qt/views.py: zoomed",
        "app/zarrscope_app/qt/companion_views.py: changed",
    ),
    "What a view shows depends on the view.": (
        "app/zarrscope_app/presenters/views.py: text_of.presenter",
        "app/zarrscope_app/jupyter/views.py: _block.what",
        "app/zarrscope_app/jupyter/widget.py: _repr_mimebundle_",
    ),
}
"""Reason → modules, or names in a module: "function" for its result, "function.parameter", or a variable."""


def is_any(annotation: ast.expr | None) -> bool:
    """Whether an annotation is Any, or a union with it."""
    if isinstance(annotation, ast.BinOp):
        return is_any(annotation.left) or is_any(annotation.right)
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def untyped(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the name of each place that has the type Any."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                if is_any(each.annotation):
                    yield each.lineno, f"{node.name}.{each.arg}"
            if is_any(node.returns):
                yield node.lineno, node.name
        elif isinstance(node, ast.AnnAssign) and is_any(node.annotation):
            yield node.lineno, ast.unparse(node.target)
        elif isinstance(node, ast.Assign) and is_any(node.value):
            yield node.lineno, ast.unparse(node.targets[0])


def allowed(path: str, name: str, rows: set[str]) -> bool:
    """Whether a row covers the name; the rows that do are added to `rows`."""
    found = {
        row
        for listed in REASONS.values()
        for row in listed
        for module, colon, which in (row.partition(": "),)
        if (module == "*" or Path(path).match(module)) and (not colon or which == name)
    }
    rows |= found
    return bool(found)


def test_no_handle_is_any_but_those_with_a_reason() -> None:
    found: list[str] = []
    used: set[str] = set()
    for root in ROOTS:
        for file in sorted((machine.ROOT / root).rglob("*.py")):
            path = file.relative_to(machine.ROOT).as_posix()
            for line, name in untyped(ast.parse(file.read_text("utf-8"))):
                if not allowed(path, name, used):
                    found.append(f"{path}:{line}: {name}")
    assert not found, "give these a type, or list them in tests/test_any.py with the reason: " + ", ".join(found)
    unused = {row for rows in REASONS.values() for row in rows} - used
    assert not unused, f"nothing of these is Any any more, so take them off the list: {sorted(unused)}"


def test_every_way_to_write_any_is_found() -> None:
    module = ast.parse("a: Any = 1\nb: int | Any\nJSON = Any\ndef f(x: Any, *y: Any, z: dict[str, Any]) -> Any: ...")
    assert [name for _, name in untyped(module)] == ["a", "b", "JSON", "f.x", "f"]
