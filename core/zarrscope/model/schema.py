"""The part of JSON Schema that zarrscope needs: finds the violations of a schema and describes them in words.

The tables of codecs, data types, chunk grids and chunk key encodings use it to describe valid configurations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


Schema = Mapping[str, Any]


def integer(low: int | None = None, high: int | None = None, **more: JSON) -> Schema:
    """The JSON schema of a whole number within bounds."""
    bounds = {"minimum": low, "maximum": high}
    return {"type": "integer", **{name: n for name, n in bounds.items() if n is not None}, **more}


def one_of(*values: JSON, **more: JSON) -> Schema:
    """The JSON schema of a value that is one of these."""
    return {"enum": list(values), **more}


SchemaFault = tuple[str, str]
"""(JSON pointer, the fault as a clause: "must be an integer")."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": Mapping,
    "array": (list, tuple),
    "string": str,
    "null": type(None),
    "boolean": bool,
}
_ARTICLES = {"object": "an object", "array": "a list", "string": "text", "null": "null", "boolean": "true or false"}
_ARTICLES |= {"integer": "a whole number", "number": "a number"}


def faults(value: JSON, schema: Schema, pointer: str = "") -> Iterator[SchemaFault]:
    """The faults of `value` under the schema. Only keywords that the tables of zarrscope use are supported."""
    if "enum" in schema and not any(type(value) is type(each) and value == each for each in schema["enum"]):
        yield pointer, "must be one of " + ", ".join(map(_shown, schema["enum"]))
        return
    wanted = schema.get("type", [])
    types: Sequence[str] = [wanted] if isinstance(wanted, str) else wanted
    if types and not any(_is(value, name) for name in types):
        yield pointer, "must be " + " or ".join(_ARTICLES[name] for name in types)
        return
    if type(value) in (int, float):
        low, high, step = schema.get("minimum"), schema.get("maximum"), schema.get("multipleOf")
        if low is not None and value < low:
            yield pointer, f"must be at least {low}, and is {value}"
        if high is not None and value > high:
            yield pointer, f"must be at most {high}, and is {value}"
        if step is not None and value % step:
            yield pointer, f"must be a multiple of {step}, and is {value}"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield pointer, "must not be empty"
    if isinstance(value, list | tuple):
        if len(value) < schema.get("minItems", 0):
            yield pointer, "must not be empty"
        if "items" in schema:
            for i, item in enumerate(value):
                yield from faults(item, schema["items"], f"{pointer}/{i}")


def member_faults(
    value: Mapping[str, JSON], members: Mapping[str, Schema], required: Sequence[str], pointer: str
) -> Iterator[SchemaFault]:
    """The faults of an object under the schemas of its members; a member without a schema is a fault."""
    for name in required:
        if name not in value:
            yield pointer, f"lacks the member {_shown(name)}"
    for name, each in value.items():
        here = f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"
        if name in members:
            yield from faults(each, members[name], here)
        else:
            yield here, "is not an allowed member"


def _is(value: JSON, name: str) -> bool:
    if name == "integer":
        return type(value) is int
    if name == "number":
        return type(value) in (int, float)
    return isinstance(value, _TYPES[name])


def _shown(value: JSON) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
