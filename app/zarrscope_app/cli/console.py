"""What the verbs share: a group with a default verb, opening what the arguments name, and printing so that nothing from
a file reaches the terminal raw."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click


class Failed(click.ClickException):
    """A verb cannot go on; the message says why. Exit code 1."""

    exit_code = 1


class DefaultGroup(click.Group):
    """A group of verbs in which one may be left out: `zarrscope URL` is `zarrscope open URL`."""

    def __init__(self, *args: Any, default: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.default = default

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        own = {name for parameter in self.params for name in parameter.opts} | {"-h", "--help"}
        if args and args[0].startswith("-") and args[0].partition("=")[0] not in own:
            args = [self.default, *args]
        return super().parse_args(context, args)

    def invoke(self, context: click.Context) -> Any:
        try:
            result = super().invoke(context)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # Whoever reads our output has seen enough. Python flushes stdout once more on leaving: give it another one.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            self._check_typo(context, args[0])
            args = [self.default, *args]
        return super().resolve_command(context, args)

    def _check_typo(self, context: click.Context, word: str) -> None:
        """`zarrscope tre x` is no request to open "tre"."""
        import difflib

        close = difflib.get_close_matches(word, self.commands, 1, 0.7)
        if close and word.isalpha() and not Path(word).exists():
            raise click.UsageError(f"There is no command {word!r}. Did you mean {close[0]!r}?", context)


def opening(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how to open what is not understood; `opened` takes them as they are."""
    fallbacks = click.option(
        "--fallbacks/--no-fallbacks", default=True, help="Show unknown data types by the fallback of their document."
    )
    lenient = click.option(
        "--lenient", is_flag=True, help="Open what demands extensions that are not understood; it may look wrong."
    )
    return lenient(fallbacks(verb))


def say(message: str) -> None:
    """One message on stderr."""
    from zarrscope_app.presenters import words

    click.echo(f"zarrscope: {words.clean(message)}", err=True)


def show(text: str = "") -> None:
    """Text that may hold what a file says, on stdout; lines and tabs stay."""
    from zarrscope_app.presenters import words

    click.echo(words.clean_lines(text))


def show_json(value: Any) -> None:
    """JSON that any parser takes: sorted, ASCII, NaN and infinities as strings."""
    click.echo(json.dumps(_strict(value), sort_keys=True, indent=2, ensure_ascii=True, allow_nan=False))


def _strict(value: Any) -> Any:
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


def opened(url: str, node: str | None = None, *, write: bool = False, **how: Any) -> tuple[Any, Any]:
    """(hierarchy, node): `node` as given, else the one that the address itself names, else the root."""
    import zarrscope

    hierarchy = zarrscope.open(url, "r+" if write else "r", **how)
    for warning in hierarchy.warnings:
        say(f"Warning: {warning}")
    return hierarchy, hierarchy[place(hierarchy, node)]


def place(hierarchy: Any, node: str | None) -> str:
    return str(hierarchy.entry) if node is None else "/" + node.strip("/")


def summary(metadata: Any, error: BaseException | None = None) -> str:
    """The quiet second column of a listing."""
    from zarrscope_app.presenters import words

    if metadata is not None and metadata.kind == "array":
        return f"{words.rank(metadata.shape, metadata.dtype.name)}  {words.shape(metadata.shape)}"
    return words.problem(error).headline if error is not None else ""


def write_whole(path: str, data: bytes) -> None:
    """Writes a result file, whole or not at all; "-" is stdout."""
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    import tempfile

    target = Path(path)
    if not target.parent.is_dir():
        raise Failed(f"There is no folder {target.parent} to write {target.name} into.")
    handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise
