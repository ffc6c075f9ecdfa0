"""`convert`: a hierarchy, or a part of it, written anew in another dialect: planned, shown, carried out, compared."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from zarrscope_app.cli.console import Failed, opened, place, say, show, show_json

TARGETS = ("v3", "v2", "n5", "draft-2022-05", "draft-2020", "draft-2019-06", "draft-2019-05")


def _lengths(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """ "64,256,256" as lengths per axis."""
    if value is None:
        return None
    try:
        lengths = tuple(int(part) for part in value.replace("x", ",").split(","))
    except ValueError:
        lengths = ()
    if not lengths or min(lengths) < 1:
        raise click.BadParameter(f"{value!r} is no list of lengths such as 64,256,256", context, parameter)
    return lengths


def _codecs(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> list[Any] | None:
    """Names, name:level, or JSON objects; "none" alone for no compression."""
    import json

    if not values:
        return None
    if "none" in values:
        if len(values) > 1:
            raise click.BadParameter("none goes with no other codec", context, parameter)
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
            raise click.BadParameter(f"{level!r} is no level of compression", context, parameter)
        else:
            codecs.append(name)
    return codecs


@click.command("convert")
@click.argument("source")
@click.argument("destination")
@click.option("--to", "dialect", type=click.Choice(TARGETS), required=True, help="The dialect to write.")
@click.option("--node", help="Only this node and what is beneath it; it becomes the new root.")
@click.option("--chunks", callback=_lengths, metavar="N,N…", help="Chunk lengths, for arrays of as many axes.")
@click.option("--shards", callback=_lengths, metavar="N,N…", help="Shard lengths: multiples of the chunks'.")
@click.option(
    "--codec", "codecs", callback=_codecs, multiple=True, metavar="CODEC", help="zstd:3, gzip:5, blosc, none, or JSON."
)
@click.option("--dry-run", is_flag=True, help="Show the plan, write nothing.")
@click.option("--allow-losses", is_flag=True, help="Go on though the destination cannot hold everything.")
@click.option("--verify/--no-verify", default=True, help="Compare all elements at the end (the default).")
@click.option("--json", "as_json", is_flag=True, help="The plan, and what was done, as JSON.")
def convert(
    source: str,
    destination: str,
    dialect: str,
    node: str | None,
    chunks: tuple[int, ...] | None,
    shards: tuple[int, ...] | None,
    codecs: list[Any] | None,
    dry_run: bool,
    allow_losses: bool,
    verify: bool,
    as_json: bool,
) -> None:
    """Writes SOURCE anew at DESTINATION, a new place, in another dialect.

    Chunks are copied as they are where their bytes mean the same in both dialects, and encoded anew elsewhere or where
    --chunks, --shards or --codec ask for it. OME-Zarr 0.4 becomes 0.5 on the way from v2 to v3, and back. What the
    destination cannot hold is listed first; without --allow-losses nothing is then written. A conversion that was
    stopped goes on when the same command is run again.

    \b
    Examples:
      zarrscope convert old.zarr new.zarr --to v3 --dry-run
      zarrscope convert old.zarr new.zarr --to v3
      zarrscope convert old.zarr new.zarr --to v3 --chunks 1,128,128 --shards 1,1024,1024 --codec zstd:5
      zarrscope convert big.zarr part.n5 --to n5 --node labels/nuclei --codec gzip:5
    """
    from zarrscope import convert as engine

    hierarchy, _ = opened(source, node)
    plan = engine.plan(
        hierarchy, destination, dialect, chunks=chunks, shards=shards, codecs=codecs, path=place(hierarchy, node)
    )
    told = {"plan": plan.to_json()}
    refused = bool(plan.losses) and not allow_losses
    if not as_json:
        _show_plan(plan)
    if dry_run or refused:
        if as_json:
            show_json(told)
        if refused:
            raise Failed(
                f"{_losses(len(plan.losses))}. Nothing was written; --allow-losses goes on all the same."
                if not dry_run
                else f"{_losses(len(plan.losses))}: this needs --allow-losses. Nothing was written (--dry-run)."
            )
        say("Nothing was written (--dry-run).")
        return
    bar = _Bar() if sys.stderr.isatty() else None
    try:
        result = engine.run(plan, allow_losses=allow_losses, verify=verify, progress=bar)
    except KeyboardInterrupt:
        say("Stopped. Run the same command again to go on.")
        raise
    finally:
        if bar is not None:
            bar.end()
    if as_json:
        done = {name: getattr(result, name) for name in ("copied", "encoded", "blank", "kept", "verified")}
        show_json({**told, "result": done})
        return
    show(
        f"{result.copied:,} chunks copied, {result.encoded:,} encoded, {result.blank:,} not stored, "
        f"{result.kept:,} from an earlier run; " + ("all elements equal." if verify else "not compared.")
    )


def _losses(count: int) -> str:
    return "One thing would be lost" if count == 1 else f"{count:,} things would be lost"


def _show_plan(plan: Any) -> None:
    from zarrscope_app.presenters import words

    show(f"{plan.source.dialect.title} → {plan.dialect.title}, {words.size(plan.nbytes)} in {plan.chunks:,} chunks")
    for node in plan.nodes:
        place = node.target if node.path == node.target else f"{node.path} → {node.target}"
        if node.metadata is None:
            line = "group"
        else:
            codecs = " ".join(spec.name for spec in node.metadata.codecs)
            line = (
                f"{words.rank(node.metadata.shape, node.metadata.dtype.name)} {words.shape(node.metadata.shape)}, "
                f"{node.chunks:,} chunks {'copied as they are' if node.how == 'copied' else 'encoded anew'}: "
                f"{words.shape(node.metadata.grid.chunk_shape)} {codecs}"
            )
        show(f"  {place}  {line}")
        for note in node.notes:
            show(f"      {note}")
    if plan.losses:
        show("Lost:")
        for loss in plan.losses:
            show(f"  {loss}")


class _Bar:
    """One line on a terminal that says how far it is; rewritten when the percentage changes."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: Any) -> None:
        line = f"{progress.doing} {100 * progress.done // max(1, progress.total)} %"
        if line != self._last:
            self._last = line
            click.echo(f"\r{line:<20}", nl=False, err=True)

    def end(self) -> None:
        if self._last:
            click.echo("\r" + " " * 20 + "\r", nl=False, err=True)


COMMANDS = (convert,)
