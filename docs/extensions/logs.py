"""What is read of logs: of each format, what its module, or its table, says."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

from generated import insert
from sphinx.application import Sphinx

from gpucast.data.formats import PATTERN, logs
from gpucast.data.formats.logs import programs


def described() -> str:
    """Markdown: a section for each log, in the order of their descriptions."""
    return "\n\n".join(sorted(_sections()))


def _sections() -> Iterator[str]:
    about = {program.name: program.about for program in programs.PROGRAMS}
    for module in pkgutil.iter_modules(logs.__path__):
        imported = importlib.import_module(f"{logs.__name__}.{module.name}")
        for form in getattr(imported, "FORMATS", ()):
            if form.name == PATTERN:
                continue  # its options have a section of their own
            text = about.get(form.name) or inspect.getdoc(imported) or ""
            yield f"### {form.what}\n\n`--format {form.name}`: {text.strip().replace('``', '`')}"


def setup(app: Sphinx) -> dict[str, bool]:
    insert(app, "logs", described)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
