"""What the terminal application says of the terminal that it is drawn on."""

from __future__ import annotations

NO_UNICODE = "This terminal has no Unicode (see locale): pictures and lines are drawn in ASCII."
PASSTHROUGH = "Pictures go through tmux: they need its option allow-passthrough on."


def colors_note(colors: str) -> str:
    """Says quietly that a picture has fewer colours than it has; "" in true colour."""
    return {
        "256": "256 colours (--color truecolor, where it can)",
        "16": "16 colours (--color 256, where it can)",
        "mono": "no colours",
    }.get(colors, "")
