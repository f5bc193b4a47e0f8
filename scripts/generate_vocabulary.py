"""Write what follows from schema/vocabulary.toml: the C++ enumerations and Python's types.

Run it after any change of the vocabulary: python scripts/generate_vocabulary.py
"""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "schema" / "vocabulary.toml"
CPP = ROOT / "schema" / "include" / "gpucast" / "schema" / "vocabulary.h"
PYTHON = ROOT / "python" / "gpucast" / "data" / "vocabulary.py"

NUMBERED = ("ObservationKind",)
"""Types whose numbers Python hands to the core: an IntEnum besides the Literal of the words."""


class Type(NamedTuple):
    """A type of the vocabulary; ``part_of``: the type whose words it has some of."""

    name: str
    comment: str
    words: list[str]
    part_of: str | None

    def members(self) -> list[str]:
        """The words as identifiers."""
        return [word.replace("-", "_") for word in self.words]


def types() -> list[Type]:
    """The vocabulary; raises ValueError where a part has a word that its whole lacks."""
    tables = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    for name, table in tables.items():
        if (whole := table.get("part_of")) and not set(table["words"]) <= {*tables[whole]["words"]}:
            raise ValueError(f"{SOURCE}: {name}: has words that {whole} lacks")
    return [
        Type(name, " ".join(table["comment"].split()), table["words"], table.get("part_of"))
        for name, table in tables.items()
    ]


def cpp() -> str:
    """The header: an enumeration of each type and its words."""
    comments = textwrap.TextWrapper(100, initial_indent="// ", subsequent_indent="// ")
    enumerations, words = "", ""
    for type_ in types():
        if type_.part_of:
            continue
        members = f"{{ {', '.join(type_.members())} }}"
        if len(members) >= 80:
            members = "{\n" + "".join(f"  {member},\n" for member in type_.members()) + "}"
        enumerations += f"{comments.fill(type_.comment)}\nenum class {type_.name} {members};\n\n"
        spelled = ", ".join(f'"{word}"' for word in type_.words) + ");"
        head = f"inline constexpr auto words<{type_.name}> = in_order<{type_.name}>("
        if len(head + spelled) > 100:
            spelled = "\n" + textwrap.indent(textwrap.fill(spelled, 96), "    ")
        words += f"template <>\n{head}{spelled}\n"
    return (
        "// Generated from schema/vocabulary.toml by scripts/generate_vocabulary.py.\n"
        "// clang-format off\n#pragma once\n\n"
        '#include "gpucast/schema/words.h"\n\nnamespace gpucast::schema {\n\n'
        f"{enumerations}{words}\n}}  // namespace gpucast::schema\n"
    )


def python() -> str:
    """The module: a Literal of each type's words, an IntEnum where the core takes numbers."""
    text = (
        '"""The words that records, models and command lines share.\n\n'
        "Generated from ``schema/vocabulary.toml`` by ``scripts/generate_vocabulary.py``.\n"
        '"""\n\nfrom __future__ import annotations\n\n'
        "from enum import IntEnum\nfrom typing import Literal\n\n"
    )
    for type_ in types():
        if type_.name in NUMBERED:
            text += f"\n\nclass {type_.name}(IntEnum):\n" + _docstring(type_.comment, "    ") + "\n"
            text += "".join(f"    {m} = {k}\n" for k, m in enumerate(type_.members())) + "\n"
            continue
        words = ", ".join(f'"{word}"' for word in type_.words)
        line = f"{type_.name} = Literal[{words}]"
        if len(line) > 100:
            line = f"{type_.name} = Literal[\n    " + words.replace(", ", ",\n    ") + ",\n]"
        text += line + "\n" + _docstring(type_.comment, "")
    return text.rstrip() + "\n"


def _docstring(comment: str, indent: str) -> str:
    if len(indent) + len(comment) + 6 <= 100:
        return f'{indent}"""{comment}"""\n'
    return textwrap.fill(f'"""{comment}', 100, initial_indent=indent) + '\n"""\n'


if __name__ == "__main__":
    CPP.write_text(cpp(), encoding="utf-8")
    PYTHON.write_text(python(), encoding="utf-8")
