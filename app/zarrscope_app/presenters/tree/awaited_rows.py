"""Finds rows again while listings arrive: a node to reveal, groups that were expanded before a refresh, and typed
names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from zarrscope_app.presenters.tree.branch import Branch


class AwaitedRows:
    """Expands groups and adds names as soon as the rows above them have arrived. Use it on the host's thread."""

    def __init__(self, expand: Callable[[int], None], open_child: Callable[[int, str], None]) -> None:
        self._expand, self._open_child = expand, open_child
        self.revealed = ""
        """The path of the node to reveal; "" once its row exists."""
        self._opened: set[str] = set()
        self._typed: dict[str, dict[str, None]] = {}
        """Typed names of children, by the path of the group, so that a refresh finds them again."""

    def reveal(self, path: str, given: bool) -> None:
        """Begins to reveal a node. `given`: a person gave its path, so that rows are added that no listing names."""
        self.revealed = path
        names = parts_of(path) if given else []
        for at in range(len(names)):
            self.typed("/" + "/".join(names[:at]), "/".join(names[at:]))

    def keep(self, branches: Iterable[Branch]) -> None:
        """Remembers the expanded groups before they are listed again."""
        self._opened |= {branch.path for branch in branches if branch.expanded}

    def typed(self, path: str, name: str) -> None:
        """Remembers the name of a child that a person typed."""
        self._typed.setdefault(path, {})[name] = None

    def forget(self, path: str, name: str) -> None:
        """Forgets a typed name, because there is no such child."""
        self._typed.get(path, {}).pop(name, None)

    def arrived(self, branch: Branch, *, all_there: bool) -> None:
        """Called when children have arrived: expands groups that were expanded before, and adds children whose names
        were typed and that no listing contains. `all_there`: whether the listing is complete."""
        above = branch.path.rstrip("/")
        for path in [path for path in self._opened if path.rpartition("/")[0] == above and path != "/"]:
            child = branch.child_named(path.rpartition("/")[2])
            if child is not None:
                self._opened.discard(path)
                if branch.kind(child) != "array":
                    self._expand(branch.child_id(child))
            elif all_there:
                self._opened.discard(path)
        for name in [*self._typed.get(branch.path, ())] if all_there else ():
            if branch.child_named(name.partition("/")[0]) is None:
                self._open_child(branch.id, name)

    def advance(self, root: Branch, branches: dict[int, Branch]) -> None:
        """Expands the next group above the node to reveal, if its row has arrived."""
        parts = parts_of(self.revealed)
        branch = root
        for part in parts[:-1]:
            child = branch.child_named(part)
            if child is None:
                break
            id = branch.child_id(child)
            if not branch.below.get(child, branch).expanded or child not in branch.below:
                self._expand(id)
            if id not in branches:  # an array
                break
            branch = branches[id]
        else:
            if parts and branch.child_named(parts[-1]) is not None:
                self.revealed = ""


def parts_of(path: str) -> list[str]:
    """The names in a path."""
    return [part for part in path.split("/") if part]
