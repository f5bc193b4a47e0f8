"""What a model file must hold, so that a damaged one is refused by name before it is used.

Only what forecasts, comparisons and what-ifs read is asked for; other keys may be there. No schema
library: it would take longer to load than a forecast takes to make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpucast.errors import InputError

LARGEST_INTEGER = 100_000
"""Of k or p; the largest tried is 128."""

LARGEST_NUMBER = 1e150


@dataclass(frozen=True)
class _Leaf:
    """A value: what it must be, in words, and whether it is."""

    expected: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class _Each:
    """A list or an object of any length whose values all have one shape."""

    of: Any
    keyed: bool = False


@dataclass(frozen=True)
class _Optional:
    """A key that may be missing."""

    of: Any


def _is_number(value: Any) -> bool:
    # Nothing measured comes near the limit, and beyond it squares overflow.
    return type(value) in (int, float) and abs(value) <= LARGEST_NUMBER


def _is_integer(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


_TEXT = _Leaf("a string", lambda value: isinstance(value, str))
_FLAG = _Leaf("true or false", lambda value: isinstance(value, bool))
_TEXT_OR_NULL = _Leaf("null or a string", lambda value: value is None or isinstance(value, str))
_FLAG_OR_NULL = _Leaf("null, true or false", lambda v: v is None or isinstance(v, bool))
_POSITIVE = _Leaf("a positive number", lambda value: _is_number(value) and value > 0)
_NOT_NEGATIVE = _Leaf("a number of at least 0", lambda value: _is_number(value) and value >= 0)
_NOT_NEGATIVE_OR_NULL = _Leaf(
    "null or a number of at least 0", lambda v: v is None or _NOT_NEGATIVE.holds(v)
)
_INTEGER = _Leaf("a whole number from 1", lambda value: _is_integer(value, 1, LARGEST_INTEGER))
_STRUCTURE = _Leaf("null or a whole number from 1", lambda v: v is None or _INTEGER.holds(v))
_NUMBER_OR_NULL = _Leaf("null or a number", lambda value: value is None or _is_number(value))
_INTERVAL = _Leaf(
    "null or two numbers",
    lambda v: v is None or (isinstance(v, list) and len(v) == 2 and all(map(_is_number, v))),
)
_RANGE = _Leaf(
    "two whole numbers, ascending",
    lambda v: (
        isinstance(v, list)
        and len(v) == 2
        and all(_is_integer(each, 1, 2**62) for each in v)
        and v[0] <= v[1]
    ),
)

SHAPE: dict[str, Any] = {
    "model": {"gpu": _TEXT, "cpu": _TEXT, "com": _TEXT},
    "k": _STRUCTURE,
    "p": _STRUCTURE,
    "breakpoints": _Each(_Each(_POSITIVE), keyed=True),
    "chains": _Optional({"gpu": _Each(_POSITIVE), "cpu": _Each(_POSITIVE)}),
    "parameters": _Each(
        {
            "value": _POSITIVE,
            "unit": _TEXT,
            "identified": _FLAG,
            "observed": _Optional(_FLAG),
            "stderr": _NUMBER_OR_NULL,
            "ci95": _INTERVAL,
            "meaning": _TEXT,
        },
        keyed=True,
    ),
    "combinations": _Each({"expression": _TEXT, "parameters": _Each(_TEXT)}),
    "noise": {
        "sample": _NOT_NEGATIVE,
        "pure_error": _NOT_NEGATIVE_OR_NULL,
        "between_cells": _NOT_NEGATIVE,
        "t90": _POSITIVE,
    },
    "kernel_start": _Optional(_NOT_NEGATIVE_OR_NULL),
    "domain": {"n": _RANGE, "gpus": _RANGE},
    "machine": {"cores": _NOT_NEGATIVE, "sms": _NOT_NEGATIVE, "block": _NOT_NEGATIVE},
    "data": {
        "name": _TEXT,
        "path": _TEXT,
        "schedule": _TEXT,
        "kernel": _TEXT,
        "memory": _Optional(_TEXT_OR_NULL),
        "graph": _Optional(_FLAG_OR_NULL),
        "boundary": _Optional(_TEXT_OR_NULL),
        "what_if": _Optional({"path": _TEXT}),
    },
    "warnings": _Each(_TEXT),
    "bootstrap": {
        "parameters": _Each(_TEXT),
        "integers": _Each(_INTEGER),
        "values": _Each(_Each(_POSITIVE)),
    },
}


def check(content: dict[str, Any], file: str) -> None:
    """Refuse content that is no model.

    Raises:
        InputError: the first key that is missing or wrong; names file and key.
    """
    _check(content, SHAPE, "", file)


def _check(value: Any, shape: Any, field: str, file: str) -> None:
    if isinstance(shape, _Leaf):
        if not shape.holds(value):
            raise _damaged(f"must be {shape.expected}", file, field)
    elif isinstance(shape, _Each):
        for name, each in _items(value, shape.keyed, field, file):
            _check(each, shape.of, field + name, file)
    else:
        _items(value, True, field, file)
        for key, inner in shape.items():
            within = f"{field}.{key}" if field else key
            if key in value:
                of = inner.of if isinstance(inner, _Optional) else inner
                _check(value[key], of, within, file)
            elif not isinstance(inner, _Optional):
                raise _damaged("missing", file, within)


def _items(value: Any, keyed: bool, field: str, file: str) -> list[tuple[str, Any]]:
    if keyed:
        if not isinstance(value, dict):
            raise _damaged("must be an object", file, field)
        return [(f".{key}", each) for key, each in value.items()]
    if not isinstance(value, list):
        raise _damaged("must be a list", file, field)
    return [(f"[{i}]", each) for i, each in enumerate(value)]


def _damaged(message: str, file: str, field: str) -> InputError:
    return InputError(f"{message}; the model file is damaged", file=file, field=field or None)
