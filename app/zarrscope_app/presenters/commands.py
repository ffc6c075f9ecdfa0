"""Every command by name: its label, its keys, its menu. Hosts build menus, footers and the list of keys from this
table.

`keys` are written as "Ctrl+S", "Left", "A"; the first one is shown. Commands with a plain key are inactive while text
is being typed. The `order` of the table is the order of the menus.
"""

from __future__ import annotations

from collections.abc import Container

from zarrscope.errors.visible import visible
from zarrscope.model.frozen import frozen

MENUS = (
    ("file", "&File"),
    ("edit", "&Edit"),
    ("view", "&View"),
    ("node", "&Node"),
    ("window", "&Window"),
    ("help", "&Help"),
)
"""The menus as (id, title with its mnemonic), in the usual order of desktop menus."""

SUBMENUS = {"steps": "Steps along the axis", "chunks": "Chunks"}
"""The id of a submenu → its title. Without them the menu View would be higher than a small screen."""


@frozen
class Command:
    """A command that a person may give: its label, keys and place in the menus."""

    id: str
    label: str
    menu: str
    """The id of its menu; "" if windows do not have the command."""
    keys: tuple[str, ...] = ()
    group: int = 0
    """Menus list their commands group by group, with a separator line between two groups."""
    icon: str = ""
    below: str = ""
    """The id of its submenu in SUBMENUS; "" if it stands in the menu itself."""


COMMANDS = (
    Command("open-file", "Open File…", "file", ("Ctrl+O",), 0, "file"),
    Command("open-folder", "Open Folder…", "file", ("Ctrl+Shift+O",), 0, "folder"),
    Command("open-url", "Open URL…", "file", ("Ctrl+U", "Ctrl+L"), 0, "link"),
    Command("open-recent", "Open Recent", "file", (), 0, "recent"),
    Command("versions", "Other versions", "file", (), 0),
    Command("bookmarks", "Bookmarks", "file", (), 0),
    Command("open-demo", "Open the demo", "file", (), 0, "image"),
    Command("save", "Save", "file", ("Ctrl+S",), 1, "save"),
    Command("writable", "Open for writing", "file", (), 1, "edit"),
    Command("open-anyway", "Open anyway, read-only", "file", ("O",), 1),
    Command("follow-links", "Follow links", "file", ("K",), 1),
    Command("missing-is-fill", "Take as missing", "file", ("M",), 1),
    Command("credentials", "Other credentials…", "file", ("N",), 1),
    Command("fallback", "Fallback on or off", "file", ("B",), 1),
    Command("refresh", "Refresh", "file", ("F5", "R"), 1, "retry"),
    Command("export", "Export…", "file", ("Ctrl+Shift+E",), 1, "save"),
    Command("close", "Close", "file", ("Ctrl+W",), 2, "close"),
    Command("quit", "Quit", "file", ("Ctrl+Q",), 2),
    Command("undo", "Undo", "edit", ("Ctrl+Z",), 0, "undo"),
    Command("redo", "Redo", "edit", ("Ctrl+Shift+Z", "Ctrl+Y"), 0, "redo"),
    Command("edit", "Edit attributes", "edit", ("E",), 1, "edit"),
    Command("review", "Review changes", "edit", (), 1, "review"),
    Command("copy-commands", "Copy changes as commands", "edit", (), 1, "copy"),
    Command("revert", "Revert changes", "edit", (), 1),
    Command("take-view", "Take from the view", "edit", ("Ctrl+Shift+T",), 1, "contrast"),
    Command("put-back", "Put back", "edit", ("P",), 1),
    Command("forget", "Forget", "edit", ("F",), 1),
    Command("find", "Find", "edit", ("Ctrl+F", "/"), 2, "search"),
    Command("copy-view", "Copy view", "edit", ("Ctrl+Shift+C", "W"), 3, "copy"),
    Command("copy-image", "Copy image", "edit", ("Ctrl+Shift+S",), 3, "copy"),
    Command("paste-view", "Paste view…", "edit", ("Ctrl+Shift+V",), 3),
    Command("zoom-in", "Zoom in", "view", ("+", "="), 0),
    Command("zoom-out", "Zoom out", "view", ("-",), 0),
    Command("fit", "Fit the whole plane", "view", ("0", "Ctrl+R"), 0, "fit"),
    Command("auto", "Auto contrast", "view", ("A",), 1, "contrast"),
    Command("alone", "Next channel alone", "view", ("S",), 2),
    Command("find-channel", "Find a channel…", "view", ("Ctrl+Shift+F",), 2, "search"),
    Command("part", "Next part of complex values", "view", ("D",), 2),
    Command("smooth", "Smooth pixels on or off", "view", ("I",), 2),
    Command("dots", "Mark chunks that are not stored with dots", "view", (".",), 2, below="chunks"),
    Command("missing", "Next chunk that is not stored", "view", (",",), 2, below="chunks"),
    Command("chunk-in-image", "Show the chosen chunk in the image", "view", (";",), 2, below="chunks"),
    Command("retry-tiles", "Read failed chunks again", "view", ("U",), 2, below="chunks"),
    Command("brighter", "Brighter", "view", (">",), 1),
    Command("darker", "Darker", "view", ("<",), 1),
    Command("level", "Next level", "view", ("L",), 2),
    Command("transpose", "Swap height and width", "view", ("Ctrl+T",), 3),
    Command("limits", "Type contrast limits…", "view", ("C",), 1),
    Command("go-to", "Go to an index or a position…", "view", ("G",), 3),
    Command("three-views", "Three views", "view", ("V",), 4),
    Command("grid", "Channels side by side", "view", ("Ctrl+G",), 4),
    Command("solid", "Three dimensions: maximum from any side", "view", ("Ctrl+3",), 4),
    Command("blend", "Blend with another image…", "view", ("Ctrl+B",), 4),
    Command("roll", "Next two axes", "view", ("Ctrl+E",), 3),
    Command("project", "Maximum, mean, minimum along the axis", "view", ("J",), 3),
    Command("measure-view", "Statistics of the displayed part", "view", ("H",), 4),
    Command("play", "Play", "view", ("Space",), 3, "play"),
    Command("step-forward", "Step forward", "view", ("Right",), 3, below="steps"),
    Command("step-back", "Step back", "view", ("Left",), 3, below="steps"),
    Command("leap-forward", "Ten steps forward", "view", ("Shift+Right", "PgDown"), 3, below="steps"),
    Command("leap-back", "Ten steps back", "view", ("Shift+Left", "PgUp"), 3, below="steps"),
    Command("first", "First", "view", ("Home",), 3, below="steps"),
    Command("last", "Last", "view", ("End",), 3, below="steps"),
    Command("next-axis", "Next axis", "view", ("Down",), 3, below="steps"),
    Command("previous-axis", "Previous axis", "view", ("Up",), 3, below="steps"),
    Command("next-tab", "Next tab", "view", ("Ctrl+PgDown",), 5),
    Command("previous-tab", "Previous tab", "view", ("Ctrl+PgUp",), 5),
    Command("back", "Back", "node", ("Alt+Left",), 0, "back"),
    Command("forward", "Forward", "node", ("Alt+Right",), 0, "forward"),
    Command("next-image", "Next well, field or image", "node", ("F8",), 0),
    Command("previous-image", "Previous well, field or image", "node", ("F7",), 0),
    Command("copy-path", "Copy path", "node", ("Y",), 1, "copy"),
    Command("copy-python", "Copy as Python", "node", (), 1),
    Command("reveal", "Reveal in file manager", "node", (), 1),
    Command("terminal", "Open a terminal here", "node", (), 1),
    Command("create-group", "New group…", "node", ("Ctrl+Shift+N",), 2),
    Command("create-array", "New array…", "node", (), 2),
    Command("add-labels", "New label image…", "node", (), 2),
    Command("build-levels", "Build pyramid levels…", "node", (), 2),
    Command("rename-node", "Rename…", "node", ("F2",), 3),
    Command("move-node", "Move…", "node", (), 3),
    Command("copy-node", "Copy…", "node", (), 3),
    Command("remove-node", "Delete…", "node", (), 3),
    Command("undo-node", "Undo the last change of nodes", "node", (), 3, "undo"),
    Command("restore-node", "Restore from the trash…", "node", (), 3),
    Command("empty-trash", "Empty the trash…", "node", (), 3),
    Command("convert-node", "Convert…", "node", (), 4),
    Command("consolidate", "Consolidate metadata…", "node", (), 4),
    Command("open-neuroglancer", "Open in neuroglancer", "node", (), 5, "link"),
    Command("open-vizarr", "Open in vizarr", "node", (), 5, "link"),
    Command("open-napari", "Open in napari", "node", (), 5, "link"),
    Command("open-fiji", "Open in Fiji", "node", (), 5, "link"),
    Command("check", "Check, stop or go on", "node", ("Ctrl+K",), 6, "review"),
    Command("compare", "Compare with another place, or stop", "node", (), 6, "review"),
    Command("next-place", "Next open place", "window", ("F6",), 0),
    Command("new-window", "New window", "window", ("Ctrl+N",), 0),
    Command("link", "Link the images of all windows", "window", ("Ctrl+Shift+L",), 0, "link"),
    Command("panel-tree", "Show the nodes", "window", ("\\",), 1),
    Command("panel-channels", "Show the channels", "window", (), 1),
    Command("panels-reset", "Put the panels back", "window", (), 1),
    Command("keys", "Keys", "help", ("?", "F1"), 0),
    Command("about", "About zarrscope", "help", (), 0, "info"),
    Command("theme", "Light or dark…", ""),  # only of terminals: a window follows its desktop
)

NODE_COMMANDS = {
    "create-group": "create-group",
    "create-array": "create-array",
    "add-labels": "add-labels",
    "build-levels": "build-levels",
    "rename-node": "rename",
    "move-node": "move",
    "copy-node": "copy",
    "remove-node": "remove",
    "restore-node": "restore",
    "empty-trash": "empty-trash",
    "convert-node": "convert",
    "consolidate": "consolidate",
}
"""Command that asks for parameters in a form and shows a plan before it changes the selected node → the id of its
action in NodesPresenter."""

OFFERS = ("open-anyway", "follow-links", "missing-is-fill", "credentials", "fallback", "put-back", "forget")
"""Commands that a session offers if the selected node needs them, or if unsaved edits of an earlier run exist
(SessionState.offers)."""

MORE_KEYS = (("1–9", "Show or hide a channel"), ("X · Z · T", "Choose the axis of that name"), ("Esc", "Cancel"))
"""Keys without a command of their own, for the list of keys."""

WINDOW_KEYS = (
    ("Shift+drag", "Values along a line"),
    ("Ctrl+drag", "Statistics of a region"),
    ("Shift+wheel", "Step along the current axis"),
    ("*", "Unfold everything beneath, in the tree"),
    ("Ctrl+A · Enter", "Edit all listed images at once, in the tree"),
    ("Ctrl+Down · Ctrl+Up", "Next or previous section, in the form"),
)
"""Gestures of the mouse in the window's picture, besides panning, and keys of its tree."""

TERMINAL_KEYS = (
    ("Arrows", "Move; unfold in the tree; step in the picture"),
    ("Tab", "Next pane: tree, picture, attributes …"),
    ("[ · ]", "Tab to the left or right"),
    ("v", "Value cursor on or off"),
    ("\\", "Show or hide the tree"),
    ("Ctrl+arrows", "Move the picture"),
    (": · Ctrl+P", "All commands"),
    ("n · N", "Next or previous row that / found"),
    ("Ctrl+O", "The attributes in $EDITOR"),
    ("Ctrl+X", "Stop the job that runs, or clear its result"),
    ("Ctrl+Z", "To the shell; fg comes back"),
    ("Ctrl+A", "Edit all listed images at once"),
    ("Ctrl+Down · Ctrl+Up", "Among attributes: next, previous section"),
    ("0–9 · - · .", "Among attributes: type another value"),
    ("u · w", "Among attributes: undo; other view of them"),
    ("d", "Among attributes: changes; sides of a conflict"),
    ("w", "Among values: next number format"),
    ("⏎", "The picture in pixels: kitty, iTerm2, sixel"),
)
"""Keys that replace the mouse in terminals, and keys of its form."""

IN_TERMINALS = {"quit": ("q", "Ctrl+C"), "find": ("/",), "find-channel": ("Ctrl+F",), "three-views": ("V",)}
"""Command → its keys in terminals, in place of those of a window. Most terminals send Ctrl+Shift+F as Ctrl+F. Other
letters are typed small, but `v` is the value cursor there."""


def command(id: str) -> Command:
    """The command with this `id`. Raises KeyError."""
    for found in COMMANDS:
        if found.id == id:
            return found
    raise KeyError(id)


def is_plain(keys: str) -> bool:
    """Whether `keys` would interfere with typing or with moving in a list: no Ctrl or Alt, and not a function key."""
    return "Ctrl" not in keys and "Alt" not in keys and not (keys.startswith("F") and keys[1:].isdigit())


def terminal_keys(found: Command) -> list[str]:
    """The keys of a command that every terminal can send, written as they are typed: "e", and "E" only with Shift.
    Without Ctrl+Shift, which most terminals send as Ctrl alone."""
    if found.id in IN_TERMINALS:
        return [*IN_TERMINALS[found.id]]
    own = {key for keys, _ in TERMINAL_KEYS for key in keys.split(" · ") if key.startswith("Ctrl")}
    return [as_typed(key) for key in found.keys if key not in own and not key.startswith("Ctrl+Shift+")]


def as_typed(key: str) -> str:
    """A key as a terminal gets it: a letter without modifiers is small."""
    return key.lower() if len(key) == 1 else key


def key_sheet(*others: tuple[str, str], can: Container[str] | None = None) -> list[tuple[str, str]]:
    """The list of keys as (keys, description): every command that has keys and whose id is in `can` (None: all
    commands), and `others`, further keys of the host. A terminal passes TERMINAL_KEYS as `others`; these come first,
    because they replace the mouse. Commands of OFFERS come last."""
    terminal = others == TERMINAL_KEYS
    rows = []
    for found in sorted(COMMANDS, key=lambda found: found.id in OFFERS):
        keys = terminal_keys(found) if terminal else found.keys
        if keys and (can is None or found.id in can):
            rows.append((" · ".join(keys), found.label.rstrip("…")))
    if not terminal:
        return [*rows, *MORE_KEYS, *others]
    more = [(" · ".join(map(as_typed, keys.split(" · "))), label) for keys, label in MORE_KEYS]
    return [*others, *more, *rows]


LABELS = {
    "add-address": "Add the typed address",
    "add-file": "Add a file…",
    "add-folder": "Add a folder…",
    "all-channels": "All channels",
    "another-text": "Another text …",
    "add": "Add",
    "add-to-viewer": "Add to viewer",
    "add-several": "Add {count} nodes to viewer",
    "address": "Address",
    "alone": "This channel alone, or all again",
    "alpha": "Opacity",
    "attributes": "Attributes",
    "auto": "Auto",
    "blend-close": "Remove the other image",
    "blend-none": "nothing",
    "blend-nothing": "Open another image first",
    "blend-share": "From this image to the other one",
    "blend-with": "Over it",
    "channels": "Channels",
    "channel-name": "Find a channel by its name",
    "channel-unknown": "No channel has such a name.",
    "bookmark-add": "Bookmark this view",
    "bookmark-remove": "Remove",
    "browse": "Browse…",
    "chunk-check": "Read this chunk",
    "chunk-choose": "Click a cell to see its key and size.",
    "chunk-color": "Colour of the chunks",
    "chunk-columns": "Axis across",
    "chunk-in-image": "Show in the image",
    "chunk-inner-map": "Map of the chunks in the shard",
    "chunk-map": "Map of chunks",
    "chunk-refresh": "List again",
    "chunk-rows": "Axis down",
    "chunk-whole": "Whole plane",
    "check-again": "Check again",
    "check-begin": "Check this node and all beneath",
    "check-resume": "Go on",
    "check-stop": "Stop",
    "check-to-resume": "Go on with the check",
    "check-to-stop": "Stop the check",
    "clear-recent": "Clear",
    "compare": "Compare",
    "compare-begin": "Compare with another place…",
    "compare-stop": "Stop comparing",
    "compare-values": "Values, too",
    "compare-with": "Compare with another folder, file or link",
    "close-measure": "Close, and stop measuring",
    "curves": "Values along the line",
    "close-title": "Save the changes?",
    "color": "Colour",
    "colormap": "Colour map",
    "copy": "Copy",
    "copied-image": "The displayed picture was copied.",
    "linked": "Linked: all images show one place. The same key lets them go.",
    "unlinked": "The images are no longer linked.",
    "copy-all": "Copy all",
    "details": "Details",
    "discard": "Discard",
    "dismiss": "Dismiss",
    "findings": "Findings",
    "findings-close": "Show the first finding only",
    "findings-open": "Show all findings",
    "go-to-field": "Go there",
    "document": "Show the document",
    "error": "Problem",
    "export-format": "As",
    "export-target": "To",
    "export-what": "Export",
    "filter": "Filter",
    "find-before": "Previous match (Shift+Enter)",
    "find-fields": "Find in names and values",
    "find-next": "Next match (Enter)",
    "gamma": "Gamma",
    "hide": "Hide: Window shows it again",
    "image": "Image",
    "index": "Index",
    "invert": "Invert",
    "keep-mine": "Keep mine",
    "kind": "Kind",
    "go-to": "Index or position: 31, or 15.5 µm",
    "labels": "Labels",
    "level": "Level",
    "level-auto": "auto",
    "limits": "Contrast limits: 120–3400, or 2: 120–3400 for the second channel",
    "limit-hi": "Upper limit",
    "limit-lo": "Lower limit",
    "mend": "Mend…",
    "merge": "Merge as chosen",
    "mine": "Mine",
    "items-before": "Items before these",
    "items-next": "Items after these",
    "more-colors": "Other…",
    "move-down": "Move down",
    "move-up": "Move up",
    "name": "Name",
    "new-name": "name",
    "only-label": "Only this label (its number; nothing: all)",
    "outline": "Outlines only",
    "part": "Shown of complex values",
    "overwrite": "Overwrite",
    "close-place": "Close this place",
    "open-file-title": "Open a file: .zip, .ozx, kerchunk JSON, database, metadata. For a folder: Ctrl+Shift+O",
    "open-folder-title": "Open a folder, such as cells.zarr. For a file: Ctrl+O",
    "open": "Open",
    "open-url-title": "Type or paste a folder, a file or a link",
    "places": "Recent places",
    "versions": "Branches and tags of this repository",
    "no-versions": "This place is no Icechunk repository with other branches or tags.",
    "plan": "Plan",
    "position": "Position",
    "project": "Project",
    "project-off": "one plane",
    "project-range": "Range of the projection",
    "progress": "Progress",
    "remove": "Remove",
    "rename": "Rename",
    "retry": "Retry",
    "slice": "Axis",
    "dots": "Dots on missing chunks",
    "shown-axes": "Shown",
    "shown-axes-note": "The shown axes. Channels are blended, so their axis cannot be one of them.",
    "smooth": "Smooth pixels",
    "take-theirs": "Take theirs",
    "theirs": "Theirs",
    "tree": "Nodes",
    "code-copy": "Copy",
    "copied-fiji": "No Fiji was found; ZARRSCOPE_FIJI may name its program. The address was copied: paste it in Fiji "
    "into File ▸ Import ▸ HDF5/N5/Zarr/OME-NGFF ….",
    "copied-napari": "napari is not installed here: install zarrscope[napari]. A command for a terminal was copied.",
    "not-started-fiji": "Fiji could not be started. The address was copied.",
    "not-started-napari": "napari could not be started. A command for a terminal was copied.",
    "started-fiji": "Fiji is starting with this node.",
    "started-napari": "napari is starting with this view.",
    "no-terminal": "No program for a terminal was found: set TERMINAL to one. The folder was copied.",
    "browser-opened": "Opened in the browser.",
    "browser-failed": "No browser opens here; the link was copied.",
    "code-title": "Open in code",
    "solid": "Image in three dimensions",
    "solid-gestures": "Drag to turn, wheel to come nearer, double-click for the front. Esc shows the plane.",
    "table-columns": "Axis across",
    "table-format": "Number format",
    "table-rows": "Axis down",
    "value": "Value",
    "view-copied": "The view was copied: one text to send, to paste here, or for zarrscope open.",
    "view-missing": "The clipboard contains no view. Paste the text of one here (zarrscope:…).",
    "view-to-paste": "Text of a view (zarrscope:…)",
    "value-typed": "Value: JSON (0.5, [1, 2], true, null), or plain text",
    "values": "Values",
    "values-all": "Select all values",
    "values-columns": "Indices across",
    "values-rows": "Indices down",
    "views": "Views of the node",
    "view-below": "Width and depth",
    "view-beside": "Depth and height",
    "visible": "Visible",
}
"""Short texts of buttons, headings and tooltips, by name."""

ABOUT = (
    "Opens anything that ever called itself Zarr, from anywhere, shows it at once, and edits its metadata safely."
    "\n\nBSD-3-Clause.\n\n{report}"
)

TAB_KEYS = ("[ previous  ] next", "[ back  ] next", "] next")
"""The keys of a terminal that change the tab, the longest first; the bare keys looked like a checkbox."""

FOOTERS = {
    "tree": "←→↑↓ unfold  ⏎ show  / find  : commands  Tab pane  [ ] tab  ? keys  q quit",
    "image": "←→ step  ↑↓ axis  1-9 ^F show  a auto  v value  +- zoom  [ ] tab  ? keys",
    "attributes": "⏎ edit  w view  n add  N name  c kind  x remove  u undo  d diff  ^S save  ?",
    "overview": "←→↑↓ move  ⏎ open  F8 next  : commands  Tab pane  [ ] tab  ? keys  q quit",
    "values": "↑↓ rows  ←→ columns  w number format  Tab pane  [ ] tab  ? keys  q quit",
    "chunks": "↑↓ scroll  , next not stored  ; in the image  [ ] tab  ? keys  q quit",
    "info": "↑↓ scroll  Tab pane  [ ] tab  ? keys  q quit",
    "problems": "^K check, stop, go on  ↑↓ move  ⏎ go there  Tab pane  [ ] tab  ? keys",
    "input": "Enter accept  Esc cancel",
    "conflict": "d both sides, merge  m all mine  t all theirs  ⏎ edit  u undo  ? keys",
    "diff": "↑↓ scroll  s save  x discard  Esc back",
    "closing-opens": "↑↓ scroll  s open for writing  x discard  Esc back",
    "closing-unfit": "↑↓ scroll  x discard  Esc back",
    "kinds": "1–6 choose  Esc back",
    "choices": "1–9 a–z choose  0 type  Esc back",
}
"""The last line of the terminal application, which lists keys: name of the active pane → text."""


def python_text(url: str, path: str, follow_links: bool = False, missing_is_fill: bool = False) -> str:
    """The text of "Copy as Python": a line that opens the node."""
    how = ", follow_links=True" if follow_links else ""
    how += ", storage_options={'missing_is_fill': True}" if missing_is_fill else ""
    return visible(
        f"zarrscope.open({url!r}{how})[{path!r}]"
    )  # characters that repr keeps, but that control a terminal, become Python escapes


def making_demo(done: int, total: int) -> str:
    """The sentence while the demo volume is being made: "Making the demo volume: 12 %"."""
    return f"Making the demo volume: {done * 100 // max(total, 1)} %"
