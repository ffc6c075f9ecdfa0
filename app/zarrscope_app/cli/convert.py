"""`convert`: writes a hierarchy, or a part of it, in another dialect. The verb makes a plan, shows it, carries it out,
and compares the result with the source."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from zarrscope_app.cli.console import MISSING_IS_FILL, Failed, acting, clustered, opened, place, say, show, show_json
from zarrscope_app.cli.streams import rewrite, steer

if TYPE_CHECKING:
    from zarrscope.convert import ConversionPlan, ConversionProgress, NodePlan, Rebuild, Result
    from zarrscope.convert.downsampling import Method

UPGRADED = "v3"
"""The only dialect into which --in-place can convert a hierarchy."""
HOW = {
    "copied": "copied unchanged",
    "encoded": "encoded anew",
    "built": "built from {level.above} by {level.method}",
}


class DialectName(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A dialect that can be written, by its id: one of zarrscope's own, or one of another installed package."""

    name = "dialect"

    @staticmethod
    def names() -> tuple[str, ...]:
        """The ids of all dialects that can be written; those of other packages are looked up when this is called."""
        from zarrscope.dialects import written_dialects

        return written_dialects()

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return f"[{'|'.join(self.names())}]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.names():
            self.fail(f"{value!r} is not one of {', '.join(map(repr, self.names()))}.", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]


def axis_lengths(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Parses lengths per axis: "64,256,256"."""
    if value is None:
        return None
    try:
        lengths = tuple(int(part) for part in value.replace("x", ",").split(","))
    except ValueError:
        lengths = ()
    if not lengths or min(lengths) < 1:
        raise click.BadParameter(f"{value!r} is not a list of lengths such as 64,256,256", context, parameter)
    return lengths


def codec_list(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> list[Any] | None:
    """Parses --codec: names ("gzip"), names with a level ("zstd:3") and JSON objects; "none" means no compression."""
    import json

    if not values:
        return None
    if "none" in values:
        if len(values) > 1:
            raise click.BadParameter("none cannot be combined with a codec", context, parameter)
        return []
    codecs: list[Any] = []
    for value in values:
        name, colon, level = value.partition(":")
        if value.startswith("{"):
            try:
                codec = json.loads(value)
            except ValueError as error:
                raise click.BadParameter(f"{value!r} is not JSON: {error}", context, parameter) from None
            if not isinstance(codec.get("name"), str) or not isinstance(codec.get("configuration", {}), dict):
                raise click.BadParameter(f'{value!r} is not {{"name": …, "configuration": …}}', context, parameter)
            codecs.append(codec)
        elif colon and level.lstrip("-").isdecimal():
            member = "clevel" if name == "blosc" else "level"
            codecs.append({"name": name, "configuration": {member: int(level)}})
        elif colon:
            raise click.BadParameter(f"{level!r} is not a level of compression", context, parameter)
        else:
            codecs.append(name)
    return codecs


def _factors(context: click.Context, parameter: click.Parameter, value: str) -> int | dict[str, int]:
    """Parses --factor: "2", or "z=1,y=2,x=2"."""
    try:
        if "=" not in value:
            return int(value)
        pairs = [part.partition("=") for part in value.split(",")]
        return {name.strip(): int(number) for name, _, number in pairs}
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor like z=1,y=2,x=2", context, parameter) from None


def _axes(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Parses --axes: "tczyx", or "time,y,x"."""
    if value is None:
        return None
    return tuple(name.strip() for name in value.split(",")) if "," in value else tuple(value)


SHARDS = click.option(
    "--shards", callback=axis_lengths, metavar="N,N…", help="Shard lengths: multiples of the chunk lengths."
)


@click.command("convert")
@click.argument("source")
@click.argument("destination", required=False)
@click.option("--to", "dialect", type=DialectName(), help="The dialect to write.")
@click.option("--node", help="Convert only this node and everything beneath it; it becomes the new root.")
@click.option(
    "--chunks", callback=axis_lengths, metavar="N,N…", help="Chunk lengths, for arrays with this number of axes."
)
@SHARDS
@click.option(
    "--codec",
    "codecs",
    callback=codec_list,
    multiple=True,
    metavar="CODEC",
    help="The codec: zstd:3, gzip:5, blosc, none, or JSON; may be repeated.",
)
@click.option("--pyramid", is_flag=True, help="Build new levels of images; a plain array becomes an image.")
@click.option(
    "--levels",
    type=int,
    metavar="N",
    help="The number of levels, with the finest; by default until y and x are at most 256 pixels.",
)
@click.option(
    "--factor", default="2", callback=_factors, metavar="N|z=1,…", help="The factor between two levels; by default 2."
)
@click.option(
    "--method",
    type=click.Choice(["mean", "nearest", "mode"]),
    help="The way elements are combined; by default mean, for labels and masks nearest.",
)
@click.option("--axes", callback=_axes, metavar="AXES", help="The axes of a plain array, such as tczyx.")
@click.option("--in-place", is_flag=True, help="Change SOURCE itself: new levels (--pyramid), or v2 to v3 (--to v3).")
@click.option("--remove-v2", is_flag=True, help="With --in-place --to v3: erase v2's documents at the end.")
@MISSING_IS_FILL
@clustered
@click.option("--dry-run", is_flag=True, help="Show the plan, write nothing.")
@click.option("--allow-losses", is_flag=True, help="Convert even if the destination cannot hold everything.")
@click.option("--verify/--no-verify", default=True, help="Compare all elements at the end (the default).")
@click.option("--json", "as_json", is_flag=True, help="Print the plan and the result as JSON.")
@acting
def convert(
    source: str,
    destination: str | None,
    dialect: str | None,
    node: str | None,
    chunks: tuple[int, ...] | None,
    shards: tuple[int, ...] | None,
    codecs: list[Any] | None,
    pyramid: bool,
    levels: int | None,
    factor: int | dict[str, int],
    method: Method,
    axes: tuple[str, ...] | None,
    in_place: bool,
    remove_v2: bool,
    missing_is_fill: bool,
    scheduler: str | Path | None,
    dry_run: bool,
    allow_losses: bool,
    verify: bool,
    as_json: bool,
) -> None:
    """Writes SOURCE to the new place DESTINATION, in another dialect, or with new levels of its images.

    Chunks are copied unchanged if their bytes mean the same in both dialects; they are encoded again otherwise, or if
    --chunks, --shards or --codec ask for it. OME-Zarr 0.4 becomes 0.5 from v2 to v3, and the reverse. If something
    would be lost, because the destination cannot express it, that is listed first, and nothing is written without
    --allow-losses. Running the same command again continues a conversion that was stopped.

    With --pyramid every image gets new levels, each made from the one above: spatial axes become shorter, others stay.
    With --in-place the levels are built in SOURCE: readers see the former levels until the new ones are complete. With
    --in-place --to v3 a v2 hierarchy gets v3 documents beside its own, and its chunks stay where they are.

    \b
    Examples:
      zarrscope convert old.zarr new.zarr --to v3 --dry-run
      zarrscope convert old.zarr new.zarr --to v3
      zarrscope convert old.zarr new.zarr --to v3 --chunks 1,128,128 --shards 1,1024,1024 --codec zstd:5
      zarrscope convert big.zarr part.n5 --to n5 --node labels/nuclei --codec gzip:5
      zarrscope convert stack.zarr image.zarr --to v3 --pyramid --axes zyx --factor z=1
      zarrscope convert image.zarr --pyramid --in-place --scheduler tcp://127.0.0.1:8786
      zarrscope convert old.zarr --to v3 --in-place
    """
    from zarrscope import convert as engine
    from zarrscope.errors import ZarrscopeError

    given = {"--levels": levels, "--method": method, "--axes": axes, "--factor": None if factor == 2 else factor}
    try:
        wanted = engine.Pyramid(levels, factor, method, axes) if pyramid else None
    except ZarrscopeError as error:
        raise click.UsageError(str(error)) from None
    if not pyramid and (lone := next((name for name, value in given.items() if value is not None), None)):
        raise click.UsageError(f"{lone} needs --pyramid.")
    if remove_v2 and (not in_place or pyramid):
        raise click.UsageError("--remove-v2 needs --in-place --to v3.")
    if in_place:
        _need_in_place(pyramid, dialect, {"DESTINATION": destination, "--chunks": chunks, "--shards": shards,
                                          "--codec": codecs, "--axes": axes})  # fmt: skip
    elif destination is None:
        raise click.UsageError("Missing DESTINATION: a new place; or --pyramid --in-place.")
    elif dialect is None and not pyramid:
        raise click.UsageError(f"Missing --to: the dialect to write, one of {', '.join(DialectName.names())}.")
    hierarchy, _ = opened(source, node, write=in_place, missing_is_fill=missing_is_fill)
    path = place(hierarchy, node)
    if in_place and not pyramid:
        if path != "/":
            raise click.UsageError("--in-place --to v3 is for a whole hierarchy, without --node.")
        plan = engine.plan_upgrade(hierarchy)
        if _goes_on(plan, dry_run, allow_losses, as_json):
            _tell_result(
                {"plan": plan.to_json()}, as_json,
                lambda bar: engine.upgrade(plan, allow_losses=allow_losses, remove=remove_v2, verify=verify,
                                           progress=bar, scheduler=scheduler),
            )  # fmt: skip
        return
    if in_place and wanted is not None:
        _tell_rebuild(engine.plan_rebuild(hierarchy, wanted, path), dry_run, verify, as_json, scheduler)
        return
    assert destination is not None
    target = dialect or (hierarchy.dialect.name if hierarchy.dialect.ome_zarr else "v3")
    plan = engine.plan(
        hierarchy, destination, target, chunks=chunks, shards=shards, codecs=codecs, path=path, pyramid=wanted
    )
    if not dry_run and (allow_losses or not plan.losses):
        plan = engine.with_destination(plan)
    if not _goes_on(plan, dry_run, allow_losses, as_json):
        return
    _tell_result(
        {"plan": plan.to_json()}, as_json,
        lambda bar: engine.run(plan, allow_losses=allow_losses, verify=verify, progress=bar, scheduler=scheduler),
    )  # fmt: skip


def _goes_on(plan: ConversionPlan, dry_run: bool, allow_losses: bool, as_json: bool) -> bool:
    """Shows the plan, and returns whether it is to be carried out. Raises Failed if something would be lost without
    --allow-losses."""
    refused = bool(plan.losses) and not allow_losses
    if not as_json:
        _show_plan(plan)
    if not dry_run and not refused:
        return True
    if as_json:
        show_json({"plan": plan.to_json()})
    if refused:
        raise Failed(
            f"{_losses(len(plan.losses))}. Nothing was written; --allow-losses continues nevertheless."
            if not dry_run
            else f"{_losses(len(plan.losses))}: this needs --allow-losses. Nothing was written (--dry-run)."
        )
    say("Nothing was written (--dry-run).")
    return False


def _need_in_place(pyramid: bool, dialect: str | None, others: dict[str, Any]) -> None:
    if pyramid and dialect is not None:
        raise click.UsageError("--to does not go with --pyramid --in-place.")
    if not pyramid and dialect != UPGRADED:
        raise click.UsageError("--in-place needs --pyramid or --to v3.")
    if lone := next((name for name, value in others.items() if value is not None), None):
        raise click.UsageError(f"{lone} does not go with --in-place.")


def _tell_rebuild(plan: Rebuild, dry_run: bool, verify: bool, as_json: bool, scheduler: str | Path | None) -> None:
    """Shows the plan of a rebuild in place, and carries it out."""
    from zarrscope import convert as engine
    from zarrscope_app.presenters import strings

    told = {"plan": plan.to_json()}
    if not as_json:
        show(f"{plan.source.dialect.title}, in place, {strings.size(plan.nbytes)} in {plan.chunks:,} new chunks")
        for switch in plan.switches:
            show(f"  {switch.path}")
            for note in switch.notes:
                show(f"      {note}")
        _show_nodes(plan.nodes)
        for path in plan.former:
            show(f"  {path}  is erased at the end")
    if dry_run:
        if as_json:
            show_json(told)
        say("Nothing was written (--dry-run).")
        return
    _tell_result(told, as_json, lambda bar: engine.rebuild(plan, verify=verify, progress=bar, scheduler=scheduler))


def _tell_result(told: dict[str, Any], as_json: bool, work: Callable[[_Bar | None], Result]) -> None:
    """Runs the conversion, with a progress bar on a terminal, and prints the result."""
    bar = _Bar() if sys.stderr.isatty() else None
    try:
        result = work(bar)
    except KeyboardInterrupt as error:
        error.add_note("Run the same command again to go on.")
        raise
    finally:
        if bar is not None:
            bar.end()
    if as_json:
        done = {name: getattr(result, name) for name in ("copied", "encoded", "blank", "kept", "verified", "assumed")}
        show_json({**told, "result": done})
        return
    from zarrscope_app.presenters import strings

    show(
        f"{strings.counted(result.copied, 'chunk')} copied, {result.encoded:,} encoded, {result.blank:,} not stored, "
        f"{result.kept:,} from an earlier run; {_compared(result, told['plan'])}"
    )


def _compared(result: Result, plan: dict[str, Any]) -> str:
    """The sentence about the comparison; it says nothing about elements that were not read."""
    if not result.verified:
        return "not compared."
    if all(node["how"] == "group" for node in plan["nodes"]):
        return "there was no array to compare."
    if result.assumed:
        return (
            "all elements that the source returned are equal; denied values counted as missing (--missing-is-fill), "
            "and were not compared."
        )
    if any(loss.get("left_out") for loss in plan.get("losses", ())):
        return "all elements of the arrays that were converted are equal."
    return "all elements equal."


def _losses(count: int) -> str:
    return "One thing would be lost" if count == 1 else f"{count:,} things would be lost"


def _show_plan(plan: ConversionPlan) -> None:
    from zarrscope_app.presenters import strings

    show(f"{plan.source.dialect.title} → {plan.dialect.title}, {strings.size(plan.nbytes)} in {plan.chunks:,} chunks")
    _show_nodes(plan.nodes)
    if plan.losses:
        show("Lost:")
        for loss in plan.losses:
            show(f"  {loss}")


def _show_nodes(nodes: Sequence[NodePlan]) -> None:
    from zarrscope_app.presenters import strings

    for node in nodes:
        same = node.path == node.target or node.how == "built"
        place = node.target if same else f"{node.path} → {node.target}"
        if node.metadata is None:
            line = "group"
        else:
            codecs = " ".join(spec.name for spec in node.metadata.codecs)
            line = (
                f"{strings.rank(node.metadata.shape, node.metadata.dtype.name)} {strings.shape(node.metadata.shape)}, "
                f"{strings.counted(node.chunks, 'chunk')} {HOW[node.how].format(level=node.level)}: "
                f"{strings.shape(node.metadata.grid.chunk_shape)} {codecs}"
            )
        show(f"  {place}  {line}")
        for note in node.notes:
            show(f"      {note}")


class _Bar:
    """A progress line on a terminal, rewritten when the percentage changes."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: ConversionProgress) -> None:
        line = f"{progress.doing} {100 * progress.done // max(1, progress.total)} %"
        if line != self._last:
            self._last = line
            rewrite(f"{line:<20}")

    def end(self) -> None:
        if self._last:
            rewrite(" " * 20)
            steer("\r")
