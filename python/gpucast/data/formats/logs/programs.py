"""The programs whose logs are read: the tables of the TOML files beside this one.

A table has the fields of ``Printed`` (``lines.py``) or, if a program's lines do not state
everything, those of ``Log`` (``log.py``), and the module with the program's name reads the log. In
patterns, ``<word>`` stands for the text, perhaps in pieces, of that name in ``words`` of the file
or the program, and a pattern ``<name>`` for those of that name in the file's ``lists``.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpucast.data.formats.logs.lines import Printed
from gpucast.data.formats.logs.log import Log, Part


def _declared() -> Iterator[Log]:
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        programs = tomllib.loads(file.read_text(encoding="utf-8"))
        words, lists = programs.pop("words", {}), programs.pop("lists", {})
        for name, stated in programs.items():
            own = words | {word: "".join(text) for word, text in stated.pop("words", {}).items()}
            stated.setdefault("marks", stated.get("lines"))
            for key in stated.keys() & {"start", "gpu_name", "lines", "facts", "settings", "marks"}:
                stated[key] = _spelled(stated[key], own, lists)
            if "lines" in stated:
                yield Printed(name=name, words=own, **stated)
            else:
                yield Log(name=name, words=own, read=_reader(name.replace("-", "_")), **stated)


def _spelled(pattern: Any, words: Mapping[str, str], lists: Mapping[str, list[str]]) -> Any:
    """Return a pattern, or several, with the words and lists that they name filled in."""
    if isinstance(pattern, str):
        return re.sub(r"(?<!\?P)<([a-z]+)>", lambda word: words.get(word[1], word[0]), pattern)
    spliced = [one for item in pattern for one in lists.get(str(item)[1:-1], [item])]
    return tuple(_spelled(one, words, lists) for one in spliced)


def _reader(module: str) -> Callable[[Part], None]:
    def read(part: Part) -> None:
        importlib.import_module(f"{__package__}.{module}").read(part)

    return read


PROGRAMS = tuple(_declared())
FORMATS = tuple(program.format for program in PROGRAMS)
