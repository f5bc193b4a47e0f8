"""Parts of pages that are generated: a line ``<!-- generated: NAME -->`` becomes Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def insert(app: Sphinx, name: str, make: Callable[[], str]) -> None:
    """Replace the marker of that name, wherever it stands on a line, by what ``make`` returns."""
    marker = re.compile(rf"^<!-- generated: {re.escape(name)} -->$", re.MULTILINE)

    def read(_app: Sphinx, page: str, source: list[str]) -> None:
        if marker.search(source[0]):
            try:
                text = make()
            except (OSError, ValueError, KeyError) as error:
                raise ExtensionError(f"{page}: cannot generate {name}: {error}") from error
            source[0] = marker.sub(lambda _: text, source[0])

    app.connect("source-read", read)


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; a bar in a cell stays text."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in line) + " |"
        for line in lines
    )
