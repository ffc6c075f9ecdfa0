"""Draws the chunks and shards of an array as SVG, and the tree of known nodes, for HTML summaries. Nothing is read.

The drawing is the background of a box: pages that allow few tags, such as those of GitHub or of nbconvert with
sanitize_html, leave it out, while they would print the elements of a drawing, or the texts in it, as text.

The last three axes are drawn as a box, with thin lines between chunks and thick lines between shards. The lengths of
the axes before them are written below. If there are very many chunks, only some of the lines are drawn.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from zarrscope.errors.visible import visible

MOST_LINES = 24
"""The most lines that are drawn along one axis."""
SIDE, LEAST = 150.0, 18.0
"""Pixels along the longest and the shortest side."""
SLANT = 0.45
"""The slant of the depth axis: its horizontal and vertical extent, as a fraction of its length."""
MOST_NODES = 24
_COLOR = "#3a86c8"
_INK = "#777"
"""The colour of outlines and texts, readable on white and on black: a background does not know the page's colours."""


def of_chunks(
    shape: Sequence[int],
    chunks: Sequence[int],
    shards: Sequence[int] | None,
    names: Sequence[str | None] | None,
) -> str:
    """A box of a few kB with the drawing as its background; "" for an array without axes or without elements."""
    if not shape or 0 in shape or len(chunks) != len(shape):
        return ""
    first = max(0, len(shape) - 3)
    lengths = _lengths(shape[first:])
    axes = [
        (n, c, s, length)
        for n, c, s, length in zip(
            shape[first:], chunks[first:], (shards or [0] * len(shape))[first:], lengths, strict=True
        )
    ]
    called = [_named(names[axis] if names else None, shape[axis]) for axis in range(first, len(shape))]
    if len(axes) == 1:  # an array of one axis is drawn as a strip
        axes.insert(0, (1, 1, 0, LEAST))
        called.insert(0, "")
    depth = axes[0] if len(axes) == 3 else None
    height, width = axes[-2], axes[-1]
    back = depth[3] * SLANT if depth is not None else 0.0
    left, top = 4.0, 4.0 + back
    right, bottom = left + width[3], top + height[3]

    thin: list[str] = []
    thick: list[str] = []
    for axis, lines in ((height, "h"), (width, "v")):
        for at, is_shard in _cuts(axis):
            target = thick if is_shard else thin
            if lines == "h":
                target.append(f"M{left:g} {top + at:g}H{right:g}" + (f"l{back:g} {-back:g}" if back else ""))
            else:
                target.append(f"M{left + at:g} {bottom:g}V{top:g}" + (f"l{back:g} {-back:g}" if back else ""))
    outline = [f"M{left:g} {top:g}H{right:g}V{bottom:g}H{left:g}Z"]
    if depth is not None:
        for at, is_shard in _cuts(depth):
            step = at * SLANT
            line = f"M{left + step:g} {top - step:g}H{right + step:g}V{bottom - step:g}"
            (thick if is_shard else thin).append(line)
        outline.append(f"M{left:g} {top:g}l{back:g} {-back:g}H{right + back:g}V{bottom - back:g}L{right:g} {bottom:g}")
        outline.append(f"M{right:g} {top:g}l{back:g} {-back:g}")
    texts = [_text(left + width[3] / 2, bottom + 13, called[-1], "middle")]
    texts.append(_text(right + back + 5, bottom - back - height[3] / 2 + 4, called[-2], "start") if called[-2] else "")
    if depth is not None:
        texts.append(_text(left + back / 2 - 4, top - back / 2, called[0], "end"))
    shift = max(0.0, 6.2 * len(called[0]) - left - back / 2 + 4) if depth is not None else 0.0
    most = max(len(called[-2]) * 6.2, 0.0)
    view = f"{-shift:.0f} 0 {right + back + most + shift + 12:.0f} {bottom + 18:.0f}"
    wide, tall = view.split()[2:]
    before = " × ".join(f"{n:,}" for n in shape[:first])
    note = f'<div style="font-size:11px;opacity:.65">{before} × this</div>' if before else ""
    label = f"{'shards and ' if shards else ''}chunks of the array"
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{wide}" height="{tall}" '
        f'font-family="sans-serif">'
        f'<path d="{outline[0]}" fill="{_COLOR}" fill-opacity=".16"/>'
        f'<path d="{"".join(thin)}" fill="none" stroke="{_COLOR}" stroke-width=".6"/>'
        f'<path d="{"".join(thick)}" fill="none" stroke="{_COLOR}" stroke-width="1.8"/>'
        f'<path d="{"".join(outline)}" fill="none" stroke="{_INK}" stroke-width="1.2"/>'
        f"{' '.join(filter(None, texts))}</svg>"
    )
    packed = b64encode(drawing.encode("utf-8", "replace")).decode()
    box = (
        f"width:{wide}px;height:{tall}px;print-color-adjust:exact;"
        f"background:url(data:image/svg+xml;base64,{packed}) no-repeat"
    )
    return f'<div style="flex:none"><div role="img" aria-label="{label}" style="{box}"></div>{note}</div>'


def _lengths(shape: Sequence[int]) -> list[float]:
    """Side lengths in pixels: long axes are drawn shorter than in proportion, because short ones would be invisible."""
    longest = max(shape)
    return [max(LEAST, SIDE * (n / longest) ** 0.5) for n in shape]


def _cuts(axis: tuple[int, int, int, float]) -> list[tuple[float, bool]]:
    """(position in pixels, whether a shard ends there) for each line drawn across an axis. If there are more edges than
    MOST_LINES, some are left out."""
    extent, chunk, shard, length = axis
    step = max(1, chunk)
    many = -(-extent // step) - 1
    every = -(-many // MOST_LINES) if many > MOST_LINES else 1
    if shard and every > 1:  # not all lines can be drawn: edges of shards precede edges of chunks
        step, every = shard, max(1, -(-(-(-extent // shard) - 1) // MOST_LINES))
    places = range(step * every, extent, step * every)
    return [(place / extent * length, bool(shard) and place % shard == 0) for place in places]


def _named(name: str | None, extent: int) -> str:
    return f"{visible(name[:12])} {extent:,}" if name else f"{extent:,}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="11" fill="{_INK}">{escape(text)}</text>'


def tree_lines(root: str, keys: Iterable[str], documents: Sequence[str]) -> list[str]:
    """One indented line for each node beneath `root` whose documents are among `keys`; only the first MOST_NODES."""
    inside = root.strip("/") + "/" if root.strip("/") else ""
    found = {
        folder
        for folder, _, name in (key.rpartition("/") for key in keys)
        if name in documents and folder.startswith(inside) and folder != inside.rstrip("/")
    }
    ordered = sorted(folder[len(inside) :].split("/") for folder in found)
    lines = [f"{'  ' * (len(parts) - 1)}{parts[-1]}" for parts in islice(ordered, MOST_NODES)]
    return [*lines, *([f"… and {len(ordered) - MOST_NODES:,} more"] if len(ordered) > MOST_NODES else [])]
