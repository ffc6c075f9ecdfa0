"""Commands that need no host: the effect of a key or a menu entry on a session, defined once for all hosts.

A host looks up the command of a key in `commands`, carries out commands that need the host itself (zoom, dialogs,
focus), and passes all others to `perform`.
"""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
from zarrscope_app.presenters.commands import LABELS, OFFERS
from zarrscope_app.presenters.image.overview import OverviewPresenter
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.session.session import Session
from zarrscope_app.presenters.tree.matching import is_pattern
from zarrscope_app.presenters.tree.presenter import TreePresenter
from zarrscope_app.presenters.tree.roots import RootsPresenter
from zarrscope_app.presenters.tree.rows import ROOT

LEAP = 10
BRIGHTER = 1.25


def _to_end(picture: SlicePresenter, last: bool) -> None:
    for axis in picture.state.axes:
        if axis.name == picture.state.current_axis:
            picture.set_index(axis.name, axis.length - 1 if last else 0)


def _next_level(picture: SlicePresenter) -> None:
    """Shows the next level: automatic → level 0 → level 1 … → automatic."""
    state = picture.state
    following = 0 if not state.locked else state.level + 1
    picture.lock_level(following if following < len(state.levels) else None)


def _next_part(picture: SlicePresenter) -> None:
    """Draws the next part of complex values: magnitude → phase → real part → imaginary part → magnitude."""
    for channel in picture.state.channels[:1]:
        parts = [id for id, _ in channel.parts]
        if parts:
            picture.set_part(parts[(parts.index(channel.part) + 1) % len(parts)])


def _lighten(picture: SlicePresenter, by: float) -> None:
    """Divides the width of the contrast window of every visible channel by `by`; the lower limit stays."""
    for number, channel in enumerate(picture.state.channels):
        if channel.visible and channel.lo is not None and channel.hi is not None:
            picture.set_levels(number, channel.lo, channel.lo + (channel.hi - channel.lo) / by)


def _turn_to(session: Session, by: int) -> None:
    """Brings the next (`by` 1) or the previous (-1) tab that fits the node to the front."""
    tabs = [tab.id for tab in session.state.tabs if tab.enabled]
    if session.state.tab in tabs:
        session.set_tab(tabs[(tabs.index(session.state.tab) + by) % len(tabs)])


def _walk(session: Session, by: int) -> None:
    """Selects the image `by` steps further in a plate, a well or a series, without returning to the collection. A node
    that was selected while a document was read is not left."""
    overview, path = session.tabs.presenters["overview"], session.state.path

    def go(to: str) -> None:
        if session.state.path == path:
            session.select(to)

    if isinstance(overview, OverviewPresenter) and session.hierarchy is not None:
        overview.walk(session.hierarchy, path, by, go)


def neighbours(session: Session) -> tuple[bool, bool] | None:
    """Whether there is a well, field or image before the selected one, and one after it; None if it is in no plate,
    well or series that was displayed."""
    overview = session.tabs.presenters["overview"]
    if session.hierarchy is None or not isinstance(overview, OverviewPresenter):
        return None
    return overview.neighbours(session.hierarchy, session.state.path)


def check_or_stop(session: Session) -> None:
    """Checks the selected node; stops a running check, or continues a stopped one."""
    session.set_tab("problems")
    problems = session.problems
    if problems.checking:
        problems.stop()
    elif problems.can_resume:
        problems.resume()
    else:
        problems.check()


def compare_or_stop(session: Session) -> bool:
    """Shows the tab of problems, which also lists differences, and stops a running comparison. Returns True if none was
    running: the host then asks for the hierarchy to compare with."""
    session.set_tab("problems")
    running = session.problems.comparing
    session.problems.stop_comparing()
    return not running


def job_labels(session: Session) -> dict[str, str]:
    """The commands that begin a job, stop it or go on with it → what each would do now."""
    problems = session.problems
    check = "check-to-stop" if problems.checking else "check-to-resume" if problems.can_resume else "check-begin"
    compare = "compare-stop" if problems.comparing else "compare-begin"
    return {"check": LABELS[check], "compare": LABELS[compare]}


def save(session: Session) -> None:
    """Saves the changes. If texts wait until the hierarchy is open for writing, opens it; they are then applied and
    written, unless a document was changed meanwhile."""
    if session.edit.brief.waits:
        session.set_writable(True)
    session.edit.save()
    session.save_asked()


def review(session: Session) -> None:
    """Brings the form to the front, for a look at its changes. If texts wait until the hierarchy is open for writing,
    opens it, so that they become changes; writes nothing."""
    session.set_tab("attributes")
    if session.edit.brief.waits:
        session.set_writable(True)


def show_missing(session: Session) -> None:
    """Shows the next chunk that is not stored on the map of chunks, and why."""
    chunks = session.tabs.presenters["chunks"]
    if isinstance(chunks, ChunksPresenter) and any(tab.id == "chunks" and tab.enabled for tab in session.state.tabs):
        session.set_tab("chunks")
        chunks.show_missing()


def show_in_image(session: Session) -> None:
    """Shows the chosen chunk in the image; if none is chosen, brings the map to the front, where one can be chosen."""
    if session.chunks.state.chosen is not None:
        session.chunks.show_in_image()
    elif any(tab.id == "chunks" and tab.enabled for tab in session.state.tabs):
        session.set_tab("chunks")


def can_undo(session: Session) -> bool:
    """Whether `undo` would undo anything."""
    return session.edit.brief.can_undo or bool(session.nodes.undo_label)


def undo(session: Session) -> None:
    """Undoes the last change of the form; if there is none, the last action on nodes."""
    if session.edit.brief.can_undo:
        session.edit.undo()
    else:
        session.nodes.undo()


ACTIONS: dict[str, Callable[[Session], object]] = {
    "save": save,
    "undo": lambda s: undo(s),
    "undo-node": lambda s: s.nodes.undo(),
    "redo": lambda s: s.edit.redo(),
    "take-view": lambda s: s.edit.take_view(),
    "revert": lambda s: s.edit.revert(),
    "edit": lambda s: s.set_tab("attributes"),
    "open-anyway": lambda s: s.open_anyway(),
    "follow-links": lambda s: s.follow_links(),
    "missing-is-fill": lambda s: s.take_as_missing(),
    "fallback": lambda s: s.set_fallbacks(not s.fallbacks),
    "put-back": lambda s: s.put_back(),
    "forget": lambda s: s.forget(),
    "check": lambda s: check_or_stop(s),
    "compare": lambda s: compare_or_stop(s),
    "writable": lambda s: s.set_writable(not s.state.writable),
    "refresh": lambda s: s.reload(),
    "auto": lambda s: s.slice.auto(),
    "alone": lambda s: s.slice.show_next_alone(),
    "measure-view": lambda s: s.slice.measure_view(),
    "project": lambda s: s.slice.project_next(),
    "roll": lambda s: s.slice.roll(),
    "retry-tiles": lambda s: s.slice.retry(),
    "missing": show_missing,
    "chunk-in-image": show_in_image,
    "dots": lambda s: s.slice.set_dots(not s.slice.state.dots),
    "part": lambda s: _next_part(s.slice),
    "brighter": lambda s: _lighten(s.slice, BRIGHTER),
    "darker": lambda s: _lighten(s.slice, 1 / BRIGHTER),
    "level": lambda s: _next_level(s.slice),
    "transpose": lambda s: s.slice.transpose(),
    "play": lambda s: s.slice.play(),
    "step-forward": lambda s: s.slice.step(1),
    "step-back": lambda s: s.slice.step(-1),
    "leap-forward": lambda s: s.slice.step(LEAP),
    "leap-back": lambda s: s.slice.step(-LEAP),
    "first": lambda s: _to_end(s.slice, last=False),
    "last": lambda s: _to_end(s.slice, last=True),
    "next-axis": lambda s: s.slice.choose_axis(1),
    "previous-axis": lambda s: s.slice.choose_axis(-1),
    "next-image": lambda s: _walk(s, 1),
    "previous-image": lambda s: _walk(s, -1),
    "next-tab": lambda s: _turn_to(s, 1),
    "previous-tab": lambda s: _turn_to(s, -1),
    "back": lambda s: s.back(),
    "forward": lambda s: s.forward(),
}


def perform(session: Session, command: str) -> bool:
    """Carries out `command` (an id of `commands.COMMANDS`). Returns False if the host has to carry it out. A command of
    OFFERS has no effect while the session does not offer it, because most of these commands read everything again, and
    a single key pressed by mistake could start one."""
    act = ACTIONS.get(command)
    if act is not None and (command not in OFFERS or command in session.state.offers):
        act(session)
    return act is not None


def toggle_channel(session: Session, number: int) -> None:
    """Shows or hides a channel, counted from 1 as on the keys; a number without a channel does nothing."""
    channels = session.slice.state.channels
    if 1 <= number <= len(channels):
        session.slice.set_visible(number - 1, not channels[number - 1].visible)


def choose_axis_key(session: Session, letter: str) -> bool:
    """Makes the axis named by a key (X, Z, T …) the current one. Returns False if there is no such slider."""
    for axis in session.slice.state.axes:
        if axis.name.lower() == letter.lower() and axis.role == "slider":
            session.slice.choose_axis(axis.name)
            return True
    return False


def open_name(session: Session, text: str, tree: TreePresenter | RootsPresenter | None = None) -> bool:
    """Selects the node whose name or path was typed into the filter, and adds its row: for stores that cannot list. A
    name is relative to the displayed group, a path such as "/a" to the root; a pattern, such as "*.zarr", opens the
    form of all matching nodes. Returns False if the filter matches rows, among which the host then moves. `tree`: the
    filtered tree; None for the tree of `session`."""
    name = text.strip()
    if is_pattern(name):
        session.select_matching(name)
        return True
    if not name.strip("/") or (tree or session.tree).finds:
        return False
    node = session.node
    group = "/" if node is None else node.path if node.kind == "group" else node.path.rpartition("/")[0]
    path = name if name.startswith("/") else f"{group.rstrip('/')}/{name}"
    session.tree.filter("")
    session.tree.open_child(ROOT, path)
    session.select(path)
    return True
