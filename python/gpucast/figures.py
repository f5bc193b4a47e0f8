"""Figures of one's own programs, as matplotlib's axes: ``gc.figures.scaling(model)``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpucast.answers.scaling import THRESHOLD
from gpucast.errors import InputError
from gpucast.model.asked import Numbers
from gpucast.model.fitted import Model
from gpucast.model.intervals import Interval, interval_named
from gpucast.show.plots import scaling as plots
from gpucast.show.plots import style
from gpucast.show.plots.scaling import Over, What


@style.styled
def scaling(
    model: Model,
    n: Numbers | None = None,
    gpus: Numbers | None = None,
    *,
    what: What | Sequence[What] = "time",
    over: Over = "gpus",
    per_gpu: float | None = None,
    gpus_per_node: int | None = None,
    threshold: float | None = THRESHOLD,
    title: str = "",
    labels: Mapping[str, str] | None = None,
    size: tuple[float, float] | None = None,
    interval: Interval | str = Interval.now,
    axes: Axes | Iterable[Axes] | None = None,
) -> Any:
    """Draw how a program scales: measured points, forecast with its 90 % interval, ideal line.

    Args:
        n: sizes, a line each; by default those measured.
        gpus: GPU counts; by default those measured, and doublings up to four times the most.
        what: ``time``, ``rate``, ``speed-up``, ``efficiency``, or several of them, a panel each.
        over: ``gpus`` or ``nodes``.
        per_gpu: n / N: sizes grow with the GPUs (weak scaling), instead of ``n``.
        gpus_per_node: GPUs of a node, where the data do not say.
        threshold: efficiency that is marked; None: none.
        labels: other labels of the axes, by ``x`` and by the words of ``what``.
        size: of the figure, millimetres.
        axes: where to draw; by default a new figure, as pyplot's.

    Returns:
        matplotlib's axes: one, or a list of them where ``what`` is several.
    """
    several = [what] if isinstance(what, str) else list(what)
    for word in several:
        if word not in get_args(What):
            raise InputError(f"{word!r} is none of {', '.join(get_args(What))}", field="what")
    per = gpus_per_node or int(model.gpus_per_node or 0) or None
    lines = plots.lines_of(model, n, gpus, per_gpu, per, interval_named(interval))
    entries = plots.handles(lines, several, threshold)
    made: Figure | None = None
    if axes is None:
        from matplotlib import pyplot

        inches = size and (size[0] / 25.4, size[1] / 25.4)
        made = pyplot.figure(figsize=inches or plots.usual_size(len(several)), layout="constrained")
        made.suptitle(title) if title else None
        axes = made.subplots(len(several), 1, squeeze=False, sharex=True)[:, 0]
    panels = [axes] if isinstance(axes, Axes) else list(axes)
    plots.draw(panels, lines, several, over=over, per_node=per, threshold=threshold, labels=labels)
    if made is not None:
        plots.key_below(made, entries)
    else:
        panels[0].legend(handles=entries)
    return panels[0] if isinstance(what, str) else panels
