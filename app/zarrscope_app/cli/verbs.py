"""The table of verbs, and the command group that imports a verb's module only when that verb is used.

To add a verb, write a module with the command, and add a row to a section here. Help, completion and the search for the
nearest name need the table only (decisions: "A verb's module is imported when the verb is called for").
"""

from __future__ import annotations

from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

from zarrscope_app.cli.console import DefaultGroup, files, following, with_common_options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Verb(NamedTuple):
    """A row of the table: the `module` in cli/, the sentence for help, and the name of the command in the module, if it
    differs from the verb."""

    module: str
    """The module of zarrscope_app.cli that holds the command."""
    purpose: str
    """One line for lists of verbs."""
    command: str = ""
    """The command's name in that module, if it differs from the verb's name."""


SECTIONS: dict[str, dict[str, Verb]] = {
    "Looking": {
        "open": Verb("explore", "Opens URLs in the window (the default verb).", "open_"),
        "tree": Verb("listing", "Draws the hierarchy."),
        "ls": Verb("listing", "Lists the children of a group."),
        "info": Verb("info", "Describes a node: shape, type, chunks, codecs, image."),
        "show": Verb("show", "Draws one plane on the terminal."),
        "render": Verb("picture", "Draws one plane as a PNG."),
        "read": Verb("picture", "Prints values of an array, or writes them to a file."),
        "chunks": Verb("chunks", "Counts the stored chunks of an array, and their bytes."),
        "stats": Verb("chunks", "Counts the stored chunks of every array beneath a node."),
    },
    "Editing": {
        "attrs": Verb("attributes", "Shows or changes the attributes of a node."),
        "image": Verb("image", "Shows or changes pixel size, units, channels of images."),
        "add-labels": Verb("labels", "Adds an empty label image to an OME-Zarr image.", "add_labels"),
        "create": Verb("nodes", "Makes a group or an array."),
        "resize": Verb("nodes", "Changes the shape of an array."),
        "move": Verb("nodes", "Moves a node with everything beneath it."),
        "copy": Verb("nodes", "Copies a node with everything beneath it."),
        "remove": Verb("nodes", "Erases a node and everything beneath it."),
        "trash": Verb("trash", "Lists, restores and erases removed nodes."),
    },
    "Whole hierarchies": {
        "check": Verb("check", "Checks documents, consistency and every stored chunk."),
        "validate": Verb("check", "Another name of check.", "check"),
        "diff": Verb("compare", "Compares two hierarchies, or a node of each."),
        "convert": Verb("convert", "Writes a hierarchy in another dialect."),
        "export": Verb("export", "Writes a view, a region or a node as a file."),
        "consolidate": Verb("nodes", "Writes consolidated metadata: a copy of all documents."),
        "repack": Verb("archive", "Compacts a .zip or .ozx file on this computer."),
    },
    "Front ends and services": {
        "tui": Verb("explore", "Explores a hierarchy in the terminal."),
        "demo": Verb("picture", "Makes the demo volume."),
        "serve": Verb("serve", "Answers another zarrscope that connected by ssh."),
    },
}
"""The verbs by purpose, in the order of `zarrscope --help`."""

VERBS: dict[str, Verb] = {name: verb for section in SECTIONS.values() for name, verb in section.items()}


class LazyGroup(DefaultGroup):
    """The command group `zarrscope`, whose verbs are those of the table."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, context: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in VERBS:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, VERBS))
        for title, verbs in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{widest}}", verb.purpose) for name, verb in verbs.items()])

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        begun = (name for name in sorted(VERBS) if name.startswith(incomplete))
        names = [CompletionItem(name, help=VERBS[name].purpose) for name in begun]
        options = click.Command.shell_complete(self, context, incomplete)
        return [*names, *options] or files(incomplete)


def _load(name: str) -> click.Command:
    verb = VERBS[name]
    # The command is copied, because one command may serve two verbs, and options are added to each of them here.
    command: click.Command = copy(getattr(import_module(f"zarrscope_app.cli.{verb.module}"), verb.command or name))
    command.name, command.short_help, command.params = name, verb.purpose, [*command.params]
    return with_common_options(following(command))
