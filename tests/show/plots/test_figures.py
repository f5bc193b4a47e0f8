"""Figures show what was measured and forecast, and are written as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import gpucast as gc
from gpucast.model.fitted import Model
from gpucast.paths.curves import fit_transfers
from gpucast.show.plots.step_series import Series, series_of
from gpucast.show.plots.steps import shares, step_times, step_times_of_paths
from gpucast.show.plots.style import save
from gpucast.show.plots.transfers import transfer_time
from made_data import NATIVE, dataset, machine, microbenchmarks, steps

SIGNATURES = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.fixture(scope="module")
def data() -> gc.Dataset:
    rng = np.random.default_rng(0)
    made = [*steps(NATIVE.seconds, rng), *microbenchmarks(NATIVE, rng)]
    return dataset([machine(), *made])


@pytest.fixture(scope="module")
def model(data: gc.Dataset) -> Model:
    return gc.fit(data, replicates=50)


def labels(axes: Axes) -> list[str]:
    return axes.get_legend_handles_labels()[1]


def assert_finite(figure: Figure) -> None:
    drawn = 0
    for axes in figure.axes:
        for line in axes.lines:
            xy = np.asarray(line.get_xydata(), dtype=float)
            assert np.isfinite(xy).all()
            drawn += len(xy)
        for patch in axes.patches:
            assert np.isfinite(patch.get_path().vertices).all()
            drawn += 1
    assert drawn


def points(axes: Axes) -> set[tuple[float, float]]:
    """What is drawn as points without a line between them."""
    return {
        (float(x), float(y))
        for line in axes.lines
        if line.get_linestyle() == "None"
        for x, y in np.asarray(line.get_xydata())
    }


def test_transfer_time_shows_every_sample_and_a_curve_a_route(data: gc.Dataset) -> None:
    fits = fit_transfers(data, replicates=40)
    figure = transfer_time(data, fits, "Transfers")
    (axes,) = figure.axes
    assert len(labels(axes)) == len(fits) == 2
    assert all(any(fit.route in label for label in labels(axes)) for fit in fits)
    assert points(axes) == {(t.bytes, s) for t in data.transfers for s in t.seconds}
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert figure.get_suptitle() == "Transfers"
    assert_finite(figure)


def test_lines_of_steps_reach_as_far_as_asked_dashed_beyond_what_was_fitted(
    data: gc.Dataset, model: Model
) -> None:
    (axes,) = step_times(series_of(data, [model]), [1], "S", span=(1000, 256000)).axes
    solid, dashed = (
        next(line for line in axes.lines if line.get_linestyle() == style) for style in ("-", "--")
    )
    assert np.nanmax(np.asarray(solid.get_xydata())[:, 0]) <= 64000  # the largest n measured
    assert np.asarray(dashed.get_xdata()).max() == 256000


def test_shares_of_several_sizes_have_a_panel_each(model: Model) -> None:
    figure = shares(series_of(None, [model]), [1000, 64000], "Shares")
    assert len(figure.axes) == 2
    for axes, size in zip(figure.axes, ("1,000", "64,000"), strict=True):
        assert f"n = {size}" in axes.get_title()
        tops = [patch.get_y() + patch.get_height() for patch in axes.patches]
        assert tops[-4:] == pytest.approx([100] * 4)
        assert all(patch.get_height() >= 0 for patch in axes.patches)
    assert_finite(figure)


def test_step_times_of_paths_have_a_line_a_path(data: gc.Dataset, model: Model) -> None:
    (near,) = series_of(data, [model])
    far = Series("far", None, (), model)
    figure = step_times_of_paths([near, far], "P")
    (axes,) = figure.axes
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["native", "far"]
    shown = {(s.n, float(np.median(s.seconds))) for s in data.steps if s.gpus == 1}
    assert points(axes) == shown


@pytest.mark.parametrize("ending", list(SIGNATURES))
def test_figures_are_written_in_the_format_of_the_ending(
    ending: str, model: Model, tmp_path: Path
) -> None:
    figure = step_times(series_of(None, [model]), [1], "S")
    path = tmp_path / f"figure.{ending}"
    save(figure, path)
    assert path.read_bytes().startswith(SIGNATURES[ending])
    with pytest.raises(gc.InputError, match="exists already"):
        save(figure, path)
    save(figure, path, force=True)


def test_an_unknown_format_is_refused_and_nothing_written(model: Model, tmp_path: Path) -> None:
    figure = step_times(series_of(None, [model]), [1], "S")
    with pytest.raises(gc.InputError, match="docx"):
        save(figure, tmp_path / "figure.docx")
    assert list(tmp_path.iterdir()) == []
