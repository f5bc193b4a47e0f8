"""Dataclasses to and from JSON values: a class is the only list of the keys that a file has.

Keys are the fields' names, or ``key`` of a field's metadata (None: no key). A field with a default
may be missing; one with ``omit`` in its metadata is not written where it is None. Annotations may
be dataclasses, ``str``, ``bool``, ``int``, ``float``, ``list``, ``dict`` of strings, pairs,
``None``, ``| None``, and these with ``Bounds`` or ``Ascending``.

No schema library: it would take longer to load than a forecast takes to make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from gpucast.errors import InputError

LARGEST_NUMBER = 1e150
"""Nothing measured comes near, and beyond it squares overflow."""

T = TypeVar("T")
_Handler = Callable[[object], dict[str, object]]


class Ascending:
    """A pair whose second value is at least the first."""


class Bounds:
    """What a number or text has to be: more than, at least, at most; so many characters or more.

    pydantic understands it, too, and then takes no text or truth value for a number.
    """

    def __init__(
        self,
        *,
        above: float | None = None,
        least: float | None = None,
        most: float | None = None,
        characters: int | None = None,
    ) -> None:
        self.above, self.least, self.most, self.characters = above, least, most, characters

    def allow(self, value: float | str) -> bool:
        """Whether a value is within."""
        if isinstance(value, str):
            return self.characters is None or len(value) >= self.characters
        return (
            (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )

    def __get_pydantic_core_schema__(self, source: object, handler: _Handler) -> dict[str, object]:
        names = {"gt": self.above, "ge": self.least, "le": self.most, "min_length": self.characters}
        stated = {name: value for name, value in names.items() if value is not None}
        return {**handler(source), **stated, "strict": True}


class WrongValueError(InputError):
    """A value that is not what its place needs; ``field`` says where."""


def to_json(value: object) -> Any:
    """JSON values of a dataclass and all it holds. Numbers and strings are as they were."""
    if is_dataclass(value):
        held = {member: getattr(value, member.name) for member, _ in _fields(type(value))}  # type: ignore[arg-type]
        return {
            _key(member): to_json(inner)
            for member, inner in held.items()
            if inner is not None or not member.metadata.get("omit")
        }
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def from_json(kind: type[T], value: object, field: str = "") -> T:
    """The object of class ``kind`` that JSON values describe; unknown keys are left out.

    Raises:
        WrongValueError: the first key that is missing or wrong.
    """
    given = _container(dict, value, "an object", field)
    values = {}
    for member, inner in _fields(kind):  # type: ignore[arg-type]
        key = _key(member)
        within = f"{field}.{key}" if field else key
        if key in given:
            values[member.name] = _read(inner, given[key], within)
        elif member.default is MISSING and member.default_factory is MISSING:
            raise _wrong("missing", within)
    return kind(**values)


def _key(field: Field[object]) -> str:
    return str(field.metadata.get("key", field.name))


@cache
def _fields(kind: Any) -> list[tuple[Field[object], object]]:
    """The fields that have keys, with their types."""
    types = get_type_hints(kind, include_extras=True)
    keyed = (member for member in fields(kind) if member.metadata.get("key", "") is not None)
    return [(member, types[member.name]) for member in keyed]


def _read(kind: object, value: object, field: str) -> object:
    bare, rules, nullable = _taken_apart(kind)
    if value is None and nullable:
        return None
    if isinstance(bare, type) and is_dataclass(bare):
        return from_json(bare, value, field)
    origin, inner = get_origin(bare), get_args(bare)
    if origin is dict:
        items = _container(dict, value, "an object", field).items()
        return {key: _read(inner[1], item, f"{field}.{key}") for key, item in items}
    if origin is list:
        values = _container(list, value, "a list", field)
        if _all_hold(inner[0], values):
            return values
        return [_read(inner[0], item, f"{field}[{i}]") for i, item in enumerate(values)]
    if not _holds(bare, rules, value):
        raise _wrong(f"must be {'null or ' if nullable else ''}{_words(bare, rules)}", field)
    return tuple(value) if isinstance(value, list) else value


@cache
def _taken_apart(kind: object) -> tuple[object, tuple[object, ...], bool]:
    """A type without bounds and ``| None``, its bounds, and whether there was a None."""
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        bare, rules, nullable = _taken_apart(inner)
        return bare, (*rules, *more), nullable
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        (inner,) = (part for part in get_args(kind) if part is not type(None))
        return *_taken_apart(inner)[:2], True
    return kind, (), False


def _container(kind: type[T], value: object, words: str, field: str) -> T:
    if not isinstance(value, kind):
        raise _wrong(f"must be {words}", field)
    return value


def _holds(kind: object, rules: tuple[object, ...], value: Any) -> bool:
    if kind is float:
        right = type(value) in (int, float) and abs(value) <= LARGEST_NUMBER
    elif kind in (int, str, bool):
        right = type(value) is kind
    else:
        bare, inner_rules, _ = _taken_apart(get_args(kind)[0])
        pair = isinstance(value, (list, tuple)) and len(value) == 2
        right = pair and all(_holds(bare, inner_rules, end) for end in value)
        right = right and (Ascending not in rules or value[0] <= value[1])
    return right and all(rule.allow(value) for rule in rules if isinstance(rule, Bounds))


def _all_hold(kind: object, values: list[Any]) -> bool:
    """Whether all of a list are numbers as they should be, by its extremes: a replicate's values
    are many."""
    bare, rules, _ = _taken_apart(kind)
    allowed: set[type] = {float, int} if bare is float else {int} if bare is int else set()
    if not values or not allowed.issuperset(map(type, values)):
        return False
    extremes = (min(values), max(values))
    # The extremes say nothing of what is not a number.
    if any(value != value for value in values):
        return False
    return all(_holds(bare, rules, extreme) for extreme in extremes)


def _words(kind: object, rules: tuple[object, ...]) -> str:
    if get_origin(kind) is tuple:
        several = "whole numbers" if _taken_apart(get_args(kind)[0])[0] is int else "numbers"
        return f"two {several}" + (", ascending" if Ascending in rules else "")
    if kind in (str, bool):
        return "a string" if kind is str else "true or false"
    bounds = next((rule for rule in rules if isinstance(rule, Bounds)), Bounds())
    least = bounds.least
    if kind is int:
        return "a whole number" + ("" if least is None else f" from {least}")
    if bounds.above == 0:
        return "a positive number"
    return "a number" + ("" if least is None else f" of at least {least}")


def _wrong(message: str, field: str) -> WrongValueError:
    return WrongValueError(message, field=field or None)
