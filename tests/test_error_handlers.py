"""Some of zarrscope's errors are also Python's own (OSError, KeyError): no `except` catches one of them by accident.

Every handler of such a built-in error is looked at. Where a call in its block may raise one of ours, as far as names
tell, a handler of ZarrscopeError must stand before it, or the place is listed here with the reason why it cannot.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from zarrscope import errors

ROOT = Path(__file__).parents[1]
OURS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
TAKEN = {
    "OSError",
    "IOError",
    "EnvironmentError",
    "FileNotFoundError",
    "PermissionError",
    "FileExistsError",
    "KeyError",
    "LookupError",
}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef

SYSTEM = "it calls nothing but the operating system"
PIPE = "a pipe's"
OBSTORE = "obstore tells what is not there by Python's own error; NotFound comes from the handlers alone"
PARAMIKO = "paramiko's"
ALLOWED = {
    **{(name, "_file"): "it joins paths" for name in ("load", "store", "names", "remove")},
    **{(name, "read"): "a file's" for name in ("looks_zipped", "database_at")},
    **{(name, "_asked"): OBSTORE for name in ("_found", "_ask_for_nothing", "_listed")},
    **{(name, "_asked"): OBSTORE for name in ("_put_if", "_erased")},
    ("_listed", "_named"): OBSTORE,
    ("_listed", "_wait"): OBSTORE,
    ("_put_if", "version_of"): "it takes an answer apart",
    ("_write", "write_frame"): PIPE,
    ("_write", "flush"): PIPE,
    ("read_sized", "open"): PARAMIKO,
    ("_opened", "open"): PARAMIKO,
    ("create", "rename"): PARAMIKO,
    ("discard", "remove"): PARAMIKO,
    ("mark", "open"): PARAMIKO,
    ("mark", "close"): PARAMIKO,
    ("remove", "remove"): PARAMIKO,
    ("discarded_on_failure", "discard"): PARAMIKO,
    ("_send", "write_frame"): PIPE,
    ("_send", "flush"): PIPE,
    ("end", "close"): PIPE,
    ("interrupted", "say"): "it writes to a terminal",
    ("ask", "search"): "a pattern's",
    ("__missing__", "encode"): "a text's",
    ("_process_of", "split"): "a text's",
    ("_is_known", "begin"): "lmdb's",
    ("move_folder", "make_folders"): SYSTEM,
    ("edit_outside", "_edited"): SYSTEM,
    ("__call__", "_open_folder"): SYSTEM,
    ("_flush", "flush"): "a stream's",
    ("steer", "write"): "a stream's",
    ("flush", "flush"): "a stream's",
    ("store", "write"): "a file's",
    ("leave_note", "write"): "a file's",
    ("_read", "_change"): "it raises TypeError",
    ("_read", "items"): "a dict's",
    ("_read", "load"): "settings that cannot be read are None",
    ("include", "row"): "a row that is gone is a KeyError; rows are known, nothing is read",
    ("_begun", "_form"): "it describes what was asked for",
    ("_text", "read"): "a file's",
    ("_ask_for_nothing", "_path"): "it joins text",
    ("_ask_for_nothing", "_cat_file"): "fsspec's",
    ("looks_referenced", "read"): "a file's",
    **{(name, "beside"): "it looks into a dict" for name in ("walk", "neighbours", "may_lead")},
    ("narrow", "claims"): "a path that cannot be looked at is not claimed",
    ("narrowed", "claims"): "the same",
    ("finish", "finish"): "socketserver's",
    ("_row", "row"): "a row that is gone is a KeyError; rows are known, nothing is read",
    ("size", "_path"): "it joins text",
    ("size", "info"): "fsspec's",
    ("_need_bucket", "info"): "fsspec's",
    ("read", "_read"): SYSTEM,
    ("read", "take"): "memory that there is not is a MemoryError",
    ("move_folder", "patiently"): SYSTEM,
    ("patiently", "act"): SYSTEM,
    ("sync_folder", "flush"): SYSTEM,
    ("_glimpse", "_read"): SYSTEM,
    ("erase_prefix", "remove_folder"): SYSTEM,
    ("erase_prefix", "remove"): SYSTEM,
    ("remove_folder", "patiently"): SYSTEM,
    ("sweep", "remove"): SYSTEM,
    ("only_temporaries", "remove"): SYSTEM,
    ("remove", "remove_beneath"): SYSTEM,
    ("_replace", "begin"): SYSTEM,
}
"""(function that handles, function it calls) → the reason why no error of zarrscope is mistaken for the built-in
one."""

OF_LISTS = {"append"}
"""Methods of lists that Array has as well; engine and applications call them on lists alone."""


@cache
def modules() -> dict[str, ast.Module]:
    files = (file for top in ("core", "app") for file in (ROOT / top).rglob("*.py"))
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def strangers(module: ast.Module) -> set[str]:
    """The names of modules of other projects, and of what is imported from them."""
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {(each.asname or each.name).partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and not (node.module or "").startswith("zarrscope"):
            found |= {each.asname or each.name for each in node.names}
    return found


def called(node: ast.AST, foreign: set[str]) -> Iterator[str]:
    """The names of zarrscope's functions and methods that are called, or passed to be called, in `node`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Yield | ast.YieldFrom):
            yield "yield"
        if not isinstance(each, ast.Call):
            continue
        function = each.func
        if isinstance(function, ast.Name) and function.id not in foreign and not hasattr(builtins, function.id):
            yield function.id
        elif isinstance(function, ast.Attribute):
            root = function.value
            while isinstance(root, ast.Attribute | ast.Call):
                root = root.func if isinstance(root, ast.Call) else root.value
            # Methods of str, of lists, and of modules of other projects.
            if (
                function.attr not in OF_LISTS
                and not isinstance(root, ast.Constant | ast.JoinedStr)
                and not (isinstance(root, ast.Name) and root.id in foreign)
            ):
                yield function.attr


@cache
def raising() -> frozenset[str]:
    """The names of functions that may raise an error of zarrscope: they do so themselves, or call one that does."""
    calls: dict[str, set[str]] = {}
    found: set[str] = set()
    for module in modules().values():
        foreign = strangers(module)
        for function in ast.walk(module):
            if isinstance(function, FUNCTIONS):
                calls.setdefault(function.name, set()).update(called(function, foreign))
                for node in ast.walk(function):
                    if isinstance(node, ast.Raise) and node.exc is not None:
                        names = {each.id for each in ast.walk(node.exc) if isinstance(each, ast.Name)}
                        attributes = {each.attr for each in ast.walk(node.exc) if isinstance(each, ast.Attribute)}
                        if (names | attributes) & OURS or isinstance(node.exc, ast.Name):
                            found.add(function.name)
    while True:
        more = {name for name, each in calls.items() if name not in found and each & found}
        if not more:
            return frozenset(found)
        found |= more


def names_of(kind: ast.expr | None) -> set[str]:
    if kind is None:
        return {"BaseException"}
    return {each.id for each in ast.walk(kind) if isinstance(each, ast.Name)} | {
        each.attr for each in ast.walk(kind) if isinstance(each, ast.Attribute)
    }


def handlers(module: ast.Module) -> Iterator[tuple[str, int, list[ast.stmt]]]:
    """(function, line, guarded block) of each handler of a built-in error without an earlier handler of zarrscope's
    errors."""
    constants = {
        target.id: names_of(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def takes(kind: ast.expr | None) -> set[str]:
        return set().union(*({name} | constants.get(name, set()) for name in names_of(kind)))

    for function in ast.walk(module):
        if not isinstance(function, FUNCTIONS):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Try):
                for handler in node.handlers:
                    kinds = takes(handler.type)
                    if "ZarrscopeError" in kinds:
                        break
                    if kinds & TAKEN:
                        yield function.name, handler.lineno, node.body
                        break
            elif isinstance(node, ast.With):
                for i, item in enumerate(node.items):
                    call = item.context_expr
                    if not (isinstance(call, ast.Call) and names_of(call.func) & {"suppress"}):
                        continue
                    kinds = set().union(*map(takes, call.args))
                    if kinds & TAKEN and "ZarrscopeError" not in kinds:
                        inner: list[ast.stmt] = [ast.Expr(each.context_expr) for each in node.items[i + 1 :]]
                        yield function.name, node.lineno, inner + node.body


def found() -> Iterator[tuple[str, str, str, int]]:
    for name, module in modules().items():
        foreign = strangers(module)
        managers = {
            each.name
            for each in ast.walk(module)
            if isinstance(each, FUNCTIONS) and any("contextmanager" in ast.dump(d) for d in each.decorator_list)
        }
        for function, line, block in handlers(module):
            for call in {each for statement in block for each in called(statement, foreign)}:
                if call in raising() or (call == "yield" and function in managers):
                    yield name, function, call, line


def test_no_handler_of_a_built_in_error_takes_one_of_ours_by_accident() -> None:
    seen = list(found())
    wrong = [
        f"{name}:{line} {function}: {call}" for name, function, call, line in seen if (function, call) not in ALLOWED
    ]
    assert not wrong, "handle ZarrscopeError first, or say in ALLOWED why none can come:\n" + "\n".join(sorted(wrong))
    stale = ALLOWED.keys() - {(function, call) for _, function, call, _ in seen}
    assert not stale, f"these stand in ALLOWED for nothing: {stale}"
