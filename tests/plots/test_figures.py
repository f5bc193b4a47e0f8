"""Figures show what was measured and forecast, and are written as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import gpucast as gc
from gpucast.model.fitted import Model
from gpucast.plots.steps import gflops, step_time, step_time_of_paths, term_shares
from gpucast.plots.style import save
from gpucast.plots.transfers import transfer_time
from gpucast.transfers.curves import fit_transfers
from made_data import NATIVE, dataset, machine, microbenchmarks, steps

GPUS = np.arange(1.0, 9.0)
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


def test_step_time_shows_a_line_a_count_and_the_cells(data: gc.Dataset, model: Model) -> None:
    figure = step_time(model, data, [1, 4, 8], np.geomspace(1000, 1e6, 50).round(), "S")
    (axes,) = figure.axes
    assert labels(axes) == ["N = 1", "N = 4", "N = 8"]
    shown = {(s.n, float(np.median(s.seconds))) for s in data.steps if s.gpus in (1, 4)}
    assert points(axes) == shown
    assert_finite(figure)
    bare = step_time(model, None, [1], np.array([1e3, 1e4]), "S")
    assert points(bare.axes[0]) == set()


def test_extrapolation_is_dashed(model: Model) -> None:
    n = np.geomspace(1000, 256000, 50).round()
    (axes,) = step_time(model, None, [1], n, "S").axes
    solid = [line for line in axes.lines if line.get_linestyle() == "-"]
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert max(solid[0].get_xdata()) <= 64000  # the largest n measured
    assert max(dashed[0].get_xdata()) == 256000


def test_gflops_are_those_of_the_forecast(data: gc.Dataset, model: Model) -> None:
    figure = gflops(model, data, [8000, 64000], GPUS, "Rate")
    (axes,) = figure.axes
    assert len(labels(axes)) == 2
    expected = 78 * 8000.0**2 / model.forecasts(np.full(8, 8000.0), GPUS).seconds / 1e9
    rates = [np.asarray(line.get_ydata(), dtype=float) for line in axes.lines]
    # 78 operations a pair, n^2 pairs; whether a particle meets itself hardly matters.
    assert any(
        rate.shape == expected.shape and np.allclose(rate, expected, rtol=1e-3) for rate in rates
    )
    assert_finite(figure)


def test_shares_of_the_terms_fill_the_whole(model: Model) -> None:
    figure = term_shares(model, [1000, 64000], GPUS, "Shares")
    assert len(figure.axes) == 2
    for axes in figure.axes:
        tops = [patch.get_y() + patch.get_height() for patch in axes.patches]
        assert len(axes.patches) == 3 * 8
        assert tops[-8:] == pytest.approx([100] * 8)
        assert all(patch.get_height() >= 0 for patch in axes.patches)
    assert_finite(figure)


def test_step_time_of_paths_has_a_line_a_model(data: gc.Dataset, model: Model) -> None:
    both = [("near", model), ("far", model)]
    figure = step_time_of_paths(both, data, np.geomspace(1000, 64000, 20).round(), "P")
    (axes,) = figure.axes
    assert labels(axes) == ["near", "far"]
    shown = {(s.n, float(np.median(s.seconds))) for s in data.steps if s.gpus == 1}
    assert points(axes) == shown
    assert_finite(figure)


@pytest.mark.parametrize("ending", list(SIGNATURES))
def test_figures_are_written_in_the_format_of_the_ending(
    ending: str, model: Model, tmp_path: Path
) -> None:
    figure = step_time(model, None, [1], np.array([1e3, 1e4]), "S")
    path = tmp_path / f"figure.{ending}"
    save(figure, path)
    assert path.read_bytes().startswith(SIGNATURES[ending])
    with pytest.raises(gc.InputError, match="exists already"):
        save(figure, path)
    save(figure, path, force=True)


def test_an_unknown_format_is_refused_and_nothing_written(model: Model, tmp_path: Path) -> None:
    figure = step_time(model, None, [1], np.array([1e3, 1e4]), "S")
    with pytest.raises(gc.InputError, match="docx"):
        save(figure, tmp_path / "figure.docx")
    assert list(tmp_path.iterdir()) == []
