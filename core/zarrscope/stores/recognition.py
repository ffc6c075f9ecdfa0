"""The kind of a place, if it was found out by looking at the place and its address does not state it."""

from __future__ import annotations

from zarrscope.model.frozen import frozen


@frozen
class RepositoryVersion:
    """A branch or a tag of a repository.

    Parameters
    ----------
    kind
        "branch" or "tag".
    name
        The name of the branch or tag.
    address
        The address that opens it, without passwords.
    shown
        Whether it is the version that was opened.
    """

    kind: str
    name: str
    address: str
    shown: bool = False


@frozen
class Recognition:
    """The kind of a place that was found out by looking: a database, a repository, a folder of hierarchies.

    It is information for a person, and no warning about the data.

    Parameters
    ----------
    kind
        The scheme of the store ("sqlite", "lmdb", "dbm"), "icechunk", or "folder" for a folder that only contains
        hierarchies.
    sentence
        A sentence that says it, without a full stop.
    versions
        The branches and tags of an Icechunk repository, as it has told them when it was opened.
    """

    kind: str
    sentence: str
    versions: tuple[RepositoryVersion, ...] = ()
