"""Code that the verbs share: opening the node that the arguments name, options of several verbs, a command group with a
default verb, and printing, which filters text from files so that it cannot control the terminal."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Literal

import click

from zarrscope.runtime.interrupts import uninterrupted
from zarrscope_app.cli.color import option as color_option
from zarrscope_app.cli.ending import timeout_option
from zarrscope_app.cli.help_text import HelpContext
from zarrscope_app.cli.hints import swapped_sentence
from zarrscope_app.cli.node_paths import NodeType
from zarrscope_app.cli.plain import option as plain_option
from zarrscope_app.cli.streams import outlive_reader
from zarrscope_app.cli.waiting import telling_waits

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from zarrscope.model.json_value import JSON
    from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy


class Failed(click.ClickException):
    """Ends a verb with exit code 1. The message gives the reason."""

    exit_code = 1


def files(incomplete: str) -> list[CompletionItem]:
    """The request to the shell to complete the name of a file or folder. It stands alone: bash drops every other
    proposal for it."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


class PlaceType(click.types.StringParamType):
    """The type of arguments and options that name a place. The shell completes files and folders for them."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return files(incomplete)


SYNONYMS = {
    "cat": ("read",), "cp": ("copy",), "delete": ("unset", "remove"), "describe": ("info",), "list": ("ls",),
    "mv": ("move",), "plot": ("show",), "remove": ("unset",), "rename": ("move",), "rm": ("unset", "remove"),
    "values": ("read",), "version": ("--version",), "view": ("open",),
}  # fmt: skip
"""Words that a person may try → the verbs or options of that meaning; a group proposes the first that it has."""


LONGEST_PURPOSE = 200
"""The most characters of the purpose of a verb in the list of a group."""


class VerbGroup(click.Group):
    """A group of verbs, whose help states the purpose of each."""

    context_class = HelpContext

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):  # click's own cuts each purpose to one line
            found = [(name, self.get_command(context, name)) for name in self.list_commands(context)]
            formatter.write_dl([(name, verb.get_short_help_str(LONGEST_PURPOSE)) for name, verb in found if verb])

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        found = super().shell_complete(context, incomplete)
        for item in found:
            if verb := self.get_command(context, item.value):
                item.help = verb.get_short_help_str(LONGEST_PURPOSE)
        return found


class DefaultGroup(VerbGroup):
    """A group of verbs in which one may be left out: `zarrscope URL` is `zarrscope open URL`."""

    def __init__(self, *args: Any, default: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.default = default

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        own = {name for parameter in self.params for name in parameter.opts} | {"-h", "--help"}
        if args and args[0].startswith("-") and args[0].partition("=")[0] not in own:
            args = [self.default, *args]
        if args[:1] == ["help"] and not os.path.lexists("help"):  # as other programs spell it
            args = [*(verb for verb in args[1:2] if verb in self.list_commands(context)), "--help"]
        return super().parse_args(context, args)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        return super().shell_complete(context, incomplete) or files(incomplete)

    def invoke(self, context: click.Context) -> object:
        try:
            result = super().invoke(context)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # The reader has closed the pipe. Python flushes stdout again at exit, so the null device takes its place.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.list_commands(context):
            if not context.resilient_parsing:  # a message would disturb the line that the shell completes
                self._check_typo(context, *args)
            args = [self.default, *args]
        return super().resolve_command(context, args)

    def _check_typo(self, context: click.Context, word: str, *others: str) -> None:
        """Raises a usage error for `zarrscope tre x`, which is more likely a typing error than a request to open
        "tre", and for `zarrscope dump x` if only x exists."""
        import difflib

        verbs = self.list_commands(context)
        close = difflib.get_close_matches(word, verbs, 1, 0.7)
        close = close or [verb for verb in SYNONYMS.get(word, ()) if verb in verbs or verb.startswith("-")]
        if not word.isalpha() or Path(word).exists():
            return
        if close:
            raise click.UsageError(f"There is no command {word!r}. Did you mean {close[0]!r}?", context)
        if others and Path(others[0]).exists():
            raise click.UsageError(f"There is no command {word!r}. {context.command_path} --help lists them.", context)


def opening(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --lenient, --fallbacks and --missing-is-fill to a verb, which passes them on to `opened`."""
    fallbacks = click.option(
        "--fallbacks/--no-fallbacks", default=True, help="Read unknown data types as the fallback their document names."
    )
    lenient = click.option(
        "--lenient",
        is_flag=True,
        help="Open anyway, read-only: nodes that require unknown extensions are read; their values may be wrong.",
    )
    return lenient(fallbacks(MISSING_IS_FILL(verb)))


MISSING_IS_FILL = click.option(
    "--missing-is-fill",
    is_flag=True,
    help="Treat denied values as missing, for a server that answers both with the same error.",
)


def _follow(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[__name__] = value


def following(command: click.Command) -> click.Command:
    """Adds the options of addresses to a verb and its subcommands: --follow-links (`follow_links` returns the choice),
    and the options of buckets, which are put into the verb's addresses."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            following(each)
    elif any(isinstance(each, click.Argument) and each.name in _PLACES for each in command.params):
        command.params.append(
            click.Option(
                ["--follow-links"],
                is_flag=True,
                expose_value=False,
                callback=_follow,
                help="Follow symbolic links that lead out of a folder, as those of git-annex and DataLad do.",
            )
        )
        command.params += [click.Option([f"--{name}"], **how) for name, how in _OF_ADDRESSES.items()]
        assert command.callback is not None
        command.callback = _with_options(command.callback)
    return command


def with_common_options(command: click.Command) -> click.Command:
    """Adds the options that may stand before or after a verb to the verb and its subcommands: --color, --plain and
    --timeout. On a terminal the verb also says which request it waits for. Help fits the terminal."""
    command.context_class = HelpContext
    if isinstance(command, click.Group):
        for each in command.commands.values():
            with_common_options(each)
    else:
        for parameter in command.params:
            if parameter.name in _COMPLETED and parameter.type is click.STRING:
                parameter.type = PlaceType()
            elif parameter.name == "node" and isinstance(parameter, click.Argument):
                parameter.type = NodeType()
        command.params += [color_option(), plain_option(), timeout_option()]
        if command.name not in _APPLICATIONS:
            assert command.callback is not None
            command.callback = telling_waits(command.callback, say)
    return command


_APPLICATIONS = ("open", "tui", "serve")
"""Verbs that have a screen of their own, or talk to another program: they show themselves what they wait for."""


_PLACES = ("url", "urls", "source", "left", "places")
"""Arguments that name a place to open."""
_OTHER_PLACES = ("right", "destination", "into")
_COMPLETED = (*_PLACES, *_OTHER_PLACES, "folder", "output")
"""Arguments and options for which the shell completes files and folders."""
_OF_ADDRESSES: dict[str, dict[str, Any]] = {
    "anon": {"is_flag": True, "help": "Access a bucket without credentials, as public ones allow."},
    "profile": {"metavar": "NAME", "help": "Access a bucket with this profile of ~/.aws."},
    "endpoint": {"metavar": "URL", "help": "The server of a bucket, if it is not the cloud service's own."},
    "region": {"metavar": "NAME", "help": "The region of a bucket."},
    "branch": {"metavar": "NAME", "help": "The branch of an Icechunk repository, in place of main."},
    "tag": {"metavar": "NAME", "help": "The tag of an Icechunk repository to open."},
    "snapshot": {"metavar": "ID", "help": "The snapshot of an Icechunk repository to open."},
}
"""Options that may also be part of an address (zarrscope.stores.address_options, icechunk_version)."""


def _with_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(verb)
    def run(*arguments: Any, **given: Any) -> object:
        chosen = {name: value for name in _OF_ADDRESSES if (value := given.pop(name))}
        if chosen:
            _put_into_addresses(given, chosen)
        return verb(*arguments, **given)

    return run


def _put_into_addresses(given: dict[str, Any], chosen: Mapping[str, Any]) -> None:
    """Adds the options to every address that can take them. Raises Refused if no argument is such an address."""
    from zarrscope.errors import Refused
    from zarrscope.stores.address import address_with

    refused: Refused | None = None
    reached = False
    for name in (*_PLACES, *_OTHER_PLACES):
        found = given.get(name)
        places = [found] if isinstance(found, str) else [*(found or ())]
        for i, place in enumerate(places):
            try:
                places[i] = address_with(place, chosen)
                reached = True
            except Refused as error:
                refused = refused or error
        if name in given and found is not None:
            given[name] = places[0] if isinstance(found, str) else tuple(places)
    if refused is not None and not reached:
        raise refused


def follow_links() -> bool:
    """Whether --follow-links was given to the current verb."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(__name__))


def storage_options(missing_is_fill: bool) -> dict[str, Any] | None:
    """The `storage_options` for zarrscope.open that the command's options ask for; None if there are none."""
    return {"missing_is_fill": True} if missing_is_fill else None


def acting(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a verb that changes data: it continues when the reader of its output ends (`| head -1`)."""

    @wraps(verb)
    def act(*arguments: Any, **options: Any) -> object:
        outlive_reader()
        return verb(*arguments, **options)

    return act


def clustered(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Adds options for a Dask cluster to a verb, which gets `scheduler`: an address, a scheduler file, or None."""

    @wraps(verb)
    def checked(*args: Any, scheduler: str | None, scheduler_file: Path | None, **kwargs: Any) -> object:
        if scheduler is not None and scheduler_file is not None:
            raise click.UsageError("--scheduler and --scheduler-file name the same thing: give one of them.")
        return verb(*args, scheduler=scheduler or scheduler_file, **kwargs)

    address = click.option(
        "--scheduler", metavar="ADDRESS", help="Let the workers of this Dask cluster do the work: tcp://host:8786."
    )
    file = click.option(
        "--scheduler-file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Like --scheduler, with the file that dask scheduler --scheduler-file wrote.",
    )
    return address(file(checked))


def say(message: str) -> None:
    """Writes a message to stderr."""
    from zarrscope.errors.confidential import scrub
    from zarrscope.errors.visible import visible  # not from the presenters, whose import takes half a second

    message = _OF_PYTHON.sub("", message)
    click.echo(f"zarrscope: {visible(scrub(message))}", err=True)


_OF_PYTHON = re.compile(r" \((?:storage_options=\{[^{}]*\}|follow_links=True)\)")
"""The form of an advice for callers in Python, which stands in brackets behind the option of the command line."""


def show(text: str = "") -> None:
    """Prints text that may come from a file, made safe for a terminal; line ends and tabs stay."""
    from zarrscope.errors.visible import visible_lines

    click.echo(visible_lines(text))


def show_json(value: object) -> None:
    """Prints JSON that any parser accepts: sorted, printable ASCII, NaN and infinities as strings."""
    click.echo(_json(value))


def show_json_items(items: Iterable[Any]) -> bool:
    """Prints a JSON array, item by item as they arrive; returns False if there were none."""
    shown = False
    for item in items:
        click.echo(f"{',' if shown else '['}\n{indent(_json(item), '  ')}", nl=False)
        shown = True
    click.echo("\n]" if shown else "[]")
    return shown


def _json(value: object) -> str:
    text = json.dumps(_strict(value), sort_keys=True, indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("\x7f", "\\u007f")  # the only control character that json.dumps does not escape


def _strict(value: object) -> JSON:
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, str | int | float | None):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return _strict(value.item())
    if isinstance(value, complex):
        return [_strict(value.real), _strict(value.imag)]
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def tell_about(hierarchy: Hierarchy, *, folder: bool = True) -> None:
    """Prints the kind of the place, if it was found out by looking at it, and the warnings of the hierarchy. With
    `folder` false, a folder of hierarchies is not told: the caller shows it."""
    if hierarchy.recognition is not None and (folder or hierarchy.recognition.kind != "folder"):
        say(f"{hierarchy.recognition.sentence}.")
    for warning in hierarchy.warnings:
        say(f"Warning: {warning}")


def opened(
    url: str,
    node: str | None = None,
    *,
    write: bool = False,
    missing_is_fill: bool = False,
    descend: bool = False,
    folder: bool = True,
    **how: Any,
) -> tuple[Hierarchy, Group | Array]:
    """Opens the hierarchy at `url` and prints its warnings.

    Returns the hierarchy and a node of it: the one that `node` names, else the one that `url` names, else the root.
    With `descend`, the only hierarchy in a plain folder stands for the root of the folder, and its name is printed.
    With `folder` false, it is not told that the place is a folder of hierarchies, because the caller shows it.
    """
    how["storage_options"] = storage_options(missing_is_fill)
    how["follow_links"] = follow_links()
    hierarchy = hierarchy_at(url, "r+" if write else "r", node, **how)
    from zarrscope.nodes.extensions import demands_above  # a quarter of the time of --help, if it stood above

    tell_about(hierarchy, folder=folder)
    path = place(hierarchy, node)
    if descend and node is None and path == "/":
        from zarrscope.nodes.enclosing import only_node_in

        path = only_node_in(hierarchy)
        if path != "/":
            say(f"The only hierarchy in this folder is {path[1:]}.")
    found = hierarchy[path]
    for warning in demands_above(hierarchy, found.path):
        say(f"Warning: {warning}")
    return hierarchy, found


def hierarchy_at(url: str, mode: Literal["r", "r+"] = "r", node: str | None = None, **how: Any) -> Hierarchy:
    """Opens the hierarchy at `url`, or the only archive in a folder, whose name is then printed. `node` is the word
    that was given for a node, with which an address may have been exchanged."""
    import zarrscope

    try:
        return zarrscope.open(url, mode, **how)
    except zarrscope.NotFound as error:
        from zarrscope.nodes.enclosing import archive_in

        if archive := archive_in(url, error):
            say(f"The only file in this folder is {error.archive}.")
            return zarrscope.open(archive, mode, **how)
        if node is not None and os.path.exists(node):
            error.advice = swapped_sentence(url, node)
        raise


def place(hierarchy: Hierarchy, node: str | None) -> str:
    """The path of a node as typed, with one slash in front; None stands for the node that the address names."""
    return str(hierarchy.initial_path) if node is None else "/" + node.strip("/")


def summary(metadata: ArrayMetadata | GroupMetadata | None, error: BaseException | None = None) -> str:
    """A short description of a node, for the second column of a listing."""
    from zarrscope_app.presenters import strings

    if metadata is not None and metadata.kind == "array":
        told = f"{strings.rank_of(metadata)}  {strings.shape_of(metadata)}"
        return f"{told}  {strings.defect(metadata.defects[0].error)}" if metadata.defects else told
    if metadata is not None and metadata.defects:
        return strings.defect(metadata.defects[0].error)
    return strings.problem(error).headline if error is not None else ""


def need_folder(target: Path) -> None:
    """Raises Failed if the folder into which a file is to be written does not exist."""
    if not target.parent.is_dir():
        raise Failed(f"There is no folder {target.parent} to write {target.name} into.")


@uninterrupted
def write_whole(path: str, data: bytes) -> None:
    """Writes a result file, completely or not at all; "-" is stdout."""
    if path == "-":
        if sys.stdout.isatty():
            raise Failed("A terminal cannot show this output. Name a file, or redirect stdout.")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    import tempfile

    outlive_reader()
    target = Path(path)
    need_folder(target)
    if target.is_dir():
        raise Failed(f"{target} is a folder. Choose another name.")
    from zarrscope.stores.local.failures import unwritten

    try:
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    except OSError as error:
        raise unwritten(error, path) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        os.replace(part, target)
    except BaseException as error:
        os.unlink(part)
        if isinstance(error, OSError):
            raise unwritten(error, path) from error
        raise
