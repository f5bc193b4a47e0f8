"""Figures of scaling: what is drawn is what was measured and forecast."""

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import gpucast as gc
from gpucast.answers.scaling import strong
from gpucast.show.plots import scaling, style
from other_programs import COUNTS, SIZES, md

N = SIZES[-1]


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    mpl.use("Agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def points(axes: Axes, at: int = 0) -> dict[float, float]:
    """The marks of a line."""
    colour = style.colour(at).lower()
    mine = [line for line in axes.lines if to_hex(line.get_color()) == colour]
    marked = [line for line in mine if line.get_marker() not in ("None", "", None)]
    return {x: y for line in marked for x, y in np.transpose(line.get_data()).tolist() if y == y}


def cells() -> dict[tuple[float, int], float]:
    own = md().scaling.cells
    return {(n, gpus): s for n, gpus, s in zip(own.n, own.gpus, own.seconds, strict=True)}


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("time", lambda gpus, one, seconds: seconds),
        ("rate", lambda gpus, one, seconds: 2e-15 * 86400 / 1e-9 / seconds),
        ("speed-up", lambda gpus, one, seconds: one / seconds),
        ("efficiency", lambda gpus, one, seconds: one / (gpus * seconds)),
    ],
)
def test_marks_are_what_was_measured(what: Any, expected: Any) -> None:
    axes = gc.figures.scaling(md(), n=N, gpus=COUNTS, what=what)
    one = cells()[N, 1]
    drawn = points(axes)
    assert drawn == pytest.approx({g: expected(g, one, cells()[N, g]) for g in COUNTS})


def test_lines_end_in_what_is_forecast() -> None:
    axes = md().plot(n=[N], gpus=[1, 16])
    (solid,) = (line for line in axes.lines if line.get_linestyle() == "--")
    seconds = solid.get_ydata()
    forecast = md().forecast(N, [1, 16]).seconds
    assert [seconds[0], seconds[-1]] == pytest.approx(forecast.tolist())


def test_over_nodes_counts_are_divided_and_named() -> None:
    axes = gc.figures.scaling(md(), n=N, over="nodes", gpus_per_node=2)
    assert set(points(axes)) == {0.5, 1, 2}
    assert axes.get_xlabel() == "nodes"
    with pytest.raises(gc.InputError, match="gpus_per_node"):
        gc.figures.scaling(md(), over="nodes")


def test_a_line_a_size_that_was_measured_each_with_its_label() -> None:
    axes = md().plot()
    assert [text.get_text() for text in axes.texts] == [
        "24k atoms", "96k atoms", "409k atoms", "1.07M atoms"
    ]  # fmt: skip


def test_own_axes_titles_labels_and_sizes_are_taken() -> None:
    from matplotlib import pyplot

    _, mine = pyplot.subplots()
    assert md().plot(n=N, axes=mine, labels={"x": "cards", "time": "wait"}) is mine
    assert (mine.get_xlabel(), mine.get_ylabel()) == ("cards", "wait")
    time, efficient = md().plot(n=N, what=["time", "efficiency"], title="T", size=(120, 90))
    assert time.figure is efficient.figure
    assert time.figure.get_suptitle() == "T"
    assert time.figure.get_size_inches() * 25.4 == pytest.approx([120, 90])


def test_what_the_model_does_not_know_is_hollow() -> None:
    line = scaling.line(strong(md(), N, COUNTS), later={8: 1e-3})
    (axes,) = scaling.figure([line], ["time"], caption="Whose.").axes
    hollow = [mark for mark in axes.lines if mark.get_markerfacecolor() == "white"]
    assert [mark.get_data()[1].tolist() for mark in hollow] == [[1e-3]]
    (key,) = axes.figure.legends
    assert "measured, not shown to the fit" in [text.get_text() for text in key.get_texts()]
    assert key.get_title().get_text() == "Whose."


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(gc.InputError, match="'speed' is none of time, rate"):
        gc.figures.scaling(md(), what="speed")
    with pytest.raises(gc.InputError, match="9 lines"):
        gc.figures.scaling(md(), n=range(1000, 10_000, 1000))
