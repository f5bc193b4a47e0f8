"""What to know of a fit or forecast, on stderr: worst first, short, once; all by --explain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpucast.cli.output import note, warn

if TYPE_CHECKING:
    from gpucast.model.forecaster import Forecaster

MOST = 2
"""Of a fit's warnings so many are shown."""

_KINDS = (
    r"the fit( of the parameters)? did not converge",
    r"\d+ observations cannot determine ",
    r"n = \S+ on \d+ GPUs? took ",
    r"steps of one (n|GPU count) only",
    r"(far )?beyond ",
    r"lack of fit, ",
    r"one repetition a cell",
    r"too few cells ",
    r"k is not determined: ",
    r"not identified alone ",
)
"""How a fit's warnings begin, the worst first. What a fit says besides comes before them all: it is
about the data, such as a file that is cut off."""

_MINOR = (
    r"not tried: ",
    r"\w+ is too small to matter",
    r"left out transfers: ",
    r"left out \d+ first-call ",
)
"""Of no consequence for a forecast: only --explain says them."""


def of_fit(texts: Iterable[str], *, explain: bool) -> None:
    """Warn of what a fit has to say."""
    ranked = in_order(texts)
    if explain:
        for text in ranked:
            warn(text)
        return
    shown = [_short(text) for text in ranked if not _is_minor(text)][:MOST]
    left = len(ranked) - len(shown)
    for i, text in enumerate(shown, 1):
        warn(text + (f" (and {left} more: --explain)" if left and i == len(shown) else ""))


def of_forecasts(model: Forecaster, texts: Sequence[str], *, explain: bool) -> None:
    """Warn of what is to be known of a model's forecasts: ``caveats``, the worst first.

    Of what the fit warned of, --explain says all.
    """
    from gpucast.forecast.caveats import in_line

    if model.machine_factors is not None:
        note(f"{model.name}: {model.machine_factors.words}")
    if explain:
        for text in dict.fromkeys([*texts, *in_order(model.warnings)]):
            warn(f"{model.name}: {text}")
    elif texts:
        warn(in_line(model.name, texts))


def of_cells(
    model: Forecaster, n: Iterable[float] = (), gpus: Iterable[float] = (), *, explain: bool
) -> None:
    """The same of forecasts for every n with every GPU count."""
    import numpy as np

    from gpucast.forecast.caveats import caveats

    sizes, counts = list(n), list(gpus)
    cells = np.array([(size, count) for size in sizes for count in counts]).reshape(-1, 2)
    of_forecasts(model, caveats(model, cells[:, 0], cells[:, 1]), explain=explain)


def in_order(texts: Iterable[str]) -> list[str]:
    """A fit's warnings, each once, the worst first."""
    return sorted(dict.fromkeys(texts), key=_rank)


def _rank(text: str) -> int:
    if _is_minor(text):
        return len(_KINDS) + 1
    return next((i for i, kind in enumerate(_KINDS, 1) if re.match(kind, text)), 0)


def _is_minor(text: str) -> bool:
    return any(re.match(kind, text) for kind in _MINOR)


def _short(text: str) -> str:
    """What is wrong with a form, without how that is known and what follows. What other kinds say
    last is what to do about it."""
    if not text.startswith("lack of fit, "):
        return text
    return re.sub(r" \([^()]*\)", "", text).partition("; ")[0]
