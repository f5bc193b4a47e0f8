"""pydantic's complaints in one line of plain words: which field, what is wrong, what was given."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "string_type": "a string",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


def message_of(detail: ErrorDetails) -> str:
    """What is wrong with a field, and what was given."""
    kind = detail["type"]
    context = detail.get("ctx", {})
    value = shown(detail.get("input"))
    fixed = {
        "missing": "missing",
        "string_unicode": f"{value} is not valid Unicode",
        "extra_forbidden": "unknown field",
        "finite_number": "not a finite number",
    }
    if kind in fixed:
        return fixed[kind]
    if kind == "greater_than":
        return f"must be greater than {_number(context.get('gt'))}, got {value}"
    if kind == "greater_than_equal":
        return f"must be at least {_number(context.get('ge'))}, got {value}"
    if kind == "less_than":
        return f"must be less than {_number(context.get('lt'))}, got {value}"
    if kind == "less_than_equal":
        return f"must be at most {_number(context.get('le'))}, got {value}"
    if kind in ("literal_error", "enum"):
        allowed = str(context.get("expected", "")).replace("'", "").replace(" or ", ", ")
        return f"{value} is unknown; it is one of {allowed}"
    if kind in ("string_pattern_mismatch", "string_too_short") and detail.get("input") == "":
        return "must not be empty"
    if kind == "string_pattern_mismatch":
        return f"{value} has control characters"
    if kind in _EXPECTED:
        return f"must be {_EXPECTED[kind]}, got {value}"
    return " ".join(f"{detail['msg']}, got {value}".split())


def path_of(parts: Iterable[int | str]) -> str | None:
    """Where a field is: ``machines[0].gpus``; None for the whole."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    # Keys come from the file: they may hold anything.
    return text.encode("unicode_escape").decode() if not text.isprintable() else text or None


def shown(value: object) -> str:
    """A value for a message: short, one line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    if not text.isprintable():
        text = ascii(text)[1:-1]
    return text if len(text) <= 40 else text[:37] + "..."


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
