"""The paper's figures show the data and models they are given: artists are held to both."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

import gpucast as gc
from gpucast.data.selection import StepSelection
from gpucast.model.fitted import Model
from gpucast.show.plots import steps as figures
from gpucast.show.plots import transfers
from gpucast.show.plots.step_series import Series, kind_in_words, series_of
from made_data import NATIVE, VIRTUALIZED, dataset, machine, steps

PARTS = {"h2d": 0.1, "d2h": 0.1, "kernel": 0.6, "cpu": 0.2}


def phased(truth: Any, **other: Any) -> list[dict[str, Any]]:
    """Steps whose phases are known shares of the step, the same for every cell."""
    made = steps(truth.seconds, np.random.default_rng(1), repeats=7, sigma=1e-3, **other)
    for record in made:
        middle = float(np.median(record["seconds"]))
        record["phases"] = {name: [share * middle] for name, share in PARTS.items()}
    return made


@pytest.fixture(scope="module")
def data() -> gc.Dataset:
    near, far = phased(NATIVE), phased(VIRTUALIZED, path="remote")
    other = steps(NATIVE.seconds, np.random.default_rng(2), n=[512], kernel="tuned")
    return dataset([machine(), *far, *near, *other])


@pytest.fixture(scope="module")
def model(data: gc.Dataset) -> Model:
    return gc.fit(data, path="native", kernel="claret", model="paper", replicates=40)


@pytest.fixture(scope="module")
def series(data: gc.Dataset, model: Model) -> list[Series]:
    return series_of(data, [model])


def points(axes: Axes) -> set[tuple[float, float]]:
    """Measured points: error bars without a line."""
    return {
        (float(x), float(y))
        for bars in axes.containers
        if isinstance(bars, ErrorbarContainer)
        for x, y in np.asarray(bars.lines[0].get_xydata())
    }


def lines(axes: Axes) -> list[tuple[np.ndarray, np.ndarray]]:
    """Model lines: the dashed ones run over the whole range."""
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    return [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in dashed]


def middle(data: gc.Dataset, path: str) -> dict[tuple[int, int], float]:
    own = [s for s in data.steps if s.path == path and s.kernel == "claret"]
    return {(s.n, s.gpus): float(np.median(s.seconds)) for s in own}


def test_series_are_the_papers_kind_native_first(series: list[Series], model: Model) -> None:
    assert [path.label for path in series] == ["native", "remote"]
    assert series[0].model is model
    assert series[1].model is None
    assert kind_in_words(series) == "star-serial, claret"
    assert {step.kernel for path in series for step in path.steps} == {"claret"}


def test_the_kind_is_that_of_the_model_or_chosen(data: gc.Dataset, model: Model) -> None:
    (chosen,) = series_of(data, [], StepSelection(kernel="tuned"))
    assert chosen.sizes == [512]
    with pytest.raises(gc.InputError, match="no records of 'moon'"):
        series_of(data, [], StepSelection(kernel="moon"))
    with pytest.raises(gc.InputError, match="same steps as another model"):
        series_of(data, [model, model])
    with pytest.raises(gc.InputError, match="no steps and no models"):
        series_of(None, [])
    (alone,) = series_of(None, [model])
    assert (alone.points, alone.model) == ({}, model)


def test_points_bear_the_interval_of_the_median_or_the_rounding() -> None:
    made = steps(NATIVE.seconds, np.random.default_rng(1), n=[1000], gpus=[1], repeats=31)
    (own,) = series_of(dataset([machine(), *made]), [])
    seconds = sorted(made[0]["seconds"])
    # The 10th and the 22nd of 31 samples hold the median with 95 % (binomial table).
    point = own.points[1000, 1]
    assert (point.low, point.seconds, point.high) == (seconds[9], seconds[15], seconds[21])
    made[0]["uncertainty"] = 0.5
    (rough,) = series_of(dataset([machine(), *made]), [])
    assert rough.points[1000, 1].high == pytest.approx(1.5 * seconds[15])


def test_gflops_are_those_measured_and_forecast(
    data: gc.Dataset, series: list[Series], model: Model
) -> None:
    figure = figures.gflops(series, [1000, 64000], "title", "caption")
    upper, lower = figure.axes[:2], figure.axes[2:]
    for path, axes, below in zip(("native", "remote"), upper, lower, strict=True):
        own = middle(data, path)
        expected = {(g, 78 * n * n / s / 1e9) for (n, g), s in own.items() if n in (1000, 64000)}
        shown = sorted(points(axes))
        assert np.allclose(shown, sorted(expected), rtol=2e-3)  # n^2 or n (n - 1) pairs
        relative = {(g, own[n, 1] / s) for (n, g), s in own.items() if n in (1000, 64000)}
        assert np.allclose(sorted(points(below)), sorted(relative))
    gpus, rate = lines(upper[0])[0]
    forecasts = model.forecasts(np.full(gpus.size, 1000.0), gpus)
    assert rate == pytest.approx(78 * 1000.0**2 / forecasts.seconds / 1e9, rel=2e-3)
    assert lines(upper[1]) == []  # no model, no line
    assert [axes.get_title() for axes in upper] == ["native", "remote"]


def test_step_times_are_those_measured_and_forecast(
    data: gc.Dataset, series: list[Series], model: Model
) -> None:
    figure = figures.step_times(series, [1, 4], "title", "caption")
    for path, axes in zip(("native", "remote"), figure.axes, strict=True):
        own = middle(data, path)
        assert points(axes) == {(n, s) for (n, gpus), s in own.items() if gpus in (1, 4)}
    drawn = lines(figure.axes[0])
    assert len(drawn) == 2
    for (n, seconds), count in zip(drawn, (1.0, 4.0), strict=True):
        assert seconds == pytest.approx(model.forecasts(n, np.full(n.size, count)).seconds)
    bands = figure.axes[0].collections
    forecasts = model.forecasts(drawn[0][0], np.ones(drawn[0][0].size))
    edge = np.asarray(bands[0].get_paths()[0].vertices)
    assert edge[:, 1].max() == pytest.approx(forecasts.high.max())
    assert edge[:, 1].min() == pytest.approx(forecasts.low.min())


def test_shares_fill_the_step_and_stand_beside_the_timed_phases(
    series: list[Series], model: Model
) -> None:
    figure = figures.shares(series, [1000], "title", "caption")
    both, measured_only = figure.axes
    filled = [bar for bar in both.patches if bar.get_fill()]
    heights = np.array([bar.get_height() for bar in filled]).reshape(2, 3, 4)
    assert heights.sum(axis=1) == pytest.approx(np.full((2, 4), 100.0))
    # Measured: the phases by which the data were made. Model: its own terms.
    assert heights[0] == pytest.approx(np.repeat([[60.0], [20.0], [20.0]], 4, axis=1))
    forecasts = model.forecasts(np.full(4, 1000.0), np.arange(1.0, 5.0))
    terms = np.array([forecasts.t_gpu, forecasts.t_cpu, forecasts.t_com])
    assert heights[1] == pytest.approx(100 * terms / forecasts.seconds)
    assert len([bar for bar in measured_only.patches if bar.get_fill()]) == 12
    colours = [bar.get_facecolor() for bar in filled[:12:4]]
    assert len(set(colours)) == 3


def test_lines_of_steps_reach_as_far_as_asked_dashed_beyond_what_was_fitted(model: Model) -> None:
    drawn = figures.step_times(series_of(None, [model]), [1], "S", span=(1000, 256000))
    solid, dashed = (
        next(line for line in drawn.axes[0].lines if line.get_linestyle() == kind)
        for kind in ("-", "--")
    )
    assert np.nanmax(np.asarray(solid.get_xydata())[:, 0]) <= 64000  # the largest n measured
    assert np.asarray(dashed.get_xdata()).max() == 256000


def test_shares_of_several_sizes_have_a_panel_each(model: Model) -> None:
    figure = figures.shares(series_of(None, [model]), [1000, 64000], "Shares")
    for axes, size in zip(figure.axes, ("1,000", "64,000"), strict=True):
        assert f"n = {size}" in axes.get_title()
        tops = [patch.get_y() + patch.get_height() for patch in axes.patches]
        assert tops[-4:] == pytest.approx([100] * 4)
        assert all(patch.get_height() >= 0 for patch in axes.patches)


def test_shares_beyond_what_was_fitted_are_pale(data: gc.Dataset) -> None:
    one = gc.fit(data.where(lambda s: s.gpus < 3), path="native", kernel="claret", model="paper",
                 replicates=40)  # fmt: skip
    (axes,) = figures.shares(series_of(data, [one])[:1], [1000], "title", "caption").axes
    pale = [bar.get_alpha() is not None for bar in axes.patches[-12:]]
    assert pale == [False, False, True, True] * 3


def test_shares_of_neither_phases_nor_model_are_refused(data: gc.Dataset) -> None:
    (bare,) = series_of(data, [], StepSelection(kernel="tuned"))
    with pytest.raises(gc.InputError, match="neither phases nor a model"):
        figures.shares([bare], [512], "title", "caption")


def test_extra_time_is_that_of_cells_measured_on_both_paths(
    data: gc.Dataset, series: list[Series]
) -> None:
    (axes,) = figures.extra_time(series, [1, 2], "title", "caption").axes
    near, far = middle(data, "native"), middle(data, "remote")
    expected = sorted((n, 100 * (s / near[n, g] - 1)) for (n, g), s in far.items() if g in (1, 2))
    assert np.allclose(sorted(points(axes)), expected)
    with pytest.raises(gc.InputError, match="two paths"):
        figures.extra_time(series[:1], [1], "title", "caption")


def test_extra_time_of_models_is_the_ratio_of_forecasts(model: Model) -> None:
    own = [Series(label, None, (), model) for label in ("one", "other")]
    (axes,) = figures.extra_time(own, [2], "title", "caption").axes
    ((_, percent),) = lines(axes)
    assert percent == pytest.approx(np.zeros(percent.size), abs=1e-9)


def test_a_figure_of_a_model_alone_is_drawn(model: Model) -> None:
    (own,) = series_of(None, [model])
    sizes, counts = figures.sizes_of([own]), figures.counts_of([own])
    assert 1000 in sizes
    assert counts == [1, 2, 4]
    figure = figures.step_times([own], counts, "title", "caption")
    assert len(lines(figure.axes[0])) == 3


def test_a_model_that_was_fitted_to_no_size_is_drawn_over_the_usual_ones() -> None:
    own = series_of(None, [gc.load_model("reconstructed-2015-native")])
    (n, seconds), *_ = lines(figures.step_times(own, [1], "title", "caption").axes[0])
    assert n.size > 100
    assert (n.min(), n.max()) == (216, 1e6)
    assert (np.diff(seconds) > 0).all()
    assert set(figures.sizes_of(own)) >= {1000, 1_000_000}


def test_sizes_that_all_paths_have_are_drawn_and_the_largest() -> None:
    near = steps(NATIVE.seconds, np.random.default_rng(0), n=[500, 1100, 4000, 16000, 90000])
    far = steps(NATIVE.seconds, np.random.default_rng(0), n=[1100, 4000, 16000], path="remote")
    own = series_of(dataset([machine(), *near, *far]), [])
    assert figures.sizes_of(own) == [1100, 4000, 16000, 90000]


def test_captions_and_legends_speak_of_what_is_drawn(series: list[Series]) -> None:
    points = [replace(own, model=None) for own in series]
    assert "band" in figures.reading(series)
    assert figures.reading(points) == (
        "Points: medians measured (bars: 95 % intervals or rounding)."
    )
    assert "model" not in figures.reading_of_shares(points)
    for drawn, style_of in ((series, "-"), (points, "None")):
        (legend,) = figures.step_times(drawn, [1, 2], "title").legends
        assert {line.get_linestyle() for line in legend.get_lines()} == {style_of}


def test_marks_that_lie_on_one_another_are_all_seen(series: list[Series]) -> None:
    """The first is drawn first, and largest."""
    (legend,) = figures.step_times(series, [1, 2, 4], "title").legends
    sizes = [line.get_markersize() for line in legend.get_lines()]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_ratios_are_marked_where_they_are() -> None:
    rows = [
        ("L_h2d", "remote", 2.0, (1.8, 2.3)),
        ("t_kernel", "remote", 0.5, None),
        ("L_h2d", "far", 3.0, None),
    ]
    (axes,) = transfers.remote_costs(rows, "title", "caption").axes
    ((ends,),) = [drawn.get_segments() for drawn in axes.collections]
    assert ends.tolist() == [[1.8, 0], [2.3, 0]]
    marks = {line.get_label(): np.asarray(line.get_xydata()).tolist() for line in axes.lines}
    assert marks["remote"] == [[2.0, 0], [0.5, 1]]
    assert marks["far"] == [[3.0, 0]]
