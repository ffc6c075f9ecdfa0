"""The versions of an Icechunk repository in addresses: the newest snapshot of a branch, a tag, or any other snapshot.

Neuroglancer's words are used: `@branch.NAME`, `@tag.NAME`, `@SNAPSHOT`, after `address|icechunk:`. Within zarrscope
the version is the first part of a chain, `icechunk://@tag.v1::address`: so every stored address keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarrscope.errors import Refused
from zarrscope.model.frozen import frozen

OPTIONS = ("branch", "tag", "snapshot")
"""The options that name a version, beside the address."""


@frozen
class IcechunkVersion:
    """A version of a repository. `kind` is "branch", "tag" or "snapshot", `name` the branch, the tag or the snapshot's
    ID; an empty name exists in no repository."""

    kind: str
    name: str

    @property
    def text(self) -> str:
        """The version as in addresses: `@tag.v1`.

        Examples
        --------
        >>> IcechunkVersion("branch", "a b").text
        '@branch.a%20b'
        """
        from urllib.parse import quote

        name = quote(self.name, safe="")
        return f"@{name}" if self.kind == "snapshot" else f"@{self.kind}.{name}"


MAIN = IcechunkVersion("branch", "main")


def split_version(path: str) -> tuple[IcechunkVersion | None, str]:
    """The version and the node in the text after `|icechunk:`; None if it names no version.

    Examples
    --------
    >>> split_version("@tag.v1/images/0")
    (IcechunkVersion(kind='tag', name='v1'), 'images/0')
    """
    from urllib.parse import unquote

    path = path.removeprefix("//")  # an earlier draft of these addresses
    if not path.startswith("@"):
        return None, path
    text, _, node = path[1:].partition("/")
    kind, dot, name = text.partition(".")
    if dot and kind in ("branch", "tag"):
        return IcechunkVersion(kind, unquote(name)), node
    return IcechunkVersion("snapshot", unquote(text)), node


def version_in(options: Mapping[str, Any]) -> IcechunkVersion | None:
    """The version that options name: {"tag": "v1"}; None if they name none. Raises Refused if they name several."""
    given = [(name, options[name]) for name in OPTIONS if options.get(name) is not None]
    if len(given) > 1:
        raise Refused(
            f"{' and '.join(name for name, _ in given)} name two versions of an Icechunk repository",
            advice="Give only one of branch, tag and snapshot.",
        )
    for name, value in given:
        if not isinstance(value, str):
            raise Refused(f"The {name} of an Icechunk repository is a text, not {value!r}")
        return IcechunkVersion(name, value)
    return None
