"""``gpucast figures residuals``: how far a model is off at each measured cell."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer

from command_line import Run, assert_refused, only_json
from gpucast.show.plots.of_steps.residuals import residuals
from gpucast.show.plots.step_series import series_of
from other_programs import fitted, md, records


def test_points_are_measured_over_forecast() -> None:
    data = records()
    model = fitted(data)
    (series,) = series_of(data, [model])
    figure = residuals([series], [2], "residuals")
    (axes,) = (axes for axes in figure.axes if axes.get_visible())
    (bars,) = (bars for bars in axes.containers if isinstance(bars, ErrorbarContainer))
    n, percent = np.asarray(bars.lines[0].get_xydata()).T
    forecasts = model.forecasts(n, np.full(n.size, 2.0))
    measured = [series.points[size, 2].seconds for size in n]
    assert percent == pytest.approx(100 * (measured / forecasts.seconds - 1))


def test_it_is_drawn_and_refused_as_the_others(run: Run, tmp_path: Path) -> None:
    md().save(tmp_path / "md.json")
    records().dump(tmp_path / "md.jsonl")
    inputs = ("figures", "residuals", tmp_path / "md.jsonl", tmp_path / "md.json")
    answer = only_json(run(*inputs, "-o", tmp_path / "a.svg", "--json")[1])
    assert answer["figures"] == [str(tmp_path / "a.svg")]
    assert_refused(run(*inputs, "-o", tmp_path / "b.svg", "-n", "1000"), "-n: is the axis")
    refused = run("figures", "residuals", tmp_path / "md.json", "-o", tmp_path / "b.svg")
    assert_refused(refused, "no path has both measured steps and a model")
