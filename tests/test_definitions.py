"""Every public definition has a docstring: its own, or that of the definition of a base class that it overrides.

The sources are parsed, not imported. Public is every function, class, method and property whose name, and the names
around it, begin with no underscore. Setters and overloads are left out: the definition that they belong to counts.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import machine

FOLDERS = ("core/zarrscope", "app/zarrscope_app")
HOSTS = tuple(f"app/zarrscope_app/{host}/" for host in ("cli", "qt", "tui", "napari", "jupyter"))
CALLED = re.compile(
    r"on_\w+|action_\w+|get_\w+|format_commands|[a-z]+[A-Z]\w*|"
    "apply|compose|convert|count|data|done|event|exit|flags|flush|index|invoke|list_commands|parent|parse_args|render|"
    "render_line|resolve_command|shell_complete|write"
)
"""The names of methods that Qt, Textual, click and Python call and that a host's class overrides. The toolkits are not
imported here; their documentation covers these methods, so they need no docstring."""
WORDS = ("words.py", "strings.py")
"""Modules of sentences. Their functions that return a string need no docstring, because the string shows the
meaning."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SECONDARY = {"overload", "setter", "deleter"}
"""The last names of decorators that make a definition a part of another one."""


class FoundClass(NamedTuple):
    node: ast.ClassDef
    module: ast.Module


class Sources:
    """Parsed modules, and their classes by name."""

    def __init__(self, modules: dict[str, ast.Module]) -> None:
        self.modules = modules
        self.classes: dict[str, list[FoundClass]] = {}
        for module in modules.values():
            for node in ast.walk(module):
                if isinstance(node, ast.ClassDef):
                    self.classes.setdefault(node.name, []).append(FoundClass(node, module))

    def undocumented(self, module: ast.Module, *, words: bool = False, host: bool = False) -> Iterator[str]:
        """The names of the public definitions of a module without a docstring of either kind. With `words`, functions
        of the module that return a string are left out; with `host`, methods that a toolkit calls."""
        sentences = {
            node.name
            for node in definitions(module)
            if words and isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or ast.Constant(None)) == "str"
        }
        for name in self._undocumented(module, module, ""):
            before, _, last = name.rpartition(".")
            if name not in sentences and not (host and before and CALLED.fullmatch(last)):
                yield name

    def _undocumented(self, body: ast.Module | ast.ClassDef, module: ast.Module, before: str) -> Iterator[str]:
        for node in definitions(body):
            if node.name.startswith("_") or is_secondary(node):
                continue
            inherits = isinstance(body, ast.ClassDef) and self._inherits(FoundClass(body, module), node.name)
            if not ast.get_docstring(node) and not inherits:
                yield before + node.name
            if isinstance(node, ast.ClassDef):
                yield from self._undocumented(node, module, f"{before}{node.name}.")

    def _inherits(self, derived: FoundClass, name: str) -> bool:
        """Whether a class above `derived` documents its definition `name`."""
        for base in derived.node.bases:
            named = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
            found = self.classes.get(named.rpartition(".")[2], [])
            near = [each for each in found if each.module is derived.module] or found
            if not near:
                inherited = getattr(standard_class(derived.module, named), name, None)
                if inherited is not None and inherited.__doc__:
                    return True
                continue
            if any(node.name == name and ast.get_docstring(node) for node in definitions(near[0].node)):
                return True
            if near[0].node is not derived.node and self._inherits(near[0], name):
                return True
        return False


def definitions(body: ast.AST) -> Iterator[Definition]:
    """The definitions in the body of a module or class, and in its conditions."""
    for node in ast.iter_child_nodes(body):
        if isinstance(node, DEFINITIONS):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler | ast.With):
            yield from definitions(node)


def is_secondary(node: Definition) -> bool:
    return any(ast.unparse(each).rpartition(".")[2] in SECONDARY for each in node.decorator_list)


def standard_class(module: ast.Module, name: str) -> object:
    """The class of the standard library, or the builtin, with this `name` in a module; None if there is none."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in sys.stdlib_module_names:
            for each in node.names:
                if (each.asname or each.name) == name:
                    return getattr(import_module(node.module or ""), each.name, None)
    return getattr(builtins, name, None)


def outline(text: str) -> ast.Module:
    """A parsed module without the bodies of functions beyond their first statement. Keeping all 600 complete takes four
    times as long, because Python's garbage collector then examines them repeatedly."""
    module = ast.parse(text)
    cut(module)
    return module


def cut(body: ast.AST) -> None:
    for node in definitions(body):
        if isinstance(node, ast.ClassDef):
            cut(node)
        else:
            del node.body[1:]


def parsed(folders: tuple[str, ...]) -> dict[str, ast.Module]:
    """Path → module, for all modules of these folders."""
    return {
        path.relative_to(machine.ROOT).as_posix(): outline(path.read_text(encoding="utf-8"))
        for folder in folders
        for path in sorted(Path(machine.ROOT, folder).rglob("*.py"))
    }


def test_every_public_definition_has_a_docstring() -> None:
    sources = Sources(parsed(FOLDERS))
    silent: list[str] = []
    for path, module in sources.modules.items():
        names = [*sources.undocumented(module, words=path.endswith(WORDS), host=path.startswith(HOSTS))]
        silent += [f"{path}: {', '.join(names)}"] * bool(names)
    assert not silent, "\n".join(silent)


SAMPLE = '''
from collections.abc import Mapping

class Above:
    """A base class."""
    def told(self):
        """Documented here."""
    def silent(self): ...

class Beneath(Above, Mapping):
    """A class that overrides."""
    def told(self): ...
    def silent(self): ...
    def keys(self): ...
    def new(self): ...
    @property
    def size(self):
        """Documented at the getter."""
    @size.setter
    def size(self, value): ...
    def _private(self): ...
    class Within: ...

if True:
    def conditional(): ...

def documented():
    """Documented."""
    def within(): ...

def sentence() -> str: ...
def number() -> int: ...

class Widget(QWidget):
    """A widget."""
    def paintEvent(self, event): ...
    def paint(self): ...

def on_start(): ...
'''


def test_an_undocumented_definition_is_found() -> None:
    module = ast.parse(SAMPLE)
    sources = Sources({"sample": module})
    found = [*sources.undocumented(module)]
    always = ["Above.silent", "Beneath.silent", "Beneath.new", "Beneath.Within", "conditional"]
    widget = ["Widget.paint", "on_start"]
    assert found == [*always, "sentence", "number", "Widget.paintEvent", *widget]
    assert [*sources.undocumented(module, words=True, host=True)] == [*always, "number", *widget]
