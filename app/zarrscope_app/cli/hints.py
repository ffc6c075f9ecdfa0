"""Hints in the messages about wrong command lines: the correct form."""

from __future__ import annotations

import re
import shlex
from difflib import SequenceMatcher

import click

LIKENESS = 0.75
"""The least likeness, from 0 to 1, of an option that is proposed in place of an unknown one."""
_NO_NUMBER = re.compile(r"is not a valid (integer|float)( range)?\.")
_NUMBERS = {"integer": "whole number", "float": "number"}
_INDEX = re.compile(r"\[?[-+\d:. ]+(,[-+\d:. ]*)+\]?|\[[-+\d:. ]+\]|[-+\d]*:[-+\d:]*")


def is_index(word: str) -> bool:
    """Whether a word is an index of an array such as "0,:,10:90" rather than the name of a node."""
    return bool(_INDEX.fullmatch(word))


def hinted(mistake: click.UsageError) -> click.UsageError:
    """The mistake with a hint in its message, and without proposals that are hardly like the word that was typed."""
    context = mistake.ctx
    if isinstance(mistake, click.NoSuchOption):
        return _of_option(mistake, context)
    if isinstance(mistake, click.BadParameter) and not isinstance(mistake, click.MissingParameter):
        message = _NO_NUMBER.sub(lambda found: f"is not a {_NUMBERS[found[1]]}.", mistake.message)
        return click.BadParameter(message, context, mistake.param, mistake.param_hint)
    if context is None:
        return mistake
    names = [parameter.name for parameter in context.command.params if isinstance(parameter, click.Argument)]
    if isinstance(mistake, click.MissingParameter) and {"node", "field"} <= {*names}:
        return click.UsageError(f"{mistake.format_message()} The NODE of the root is /.", context)
    extra = re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", mistake.message)
    if extra is not None and "destination" in names:
        return click.UsageError(f"{mistake.message}. A node is named in the address: SOURCE/NODE.", context)
    if extra is not None and any(parameter.name == "selection" for parameter in context.command.params):
        index = extra[1].split()[0]
        if is_index(index):
            return click.UsageError(index_sentence(index), context)
    if isinstance(context.command, click.Group) and mistake.message.startswith("No such command"):
        verbs = ", ".join(context.command.list_commands(context))
        return click.UsageError(f"{mistake.message} Name one of its commands before the place: {verbs}.", context)
    return mistake


def index_sentence(index: str) -> str:
    """The sentence for an index that stands where a node is expected."""
    return f'{index} is an index. Write it with an option: --select "{index.strip("[]")}"'


def swapped_sentence(url: str, node: str) -> str:
    """The advice if a hierarchy stands where a node is expected, and the other way round."""
    verb = click.get_current_context().command_path
    return f"The hierarchy comes before the node: {verb} {shlex.quote(node)} {shlex.quote(url)}"


def _of_option(mistake: click.NoSuchOption, context: click.Context | None) -> click.UsageError:
    typed = mistake.option_name
    parameters = context.command.params if context is not None else []
    arguments = [each for each in parameters if isinstance(each, click.Argument)]
    if context is not None and any(each.name == typed.lstrip("-") for each in arguments):
        names = " ".join(each.human_readable_name for each in arguments)
        return click.UsageError(f"{mistake.message} Write it as an argument: {context.command_path} {names}", context)
    like = [each for each in mistake.possibilities or () if SequenceMatcher(None, typed, each).ratio() >= LIKENESS]
    return click.NoSuchOption(typed, mistake.message, like, context)
