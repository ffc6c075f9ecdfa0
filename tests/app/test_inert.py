"""Control characters of a file never reach the terminal, from whichever widget or stream they are written."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

EVIL = "A\x1b]52;c;ZXZpbA==\x07B\x9b31mC\u202eD\u200bE\ud800F"
SHOWN = "A␛]52;c;ZXZpbA==␇B\\x9b31mC\\u202eD\\u200bE\\ud800F"


def test_a_widget_that_nobody_cleaned_writes_nothing_that_steers(tmp_path: Path) -> None:
    pytest.importorskip("textual")
    from rich.style import Style
    from rich.text import Text
    from textual.widget import Widget
    from textual.widgets import Input, Static

    import zarrscope
    from zarrscope_app.tui.app import Explorer

    zarrscope.open(tmp_path / "a.zarr", "w-")

    async def run() -> tuple[str, list[str | None]]:
        app = Explorer(str(tmp_path / "a.zarr"))
        async with app.run_test(size=(200, 40)) as pilot:
            linked = Text(EVIL, style=Style(link="javascript:alert(1)"))
            for widget in (Static(linked, markup=False), Static(EVIL, markup=False), Input(EVIL, placeholder=EVIL)):
                await app.screen.mount(widget)
            await pilot.pause()
            await pilot.pause()
            widgets = [found for found in app.screen.walk_children() if isinstance(found, Widget)]
            lines = [line for found in widgets for line in found.render_lines(found.size.region)]
            segments = [segment for line in lines for segment in line]
            return "\n".join(line.text for line in lines), [s.style.link for s in segments if s.style]

    text, links = asyncio.run(run())
    assert text.count("A␛]52;c;ZXZpbA==") >= 2  # cropped to the width that Textual gave it
    assert not set(text) & set("\x1b\x07\x9b\u202e\u200b\ud800")
    assert not any(links)


def test_the_streams_of_the_command_line_are_inert() -> None:
    program = f"""
import sys, logging, warnings
from zarrscope_app.cli.streams import make_inert, steer
make_inert()
evil = {EVIL!r}
print(evil)
print(evil, file=sys.stderr)
warnings.warn(evil)
logging.getLogger("x").warning(evil)
steer("\\r\\x1b[K")
sys.stdout.flush()
sys.stdout.buffer.write(b"\\x89PNG\\x1b")
raise ValueError(evil)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout == SHOWN.encode() + b"\n" + b"\x89PNG\x1b"
    told = done.stderr.decode()
    assert told.count(SHOWN) >= 4
    assert told.count("\x1b") == 1
    assert not set(told) & set("\x07\x9b\u202e\u200b")
