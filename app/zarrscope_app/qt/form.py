"""The Attributes tab: the fields of a document as a tree with an editor per kind, and the result of saving.

The model of all fields: form_model.py; sections: section_form.py; text: json_form.py.
"""

from __future__ import annotations

from functools import partial

from zarrscope_app.presenters import EditPresenter, EditStatus, Field
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.form.pages import PAGE
from zarrscope_app.presenters.form.view_models import EditState, FieldKind, Side, Way, Whose
from zarrscope_app.qt.toolkit.core import QModelIndex, QPoint, QSignalBlocker, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QResizeEvent, QShowEvent
from zarrscope_app.qt.toolkit.widgets import (
    QAbstractItemView,
    QApplication,
    QMenu,
    QSplitter,
    QStackedWidget,
    QStyledItemDelegate,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from . import kept_lock
from .conflict import ConflictView
from .find_bar import FindBar
from .findings import FindingsView
from .form_columns import FormColumns
from .form_model import CONTAINERS, NAME, VALUE, FormDelegate, FormModel
from .form_sentence import FormSentence
from .form_view_buttons import FormViewButtons
from .json_form import JsonForm
from .review import DiffView
from .section_form import SectionFormWidget
from .text import tip
from .text_button import TextButton
from .theme import icon
from .value_pane import ValuePane
from .wrapping import WrappingRow


class AttributesPane(QWidget):
    """The Attributes tab. `attach` takes an edit presenter, or None. `asked(command)` is emitted when a button asks for
    a command of the window: save, undo, review …"""

    asked = Signal(str)
    typed = Signal()
    """Emitted when typing begins in an editor: the text can be saved before it is applied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: EditPresenter | None = None
        self._wanted: str | None = None
        """The field to show as soon as its row exists; rows of a large document are added in steps."""
        self._edited: int | None = None
        """The column of that field to open for typing, if it was just added."""
        self._stale = False
        """Whether the form has changed while it was hidden."""
        self._found = ""
        """The field of a section that the search has found."""
        self.model = FormModel(self)
        self.view = kept_lock.TreeView()
        self.view.setModel(self.model)
        self.view.setItemDelegate(FormDelegate(self.view))
        self.view.setUniformRowHeights(True)
        self.view.setAlternatingRowColors(True)
        self.view.setAccessibleName(LABELS["attributes"])
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._menu)
        self.view.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
            | QAbstractItemView.EditTrigger.SelectedClicked
        )
        self.view.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view.expanded.connect(lambda index: self._fold(index, False))
        self.view.collapsed.connect(lambda index: self._fold(index, True))
        selection = self.view.selectionModel()
        assert selection is not None
        selection.currentChanged.connect(lambda *_: self._current_changed())
        self._columns = FormColumns(self.view)
        self._sentence = FormSentence()
        self._sentence.asked.connect(lambda: self._show_way("document"))
        self._buttons: dict[str, TextButton | QToolButton] = {}
        self._ways = FormViewButtons()
        self._ways.asked.connect(self._show_way)
        self.diff = DiffView()
        self.diff.closed.connect(partial(self.show_diff, False))
        self.diff.closed.connect(self.focus_form)
        self.diff.asked.connect(self.asked)
        self.conflict = ConflictView()
        self.conflict.resolved.connect(self._resolve)
        self.conflict.chosen.connect(self._choose)
        self.sections = SectionFormWidget()
        self.json = JsonForm()
        self._stack = QStackedWidget()
        self._stack.addWidget(self.view)
        self.sections.asked.connect(self.asked)
        for page in (self.sections, self.json):
            page.typed.connect(self._typing)
            self._stack.addWidget(page)
        self.find_bar = FindBar()
        self.find_bar.closed.connect(self._leave_find)
        self.value = ValuePane()
        self.value.edited.connect(self._edit_value)
        self.value.typed.connect(self._typing)
        self.findings = FindingsView()
        self.findings.located.connect(self.locate)
        self.findings.mended.connect(self._mend)
        split = QSplitter(Qt.Orientation.Vertical)
        for part in (self._stack, self.value, self.diff):
            split.addWidget(part)
        split.setSizes([300, 120, 200])
        split.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(self._bar())
        column.addWidget(self._sentence)
        column.addWidget(self.conflict)
        column.addWidget(self.find_bar)
        column.addWidget(split, 1)
        column.addWidget(self.findings)
        self.diff.hide()
        self.conflict.hide()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._columns.fit(self.width())

    def attach(self, presenter: EditPresenter | None) -> None:
        """Shows another document."""
        if self._presenter is not None:
            self._presenter.changed.disconnect(self._changed)
            self._presenter.search.changed.disconnect(self._show_found)
        self._presenter = self.model.presenter = presenter
        self.find_bar.attach(presenter.search if presenter is not None else None)
        self.sections.attach(presenter)
        self.json.attach(presenter)
        if presenter is None:
            self._stale = False
            self.model.show_fields(())
        else:
            presenter.changed.connect(self._changed)
            presenter.search.changed.connect(self._show_found)
            self._changed()

    def show_diff(self, shown: bool = True) -> None:
        """Opens or closes the list of changes beneath the form."""
        opens = shown and self.diff.isHidden()
        self.diff.setVisible(shown)
        if shown and self._presenter is not None:
            self.diff.show_diff(self._presenter.diff().unified)
        if opens:
            self.diff.enter()

    def commit(self) -> None:
        """Applies the text of an open editor, because closing or saving should include it."""
        self.sections.commit()
        self.json.commit()
        self.value.commit()
        editor = self.view.indexWidget(self.view.currentIndex())
        if editor is not None:
            self.view.commitData(editor)
            self.view.closeEditor(editor, QStyledItemDelegate.EndEditHint.NoHint)

    def focus_form(self) -> None:
        """Puts the keyboard focus on the first field."""
        self._catch_up()
        if self._stack.currentWidget() is self.sections:
            self.sections.focus_form()
            return
        if self._stack.currentWidget() is self.json:
            self.json.setFocus()
            return
        self.view.setFocus()
        if not self.view.currentIndex().isValid() and self.model.rowCount():
            self.view.setCurrentIndex(self.model.index(0, VALUE))

    # ---------------------------------------------------------------- parts
    def _bar(self) -> WrappingRow:
        row = WrappingRow()
        row.setContentsMargins(8, 4, 8, 0)
        row.setSpacing(4)
        for way in self._ways.buttons.values():
            row.addWidget(way)
        for name, text, act in (
            ("add", LABELS["add"], self.add),
            ("remove", LABELS["remove"], self.remove),
            ("undo", command("undo").label, partial(self.asked.emit, "undo")),
            ("redo", command("redo").label, partial(self.asked.emit, "redo")),
            ("review", command("review").label, partial(self.asked.emit, "review")),
            ("writable", command("writable").label, partial(self.asked.emit, "writable")),
            ("save", command("save").label, partial(self.asked.emit, "save")),
        ):
            long = name in ("review", "save", "add", "writable")
            button = TextButton() if long else QToolButton()
            button.setIcon(icon(command(name).icon if name not in ("add", "remove") else name))
            button.setText(text if long else "")
            button.setToolTip(tip(text))
            button.setAccessibleName(text)
            button.clicked.connect(lambda _=False, act=act: act())
            self._buttons[name] = button
            row.addWidget(button)
        row.at_right = self._buttons["review"]
        return row

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._catch_up()

    def _catch_up(self) -> None:
        """Paints the state of a form that has changed while it was hidden."""
        if self._stale:
            self._paint()

    def _changed(self) -> None:
        self._stale = True  # a hidden form is painted when it is shown: most nodes are seen without it
        if self.isVisible():
            self._paint()

    def _paint(self) -> None:
        """Paints the state, and lays the form out once: Qt would do so again for each button that is shown."""
        layout = self.layout()
        assert layout is not None
        assert self._presenter is not None
        self._stale = False
        state = self._presenter.state
        text = self.json if state.way in ("json", "document") else None
        page = self.sections if state.way == "image" else text
        layout.setEnabled(False)
        try:
            self._paint_around(page, state)
        finally:
            layout.setEnabled(True)
            layout.activate()
        if page is not None:
            page.show_state(state)  # it has its size now: new editors are laid out once
            self._buttons["save"].setEnabled(self.can_save)

    def _paint_around(self, page: SectionFormWidget | JsonForm | None, state: EditState) -> None:
        """Paints the buttons, messages and lists, and the tree of all fields if no page is displayed in its place."""
        self._stack.setCurrentWidget(page or self.view)
        beside = 0 if page is self.sections else 8  # sections have margins of their own
        self._stack.setContentsMargins(beside, 0, beside, 0)
        if page is None:
            self._show_tree(state)
        self._stack.setVisible(bool(state.ways))  # an empty table would look like attributes without members
        self._ways.show_state(state)
        self.findings.show_state(state)
        self._sentence.show_state(state)
        editable = state.status not in (EditStatus.READ_ONLY, EditStatus.EMPTY)
        for name, enabled in (
            ("add", editable),
            ("undo", state.can_undo),
            ("redo", state.can_redo),
            ("review", state.changes > 0 or state.waits),
            ("save", self.can_save),
        ):
            self._buttons[name].setEnabled(enabled)
            self._buttons[name].setVisible(editable or (name in ("review", "save") and state.waits))
        for name in ("add", "remove"):
            self._buttons[name].setVisible(editable and page is None)
        self._current_changed()
        self._buttons["writable"].setVisible(state.status is EditStatus.READ_ONLY)
        if not self.diff.isHidden():
            self.show_diff()
        self.conflict.show_state(state)

    def _show_tree(self, state: EditState) -> None:
        current = self.model.field(self.view.currentIndex())
        column = self.view.currentIndex().column()
        top = self.view.verticalScrollBar()
        scrolled = top.value() if top is not None else 0
        if self.model.show_fields(state.fields, read_only=state.status is EditStatus.READ_ONLY):
            blocker = QSignalBlocker(self.view)
            for place, field in enumerate(state.fields):
                if field.kind in CONTAINERS and not field.folded:
                    self.view.setExpanded(self.model.at(place), True)
            blocker.unblock()
            place_now = self.model.place_of(current.pointer) if current is not None else None
            if place_now is not None:
                self.view.setCurrentIndex(self.model.at(place_now, max(column, 0)))
            if top is not None:
                top.setValue(scrolled)
        if self._wanted is not None:
            self._show_field(self._wanted, self._edited)

    @property
    def can_save(self) -> bool:
        """Whether there is something to save, even if only in an open editor, or texts that wait for writing."""
        state = self._presenter.brief if self._presenter is not None else EditState()
        typed_in = any(page.pending for page in (self.sections, self.json, self.value))
        open_for_writing = state.status in (EditStatus.CLEAN, EditStatus.DIRTY, EditStatus.INVALID)
        return state.can_save or state.waits or (typed_in and open_for_writing)

    def _typing(self) -> None:
        if self._presenter is not None and self.value.pending:
            self._presenter.being_typed.note(*self.value.typed_text)
        self._buttons["save"].setEnabled(self.can_save)
        self.typed.emit()

    def locate(self, pointer: str) -> None:
        """Puts the keyboard focus on the field of a finding."""
        if self._presenter is None:
            return
        self.commit()
        id = self._presenter.locate(pointer)
        self._paint()
        if self._stack.currentWidget() is self.view:
            self._show_field(id)
            self.view.setFocus()
        elif self._stack.currentWidget() is self.json:
            self.json.setFocus()
        else:
            self.sections.jump(id)

    def _mend(self, pointer: str) -> None:
        if self._presenter is not None:
            self.commit()
            self._presenter.mend(pointer)

    def _show_way(self, way: Way) -> None:
        if self._presenter is not None:
            self.commit()
            self._presenter.show_way(way)

    def _current_changed(self) -> None:
        field = self.model.field(self.view.currentIndex())
        self._buttons["remove"].setEnabled(field is not None and field.can_remove)
        status = self._presenter.state.status if self._presenter is not None else EditStatus.EMPTY
        seen = field if self._stack.currentWidget() is self.view else None
        self.value.show_field(seen, status is not EditStatus.EMPTY)

    def _edit_value(self, pointer: str, text: str) -> None:
        if self._presenter is not None:
            self._presenter.edit(pointer, text)
            self._presenter.being_typed.end()

    @property
    def has_keyboard(self) -> bool:
        """Whether a widget of the form has the keyboard focus."""
        focus = QApplication.focusWidget()
        return focus is not None and (focus is self or self.isAncestorOf(focus))

    def find_text(self) -> None:
        """Opens the search field for the displayed view."""
        self.commit()
        self.find_bar.open_bar()

    def _leave_find(self) -> None:
        """Puts the keyboard focus on the field that was found, or else on the first one."""
        found, self._found = self._found, ""
        if self._stack.currentWidget() is not self.sections or not self.sections.jump(found):
            self.focus_form()

    def _show_found(self) -> None:
        assert self._presenter is not None
        self.find_bar.paint_found()
        found = self._presenter.search.found
        self.sections.mark(found.field)
        if found.text:
            self._found = found.field
        if found.span is not None:
            self.json.text.select_span(*found.span)
        if found.pointer is not None:
            self._paint()
            self._show_field(found.pointer)

    def _show_field(self, pointer: str, edited: int | None = None) -> None:
        """Puts the cursor on a field; if its row does not exist yet, as soon as it does. `edited`: a column to open for
        typing."""
        place = self.model.place_of(pointer)
        self._wanted, self._edited = (pointer, edited) if place is None else (None, None)
        if place is not None:
            index = self.model.at(place, VALUE if edited is None else edited)
            self.view.setCurrentIndex(index)
            self.view.scrollTo(index)
            if edited is not None:
                self.view.edit(index)

    def _fold(self, index: QModelIndex, folded: bool) -> None:
        field = self.model.field(index)
        if field is not None and self._presenter is not None and field.folded != folded:
            self._presenter.fold(field.pointer, folded)

    def _resolve(self, whose: Whose) -> None:
        if self._presenter is not None:
            self._presenter.resolve(whose)

    def _choose(self, pointer: str, side: Side, path: str) -> None:
        if self._presenter is not None:
            self._presenter.choose(pointer, side, path)

    # ---------------------------------------------------------------- edits
    def add(self) -> None:
        """Adds a member to the list or object under the cursor, or beside the field under it."""
        if self._presenter is None:
            return
        index = self.view.currentIndex()
        field = self.model.field(index)
        if field is not None and field.kind not in CONTAINERS:
            field = self.model.field(index.parent())
        pointer = field.pointer if field is not None else ""
        if field is not None and field.folded:
            self._presenter.fold(pointer, False)
        added = self._presenter.add(pointer, LABELS["new-name"])
        if added:
            self._show_field(added, NAME if field is None or field.kind == "object" else VALUE)

    def remove(self) -> None:
        """Removes the field under the cursor; undo restores it."""
        field = self.model.field(self.view.currentIndex())
        if field is not None and self._presenter is not None:
            self._presenter.remove(field.pointer)

    def rename(self) -> None:
        """Edits the name of the field under the cursor."""
        self.view.edit(self.view.currentIndex().siblingAtColumn(NAME))

    def _move(self, by: int) -> None:
        field = self.model.field(self.view.currentIndex())
        if field is not None and self._presenter is not None:
            self._presenter.move(field.pointer, by)

    def _retype(self, pointer: str, kind: FieldKind) -> None:
        if self._presenter is not None:
            self._presenter.retype(pointer, kind)

    def _turn(self, by: int) -> None:
        field = self.model.field(self.view.currentIndex())
        if field is not None and self._presenter is not None:
            self._presenter.turn_page(field.pointer, by)

    def _menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        editable = self._buttons["add"].isVisibleTo(self)
        field = self.model.field(self.view.currentIndex())
        movable = field is not None and field.can_move
        for text, name, can, act in (
            (LABELS["add"], "add", True, self.add),
            (LABELS["rename"], "edit", field is not None and field.can_rename, self.rename),
            (LABELS["remove"], "remove", field is not None and field.can_remove, self.remove),
            (LABELS["move-up"], "", movable, partial(self._move, -1)),
            (LABELS["move-down"], "", movable, partial(self._move, 1)),
            (LABELS["items-before"], "page", field is not None, partial(self._turn, -1)),
            (LABELS["items-next"], "page", field is not None, partial(self._turn, 1)),
        ):
            if name == "page" and (field is None or field.members <= PAGE):
                continue
            action = menu.addAction(text)
            assert action is not None
            if name and name != "page":
                action.setIcon(icon(name))
            action.setEnabled((editable or name == "page") and can)
            action.triggered.connect(lambda _=False, act=act: act())
        if editable and field is not None and len(field.kinds) > 1:
            self._add_kinds(menu, field)
        viewport = self.view.viewport()
        assert viewport is not None
        menu.popup(viewport.mapToGlobal(at))

    def _add_kinds(self, menu: QMenu, field: Field) -> None:
        """Adds the kinds into which a field can be converted, because a narrow form has no column of kinds."""
        kinds = menu.addMenu(LABELS["kind"])
        assert kinds is not None
        for kind in field.kinds:
            action = kinds.addAction(kind)
            assert action is not None
            action.setCheckable(True)
            action.setChecked(kind == field.kind)
            action.triggered.connect(lambda _=False, kind=kind: self._retype(field.pointer, kind))
