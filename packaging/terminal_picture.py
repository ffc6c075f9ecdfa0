"""Takes a screenshot of the terminal application.

    python packaging/terminal_picture.py FILE.png PLACE [--size 120x38] [--keys right,enter] [--light]

Draws the application without a terminal, waits until nothing is loading, presses the keys by Textual's names, and
converts the picture with Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PATIENCE = 60.0
"""Seconds after which a place that is still loading is drawn unfinished."""
CELL = (12.2, 24.4)
"""Width and height of a cell in the pictures of Textual."""
FRAME = (18, 50)
"""The width and the height of the frame around the cells."""


async def svg(place: str, size: tuple[int, int], keys: list[str], light: bool = False) -> str:
    """The picture as SVG."""
    from zarrscope_app.presenters import SessionStatus
    from zarrscope_app.tui.app import Explorer
    from zarrscope_app.tui.terminal import Terminal

    app = Explorer(place, read_only=True, terminal=Terminal("truecolor", "blocks", light=light))

    def busy() -> bool:
        state, picture = app.session.state, app.session.slice
        drawing = bool(picture.frame.tiles) and not picture._is_whole()
        return state.status is not SessionStatus.READY or state.selecting or bool(picture.frame.loading) or drawing

    async with app.run_test(size=size) as pilot:
        for key in ["", *keys]:
            if key:
                await pilot.press(key)
            quiet = 0
            async with asyncio.timeout(PATIENCE):
                while quiet < 20:
                    await pilot.pause(0.02)
                    quiet = 0 if busy() else quiet + 1
        return app.export_screenshot(title=f"zarrscope tui {Path(place).name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("place")
    parser.add_argument("--size", default="120x38", help="columns and lines")
    parser.add_argument("--keys", default="")
    parser.add_argument("--light", action="store_true", help="on a light terminal")
    asked = parser.parse_args()
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("Chromium is missing; on Debian: apt-get install chromium", file=sys.stderr)
        return 1
    columns, _, lines = asked.size.partition("x")
    size = int(columns), int(lines)
    text = asyncio.run(svg(asked.place, size, list(filter(None, asked.keys.split(","))), asked.light))
    # The picture names a font of the web; the one of this machine has its signs, too, and needs no network.
    text = text.replace("Fira Code", "DejaVu Sans Mono").replace("@font-face", "@unused")
    wide, high = (round(cell * count + frame) for cell, count, frame in zip(CELL, size, FRAME, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "terminal.html"
        page.write_text(
            f"<meta charset='utf-8'><style>body {{margin: 0; background: #fff}} svg {{width: {wide}px}}</style>{text}",
            "utf-8",
        )
        options = ("--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={wide},{high}")
        shot = f"--screenshot={asked.file.absolute()}"
        subprocess.run([browser, *options, shot, page.as_uri()], check=True, capture_output=True)
    print(asked.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
