"""The table of verbs, and the command group that imports a verb's module only when that verb is used.

To add a verb, write a module with the command, and add a row here. Help, completion and the search for the nearest name
need the table only (decisions: "A verb's module is imported when the verb is called for").
"""

from __future__ import annotations

from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from zarrscope_app.cli.console import DefaultGroup, following, with_common_options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Verb(NamedTuple):
    module: str
    """The module of zarrscope_app.cli that holds the command."""
    purpose: str
    """One line for lists of verbs."""
    command: str = ""
    """The command's name in that module, if it differs from the verb's name."""


VERBS: dict[str, Verb] = {
    "add-labels": Verb("labels", "Adds an empty label image to an OME-Zarr image.", "add_labels"),
    "attrs": Verb("attributes", "Shows or changes the attributes of a node."),
    "check": Verb("check", "Checks documents, consistency and every stored chunk."),
    "chunks": Verb("chunks", "Counts the stored chunks of an array, and their bytes."),
    "consolidate": Verb("nodes", "Writes consolidated metadata: a copy of all documents."),
    "convert": Verb("convert", "Writes a hierarchy in another dialect."),
    "copy": Verb("nodes", "Copies a node with everything beneath it."),
    "create": Verb("nodes", "Makes a group or an array."),
    "demo": Verb("picture", "Makes the demo volume."),
    "diff": Verb("compare", "Compares two hierarchies, or a node of each."),
    "export": Verb("export", "Writes a view, a region or a node as a file."),
    "image": Verb("image", "Shows or changes pixel size, units, channels of images."),
    "info": Verb("info", "Describes a node: shape, type, chunks, codecs, image."),
    "ls": Verb("look", "Lists the children of a group."),
    "move": Verb("nodes", "Moves a node with everything beneath it."),
    "open": Verb("look", "Opens URLs in the window (the default verb).", "open_"),
    "read": Verb("picture", "Prints values of an array, or writes them to a file."),
    "remove": Verb("nodes", "Erases a node and everything beneath it."),
    "render": Verb("picture", "Draws one plane as a PNG."),
    "repack": Verb("archive", "Compacts a .zip or .ozx file on this computer."),
    "resize": Verb("nodes", "Changes the shape of an array."),
    "serve": Verb("serve", "Answers another zarrscope that connected by ssh."),
    "show": Verb("show", "Draws one plane on the terminal."),
    "stats": Verb("chunks", "Counts the stored chunks of every array beneath a node."),
    "trash": Verb("trash", "Lists, restores and erases removed nodes."),
    "tree": Verb("look", "Draws the hierarchy."),
    "tui": Verb("look", "Explores a hierarchy in the terminal."),
    "validate": Verb("check", "Another name of check.", "check"),
}


class LazyGroup(DefaultGroup):
    """The command group `zarrscope`, whose verbs are those of the table."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, context: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in VERBS:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.purpose) for name, verb in sorted(VERBS.items())])

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        begun = (name for name in sorted(VERBS) if name.startswith(incomplete))
        names = [CompletionItem(name, help=VERBS[name].purpose) for name in begun]
        return [*names, *click.Command.shell_complete(self, context, incomplete)]  # click's own method proposes options


def _load(name: str) -> click.Command:
    verb = VERBS[name]
    # The command is copied, because one command may serve two verbs, and options are added to each of them here.
    command: Any = copy(getattr(import_module(f"zarrscope_app.cli.{verb.module}"), verb.command or name))
    command.name, command.short_help, command.params = name, verb.purpose, [*command.params]
    return with_common_options(following(command))
