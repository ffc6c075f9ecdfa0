"""The kind of a place, if it was found out by looking at the place and its address does not state it."""

from __future__ import annotations

from zarrscope.model.frozen import frozen


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
    """

    kind: str
    sentence: str
