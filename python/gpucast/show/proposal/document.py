"""Converts Markdown to a Word document: headings, paragraphs, lists, tables and pictures."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import docx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Mm, Pt

_PICTURE = re.compile(r"!\[([^]]*)\]\(([^)]+)\)")
_EMPHASIS = re.compile(r"(\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`)")
_WIDTH = Mm(88)
"""Width of a picture: a journal column."""
_FEW = 8
"""Most columns of a table that have room for letters of 8 points."""
_TEXT_WIDTH = 170
"""Width of A4 between margins (mm)."""


def word(text: str, pictures: Mapping[str, bytes]) -> bytes:
    """Return the document's content.

    Args:
        pictures: contents of PNG files by their names in the text.
    """
    document = docx.Document()
    section = document.sections[0]
    section.page_width, section.page_height = Mm(_TEXT_WIDTH + 40), Mm(297)
    section.left_margin = section.right_margin = Mm(20)
    document.styles["Normal"].font.size = Pt(10)
    for kind, lines in _blocks(text):
        if kind == "#":
            level = len(lines[0]) - len(lines[0].lstrip("#"))
            document.add_heading(lines[0].lstrip("# ").replace("**", ""), level)
        elif kind == "|":
            _table(document, lines)
        elif kind == "-":
            for line in lines:
                _emphasized(document.add_paragraph(style="List Bullet"), line[2:])
        elif (picture := _PICTURE.fullmatch(lines[0])) is not None:
            document.add_picture(io.BytesIO(pictures[picture[2]]), width=_WIDTH)
            _emphasized(document.add_paragraph(), f"*{picture[1]}*")
        else:
            _emphasized(document.add_paragraph(), " ".join(lines))
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield blocks: their kind, by the begin of their lines, and the lines."""
    for block in re.split(r"\n\s*\n", text.strip()):
        for kind, lines in groupby(block.splitlines(), _kind):
            own = list(lines)
            yield from ((kind, [line]) for line in own) if kind == "#" else [(kind, own)]


def _kind(line: str) -> str:
    return line[0] if line.startswith(("#", "|", "- ")) else ""


def _table(document: Any, lines: list[str]) -> None:
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    del rows[1]  # the rule below the head
    table = document.add_table(len(rows), len(rows[0]), style="Light Grid")
    table.autofit = False
    # Headings may be wrapped between words.
    lengths = [
        max(*map(len, re.split(r"[ ,]", head)), *map(len, cells)) + 2
        for head, *cells in zip(*rows, strict=True)
    ]
    widths = [Mm(_TEXT_WIDTH * length / sum(lengths)) for length in lengths]
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    for at, (line, row) in enumerate(zip(table.rows, rows, strict=True)):
        for cell, content, width in zip(line.cells, row, widths, strict=True):
            cell.width = width
            paragraph = cell.paragraphs[0]
            paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
            _emphasized(paragraph, content)
            for run in paragraph.runs:
                run.font.size = Pt(8 if len(row) <= _FEW else 7)
                run.bold = at == 0
    document.add_paragraph()


def _emphasized(paragraph: Any, text: str) -> None:
    """Add a text with its **bold**, *italic* and `code` parts."""
    for part in _EMPHASIS.split(text):
        run = paragraph.add_run(part.strip("*`") if _EMPHASIS.fullmatch(part) else part)
        run.bold, run.italic = part.startswith("**") or None, part[:1] == "*" != part[1:2] or None
