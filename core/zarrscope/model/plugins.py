"""Extensions that other distributions add: one group of entry points for each extension point of the specification.

    [project.entry-points."zarrscope.data_types"]
    "https://example.com/money" = "my_package:money"

    group                          called with                          gives
    zarrscope.codecs               see codecs.lookup                    a codec class
    zarrscope.data_types           (name, configuration)                a DataType
    zarrscope.chunk_grids          (configuration, shape)               a chunk grid, as metadata.RegularGrid
    zarrscope.chunk_key_encodings  (configuration, prefix)              ChunkKeys
    zarrscope.memory_layouts       (configuration, number of axes)      codecs in front of the others: [{"name": …}, …]
    zarrscope.metadata_encodings   (bytes of a document)                its JSON value
    zarrscope.storage_transformers (store, configuration, key prefix)   a Store over that store
    zarrscope.dialects             ()                                   a Dialect (dialects.protocol), with `signs`:
                                                                        keys at the root that tell it apart
    zarrscope.extensions           (configuration,)                     a sentence: what it means; data read as they are

Looked for only when a name is not built in, by its exact name; no address is ever opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from zarrscope.errors import Unsupported, ZarrscopeError


@lru_cache(maxsize=256)
def plugin(group: str, name: str) -> Callable[..., Any] | None:
    """What an installed distribution registered under "zarrscope.<group>" for that name, or None.

    Raises Unsupported when it is there, but does not load; so does the result when it fails in a way of its own.
    """
    from importlib.metadata import entry_points  # brings email and zipfile with it: 15 ms

    found = tuple(entry_points(group=f"zarrscope.{group}", name=name))
    if not found:
        return None
    try:
        made = found[0].load()
    except Exception as error:  # a stranger's package may fail in any way
        raise Unsupported(
            f"The package that adds {name!r} does not load: {type(error).__name__}: {error}",
            feature=f"{group} {name}",
            advice="Install it again, or a newer version of it.",
        ) from error

    def guarded(*arguments: Any) -> Any:
        try:
            return made(*arguments)
        except ZarrscopeError:
            raise
        except Exception as error:
            raise Unsupported(
                f"The package that adds {name!r} fails: {type(error).__name__}: {error}",
                feature=f"{group} {name}",
                advice="Report it to the makers of that package.",
            ) from error

    return guarded


def registered(group: str) -> tuple[str, ...]:
    """The names that installed distributions registered under "zarrscope.<group>"."""
    from importlib.metadata import entry_points

    return tuple(dict.fromkeys(point.name for point in entry_points(group=f"zarrscope.{group}")))


def transformed(store: Any, transformers: Sequence[Any], prefix: str) -> Any:
    """The store that an array sees through its storage transformers, the first of which is next to the array.

    Each is a store over the next: it changes keys and bytes on their way and keeps the `url` of what it wraps.
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
