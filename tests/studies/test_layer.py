"""What lab/studies/layer.py knows of a path, and what its page says."""

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gpucast
import layer
from gpucast.paths.path_facts import facts_of
from gpucast.paths.traced.forecast import EXTRA, NATIVE
from traces import run
from tracing.cells import costs_of, nothing_stated
from tracing.outcomes import outcomes

TRACE = "walks-n65536-gpus1.zip"


@pytest.fixture(scope="module")
def data() -> gpucast.data.dataset.Dataset:
    return gpucast.load("h200-programs")


def test_nothing_is_known_that_machines_state(data: gpucast.data.dataset.Dataset) -> None:
    assert facts_of(data, "remote-shm").transport == "shm"
    unknown = nothing_stated(data)
    assert facts_of(unknown, "remote-shm").transport is None
    assert facts_of(unknown, "remote-shm").forwarded  # measured: nothing was timed behind a gate
    assert not costs_of(unknown)["remote-shm"].shared


def test_the_page_has_forecasts_by_both_native_steps(
    data: gpucast.data.dataset.Dataset, tmp_path: Path
) -> None:
    shutil.copy(Path(__file__).parents[2] / "data/measured/h200-programs" / TRACE, tmp_path)
    unknown = nothing_stated(data)
    rows, as_recorded = (
        run(unknown, tmp_path, 1, partial(outcomes, native_of_trace=own), learns=False)[0]
        for own in (False, True)
    )
    pd.testing.assert_series_equal(rows.traced, rows.native, check_names=False)
    assert (as_recorded.traced != rows.traced).all()
    width = np.log(rows.high / rows.forecast) / 1.645
    np.testing.assert_allclose(width**2, NATIVE**2 + EXTRA**2 * rows.extra)
    text = layer.page(
        rows, as_recorded, costs_of(unknown), {"lost": "no steps"}, title="made", command="make it",
        cells="x.csv",
    )  # fmt: skip
    assert "3 forecasts of 1 cells (made) on 3 paths" in text
    assert text.count("| remote-sync |") == 3
    assert "- lost: no steps" in text
    assert "[x.csv](x.csv)" in text
