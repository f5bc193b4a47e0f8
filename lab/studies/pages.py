"""Parts of result pages: tables and numbers in Markdown, templates, and the picture of errors."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import jinja2
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, PercentFormatter
from numpy.typing import ArrayLike

from gpucast.show.plots.style import COLOURS


def written(template: Path, **values: object) -> str:
    """A page from a Jinja template."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template.name).render(values).rstrip("\n") + "\n"


def table(headers: Sequence[str], rows: Iterable[Iterable[object]], left: int = 1) -> str:
    """A table; the first ``left`` columns are aligned left, the others right."""
    marks = [":--" if i < left else "--:" for i in range(len(headers))]
    lines = [headers, marks, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def percent(value: float | None) -> str:
    """A share with the digits that matter; None and NaN are a dash."""
    if value is None or np.isnan(value):
        return "-"
    if value == 0:
        return "0 %"
    digits = 2 if abs(value) < 0.00995 else 1 if abs(value) < 0.0995 else 0
    return f"{100 * value:.{digits}f} %"


def missed(text: str, reached: bool | None) -> str:
    """The text, in bold if a target is missed."""
    return f"**{text}**" if reached is False else text


def show_progress(done: int, total: int) -> None:
    """Write progress to stderr, on a line that is overwritten if that is a terminal."""
    if sys.stderr.isatty():
        print(f"\r{done} of {total} parts", end="\n" if done == total else "", file=sys.stderr)


def draw_shares(
    axes: Axes, errors: Mapping[str, ArrayLike], own: str, ends: tuple[float, float]
) -> None:
    """Draw the share of the errors that are at most the abscissa: a line for each forecaster, with
    ``own`` the thickest.

    Errors beyond the ``ends`` count at the edges.
    """
    for colour, (label, values) in zip(COLOURS, errors.items(), strict=False):
        ordered = np.sort(np.clip(values, *ends))
        share = np.arange(1, ordered.size + 1) / ordered.size
        thick, order = (2.4, 3) if label == own else (1.2, 2)
        axes.step(ordered, share, where="post", color=colour, label=label, lw=thick, zorder=order)
    axes.set(xscale="log", xlim=ends, ylim=(0, 1))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g} %"))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.grid(which="major", alpha=0.3)
