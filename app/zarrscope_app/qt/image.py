"""The Image tab: the canvas or the line, a slider for each axis that is not shown, and a sentence if there is no
picture."""

from __future__ import annotations

from zarrscope_app.presenters import Post, SlicePresenter, strings
from zarrscope_app.qt.toolkit.core import QEvent, QObject, Qt, QTimer, Signal
from zarrscope_app.qt.toolkit.gui import QGuiApplication, QResizeEvent
from zarrscope_app.qt.toolkit.widgets import (
    QFrame,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from .axes import AxisSliders
from .blend_bar import BlendBar
from .canvas import ImageCanvas
from .channel_grid import ChannelGridView
from .cross_views import CrossViews
from .line_plot import LinePlotWidget
from .measure_panel import MeasurePanel
from .plane_bar import PlaneBar
from .solid_canvas import SolidCanvas
from .text import Label

_TICK_MS = 60


class ImagePane(QWidget):
    """The Image tab: picture or line, with sliders. `attach` takes a slice presenter, or None."""

    zoomed = Signal()
    hovered = Signal()
    turned = Signal()
    """Another page is in front: the picture, the line, the volume, or a sentence."""

    def __init__(self, post: Post, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: SlicePresenter | None = None
        self.canvas = ImageCanvas(post)
        self.canvas.zoomed.connect(self.zoomed)
        self.canvas.setAccessibleName("Image")
        self.line = LinePlotWidget(post)
        self.canvas.hovered.connect(self.hovered)
        self.line.hovered.connect(self.hovered)
        self.sentence = Label()
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.sentence.setWordWrap(True)
        self.sentence.setMargin(24)
        self._stack = QStackedWidget()
        self.cross = CrossViews(self.canvas, post)
        self.grid = ChannelGridView(self.cross, self.canvas, post)
        self.solid = SolidCanvas()
        self.solid.changed.connect(self._solid_changed)
        for page in (self.grid, self.line, self.sentence, self.solid):
            self._stack.addWidget(page)
        self._veil = _Veil(self.canvas)
        self._veil.load.clicked.connect(self._load_anyway)
        self.sliders = AxisSliders()
        self.planes = PlaneBar()
        self.measured = MeasurePanel()
        self.blending = BlendBar()
        self.blending.changed.connect(self._blended)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self._stack, 1)
        column.addWidget(self.measured)
        column.addWidget(self.sliders)
        column.addWidget(self.planes)
        column.addWidget(self.blending)
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._tick)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows another session's picture."""
        if self._presenter is not None:
            self._presenter.changed.disconnect(self._changed)
            self._presenter.painted.disconnect(self._painted)
        self._presenter = presenter
        self.grid.attach(presenter)
        self.cross.attach(presenter)
        self.solid.attach(presenter)
        self.line.attach(presenter)
        self.sliders.attach(presenter)
        self.planes.attach(presenter)
        self.measured.attach(presenter)
        self.blending.attach(presenter)
        if presenter is not None:
            presenter.changed.connect(self._changed)
            presenter.painted.connect(self._painted)
            self._changed()

    @property
    def can_take_focus(self) -> bool:
        """Whether something is displayed that has keys, not a sentence. Qt takes the focus of a hidden widget away when
        the window becomes active, and gives it to the first field instead."""
        return self._stack.currentWidget() is not self.sentence

    def take_focus(self) -> None:
        """Gives the focus to the picture, the line or the volume."""
        self._front().setFocus()

    def _front(self) -> ImageCanvas | LinePlotWidget | SolidCanvas:
        """The widget that is zoomed: the picture, the line or the volume."""
        page = self._stack.currentWidget()
        return self.line if page is self.line else self.solid if page is self.solid else self.canvas

    def fit(self) -> None:
        """Shows the whole plane, line or volume."""
        self._front().fit()

    def zoom_by(self, factor: float) -> None:
        """Zooms around the middle."""
        self._front().zoom_by(factor)

    def copy(self) -> None:
        """Copies the displayed picture to the clipboard."""
        clipboard = QGuiApplication.clipboard()
        page = self._stack.currentWidget()
        if clipboard is not None and page is not None and page is not self.sentence:
            clipboard.setImage(page.grab().toImage())

    def toggle_smooth(self) -> None:
        """Interpolates enlarged pixels, or shows them as rectangles again."""
        if self._presenter is not None:
            self._presenter.set_smooth(not self._presenter.state.smooth)

    def toggle_cross(self) -> None:
        """Shows the two other planes beside the picture, or the picture alone."""
        self.grid.close_views()
        self.cross.toggle()

    def toggle_grid(self) -> None:
        """Shows the channels side by side, or the picture alone."""
        self.cross.close_views()
        self.grid.toggle()

    def toggle_solid(self) -> None:
        """Shows the picture in three dimensions, or the plane again."""
        self.solid.toggle()

    def _blended(self) -> None:
        self.canvas.over = self.blending.blend
        self.canvas.update()

    def _solid_changed(self) -> None:
        if self._presenter is not None:
            self._changed()
        self.take_focus()
        self.zoomed.emit()

    def zoom_text(self) -> str:
        """The magnification for the status bar, "" without a picture."""
        shown = self._presenter is not None and self._presenter.state.kind == "image" and not self.solid.is_open
        return strings.percent(self.canvas.zoom) if shown else ""

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        page = {"image": self.grid, "line": self.line}.get(state.kind, self.sentence)
        if page is self.grid and self.solid.is_open:
            page = self.solid
        turned = page is not self._stack.currentWidget()
        if page is self.sentence:
            self.show_sentence(state.sentence)
        self._stack.setCurrentWidget(page)
        self.sliders.setVisible(page is not self.sentence)
        playing = any(axis.playing for axis in state.axes)
        if playing != self._timer.isActive():
            self._timer.start() if playing else self._timer.stop()
        self._painted()
        if turned:
            self.turned.emit()

    def show_sentence(self, sentence: str) -> None:
        """Shows a sentence instead of a picture."""
        self.sentence.setText(sentence)
        self._stack.setCurrentWidget(self.sentence)

    def _painted(self) -> None:
        assert self._presenter is not None
        frame = self._presenter.frame
        self._veil.say(frame.blocked or ("" if frame.tiles or frame.loading else frame.sentence), bool(frame.blocked))

    def _load_anyway(self) -> None:
        if self._presenter is not None:
            self._presenter.load_anyway()

    def _tick(self) -> None:
        if self._presenter is not None:
            self._presenter.tick()


class _Veil(QFrame):
    """A sentence in the middle of the picture, with a button if loading was held back."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self.setAutoFillBackground(True)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._text = Label()
        self._text.setWordWrap(True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.load = QPushButton(strings.LOAD_ANYWAY)
        column = QVBoxLayout(self)
        column.addWidget(self._text)
        column.addWidget(self.load, 0, Qt.AlignmentFlag.AlignHCenter)
        over.installEventFilter(self)
        self.hide()

    def say(self, sentence: str, loadable: bool) -> None:
        """Shows `sentence`; hides if it is empty."""
        self.setVisible(bool(sentence))
        if sentence:
            self._text.setText(sentence)
            self.load.setVisible(loadable)
            self._place()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if isinstance(event, QResizeEvent):
            self._place()
        return False

    def _place(self) -> None:
        width = min(420, self._over.width() - 16)
        self.setFixedWidth(max(width, 80))
        self.adjustSize()
        self.move((self._over.width() - self.width()) // 2, (self._over.height() - self.height()) // 2)
