"""Measures contrast from the displayed plane at the coarsest level, so that the result does not depend on the displayed
part. The plane is read in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner, Priority
from zarrscope.view.loader import VISIBLE, ChunkLoader, ChunkResult
from zarrscope.view.render import Plane
from zarrscope_app.presenters.image.painting import LayerKey, Measure, assemble, known_values, measure
from zarrscope_app.presenters.image.planning import RequestedView, channel_source
from zarrscope_app.presenters.image.tile_geometry import AxisIndices, TilePart, cost, overview_level, sheet, tiling

MAX_CHUNKS, MAX_BYTES = 256, 128 << 20
"""The most chunks and bytes of the coarsest level that are read. If the plane has more, the displayed tiles are
measured instead."""


@frozen
class SampledChannel:
    """A channel by its number, and the part of complex values that is measured."""

    channel: int
    part: str = "magnitude"


def measure_coarsest(
    owner: Owner,
    loader: ChunkLoader,
    view: RequestedView,
    wanted: Sequence[SampledChannel],
    done: Callable[[dict[LayerKey, Measure]], None],
    priority: Priority = VISIBLE,
) -> bool:
    """Measures channels of the displayed plane at its coarsest level, and calls `done`. Returns False, and reads
    nothing, if the plane exceeds MAX_CHUNKS or MAX_BYTES."""
    image, y, x = view.image, view.y, view.x
    level = overview_level(image, y, x)
    whole = tiling(sheet(image, level, y, x), view.whole, (1 << 20, 1 << 20))
    places = whole.places(view.whole)
    sources = tuple(channel_source(view, each.channel) for each in wanted)
    chunks, nbytes, _ = cost(whole, places, sources)
    if not places or chunks > MAX_CHUNKS or nbytes > MAX_BYTES:
        return False
    parts: dict[LayerKey, list[TilePart]] = {s.key: [s.part(whole, place) for place in places] for s in sources}
    results: dict[AxisIndices, ChunkResult] = {}
    array = image.levels[level].array
    indices = dict.fromkeys(index for found in parts.values() for part in found for index in part.chunks())

    def came(result: ChunkResult) -> None:
        results[result.index] = result

    def read() -> None:
        def work() -> dict[LayerKey, Measure]:
            planes = {("channel", each.channel): _values(parts["channel", each.channel], results) for each in wanted}
            return {
                ("channel", each.channel): measure(planes["channel", each.channel], part=each.part)
                for each in wanted
                if planes["channel", each.channel]
            }

        def measured(outcome: JobResult[dict[LayerKey, Measure]]) -> None:
            done(outcome.value or {})

        owner.decode(work, measured)

    loader.request(owner, array, indices, came, read, priority)
    return True


def _values(parts: Sequence[TilePart], results: Mapping[AxisIndices, ChunkResult]) -> list[Plane]:
    """The values of each part; those that could not be read are left out."""
    assembled = (assemble(part, results) for part in parts)
    return [known for each in assembled if (known := known_values(each.plane, each.marks)).size]
