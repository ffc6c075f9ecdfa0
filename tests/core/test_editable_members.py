"""Members of numpy's arrays that change them, or share their memory, change an editable view, too, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.errors import Refused
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.editable import EditableView
from zarrscope.view.lazy import LazyView

Act = Callable[[Any], Any]


def stored(shape: tuple[int, ...] = (3, 4, 5), dtype: str = "u2") -> tuple[Any, np.ndarray[Any, Any]]:
    """An array with few different values, and these values."""
    values = (np.arange(np.prod(shape)).reshape(shape) * 7 % 11).astype(dtype)
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=shape, dtype=dtype, chunks=(1, 2, 2))
    array[...] = values
    return array, values


def _set(part: Any, index: Any = ..., value: Any = 9) -> None:
    part[index] = value


def _set_rows(a: Any) -> None:
    for plane in a:
        for row in plane:
            row[...] = 0


def _flat(a: Any, value: Any) -> None:
    a.flat = value


def _add_to(part: Any) -> None:
    part += 3


LIKE_NUMPY: dict[str, Act] = {
    "sort": lambda a: a.sort(),
    "sort along": lambda a: a.sort(0, kind="stable"),
    "sort a part": lambda a: a[1, :, 2].sort(),
    "partition": lambda a: a.partition(2, axis=1),
    "put": lambda a: a.put([0, 7, -1], [1, 2]),
    "byteswap": lambda a: a.byteswap(inplace=True),
    "fill": lambda a: a[0].fill(4),
    "flat, one": lambda a: _set(a.flat, 7),
    "flat, from the end": lambda a: _set(a.flat, -2),
    "flat, slice": lambda a: _set(a.flat, slice(3, 40, 5), [1, 2, 3]),
    "flat, list": lambda a: _set(a.flat, [0, 3, 3, 59], [4, 5, 6, 7]),
    "flat, mask": lambda a: _set(a.flat, np.arange(60) % 7 == 0, 3),
    "flat, a mask of its own": lambda a: _set(a.flat, a.flat == 8, 3),
    "flat, a mask of its order": lambda a: _set(a.flat, (a.flat < 4) | (a.flat >= a.flat[7]), 3),
    "flat, all": lambda a: _set(a.flat, ..., [1, 2]),
    "flat, assigned": lambda a: _flat(a, 5),
    "flat, of a part": lambda a: _set(a[1:, ::2].T.flat, 3, 8),
    "T": lambda a: _set(a.T, (slice(None), 1), 6),
    "transpose": lambda a: _set(a.transpose(1, 2, 0), 2, 6),
    "np.transpose": lambda a: _set(np.transpose(a, (2, 0, 1)), 2, 6),
    "swapaxes": lambda a: _set(a.swapaxes(0, -1), 2, 6),
    "np.swapaxes": lambda a: _set(np.swapaxes(a, 1, 2), (0, 2), 6),
    "np.moveaxis": lambda a: _set(np.moveaxis(a, 0, -1), (1, 2), 6),
    "np.moveaxis, several": lambda a: _set(np.moveaxis(a, (0, 1), (2, 0)), (1, 2), 6),
    "squeeze": lambda a: _set(a[:1].squeeze(), (1, 2), 6),
    "np.squeeze": lambda a: _set(np.squeeze(a[:1, 1:2], axis=1), (0, 2), 6),
    "np.flip": lambda a: _set(np.flip(a, 1), (1, 0), 6),
    "np.flip, all": lambda a: _set(np.flip(a), (0, 0), 6),
    "np.expand_dims": lambda a: _set(np.expand_dims(a, 1), (1, 0, 2), 6),
    "rows": _set_rows,
    "part +=": lambda a: _add_to(a[1]),
    # These are copies in numpy, too.
    "a list, then set": lambda a: _set(a[[0, 2]]),
    "a mask of one axis, then set": lambda a: _set(a[np.array([True, False, True])]),
    "a mask, then set": lambda a: _set(a[a > 3]),
    "astype, then set": lambda a: _set(a.astype("f4"), value=0.5),
    "astype of the same type, then set": lambda a: _set(a.astype(a.dtype)),
    "flatten, then set": lambda a: _set(a.flatten()),
    "copy, then set": lambda a: _set(a.copy()),
    "copy.deepcopy, then sorted": lambda a: np.sort(a, axis=None).fill(3),
    "arithmetic, then set": lambda a: _set(a + 1),
}
"""Changes that scripts make in the data of a layer, as they do in numpy arrays."""


@pytest.mark.parametrize("name", LIKE_NUMPY)
def test_an_editable_view_changes_as_a_numpy_array_does(name: str) -> None:
    array, values = stored()
    view = EditableView(array)
    view[2, 3, 4] = values[2, 3, 4] = 8  # painted before
    act = LIKE_NUMPY[name]
    act(view)
    act(values)
    np.testing.assert_array_equal(np.asarray(view), values)


REFUSED: dict[str, Act] = {
    "ravel": lambda a: _set(a.ravel()),
    "ravel, a part": lambda a: _set(a.ravel()[3:9], 2),
    "ravel, +=": lambda a: _add_to(a.ravel()),
    "ravel, out": lambda a: (lambda flat: np.add(flat, 1, out=flat))(a.ravel()),
    "ravel, fill": lambda a: a.ravel().fill(3),
    "ravel, sort": lambda a: a.ravel().sort(),
    "ravel, put": lambda a: np.put(a.ravel(), [1], [3]),
    "ravel, copyto": lambda a: np.copyto(a.ravel(), 3),
    "ravel, at": lambda a: np.add.at(a.ravel(), [1], 3),
    "ravel, flat": lambda a: _set(a.ravel().flat),
    "ravel, reshaped": lambda a: _set(a.ravel().reshape(3, 20).T, 0),
    "np.ravel": lambda a: _set(np.ravel(a), 3),
    "reshape to one axis": lambda a: _set(a.reshape(-1)),
    "reshape": lambda a: _set(a.reshape(12, 5)),
    "reshape, a row": lambda a: _set(a.reshape(12, 5)[3]),
    "reshape, +=": lambda a: _set(a.reshape(12, 5), slice(2), 3),
    "reshape, fill": lambda a: a.reshape(12, 5).sort(),
    "reshape, transposed": lambda a: _set(a.reshape(12, 5).T, 3),
    "np.reshape": lambda a: _set(np.reshape(a, (12, 5))),
    "view": lambda a: _set(a.view("i2")),
    "real": lambda a: _set(a.real),
    "np.rot90": lambda a: _set(np.rot90(a)),
    "np.split": lambda a: _set(np.split(a, 3)[1]),
    "np.atleast_3d": lambda a: _set(np.atleast_3d(a[0]), 0),
    "diagonal": lambda a: _set(a.diagonal(), 0),
    "data": lambda a: _set(a.data, (0, 0, 0), 3),
    "resize": lambda a: a.resize((5, 12), refcheck=False),
}
"""Writes that numpy makes through an array that shares memory. A lazy array has no such memory."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_write_that_would_be_lost_is_refused(name: str) -> None:
    array, values = stored()
    view = EditableView(array)
    with pytest.raises((Refused, TypeError, ValueError), match=r"copy|read-only|resize"):
        REFUSED[name](view)
    np.testing.assert_array_equal(np.asarray(view), values)
    assert not view.edits


def test_the_refusal_says_how_to_write() -> None:
    array, _ = stored()
    for part in (EditableView(array).reshape(12, 5), EditableView(array).ravel()):
        with pytest.raises(Refused) as raised:
            part[3] = 1
        assert "is a copy" in str(raised.value)
        assert ".flat" in str(raised.value)


@pytest.mark.parametrize(
    "act",
    [
        lambda a: a.ravel() * 2,
        lambda a: a.ravel()[::-1],
        lambda a: np.bincount(a.ravel()),
        lambda a: np.unique(a.ravel()),
        lambda a: _changed(a.ravel().copy()),
        lambda a: _changed(a.ravel() + 1),
        lambda a: _changed(a.ravel()[[1, 2]]),
        lambda a: _changed(a.ravel().astype("f4")),
        lambda a: _changed(np.array(a.ravel())),
        lambda a: _changed(a.reshape(12, 5) + 1),
        lambda a: _changed(np.array(a.reshape(12, 5))),
        lambda a: a.ravel().max(),
        lambda a: np.where(a.ravel() > 3, a.ravel(), 0),
        lambda a: np.concatenate([a.ravel(), a.ravel()]),
    ],
)
def test_a_copy_is_read_and_computed_with_as_usual(act: Act) -> None:
    array, values = stored()
    expected = act(values.copy())
    np.testing.assert_array_equal(np.asarray(act(EditableView(array))), expected)


def _changed(copy: Any) -> Any:
    copy[0] = 5
    return copy


def test_a_copy_keeps_the_values_of_its_time() -> None:
    array, values = stored()
    view = EditableView(array)
    copies = [view + 0, view.astype("u4"), view[[0, 1, 2]], view.copy()]
    view[...] = 10
    for copy in copies:
        np.testing.assert_array_equal(np.asarray(copy), values)
    assert int(view.max()) == 10
    further = view[[0, 1]]
    further[0] = 3
    assert int(view.min()) == 10
    assert np.asarray(further)[:, 0, 0].tolist() == [3, 10]


def test_flags_are_numpys() -> None:
    array, values = stored()
    view = EditableView(array)
    for a in (view, values):
        before = a[0]
        assert a.flags.writeable
        a.setflags(write=False)
        assert not a.flags.writeable
        for act in (lambda a: _set(a, 0), lambda a: _set(a[1], 0), lambda a: _set(a.T, 0), lambda a: a.sort()):
            with pytest.raises(ValueError, match="read-only"):
                act(a)
        before[0] = 7  # was taken before
        a.flags.writeable = True
        a[1] = 6
    np.testing.assert_array_equal(np.asarray(view), values)
    lazy = LazyView(array)
    assert not lazy.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        lazy.setflags(write=True)


@pytest.mark.parametrize("act", ["sort", "partition", "put", "flat", "flat, assigned", "fill"])
def test_a_view_that_is_not_editable_says_so(act: str) -> None:
    array, values = stored()
    acts: dict[str, Act] = {
        "sort": lambda a: a.sort(),
        "partition": lambda a: a.partition(1),
        "put": lambda a: a.put([1], [2]),
        "flat": lambda a: _set(a.flat, 3),
        "flat, assigned": lambda a: _flat(a, 3),
        "fill": lambda a: a.fill(3),
    }
    with pytest.raises((TypeError, ValueError), match="read-only"):
        acts[act](LazyView(array))
    np.testing.assert_array_equal(np.asarray(array), values)


@pytest.mark.parametrize("name", ["sort", "flat, slice", "flat, mask", "put", "flat, assigned"])
def test_a_result_changes_as_a_numpy_array_does(name: str) -> None:
    array, values = stored()
    found, expected = LazyView(array) + 1, values + 1
    LIKE_NUMPY[name](found)
    LIKE_NUMPY[name](expected)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_part_of_a_result_is_set_with_it() -> None:
    array, values = stored()
    found, expected = LazyView(array) + 1, values + 1
    for a in (found, expected):
        part = a[1]
        part[2:] = 3
        part[0, 1] = 4
        a[0][1][2] = 50
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_labels_of_true_and_false_are_set_as_the_bytes_that_napari_shows() -> None:
    array, values = stored(dtype="?")
    for a in (EditableView(array), LazyView(array)):
        seen = a.view(np.uint8)
        assert isinstance(seen, type(a))
        assert seen.dtype == np.uint8
        np.testing.assert_array_equal(np.asarray(seen), values.view(np.uint8))
    view = EditableView(array)
    view.view(np.uint8)[1] = 1
    assert bool(view[1].all())
    with pytest.raises(Refused, match="bool"):
        view.view(np.uint8)[1] = 3
