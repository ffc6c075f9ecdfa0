"""A 1-D array as a line plot: the lowest and the highest value in each column of pixels, drawn as chunks arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from zarrscope.runtime.threads import Owner, Ticket
from zarrscope.view.loader import ChunkLoader, ChunkResult, ChunkState
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image.planning import exceeds
from zarrscope_app.presenters.image.tile_geometry import ReadingCost, requests
from zarrscope_app.presenters.image.view_models import LinePlot

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array

COLUMNS = 2000


def _numbers(data: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Values as floats: times as the number of their units, NaT as NaN, which leaves a gap."""
    if data.dtype.kind not in "mM":
        return data.astype(np.float64)
    numbers = data.astype("i8").astype(np.float64)
    numbers[np.isnat(data)] = np.nan
    return numbers


class LinePlotReader:
    """Reads a 1-D array chunk by chunk into `line`; if it is too large or holds no numbers, `sentence` says so."""

    def __init__(self, owner: Owner, loader: ChunkLoader, painted: Callable[[], None]) -> None:
        self._owner, self._loader, self._painted = owner, loader, painted
        self._ticket: Ticket | None = None
        self.line: LinePlot | None = None
        self.sentence = ""

    def clear(self) -> None:
        """Ends reading, and shows neither a line nor a sentence."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self.line, self.sentence = None, ""

    def show(self, array: Array) -> None:
        """Begins to read an array; `painted` is called when chunks have arrived."""
        self.clear()
        length = array.shape[0]
        if array.dtype.kind not in "buifmM" or array.dtype.names:
            self.sentence = strings.NO_IMAGE
            return
        chunks = array.chunk_grid_shape[0]
        asked = requests(array, {0: (0, length)}, chunks) if length else 0
        if exceeds(ReadingCost(chunks, array.nbytes, asked)):
            self.sentence = strings.too_much(chunks, array.nbytes)
            return
        step = max(1, -(-length // COLUMNS))
        columns = -(-length // step)
        low = np.full(columns, np.nan)
        high = np.full(columns, np.nan)
        failed: list[str] = []

        def came(result: ChunkResult) -> None:
            start, stop = array.edges(0).span(result.index[0])
            stop = min(length, stop)
            if result.state is ChunkState.FAILED:
                failed.append(strings.failed_chunk(result.error) if result.error else "")
                return
            data = result.data if result.data is not None else np.full(stop - start, array.fill_value, array.dtype)
            first = start // step
            cuts = np.maximum(np.arange(first, (stop - 1) // step + 1) * step - start, 0)
            numbers = _numbers(data)
            into = slice(first, first + len(cuts))
            low[into] = np.fmin(low[into], np.fmin.reduceat(numbers, cuts))
            high[into] = np.fmax(high[into], np.fmax.reduceat(numbers, cuts))
            tell(True)

        def tell(loading: bool) -> None:
            self.sentence = failed[0] if failed else ""
            self.line = LinePlot(0, step, low.copy(), high.copy(), loading, self.sentence, length)
            self._painted()

        tell(bool(length))
        if length:
            indices = [(i,) for i in range(chunks)]
            self._ticket = self._loader.request(self._owner, array, indices, came, lambda: tell(False))
