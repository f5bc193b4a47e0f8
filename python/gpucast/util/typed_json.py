"""Converts dataclasses to and from JSON and YAML values; a class defines the keys of a file.

Keys are the fields' names without a final ``_`` (``from_``), or ``key`` of a field's metadata
(None: no key). A field with a default may be missing; one with ``omit`` in its metadata is not
written if it is None. Annotations may be dataclasses, enumerations, ``Literal``, ``str``, ``bool``,
``int``, ``float`` (integers stay integers), ``Fraction``, ``object`` (anything), ``list``, ``dict``
of strings, tuples, unions, and these ``Annotated`` with rules for values, with functions that
convert the given value before it is read (they raise ``ValueError`` or ``InputError``), and with a
string that describes the field.

There is no schema library because loading pydantic took half the time of ``gpucast predict``.
"""

from __future__ import annotations

import difflib
import json
import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from gpucast.errors import InputError

LARGEST_NUMBER = 1e150
"""Largest number without a rule: squares of larger ones overflow, and no measurement comes near."""

Location = tuple[int | str, ...]
"""Keys and list positions that lead to a value."""

T = TypeVar("T")

Reader = Callable[[Any], Any]


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None

    def problem(self, value: float) -> str | None:
        """Return what is wrong with a value, or None."""
        if value != value or abs(value) == float("inf"):
            return "must be a finite number"
        for limit, words, holds in (
            (self.above, "greater than", operator.gt),
            (self.least, "at least", operator.ge),
            (self.below, "less than", operator.lt),
            (self.most, "at most", operator.le),
        ):
            if limit is not None and not holds(value, limit):
                return f"must be {words} {limit:.15g}"
        return None


@dataclass(frozen=True)
class Length:
    """Bounds of the number of characters or entries."""

    least: int = 1
    most: int = 2**63

    def problem(self, value: Sequence[object]) -> str | None:
        """Return what is wrong with a text or list, or None."""
        if len(value) < self.least:
            return "must not be empty"
        return None if len(value) <= self.most else f"must not be longer than {self.most}"


@dataclass(frozen=True)
class Pattern:
    """A regular expression that a whole text must match, and the message if it does not."""

    expression: str
    wrong: str

    def problem(self, value: str) -> str | None:
        """Return what is wrong with a text, or None."""
        if re.fullmatch(self.expression, value):
            return None
        return self.wrong if value else "must not be empty"


@dataclass(frozen=True)
class Ascending:
    """A pair whose second value is at least the first."""

    def problem(self, value: tuple[float, float]) -> str | None:
        """Return what is wrong with a pair, or None."""
        return None if value[0] <= value[1] else "must be two numbers, ascending"


Rule = Bounds | Length | Pattern | Ascending


class WrongValueError(InputError):
    """A value is missing or wrong at ``location`` (also ``field``)."""

    def __init__(self, message: str, location: Location = ()) -> None:
        super().__init__(message, field=path_of(location))
        self.location = location


def to_json(value: object, *, nulls: bool = True) -> Any:
    """Return a dataclass and its contents as JSON values.

    ``nulls``: whether to write fields that are None and may be missing.
    """
    kind: Any = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        return {
            key: to_json(inner, nulls=nulls)
            for key, member, _ in fields_of(kind)
            if (inner := getattr(value, member.name)) is not None
            or not (member.metadata.get("omit") or (not nulls and member.default is None))
        }
    if isinstance(value, dict):
        return {key: to_json(item, nulls=nulls) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        # A shortcut, since there may be many numbers.
        return [item if type(item) is float else to_json(item, nulls=nulls) for item in value]
    return value


def from_json(kind: Callable[..., T], value: object, *, strict: bool = False) -> T:
    """Make the object of class ``kind`` that JSON values describe.

    Unknown keys are ignored, or refused if ``strict``.

    Raises:
        WrongValueError: a key is missing or wrong; the first one counts.
    """
    made: T = _reader(kind, strict)(value)
    return made


@cache
def fields_of(kind: Any) -> list[tuple[str, Field[Any], Any]]:
    """Return key, field and type of each field of a dataclass that has a key."""
    types = get_type_hints(kind, include_extras=True)
    keyed = [
        (member.metadata.get("key", member.name.rstrip("_")), member) for member in fields(kind)
    ]
    return [(key, member, types[member.name]) for key, member in keyed if key is not None]


def path_of(location: Iterable[int | str]) -> str | None:
    """Return a location as text, such as ``machines[0].gpus``; None for the whole."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    text = text.removeprefix(".")
    # Keys come from the file and may contain anything.
    return text.encode("unicode_escape").decode() if not text.isprintable() else text or None


def shown(value: object) -> str:
    """Format a value briefly for a message, on one line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    if not text.isprintable():
        text = ascii(text)[1:-1]
    return text if len(text) <= 40 else text[:37] + "..."


def near(word: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown word: a suggestion, or the known words."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"


# For speed with many records, a type is analysed once, and a field takes one call.
@cache
def _reader(kind: Any, strict: bool) -> Reader:
    """Return the function that makes values of a type; it raises WrongValueError."""
    bare, inner, conversions, rules = _analysed(kind)
    plain = _plain(bare, inner, strict)

    def read(given: Any) -> Any:
        value = given
        try:
            for convert in conversions:
                value = convert(value)
        except (ValueError, InputError) as error:
            raise WrongValueError(getattr(error, "message", str(error))) from None
        value = plain(value)
        for rule in rules:
            if value is not None and (problem := rule.problem(value)):
                raise WrongValueError(f"{problem}, got {shown(given)}")
        return value

    if conversions or not rules:
        return read if conversions else plain
    if bare in (int, float):
        return _quick_number((int,) if bare is int else (float, int), rules, read)
    return _quick_text(rules, read) if bare is str else read


def _quick_number(kinds: tuple[type, ...], rules: Sequence[Bounds], read: Reader) -> Reader:
    """Return a fast check of numbers that falls back to ``read``."""
    least = max([-_LARGEST, *(rule.least for rule in rules if rule.least is not None)])
    above = max([-math.inf, *(rule.above for rule in rules if rule.above is not None)])
    most = min([_LARGEST, *(rule.most for rule in rules if rule.most is not None)])
    below = min([math.inf, *(rule.below for rule in rules if rule.below is not None)])

    def quick(value: Any) -> Any:
        plain = type(value) in kinds and least <= value <= most and above < value < below
        return value if plain else read(value)

    return quick


def _quick_text(rules: Sequence[Length | Pattern], read: Reader) -> Reader:
    """Return a fast check of texts that falls back to ``read``."""
    lengths = [rule for rule in rules if isinstance(rule, Length)]
    least = max([0, *(length.least for length in lengths)])
    most = min([2**63, *(length.most for length in lengths)])
    expressions = [re.compile(rule.expression) for rule in rules if isinstance(rule, Pattern)]

    def quick(value: Any) -> Any:
        if type(value) is not str or not value.isascii() or not least <= len(value) <= most:
            return read(value)
        for expression in expressions:
            if not expression.fullmatch(value):
                return read(value)
        return value

    return quick


@cache
def _analysed(kind: Any) -> tuple[Any, tuple[Any, ...], list[Any], list[Any]]:
    """Return a type's origin, its arguments, converting functions, and rules."""
    if get_origin(kind) is Annotated:
        bare, inner, _, usual = _analysed(kind.__origin__)
        extras = kind.__metadata__
        rules = [extra for extra in extras if isinstance(extra, Rule)]
        rules += [] if any(getattr(rule, "most", None) for rule in rules) else usual
        return bare, inner, [extra for extra in extras if callable(extra)], rules
    origin = Union if get_origin(kind) is UnionType else get_origin(kind)
    return origin or kind, get_args(kind), [], [_FINITE] * (kind is float)


_LARGEST = sys.float_info.max
_FINITE = Bounds(least=-LARGEST_NUMBER, most=LARGEST_NUMBER)
_SCALARS: dict[Any, tuple[Any, str]] = {
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    str: (str, "a string"),
    bool: (bool, "true or false"),
    Fraction: (Fraction, "a fraction"),
    object: (object, "anything"),
}


def _plain(kind: Any, inner: tuple[Any, ...], strict: bool) -> Reader:
    """Return the function that makes values of a type without rules."""
    if kind in _SCALARS:
        return partial(_scalar, kind, *_SCALARS[kind])
    if kind is Union:
        options = [_reader(option, strict) for option in inner if option is not NoneType]
        return partial(_first_of, options, len(options) < len(inner))
    if kind is Literal or issubclass(kind, Enum):
        words = {word: word for word in inner} or {member.value: member for member in kind}
        return partial(_word, words)
    if hasattr(kind, "__dataclass_fields__"):
        return partial(_object, kind, strict)
    if kind is list:
        return partial(_list, inner[0], _reader(inner[0], strict))
    if kind is tuple:
        return partial(_tuple, [_reader(part, strict) for part in inner])
    return partial(_dict, _reader(inner[1], strict))


def _scalar(kind: Any, accepted: Any, name: str, value: Any) -> Any:
    if not isinstance(value, accepted) or (kind in (int, float) and isinstance(value, bool)):
        raise _unlike(name, value)
    if kind is str and not value.isascii() and re.search("[\ud800-\udfff]", value):
        raise WrongValueError(f"{shown(value)} is not valid Unicode")
    return value


def _first_of(options: Sequence[Reader], optional: bool, value: Any) -> Any:
    if value is None and optional:
        return None
    for read in options[:-1]:
        with suppress(WrongValueError):
            return read(value)
    return options[-1](value)


def _word(words: dict[object, object], value: Any) -> Any:
    if isinstance(value, str) and value in words:
        return words[value]
    raise WrongValueError(f"{shown(value)} is unknown; it is one of {', '.join(map(str, words))}")


@cache
def _members(kind: Any, strict: bool) -> dict[str, tuple[str, Reader, bool, bool]]:
    """Return each key's field, reader, and whether it may be None or missing."""
    members = {}
    for key, member, annotated in fields_of(kind):
        bare, inner, conversions, rules = _analysed(annotated)
        optional = bare is Union and NoneType in inner and not conversions
        options = [option for option in inner if option is not NoneType]
        single = options[0] if optional and len(options) == 1 and not rules else annotated
        usual = member.default is not MISSING or member.default_factory is not MISSING
        members[key] = (member.name, _reader(single, strict), optional, usual)
    return members


def _object(kind: Any, strict: bool, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, dict):
        raise _unlike("an object", value)
    members = _members(kind, strict)
    # A misspelt key is also missing under its right name: report the misspelling first.
    for key in value if strict else ():
        if key not in members:
            raise WrongValueError(f"unknown key{near(str(key), list(members))}", (str(key),))
    values = {}
    for key, (name, read, optional, usual) in members.items():
        if key in value:
            given = value[key]
            try:
                values[name] = None if given is None and optional else read(given)
            except WrongValueError as error:
                raise WrongValueError(error.message, (key, *error.location)) from None
        elif not usual:
            raise WrongValueError("missing", (key,))
    return kind(**values)


def _list(kind: Any, read: Reader, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise _unlike("a list", value)
    if _all_hold(kind, value):
        return list(value)
    return [_within(i, read, item) for i, item in enumerate(value)]


def _tuple(readers: Sequence[Reader], value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != len(readers):
        raise _unlike(f"a list of {len(readers)}", value)
    items = enumerate(zip(readers, value, strict=True))
    return tuple(_within(i, read, item) for i, (read, item) in items)


def _dict(read: Reader, value: Any) -> Any:
    if not isinstance(value, dict):
        raise _unlike("an object", value)
    return {key: _within(key, read, item) for key, item in value.items()}


def _within(part: int | str, read: Reader, value: Any) -> Any:
    try:
        return read(value)
    except WrongValueError as error:
        raise WrongValueError(error.message, (part, *error.location)) from None


def _all_hold(kind: Any, values: Sequence[Any]) -> bool:
    """Return whether all values of a list are valid, by its extremes, since there may be many."""
    bare, _, conversions, rules = _analysed(kind)
    if bare not in (int, float) or conversions or {bare} != {*map(type, values)}:
        return False
    # Extremes do not reveal NaN.
    return not any(map(math.isnan, values)) and not any(
        rule.problem(extreme) for rule in rules for extreme in (min(values), max(values))
    )


def _unlike(words: str, value: object) -> WrongValueError:
    return WrongValueError(f"must be {words}, got {shown(value)}")
