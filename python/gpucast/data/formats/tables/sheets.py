"""The sheets of a workbook (.xlsx) as rows of cells, without blank rows.

A workbook is a zip archive of XML files. Their sizes are compared with limits before openpyxl makes
objects of them.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import iterparse

from gpucast.errors import InputError
from gpucast.util import limits

_PIECE = 1 << 20


@dataclass(frozen=True)
class Sheet:
    """One sheet.

    Attributes:
        rows: line numbers and values of the rows that are not blank, padded to the longest.
        merged: values of cells that are merged with one above, by line and index of the column.
    """

    rows: list[tuple[int, list[object]]]
    merged: Mapping[tuple[int, int], object] = field(default_factory=dict)


def read(content: bytes, file: str) -> dict[str, Sheet]:
    """Return the sheets by name.

    Raises:
        InputError: it is too large, or openpyxl is not installed.
        Exception: it is not a workbook; many types are possible.
    """
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ImportError:
        raise InputError("workbooks need openpyxl (pip install openpyxl)", file=file) from None
    with zipfile.ZipFile(io.BytesIO(content)) as archive, warnings.catch_warnings():
        # Parts that openpyxl warns about (validation rules, drawings) are not read.
        warnings.simplefilter("ignore")
        _check(archive, file)
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        lines = iter(range(limits.SHEET_LINES.most))
        return {str(sheet.title): _sheet(sheet, archive, lines, file) for sheet in book.worksheets}


def _check(archive: zipfile.ZipFile, file: str) -> None:
    limits.check_archive(archive, file)
    tags = 0
    for name in archive.namelist():
        with archive.open(name) as part:
            while piece := part.read(_PIECE):
                tags += piece.count(b"<")
        limits.XML_TAGS.check(tags, file)


def _sheet(sheet: Any, archive: zipfile.ZipFile, lines: Iterator[int], file: str) -> Sheet:
    """Return a sheet; ``lines`` counts the lines of all sheets, because a cell may stand far below
    others."""
    sheet.reset_dimensions()  # the size that a sheet states may be wrong
    rows: list[tuple[int, list[object]]] = []
    width = 0
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        if next(lines, None) is None:
            raise limits.SHEET_LINES.error(file, field=str(sheet.title))
        values = [None if cell.data_type == "e" else cell.value for cell in cells]
        while values and values[-1] is None:
            values.pop()
        if values:
            rows.append((number, values))
            width = max(width, len(values))
    limits.COLUMNS.check(width, file, field=str(sheet.title))
    limits.CELLS.check(width * len(rows), file, field=str(sheet.title))
    padded = [(at, [*values, *[None] * (width - len(values))]) for at, values in rows]
    with archive.open(sheet._worksheet_path) as part:
        return Sheet(padded, _merged(part, dict(padded), file))


def _merged(
    part: Any, rows: Mapping[int, list[object]], file: str
) -> dict[tuple[int, int], object]:
    from openpyxl.utils import range_boundaries  # type: ignore[import-untyped]

    numbers = list(rows)
    merged: dict[tuple[int, int], object] = {}
    filled = 0
    for _, element in iterparse(part):
        if element.tag.rpartition("}")[2] == "mergeCell":
            column, first, _, last = range_boundaries(element.get("ref", ""))
            values = rows.get(first, [])
            value = values[column - 1] if column <= len(values) else None
            below = numbers[bisect_right(numbers, first) : bisect_left(numbers, last + 1)]
            filled += len(below)
            limits.CELLS.check(filled, file, field="mergeCells")
            merged |= {(row, column - 1): value for row in below}
        element.clear()
    return merged
