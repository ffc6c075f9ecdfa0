"""The tree of nodes as lines. Its cursor goes to the selected node, until a person moves it."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.geometry import Region
from textual.strip import Strip

from zarrscope_app.presenters import RootsPresenter, Session, TreePresenter, TreeRow, strings
from zarrscope_app.presenters.commands import command
from zarrscope_app.presenters.tree import tree_text
from zarrscope_app.presenters.tree.short_texts import short_detail, short_name
from zarrscope_app.tui import emoji
from zarrscope_app.tui.lines import Lines, StyledText, cut


class TreeLines(Lines):
    """The tree of nodes as lines."""

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(session, id=id)
        self.node_tree: TreePresenter | RootsPresenter = session.tree
        """The presenter of the rows: of one hierarchy, or of all open ones."""
        self._painted: object = None
        self._visible: dict[int, TreeRow] = {}
        """Line → its row, while lines are painted."""
        self._here: str | None = None
        """The path of the selected node while lines are painted: the session makes its state anew each time that it is
        asked."""
        self._selected: tuple[Session, str] | None = None
        """The hierarchy in front and its selected node when lines were shown last."""
        self.follows_selected = True
        """Whether the cursor goes to the row of the selected node, and stays there while rows arrive above it: until
        the person moves it."""

    def follow(self, session: Session) -> None:
        """Marks the selected node of another hierarchy of the tree; the rows and the cursor stay."""
        self.session = session

    def follow_tree(self, tree: TreePresenter | RootsPresenter) -> None:
        """Paints the rows of another tree."""
        self.node_tree, self._known, self._painted = tree, -1, None
        self.show()

    def go_to_front(self) -> None:
        """Moves the cursor to the selected node of the hierarchy in front, or else to its root."""
        path = self.session.state.path
        found = self.node_tree.find(path) if path else None
        found = self.node_tree.find("/") if found is None else found
        if found is not None:
            self.move(self.node_tree.flat_place(found))

    def move(self, to: int) -> None:
        """Moves the cursor to a line that the person chose."""
        self.follows_selected = False
        super().move(to)

    def _follow_selected(self, path: str) -> None:
        """Moves the cursor to the selected node, which may be chosen elsewhere: an address names it, or *Back* does."""
        if (self.session, path) != self._selected:
            self._selected, self.follows_selected = (self.session, path), True
        found = self.node_tree.find(path) if self.follows_selected else None
        line = self.node_tree.flat_place(found) if found is not None else self.cursor
        row = self.row(line) if line != self.cursor else None
        if row is not None and row.id == found:  # otherwise a collapsed group or the filter hides it
            self._set_count(self.count())
            super().move(line)

    def show(self) -> None:
        """Paints the visible rows. Rows that arrive outside the visible part send nothing to the terminal."""
        path = self.session.state.path
        self._follow_selected(path)
        top = self.scroll_offset.y
        seen = (top, self.node_tree.flat(top, top + self.size.height), path, self.size)
        if seen != self._painted or self.count() <= self.size.height:
            self._painted = seen
            super().show()
        else:
            self._set_count(self.count())

    def show_selected(self) -> None:
        """Repaints all visible rows, after another node was selected, or the focus or the unsaved changes changed."""
        self.show()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        first = crop.y + self.scroll_offset.y
        self._visible = dict(enumerate(self.node_tree.flat(first, first + crop.height), first))
        self._here = self.session.state.path
        try:
            return super().render_lines(crop)
        finally:
            self._visible, self._here = {}, None

    def count(self) -> int:
        return self.node_tree.flat_count

    def row(self, line: int) -> TreeRow | None:
        """The row on a line of the tree; None beyond the last one."""
        found = self.node_tree.flat(line, line + 1)
        return found[0] if found else None

    def note(self) -> str:
        """The problem of the row under the cursor, or else its sentence; no sentence if there were jobs and the cursor
        went there by itself: after a job has removed a row, the end of the job is told in its place."""
        row = self.row(self.cursor)
        if row is None:
            return ""
        return row.badge or ("" if self.follows_selected and self.session.jobs.items else row.sentence)

    def pieces(self, line: int) -> list[StyledText]:
        row = self._visible.get(line) or self.row(line)
        if row is None:
            return []
        selected = self.session.state.path if self._here is None else self._here
        here = row.path == selected and self.node_tree.in_front(row.id)
        mark = ("…" if row.state.value == "loading" else "▾" if row.expanded else "▸") if row.expandable else " "
        name = f"{'• ' if row.dirty else ''}{emoji.parts(row.name)}"
        width = self.columns - 2 * row.depth - (4 if row.badge else 2)
        name = short_name(self.node_tree, row, name, lambda text: cell_len(text) <= width) if width > 0 else ""
        pieces = [("  " * row.depth + mark + " ", "quiet"), (name, "accent" if here else "" if row.kind else "quiet")]
        if row.badge:
            pieces.append((" !", "warning"))
        told = f"[{command(row.offer).keys[0].lower()}] {tree_text.note(row)}" if row.offer else row.sentence
        note = told if row.retry or (row.expanded and row.sentence) else row.detail
        room = self.columns - sum(cell_len(text) for text, _ in pieces) - 1
        if note and room > 3:
            if note is row.detail:
                note = short_detail(self.node_tree, row, note, lambda text: cell_len(text) <= room)
            pieces.append((" " + cut(strings.clean(note), room), "error" if row.retry else "quiet"))
        return pieces

    def key(self, event: events.Key) -> bool:
        row = self.row(self.cursor)
        tree = self.node_tree
        if row is None:
            return False
        self.follows_selected = False
        if event.key in ("right", "l") and row.expandable and not row.expanded:
            tree.expand(row.id)
        elif event.key in ("left", "h") and row.expanded:
            tree.collapse(row.id)
        elif event.key in ("left", "h") and row.depth:
            self.move(tree.flat_place(row.parent))
        elif event.key == "space" and row.expandable:
            tree.toggle(row.id)
        elif event.key == "escape":
            return tree.cancel_around(row.id)
        elif event.character == "r" and row.retry:
            tree.retry(row.id)
        else:
            return event.key in ("right", "l", "left", "h") or super().key(event)
        return True
