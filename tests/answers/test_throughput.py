"""Tokens and samples a second, MFU, the cost of a million: against sums made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import Run
from gpucast.answers.scaling import sensible_count
from gpucast.answers.throughput import Throughput
from gpucast.errors import InputError
from gpucast.model import rates
from other_programs import md

STEP = {"n": np.array([64.0]), "gpus": np.array([4.0]), "seconds": np.array([0.5])}
"""Half a second on four GPUs."""


@pytest.mark.parametrize(
    ("known", "key", "value"),
    [
        ({"units": ("samples", 1.0)}, "units_per_second", 128.0),
        ({"units": ("tokens", 1000.0)}, "units_per_second", 128_000.0),
        # 1e15 in half a second on four GPUs with 1e15 a second
        ({"flops": 1e15, "peak_flops": 1e15}, "mfu", 0.5),
        ({"units": ("tokens", 1000.0), "flops": 1e10, "peak_flops": 1e15}, "mfu", 0.32),
        # 1.80 an hour: 2 GPU seconds are 0.001, for 64 samples
        ({"units": ("samples", 1.0), "price": 1.80}, "cost_per_million", 15.625),
    ],
)
def test_what_a_step_puts_through(known: dict[str, Any], key: str, value: float) -> None:
    assert Throughput(**known).columns(**STEP)[key] == pytest.approx([value])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"flops": 1.0}, "--flops: says nothing without --peak-flops"),
        ({"peak_flops": 1.0}, "--peak-flops: says nothing without --flops"),
        ({"price": 1.0}, "--price: says nothing without --units"),
    ],
)
def test_what_says_nothing_alone_is_refused(known: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Throughput(**known)


def test_efficiency_of_work_that_grows_with_the_gpus_is_that_of_times() -> None:
    model = md()
    forecasts = model.forecasts([96_000.0, 192_000.0, 384_000.0], [1.0, 2.0, 4.0])
    expected = forecasts.seconds[0] / forecasts.seconds
    assert rates.efficiency(model, forecasts, per_gpu=True) == pytest.approx(expected)


def test_the_sensible_count_of_work_that_grows() -> None:
    model, counts = md(), [1, 2, 3, 4]
    forecasts = model.forecasts([96_000.0 * count for count in counts], counts)
    efficiency = forecasts.seconds[0] / forecasts.seconds
    answer = sensible_count(model, 96_000.0, counts, float(efficiency[1:3].min()), per_gpu=True)
    assert answer["gpus"] == max(
        count
        for count, share in zip(counts, efficiency, strict=True)
        if share >= efficiency[1:3].min()
    )
    assert answer["fastest"] == counts[int(np.argmax(np.array(counts) / forecasts.seconds))]
    assert answer["cheapest"] == counts[int(np.argmin(forecasts.seconds))]


def test_predict_shows_what_is_asked_about_a_batch_of_each_gpu(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "md.json"
    md().save(path)
    stated = ("--size-of", "gpu", "--units", "tokens=10", "--price", "3.6")
    status, out, _ = run("predict", path, "-n", "24000", "--gpus", "1,4", *stated, "--json")
    assert status == 0
    rows = json.loads(out)["forecast"]
    assert [row["n"] for row in rows] == [24_000, 96_000]
    for row in rows:
        assert row["units_per_second"] == pytest.approx(10 * row["n"] / row["seconds"])
        cost = 0.001 * row["gpus"] * row["seconds"] / (row["n"] / 1e5)
        assert row["cost_per_million"] == pytest.approx(cost)
    _, out, _ = run("predict", path, "-n", "24000", "--gpus", "1,4", *stated)
    assert "tokens/s" in out
    assert "cost/10^6 tokens" in out
    _, out, _ = run("predict", path, "-n", "24000", "--gpus", "1-4", "--size-of", "gpu", "--best")
    assert "atoms a GPU" in out
    assert "best GPUs" not in out


def test_a_size_of_each_gpu_is_of_whole_ones(run: Run, tmp_path: Path) -> None:
    md().save(tmp_path / "md.json")
    asked = ("-n", "1e4", "--gpus", "1/2", "--size-of", "gpu")
    status, _, err = run("predict", tmp_path / "md.json", *asked)
    assert status == 2
    assert "--size-of: gpu does not go with 1/k" in err


def test_a_page_shows_the_same_work_on_each_gpu(run: Run, tmp_path: Path) -> None:
    model = md()
    model.save(tmp_path / "md.json")
    stated = ("--per-gpu", "24000", "--gpus", "1-4", "--units", "samples", "--price", "3.6")
    page = tmp_path / "report.html"
    status, out, _ = run("report", tmp_path / "md.json", "-o", page, *stated, "--json")
    assert status == 0
    (weak,) = json.loads(out)["content"]["weak"]
    assert weak["per_gpu"] == 24_000
    forecasts = model.forecasts([24_000.0 * gpus for gpus in (1, 2, 3, 4)], [1, 2, 3, 4])
    for row, seconds in zip(weak["rows"], forecasts.seconds, strict=True):
        assert row["n"] == 24_000 * row["gpus"]
        assert row["seconds"] == pytest.approx(seconds)
        assert row["efficiency"] == pytest.approx(forecasts.seconds[0] / seconds)
        assert row["units_per_second"] == pytest.approx(row["n"] / seconds)
    text = page.read_text()
    assert "24,000 atoms a GPU" in text
    assert "samples/s" in text


def test_a_share_of_the_peak_above_all_is_a_mistake_in_a_unit() -> None:
    throughput = Throughput(units=("samples", 1.0), flops=1e12, peak_flops=312.0)
    with pytest.raises(InputError, match="not in Tflop"):
        throughput.columns(np.array([8.0]), np.array([1.0]), np.array([0.1]))
