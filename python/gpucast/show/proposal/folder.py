"""Makes all files of a proposal."""

from __future__ import annotations

import importlib.resources
import io
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import docx
import jinja2
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.shared import Mm, Pt

from gpucast.answers.proposal import Asked, Proposal, proposal_of
from gpucast.data.loading import Source
from gpucast.errors import InputError
from gpucast.fitting.source import model_of
from gpucast.model.asked import as_list
from gpucast.model.fitted import Model
from gpucast.model.intervals import Interval, interval_named
from gpucast.show.plots import scaling, style
from gpucast.show.proposal import Form, tables
from gpucast.show.proposal.tables import Numerals, numerals_of
from gpucast.util import JsonObject, version
from gpucast.util.files import PathLike, write_all

_FORMATS = ("pdf", "svg", "png")


def files_of(
    proposal: Proposal,
    numerals: Numerals,
    *,
    form: str = "general",
    template: Path | None = None,
    sha256: str | None = None,
    size: tuple[float, float] | None = None,
) -> dict[str, bytes]:
    """Return the files' contents by name.

    Args:
        template: the user's own template instead of a form's; the result has the same ending.
        sha256: SHA-256 of the file of the step times.
        size: size of a figure (in); by default as wide as a journal column.

    Raises:
        InputError: the form does not exist, or the template has an error.
    """
    if form not in get_args(Form):
        raise InputError(f"{form!r} is none of {', '.join(get_args(Form))}", field="form")
    content, files = proposal.content, dict[str, bytes]()
    how = {"threshold": content["efficiency"], "size": size}
    for name, sweeps in (("strong", proposal.strong), ("weak", [proposal.weak])):
        lines = [scaling.line(sweep) for sweep in sweeps]
        figure = scaling.figure(lines, ["time", "efficiency"], **how)
        for kind in _FORMATS:
            files[f"{name}-scaling.{kind}"] = style.render(figure, kind)
    made = tables.tables_of(content, numerals)
    markdown = "\n\n".join(table.markdown() for table in made) + "\n"
    pictures = {name: files[name] for name in files if name.endswith(".png")}
    by_name = {table.name: table.markdown() for table in made}
    context = {
        "c": content,
        "strong_tables": [text for name, text in by_name.items() if name.startswith("strong")],
        "weak_table": by_name["weak"],
        "hours_table": by_name["hours"],
        "version": version(),
        "sha256": sha256,
    }
    bibliography, own = (
        _rendered(context, numerals, name, given)
        for name, given in (("gpucast.bib", None), (f"{form}.md", template))
    )
    target = f"proposal{template.suffix if template else '.md'}"
    return {
        **files,
        "table.md": markdown.encode(),
        "table.tex": "\n".join(table.latex() for table in made).encode(),
        "table.csv": tables.csv(content, numerals).encode(),
        "table.xlsx": tables.workbook(content, made),
        "table.docx": word(markdown, {}),
        "gpucast.bib": bibliography.encode(),
        target: own.encode(),
        **({"proposal.docx": word(own, pictures)} if target == "proposal.md" else {}),
    }


def _rendered(context: JsonObject, numerals: Numerals, name: str, given: Path | None) -> str:
    folder = importlib.resources.files("gpucast.show.proposal") / "templates"

    def load(wanted: str) -> str | None:
        if given is not None and wanted == given.name:
            return given.read_text(encoding="utf-8")
        file = folder / wanted
        return file.read_text(encoding="utf-8") if file.is_file() else None

    # These are texts, not HTML: nothing is escaped.
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load), undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    for filter_ in ("number", "percent", "duration", "long"):
        environment.filters[filter_] = getattr(numerals, filter_)
    try:
        return environment.get_template(name if given is None else given.name).render(context)
    except UnicodeDecodeError as error:
        raise InputError("is no UTF-8 text", file=given) from error
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"in the template: {error}", file=given or name, line=line) from error


def proposal(
    source: Model | Source,
    folder: PathLike = "proposal",
    *,
    form: str = "general",
    template: PathLike | None = None,
    locale: str = "en",
    force: bool = False,
    **asked: Any,
) -> JsonObject:
    """Write a folder to hand in with a proposal for computing time: figures of strong and weak
    scaling (PDF, SVG, PNG), tables (Markdown, LaTeX, CSV, XLSX, DOCX), and a form's answers.

    Args:
        source: a model, a model file, or step times to fit: a table or a data frame.
        folder: folder for the files.
        form: name of the form: general, archer2, eurohpc, hlrs, ncar.
        template: the user's own Jinja template instead of a form.
        locale: format of numbers, such as ``de`` for decimal commas.
        force: whether to replace existing files.
        asked: fields of ``gpucast.answers.proposal.Asked``: n, gpus, at, gpus_per_node, size_of,
            per_gpu, efficiency, runs, steps, work, reserve, queue_limit, setup, interval.

    Returns:
        All numbers in the files, as JSON values.

    Raises:
        InputError: the input is invalid; the message names file, field or option, and what to do.
    """
    numerals = numerals_of(locale)
    model, sha256 = model_of(source, gpus_per_node=asked.get("gpus_per_node"))
    for name in {"n", "gpus"} & {*asked}:
        asked[name] = as_list(asked[name])
    asked["interval"] = interval_named(asked.get("interval", Interval.now))
    made = proposal_of(model, Asked(**asked))
    own = None if template is None else Path(template)
    files = files_of(made, numerals, form=form, template=own, sha256=sha256)
    write_all({Path(folder) / name: content for name, content in files.items()}, force=force)
    return made.content


# --- Markdown as a Word document ---


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
