"""The notebook's widget in a page of Chromium without Jupyter: its messages go to an Explorer in this process and back.

Counts the gestures (a click, a key with its modifiers, or a text typed in one go), the bytes that are sent to the page,
without those of the widget's first state, and the bytes that the page sends.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import machine
from jupyter_hand import FLAGS
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.jupyter import Explorer
from zarrscope_app.presenters import MemorySettings

SECONDS = 30.0
PAGE = """<!doctype html><meta charset=utf-8><style>%(css)s</style><body><div id=el style="width:%(width)dpx"></div>
<script type=module>
const held = %(held)s, heard = {};
window.sent = [];
const model = { get: (name) => held[name], set() {}, save_changes() {}, off() {}, send(message) { sent.push(message); },
  on(name, act) { (heard[name] ||= []).push(act); } };
const bytes = (text) => new DataView(Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)).buffer);
window.apply = (changes, messages) => {
  Object.assign(held, changes);
  for (const name of Object.keys(changes)) for (const act of heard["change:" + name] || []) act();
  for (const [content, buffers] of messages)
    for (const act of heard["msg:custom"] || []) act(content, buffers.map(bytes));
};
const made = await import(URL.createObjectURL(new Blob([%(esm)s], { type: "text/javascript" })));
let el = document.getElementById("el");
if (%(shadow)s) {
  const tree = el.attachShadow({ mode: "open" }), style = document.createElement("style");
  style.textContent = document.querySelector("style").textContent;
  el = document.createElement("div");
  tree.append(style, el);
}
await made.default.render({ model, el });
window.ready = true;
</script>"""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser that is closed in any case."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=machine.chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class WidgetPage:
    """A widget that shows a place, in a page of this size, and a hand on its mouse and keyboard. `shadow`: in a shadow
    tree, as marimo shows it; `page.locator` looks into it, `until` and `click` do not."""

    def __init__(self, browser: Any, url: str, width: int, height: int, *, shadow: bool = False) -> None:
        self.post = Mailbox()
        self.widget = Explorer(url, editable=True, height=height, settings=MemorySettings(), post=self.post)
        self.session = self.widget.session
        self.gestures: list[str] = []
        self.bytes = self.bytes_back = 0
        self.errors: list[str] = []
        self._messages: list[tuple[dict[str, Any], list[bytes]]] = []
        self.widget.send = self._keep
        self.page = browser.new_page(viewport={"width": width + 16, "height": height + 16})
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self._last = self._state()
        told = json.dumps({**self._last, "height": height}).replace("<", "\\u003c")
        esm = json.dumps(Explorer._esm).replace("<", "\\u003c")
        self.page.set_content(
            PAGE % {"css": Explorer._css, "width": width, "held": told, "esm": esm, "shadow": json.dumps(shadow)}
        )
        self.page.wait_for_function("() => window.ready")
        self.wait(lambda: self.session.node is not None and not self.session.slice.frame.loading, "the node")

    def close(self) -> None:
        self.widget.close()
        self.page.close()
        assert not self.errors

    def _keep(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        self._messages.append((content, list(buffers)))

    def _state(self) -> dict[str, Any]:
        state = self.widget.get_state()
        return {
            name: json.loads(json.dumps(state[name], default=str)) for name in state if name not in ("_esm", "_css")
        }

    def pump(self) -> None:
        """Carries the messages in both directions."""
        for message in self.page.evaluate("() => sent.splice(0)"):
            self.bytes_back += len(json.dumps(message))
            self.widget._receive(self.widget, message, [])
        self.post.run()
        now = self._state()
        changes = {name: part for name, part in now.items() if part != self._last[name]}
        messages, self._messages, self._last = self._messages, [], now
        if not changes and not messages:
            return
        told = [(content, [base64.b64encode(data).decode() for data in buffers]) for content, buffers in messages]
        self.bytes += len(json.dumps(changes)) if changes else 0
        self.bytes += sum(len(json.dumps(content)) + sum(map(len, buffers)) for content, buffers in messages)
        self.page.evaluate("([changes, messages]) => apply(changes, messages)", [changes, told])

    def wait(self, happened: Callable[[], object], name: str) -> None:
        end = time.monotonic() + SECONDS
        while True:
            self.pump()
            if happened():
                self.pump()
                return
            assert time.monotonic() < end, f"This did not happen: {name}"
            self.page.wait_for_timeout(10)

    def until(self, script: str) -> None:
        """Waits until an expression holds in the page."""
        self.wait(lambda: self.page.evaluate(script), script)

    def begin(self) -> None:
        """Forgets the gestures and bytes until now."""
        self.gestures, self.bytes, self.bytes_back = [], 0, 0

    def click(self, selector: str, *modifiers: str, double: bool = False) -> None:
        # Playwright waits until a button is enabled, too, but no message that enables it would be carried meanwhile.
        self.until(f"(document.querySelector({json.dumps(selector)}) ?? {{ disabled: true }}).disabled !== true")
        self.gestures.append(" ".join([*modifiers, selector]))
        where = self.page.locator(selector).first
        (where.dblclick if double else where.click)(modifiers=list(modifiers), timeout=SECONDS * 1000)
        self.pump()

    def press(self, keys: str) -> None:
        self.gestures.append(keys)
        self.page.keyboard.press(keys)
        self.pump()

    def type(self, text: str) -> None:
        self.gestures.append(text)
        self.page.keyboard.type(text)
        self.pump()
