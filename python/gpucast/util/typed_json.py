"""Dataclasses to and from JSON values: a class is the only list of the keys that a file has.

Keys are the fields' names, or ``key`` of a field's metadata (None: no key). A field with a default
may be missing; one with ``omit`` in its metadata is not written where it is None. Annotations may
be dataclasses, ``str``, ``bool``, ``int``, ``float``, ``list``, ``dict`` of strings, pairs,
``| None``, ``Any``, and these with ``Bounds`` or ``Ascending``.

No schema library: it would take longer to load than a forecast takes to make.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from math import isnan
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from gpucast.errors import InputError

LARGEST_NUMBER = 1e150
"""Nothing measured comes near, and beyond it squares overflow."""

T = TypeVar("T")


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

    def allow(self, value: Any) -> bool:
        """Whether a value is within."""
        if isinstance(value, str):
            return self.characters is None or len(value) >= self.characters
        return (
            (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
        )

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        limits = {
            "gt": self.above,
            "ge": self.least,
            "le": self.most,
            "min_length": self.characters,
        }
        stated = {name: value for name, value in limits.items() if value is not None}
        return {**handler(source), **stated, "strict": True}


class WrongValueError(InputError):
    """A value that is not what its place needs; ``field`` says where."""


def to_json(value: Any) -> Any:
    """JSON values of a dataclass and all it holds. Numbers and strings are as they were."""
    if is_dataclass(value):
        return {_key(each): to_json(getattr(value, each.name)) for each in _present(value)}
    if isinstance(value, dict):
        return {key: to_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(each) for each in value]
    return value


def from_json(kind: type[T], value: Any, field: str = "") -> T:
    """The object of class ``kind`` that JSON values describe; unknown keys are left out.

    Raises:
        WrongValueError: the first key that is missing or wrong.
    """
    found: T = _read(kind, value, field)
    return found


def _present(value: Any) -> Iterator[Field[Any]]:
    kind: Any = type(value)
    for each in _fields(kind):
        if not each.metadata.get("omit") or getattr(value, each.name) is not None:
            yield each


def _key(field: Field[Any]) -> str:
    return str(field.metadata.get("key", field.name))


@cache
def _fields(kind: Any) -> tuple[Field[Any], ...]:
    return tuple(each for each in fields(kind) if each.metadata.get("key", "") is not None)


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _read(kind: Any, value: Any, field: str) -> Any:
    bare, rules, nullable = _taken_apart(kind)
    if value is None and nullable:
        return None
    if is_dataclass(bare):
        return _read_object(bare, value, field)
    inner = get_args(bare)
    origin = get_origin(bare)
    if origin is dict:
        items = _container(dict, value, "an object", field).items()
        return {key: _read(inner[1], each, f"{field}.{key}") for key, each in items}
    if origin is list:
        values = _container(list, value, "a list", field)
        if _all_hold(inner[0], values):
            return values
        return [_read(inner[0], each, f"{field}[{i}]") for i, each in enumerate(values)]
    if not _holds(bare, rules, value):
        raise _wrong(f"must be {'null or ' if nullable else ''}{_words(bare, rules)}", field)
    return tuple(value) if origin is tuple else value


def _read_object(kind: Any, value: Any, field: str) -> Any:
    _container(dict, value, "an object", field)
    types = _types(kind)
    found = {}
    for each in _fields(kind):
        key = _key(each)
        within = f"{field}.{key}" if field else key
        if key in value:
            found[each.name] = _read(types[each.name], value[key], within)
        elif each.default is MISSING and each.default_factory is MISSING:
            raise _wrong("missing", within)
    return kind(**found)


@cache
def _taken_apart(kind: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """A type without bounds and ``| None``, its bounds, and whether there was a None."""
    rules: tuple[Any, ...] = ()
    nullable = False
    while True:
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            rules += tuple(more)
        elif get_origin(kind) in (Union, UnionType):
            (kind,) = (each for each in get_args(kind) if each is not type(None))
            nullable = True
        else:
            return kind, rules, nullable


def _container(kind: type[T], value: Any, words: str, field: str) -> T:
    if not isinstance(value, kind):
        raise _wrong(f"must be {words}", field)
    return value


def _holds(kind: Any, rules: tuple[Any, ...], value: Any) -> bool:
    if kind is float:
        right = type(value) in (int, float) and abs(value) <= LARGEST_NUMBER
    elif kind is Any:
        return True
    elif get_origin(kind) is tuple:
        pair = isinstance(value, (list, tuple)) and len(value) == 2
        if not pair or not all(_holds(*_taken_apart(get_args(kind)[0])[:2], v) for v in value):
            return False
        return Ascending not in rules or value[0] <= value[1]
    else:
        right = type(value) is kind
    return right and all(rule.allow(value) for rule in rules if isinstance(rule, Bounds))


def _all_hold(kind: Any, values: list[Any]) -> bool:
    """Whether all of a list are numbers as they should be, by its extremes: a replicate's values
    are many."""
    bare, rules, _ = _taken_apart(kind)
    numbers = {float: {float, int}, int: {int}}.get(bare, set())
    if not values or not numbers.issuperset(map(type, values)):
        return False
    extremes = (min(values), max(values))
    return not any(map(isnan, values)) and all(_holds(bare, rules, each) for each in extremes)


def _words(kind: Any, rules: tuple[Any, ...]) -> str:
    if get_origin(kind) is tuple:
        several = "whole numbers" if _taken_apart(get_args(kind)[0])[0] is int else "numbers"
        return f"two {several}" + (", ascending" if Ascending in rules else "")
    if kind is str:
        return "a string"
    if kind is bool:
        return "true or false"
    bounds = next((rule for rule in rules if isinstance(rule, Bounds)), Bounds())
    least = bounds.least
    if kind is int:
        return "a whole number" + ("" if least is None else f" from {least}")
    if bounds.above == 0:
        return "a positive number"
    return "a number" + ("" if least is None else f" of at least {least}")


def _wrong(message: str, field: str) -> WrongValueError:
    return WrongValueError(message, field=field or None)
