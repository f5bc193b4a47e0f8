"""Figures show what was measured and forecast, and are written as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import gpucast as gc
from gpucast.model.fitted import Model
from gpucast.show.plots.step_series import series_of
from gpucast.show.plots.steps import shares, step_times
from gpucast.show.plots.style import save
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


def test_an_unknown_format_is_refused_and_nothing_written(model: Model, tmp_path: Path) -> None:
    figure = step_times(series_of(None, [model]), [1], "S")
    with pytest.raises(gc.InputError, match="docx"):
        save(figure, tmp_path / "figure.docx")
    assert list(tmp_path.iterdir()) == []
