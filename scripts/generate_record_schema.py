"""Write records/gpucast.record.schema.json from the classes in gpucast.data.records.

Run it after any change of the records: python scripts/generate_record_schema.py
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import MISSING
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from gpucast.data.records import KINDS
from gpucast.util.typed_json import Bounds, Length, Pattern, fields_of, to_json

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "records" / "gpucast.record.schema.json"
VOCABULARY = tomllib.loads((ROOT / "schema" / "vocabulary.toml").read_text(encoding="utf-8"))
MEANINGS = {tuple(t["words"]): " ".join(t["comment"].split()) for t in VOCABULARY.values()}
"""What the words of each type of the vocabulary mean."""

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
_BOUNDS = {"above": "exclusiveMinimum", "least": "minimum", "most": "maximum"}


def json_schema() -> dict[str, object]:
    """The records' JSON Schema (draft 2020-12), for programs in other languages."""
    defs: dict[str, object] = {}
    kinds = {word: _schema(kind, defs)["$ref"] for word, kind in KINDS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:gpucast:record:1",
        "title": "gpucast.record/1",
        "description": "One line of a gpucast data file (JSON Lines). All quantities are SI.",
        "$defs": dict(sorted(defs.items())),
        "discriminator": {"propertyName": "kind", "mapping": kinds},
        "oneOf": [{"$ref": reference} for reference in kinds.values()],
    }


def _schema(kind: Any, defs: dict[str, object]) -> dict[str, Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        schema = _schema(inner[0], defs)
        for extra in inner[1:]:
            schema |= _rule(extra, "minItems" if "items" in schema else "minLength")
        return schema
    if origin is Literal:
        words = {"const": inner[0]} if len(inner) == 1 else {"type": "string", "enum": [*inner]}
        return words | ({"description": MEANINGS[inner]} if inner in MEANINGS else {})
    if origin is list:
        return {"type": "array", "items": _schema(inner[0], defs)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(inner[1], defs)}
    if inner:
        return {"anyOf": [_schema(part, defs) for part in inner]}
    if hasattr(kind, "__dataclass_fields__"):
        name = kind.__name__
        if name not in defs:
            defs[name] = _object(kind, defs)
        return {"$ref": f"#/$defs/{name}"}
    return {} if kind is object else {"type": _TYPES[kind]}


def _rule(rule: object, length: str) -> dict[str, Any]:
    match rule:
        case str():
            return {"description": rule}
        case Bounds():
            stated = {key: getattr(rule, name) for name, key in _BOUNDS.items()}
            return {key: value for key, value in stated.items() if value is not None}
        case Length():
            return {length: rule.least}
        case Pattern():
            # In some dialects of regular expressions "$" also matches before a final newline.
            return {"pattern": f"^{rule.expression}$(?!\\n)"}
    return {}  # functions convert what they are given, and refuse nothing that is JSON


def _object(kind: Any, defs: dict[str, object]) -> dict[str, object]:
    properties, required = {}, []
    for key, member, inner in fields_of(kind):
        properties[key] = _schema(inner, defs)
        if member.default is MISSING:
            required.append(key)
        elif member.default is not None:
            properties[key]["default"] = to_json(member.default, nulls=False)
    return {
        "description": "\n".join(line.strip() for line in kind.__doc__.strip().splitlines()),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def schema_text() -> str:
    """The file's content."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(schema_text(), encoding="utf-8")
