"""What to know of a fit or forecast, on stderr: worst first, short, once; all by --explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpucast.cli.output import note, warn
from gpucast.util.remarks import Remark, Severity, in_order

if TYPE_CHECKING:
    from gpucast.model.forecaster import Forecaster

MOST = 2
"""Of a fit's warnings so many are shown."""


def of_fit(said: Iterable[Remark], notes: Sequence[str] = (), *, explain: bool) -> None:
    """Warn of what a fit has to say; ``notes``: what changes no answer."""
    ranked = in_order(said)
    if explain:
        for text in dict.fromkeys([*map(str, ranked), *notes]):
            warn(text)
        return
    shown = [one.short or one.text for one in ranked if one.severity != Severity.MINOR][:MOST]
    left = len(ranked) + len(notes) - len(shown)
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
        for text in dict.fromkeys([*texts, *map(str, in_order(model.remarks))]):
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
