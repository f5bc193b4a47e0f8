"""Tables as rows of cells, from text, workbooks, Parquet files and data frames.

The delimiter of a text is comma, semicolon, tab or ``|`` (``sacct -P``); else blanks align the
columns. Above the header there may be titles and comments, which start with ``#`` or ``%``; the
header may be one of the comments. Blank lines and rules such as ``----`` are skipped. A Markdown
table, with ``|`` before each row, may be anywhere in a text and ends with the first line of another
kind. Cells are text, numbers, or None if empty.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gpucast.data.formats.tables.sheets import read as read_sheets
from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.tables import unquoted

if TYPE_CHECKING:
    import pandas

DELIMITERS = ",;\t|"
BLANKS = " "
"""The delimiter of tables whose columns are aligned by blanks."""
_RULE = re.compile(r"[-=+:_]*[-=]{2}[-=+:_]*")
Cells = list[object]


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes:
        file: name for messages.
        names: the header.
        line: line number of the header; None if lines before the first row are not numbered.
        rows: line numbers and cells; each row has as many cells as there are names.
        delimiter: of a text; None for other tables.
        above: texts above the header, such as a title.
        times: the user's name for all columns of times together, if there are several.
        merged: for a workbook, the values of cells that are merged with one above them, by line
            and column index.
    """

    file: str
    names: list[str]
    line: int | None
    rows: list[tuple[int, Cells]]
    delimiter: str | None = None
    above: tuple[str, ...] = ()
    times: str | None = None
    merged: Mapping[tuple[int, int], object] = field(default_factory=dict)

    def error(self, message: str, field: str | None = None) -> InputError:
        """Return an error about the header."""
        return InputError(message, file=self.file, line=self.line, field=field)

    def filled(self, columns: Collection[int]) -> Grid:
        """Return the table with the merged cells of some columns (indices) filled downwards."""
        rows = [(line, [*cells]) for line, cells in self.rows] if self.merged else self.rows
        cells_of = dict(rows)
        for (line, at), value in self.merged.items():
            if at in columns and line in cells_of and cells_of[line][at] is None:
                cells_of[line][at] = value
        return replace(self, rows=rows)


FRAME = "DataFrame"
"""The name of a data frame in messages."""

IsHeader = Callable[[list[str]], bool]

MOST_ABOVE = 20
"""Number of lines of a text that may contain its header."""

MOST_ABOVE_IN_SHEETS = 200
"""Number of rows of a sheet that may contain its header."""


def header(text: str, is_header: IsHeader) -> list[str]:
    """Return the column names of a text; empty if it has no recognizable header."""
    return _header(_beginning(text), is_header).names


def from_text(text: str, file: str, is_header: IsHeader) -> Grid:
    """Read the table below the first line that is a header, or below the first line of several
    fields.

    Raises:
        InputError: no header, a line with another number of fields, or unmatched quotes.
    """
    top = _header(_beginning(text), is_header)
    names, delimiter, skipped = top.names, top.delimiter, top.line
    if not skipped:
        raise InputError("holds no header line", file=file)
    limits.COLUMNS.check(len(names), file, line=skipped)
    lines = _Lines(text, file)
    for _ in range(skipped):
        next(lines)
        lines.row_ends()
    aligned = (_aligned(line, len(names)) for line in lines)
    marked = _marked_rows(lines, is_header, file, skipped + 1) if top.marked else lines
    reader = csv.reader(marked, delimiter=delimiter, strict=not top.marked)
    rows: list[tuple[int, Cells]] = []
    line = skipped
    while True:
        line = line + 1 if delimiter == BLANKS else skipped + reader.line_num + 1
        try:
            values = next(aligned if delimiter == BLANKS else reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise InputError(f"not valid CSV: {error}", file=file, line=line) from None
        lines.row_ends()
        cells: Cells = [unquoted(_plain(value, top.marked)) or None for value in values]
        if all(cell is None or _RULE.fullmatch(str(cell)) for cell in cells):
            continue
        while len(cells) > len(names) and cells[-1] is None:
            cells.pop()
        if len(cells) != len(names):
            how = "; separate columns by at least two blanks" if delimiter == BLANKS else ""
            raise InputError(
                f"has {len(values)} fields where the header has {len(names)}{how}",
                file=file,
                line=line,
            )
        rows.append((line, cells))
    limits.CELLS.check(len(rows) * len(names), file)
    return Grid(file, names, skipped, rows, delimiter, top.above)


def from_frame(frame: pandas.DataFrame, file: str) -> Grid:
    """Read a data frame; rows are counted from 1, a named index is a column."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    # ``object`` keeps numbers of a column as they are beside text in another.
    values = frame.astype(object).where(frame.notna(), None).to_numpy(dtype=object).tolist()
    rows = [(at, [*map(_cell, cells)]) for at, cells in enumerate(values, start=1)]
    return Grid(file, names, None, [(at, cells) for at, cells in rows if any_there(cells)])


def from_workbook(content: bytes, file: str, is_header: IsHeader, sheet: str | None = None) -> Grid:
    """Read the table of a workbook (.xlsx) below the first row that is a header.

    Args:
        content: of the file.
        file: its name, for messages.
        is_header: whether a row's texts are the header of a readable table.
        sheet: the sheet to read if several have tables.

    Raises:
        InputError: the file is not a workbook, or has no table or several.
    """
    try:
        sheets = {
            name: replace(one, rows=[(at, [*map(_cell, cells)]) for at, cells in one.rows])
            for name, one in read_sheets(content, file).items()
        }
    except InputError:
        raise
    except Exception as error:  # openpyxl does not document its exceptions
        raise _unreadable("Excel workbook (.xlsx)", error, file) from None
    if sheet is not None:
        if sheet not in sheets:
            listed = ", ".join(sheets)
            raise InputError(f"there is no sheet {sheet!r}; there are: {listed}", field="--sheet")
        sheets = {sheet: sheets[sheet]}
    tables = {}
    for name, sheet_read in sheets.items():
        for at, (_, cells) in enumerate(sheet_read.rows[:MOST_ABOVE_IN_SHEETS]):
            names = ["" if cell is None else str(cell).strip() for cell in cells]
            if is_header(names):
                tables[name] = at, names
                break
    if not tables:
        raise InputError(
            "has no row that is a header of steps (n, gpus, seconds) or transfers (bytes, seconds, "
            "route); name its columns with --columns",
            file=file,
        )
    if len(tables) > 1:
        listed = ", ".join(tables)
        raise InputError(f"has several tables: {listed}; choose one", file=file, field="--sheet")
    ((name, (at, names)),) = tables.items()
    lines = sheets[name].rows
    above = tuple(str(cell) for _, cells in lines[:at] for cell in cells if cell is not None)
    rows = [(row, cells) for row, cells in lines[at + 1 :] if any_there(cells)]
    merged = {place: _cell(value) for place, value in sheets[name].merged.items()}
    return Grid(file, names, lines[at][0], rows, above=above, merged=merged)


def from_parquet(content: bytes, file: str) -> Grid:
    """Read a Parquet file; rows are counted from 1.

    Raises:
        InputError: the file is damaged, or pyarrow is not installed.
    """
    try:
        frame = _parquet(content, file)
    except ImportError:
        raise InputError("Parquet files need pyarrow (pip install pyarrow)", file=file) from None
    except InputError:
        raise
    except Exception as error:  # pyarrow does not document its exceptions
        raise _unreadable("Parquet file", error, file) from None
    return from_frame(frame, file)


def _parquet(content: bytes, file: str) -> pandas.DataFrame:
    from pyarrow import BufferReader, parquet

    metadata = parquet.read_metadata(BufferReader(content))
    limits.COLUMNS.check(metadata.num_columns, file)
    limits.CELLS.check(metadata.num_columns * metadata.num_rows, file)
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    limits.INPUT.check(sum(part.total_byte_size for part in groups), file)
    columns = [metadata.schema.column(at) for at in range(metadata.num_columns)]
    # Equal texts are one object in memory. A list is not a cell of a table.
    texts = [part.path for part in columns if part.physical_type == "BYTE_ARRAY"]
    plain = [part.path for part in columns if part.path == part.name]
    source = parquet.ParquetFile(BufferReader(content), read_dictionary=texts)
    frame: pandas.DataFrame = source.read(columns=plain, use_threads=False).to_pandas()
    lists = dict.fromkeys(part.path.split(".")[0] for part in columns if part.path != part.name)
    return frame.assign(**dict.fromkeys(lists, "a list"))


def table_names(text: str) -> list[str]:
    """Return the header of a text that looks like a table of numbers; empty if it does not."""
    lines = [line for line in text.splitlines() if line.strip()][: MOST_ABOVE + 2]
    rows = [top for number, line in enumerate(lines) if (top := _top(line, number)) is not None]
    rows = [row for row in rows if not all(_RULE.fullmatch(name) for name in row.names)]
    for head, row, *_ in (rows[at : at + 2] for at in range(len(rows) - 1)):
        names = [name for name in head.names if name]
        numbers = sum(bool(re.match("[-+]?[0-9]", cell)) for cell in row.names)
        if len(head.names) == len(row.names) > 2 and numbers > 1 and len(names) > 2:
            return names if all(re.search(r"[^\W\d]", name) for name in names) else []
    return []


_SIDE = re.compile("n_?([xyz])", re.IGNORECASE)


def with_sides(grid: Grid) -> tuple[Grid, str | None]:
    """Return the table with the product of columns ``nx``, ``ny`` (and ``nz``) as another column,
    and that column's name; unchanged without such columns."""
    sides = {match[1].lower(): at for at, name in enumerate(grid.names)
             if (match := _SIDE.fullmatch(name.strip()))}  # fmt: skip
    if sides.keys() != {"x", "y"} and sides.keys() != {"x", "y", "z"}:
        return grid, None
    ats = [sides[side] for side in sorted(sides)]
    name = " x ".join(grid.names[at] for at in ats)
    rows = []
    for line, cells in grid.rows:
        whole = None not in [cells[at] for at in ats]
        texts = [
            f"{cells[at]:.15g}" if isinstance(cells[at], float) else str(cells[at]) for at in ats
        ]
        rows.append((line, [*cells, "x".join(texts) if whole else None]))
    return replace(grid, names=[*grid.names, name], rows=rows), name


def any_there(cells: Iterable[object]) -> bool:
    """Return whether a row is not blank."""
    return any(cell is not None for cell in cells)


_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_BEGINNING = 1 << 20
"""Number of characters of a text that may contain its header."""


def _beginning(text: str) -> Iterator[str]:
    return (match[0] for match in _LINE.finditer(text, 0, _BEGINNING))


class _Lines:
    """The lines of a text with their ends, up to the limit on lines."""

    def __init__(self, text: str, file: str) -> None:
        self._found = _LINE.finditer(text)
        self._file = file
        self._line = self._row = 0
        self._most, self._longest = limits.ROWS.most, limits.TABLE_LINE.most

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        match = next(self._found)
        self._line += 1
        self._row += match.end() - match.start()
        if self._row > self._longest:
            raise limits.TABLE_LINE.error(self._file, line=self._line)
        if self._line > self._most:
            raise limits.ROWS.error(self._file)
        return match[0]

    def row_ends(self) -> None:
        """Restart the count of a row's characters; a row with quotes may have several lines."""
        self._row = 0


@dataclass(frozen=True)
class _Top:
    """The header of a text: names, delimiter, line number (0: no header), the lines above it, and
    whether the table is Markdown (rows begin with ``|``)."""

    names: list[str]
    delimiter: str
    line: int
    above: tuple[str, ...] = ()
    marked: bool = False


_STROKE = "|"
_EMPHASIS = re.compile(r"^(\*{1,3}|`+|__)(.+?)\1$")
_MARKED_RULE = re.compile(r"\s*\|[\s|:-]*-[\s|:+-]*")


def _marked_rows(lines: _Lines, is_header: IsHeader, file: str, first: int) -> Iterator[str]:
    """Yield the rows of a Markdown table without the outer strokes, up to other text.

    Raises:
        InputError: another readable table is below.
    """
    ended = False
    for number, line in enumerate(lines, start=first):
        if not line.lstrip().startswith(_STROKE):
            ended = ended or bool(line.strip())
            lines.row_ends()
            yield from () if ended else ("\n",)
        elif not ended:
            yield _within(line)
        elif (top := _top(line, number)) and is_header(top.names):
            raise InputError(
                "another table begins here; keep one in the file", file=file, line=number
            )


def _within(line: str) -> str:
    """Return a Markdown row without the outer strokes."""
    return line.strip().removeprefix(_STROKE).removesuffix(_STROKE)


def _header(lines: Iterable[str], is_header: IsHeader) -> _Top:
    first: _Top | None = None
    commented: _Top | None = None
    aligned: _Top | None = None
    far: _Top | None = None
    above: list[str] = []
    seen = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if seen >= MOST_ABOVE:  # farther down, only a Markdown table is beyond doubt
            if far is not None and _MARKED_RULE.fullmatch(line.rstrip()):
                return far
            top = _top(line, number) if line.lstrip().startswith(_STROKE) else None
            far = replace(top, above=tuple(above)) if top and is_header(top.names) else None
            above = [*above[-MOST_ABOVE:], line.strip()]
            continue
        if aligned is not None:
            if all(map(_RULE.fullmatch, line.split())):
                continue
            cells = _aligned(line, len(aligned.names))
            # Prose above tables has no row below it.
            if len(cells) == len(aligned.names) and sum(cell[:1].isdigit() for cell in cells) > 1:
                return aligned
            aligned = None
        if line.startswith(("#", "%")):
            names = [name for part in line.split("#") if (name := part.strip())]
            if len(names) > 1 and is_header(names):  # "#nodes #time (s)"
                aligned = _Top(names, BLANKS, number, tuple(above))
                continue
            # "# GPUs" may be a name or a comment: used only if no other line is a header.
            for header_line in line, line.lstrip("#% "):
                top = _top(header_line, number)
                if top and is_header(top.names) and (first is None or len(first.names) < 2):
                    commented = top
                    break
            else:
                aligned = _aligned_top(line.lstrip("#% "), number, is_header, tuple(above))
            above.append(line.strip("# \r\n"))
            continue
        top = _top(line, number)
        if top is None:
            continue
        if first is None or len(first.names) < 2:
            first = top
        if is_header(top.names):
            return replace(top, above=tuple(above))
        aligned = _aligned_top(line, number, is_header, tuple(above))
        above.append(line.strip().strip(DELIMITERS))
        seen += 1
    return commented or first or _Top([], DELIMITERS[0], 0)


def _aligned_top(
    line: str, number: int, is_header: IsHeader, above: tuple[str, ...]
) -> _Top | None:
    """Return the header in a line whose columns are aligned by blanks, if it is one."""
    # "# GPUs" is a name; several blanks separate names of several words.
    for names in re.split(r"\s{2,}", line.strip()), line.split():
        if len(names) > 1 and is_header(names):
            return _Top(names, BLANKS, number, above)
    return None


def _aligned(line: str, count: int) -> list[str]:
    """Split a line into ``count`` cells if possible; several blanks always separate cells."""
    line = re.sub(r"\s#.*", "", line)  # a comment
    cells = re.split(r"\s{2,}", line.strip())
    return cells if len(cells) == count else line.split()


def _top(line: str, number: int) -> _Top | None:
    marked = line.lstrip().startswith(_STROKE) and line.count(_STROKE) > 1
    delimiter = _STROKE if marked else max(DELIMITERS, key=line.count)
    text = _within(line) if marked else line.strip("\r\n")
    try:
        values = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:  # a field is too long for a header
        return None
    return _Top([_plain(value, marked) for value in values], delimiter, number, marked=marked)


def _plain(value: str, marked: bool) -> str:
    """Return a cell without blanks around it, and without Markdown's emphasis."""
    return _EMPHASIS.sub(r"\2", value.strip()) if marked else value.strip()


def _cell(value: object) -> object:
    plain = value
    item = getattr(value, "item", None)  # numpy's numbers and lists have it
    if callable(item):
        plain = item() if getattr(value, "ndim", 0) == 0 else "a list"
    elif isinstance(value, (list, tuple, dict, set)):
        plain = "a list"
    return plain.strip() or None if isinstance(plain, str) else plain


def _unreadable(what: str, error: Exception, file: str) -> InputError:
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return InputError(f"cannot be read as {what}: {reason}; save it as CSV", file=file)
