"""Converts older model files to the current content.

The exponent p of ``occupancy`` was a structural integer of the model and of each replicate; it is
now a parameter. ``work`` had no ``t_root``, which is equivalent to a negligible one. Warnings were
texts alone. Whether threads sleep on a what-if's path was derived from its name, and the time of
its skeletons did not depend on how long GPUs were busy. Piecewise linear terms were removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpucast.data.selection import usual
from gpucast.errors import InputError
from gpucast.util.remarks import Kind, remarks_of
from gpucast.util.typed_json import from_json, to_json

_NOTHING = 1e-30
"""A negligible parameter (s); parameters have to be above 0."""

_GONE = {"residency": "occupancy", "pairs": "work", "cached": "bent"}
"""Terms that no longer exist, and the terms that replace them."""

_P = {"unit": "", "meaning": "how sharply one regime takes over from the other"}
_ROOT = {"unit": "s", "meaning": "time that grows with the root of the interactions"}


@dataclass
class _Warnings:
    warnings: list[str]


def with_remarks(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a model file with remarks, for which older files only have texts.

    Raises:
        WrongValueError: the texts are not a list of strings.
    """
    texts = from_json(_Warnings, content).warnings
    return {"remarks": to_json(remarks_of(Kind.UNSORTED, texts)), **content}


def renewed(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a model file in its current form.

    Content that is damaged, or needs nothing, is returned as it is.

    Raises:
        InputError: a term of the model no longer exists.
    """
    terms = content.get("model")
    for part, term in terms.items() if isinstance(terms, dict) else ():
        if isinstance(term, str) and term in _GONE:
            raise InputError(
                f"the term {term!r} is gone ({_GONE[term]!r} describes the same); fit the data "
                "again",
                field=f"model.{part}",
            )
    return _with_parameters(_with_waits(_with_sleep(content)))


def _with_sleep(content: dict[str, Any]) -> dict[str, Any]:
    known, data = content.get("other_path"), content.get("data")
    source = data.get("what_if") if isinstance(data, dict) else None
    if not (isinstance(known, dict) and isinstance(source, dict)) or "sleeps" in known:
        return content
    sleeps = bool(usual(source.get("path")).forwarded)
    return {**content, "other_path": {**known, "sleeps": sleeps}}


def _with_waits(content: dict[str, Any]) -> dict[str, Any]:
    """Add equal waits if skeletons have none."""
    known = content.get("other_path")
    if not (isinstance(known, dict) and isinstance(known.get("n"), list)):
        return content
    return {**content, "other_path": {"wait": [1.0] * len(known["n"]), **known}}


def _with_parameters(content: dict[str, Any]) -> dict[str, Any]:
    """Add the parameters that its GPU term has today."""
    terms, parameters = content.get("model"), content.get("parameters")
    drawn = content.get("bootstrap")
    if not (isinstance(terms, dict) and isinstance(parameters, dict) and isinstance(drawn, dict)):
        return content
    term, p = terms.get("gpu"), content.get("p")
    integers = drawn.get("integers")
    if term == "occupancy" and "p" not in parameters and type(p) is int:
        entry = {**_P, "value": float(p), "identified": False, "stderr": None, "ci95": None}
        drawn = {**_with(drawn, "p", "t_blk", integers), "integers": _ones(integers)}
        return {**content, "parameters": {**parameters, "p": entry}, "bootstrap": drawn}
    if term == "work" and "t_root" not in parameters:
        entry = {**_ROOT, "value": _NOTHING, "identified": False, "observed": False}
        entry |= {"stderr": None, "ci95": None}
        nothing = [_NOTHING] * len(integers) if isinstance(integers, list) else None
        drawn = _with(drawn, "t_root", "t_pair", nothing)
        return {**content, "parameters": {**parameters, "t_root": entry}, "bootstrap": drawn}
    return content


def _with(drawn: dict[str, Any], name: str, after: str, column: object) -> dict[str, Any]:
    """Return replicates with an additional parameter after ``after``."""
    names, rows = drawn.get("parameters"), drawn.get("values")
    if not (isinstance(names, list) and isinstance(rows, list) and isinstance(column, list)):
        return drawn
    if after not in names or len(rows) != len(column):
        return drawn
    at = names.index(after) + 1
    longer = [
        [*row[:at], value, *row[at:]] if isinstance(row, list) else row
        for row, value in zip(rows, column, strict=True)
    ]
    return {**drawn, "parameters": [*names[:at], name, *names[at:]], "values": longer}


def _ones(integers: object) -> object:
    return [1] * len(integers) if isinstance(integers, list) else integers
