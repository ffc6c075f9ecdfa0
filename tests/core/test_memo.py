"""Results are cached by one bounded, thread-safe class, and the constants tuned for speed stand in one file."""

from __future__ import annotations

import ast
import re
import sys
import threading

import pytest

import machine
from zarrscope.runtime import memo
from zarrscope.runtime.memo import Memo, forget_all, memoized

CORE = machine.ROOT / "core" / "zarrscope"


def test_no_more_is_remembered_than_is_said_and_errors_are_not() -> None:
    asked: list[int] = []

    @memoized(3)
    def double(number: int) -> int:
        asked.append(number)
        if number < 0:
            raise ValueError("negative")
        return 2 * number

    try:
        for _ in range(2):
            assert [double(number) for number in (1, 2, 3)] == [2, 4, 6]
        assert asked == [1, 2, 3]
        double(4)
        double(1)
        assert asked == [1, 2, 3, 4, 1]
        for _ in range(2):
            with pytest.raises(ValueError, match="negative"):
                double(-1)
        assert asked[-2:] == [-1, -1]
        held = Memo[int](2)
        for number in (1, 2, 1, 3):
            held.put(number, number)
        assert [held.get(number) for number in (1, 2, 3)] == [1, None, 3]
        forget_all()
        assert not len(held)
        assert 3 not in held
        double(1)
        assert asked[-1] == 1
    finally:
        del memo._forget[-2:]


def test_threads_share_one() -> None:
    """Many threads store, look up and clear at once, with very frequent thread switches."""
    held, faults = Memo[int](50), []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(seed: int) -> None:
        try:
            for number in range(3000):
                key = (seed * 7919 + number * 31) % 211
                held.put(key, key)
                found = held.get((key * 3) % 211)
                assert found is None or found == (key * 3) % 211
                assert len(held) <= 51
                if number % 500 == 0:
                    held.clear()
        except BaseException as error:
            faults.append(error)

    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
        memo._forget.remove(held.clear)
    assert not faults
    assert len(held) <= 50


OWNERS = {"runtime/memo.py", "chunkio/locator.py", "chunkio/presence.py", "nodes/document_cache.py", "view/cache.py"}
"""Modules that cache contents of stores, which other programs may change; each has its own tests."""


OF_ONE_OBJECT = {"stores/reference_targets.py"}
"""Modules with a bounded cache that lives as long as the object that made it, such as the HTTPStore of each file. A
memo would keep it as long as the process."""
PLAIN_CACHES = {
    "errors/visible.py": {"_unsafe", "_unsafe_in_lines"},  # a layer below `runtime`, so they cannot import memo.py
    "nodes/hierarchy.py": {"_array_class"},  # imports a class when the first array is opened
    "stores/file_address.py": {"_local_store"},  # imports a class, as above
    "stores/zarr_python_adapter.py": {"adapter"},  # makes a class; a second one would break isinstance and pickles
    "view/lazy_calls.py": {"result_class"},  # makes a class, as above
}
"""Module → functions without arguments that use functools.cache, with the reason why they are not memoized."""


def test_nothing_else_remembers_results() -> None:
    texts = {path.relative_to(CORE).as_posix(): path.read_text("utf-8") for path in CORE.rglob("*.py")}
    found = {path for path, text in texts.items() if re.search(r"\blru_cache\(|OrderedDict\[", text)}
    assert found == OWNERS | OF_ONE_OBJECT
    plain: dict[str, set[str]] = {}
    for path in {path for path, text in texts.items() if re.search(r"\bfunctools\b.*\bcache\b|functools\.cache", text)}:
        for node in ast.walk(ast.parse(texts[path])):
            decorators = [ast.unparse(each) for each in getattr(node, "decorator_list", ())]
            if isinstance(node, ast.FunctionDef) and {"cache", "functools.cache"} & {*decorators}:
                plain.setdefault(path, set()).add(node.name)
                assert not ast.unparse(node.args), f"{path}: @cache of {node.name} has no bound: use memoized"
        assert path in plain, f"{path} imports functools.cache: use memoized"
    assert plain == PLAIN_CACHES


def test_each_number_of_tuning_says_what_it_means_and_how_it_was_found_and_is_used() -> None:
    text = (CORE / "runtime" / "tuning.py").read_text("utf-8")
    body = ast.parse(text).body
    names = [
        node.targets[0].id for node in body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    assert len(names) > 45
    everything = "\n".join(path.read_text("utf-8") for path in CORE.rglob("*.py") if path.name != "tuning.py")
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign):
            continue
        name = ast.unparse(node.targets[0])
        assert isinstance(after, ast.Expr), f"{name} does not say what it means"
        assert isinstance(after.value, ast.Constant)
        said = str(after.value.value)
        assert re.search(r"bench|Not\smeasured|heartbeat|saves|…", said), f"{name} does not say how it was found"
        assert re.search(rf"\b{name}\b", everything), f"{name} is used nowhere"
