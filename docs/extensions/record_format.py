"""The reference of the record format, from its JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from generated import insert, table
from sphinx.application import Sphinx

SCHEMA = Path(__file__).parents[2] / "records" / "gpucast.record.schema.json"

# 64-bit limits say how a number is stored, not what it means.
STORAGE_LIMITS = (2**63 - 1, 1.7976931348623157e308)

Field = dict[str, Any]
"""A part of a JSON Schema."""


def record_format() -> str:
    """Markdown: a section for each kind of record, then for each object in one."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    kinds = schema["discriminator"]["mapping"]
    of_kinds = {_name(reference): f"Kind `{kind}`" for kind, reference in kinds.items()}
    order = [_name(choice["$ref"]) for choice in schema["oneOf"]]
    order += [name for name in schema["$defs"] if name not in of_kinds]
    sections = {name: schema["$defs"][name] for name in order}
    return "\n\n".join(
        _section(of_kinds.get(name, name), definition) for name, definition in sections.items()
    )


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _section(title: str, definition: Field) -> str:
    required = definition.get("required", [])
    rows = [
        [f"`{name}`", _type(field), "yes" if name in required else _default(field),
         field.get("description", "")]
        for name, field in definition["properties"].items()
    ]  # fmt: skip
    fields = table(["field", "type", "required", "meaning"], rows)
    return "\n\n".join(filter(None, (f"## {title}", definition.get("description"), fields)))


def _type(field: Field) -> str:
    match field:
        case {"anyOf": [*choices]}:
            return " or ".join(dict.fromkeys(_type(choice) for choice in choices))
        case {"const": constant}:
            return f"`{json.dumps(constant)}`"
        case {"enum": [*words]}:
            return ", ".join(f"`{json.dumps(word)}`" for word in words)
        case {"$ref": str(reference)}:
            name = _name(reference)
            return f"[{name}](#{name.lower()})"
        case {"type": "array"}:
            items = _type(field["items"]) if "items" in field else "anything"
            least = f" (at least {field['minItems']})" if field.get("minItems") else ""
            return f"list{least} of {items}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of {_type(values)}"
        case {"type": "integer" | "number" as kind}:
            return f"{kind} {_range(field)}".strip()
        case {"type": str(kind)}:
            return kind
    return "any JSON"


def _range(field: Field) -> str:
    limits = (
        ("minimum", "at least"), ("exclusiveMinimum", "above"),
        ("maximum", "at most"), ("exclusiveMaximum", "below"),
    )  # fmt: skip
    return " and ".join(
        f"{word} {field[key]}"
        for key, word in limits
        if key in field and abs(field[key]) not in STORAGE_LIMITS
    )


def _default(field: Field) -> str:
    return "" if field.get("default") is None else f"default `{json.dumps(field['default'])}`"


def setup(app: Sphinx) -> dict[str, bool]:
    insert(app, "record format", record_format)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
