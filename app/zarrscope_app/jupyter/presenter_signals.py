"""Connects a widget to the session in front: the signals of its presenters mark the parts and pictures that change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psygnal import SignalInstance

from zarrscope_app.jupyter.host import VIEWS, Host
from zarrscope_app.jupyter.parts import FOLLOWS, PANEL


class PresenterSignals:
    """Listens for one widget, to one session at a time. Signals are connected to bound methods of this object, which
    only the widget holds: a signal that held the widget would keep it alive for ever."""

    def __init__(self, widget: Host) -> None:
        self._widget = widget
        self._heard: list[tuple[SignalInstance, Callable[..., object]]] = []
        self._tabs: set[str] = set()
        """The views whose signals are connected."""

    def attach(self) -> None:
        """Listens to the session that is in front now, and to no other."""
        self.detach()
        widget, session = self._widget, self._widget.session
        self._hear(session.changed, self._session)
        self._hear(session.jobs.changed, self._jobs)
        self._hear(widget.node_tree.changed, self._tree)
        self._hear(session.slice.changed, self._slice)
        self._hear(session.metadata.changed, self._metadata)
        self._hear(widget.three.changed, self._three)
        self._hear(session.export.changed, self._export)
        self._hear(session.slice.painted, self._main)
        self._hear(widget.three.below.painted, self._below)
        self._hear(widget.three.beside.painted, self._beside)
        self._hear(session.slice.probed, widget.tell_probe)
        self._tabs = {"image", "info"}
        self._hear_tabs()

    def detach(self) -> None:
        """Stops listening to the session."""
        for signal, slot in self._heard:
            signal.disconnect(slot, missing_ok=True)
        self._heard.clear()

    def _hear(self, signal: SignalInstance, slot: Callable[..., object]) -> None:
        signal.connect(slot, check_nargs=False)
        self._heard.append((signal, slot))

    def _hear_tabs(self) -> None:
        """Connects the views that plugins have added since the last call."""
        presenters: dict[str, Any] = self._widget.session.tabs.presenters
        for id in presenters.keys() - self._tabs:
            self._tabs.add(id)
            self._hear(presenters[id].changed, self._panel)

    def _session(self, _: object = None) -> None:
        self._hear_tabs()
        self._widget.tell(*FOLLOWS["session"])

    def _jobs(self, _: object = None) -> None:
        self._widget.tell(*FOLLOWS["jobs"])

    def _tree(self, _: object = None) -> None:
        self._widget.tell(*FOLLOWS["tree"])

    def _slice(self, _: object = None) -> None:
        self._widget.tell(*FOLLOWS["slice"])
        self._widget.draw("main")
        self._widget.tell_probe()

    def _metadata(self, _: object = None) -> None:
        self._widget.tell(*FOLLOWS["metadata"])

    def _three(self, _: object = None) -> None:
        self._widget.tell(*FOLLOWS["three"])
        for view in VIEWS:
            self._widget.draw(view)

    def _export(self, _: object = None) -> None:
        self._widget.tell("export")

    def _panel(self, _: object = None) -> None:
        self._widget.tell(*PANEL)

    def _main(self, _: object = None) -> None:
        if self._widget.session.slice.line is not None:
            self._widget.tell("image")  # a line has no tiles: it is a part of the state
        self._widget.draw("main")

    def _below(self, _: object = None) -> None:
        self._widget.draw("below")

    def _beside(self, _: object = None) -> None:
        self._widget.draw("beside")
