"""Formulas as MathML, which browsers show by themselves: no script.

The conversion is docutils' own; what it does not know is a warning with the formula in it. Browsers
place subscripts and stretch brackets by tables that only fonts for mathematics have, so one goes
with the site where this machine has it (Debian: fonts-lmodern); else the reader's own is used.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

FONT = Path("/usr/share/texmf/fonts/opentype/public/lm-math/latinmodern-math.otf")

logger = logging.getLogger(__name__)


def _mathml(node: nodes.Element, *, block: bool) -> str:
    formula = node.astext()
    try:
        return str(tex2mathml(formula, as_block=block))
    except MathError as error:
        logger.warning("formula %r: %s", formula, error, location=node)
        return ""


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _display(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_mathml(node, block=True))
    translator.body.append("</div>")
    raise nodes.SkipNode


def _copy_font(app: Sphinx, error: Exception | None) -> None:
    if error is None and FONT.exists():
        shutil.copy(FONT, Path(app.outdir) / "_static" / "math.otf")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _copy_font)
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    app.config.html_math_renderer = "mathml"  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
