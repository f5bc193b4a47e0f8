"""Numbers stay with their units: no line ends between them, in text or in cells of tables."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

_UNIT = re.compile(r"(?<=\d) (?=(?:%|[unmp]?s|[KMG]i?B(?:/s)?|GPUs?|Gflops)(?![\w/]))")
_AS_THEY_ARE = (nodes.literal, nodes.literal_block, nodes.raw, nodes.math, nodes.math_block)


def kept_together(text: str) -> str:
    """With no-break spaces between numbers and units."""
    return _UNIT.sub("\u00a0", text)


def _all_of(_app: Sphinx, document: nodes.document, _page: str) -> None:
    for text in list(document.findall(nodes.Text)):
        inside = text.parent
        while inside is not None and not isinstance(inside, _AS_THEY_ARE):
            inside = inside.parent
        if inside is None and (kept := kept_together(str(text))) != text:
            text.parent.replace(text, nodes.Text(kept))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-resolved", _all_of)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
