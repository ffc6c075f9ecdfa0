"""Reads a codec's configuration: checks the type and range of each value, and reports faults with a JSON pointer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.errors.visible import counted
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.model.metadata import CodecSpec, Configuration

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

MAX_CODECS = 64
MAX_DEPTH = 4
"""The deepest nesting of codecs in the configurations of other codecs (spec F.14)."""

_ABSENT: object = object()
T = TypeVar("T")


class Budget:
    """Counts the codecs of one array, nested ones included, and refuses more than the limit."""

    def __init__(self, depth: int = 0, total: list[int] | None = None) -> None:
        self.depth = depth
        self.total = total if total is not None else [0]

    def spend(self, count: int) -> None:
        """Adds `count` codecs to those of the array. Raises BadMetadata if they are more than MAX_CODECS."""
        self.total[0] += count
        if self.total[0] > MAX_CODECS:
            raise BadMetadata(f"This array has more than {MAX_CODECS} codecs", pointer="")

    def deeper(self) -> Budget:
        """The budget of codecs that are nested one level deeper; it counts on in the same total. Raises BadMetadata
        beneath MAX_DEPTH."""
        if self.depth + 1 > MAX_DEPTH:
            raise BadMetadata(f"Codecs are nested more than {MAX_DEPTH} levels deep", pointer="")
        return Budget(self.depth + 1, self.total)


class CodecSettings:
    """One codec's `configuration`. Faults are BadMetadata with a pointer such as "/configuration/level"."""

    def __init__(self, name: str, members: Mapping[str, Any], budget: Budget | None = None) -> None:
        self.name = name
        self.members = members
        self.budget = budget or Budget()
        self._read: set[str] = set()

    def unread(self) -> list[str]:
        """Members that the codec did not read: they may change the meaning of the bytes. Members that are null are
        ignored.
        """
        return [member for member, value in self.members.items() if member not in self._read and value is not None]

    def fault(self, member: str, problem: str) -> BadMetadata:
        """The error for a member with a wrong value, with the pointer of the member."""
        return BadMetadata(f"Codec {self.name}: {member!r} {problem}", pointer=self.pointer(member))

    def pointer(self, member: str = "") -> str:
        """The JSON pointer of a member, relative to the codec; without a member, that of the configuration."""
        return pointer_of(["configuration", member] if member else ["configuration"])

    def unfit(self, problem: str) -> BadMetadata:
        """The error for a codec that does not fit the data type, the shape or its place among the codecs, if no single
        member is at fault."""
        return BadMetadata(f"Codec {self.name} {problem}", pointer="")

    def has(self, member: str) -> bool:
        """Whether there is such a member, and it is not null. For `unread` the member counts as read."""
        self._read.add(member)
        return self.members.get(member) is not None

    def value(self, member: str, default: object = _ABSENT) -> JSON:
        """The value of a member, of any type, null included; `default` if it is absent. Raises BadMetadata if there is
        no default either."""
        self._read.add(member)
        found = self.members.get(member, _ABSENT)
        if found is _ABSENT:
            found = default
        if found is _ABSENT:
            raise BadMetadata(f"Codec {self.name} needs {member!r} in its configuration", pointer=self.pointer())
        return found

    def integer(self, member: str, default: object = _ABSENT, low: int | None = None, high: int | None = None) -> int:
        """A member that is an integer from `low` to `high`; neither a boolean nor 1.0 is one. Raises BadMetadata."""
        found = self.value(member, default)
        if type(found) is not int:
            raise self.fault(member, f"must be an integer, not {shown(found)}")
        if (low is not None and found < low) or (high is not None and found > high):
            raise self.fault(member, f"must lie in {low}…{'' if high is None else high}, not {found}")
        return found

    def number(self, member: str, default: object = _ABSENT) -> float | int:
        """A member that is an integer or a float; a boolean is none. Raises BadMetadata."""
        found = self.value(member, default)
        if type(found) is int or type(found) is float:
            return found
        raise self.fault(member, f"must be a number, not {shown(found)}")

    def boolean(self, member: str, default: object = _ABSENT) -> bool:
        """A member that is true or false; 0 and 1 are refused. Raises BadMetadata."""
        found = self.value(member, default)
        if type(found) is not bool:
            raise self.fault(member, f"must be true or false, not {shown(found)}")
        return found

    def text(self, member: str, default: object = _ABSENT) -> str:
        """A member that is a string. Raises BadMetadata."""
        found = self.value(member, default)
        if not isinstance(found, str):
            raise self.fault(member, f"must be a string, not {shown(found)}")
        return found

    def choice(self, member: str, choices: Sequence[T], default: object = _ABSENT) -> T:
        """A member that equals one of the choices, in value and type. Raises BadMetadata."""
        found = self.value(member, default)
        for choice in choices:
            if type(found) is type(choice) and found == choice:
                return choice
        raise self.fault(member, f"must be one of {', '.join(map(shown, choices))}, not {shown(found)}")

    def integers(self, member: str, length: int | None = None, low: int | None = None) -> tuple[int, ...]:
        """A member that is a list of `length` integers, each at least `low`; it has no default. Raises BadMetadata."""
        found = self.value(member)
        if not isinstance(found, list | tuple) or any(type(item) is not int for item in found):
            raise self.fault(member, f"must be a list of integers, not {shown(found)}")
        if length is not None and len(found) != length:
            raise self.fault(member, f"must have {counted(length, 'entry', 'entries')}, one per axis, not {len(found)}")
        if low is not None and any(item < low for item in found):
            raise self.fault(member, f"must have entries of at least {low}, not {shown(found)}")
        return tuple(found)

    def codecs(self, member: str, default: object = _ABSENT) -> tuple[CodecSpec, ...]:
        """A list of codecs inside this one's configuration: strings or {name, configuration, must_understand}."""
        found = self.value(member, default)
        if not isinstance(found, list | tuple):
            raise self.fault(member, f"must be a list of codecs, not {shown(found)}")
        return tuple(self._codec(item, f"{self.pointer(member)}/{i}") for i, item in enumerate(found))

    def _codec(self, item: object, pointer: str) -> CodecSpec:
        if isinstance(item, CodecSpec):
            return item
        if isinstance(item, str):
            return CodecSpec(item, spelled=item)
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
            raise BadMetadata(
                f"Codec {self.name}: a codec in it must be a name or an object with a name, not {shown(item)}",
                pointer=pointer,
            )
        configuration = item.get("configuration")
        if configuration is not None and not isinstance(configuration, Mapping):
            raise BadMetadata(
                f"Codec {item['name']}: its configuration must be an object, not {shown(configuration)}",
                pointer=pointer + "/configuration",
            )
        required = item.get("must_understand", True)
        if type(required) is not bool:
            raise BadMetadata(
                f"Codec {item['name']}: must_understand must be true or false, not {shown(required)}",
                pointer=pointer + "/must_understand",
            )
        return CodecSpec(item["name"], Configuration(configuration), required, spelled=item["name"])

    def unsupported(self, member: str, feature: str, advice: str | None = None) -> Unsupported:
        """The error for a valid value that zarrscope cannot handle, with the pointer of the member."""
        return Unsupported(
            f"Codec {self.name}: {feature} is not supported",
            feature=feature,
            pointer=self.pointer(member),
            advice=advice,
        )


def shown(value: object) -> str:
    """A JSON value, shortened for an error message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
