"""Plugins of other distributions: one group of entry points for each table and each extension point.

    [project.entry-points."zarrscope.data_types"]
    "https://example.com/money" = "my_package:money"

    group                          called with                          gives
    zarrscope.codecs               (not called)                         a codec class, see codecs.codec
    zarrscope.data_types           (name, configuration)                a DataType
    zarrscope.chunk_grids          (configuration, shape)               a chunk grid, as metadata.RegularGrid
    zarrscope.chunk_key_encodings  (configuration, prefix)              ChunkKeys
    zarrscope.memory_layouts       (configuration, number of axes)      codecs in front of the others: [{"name": …}, …]
    zarrscope.metadata_encodings   (bytes of a document)                its JSON value
    zarrscope.storage_transformers (store, configuration, key prefix)   a Store over that store
    zarrscope.dialects             ()                                   a Dialect (dialects.protocol), with `signs`:
                                                                        keys at the root that tell it apart
    zarrscope.stores               (not called)                         a StoreKind, see stores.registry; the name of
                                                                        the entry point is the scheme
    zarrscope.extensions           (configuration,)                     a sentence: what it means; data read as they are
    zarrscope.views                (not called)                         a View of the applications (presenters.views)
    zarrscope.form_fields          (not called)                         a FieldEditor of the applications' form

A plugin is looked up only for a name that is not built in, and only by its exact name; no address is ever opened. A
plugin that cannot be loaded, or a name that two distributions register, raises Unsupported when that name is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from zarrscope.errors import Unsupported, ZarrscopeError
from zarrscope.runtime.memo import memoized

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

GROUPS = (
    "codecs",
    "data_types",
    "chunk_grids",
    "chunk_key_encodings",
    "memory_layouts",
    "metadata_encodings",
    "storage_transformers",
    "dialects",
    "stores",
    "extensions",
    "views",
    "form_fields",
)


@memoized(len(GROUPS))
def _points(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """The entry points of a group by name. They are cached, because a hostile document may ask for thousands of unknown
    names.
    """
    from importlib.metadata import entry_points  # importlib.metadata imports email and zipfile: 15 ms

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=f"zarrscope.{group}"):
        others = found.get(point.name, ())
        if all(point.value != other.value for other in others):
            found[point.name] = (*others, point)
    return found


@memoized(256)
def _loaded(group: str, name: str) -> tuple[Any, Unsupported | None]:
    points = _points(group).get(name, ())
    if not points:
        return None, None
    feature = f"{group} {name}"
    if len(points) > 1:
        both = ", ".join(sorted(_maker(point) for point in points))
        return None, Unsupported(
            f"Several packages add {name!r}: {both}", feature=feature, advice="Uninstall all of them but one."
        )
    try:
        return points[0].load(), None
    except (Exception, SystemExit) as error:  # a plugin may fail in any way, also by sys.exit
        return None, Unsupported(
            f"The package that adds {name!r} ({_maker(points[0])}) does not load: {type(error).__name__}: {error}",
            feature=feature,
            advice="Install it again, or a newer version of it.",
        )


def _maker(point: EntryPoint) -> str:
    """The distribution that an entry point belongs to: "name 1.0"."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def loaded(group: str, name: str) -> Any:
    """The object that an installed distribution registered under "zarrscope.<group>" by that name, or None.

    Raises Unsupported if it cannot be loaded, or if several distributions register the name.
    """
    found, fault = _loaded(group, name)
    if fault is not None:
        raise Unsupported(fault.message, feature=fault.feature, advice=fault.advice)
    return found


@memoized(256)
def _guarded(group: str, name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*arguments: Any) -> object:
        try:
            return made(*arguments)
        except ZarrscopeError:
            raise
        except (Exception, SystemExit) as error:
            raise failing(group, name, error) from error

    return guarded


def plugin(group: str, name: str) -> Callable[..., Any] | None:
    """The function or class that a package registers; None if there is none. If a call of it raises an unexpected
    error, that becomes Unsupported.
    """
    made = loaded(group, name)
    return None if made is None else _guarded(group, name, made)


def failing(group: str, name: str, error: BaseException) -> Unsupported:
    """The error for an unexpected failure in the code of a plugin."""
    return Unsupported(
        f"The package that adds {name!r} fails: {type(error).__name__}: {error}",
        feature=f"{group} {name}",
        advice="Report it to the makers of that package.",
    )


def registered(group: str) -> tuple[str, ...]:
    """The names that installed distributions registered under "zarrscope.<group>"."""
    return tuple(_points(group))


def forget() -> None:
    """Clears the cache, so that newly installed plugins are found."""
    for cache in (_points, _loaded, _guarded):
        cache.cache_clear()


def transformed(store: T, transformers: Sequence[Any], prefix: str) -> T:
    """The store that an array reads through its storage transformers; the first transformer is the one nearest to the
    array.

    Each transformer is a store that wraps the next one: it translates keys and bytes, and has the `url` of the wrapped
    store.
    """
    for spec in reversed(transformers):
        over = plugin("storage_transformers", spec.name)
        if over is None:
            raise Unsupported(
                f"The storage transformer {spec.name!r} is not installed",
                feature=f"storage transformer {spec.name}",
                advice="Install the package that adds it.",
            )
        store = over(store, spec.configuration, prefix)
    return store
