"""Systems whose file names ignore case or form, or forbid characters: no operation touches another node."""

from __future__ import annotations

from pathlib import Path

import pytest

from systems.test_systems import asked

CODE = r"""
    import zarrscope
    from zarrscope.nodes import move as moving
    place = given[0]
    h = zarrscope.open(place, "w-")
    h.create_array("/node", shape=(4,), dtype="u1", attributes={"n": 1})[...] = 7
    h.create_group("/é")
    told = {}
    def tried(name, act):
        try:
            act()
            told[name] = "done"
        except zarrscope.ZarrscopeError as error:
            told[name] = type(error).__name__
    tried("read", lambda: zarrscope.open(place)["/NODE"])
    tried("read within", lambda: zarrscope.open(place)["/"]["Node"])
    tried("read form", lambda: zarrscope.open(place)["/e\u0301"])
    told["contains"] = ["/NODE" in zarrscope.open(place), "/node" in zarrscope.open(place)]
    tried("erase", lambda: h.erase("/NODE"))
    tried("move", lambda: moving.move(h, "/Node", "/other"))
    tried("create", lambda: h.create_group("/NODE"))
    tried("form", lambda: h.erase("/e\u0301"))
    for bad in ("a\\b", "a:b", "a?", "con", "NUL.txt", "a.", "a ", "a|b", '"'):
        tried(bad, lambda: h.create_group("/" + bad))
    tried("really", lambda: h.save("/node", h.document("/node").set("/attributes/n", 2)))
    told["value"] = int(zarrscope.open(place)["/node"][0])
    print(json.dumps(told))
    """


@pytest.mark.parametrize("system", ["windows", pytest.param("macos", marks=pytest.mark.slow)])
def test_a_name_is_never_taken_for_another(system: str, tmp_path: Path) -> None:
    told = asked(system, CODE, str(tmp_path / "x"))
    assert told["erase"] == told["move"] == "NotFound"
    assert told["form"] == "NotFound"
    assert told["create"] != "done"
    assert told["read"] == told["read within"] == told["read form"] == "NotFound"
    assert told["contains"] == [False, True]
    if system == "windows":
        for bad in ("a\\b", "a:b", "a?", "con", "NUL.txt", "a.", "a ", "a|b", '"'):
            assert told[bad] == "Refused", bad
    assert told["really"] == "done"
    assert told["value"] == 7
